#include "app/ctx/commands/provider/opened.h"
#include "app/ctx/commands/provider/provider.h"

#include "app/ctx/core/invocation.h"
#include "app/ctx/core/text.h"
#include "common/json/merge_patch.h"

namespace cortexfs::ctx::provider_command {

namespace {

Result<int> setEnabled(const Invocation &invocation, bool isEnabled)
{
    Session &session = invocation.session();
    const Result<OpenedProvider> opened = OpenedProvider::open(session, json::toValidUtf8(invocation.word(0)));
    if (!opened)
        return opened.error();
    const Result<json::Document> patch = json::parse(isEnabled ? "{\"enabled\":true}" : "{\"enabled\":false}");
    if (!patch)
        return patch.error();
    const Result<json::Document> reply = opened->putConfig(session, json::mergePatch(opened->config(), patch->root()));
    if (!reply)
        return reply.error();
    if (invocation.wantsJson())
        session.out().line(factsJson(reply->root()));
    else
        session.out().line(escaped(reply->root()["name"].stringOr("?")) + (isEnabled ? ": enabled" : ": disabled"));
    return kExitOk;
}

Result<int> enable(const Invocation &invocation) { return setEnabled(invocation, true); }
Result<int> disable(const Invocation &invocation) { return setEnabled(invocation, false); }

} // namespace

Command enableCommand()
{
    return {
        .name = "enable",
        .summary = "use a provider that was disabled",
        .description = "Its models are in the tree again at once.",
        .arguments = {{.name = "NAME", .help = "the provider", .completion = Completion::Provider}},
        .examples = {{"ctx provider enable local", "Sets \"enabled\": true in its file."}},
        .exits = {{"1", "no such provider"}, {"13", "only root, the daemon's user and the group cortexfs may"}},
        .files = {{"<config>/providers.d/*.json", "one file a provider"}},
        .printsFacts = true,
        .run = enable,
    };
}

Command disableCommand()
{
    return {
        .name = "disable",
        .summary = "keep a provider's file and key, but take its models out of the tree",
        .description = "Runs that are live go on. \"ctx provider enable\" brings it back as it was.",
        .arguments = {{.name = "NAME", .help = "the provider", .completion = Completion::Provider}},
        .examples = {{"ctx provider disable local", "Sets \"enabled\": false in its file."}},
        .exits = {{"1", "no such provider"}, {"13", "only root, the daemon's user and the group cortexfs may"}},
        .files = {{"<config>/providers.d/*.json", "one file a provider"}},
        .printsFacts = true,
        .run = disable,
    };
}

} // namespace cortexfs::ctx::provider_command
