#include "app/ctx/core/line_editor.h"

#include "app/ctx/core/text.h"
#include "common/json/json.h"

#include <algorithm>

namespace cortexfs::ctx {

namespace {

constexpr char kEscape = '\x1b';
constexpr std::string_view kPasteBegin = "[200~";
constexpr std::string_view kPasteEnd = "\x1b[201~";
constexpr std::size_t kLongestSequence = 16;

bool isContinuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

bool isWordByte(char byte)
{
    const auto value = static_cast<unsigned char>(byte);
    return value >= 0x80 || std::isalnum(value) || byte == '_';
}

std::size_t lengthOf(char lead)
{
    const auto value = static_cast<unsigned char>(lead);
    return value >= 0xf0 ? 4 : value >= 0xe0 ? 3 : value >= 0xc0 ? 2 : 1;
}

// Where the next character lands on the screen.
struct Pen {
    std::size_t width;
    std::string out = {};
    std::size_t row = 0;
    std::size_t column = 0;

    void newLine()
    {
        out += "\r\n";
        ++row;
        column = 0;
    }
    // Lines are broken here and not by the terminal, which may do it at once or one character later.
    void put(std::string_view character)
    {
        const std::size_t columns = displayWidth(character);
        if (column + columns > width)
            newLine();
        out += character;
        column += columns;
    }
    void putText(std::string_view text)
    {
        while (!text.empty()) {
            const std::size_t length = std::min(lengthOf(text.front()), text.size());
            const std::string_view one = text.substr(0, length);
            text.remove_prefix(length);
            if (one == "\n") {
                newLine();
                continue;
            }
            const std::string shown = one == "\t" ? std::string("    ") : escaped(one);
            if (shown == one) {
                put(one);
                continue;
            }
            for (const char byte : shown)
                put(std::string_view(&byte, 1));
        }
    }
};

} // namespace

LineEditor::Outcome LineEditor::feed(std::string &input)
{
    std::size_t taken = 0;
    Outcome outcome = Outcome::More;
    while (taken < input.size() && outcome == Outcome::More)
        outcome = takeByte(input[taken++]);
    input.erase(0, taken);
    return outcome;
}

LineEditor::Outcome LineEditor::takeByte(char byte)
{
    if (m_isPasting) {
        takePasted(byte);
        return Outcome::More;
    }
    if (!m_partial.empty() && m_partial.front() == kEscape) {
        m_partial += byte;
        takeEscape();
        return Outcome::More;
    }
    const auto value = static_cast<unsigned char>(byte);
    if (!m_partial.empty() && !isContinuation(byte))
        m_partial.clear(); // half a character that was never finished
    if (byte == kEscape) {
        m_partial = byte;
        return Outcome::More;
    }
    if (value < 0x20 || value == 0x7f)
        return takeControl(byte);
    m_partial += byte;
    if (m_partial.size() >= lengthOf(m_partial.front())) {
        if (json::isValidUtf8(m_partial))
            insert(m_partial);
        m_partial.clear();
    }
    return Outcome::More;
}

LineEditor::Outcome LineEditor::takeControl(char byte)
{
    switch (byte) {
    case '\r':
    case '\n': return Outcome::Line;
    case 'C' - '@': return Outcome::Interrupted;
    case 'D' - '@':
        if (m_text.empty())
            return Outcome::EndOfInput;
        erase(m_cursor, after(m_cursor));
        break;
    case 'A' - '@': m_cursor = lineStart(); break;
    case 'E' - '@': m_cursor = lineEnd(); break;
    case 'B' - '@': m_cursor = before(m_cursor); break;
    case 'F' - '@': m_cursor = after(m_cursor); break;
    case 'P' - '@': recall(1); break;
    case 'N' - '@': recall(-1); break;
    case 'H' - '@':
    case '\x7f': erase(before(m_cursor), m_cursor); break;
    case 'K' - '@':
        m_killed = m_text.substr(m_cursor, lineEnd() - m_cursor);
        erase(m_cursor, lineEnd());
        break;
    case 'U' - '@':
        m_killed = m_text.substr(lineStart(), m_cursor - lineStart());
        erase(lineStart(), m_cursor);
        break;
    case 'W' - '@':
        m_killed = m_text.substr(wordBefore(m_cursor), m_cursor - wordBefore(m_cursor));
        erase(wordBefore(m_cursor), m_cursor);
        break;
    case 'Y' - '@': insert(m_killed); break;
    case 'L' - '@': m_wantsClear = true; break;
    case '\t': insert("\t"); break;
    default: break;
    }
    return Outcome::More;
}

// ESC and what came after it: a sequence that begins with [ or O, or Alt and a key.
void LineEditor::takeEscape()
{
    const char second = m_partial[1];
    if (second != '[' && second != 'O') {
        const char key = second;
        m_partial.clear();
        if (key == kEscape)
            m_partial = kEscape;
        else
            takeAlt(key);
        return;
    }
    const char last = m_partial.back();
    const bool isEnded = m_partial.size() > 2 && last >= '@' && last <= '~';
    if (!isEnded && m_partial.size() < kLongestSequence)
        return;
    const std::string sequence = m_partial.substr(1);
    m_partial.clear();
    if (isEnded)
        takeSequence(sequence);
}

void LineEditor::takeSequence(std::string_view sequence)
{
    if (sequence == kPasteBegin) {
        m_isPasting = true;
        m_pasted.clear();
    } else if (sequence == "[A" || sequence == "OA") {
        recall(1);
    } else if (sequence == "[B" || sequence == "OB") {
        recall(-1);
    } else if (sequence == "[C" || sequence == "OC") {
        m_cursor = after(m_cursor);
    } else if (sequence == "[D" || sequence == "OD") {
        m_cursor = before(m_cursor);
    } else if (sequence == "[H" || sequence == "OH" || sequence == "[1~" || sequence == "[7~") {
        m_cursor = lineStart();
    } else if (sequence == "[F" || sequence == "OF" || sequence == "[4~" || sequence == "[8~") {
        m_cursor = lineEnd();
    } else if (sequence == "[3~") {
        erase(m_cursor, after(m_cursor));
    } else if (sequence == "[1;5C" || sequence == "[1;3C") {
        m_cursor = wordAfter(m_cursor);
    } else if (sequence == "[1;5D" || sequence == "[1;3D") {
        m_cursor = wordBefore(m_cursor);
    }
}

void LineEditor::takeAlt(char byte)
{
    switch (byte) {
    case 'b': m_cursor = wordBefore(m_cursor); break;
    case 'f': m_cursor = wordAfter(m_cursor); break;
    case 'd': erase(m_cursor, wordAfter(m_cursor)); break;
    case 'H' - '@':
    case '\x7f': erase(wordBefore(m_cursor), m_cursor); break;
    case '\r':
    case '\n': insert("\n"); break;
    default: break;
    }
}

// A paste is text whatever stands in it; the end of a line is the end of a line, however the terminal sends it.
void LineEditor::takePasted(char byte)
{
    m_pasted += byte;
    if (!m_pasted.ends_with(kPasteEnd))
        return;
    m_pasted.resize(m_pasted.size() - kPasteEnd.size());
    std::string text;
    for (std::size_t i = 0; i < m_pasted.size(); ++i) {
        if (m_pasted[i] != '\r')
            text += m_pasted[i];
        else if (i + 1 == m_pasted.size() || m_pasted[i + 1] != '\n')
            text += '\n';
    }
    m_isPasting = false;
    insert(json::toValidUtf8(text));
    m_pasted.clear();
}

void LineEditor::insert(std::string_view text)
{
    m_text.insert(m_cursor, text);
    m_cursor += text.size();
}

void LineEditor::erase(std::size_t from, std::size_t to)
{
    m_text.erase(from, to - from);
    m_cursor = from;
}

void LineEditor::recall(int step)
{
    const bool canMove = step > 0 ? m_recalled < m_history.size() : m_recalled > 0;
    if (!canMove)
        return;
    if (m_recalled == 0)
        m_own = m_text;
    m_recalled = step > 0 ? m_recalled + 1 : m_recalled - 1;
    m_text = m_recalled == 0 ? m_own : m_history[m_history.size() - m_recalled];
    m_cursor = m_text.size();
}

std::size_t LineEditor::before(std::size_t at) const
{
    if (at == 0)
        return 0;
    --at;
    while (at > 0 && isContinuation(m_text[at]))
        --at;
    return at;
}

std::size_t LineEditor::after(std::size_t at) const
{
    if (at >= m_text.size())
        return m_text.size();
    ++at;
    while (at < m_text.size() && isContinuation(m_text[at]))
        ++at;
    return at;
}

std::size_t LineEditor::wordBefore(std::size_t at) const
{
    while (at > 0 && !isWordByte(m_text[at - 1]))
        --at;
    while (at > 0 && isWordByte(m_text[at - 1]))
        --at;
    return at;
}

std::size_t LineEditor::wordAfter(std::size_t at) const
{
    while (at < m_text.size() && !isWordByte(m_text[at]))
        ++at;
    while (at < m_text.size() && isWordByte(m_text[at]))
        ++at;
    return at;
}

std::size_t LineEditor::lineStart() const
{
    const std::size_t end = m_cursor == 0 ? std::string::npos : m_text.rfind('\n', m_cursor - 1);
    return end == std::string::npos ? 0 : end + 1;
}

std::size_t LineEditor::lineEnd() const { return std::min(m_text.find('\n', m_cursor), m_text.size()); }

std::string LineEditor::draw(std::size_t width)
{
    Pen pen{std::max<std::size_t>(width, 4)};
    if (m_wantsClear)
        pen.out += "\x1b[H\x1b[2J";
    else if (m_shownRow > 0)
        pen.out += "\x1b[" + std::to_string(m_shownRow) + "A";
    pen.out += "\r\x1b[J";
    m_wantsClear = false;
    pen.putText(m_prompt);
    pen.putText(std::string_view(m_text).substr(0, m_cursor));
    if (pen.column == pen.width) // the cursor has no place behind the last column
        pen.newLine();
    const std::size_t row = pen.row;
    const std::size_t column = pen.column;
    pen.putText(std::string_view(m_text).substr(m_cursor));
    if (pen.row > row)
        pen.out += "\x1b[" + std::to_string(pen.row - row) + "A";
    pen.out += "\r";
    if (column > 0)
        pen.out += "\x1b[" + std::to_string(column) + "C";
    m_shownRow = row;
    return std::move(pen.out);
}

std::string LineEditor::finish(std::size_t width)
{
    m_cursor = m_text.size();
    std::string out = draw(width);
    m_shownRow = 0;
    return out + "\r\n";
}

} // namespace cortexfs::ctx
