// openai.responses: POST /responses, without state on the server (store:false). Reasoning comes back encrypted and is
// sent again on the next turn, so this format suits agents better than openai.chat.
#pragma once

#include "daemon/providers/wire/wire_format.h"

namespace cortexfs::wire::openai_responses {

inline constexpr std::string_view kFormatName = "openai.responses";

const WireFormat &format();

} // namespace cortexfs::wire::openai_responses
