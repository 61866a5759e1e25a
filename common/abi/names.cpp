#include "common/abi/names.h"

#include "common/base/limits.h"

#include <algorithm>

namespace cortexfs::abi {

namespace {

bool isAlnum(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }
bool isNameChar(char c) { return isAlnum(c) || c == '.' || c == '_' || c == '+' || c == '-'; }

} // namespace

Result<void> checkObjectName(std::string_view name)
{
    if (name.empty())
        return errors::invalid("a name may not be empty");
    if (name.size() > limits::kObjectName)
        return errors::invalid("a name has at most 64 characters");
    if (!isAlnum(name.front()))
        return errors::invalid("a name starts with a letter or a digit");
    if (!std::all_of(name.begin(), name.end(), isNameChar))
        return errors::invalid("a name holds letters, digits and . _ + - only");
    if (name.ends_with(".sock") || name.ends_with(".d"))
        return errors::invalid("a name may not end in .sock or .d");
    return {};
}

bool isObjectName(std::string_view name) { return checkObjectName(name).isOk(); }

std::optional<ModelRef> parseModelRef(std::string_view text)
{
    const std::size_t slash = text.find('/');
    if (slash == std::string_view::npos)
        return std::nullopt;
    ModelRef ref{std::string(text.substr(0, slash)), std::string(text.substr(slash + 1))};
    if (!isObjectName(ref.provider) || !isObjectName(ref.model))
        return std::nullopt;
    return ref;
}

std::optional<std::string> projectedModelName(std::string_view nativeId)
{
    std::string name;
    for (const char c : nativeId) {
        const bool continuesCharacter = (static_cast<unsigned char>(c) & 0xc0) == 0x80; // UTF-8
        if (!continuesCharacter)
            name += isNameChar(c) ? c : '_';
    }
    if (name.empty() || name.size() > limits::kObjectName)
        return std::nullopt;
    if (name.ends_with(".sock"))
        name[name.size() - 5] = '_';
    if (name.ends_with(".d"))
        name[name.size() - 2] = '_';
    if (!isAlnum(name.front())) {
        // '_' may not stand first either; a leading letter keeps the name readable and legal.
        if (name.size() == limits::kObjectName)
            return std::nullopt;
        name.insert(name.begin(), 'x');
    }
    return name;
}

bool isModelAlias(std::string_view name)
{
    return std::find(std::begin(kModelAliases), std::end(kModelAliases), name) != std::end(kModelAliases);
}

} // namespace cortexfs::abi
