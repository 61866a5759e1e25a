cortexfs_member(SOURCES ping.cpp ENTRY cortexfs::ctx::ping_command::command HEADER ping.h)
