// Event streams: the same events however the bytes come.
#include "daemon/providers/wire/core/sse_splitter.h"
#include "tests/fuzz/check.h"

#include <algorithm>
#include <cstdint>
#include <string>

using cortexfs::fuzz::check;

namespace {

std::string events(std::string_view bytes, std::size_t pieceSize, std::size_t maxEvent)
{
    cortexfs::wire::SseSplitter splitter(maxEvent);
    std::string out;
    const auto drain = [&] {
        while (const auto event = splitter.next()) {
            check(!event->name.empty(), "an event has a name");
            check(event->name.find_first_of("\r\n") == std::string_view::npos, "a name is one line");
            check(event->data.find('\r') == std::string_view::npos, "data holds no CR");
            check(event->data.size() <= maxEvent, "an event is within the limit");
            out.append(event->name).append("=").append(event->data).append("\n");
        }
    };
    while (!bytes.empty()) {
        const std::string_view piece = bytes.substr(0, pieceSize);
        bytes.remove_prefix(piece.size());
        splitter.append(piece);
        drain();
    }
    splitter.finish();
    drain();
    return out + (splitter.isOverflowed() ? "overflow" : "");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    std::string_view input = cortexfs::fuzz::inputOf(data, size);
    const std::size_t pieceSize = 1 + cortexfs::fuzz::takeByte(input) % 16;
    const std::size_t maxEvent = 16 + cortexfs::fuzz::takeByte(input) * 16;
    const std::string whole = events(input, std::max<std::size_t>(input.size(), 1), maxEvent);
    check(events(input, pieceSize, maxEvent) == whole, "events do not depend on how the bytes come", whole);
    return 0;
}
