// anthropic.messages: POST /v1/messages.
#pragma once

#include "daemon/providers/wire/wire_format.h"

namespace cortexfs::wire::anthropic_messages {

inline constexpr std::string_view kFormatName = "anthropic.messages";

const WireFormat &format();

} // namespace cortexfs::wire::anthropic_messages
