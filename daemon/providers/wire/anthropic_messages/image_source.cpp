#include "daemon/providers/wire/anthropic_messages/image_source.h"

#include "common/json/json.h"

#include <algorithm>
#include <array>

namespace cortexfs::wire::anthropic_messages {

namespace {

constexpr std::array<std::string_view, 4> kTypes = {"image/jpeg", "image/png", "image/gif", "image/webp"};

int sextet(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+')
        return 62;
    return c == '/' ? 63 : -1;
}

// The first bytes, as many as a magic number needs.
std::string firstBytes(std::string_view base64)
{
    std::string out;
    unsigned bits = 0;
    int held = 0;
    for (const char c : base64.substr(0, 24)) {
        const int value = sextet(c);
        if (value < 0)
            break;
        bits = (bits << 6) | static_cast<unsigned>(value);
        held += 6;
        if (held >= 8) {
            held -= 8;
            out += static_cast<char>((bits >> held) & 0xff);
        }
    }
    return out;
}

std::string_view sniffed(std::string_view bytes)
{
    if (bytes.starts_with("\xff\xd8\xff"))
        return "image/jpeg";
    if (bytes.starts_with("\x89PNG"))
        return "image/png";
    if (bytes.starts_with("GIF8"))
        return "image/gif";
    if (bytes.starts_with("RIFF") && bytes.size() >= 12 && bytes.substr(8, 4) == "WEBP")
        return "image/webp";
    return {};
}

// The plain alphabet with its padding, whichever of the two was given.
std::string plainBase64(std::string_view text)
{
    std::string out(text);
    std::replace(out.begin(), out.end(), '-', '+');
    std::replace(out.begin(), out.end(), '_', '/');
    while (out.ends_with('='))
        out.pop_back();
    out.append((4 - out.size() % 4) % 4, '=');
    return out;
}

std::string lower(std::string_view text)
{
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return out;
}

} // namespace

Result<std::string> imageSource(std::string_view url)
{
    json::Writer writer;
    writer.beginObject();
    if (url.starts_with("https://")) {
        writer.field("type", "url").field("url", url).endObject();
        return writer.take();
    }
    constexpr std::string_view kScheme = "data:";
    const std::size_t comma = url.find(',');
    if (!url.starts_with(kScheme) || comma == std::string_view::npos)
        return errors::invalid("an image is neither an https: nor a data: URL");
    const std::string head = lower(url.substr(kScheme.size(), comma - kScheme.size()));
    if (!head.ends_with(";base64"))
        return errors::invalid("an image's data: URL is not base64");
    const std::string data = plainBase64(url.substr(comma + 1));
    std::string_view type = sniffed(firstBytes(data));
    const std::string declared = head.substr(0, head.find(';'));
    if (type.empty())
        type = declared == "image/jpg" ? std::string_view("image/jpeg") : std::string_view(declared);
    if (std::find(kTypes.begin(), kTypes.end(), type) == kTypes.end())
        return errors::invalid("an image is none of JPEG, PNG, GIF, WebP");
    writer.field("type", "base64").field("media_type", type).field("data", data).endObject();
    return writer.take();
}

} // namespace cortexfs::wire::anthropic_messages
