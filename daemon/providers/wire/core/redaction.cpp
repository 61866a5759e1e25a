#include "daemon/providers/wire/core/redaction.h"

#include "common/json/json.h"

#include <algorithm>
#include <array>

namespace cortexfs::wire {

namespace {

constexpr std::size_t kMaxMessage = 500;
constexpr std::size_t kSecretRun = 16; // letters and digits without a break: longer than the parts of a model's name

constexpr std::array<std::string_view, 10> kKeyPrefixes = {"sk-",  "sk_",  "pk-", "pk_",  "rk_",
                                                           "gsk_", "xai-", "hf_", "AIza", "ghp_"};

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// The characters keys are made of, and those that servers mask them with.
bool isWordCharacter(char c) { return isLetter(c) || isDigit(c) || c == '-' || c == '_' || c == '*' || c == '+'; }

// A run of letters and digits, both, that is too long for a word. "20250929" and "gpt-5" are none.
bool hasSecretRun(std::string_view word)
{
    std::size_t length = 0;
    bool letter = false;
    bool digit = false;
    for (const char c : word) {
        if (!isLetter(c) && !isDigit(c)) {
            length = 0;
            letter = digit = false;
            continue;
        }
        ++length;
        letter = letter || isLetter(c);
        digit = digit || isDigit(c);
        if (length >= kSecretRun && letter && digit)
            return true;
    }
    return false;
}

bool looksLikeKey(std::string_view word)
{
    const auto startsSo = [&](std::string_view prefix) {
        return word.size() > prefix.size() && word.starts_with(prefix);
    };
    return std::any_of(kKeyPrefixes.begin(), kKeyPrefixes.end(), startsSo) || word.find("**") != std::string_view::npos
           || hasSecretRun(word);
}

std::string withoutKeys(std::string_view text)
{
    std::string out;
    bool afterBearer = false;
    for (std::size_t i = 0; i < text.size();) {
        std::size_t end = i;
        while (end < text.size() && isWordCharacter(text[end]))
            ++end;
        if (end == i) {
            out += text[i++];
            continue;
        }
        const std::string_view word = text.substr(i, end - i);
        out += afterBearer || looksLikeKey(word) ? std::string_view("[redacted]") : word;
        afterBearer = word == "Bearer" || word == "bearer";
        i = end;
    }
    return out;
}

} // namespace

std::string presentable(std::string_view message)
{
    // Looked at before it is cut: a key must not escape by being cut in two.
    std::string out = withoutKeys(json::toValidUtf8(message.substr(0, 8 * kMaxMessage)));
    std::replace_if(
        out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
    if (out.size() > kMaxMessage) {
        std::size_t end = kMaxMessage;
        while (end > 0 && (static_cast<unsigned char>(out[end]) & 0xc0) == 0x80)
            --end;
        out.resize(end);
        out += "...";
    }
    return out;
}

} // namespace cortexfs::wire
