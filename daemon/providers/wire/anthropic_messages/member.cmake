cortexfs_member(SOURCES messages_format.cpp messages_encoder.cpp messages_decoder.cpp image_source.cpp model_traits.cpp
  thinking_plan.cpp
  ENTRY cortexfs::wire::anthropic_messages::format HEADER messages_format.h)
