#include "tests/support/wire_replies.h"

#include <QByteArray>

#include <array>
#include <cstdint>
#include <cstdio>

namespace cortexfs::test {

std::string replyHead(int status, const HeaderLines &headers)
{
    std::string head = "HTTP/1.1 " + std::to_string(status) + " Reason\r\n";
    for (const std::string &line : headers)
        head += line + "\r\n";
    return head + "\r\n";
}

std::string reply(int status, std::string_view contentType, std::string_view body, const HeaderLines &headers)
{
    HeaderLines all = headers;
    all.push_back("Content-Type: " + std::string(contentType));
    all.push_back("Content-Length: " + std::to_string(body.size()));
    return replyHead(status, all) + std::string(body);
}

std::string closing(std::string reply)
{
    const std::size_t end = reply.find("\r\n");
    if (end != std::string::npos && reply.starts_with("HTTP/1.1 ") && reply[9] != '1')
        reply.insert(end + 2, "Connection: close\r\n");
    return reply;
}

std::string streamHead() { return replyHead(200, {"Content-Type: text/event-stream", "Transfer-Encoding: chunked"}); }

std::string chunk(std::string_view text)
{
    std::array<char, 24> size;
    std::snprintf(size.data(), size.size(), "%zx\r\n", text.size());
    return size.data() + std::string(text) + "\r\n";
}

namespace {

std::uint32_t crc32Of(std::string_view text)
{
    std::uint32_t crc = 0xffffffffu;
    for (const char c : text) {
        crc ^= static_cast<unsigned char>(c);
        for (int bit = 0; bit < 8; ++bit)
            crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1u)));
    }
    return ~crc;
}

void appendLittleEndian(std::string &out, std::uint32_t number)
{
    for (int shift = 0; shift < 32; shift += 8)
        out += static_cast<char>(number >> shift);
}

} // namespace

std::string gzip(std::string_view text)
{
    // qCompress gives four bytes of length, a zlib head of two, the deflate data, and four bytes of check sum.
    const QByteArray zlib = qCompress(reinterpret_cast<const uchar *>(text.data()),
                                      static_cast<qsizetype>(text.size()));
    std::string out("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff", 10);
    out.append(zlib.constData() + 6, static_cast<std::size_t>(zlib.size()) - 10);
    appendLittleEndian(out, crc32Of(text));
    appendLittleEndian(out, static_cast<std::uint32_t>(text.size()));
    return out;
}

namespace {

std::string event(std::string_view choices, std::string_view more = {})
{
    return "data: "
           "{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":["
           + std::string(choices) + "]" + std::string(more) + "}\n\n";
}

} // namespace

std::string chatDelta(std::string_view text)
{
    return event("{\"index\":0,\"delta\":{\"content\":\"" + std::string(text) + "\"},\"finish_reason\":null}");
}

std::string chatFinish(std::string_view reason)
{
    return event("{\"index\":0,\"delta\":{},\"finish_reason\":\"" + std::string(reason) + "\"}");
}

std::string chatUsage(int input, int output)
{
    return event({}, ",\"usage\":{\"prompt_tokens\":" + std::to_string(input) + ",\"completion_tokens\":"
                         + std::to_string(output) + ",\"total_tokens\":" + std::to_string(input + output) + "}");
}

std::string chatDone() { return "data: [DONE]\n\n"; }

std::string chatBody(const std::vector<std::string> &deltas)
{
    std::string body = event(
        "{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}");
    for (const std::string &text : deltas)
        body += chatDelta(text);
    return body + chatFinish() + chatUsage(10, static_cast<int>(deltas.size())) + chatDone();
}

std::string chatError(std::string_view message, std::string_view type)
{
    return "{\"error\":{\"message\":\"" + std::string(message) + "\",\"type\":\"" + std::string(type)
           + "\",\"param\":null,\"code\":null}}";
}

} // namespace cortexfs::test
