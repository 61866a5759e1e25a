cortexfs_member(SOURCES provider.cpp list.cpp show.cpp key.cpp key_input.cpp test.cpp
  ENTRY cortexfs::ctx::provider_command::command HEADER provider.h)
