#include "app/ctx/core/text.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace cortexfs::ctx {

namespace {

struct Codepoint {
    char32_t value = 0;
    std::size_t length = 0; // bytes; 0: not valid UTF-8 here
};

Codepoint decode(std::string_view text)
{
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = byte(0);
    if (lead < 0x80)
        return {lead, 1};
    const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || text.size() < length)
        return {};
    char32_t value = lead & (0x7fU >> length);
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0) != 0x80)
            return {};
        value = (value << 6) | (byte(i) & 0x3fU);
    }
    const bool isOverlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
    const bool isSurrogate = value >= 0xd800 && value <= 0xdfff;
    if (isOverlong || isSurrogate || value > 0x10ffff)
        return {};
    return {value, length};
}

struct Range {
    char32_t first;
    char32_t last;
};

template<std::size_t Size>
bool isIn(const std::array<Range, Size> &ranges, char32_t value)
{
    return std::any_of(ranges.begin(), ranges.end(),
                       [&](const Range &range) { return value >= range.first && value <= range.last; });
}

bool isHarmful(char32_t value)
{
    // C1 controls, separators that end a line, and marks that change the direction of what follows
    static constexpr std::array kRanges = {Range{0x7f, 0x9f},     Range{0x200e, 0x200f}, Range{0x2028, 0x202e},
                                           Range{0x2066, 0x2069}, Range{0x061c, 0x061c}, Range{0xfeff, 0xfeff}};
    return value < 0x20 || isIn(kRanges, value);
}

std::string escapeOne(char32_t value)
{
    switch (value) {
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    default: break;
    }
    std::array<char, 16> buffer;
    std::snprintf(buffer.data(), buffer.size(), value < 0x80 ? "\\x%02x" : "\\u{%04x}", static_cast<unsigned>(value));
    return buffer.data();
}

std::string escape(std::string_view text, bool keepLines)
{
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const Codepoint point = decode(text);
        if (point.length == 0) {
            std::array<char, 8> buffer;
            std::snprintf(buffer.data(), buffer.size(), "\\x%02x", static_cast<unsigned char>(text.front()));
            out += buffer.data();
            text.remove_prefix(1);
            continue;
        }
        const bool isKept = keepLines && (point.value == '\n' || point.value == '\t');
        if (isHarmful(point.value) && !isKept)
            out += escapeOne(point.value);
        else
            out += text.substr(0, point.length);
        text.remove_prefix(point.length);
    }
    return out;
}

std::size_t widthOf(char32_t value)
{
    static constexpr std::array kZero = {Range{0x0300, 0x036f}, Range{0x0483, 0x0489}, Range{0x0591, 0x05bd},
                                         Range{0x0610, 0x061a}, Range{0x064b, 0x065f}, Range{0x0900, 0x0902},
                                         Range{0x0e31, 0x0e31}, Range{0x0e34, 0x0e3a}, Range{0x200b, 0x200d},
                                         Range{0x20d0, 0x20ff}, Range{0xfe00, 0xfe0f}, Range{0xfe20, 0xfe2f}};
    static constexpr std::array kWide = {Range{0x1100, 0x115f},   Range{0x2e80, 0x303e},   Range{0x3041, 0xa4cf},
                                         Range{0xa960, 0xa97f},   Range{0xac00, 0xd7a3},   Range{0xf900, 0xfaff},
                                         Range{0xfe30, 0xfe6f},   Range{0xff00, 0xff60},   Range{0xffe0, 0xffe6},
                                         Range{0x1f300, 0x1f64f}, Range{0x1f680, 0x1f6ff}, Range{0x1f900, 0x1f9ff},
                                         Range{0x20000, 0x3fffd}};
    if (value < 0x300)
        return 1;
    if (isIn(kZero, value))
        return 0;
    return isIn(kWide, value) ? 2 : 1;
}

} // namespace

std::string escaped(std::string_view text) { return escape(text, false); }
std::string escapedLines(std::string_view text) { return escape(text, true); }

std::size_t displayWidth(std::string_view text)
{
    std::size_t width = 0;
    while (!text.empty()) {
        const Codepoint point = decode(text);
        width += point.length ? widthOf(point.value) : 1;
        text.remove_prefix(std::max<std::size_t>(1, point.length));
    }
    return width;
}

bool Table::isRight(std::size_t column) const
{
    return std::find(m_right.begin(), m_right.end(), column) != m_right.end();
}

void Table::appendRow(std::string &out, const std::vector<std::string> &cells,
                      const std::vector<std::size_t> &widths) const
{
    std::string row;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::size_t padding = widths[i] - displayWidth(cells[i]);
        if (isRight(i))
            row.append(padding, ' ');
        row += cells[i];
        if (i + 1 == cells.size())
            break;
        if (!isRight(i))
            row.append(padding, ' ');
        row += "  ";
    }
    row.erase(row.find_last_not_of(' ') + 1);
    out += row;
}

std::string Table::text(std::string_view headerStyle, std::string_view reset) const
{
    std::vector<std::size_t> widths;
    const auto measure = [&](const std::vector<std::string> &cells) {
        widths.resize(std::max(widths.size(), cells.size()));
        for (std::size_t i = 0; i < cells.size(); ++i)
            widths[i] = std::max(widths[i], displayWidth(cells[i]));
    };
    std::vector<std::vector<std::string>> rows = m_rows;
    measure(m_header);
    for (std::vector<std::string> &row : rows) {
        for (std::string &cell : row)
            cell = escaped(cell);
        measure(row);
    }
    std::string out;
    if (!m_header.empty()) {
        out += headerStyle;
        appendRow(out, m_header, widths);
        out += reset;
        out += '\n';
    }
    for (const std::vector<std::string> &row : rows) {
        appendRow(out, row, widths);
        out += '\n';
    }
    return out;
}

std::string duration(std::int64_t milliseconds)
{
    struct Unit {
        std::int64_t span;
        std::string_view name;
    };
    constexpr std::int64_t kSecond = 1000;
    constexpr std::int64_t kMinute = 60 * kSecond;
    constexpr std::int64_t kHour = 60 * kMinute;
    constexpr std::int64_t kDay = 24 * kHour;
    static constexpr std::array kUnits = {Unit{kDay, " d"}, Unit{kHour, " h"}, Unit{kMinute, " min"}};
    for (const Unit &unit : kUnits) {
        if (milliseconds >= 2 * unit.span)
            return std::to_string(milliseconds / unit.span) + std::string(unit.name);
    }
    if (milliseconds >= 10 * kSecond)
        return std::to_string(milliseconds / kSecond) + " s";
    return std::to_string(milliseconds) + " ms";
}

std::string tokens(std::int64_t count)
{
    constexpr std::int64_t kThousand = 1000;
    if (count == 0 || count % kThousand != 0)
        return std::to_string(count);
    return std::to_string(count / kThousand) + "k";
}

std::string counted(std::int64_t count, std::string_view one, std::string_view many)
{
    return std::to_string(count) + " " + std::string(count == 1 ? one : many);
}

std::string wrapped(std::string_view text, std::size_t width, std::size_t indent)
{
    std::string out;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.starts_with(' ')) {
            out.append(indent, ' ');
            out += line;
            out += '\n';
            continue;
        }
        std::size_t column = 0;
        while (!line.empty()) {
            const std::size_t blank = std::min(line.find(' '), line.size());
            const std::string_view word = line.substr(0, blank);
            line.remove_prefix(std::min(blank + 1, line.size()));
            const std::size_t wordWidth = displayWidth(word);
            if (column > 0 && column + 1 + wordWidth > width) {
                out += '\n';
                column = 0;
            }
            if (column == 0) {
                out.append(indent, ' ');
                column = indent;
            } else {
                out += ' ';
                ++column;
            }
            out += word;
            column += wordWidth;
        }
        out += '\n';
    }
    return out;
}

std::string shellQuoted(std::string_view text)
{
    std::string out = "'";
    for (const char c : text) {
        if (c == '\'')
            out += "'\\''";
        else
            out += c;
    }
    return out + "'";
}

std::string shellWord(std::string_view text)
{
    const auto isPlain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
               || std::string_view("_-./:+,@%").find(c) != std::string_view::npos;
    };
    if (!text.empty() && std::all_of(text.begin(), text.end(), isPlain))
        return std::string(text);
    return shellQuoted(text);
}

} // namespace cortexfs::ctx
