// Input of a model: read, encoded for every format, and played by the built-in models.
#include "common/json/json.h"
#include "daemon/providers/wire/debug/script.h"
#include "daemon/providers/wire/wire_format.h"
#include "tests/fuzz/check.h"

#include <cstdint>
#include <string>

using namespace cortexfs;
using fuzz::check;

namespace {

void encode(const models::Conversation &conversation)
{
    for (const wire::WireFormat *format : wire::registry()) {
        const auto request = format->encode(conversation, {.nativeModel = "m", .effort = abi::Effort::High});
        if (!request) {
            check(request.error().number() == EINVAL || request.error().number() == ENOTSUP, "errno",
                  request.error().text());
            continue;
        }
        check(json::parse(request->body).isOk(), "a body is JSON", request->body);
        for (const auto &[wireName, own] : request->toolNames)
            check(wireName.size() <= 64 && wireName != own, "a name for the API is short", wireName);
    }
}

void play(const models::Conversation &conversation, const char *model)
{
    constexpr int kMostSteps = 300;
    wire::debug::ScriptSource source(model, conversation);
    for (int i = 0; i < kMostSteps; ++i) {
        const auto step = source.next();
        using Kind = wire::debug::ScriptSource::Step::Kind;
        if (step.kind == Kind::Emit)
            check(json::parse(step.event.toJson()).isOk(), "an event is JSON", step.event.toJson());
        else if (step.kind == Kind::Wait)
            check(step.waitMs >= 0, "a pause is not negative");
        else
            break;
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    const std::string_view input = fuzz::inputOf(data, size);
    const auto conversation = models::parseInput(input);
    if (!conversation) {
        check(conversation.error().number() == EINVAL, "bad input is EINVAL", conversation.error().text());
        return 0;
    }
    check(!conversation->messages.empty(), "a conversation has a message");
    encode(*conversation);
    play(*conversation, "echo");
    play(*conversation, "script");
    return 0;
}
