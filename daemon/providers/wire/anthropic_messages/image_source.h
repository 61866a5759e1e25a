// The `source` of an image block. The API refuses an image whose media type is not what its bytes are, so the type is
// read from the bytes; what was declared counts only where they say nothing.
#pragma once

#include "common/base/result.h"

#include <string>
#include <string_view>

namespace cortexfs::wire::anthropic_messages {

// {"type":"url","url":...} or {"type":"base64","media_type":...,"data":...}. EINVAL for a URL that is neither https: nor
// data: with base64, and for an image that is no JPEG, PNG, GIF or WebP.
Result<std::string> imageSource(std::string_view url);

} // namespace cortexfs::wire::anthropic_messages
