// One line (or several pasted ones) typed on a terminal. LineEditor is the text, its keys and its picture, and touches no
// descriptor; LinePrompt runs one on the terminal. Keys are those that readline's users have in their fingers.
#pragma once

#include "app/ctx/core/output.h"
#include "common/base/unique_fd.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <termios.h>

namespace cortexfs::ctx {

class LineEditor {
public:
    enum class Outcome { More, Line, EndOfInput, Interrupted };

    // `history`, oldest first, must outlive the editor. `prompt` is plain text.
    LineEditor(std::string prompt, const std::vector<std::string> &history)
        : m_prompt(std::move(prompt)), m_history(history)
    {}

    // Takes bytes from the front of `input` until something came of them or none are left. A character or key whose bytes
    // have not all come waits inside.
    Outcome feed(std::string &input);
    // Valid UTF-8; several lines when they were pasted or joined with Alt-Enter.
    const std::string &text() const { return m_text; }
    std::size_t cursor() const { return m_cursor; } // bytes

    // What brings the terminal from the last picture to the current one. `width` in columns.
    std::string draw(std::size_t width);
    // Below the picture, for what comes after the line.
    std::string finish(std::size_t width);
    // The screen was cleared or the picture scrolled away.
    void forgetPicture() { m_shownRow = 0; }

private:
    Outcome takeByte(char byte);
    Outcome takeControl(char byte);
    void takeEscape();
    void takeSequence(std::string_view sequence);
    void takeAlt(char byte);
    void takePasted(char byte);
    void insert(std::string_view text);
    void erase(std::size_t from, std::size_t to);
    void recall(int step);
    std::size_t before(std::size_t at) const;
    std::size_t after(std::size_t at) const;
    std::size_t wordBefore(std::size_t at) const;
    std::size_t wordAfter(std::size_t at) const;
    std::size_t lineStart() const;
    std::size_t lineEnd() const;

    std::string m_prompt;
    const std::vector<std::string> &m_history;
    std::string m_text;
    std::size_t m_cursor = 0;
    std::string m_partial; // of a character or an escape sequence
    std::string m_pasted;
    bool m_isPasting = false;
    std::string m_killed;
    std::size_t m_recalled = 0; // lines back from the newest; 0: the own one
    std::string m_own;
    std::size_t m_shownRow = 0; // of the cursor in the last picture
    bool m_wantsClear = false;
};

// Raw mode and bracketed paste for as long as it lives.
class RawTerminal {
public:
    explicit RawTerminal(int in, int out);
    ~RawTerminal();
    RawTerminal(const RawTerminal &) = delete;
    RawTerminal &operator=(const RawTerminal &) = delete;
    bool isRaw() const { return m_isRaw; }

private:
    int m_in;
    int m_out;
    termios m_before = {};
    bool m_isRaw = false;
};

// Columns of the terminal; 80 when it does not say.
std::size_t terminalWidth(int fd);

struct Typed {
    LineEditor::Outcome outcome = LineEditor::Outcome::EndOfInput; // Line, EndOfInput or Interrupted
    std::string text;
    int signal = 0; // the caught one that interrupted
};

// Reads lines from standard input, a terminal. `signals` is a descriptor of catchSignals() with SIGWINCH among them.
class LinePrompt {
public:
    LinePrompt(int out, const UniqueFd &signals, bool canEdit) : m_out(out), m_signals(signals), m_canEdit(canEdit) {}

    // Without editing (a dumb terminal) the terminal's own line discipline is used.
    Result<Typed> read(const std::string &prompt, const std::vector<std::string> &history);

private:
    Result<Typed> readEdited(const std::string &prompt, const std::vector<std::string> &history);
    Result<Typed> readPlain(const std::string &prompt);
    // True: there is input. False: a signal came, in `signal`.
    Result<bool> wait(int &signal);
    bool readMore(); // false at the end

    int m_out;
    const UniqueFd &m_signals;
    bool m_canEdit;
    std::string m_ahead; // typed or pasted before it was asked for
};

} // namespace cortexfs::ctx
