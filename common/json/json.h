// The one JSON layer: strict reading with bounded depth, total accessors, writing that keeps key order. Over RapidJSON,
// whose types do not leave this folder.
#pragma once

#include "common/base/result.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cortexfs::json {

namespace detail {
struct DocumentData;
}

class Value;
struct Member;

// A view of one value of a Document. It lives as long as the Document. Every accessor is total: a missing member is a
// missing Value, and a missing Value is no object, no array and has no members.
class Value {
public:
    Value() = default;

    bool isMissing() const { return m_node == nullptr; }
    bool isNull() const; // present and null
    bool isObject() const;
    bool isArray() const;
    bool isString() const;
    bool isNumber() const;
    bool isBool() const;

    // The first member of that name; missing when there is none or this is no object.
    Value operator[](std::string_view key) const;
    // The element at `index`; missing out of range or when this is no array.
    Value at(std::size_t index) const;
    std::size_t size() const; // members or elements, else 0

    std::optional<std::string_view> asString() const;
    std::optional<bool> asBool() const;
    // A number written as an integer that fits, nothing else: 1.0 and "1" are not integers.
    std::optional<std::int64_t> asInt() const;
    std::optional<double> asDouble() const;

    std::string_view stringOr(std::string_view fallback) const { return asString().value_or(fallback); }

    // In the order of the text. Duplicate keys appear as often as they stand there.
    std::vector<Member> members() const;
    std::vector<Value> elements() const;

    // Compact JSON text with the key order kept.
    std::string toJson() const;

private:
    friend class Document;
    friend struct ValueAccess;
    explicit Value(const void *node) : m_node(node) {}
    const void *m_node = nullptr;
};

struct Member {
    std::string_view key;
    Value value;
};

// Owns the parsed text. Movable; values stay valid across a move.
class Document {
public:
    Document();
    Document(Document &&) noexcept;
    Document &operator=(Document &&) noexcept;
    ~Document();

    Value root() const;

private:
    friend struct DocumentAccess;
    std::unique_ptr<detail::DocumentData> m_data;
};

// RFC 8259 exactly: one value of any type, valid UTF-8, no comments, no trailing comma, no duplicate-key check. A BOM is
// refused. Depth at most limits::kJsonDepth. EINVAL with "offset N" as detail.
Result<Document> parse(std::string_view text);
// For provider streams: as parse, but invalid UTF-8 reads as U+FFFD and half a surrogate pair (\ud83d alone) reads as
// its three bytes of WTF-8, so that halves that a server split over two chunks can be joined again (see Wtf8Joiner).
Result<Document> parseLenient(std::string_view text);

// Joins text pieces whose surrogate halves may be split between them. push() gives the valid UTF-8 known so far, a
// trailing high half is held back; flush() gives what is left, a lone half as U+FFFD.
class Wtf8Joiner {
public:
    std::string push(std::string_view piece);
    std::string flush();

private:
    std::string m_held;
};
// True when the text holds no surrogate (is UTF-8 that may be written out).
bool isValidUtf8(std::string_view text);
// Invalid sequences become U+FFFD, one a maximal subpart.
std::string toValidUtf8(std::string_view text);

// Writes compact JSON into a string, in the order of the calls. Misuse (a value without a key inside an object) is
// asserted: it is our own fault, never the input's.
class Writer {
public:
    Writer &beginObject();
    Writer &endObject();
    Writer &beginArray();
    Writer &endArray();
    Writer &key(std::string_view name);
    Writer &string(std::string_view text); // must be valid UTF-8
    Writer &integer(std::int64_t number);
    Writer &real(double number); // not finite: null
    Writer &boolean(bool value);
    Writer &null();
    // Already JSON text: a value taken from elsewhere, its key order kept.
    Writer &raw(std::string_view json);
    Writer &value(const Value &value);

    // key + value in one call
    Writer &field(std::string_view name, std::string_view text) { return key(name).string(text); }
    Writer &field(std::string_view name, const char *text) { return key(name).string(text); }
    Writer &field(std::string_view name, const std::string &text) { return key(name).string(text); }
    Writer &field(std::string_view name, std::int64_t number) { return key(name).integer(number); }
    Writer &field(std::string_view name, int number) { return key(name).integer(number); }
    Writer &field(std::string_view name, bool value) { return key(name).boolean(value); }

    const std::string &text() const { return m_out; }
    std::string take() { return std::move(m_out); }

private:
    void separate();
    std::string m_out;
    bool m_needComma = false;
};

// "text" with quotes and escapes. Appends to `out`.
void appendQuoted(std::string &out, std::string_view text);

// Reads the members of one object, checks types, remembers which keys were asked for, and collects every fault with its
// JSON pointer ("/timeouts/connect_ms: not an integer"), so that a user sees all of them at once.
class ObjectReader {
public:
    // `pointer` is where the object stands, "" for the root. A value that is no object is itself a fault.
    ObjectReader(Value value, std::string pointer, std::vector<std::string> &faults);

    bool has(std::string_view key) const;
    Value child(std::string_view key); // marks the key as known
    std::optional<std::string> string(std::string_view key);
    std::string requiredString(std::string_view key);
    std::optional<bool> boolean(std::string_view key);
    std::optional<std::int64_t> integer(std::string_view key, std::int64_t least, std::int64_t most);
    std::vector<std::string> stringList(std::string_view key);
    // An object member, for a reader of its own; missing when absent or of another type (a fault).
    Value object(std::string_view key);

    void fault(std::string_view key, std::string_view reason);
    std::string pointerTo(std::string_view key) const;
    std::vector<std::string> unknownKeys() const;

private:
    Value m_value;
    std::string m_pointer;
    std::vector<std::string> &m_faults;
    std::vector<std::string> m_known;
};

// Leaves at most 20 faults and 200 bytes of each, so that a file of nothing but faults still fits into a frame; the last
// one then says how many more there are.
void limitFaults(std::vector<std::string> &faults);
// The same as one message: "fault; fault; and 3 more".
std::string joinedFaults(std::vector<std::string> faults);

// RFC 6901: '~' and '/' of a key escaped.
std::string pointerToken(std::string_view key);

} // namespace cortexfs::json
