cortexfs_member(SOURCES which.cpp ENTRY cortexfs::ctx::which_command::command HEADER which.h)
