// An invariant that does not hold ends the program with a line that says which: what a fuzzer, a sanitizer and a test
// alike take for a failure.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace cortexfs::fuzz {

inline void check(bool holds, std::string_view invariant, std::string_view seen = {})
{
    if (holds)
        return;
    std::fputs("broken invariant: ", stderr);
    std::fwrite(invariant.data(), 1, invariant.size(), stderr);
    std::fputs("\n", stderr);
    if (!seen.empty())
        std::fwrite(seen.data(), 1, seen.size(), stderr);
    std::fputs("\n", stderr);
    std::abort();
}

// Takes one byte off the front: a choice that the input makes.
inline unsigned takeByte(std::string_view &input)
{
    if (input.empty())
        return 0;
    const auto byte = static_cast<unsigned char>(input.front());
    input.remove_prefix(1);
    return byte;
}

inline std::string_view inputOf(const unsigned char *data, std::size_t size)
{
    return {reinterpret_cast<const char *>(data), size};
}

} // namespace cortexfs::fuzz
