cortexfs_member(SOURCES output.cpp ENTRY cortexfs::ctx::output_command::command HEADER output.h)
