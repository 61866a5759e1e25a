cortexfs_member(SOURCES model.cpp ENTRY cortexfs::ctx::model_command::command HEADER model.h)
