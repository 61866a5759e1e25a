#include "tests/wire/json_compare.h"

namespace cortexfs::test {

namespace {

std::string differs(const std::string &pointer, const json::Value &expected, const json::Value &actual)
{
    return (pointer.empty() ? "/" : pointer) + ": expected " + (expected.isMissing() ? "nothing" : expected.toJson())
           + ", got " + (actual.isMissing() ? "nothing" : actual.toJson());
}

bool matchesGenerated(const std::string &token, const std::string &value, Generated &generated)
{
    if (value.empty())
        return false;
    if (const auto known = generated.find(token); known != generated.end())
        return known->second == value;
    for (const auto &[other, taken] : generated) {
        if (taken == value)
            return false;
    }
    generated[token] = value;
    return true;
}

} // namespace

std::string difference(const json::Value &expected, const json::Value &actual, Generated *generated,
                       const std::string &pointer)
{
    if (expected.isObject() && actual.isObject()) {
        for (const json::Member &member : expected.members()) {
            const std::string below = pointer + "/" + json::pointerToken(member.key);
            if (const std::string found = difference(member.value, actual[member.key], generated, below);
                !found.empty())
                return found;
        }
        for (const json::Member &member : actual.members()) {
            if (expected[member.key].isMissing())
                return differs(pointer + "/" + json::pointerToken(member.key), {}, member.value);
        }
        return {};
    }
    if (expected.isArray() && actual.isArray() && expected.size() == actual.size()) {
        for (std::size_t i = 0; i < expected.size(); ++i) {
            const std::string below = pointer + "/" + std::to_string(i);
            if (const std::string found = difference(expected.at(i), actual.at(i), generated, below); !found.empty())
                return found;
        }
        return {};
    }
    if (expected.isNumber() && actual.isNumber() && expected.asDouble() == actual.asDouble())
        return {};
    const std::string_view text = expected.stringOr("");
    if (generated && text.starts_with("$gen:"))
        return matchesGenerated(std::string(text), std::string(actual.stringOr("")), *generated)
                   ? std::string()
                   : differs(pointer, expected, actual);
    if (!expected.isNumber() && !expected.isMissing() && !actual.isMissing() && expected.toJson() == actual.toJson())
        return {};
    return differs(pointer, expected, actual);
}

std::string difference(std::string_view expected, std::string_view actual)
{
    const auto left = json::parse(expected);
    const auto right = json::parse(actual);
    if (!left || !right)
        return "not JSON: " + std::string(left ? actual : expected);
    return difference(left->root(), right->root());
}

} // namespace cortexfs::test
