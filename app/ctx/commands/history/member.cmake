cortexfs_member(SOURCES history.cpp ENTRY cortexfs::ctx::history_command::command HEADER history.h)
