#include "common/json/merge_patch.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

namespace cortexfs::json {

namespace {

// The patch's members, each key once.
std::vector<Member> lastOfEachKey(const Value &patch)
{
    std::vector<Member> out;
    for (const Member &member : patch.members()) {
        const auto same = std::find_if(out.begin(), out.end(),
                                       [&](const Member &known) { return known.key == member.key; });
        if (same == out.end())
            out.push_back(member);
        else
            same->value = member.value;
    }
    return out;
}

void writeMerged(Writer &writer, const Value &target, const Value &patch)
{
    if (!patch.isObject()) {
        writer.value(patch);
        return;
    }
    const std::vector<Member> changes = lastOfEachKey(patch);
    writer.beginObject();
    for (const Member &member : target.members()) {
        const auto change = std::find_if(changes.begin(), changes.end(),
                                         [&](const Member &known) { return known.key == member.key; });
        if (change == changes.end()) {
            writer.key(member.key).value(member.value);
        } else if (!change->value.isNull()) {
            writer.key(member.key);
            writeMerged(writer, member.value, change->value);
        }
    }
    for (const Member &change : changes) {
        if (!target[change.key].isMissing() || change.value.isNull())
            continue;
        writer.key(change.key);
        writeMerged(writer, Value(), change.value);
    }
    writer.endObject();
}

using Tokens = std::vector<std::string>;

Result<Tokens> tokensOf(std::string_view pointer)
{
    Tokens tokens;
    if (pointer.empty())
        return tokens;
    const Error bad = errors::invalid("not a JSON pointer: it begins with '/', and '~' is only part of ~0 and ~1");
    if (pointer.front() != '/')
        return bad;
    for (std::size_t i = 0; i < pointer.size(); ++i) {
        const char c = pointer[i];
        if (c == '/') {
            tokens.emplace_back();
            if (tokens.size() > 32)
                return errors::invalid("a JSON pointer of more than 32 steps");
        } else if (c != '~') {
            tokens.back() += c;
        } else if (i + 1 < pointer.size() && (pointer[i + 1] == '0' || pointer[i + 1] == '1')) {
            tokens.back() += pointer[++i] == '0' ? '~' : '/';
        } else {
            return bad;
        }
    }
    return tokens;
}

std::optional<std::size_t> indexOf(const std::string &token)
{
    std::size_t index = 0;
    const char *end = token.data() + token.size();
    const auto [stop, error] = std::from_chars(token.data(), end, index);
    if (error != std::errc() || stop != end || (token.size() > 1 && token.front() == '0'))
        return std::nullopt;
    return index;
}

// Writes a document with one place of it changed.
class Edit {
public:
    // Without `replacement` the place is taken out.
    Edit(Tokens tokens, std::optional<std::string_view> replacement)
        : m_tokens(std::move(tokens)), m_replacement(replacement)
    {}

    Result<std::string> apply(const Value &root)
    {
        if (const Result<void> done = write(root, 0); !done)
            return done.error();
        return m_writer.take();
    }

private:
    bool isLast(std::size_t depth) const { return depth + 1 == m_tokens.size(); }
    Error nothingThere(std::size_t depth) const { return errors::notFound("nothing there").withDetail(where(depth)); }
    std::string where(std::size_t depth) const
    {
        std::string out;
        for (std::size_t i = 0; i <= depth && i < m_tokens.size(); ++i)
            out += "/" + pointerToken(m_tokens[i]);
        return out;
    }

    // `value` is what stands at the first `depth` tokens.
    Result<void> write(const Value &value, std::size_t depth)
    {
        if (depth == m_tokens.size()) {
            m_writer.raw(*m_replacement);
            return {};
        }
        if (value.isArray())
            return writeArray(value, depth);
        if (value.isObject() || (value.isMissing() && m_replacement))
            return writeObject(value, depth);
        if (value.isMissing())
            return nothingThere(depth);
        return errors::invalid("what stands above is no object and no array").withDetail(where(depth));
    }

    Result<void> writeObject(const Value &value, std::size_t depth)
    {
        bool isFound = false;
        m_writer.beginObject();
        for (const Member &member : value.members()) {
            if (member.key != m_tokens[depth]) {
                m_writer.key(member.key).value(member.value);
                continue;
            }
            isFound = true;
            if (isLast(depth) && !m_replacement)
                continue;
            m_writer.key(member.key);
            if (const Result<void> done = write(member.value, depth + 1); !done)
                return done;
        }
        if (!isFound && !m_replacement)
            return nothingThere(depth);
        if (!isFound) {
            m_writer.key(m_tokens[depth]);
            if (const Result<void> done = write(Value(), depth + 1); !done)
                return done;
        }
        m_writer.endObject();
        return {};
    }

    Result<void> writeArray(const Value &value, std::size_t depth)
    {
        const std::string &token = m_tokens[depth];
        const std::optional<std::size_t> index = token == "-" ? value.size() : indexOf(token);
        if (!index || *index > value.size() || (*index == value.size() && !m_replacement))
            return errors::invalid("no index of an array of " + std::to_string(value.size())).withDetail(where(depth));
        std::size_t at = 0;
        m_writer.beginArray();
        for (const Value &element : value.elements()) {
            if (at++ != *index) {
                m_writer.value(element);
            } else if (!isLast(depth) || m_replacement) {
                if (const Result<void> done = write(element, depth + 1); !done)
                    return done;
            }
        }
        if (*index == value.size()) {
            if (const Result<void> done = write(Value(), depth + 1); !done)
                return done;
        }
        m_writer.endArray();
        return {};
    }

    Tokens m_tokens;
    std::optional<std::string_view> m_replacement;
    Writer m_writer;
};

} // namespace

std::string mergePatch(const Value &target, const Value &patch)
{
    Writer writer;
    writeMerged(writer, target, patch);
    return writer.take();
}

Result<std::string> withValueAt(const Value &root, std::string_view pointer, std::string_view valueJson)
{
    Result<Tokens> tokens = tokensOf(pointer);
    if (!tokens)
        return tokens.error().withDetail(std::string(pointer));
    return Edit(std::move(*tokens), valueJson).apply(root);
}

Result<std::string> withoutValueAt(const Value &root, std::string_view pointer)
{
    Result<Tokens> tokens = tokensOf(pointer);
    if (!tokens)
        return tokens.error().withDetail(std::string(pointer));
    if (tokens->empty())
        return errors::invalid("the whole document cannot be taken out");
    return Edit(std::move(*tokens), std::nullopt).apply(root);
}

} // namespace cortexfs::json
