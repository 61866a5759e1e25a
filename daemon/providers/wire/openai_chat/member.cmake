cortexfs_member(SOURCES chat_format.cpp chat_encoder.cpp chat_decoder.cpp chat_opaque.cpp dialect.cpp effort.cpp
  thought_tags.cpp
  ENTRY cortexfs::wire::openai_chat::format HEADER chat_format.h)
