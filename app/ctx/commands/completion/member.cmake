cortexfs_member(SOURCES completion.cpp ENTRY cortexfs::ctx::completion_command::command HEADER completion.h)
