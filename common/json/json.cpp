#include "common/json/json.h"

#include "common/base/limits.h"

#include <algorithm>
#include <cstring>

#define RAPIDJSON_HAS_STDSTRING 1
#include <rapidjson/document.h>
#include <rapidjson/error/en.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

namespace cortexfs::json {

namespace detail {
struct DocumentData {
    rapidjson::Document document;
};
} // namespace detail

namespace {

using Node = rapidjson::Value;

// Deep nesting is bounded before the parser builds anything: a frame of a million '[' costs one pass over its bytes.
bool isTooDeep(std::string_view text)
{
    int depth = 0;
    bool inString = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (inString) {
            if (c == '\\')
                ++i;
            else if (c == '"')
                inString = false;
        } else if (c == '"') {
            inString = true;
        } else if (c == '[' || c == '{') {
            if (++depth > limits::kJsonDepth)
                return true;
        } else if (c == ']' || c == '}') {
            --depth;
        }
    }
    return false;
}

int hexDigit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

// The code unit of a \uXXXX escape that starts at `at`, or -1.
int escapedUnit(std::string_view text, std::size_t at)
{
    if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u')
        return -1;
    int unit = 0;
    for (std::size_t i = at + 2; i < at + 6; ++i) {
        const int digit = hexDigit(text[i]);
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

bool isHighHalf(int unit) { return unit >= 0xd800 && unit <= 0xdbff; }
bool isLowHalf(int unit) { return unit >= 0xdc00 && unit <= 0xdfff; }

void appendWtf8Unit(std::string &out, int unit)
{
    out += static_cast<char>(0xe0 | (unit >> 12));
    out += static_cast<char>(0x80 | ((unit >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (unit & 0x3f));
}

// Replaces escapes of lone surrogate halves by WTF-8 bytes; everything else stays as it is.
std::string looseHalvesAsWtf8(std::string_view text)
{
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size();) {
        if (text[i] != '\\') {
            out += text[i++];
            continue;
        }
        const int unit = escapedUnit(text, i);
        if (isHighHalf(unit) && isLowHalf(escapedUnit(text, i + 6))) {
            out.append(text.substr(i, 12));
            i += 12;
        } else if (isHighHalf(unit) || isLowHalf(unit)) {
            appendWtf8Unit(out, unit);
            i += 6;
        } else {
            out.append(text.substr(i, 2)); // also steps over "\\"
            i += 2;
        }
    }
    return out;
}

// Where a \uXXXX escape of half a surrogate pair stands, or npos. RapidJSON refuses a high one and lets a low one through.
std::size_t looseHalf(std::string_view text)
{
    for (std::size_t i = text.find('\\'); i != std::string_view::npos; i = text.find('\\', i)) {
        const int unit = escapedUnit(text, i);
        const bool isPair = isHighHalf(unit) && isLowHalf(escapedUnit(text, i + 6));
        if (!isPair && (isHighHalf(unit) || isLowHalf(unit)))
            return i;
        i += isPair ? 12 : 2; // also steps over "\\"
    }
    return std::string_view::npos;
}

// Length of the valid UTF-8 sequence at the start of `text`; 0 when there is none. With `wtf8`, surrogates count.
std::size_t sequenceLength(std::string_view text, bool wtf8)
{
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const auto continues = [&](std::size_t i) { return i < text.size() && (byte(i) & 0xc0) == 0x80; };
    const unsigned char lead = byte(0);
    if (lead < 0x80)
        return 1;
    if (lead >= 0xc2 && lead <= 0xdf)
        return continues(1) ? 2 : 0;
    if (lead >= 0xe0 && lead <= 0xef) {
        if (!continues(1) || !continues(2))
            return 0;
        if (lead == 0xe0 && byte(1) < 0xa0)
            return 0;
        if (lead == 0xed && byte(1) >= 0xa0 && !wtf8)
            return 0;
        return 3;
    }
    if (lead >= 0xf0 && lead <= 0xf4) {
        if (!continues(1) || !continues(2) || !continues(3))
            return 0;
        if (lead == 0xf0 && byte(1) < 0x90)
            return 0;
        if (lead == 0xf4 && byte(1) >= 0x90)
            return 0;
        return 4;
    }
    return 0;
}

// How many bytes at the start belong to one broken sequence (its maximal subpart, at least one).
std::size_t brokenLength(std::string_view text)
{
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = byte(0);
    std::size_t wanted = 0;
    unsigned char low = 0x80;
    unsigned char high = 0xbf;
    if (lead >= 0xc2 && lead <= 0xdf) {
        wanted = 1;
    } else if (lead >= 0xe0 && lead <= 0xef) {
        wanted = 2;
        if (lead == 0xe0)
            low = 0xa0;
        if (lead == 0xed)
            high = 0x9f;
    } else if (lead >= 0xf0 && lead <= 0xf4) {
        wanted = 3;
        if (lead == 0xf0)
            low = 0x90;
        if (lead == 0xf4)
            high = 0x8f;
    }
    std::size_t length = 1;
    for (std::size_t i = 1; i <= wanted && i < text.size(); ++i) {
        if (byte(i) < low || byte(i) > high)
            break;
        low = 0x80;
        high = 0xbf;
        ++length;
    }
    return length;
}

std::string repairedUtf8(std::string_view text, bool wtf8)
{
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        if (const std::size_t length = sequenceLength(text, wtf8)) {
            out.append(text.substr(0, length));
            text.remove_prefix(length);
        } else {
            out += "\xef\xbf\xbd";
            text.remove_prefix(brokenLength(text));
        }
    }
    return out;
}

bool isClean(std::string_view text, bool wtf8)
{
    while (!text.empty()) {
        if (static_cast<unsigned char>(text.front()) < 0x80) {
            text.remove_prefix(1);
            continue;
        }
        const std::size_t length = sequenceLength(text, wtf8);
        if (length == 0)
            return false;
        text.remove_prefix(length);
    }
    return true;
}

} // namespace

struct ValueAccess {
    static Value make(const Node *node) { return Value(node); }
    static const Node *node(const Value &value) { return static_cast<const Node *>(value.m_node); }
};

namespace {
const Node *nodeOf(const Value &value) { return ValueAccess::node(value); }
} // namespace

bool Value::isNull() const { return m_node && nodeOf(*this)->IsNull(); }
bool Value::isObject() const { return m_node && nodeOf(*this)->IsObject(); }
bool Value::isArray() const { return m_node && nodeOf(*this)->IsArray(); }
bool Value::isString() const { return m_node && nodeOf(*this)->IsString(); }
bool Value::isNumber() const { return m_node && nodeOf(*this)->IsNumber(); }
bool Value::isBool() const { return m_node && nodeOf(*this)->IsBool(); }

Value Value::operator[](std::string_view key) const
{
    if (!isObject())
        return {};
    for (auto it = nodeOf(*this)->MemberBegin(); it != nodeOf(*this)->MemberEnd(); ++it) {
        if (std::string_view(it->name.GetString(), it->name.GetStringLength()) == key)
            return ValueAccess::make(&it->value);
    }
    return {};
}

Value Value::at(std::size_t index) const
{
    if (!isArray() || index >= nodeOf(*this)->Size())
        return {};
    return ValueAccess::make(&(*nodeOf(*this))[static_cast<rapidjson::SizeType>(index)]);
}

std::size_t Value::size() const
{
    if (isArray())
        return nodeOf(*this)->Size();
    if (isObject())
        return nodeOf(*this)->MemberCount();
    return 0;
}

std::optional<std::string_view> Value::asString() const
{
    if (!isString())
        return std::nullopt;
    return std::string_view(nodeOf(*this)->GetString(), nodeOf(*this)->GetStringLength());
}

std::optional<bool> Value::asBool() const
{
    if (!isBool())
        return std::nullopt;
    return nodeOf(*this)->GetBool();
}

std::optional<std::int64_t> Value::asInt() const
{
    if (!m_node || !nodeOf(*this)->IsInt64())
        return std::nullopt;
    return nodeOf(*this)->GetInt64();
}

std::optional<double> Value::asDouble() const
{
    if (!isNumber())
        return std::nullopt;
    return nodeOf(*this)->GetDouble();
}

std::vector<Member> Value::members() const
{
    std::vector<Member> out;
    if (!isObject())
        return out;
    out.reserve(nodeOf(*this)->MemberCount());
    for (auto it = nodeOf(*this)->MemberBegin(); it != nodeOf(*this)->MemberEnd(); ++it) {
        out.push_back(
            {std::string_view(it->name.GetString(), it->name.GetStringLength()), ValueAccess::make(&it->value)});
    }
    return out;
}

std::vector<Value> Value::elements() const
{
    std::vector<Value> out;
    if (!isArray())
        return out;
    out.reserve(nodeOf(*this)->Size());
    for (auto it = nodeOf(*this)->Begin(); it != nodeOf(*this)->End(); ++it)
        out.push_back(ValueAccess::make(it));
    return out;
}

std::string Value::toJson() const
{
    if (!m_node)
        return "null";
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
    nodeOf(*this)->Accept(writer);
    return {buffer.GetString(), buffer.GetSize()};
}

Document::Document() : m_data(std::make_unique<detail::DocumentData>()) {}
Document::Document(Document &&) noexcept = default;
Document &Document::operator=(Document &&) noexcept = default;
Document::~Document() = default;

Value Document::root() const { return ValueAccess::make(&m_data->document); }

struct DocumentAccess {
    static rapidjson::Document &of(Document &document) { return document.m_data->document; }
};

namespace {

template<unsigned Flags>
Result<Document> parseWith(std::string_view text)
{
    // RapidJSON stops at a NUL as if the text ended there.
    if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos)
        return errors::invalid("invalid JSON: NUL byte").withDetail("offset " + std::to_string(nul));
    if (text.starts_with("\xef\xbb\xbf")) // RapidJSON would skip it
        return errors::invalid("invalid JSON: byte order mark").withDetail("offset 0");
    if (!text.empty() && static_cast<unsigned char>(text.front()) >= 0x80) // and any one byte of it
        return errors::invalid("invalid JSON: no value begins so").withDetail("offset 0");
    if (isTooDeep(text))
        return errors::invalid("JSON nested deeper than " + std::to_string(limits::kJsonDepth));
    Document document;
    rapidjson::Document &target = DocumentAccess::of(document);
    target.Parse<Flags>(text.data(), text.size());
    if (target.HasParseError()) {
        return errors::invalid(std::string("invalid JSON: ") + rapidjson::GetParseError_En(target.GetParseError()))
            .withDetail("offset " + std::to_string(target.GetErrorOffset()));
    }
    return document;
}

} // namespace

Result<Document> parse(std::string_view text)
{
    if (const std::size_t at = looseHalf(text); at != std::string_view::npos)
        return errors::invalid("invalid JSON: half a surrogate pair").withDetail("offset " + std::to_string(at));
    return parseWith<rapidjson::kParseValidateEncodingFlag | rapidjson::kParseFullPrecisionFlag>(text);
}

Result<Document> parseLenient(std::string_view text)
{
    std::string prepared;
    if (!isClean(text, false)) {
        prepared = repairedUtf8(text, false);
        text = prepared;
    }
    if (text.find("\\ud") != std::string_view::npos || text.find("\\uD") != std::string_view::npos) {
        prepared = looseHalvesAsWtf8(text);
        text = prepared;
    }
    return parseWith<rapidjson::kParseFullPrecisionFlag>(text);
}

std::string Wtf8Joiner::push(std::string_view piece)
{
    std::string text = std::move(m_held);
    m_held.clear();
    text.append(piece);
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    // The common case has no surrogate at all.
    if (text.find('\xed') == std::string::npos)
        return text;
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size();) {
        const bool half = byte(i) == 0xed && i + 2 < text.size() && byte(i + 1) >= 0xa0;
        if (!half) {
            out += text[i++];
            continue;
        }
        const int unit = 0xd000 | ((byte(i + 1) & 0x3f) << 6) | (byte(i + 2) & 0x3f);
        if (isHighHalf(unit) && i + 3 == text.size()) {
            m_held = text.substr(i);
            break;
        }
        if (isHighHalf(unit) && i + 5 < text.size() && byte(i + 3) == 0xed && byte(i + 4) >= 0xb0) {
            const int low = 0xd000 | ((byte(i + 4) & 0x3f) << 6) | (byte(i + 5) & 0x3f);
            const unsigned point = 0x10000u + ((static_cast<unsigned>(unit) & 0x3ffu) << 10)
                                   + (static_cast<unsigned>(low) & 0x3ffu);
            out += static_cast<char>(0xf0 | (point >> 18));
            out += static_cast<char>(0x80 | ((point >> 12) & 0x3f));
            out += static_cast<char>(0x80 | ((point >> 6) & 0x3f));
            out += static_cast<char>(0x80 | (point & 0x3f));
            i += 6;
            continue;
        }
        out += "\xef\xbf\xbd";
        i += 3;
    }
    return out;
}

std::string Wtf8Joiner::flush()
{
    const bool hadHalf = !m_held.empty();
    m_held.clear();
    return hadHalf ? std::string("\xef\xbf\xbd") : std::string();
}

bool isValidUtf8(std::string_view text) { return isClean(text, false); }

std::string toValidUtf8(std::string_view text)
{
    if (isClean(text, false))
        return std::string(text);
    return repairedUtf8(text, false);
}

} // namespace cortexfs::json
