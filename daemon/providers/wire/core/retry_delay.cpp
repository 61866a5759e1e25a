#include "daemon/providers/wire/core/retry_delay.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <string>

namespace cortexfs::wire {

namespace {

constexpr double kMostMs = 1e15; // beyond it the number is no delay and no time
constexpr std::array<std::string_view, 12> kMonths = {"jan", "feb", "mar", "apr", "may", "jun",
                                                      "jul", "aug", "sep", "oct", "nov", "dec"};

char lowered(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lower(std::string_view text)
{
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(), lowered);
    return out;
}

std::string_view trimmedBlanks(std::string_view text)
{
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
        text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
        text.remove_suffix(1);
    return text;
}

std::optional<double> number(std::string_view text)
{
    double value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || failure != std::errc() || end != text.data() + text.size() || !std::isfinite(value)
        || std::fabs(value) > kMostMs)
        return std::nullopt;
    return value;
}

// Digits at the front, taken off.
std::optional<int> takeDigits(std::string_view &text, std::size_t least, std::size_t most)
{
    std::size_t length = 0;
    int value = 0;
    while (length < most && length < text.size() && text[length] >= '0' && text[length] <= '9')
        value = value * 10 + (text[length++] - '0');
    if (length < least)
        return std::nullopt;
    text.remove_prefix(length);
    return value;
}

bool takeCharacter(std::string_view &text, std::string_view anyOf)
{
    if (text.empty() || anyOf.find(text.front()) == std::string_view::npos)
        return false;
    text.remove_prefix(1);
    return true;
}

struct Moment {
    int year = 0;
    int month = 0; // 1..12
    int day = 0;
    int hour = 0;
    int minute = 0;
    int second = 0;
};

std::optional<std::int64_t> epochMs(const Moment &moment)
{
    const std::chrono::year_month_day date{std::chrono::year(moment.year),
                                           std::chrono::month(static_cast<unsigned>(moment.month)),
                                           std::chrono::day(static_cast<unsigned>(moment.day))};
    if (!date.ok() || moment.hour > 23 || moment.minute > 59 || moment.second > 60)
        return std::nullopt;
    const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
    return ((days * 24 + moment.hour) * 60 + moment.minute) * 60'000 + std::int64_t(moment.second) * 1000;
}

bool takeClock(std::string_view &text, Moment &moment)
{
    const auto hour = takeDigits(text, 2, 2);
    if (!hour || !takeCharacter(text, ":"))
        return false;
    const auto minute = takeDigits(text, 2, 2);
    if (!minute || !takeCharacter(text, ":"))
        return false;
    const auto second = takeDigits(text, 2, 2);
    moment.hour = *hour;
    moment.minute = *minute;
    moment.second = second.value_or(61);
    return second.has_value();
}

std::optional<std::int64_t> timeFromRfc3339(std::string_view text)
{
    Moment moment;
    const auto year = takeDigits(text, 4, 4);
    if (!year || !takeCharacter(text, "-"))
        return std::nullopt;
    const auto month = takeDigits(text, 2, 2);
    if (!month || !takeCharacter(text, "-"))
        return std::nullopt;
    const auto day = takeDigits(text, 2, 2);
    if (!day || !takeCharacter(text, "Tt ") || !takeClock(text, moment))
        return std::nullopt;
    moment.year = *year;
    moment.month = *month;
    moment.day = *day;
    double fraction = 0;
    if (text.starts_with('.')) {
        std::size_t end = 1;
        while (end < text.size() && text[end] >= '0' && text[end] <= '9')
            ++end;
        fraction = number("0" + std::string(text.substr(0, end))).value_or(0);
        text.remove_prefix(end);
    }
    std::int64_t zoneMs = 0;
    if (!takeCharacter(text, "Zz")) {
        const bool isNegative = text.starts_with('-');
        if (!takeCharacter(text, "+-"))
            return std::nullopt;
        const auto hours = takeDigits(text, 2, 2);
        takeCharacter(text, ":");
        const auto minutes = takeDigits(text, 2, 2);
        if (!hours || !minutes)
            return std::nullopt;
        zoneMs = (*hours * 60 + *minutes) * std::int64_t(60'000) * (isNegative ? -1 : 1);
    }
    const auto ms = epochMs(moment);
    if (!ms || !text.empty())
        return std::nullopt;
    return *ms - zoneMs + std::llround(fraction * 1000);
}

std::optional<int> takeMonth(std::string_view &text)
{
    const std::string name = lower(text.substr(0, 3));
    const auto it = std::find(kMonths.begin(), kMonths.end(), name);
    if (it == kMonths.end())
        return std::nullopt;
    text.remove_prefix(3);
    return static_cast<int>(it - kMonths.begin()) + 1;
}

// "Sun, 06 Nov 1994 08:49:37 GMT" and "Sunday, 06-Nov-94 08:49:37 GMT"
std::optional<std::int64_t> timeFromDate(std::string_view text)
{
    Moment moment;
    const auto day = takeDigits(text, 1, 2);
    if (!day || !takeCharacter(text, " -"))
        return std::nullopt;
    const auto month = takeMonth(text);
    if (!month || !takeCharacter(text, " -"))
        return std::nullopt;
    const std::size_t before = text.size();
    const auto year = takeDigits(text, 2, 4);
    if (!year)
        return std::nullopt;
    const bool isShort = before - text.size() == 2;
    if (!takeCharacter(text, " ") || !takeClock(text, moment))
        return std::nullopt;
    moment.day = *day;
    moment.month = *month;
    moment.year = !isShort ? *year : *year < 70 ? 2000 + *year : 1900 + *year;
    return epochMs(moment);
}

// "Sun Nov  6 08:49:37 1994"
std::optional<std::int64_t> timeFromAsctime(std::string_view text)
{
    Moment moment;
    const auto month = takeMonth(text);
    while (takeCharacter(text, " ")) {}
    const auto day = takeDigits(text, 1, 2);
    if (!month || !day || !takeCharacter(text, " ") || !takeClock(text, moment) || !takeCharacter(text, " "))
        return std::nullopt;
    const auto year = takeDigits(text, 4, 4);
    moment.month = *month;
    moment.day = *day;
    moment.year = year.value_or(0);
    return year ? epochMs(moment) : std::nullopt;
}

// A reset time: a duration, a time, or a number that is seconds from now, or a time in seconds or milliseconds.
std::optional<std::int64_t> delayUntilReset(std::string_view text, std::int64_t wallMs)
{
    if (const auto value = number(text)) {
        if (*value > 1e11)
            return static_cast<std::int64_t>(*value) - wallMs;
        if (*value > 1e9)
            return static_cast<std::int64_t>(*value * 1000) - wallMs;
        return static_cast<std::int64_t>(std::ceil(*value * 1000));
    }
    if (const auto delay = delayFromDuration(text))
        return delay;
    if (const auto time = timeFromText(text))
        return *time - wallMs;
    return std::nullopt;
}

// "x-ratelimit-reset-tokens" -> "x-ratelimit-remaining-tokens"
std::string remainingName(std::string name)
{
    const std::size_t at = name.find("reset");
    return name.replace(at, 5, "remaining");
}

std::optional<std::int64_t> longestReset(const std::vector<Header> &headers, std::int64_t wallMs)
{
    std::optional<std::int64_t> ofAll;
    std::optional<std::int64_t> ofUsedUp;
    bool saysWhich = false;
    for (const Header &header : headers) {
        const std::string name = lower(header.first);
        if (name.find("ratelimit") == std::string::npos || name.find("reset") == std::string::npos)
            continue;
        const auto delay = delayUntilReset(trimmedBlanks(header.second), wallMs);
        if (!delay)
            continue;
        ofAll = std::max(ofAll.value_or(0), *delay);
        const auto remaining = headerValue(headers, remainingName(name));
        saysWhich = saysWhich || remaining;
        if (remaining && number(*remaining) == 0.0)
            ofUsedUp = std::max(ofUsedUp.value_or(0), *delay);
    }
    return saysWhich ? ofUsedUp : ofAll;
}

std::optional<std::int64_t> notNegative(std::optional<std::int64_t> delay)
{
    return delay ? std::optional(std::max<std::int64_t>(*delay, 0)) : std::nullopt;
}

} // namespace

std::optional<std::string_view> headerValue(const std::vector<Header> &headers, std::string_view name)
{
    for (const Header &header : headers) {
        if (std::equal(header.first.begin(), header.first.end(), name.begin(), name.end(),
                       [](char a, char b) { return lowered(a) == lowered(b); }))
            return trimmedBlanks(header.second);
    }
    return std::nullopt;
}

std::optional<std::int64_t> delayFromDuration(std::string_view text)
{
    double total = 0;
    if (text.empty())
        return std::nullopt;
    while (!text.empty()) {
        std::size_t digits = 0;
        while (digits < text.size() && ((text[digits] >= '0' && text[digits] <= '9') || text[digits] == '.'))
            ++digits;
        const auto value = number(text.substr(0, digits));
        text.remove_prefix(digits);
        double unit = 0;
        std::size_t length = 1;
        if (text.starts_with("ms")) {
            unit = 1;
            length = 2;
        } else if (text.starts_with('s')) {
            unit = 1000;
        } else if (text.starts_with('m')) {
            unit = 60'000;
        } else if (text.starts_with('h')) {
            unit = 3'600'000;
        } else if (text.starts_with('d')) {
            unit = 86'400'000;
        }
        if (!value || unit == 0)
            return std::nullopt;
        text.remove_prefix(length);
        total += *value * unit;
        if (total > kMostMs)
            return std::nullopt;
    }
    return static_cast<std::int64_t>(std::llround(total));
}

std::optional<std::int64_t> timeFromText(std::string_view text)
{
    text = trimmedBlanks(text);
    if (const auto time = timeFromRfc3339(text))
        return time;
    // The name of the day says nothing that the date does not say.
    const std::size_t comma = text.find(',');
    if (comma != std::string_view::npos)
        return timeFromDate(trimmedBlanks(text.substr(comma + 1)));
    const std::size_t blank = text.find(' ');
    return blank == std::string_view::npos ? std::nullopt : timeFromAsctime(trimmedBlanks(text.substr(blank + 1)));
}

std::optional<std::int64_t> retryAfter(const std::vector<Header> &headers, std::int64_t wallMs)
{
    if (const auto text = headerValue(headers, "retry-after-ms")) {
        if (const auto value = number(*text))
            return notNegative(static_cast<std::int64_t>(std::ceil(*value)));
    }
    if (const auto text = headerValue(headers, "retry-after")) {
        if (const auto seconds = number(*text))
            return notNegative(static_cast<std::int64_t>(std::ceil(*seconds * 1000)));
        if (const auto time = timeFromText(*text))
            return notNegative(*time - wallMs);
    }
    return std::nullopt;
}

std::optional<std::int64_t> rateLimitReset(const std::vector<Header> &headers, std::int64_t wallMs)
{
    return notNegative(longestReset(headers, wallMs));
}

} // namespace cortexfs::wire
