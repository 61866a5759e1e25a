#include "common/abi/control_text.h"

#include "common/abi/names.h"
#include "common/abi/words.h"
#include "common/base/limits.h"
#include "common/json/json.h"

#include <algorithm>

namespace cortexfs::abi {

namespace {

Error invalidLine(std::size_t number, const std::string &reason)
{
    return errors::invalid(reason).withDetail("line " + std::to_string(number));
}

// What holds for every control file: valid UTF-8, no control character but LF (and TAB inside a value).
Result<void> checkPlainText(std::string_view text)
{
    // With the line feed that it will be stored with: what was accepted must be read again.
    const std::size_t stored = text.size() + (text.empty() || text.ends_with('\n') ? 0 : 1);
    if (stored > limits::kControlFile)
        return errors::tooLarge("a control file has at most 64 KiB");
    if (!json::isValidUtf8(text))
        return errors::invalid("not valid UTF-8");
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f)
            return errors::invalid("holds a control character");
    }
    return {};
}

// The one word of a single-value control, with or without its LF.
Result<std::string_view> singleWord(std::string_view text)
{
    if (const Result<void> plain = checkPlainText(text); !plain)
        return plain.error();
    if (text.ends_with('\n'))
        text.remove_suffix(1);
    if (text.empty())
        return errors::invalid("empty");
    if (text.find('\n') != std::string_view::npos)
        return errors::invalid("more than one line");
    return text;
}

std::vector<std::string_view> rawLines(std::string_view text)
{
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        lines.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

std::string withFinalNewline(std::string_view text)
{
    std::string out(text);
    if (!out.empty() && out.back() != '\n')
        out += '\n';
    return out;
}

bool isKey(std::string_view key)
{
    const auto isLetter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    if (key.empty() || !isLetter(key.front()))
        return false;
    return std::all_of(key.begin(), key.end(),
                       [&](char c) { return isLetter(c) || (c >= '0' && c <= '9') || c == '.' || c == '-'; });
}

std::vector<std::string> splitList(std::string_view text)
{
    std::vector<std::string> out;
    for (;;) {
        const std::size_t comma = text.find(',');
        out.emplace_back(text.substr(0, comma));
        if (comma == std::string_view::npos)
            return out;
        text.remove_prefix(comma + 1);
    }
}

} // namespace

Result<std::string> checkEffort(std::string_view text)
{
    const Result<std::string_view> word = singleWord(text);
    if (!word)
        return word.error();
    if (!effortFromWord(*word))
        return errors::invalid("not auto, none, low, medium, high, xhigh or max");
    return std::string(*word) + "\n";
}

Result<std::string> checkSession(std::string_view text)
{
    const Result<std::string_view> word = singleWord(text);
    if (!word)
        return word.error();
    if (*word != "none" && *word != "socket")
        return errors::invalid("not none or socket");
    return std::string(*word) + "\n";
}

Result<std::string> checkDefaults(std::string_view text)
{
    if (const Result<void> plain = checkPlainText(text); !plain)
        return plain.error();
    std::vector<std::string_view> keys;
    std::size_t number = 0;
    for (const std::string_view line : rawLines(text)) {
        ++number;
        const std::size_t equals = line.find('=');
        if (equals == std::string_view::npos)
            return invalidLine(number, "not KEY=VALUE");
        const std::string_view key = line.substr(0, equals);
        if (!isKey(key))
            return invalidLine(number, "a key is letters, digits and . _ - and starts with a letter");
        if (std::find(keys.begin(), keys.end(), key) != keys.end())
            return invalidLine(number, "the key stands twice: " + std::string(key));
        keys.push_back(key);
    }
    return withFinalNewline(text);
}

Result<std::string> checkFallback(std::string_view text)
{
    if (const Result<void> plain = checkPlainText(text); !plain)
        return plain.error();
    std::size_t number = 0;
    for (const std::string_view line : rawLines(text)) {
        ++number;
        if (!parseModelRef(line))
            return invalidLine(number, "not provider/model");
        if (number > static_cast<std::size_t>(limits::kFallbacks))
            return invalidLine(number, "at most 16 models");
    }
    return withFinalNewline(text);
}

Result<std::string> checkDriver(std::string_view text, const std::vector<std::string> &knownDrivers)
{
    if (const Result<void> plain = checkPlainText(text); !plain)
        return plain.error();
    const auto isKnown = [&](const std::string &word) {
        return std::find(knownDrivers.begin(), knownDrivers.end(), word) != knownDrivers.end();
    };
    const std::vector<std::string_view> lines = rawLines(text);
    if (lines.empty())
        return errors::invalid("empty");
    if (lines.size() == 1 && lines.front().find('=') == std::string_view::npos) {
        if (!isKnown(std::string(lines.front())))
            return errors::invalid("not a driver: " + std::string(lines.front()));
        return withFinalNewline(text);
    }
    std::vector<std::string_view> keys;
    std::size_t number = 0;
    for (const std::string_view line : lines) {
        ++number;
        const std::size_t equals = line.find('=');
        if (equals == std::string_view::npos)
            return invalidLine(number, "not KEY=DRIVER[,DRIVER...]");
        const std::string_view key = line.substr(0, equals);
        if (key != "default" && key != "exec" && key != "socket" && key != "agent")
            return invalidLine(number, "the keys are default, exec, socket and agent");
        if (std::find(keys.begin(), keys.end(), key) != keys.end())
            return invalidLine(number, "the key stands twice: " + std::string(key));
        keys.push_back(key);
        for (const std::string &word : splitList(line.substr(equals + 1))) {
            if (!isKnown(word))
                return invalidLine(number, "not a driver: " + word);
        }
    }
    return withFinalNewline(text);
}

std::vector<std::pair<std::string, std::string>> parseDefaults(std::string_view text)
{
    std::vector<std::pair<std::string, std::string>> out;
    for (const std::string_view line : rawLines(text)) {
        const std::size_t equals = line.find('=');
        if (equals != std::string_view::npos)
            out.emplace_back(std::string(line.substr(0, equals)), std::string(line.substr(equals + 1)));
    }
    return out;
}

std::vector<std::string> driversFor(std::string_view text, std::string_view purpose)
{
    std::vector<std::string> fallback;
    for (const std::string_view line : rawLines(text)) {
        const std::size_t equals = line.find('=');
        if (equals == std::string_view::npos)
            return {std::string(line)};
        const std::string_view key = line.substr(0, equals);
        if (key == purpose)
            return splitList(line.substr(equals + 1));
        if (key == "default")
            fallback = splitList(line.substr(equals + 1));
    }
    return fallback;
}

std::vector<std::string> linesOf(std::string_view text)
{
    std::vector<std::string> out;
    for (const std::string_view line : rawLines(text)) {
        if (!line.empty())
            out.emplace_back(line);
    }
    return out;
}

} // namespace cortexfs::abi
