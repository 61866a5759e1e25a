cortexfs_member(SOURCES exec.cpp object_run.cpp ENTRY cortexfs::ctx::exec_command::command HEADER exec.h)
