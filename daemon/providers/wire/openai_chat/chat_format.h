// POST {base}/chat/completions: the API of OpenAI that most servers speak ("Chat Completions", openai 6.49 types), with
// the differences of those servers that a request must respect.
#pragma once

#include "daemon/providers/wire/wire_format.h"

namespace cortexfs::wire::openai_chat {

const WireFormat &format();

} // namespace cortexfs::wire::openai_chat
