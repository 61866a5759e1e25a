#include "app/ctx/commands/provider/opened.h"
#include "app/ctx/commands/provider/provider.h"

#include "app/ctx/core/editor.h"
#include "app/ctx/core/invocation.h"
#include "app/ctx/core/text.h"
#include "common/base/limits.h"
#include "common/json/merge_patch.h"

namespace cortexfs::ctx::provider_command {

namespace {

int writeOutcome(const Invocation &invocation, const json::Value &facts)
{
    Output &out = invocation.session().out();
    if (invocation.wantsJson())
        out.line(factsJson(facts));
    else
        out.line(escaped(facts["name"].stringOr("?")) + ": saved in " + escaped(facts["file"].stringOr("?")));
    return kExitOk;
}

// "/pointer=JSON" and "/pointer", applied in this order to the JSON text of the file.
Result<std::string> changed(const Invocation &invocation, const json::Value &config)
{
    std::string text = config.toJson();
    const auto apply = [&](const auto &change) -> Result<void> {
        const Result<json::Document> document = json::parse(text);
        if (!document)
            return document.error();
        Result<std::string> next = change(document->root());
        if (!next)
            return next.error();
        text = std::move(*next);
        return {};
    };
    for (const std::string_view option : invocation.values("--set")) {
        const std::size_t equals = option.find('=');
        if (equals == std::string_view::npos)
            return errors::invalid("--set takes /POINTER=JSON").withDetail(json::toValidUtf8(option));
        const std::string_view pointer = option.substr(0, equals);
        const Result<json::Document> value = json::parse(option.substr(equals + 1));
        if (!value) {
            return errors::invalid("what follows '=' is no JSON; a text has quotes of its own: '"
                                   + json::toValidUtf8(pointer) + "=\"text\"'");
        }
        const Result<void> done = apply(
            [&](const json::Value &root) { return json::withValueAt(root, pointer, value->root().toJson()); });
        if (!done)
            return done.error();
    }
    for (const std::string_view pointer : invocation.values("--unset")) {
        const Result<void> done = apply([&](const json::Value &root) { return json::withoutValueAt(root, pointer); });
        if (!done)
            return done.error();
    }
    return text;
}

Result<int> editByOptions(const Invocation &invocation, const OpenedProvider &opened)
{
    if (!opened.config().isObject())
        return errors::invalid("the file is no JSON object; without --set and --unset it opens in an editor");
    const Result<std::string> config = changed(invocation, opened.config());
    if (!config)
        return config.error();
    const Result<json::Document> reply = opened.putConfig(invocation.session(), *config);
    if (!reply)
        return reply.error();
    return writeOutcome(invocation, reply->root());
}

Result<int> editInEditor(const Invocation &invocation, const OpenedProvider &opened)
{
    Session &session = invocation.session();
    Result<json::Document> reply = errors::invalid("not stored");
    EditSteps steps;
    steps.fileName = opened.file();
    steps.maxBytes = limits::kProviderFile;
    // The daemon checks before it writes, so checking and storing are one call.
    steps.check = [&](const std::string &text) -> Result<void> {
        reply = opened.putText(session, text);
        return reply ? Result<void>() : Result<void>(reply.error());
    };
    steps.store = [](const std::string &) { return Result<void>(); };
    const Result<EditOutcome> outcome = editAndStore(opened.text(), steps, session.environment());
    if (!outcome)
        return outcome.error();
    if (*outcome == EditOutcome::Stored)
        return writeOutcome(invocation, reply->root());
    if (!invocation.wantsJson())
        session.out().line(escaped(opened.file()) + ": unchanged");
    return kExitOk;
}

Result<int> run(const Invocation &invocation)
{
    const Result<OpenedProvider> opened = OpenedProvider::open(invocation.session(),
                                                               json::toValidUtf8(invocation.word(0)));
    if (!opened)
        return opened.error();
    if (invocation.has("--set") || invocation.has("--unset"))
        return editByOptions(invocation, *opened);
    return editInEditor(invocation, *opened);
}

} // namespace

Command editCommand()
{
    return {
        .name = "edit",
        .summary = "change a provider's file in an editor, or one setting of it",
        .description =
            "Opens a copy of the file in $VISUAL or $EDITOR. What you save is checked by the daemon before anything is "
            "written: an error names the place as a JSON pointer, the old file stays, and your text is kept. Members "
            "that this release does not know are kept too. With --set and --unset no editor is opened, for scripts; a "
            "POINTER is the way to a member, /timeouts/connect_ms, and /models/- is behind the last element.",
        .arguments = {{.name = "NAME",
                       .help = "the provider; for an invalid file, the file's name",
                       .completion = Completion::Provider}},
        .options = {{.name = "--set", .value = "POINTER=JSON", .help = "set a member; may be given several times"},
                    {.name = "--unset", .value = "POINTER", .help = "take a member out; may be given several times"}},
        .examples = {{"ctx provider edit local", "In your editor."},
                     {"ctx provider edit local --set /timeouts/idle_ms=300000", "One setting."},
                     {"ctx provider edit local --set '/models/-=\"another-model\"'", "One more model."},
                     {"ctx provider edit broken.json", "A file that \"ctx provider list\" calls invalid."}},
        .exits = {{"1", "no such provider, or the file has changed meanwhile: nothing was written"},
                  {"2", "wrong usage, or the result would be invalid: nothing was written"},
                  {"13", "only root, the daemon's user and the group cortexfs may"}},
        .files = {{"<config>/providers.d/*.json", "one file a provider"}},
        .printsFacts = true,
        .run = run,
    };
}

} // namespace cortexfs::ctx::provider_command
