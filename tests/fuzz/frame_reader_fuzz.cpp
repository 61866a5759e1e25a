// JSONL frames: the same however the bytes come, never over the limit, never with a line end inside.
#include "common/jsonl/frame_reader.h"
#include "tests/fuzz/check.h"

#include <algorithm>
#include <cstdint>
#include <string>

using cortexfs::fuzz::check;

namespace {

std::string frames(std::string_view bytes, std::size_t pieceSize, std::size_t maxFrame)
{
    cortexfs::jsonl::FrameReader reader(maxFrame);
    std::string out;
    while (!bytes.empty()) {
        const std::string_view piece = bytes.substr(0, pieceSize);
        bytes.remove_prefix(piece.size());
        reader.append(piece);
        while (const auto frame = reader.next()) {
            check(!frame->empty(), "a frame is not empty");
            check(frame->size() < maxFrame, "a frame is within the limit");
            check(frame->find('\n') == std::string_view::npos, "a frame is one line");
            out += *frame;
            out += '\n';
        }
    }
    out += reader.isOverflowed() ? "overflow" : std::string(reader.rest());
    return out;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    std::string_view input = cortexfs::fuzz::inputOf(data, size);
    const std::size_t pieceSize = 1 + cortexfs::fuzz::takeByte(input) % 16;
    const std::size_t maxFrame = 2 + cortexfs::fuzz::takeByte(input);
    const std::string whole = frames(input, std::max<std::size_t>(input.size(), 1), maxFrame);
    check(frames(input, pieceSize, maxFrame) == whole, "frames do not depend on how the bytes come", whole);
    return 0;
}
