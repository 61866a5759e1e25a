cortexfs_member(SOURCES sessions.cpp ENTRY cortexfs::ctx::sessions_command::command HEADER sessions.h)
