// Feeds a reply to a ResponseDecoder as a run would, in pieces of any kind.
#pragma once

#include "daemon/providers/wire/core/response_decoder.h"
#include "tests/common/test_strings.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cortexfs::test {

struct Reply {
    std::string format = "openai.chat";
    int status = 200;
    std::vector<wire::Header> headers = {{"content-type", "text/event-stream"}};
    std::string body;
    std::int64_t wallMs = 1'764'500'000'000;
    std::optional<Error> transport; // how the connection ended
    wire::ToolNames toolNames;
};

struct Decoded {
    std::vector<abi::Event> events; // as the decoder gave them, without `run`
    std::optional<abi::StopReason> reason;
    std::optional<wire::ReplyFailure> failure;
    std::uint64_t dataEvents = 0;

    // What a run writes of it: start, the events, error, done.
    std::vector<std::string> lines() const;
    std::string text() const; // lines joined with LF, for comparisons
    std::string code() const; // "EAGAIN", or empty
};

// `cuts`: byte offsets where one piece ends and the next begins, ascending.
Decoded decode(const Reply &reply, const std::vector<std::size_t> &cuts = {});
Decoded decodeInPieces(const Reply &reply, std::size_t pieceSize);
// A stream of `data:` lines with a blank line after each.
std::string sse(const std::vector<std::string> &events);

} // namespace cortexfs::test
