// What can be told about a JSON text without building it.
#pragma once

#include <string>
#include <string_view>

namespace cortexfs::wire {

// Follows a text that comes in pieces: is the object that it began with closed? One look at each byte.
class ObjectBalance {
public:
    void feed(std::string_view piece);
    // A whole object and nothing but blanks after it. Its inside need not be valid.
    bool isWhole() const { return m_closed && !m_trailing; }

private:
    int m_depth = 0;
    bool m_inString = false;
    bool m_escaped = false;
    bool m_closed = false;
    bool m_trailing = false; // begins with something else, or goes on after its end
};

std::string_view trimmed(std::string_view text); // blanks of JSON: space, tab, CR, LF

// The text without the blanks between its tokens, so that it fits on one line; numbers and key order stay as written.
std::string minified(std::string_view json);

// How deep the text nests; strings are stepped over.
int nestingDepth(std::string_view json);

} // namespace cortexfs::wire
