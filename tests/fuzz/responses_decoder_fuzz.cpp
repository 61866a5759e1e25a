// Streams and documents of the format openai.responses.
#include "tests/fuzz/reply_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    cortexfs::fuzz::fuzzReply("openai.responses", data, size);
    return 0;
}
