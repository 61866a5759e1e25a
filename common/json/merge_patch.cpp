#include "common/json/merge_patch.h"

#include <algorithm>

namespace cortexfs::json {

namespace {

constexpr std::size_t kLineLength = 100;

void writeMerged(Writer &writer, const Value &target, const Value &patch)
{
    if (!patch.isObject()) {
        writer.value(patch);
        return;
    }
    writer.beginObject();
    for (const Member &member : target.members()) {
        const Value change = patch[member.key];
        if (change.isMissing()) {
            writer.key(member.key).value(member.value);
        } else if (!change.isNull()) {
            writer.key(member.key);
            writeMerged(writer, member.value, change);
        }
    }
    for (const Member &member : patch.members()) {
        if (member.value.isNull() || !target[member.key].isMissing())
            continue;
        writer.key(member.key);
        writeMerged(writer, Value(), member.value);
    }
    writer.endObject();
}

bool isPlain(const Value &value) { return !value.isObject() && !value.isArray(); }

void appendPretty(std::string &out, const Value &value, std::size_t indent)
{
    const auto newLine = [&](std::size_t depth) {
        out += '\n';
        out.append(depth * 2, ' ');
    };
    if (value.isObject() && value.size() > 0) {
        out += '{';
        bool first = true;
        for (const Member &member : value.members()) {
            out += first ? "" : ",";
            first = false;
            newLine(indent + 1);
            appendQuoted(out, member.key);
            out += ": ";
            appendPretty(out, member.value, indent + 1);
        }
        newLine(indent);
        out += '}';
        return;
    }
    const std::vector<Value> elements = value.elements();
    const std::string compact = value.toJson();
    const bool fitsLine = compact.size() + indent * 2 <= kLineLength
                          && std::all_of(elements.begin(), elements.end(), isPlain);
    if (elements.empty() || fitsLine) {
        if (elements.empty()) {
            out += compact;
            return;
        }
        out += '[';
        for (std::size_t i = 0; i < elements.size(); ++i)
            out += (i == 0 ? "" : ", ") + elements[i].toJson();
        out += ']';
        return;
    }
    out += '[';
    for (std::size_t i = 0; i < elements.size(); ++i) {
        out += i == 0 ? "" : ",";
        newLine(indent + 1);
        appendPretty(out, elements[i], indent + 1);
    }
    newLine(indent);
    out += ']';
}

} // namespace

std::string mergePatch(const Value &target, const Value &patch)
{
    Writer writer;
    writeMerged(writer, target, patch);
    return writer.take();
}

std::string prettyJson(const Value &value)
{
    std::string out;
    appendPretty(out, value, 0);
    out += '\n';
    return out;
}

} // namespace cortexfs::json
