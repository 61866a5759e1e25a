// What was typed before, kept in a file of the user's: $XDG_STATE_HOME/cortexfs/chat_history, mode 0600. One JSON string a
// line, so that a line may hold several.
#pragma once

#include "common/base/places.h"

#include <string>
#include <vector>

namespace cortexfs::ctx {

// Empty when there is no place for it (no HOME).
std::string inputHistoryFile(const Environment &environment);

class InputHistory {
public:
    static constexpr std::size_t kKept = 1000;

    // A file that is absent, of somebody else, or damaged gives what can be read of it.
    explicit InputHistory(std::string file);

    const std::vector<std::string> &lines() const { return m_lines; } // oldest first
    // Not when it is empty or the same as the last. What cannot be written is kept for this run only.
    void add(const std::string &line);

private:
    std::string m_file;
    std::vector<std::string> m_lines;
};

} // namespace cortexfs::ctx
