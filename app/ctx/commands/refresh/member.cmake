cortexfs_member(SOURCES refresh.cpp ENTRY cortexfs::ctx::refresh_command::command HEADER refresh.h)
