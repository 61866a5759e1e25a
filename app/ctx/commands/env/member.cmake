cortexfs_member(SOURCES env.cpp ENTRY cortexfs::ctx::env_command::command HEADER env.h)
