// Lets QCOMPARE print std::string, and gives rows with bytes that QString could not hold.
#pragma once

#include <QTest>

#include <string>
#include <string_view>

namespace QTest {

template<>
inline char *toString(const std::string &text)
{
    constexpr std::size_t kShown = 600;
    std::string shown = "\"" + text.substr(0, kShown) + (text.size() > kShown ? "...\" of " : "\" of ")
                        + std::to_string(text.size()) + " bytes";
    return qstrdup(shown.c_str());
}

template<>
inline char *toString(const std::string_view &text)
{
    return toString(std::string(text));
}

} // namespace QTest
