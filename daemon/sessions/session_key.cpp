#include "daemon/sessions/session_key.h"

#include "common/abi/names.h"

#include <charconv>

namespace cortexfs::sessions {

namespace {
constexpr std::size_t kDigits = 12;
}

Result<void> checkSessionName(std::string_view name)
{
    if (name == "index")
        return errors::invalid("session: the name index is taken");
    if (Result<void> checked = abi::checkObjectName(name); !checked)
        return errors::invalid("session: " + checked.error().message());
    return {};
}

std::string sessionsDirectory(const SessionKey &key)
{
    const std::string top = key.scope == Scope::Shared ? "shared/" + key.space : "home/" + std::to_string(key.uid);
    const bool isModel = key.object.starts_with("model/");
    return top + "/" + key.object + (isModel ? ".d/session" : "/session");
}

std::string eventId(std::uint64_t number)
{
    std::string id(1 + kDigits, '0');
    id[0] = 'e';
    for (std::size_t i = kDigits; i > 0 && number > 0; --i, number /= 10)
        id[i] = static_cast<char>('0' + number % 10);
    return id;
}

std::optional<std::uint64_t> parseEventId(std::string_view text)
{
    if (text.size() != 1 + kDigits || text[0] != 'e')
        return std::nullopt;
    std::uint64_t number = 0;
    const char *end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data() + 1, end, number);
    if (error != std::errc() || stopped != end)
        return std::nullopt;
    return number;
}

} // namespace cortexfs::sessions
