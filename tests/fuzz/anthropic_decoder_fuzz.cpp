// Streams and documents of the format anthropic.messages.
#include "tests/fuzz/reply_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    cortexfs::fuzz::fuzzReply("anthropic.messages", data, size);
    return 0;
}
