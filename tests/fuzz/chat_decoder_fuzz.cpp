// Streams and documents of the format openai.chat.
#include "tests/fuzz/reply_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    cortexfs::fuzz::fuzzReply("openai.chat", data, size);
    return 0;
}
