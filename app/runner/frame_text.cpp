#include "app/runner/frame_text.h"

#include <string.h>

namespace cortexfs::runner {

namespace {

constexpr char kHex[] = "0123456789abcdef";

unsigned char byteAt(Text text, size_t at) { return static_cast<unsigned char>(text.data[at]); }
bool isBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

size_t skipBlanks(Text text, size_t at)
{
    while (at < text.size && isBlank(text.data[at]))
        ++at;
    return at;
}

// Behind the closing quote of the string that starts at `at`; the size when it is not closed.
size_t skipString(Text text, size_t at)
{
    for (++at; at < text.size; ++at) {
        if (text.data[at] == '\\')
            ++at;
        else if (text.data[at] == '"')
            return at + 1;
    }
    return text.size;
}

// Behind the value that starts at `at`. Brackets are counted, not matched: the frame comes from our own daemon.
size_t skipValue(Text text, size_t at)
{
    int depth = 0;
    while (at < text.size) {
        const char c = text.data[at];
        if (c == '"') {
            at = skipString(text, at);
            if (depth == 0)
                return at;
            continue;
        }
        if (depth == 0 && (c == ',' || c == '}' || c == ']'))
            return at;
        if (c == '{' || c == '[')
            ++depth;
        if (c == '}' || c == ']') {
            --depth;
            if (depth == 0)
                return at + 1;
        }
        ++at;
    }
    return text.size;
}

int hexValue(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

// The code unit of "\uXXXX" at `at`, -1 when it is none.
long escapedUnit(Text text, size_t at)
{
    if (at + 6 > text.size || text.data[at] != '\\' || text.data[at + 1] != 'u')
        return -1;
    long unit = 0;
    for (size_t i = at + 2; i < at + 6; ++i) {
        const int digit = hexValue(text.data[i]);
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

void appendPoint(Buffer &out, long point)
{
    char bytes[4];
    size_t count = 0;
    if (point < 0x80) {
        bytes[count++] = static_cast<char>(point);
    } else if (point < 0x800) {
        bytes[count++] = static_cast<char>(0xc0 | (point >> 6));
        bytes[count++] = static_cast<char>(0x80 | (point & 0x3f));
    } else if (point < 0x10000) {
        bytes[count++] = static_cast<char>(0xe0 | (point >> 12));
        bytes[count++] = static_cast<char>(0x80 | ((point >> 6) & 0x3f));
        bytes[count++] = static_cast<char>(0x80 | (point & 0x3f));
    } else {
        bytes[count++] = static_cast<char>(0xf0 | (point >> 18));
        bytes[count++] = static_cast<char>(0x80 | ((point >> 12) & 0x3f));
        bytes[count++] = static_cast<char>(0x80 | ((point >> 6) & 0x3f));
        bytes[count++] = static_cast<char>(0x80 | (point & 0x3f));
    }
    out.append(bytes, count);
}

// One escape at `at`; gives the position behind it.
size_t appendEscape(Buffer &out, Text text, size_t at)
{
    const long unit = escapedUnit(text, at);
    if (unit >= 0) {
        const long low = escapedUnit(text, at + 6);
        if (unit >= 0xd800 && unit < 0xdc00 && low >= 0xdc00 && low < 0xe000) {
            appendPoint(out, 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00));
            return at + 12;
        }
        appendPoint(out, unit >= 0xd800 && unit < 0xe000 ? 0xfffd : unit);
        return at + 6;
    }
    if (at + 1 >= text.size)
        return text.size;
    static constexpr char kFrom[] = "bfnrt";
    static constexpr char kTo[] = "\b\f\n\r\t";
    char c = text.data[at + 1];
    if (const char *known = c ? strchr(kFrom, c) : nullptr)
        c = kTo[known - kFrom];
    out.append(&c, 1);
    return at + 2;
}

} // namespace

void appendQuoted(Buffer &out, Text text)
{
    out.append("\"", 1);
    size_t plain = 0;
    for (size_t i = 0; i < text.size; ++i) {
        const unsigned char byte = byteAt(text, i);
        if (byte >= 0x20 && byte != '"' && byte != '\\')
            continue;
        out.append(text.data + plain, i - plain);
        plain = i + 1;
        if (byte == '"' || byte == '\\') {
            const char escape[2] = {'\\', static_cast<char>(byte)};
            out.append(escape, sizeof escape);
        } else {
            const char escape[6] = {'\\', 'u', '0', '0', kHex[byte >> 4], kHex[byte & 15]};
            out.append(escape, sizeof escape);
        }
    }
    out.append(text.data + plain, text.size - plain);
    out.append("\"", 1);
}

size_t wholeUtf8(Text text, bool &isBroken)
{
    isBroken = false;
    size_t at = 0;
    while (at < text.size) {
        const unsigned char lead = byteAt(text, at);
        size_t length = 0;
        unsigned char least = 0x80;
        unsigned char most = 0xbf;
        if (lead < 0x80) {
            ++at;
            continue;
        }
        if (lead >= 0xc2 && lead <= 0xdf) {
            length = 2;
        } else if (lead >= 0xe0 && lead <= 0xef) {
            length = 3;
            least = lead == 0xe0 ? 0xa0 : 0x80;
            most = lead == 0xed ? 0x9f : 0xbf;
        } else if (lead >= 0xf0 && lead <= 0xf4) {
            length = 4;
            least = lead == 0xf0 ? 0x90 : 0x80;
            most = lead == 0xf4 ? 0x8f : 0xbf;
        } else {
            isBroken = true;
            return at;
        }
        for (size_t i = 1; i < length; ++i) {
            if (at + i >= text.size)
                return at; // cut off: the rest may still come
            const unsigned char byte = byteAt(text, at + i);
            if (byte < least || byte > most) {
                isBroken = true;
                return at;
            }
            least = 0x80;
            most = 0xbf;
        }
        at += length;
    }
    return at;
}

Text memberOf(Text frame, const char *key)
{
    size_t at = skipBlanks(frame, 0);
    if (at >= frame.size || frame.data[at] != '{')
        return {};
    ++at;
    while (at < frame.size) {
        at = skipBlanks(frame, at);
        if (at >= frame.size || frame.data[at] != '"')
            return {};
        const size_t keyEnd = skipString(frame, at);
        const Text name = {frame.data + at + 1, keyEnd - at >= 2 ? keyEnd - at - 2 : 0};
        at = skipBlanks(frame, keyEnd);
        if (at >= frame.size || frame.data[at] != ':')
            return {};
        at = skipBlanks(frame, at + 1);
        const size_t valueEnd = skipValue(frame, at);
        if (name.equals(key))
            return {frame.data + at, valueEnd - at};
        at = skipBlanks(frame, valueEnd);
        if (at >= frame.size || frame.data[at] != ',')
            return {};
        ++at;
    }
    return {};
}

bool appendUnquoted(Buffer &out, Text json)
{
    if (json.size < 2 || json.data[0] != '"' || json.data[json.size - 1] != '"')
        return false;
    const Text inner = {json.data + 1, json.size - 2};
    size_t plain = 0;
    for (size_t i = 0; i < inner.size;) {
        if (inner.data[i] != '\\') {
            ++i;
            continue;
        }
        out.append(inner.data + plain, i - plain);
        i = appendEscape(out, inner, i);
        plain = i;
    }
    if (plain < inner.size)
        out.append(inner.data + plain, inner.size - plain);
    return true;
}

int numberOf(Text json, int fallback)
{
    constexpr int kMost = 100'000;
    if (json.size == 0)
        return fallback;
    int number = 0;
    for (size_t i = 0; i < json.size; ++i) {
        if (json.data[i] < '0' || json.data[i] > '9' || number > kMost)
            return fallback;
        number = number * 10 + (json.data[i] - '0');
    }
    return number;
}

void appendPrintable(Buffer &out, Text text)
{
    const auto appendEscaped = [&](unsigned char byte) {
        const char escape[4] = {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
        out.append(escape, sizeof escape);
    };
    for (size_t i = 0; i < text.size; ++i) {
        const unsigned char byte = byteAt(text, i);
        // C1 controls are U+0080 to U+009F: two bytes, c2 and then the control.
        const bool isC1 = byte == 0xc2 && i + 1 < text.size && byteAt(text, i + 1) >= 0x80
                          && byteAt(text, i + 1) <= 0x9f;
        if (isC1) {
            appendEscaped(byte);
            appendEscaped(byteAt(text, ++i));
        } else if (byte < 0x20 || byte == 0x7f) {
            appendEscaped(byte);
        } else {
            out.append(text.data + i, 1);
        }
    }
}

} // namespace cortexfs::runner
