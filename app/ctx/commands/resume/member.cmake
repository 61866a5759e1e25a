cortexfs_member(SOURCES resume.cpp ENTRY cortexfs::ctx::resume_command::command HEADER resume.h)
