cortexfs_member(SOURCES send.cpp ENTRY cortexfs::ctx::send_command::command HEADER send.h)
