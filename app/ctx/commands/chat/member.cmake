cortexfs_member(SOURCES chat.cpp dialogue.cpp ENTRY cortexfs::ctx::chat_command::command HEADER chat.h)
