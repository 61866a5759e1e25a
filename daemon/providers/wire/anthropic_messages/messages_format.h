// anthropic.messages: POST /v1/messages.
#pragma once

#include "daemon/providers/wire/wire_format.h"

namespace cortexfs::wire::anthropic_messages {

inline constexpr std::string_view kFormatName = "anthropic.messages";
inline constexpr std::string_view kApiVersion = "2023-06-01"; // of the header anthropic-version

const WireFormat &format();

} // namespace cortexfs::wire::anthropic_messages
