cortexfs_member(SOURCES cat.cpp ENTRY cortexfs::ctx::cat_command::command HEADER cat.h)
