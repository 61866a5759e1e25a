// Bytes of HTTP replies and of OpenAI-compatible chat streams.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cortexfs::test {

// "Name: value" lines without CRLF.
using HeaderLines = std::vector<std::string>;

// A head alone, with its blank line.
std::string replyHead(int status, const HeaderLines &headers);
// Content-Length reply.
std::string reply(int status, std::string_view contentType, std::string_view body, const HeaderLines &headers = {});
// The same reply, which says that its connection ends with it. A script that leaves after one reply must say so where
// another request may follow: a client is free to send that one on the connection that is just being closed.
std::string closing(std::string reply);
// Head of a chunked event stream.
std::string streamHead();
// One chunk of chunked coding; an empty text is the last chunk.
std::string chunk(std::string_view text);
std::string gzip(std::string_view text);

// "data: JSON\n\n" of chat.completion.chunk events.
std::string chatDelta(std::string_view text); // text without characters that JSON escapes
std::string chatFinish(std::string_view reason = "stop");
std::string chatUsage(int input, int output);
std::string chatDone();
// role, the deltas, finish, usage, [DONE], as one event-stream body
std::string chatBody(const std::vector<std::string> &deltas);
std::string chatError(std::string_view message, std::string_view type);

} // namespace cortexfs::test
