cortexfs_member(SOURCES status.cpp ENTRY cortexfs::ctx::status_command::command HEADER status.h)
