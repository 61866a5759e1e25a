cortexfs_member(SOURCES ls.cpp entry_info.cpp ENTRY cortexfs::ctx::ls_command::command HEADER ls.h)
