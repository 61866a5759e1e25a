// The JSON layer: what the strict reader takes the lenient one takes alike, what is written reads back the same.
#include "common/json/json.h"
#include "tests/fuzz/check.h"

#include <cstdint>
#include <string>

using namespace cortexfs;
using fuzz::check;

namespace {

void visit(const json::Value &value)
{
    value.asString();
    value.asInt();
    value.asDouble();
    value.asBool();
    check(value["no such key"].isMissing() || value.isObject(), "only objects have members");
    for (const json::Member &member : value.members()) {
        check(!value[member.key].isMissing(), "a member that is listed is found");
        visit(member.value);
    }
    for (const json::Value &element : value.elements())
        visit(element);
}

void strict(std::string_view input)
{
    const auto document = json::parse(input);
    if (!document) {
        check(document.error().number() == EINVAL, "a malformed text is EINVAL");
        return;
    }
    check(json::isValidUtf8(input), "the strict reader takes UTF-8 only", input);
    visit(document->root());
    const std::string written = document->root().toJson();
    const auto again = json::parse(written);
    check(again.isOk(), "what is written can be read", written);
    check(again->root().toJson() == written, "what is written reads back the same", written);
    const auto lenient = json::parseLenient(input);
    check(lenient.isOk(), "the lenient reader takes what the strict one takes", input);
    check(lenient->root().toJson() == written, "both readers see the same", written);
}

void lenient(std::string_view input)
{
    const auto document = json::parseLenient(input);
    if (!document)
        return;
    visit(document->root());
    const std::string mended = json::toValidUtf8(document->root().toJson());
    check(json::isValidUtf8(mended), "mended text is UTF-8", mended);
    check(json::parse(mended).isOk(), "mended text is JSON", mended);
}

void text(std::string_view input)
{
    const std::string mended = json::toValidUtf8(input);
    check(json::isValidUtf8(mended), "mended text is UTF-8", mended);
    check(json::toValidUtf8(mended) == mended, "mending twice is mending once", mended);
    std::string quoted;
    json::appendQuoted(quoted, mended);
    const auto document = json::parse(quoted);
    check(document.isOk(), "a quoted text is JSON", quoted);
    check(document->root().stringOr("") == mended, "a quoted text reads back the same", quoted);
    check(quoted.find('\n') == std::string::npos, "a quoted text is one line", quoted);

    json::Wtf8Joiner joiner;
    std::string joined;
    for (std::size_t at = 0; at < mended.size(); at += 3)
        joined += joiner.push(mended.substr(at, 3));
    joined += joiner.flush();
    check(joined == mended, "joining leaves text without surrogates alone", joined);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    const std::string_view input = fuzz::inputOf(data, size);
    strict(input);
    lenient(input);
    text(input);
    return 0;
}
