#include "common/json/json.h"

#include <algorithm>

namespace cortexfs::json {

std::string pointerToken(std::string_view key)
{
    std::string out;
    for (const char c : key) {
        if (c == '~')
            out += "~0";
        else if (c == '/')
            out += "~1";
        else
            out += c;
    }
    return out;
}

void limitFaults(std::vector<std::string> &faults)
{
    constexpr std::size_t kMost = 20;
    constexpr std::size_t kBytes = 200;
    const std::size_t more = faults.size() > kMost ? faults.size() - kMost : 0;
    faults.resize(faults.size() - more);
    for (std::string &fault : faults) {
        if (fault.size() > kBytes)
            fault = toValidUtf8(std::string_view(fault).substr(0, kBytes)) + "...";
    }
    if (more > 0)
        faults.push_back("and " + std::to_string(more) + " more");
}

std::string joinedFaults(std::vector<std::string> faults)
{
    limitFaults(faults);
    std::string message;
    for (const std::string &fault : faults)
        message += (message.empty() ? "" : "; ") + fault;
    return message;
}

ObjectReader::ObjectReader(Value value, std::string pointer, std::vector<std::string> &faults)
    : m_value(value), m_pointer(std::move(pointer)), m_faults(faults)
{
    if (!m_value.isObject())
        m_faults.push_back((m_pointer.empty() ? "/" : m_pointer) + ": not an object");
}

bool ObjectReader::has(std::string_view key) const { return !m_value[key].isMissing(); }

Value ObjectReader::child(std::string_view key)
{
    m_known.emplace_back(key);
    return m_value[key];
}

std::optional<std::string> ObjectReader::string(std::string_view key)
{
    const Value value = child(key);
    if (value.isMissing())
        return std::nullopt;
    if (const auto text = value.asString())
        return std::string(*text);
    fault(key, "not a string");
    return std::nullopt;
}

std::string ObjectReader::requiredString(std::string_view key)
{
    if (!has(key)) {
        m_known.emplace_back(key);
        fault(key, "missing");
        return {};
    }
    return string(key).value_or(std::string());
}

std::optional<bool> ObjectReader::boolean(std::string_view key)
{
    const Value value = child(key);
    if (value.isMissing())
        return std::nullopt;
    if (const auto flag = value.asBool())
        return flag;
    fault(key, "not true or false");
    return std::nullopt;
}

std::optional<std::int64_t> ObjectReader::integer(std::string_view key, std::int64_t least, std::int64_t most)
{
    const Value value = child(key);
    if (value.isMissing())
        return std::nullopt;
    const auto number = value.asInt();
    if (!number) {
        fault(key, "not an integer");
        return std::nullopt;
    }
    if (*number < least || *number > most) {
        fault(key, "not in " + std::to_string(least) + ".." + std::to_string(most));
        return std::nullopt;
    }
    return number;
}

std::vector<std::string> ObjectReader::stringList(std::string_view key)
{
    std::vector<std::string> out;
    const Value value = child(key);
    if (value.isMissing())
        return out;
    if (!value.isArray()) {
        fault(key, "not an array");
        return out;
    }
    std::size_t index = 0;
    for (const Value &element : value.elements()) {
        if (const auto text = element.asString())
            out.emplace_back(*text);
        else
            m_faults.push_back(pointerTo(key) + "/" + std::to_string(index) + ": not a string");
        ++index;
    }
    return out;
}

Value ObjectReader::object(std::string_view key)
{
    const Value value = child(key);
    if (!value.isMissing() && !value.isObject()) {
        fault(key, "not an object");
        return {};
    }
    return value;
}

void ObjectReader::fault(std::string_view key, std::string_view reason)
{
    m_faults.push_back(pointerTo(key) + ": " + std::string(reason));
}

std::string ObjectReader::pointerTo(std::string_view key) const { return m_pointer + "/" + pointerToken(key); }

std::vector<std::string> ObjectReader::unknownKeys() const
{
    std::vector<std::string> out;
    for (const Member &member : m_value.members()) {
        if (std::find(m_known.begin(), m_known.end(), member.key) == m_known.end())
            out.emplace_back(member.key);
    }
    return out;
}

} // namespace cortexfs::json
