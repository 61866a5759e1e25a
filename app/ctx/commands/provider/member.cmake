cortexfs_member(SOURCES provider.cpp add.cpp edit.cpp enable.cpp key.cpp key_input.cpp list.cpp models.cpp opened.cpp
    preset.cpp remove.cpp show.cpp test.cpp
  ENTRY cortexfs::ctx::provider_command::command HEADER provider.h)
