#include "common/config/secret_keys.h"

#include <algorithm>
#include <array>
#include <string>

namespace cortexfs::config {

namespace {

// "apiKey", "API-KEY" and "Api_Key" are all api_key.
std::string snakeCase(std::string_view key)
{
    std::string out;
    char previous = '_';
    for (const char c : key) {
        const bool isUpper = c >= 'A' && c <= 'Z';
        const bool followsLower = (previous >= 'a' && previous <= 'z') || (previous >= '0' && previous <= '9');
        if (isUpper && followsLower)
            out += '_';
        out += isUpper ? static_cast<char>(c - 'A' + 'a') : (c == '-' || c == '.' || c == ' ' ? '_' : c);
        previous = c;
    }
    return out;
}

} // namespace

bool looksLikeSecret(std::string_view key)
{
    static constexpr std::array<std::string_view, 16> kLastWords = {
        "key",        "keys",       "apikey",      "token",         "secret", "secrets", "password", "passwd",
        "passphrase", "credential", "credentials", "authorization", "bearer", "env",     "cookie",   "jwt"};
    const std::string snake = snakeCase(key);
    if (snake.find("api_key") != std::string::npos || snake.find("apikey") != std::string::npos)
        return true;
    const std::size_t underscore = snake.rfind('_');
    const std::string_view last = std::string_view(snake).substr(underscore == std::string::npos ? 0 : underscore + 1);
    return std::find(kLastWords.begin(), kLastWords.end(), last) != kLastWords.end();
}

} // namespace cortexfs::config
