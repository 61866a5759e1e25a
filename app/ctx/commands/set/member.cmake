cortexfs_member(SOURCES set.cpp ENTRY cortexfs::ctx::set_command::command HEADER set.h)
