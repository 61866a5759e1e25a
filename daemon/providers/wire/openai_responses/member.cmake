cortexfs_member(SOURCES responses_format.cpp responses_encoder.cpp responses_decoder.cpp output_items.cpp model_traits.cpp
  ENTRY cortexfs::wire::openai_responses::format HEADER responses_format.h)
