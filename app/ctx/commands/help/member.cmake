cortexfs_member(SOURCES help.cpp ENTRY cortexfs::ctx::help_command::command HEADER help.h)
