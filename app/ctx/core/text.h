// Text for a terminal: what came from outside made harmless, columns that line up, numbers that people read. Pure.
#pragma once

#include "common/json/json.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cortexfs::ctx {

// Control characters (C0, DEL, C1), line and paragraph separators, bidirectional overrides and bytes that are no UTF-8
// become \n, \t, \xNN or \u{NNNN}, so that a name or a message cannot move the cursor or forge a line.
std::string escaped(std::string_view text);
// As escaped(), keeping LF and TAB: for text of several lines.
std::string escapedLines(std::string_view text);

// Columns that valid UTF-8 takes on a terminal: 0 for combining marks, 2 for East Asian wide characters and emoji.
std::size_t displayWidth(std::string_view text);

// Rows of cells, two blanks between columns; the last cell of a row is not padded. Cells are escaped.
class Table {
public:
    explicit Table(std::vector<std::string> header = {}) : m_header(std::move(header)) {}
    void add(std::vector<std::string> cells) { m_rows.push_back(std::move(cells)); }
    void alignRight(std::size_t column) { m_right.push_back(column); }
    bool isEmpty() const { return m_rows.empty(); }
    // `headerStyle` and `reset` surround the header: SGR sequences or empty.
    std::string text(std::string_view headerStyle = {}, std::string_view reset = {}) const;

private:
    void appendRow(std::string &out, const std::vector<std::string> &cells,
                   const std::vector<std::size_t> &widths) const;
    bool isRight(std::size_t column) const;

    std::vector<std::string> m_header;
    std::vector<std::vector<std::string>> m_rows;
    std::vector<std::size_t> m_right;
};

// "850 ms", "12 s", "3 min", "5 h", "2 d"
std::string duration(std::int64_t milliseconds);
// 272000 -> "272k", 32768 -> "32768": short where nothing is lost by it, since limits are hard
std::string tokens(std::int64_t count);
// "1 model", "3 models"
std::string counted(std::int64_t count, std::string_view one, std::string_view many);
// Paragraphs wrapped at `width` columns, every line indented. A line that begins with a blank is kept as it is.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent);
// 'it'\''s': one word for a POSIX shell.
std::string shellQuoted(std::string_view text);
// As shellQuoted(), left bare when nothing in it is special.
std::string shellWord(std::string_view text);

} // namespace cortexfs::ctx
