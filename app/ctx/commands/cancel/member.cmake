cortexfs_member(SOURCES cancel.cpp ENTRY cortexfs::ctx::cancel_command::command HEADER cancel.h)
