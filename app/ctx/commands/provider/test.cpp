#include "app/ctx/commands/provider/provider.h"

#include "app/ctx/core/invocation.h"
#include "app/ctx/core/session.h"
#include "app/ctx/core/text.h"

namespace cortexfs::ctx::provider_command {

namespace {

std::string orDash(std::string_view text) { return text.empty() ? "-" : std::string(text); }

std::string time(const json::Value &value)
{
    const auto milliseconds = value.asInt();
    return milliseconds && *milliseconds > 0 ? duration(*milliseconds) : "-";
}

void writeFacts(Output &out, const json::Value &facts, bool isOk)
{
    const std::string model(facts["model"].stringOr("?"));
    out.line(escaped(model) + ": " + (isOk ? out.styled(Style::Good, "works") : out.styled(Style::Bad, "fails")));
    Table table;
    table.add({"  rule", orDash(facts["rule"].stringOr(""))});
    table.add({"  transport", orDash(facts["transport"].stringOr(""))});
    table.add({"  key slot", orDash(facts["slot"].stringOr(""))});
    const auto status = facts["status"].asInt().value_or(0);
    table.add({"  HTTP status", status > 0 ? std::to_string(status) : "- (no answer)"});
    table.add({"  first token", time(facts["first_token_ms"])});
    table.add({"  total", time(facts["total_ms"])});
    out.write(table.text());
}

std::string nextStep(int number, const std::string &name)
{
    switch (number) {
    case ENOKEY: return "; store its key with: ctx provider key set " + shellWord(name);
    case EACCES: return "; is the key right? set it again with: ctx provider key set " + shellWord(name);
    case ENOENT: return "; does the service have this model? try another with --model";
    case EHOSTUNREACH:
    case ECONNREFUSED: return "; is base_url right? see: ctx provider show " + shellWord(name);
    default: return {};
    }
}

Result<int> run(const Invocation &invocation)
{
    Session &session = invocation.session();
    Output &out = session.out();
    const std::string name = json::toValidUtf8(invocation.word(0));
    json::Writer request;
    request.beginObject().field("name", name);
    if (const auto model = invocation.value("--model"))
        request.field("model", json::toValidUtf8(*model));
    request.endObject();
    const Result<json::Document> reply = session.ask("provider.test", membersOf(request.text()),
                                                     control::kProviderTestTime);
    if (!reply)
        return withProviderHint(reply.error());
    const json::Value facts = reply->root();
    const bool isOk = facts["ok"].asBool().value_or(false);
    if (invocation.wantsJson())
        out.line(factsJson(facts));
    else
        writeFacts(out, facts, isOk);
    if (isOk)
        return kExitOk;
    const json::Value failure = facts["error"];
    const int number = errnoFromName(failure["code"].stringOr("EIO"));
    std::string message(failure["message"].stringOr("failed"));
    return makeError(number == 0 ? EIO : number, message + nextStep(number, name), name);
}

} // namespace

Command testCommand()
{
    return {
        .name = "test",
        .summary = "ask a model of a provider for one word, over the real route",
        .description =
            "Sends the smallest real request the way every call goes: through the route table, with the key slot it "
            "picks. Shows which rule and slot that was, the HTTP status and the time until the first token. It costs "
            "a few tokens. Waits at most 90 seconds.",
        .arguments = {{.name = "NAME", .help = "the provider", .completion = Completion::Provider}},
        .options = {{.name = "--model",
                     .value = "MODEL",
                     .help = "another model than the provider's default one",
                     .completion = Completion::Model}},
        .examples = {{"ctx provider test openai", "Its default model."},
                     {"ctx provider test local --model custom-model", "A certain one."}},
        .exits = {{"0", "the model has answered"},
                  {"1", "failed: no such provider or model, and so on"},
                  {"2", "wrong usage, or the service refuses the request as malformed"},
                  {"13", "the key is refused"},
                  {"69", "cortexd is not running, the key is missing, or the service cannot be reached"},
                  {"70", "the service answers nonsense"}},
        .files = {{"<mount>/model/route", "the rules that pick transport and key slot"}},
        .printsFacts = true,
        .run = run,
    };
}

} // namespace cortexfs::ctx::provider_command
