#include "app/ctx/commands/provider/key_input.h"
#include "app/ctx/commands/provider/provider.h"

#include "app/ctx/core/invocation.h"
#include "app/ctx/core/session.h"
#include "app/ctx/core/text.h"
#include "common/base/core_dump.h"

namespace cortexfs::ctx::provider_command {

namespace {

struct Place {
    std::string provider;
    std::string slot;
};

Place placeOf(const Invocation &invocation)
{
    return {json::toValidUtf8(invocation.word(0)),
            json::toValidUtf8(invocation.value("--slot").value_or(kDefaultSlot))};
}

// The request in memory that is wiped. Escaping makes text at most six times as long; the room is taken at once, so that
// growing leaves no copies behind.
SecretString setRequest(const Place &place, const SecretString &key, const std::string &id)
{
    constexpr std::size_t kLongestEscape = 6;
    constexpr std::size_t kRest = 256;
    std::string frame;
    frame.reserve(kLongestEscape * (key.reveal().size() + place.provider.size() + place.slot.size()) + kRest);
    frame += "{\"op\":\"provider.key.set\",\"id\":";
    json::appendQuoted(frame, id);
    frame += ",\"name\":";
    json::appendQuoted(frame, place.provider);
    frame += ",\"slot\":";
    json::appendQuoted(frame, place.slot);
    frame += ",\"value\":";
    json::appendQuoted(frame, key.reveal());
    frame += '}';
    return SecretString(std::move(frame));
}

void writeOutcome(const Invocation &invocation, const Place &place, const json::Value &facts, std::string_view what)
{
    Output &out = invocation.session().out();
    if (invocation.wantsJson())
        out.line(factsJson(facts));
    else
        out.line("key of " + escaped(place.provider) + ", slot " + escaped(place.slot) + ": " + std::string(what));
}

// What to do next where no provider of that name is declared yet: the key is stored all the same.
std::string noteOf(Session &session, const Place &place, const json::Value &facts)
{
    if (facts["declared"].asBool().value_or(true))
        return {};
    const Result<json::Document> presets = session.ask("provider.preset.list");
    for (const json::Value &preset : presets ? presets->root()["presets"].elements() : std::vector<json::Value>()) {
        if (preset["name"].stringOr("") == place.provider)
            return "; there is no provider of that name yet: ctx provider preset install " + shellWord(place.provider);
    }
    return "; there is no provider of that name yet: ctx provider add " + shellWord(place.provider) + " --base-url URL";
}

Result<int> set(const Invocation &invocation)
{
    const Place place = placeOf(invocation);
    const Result<json::Document> reply = askAndStoreKey(invocation.session(), place.provider, place.slot);
    if (!reply) {
        if (reply.error().number() == ECANCELED)
            return kExitInterrupted;
        return reply.error();
    }
    writeOutcome(invocation, place, reply->root(), "stored" + noteOf(invocation.session(), place, reply->root()));
    return kExitOk;
}

Result<int> remove(const Invocation &invocation)
{
    const Place place = placeOf(invocation);
    json::Writer request;
    request.beginObject().field("name", place.provider).field("slot", place.slot).endObject();
    const Result<json::Document> reply = invocation.session().ask("provider.key.remove", membersOf(request.text()));
    if (!reply)
        return reply.error();
    writeOutcome(invocation, place, reply->root(), "removed");
    return kExitOk;
}

const Option kSlotOption = {.name = "--slot",
                            .value = "SLOT",
                            .help = "the name of the key, where a provider has several (default: default)",
                            .completion = Completion::Slot};

} // namespace

Result<json::Document> askAndStoreKey(Session &session, const std::string &provider, const std::string &slot)
{
    const Place place{provider, slot};
    // Asked before the connection is made: typing may take longer than the daemon lets a silent client live. Whether it
    // runs at all is asked first, so that nobody types a key for nothing.
    if (const Result<control::Client> reachable = session.connect(); !reachable)
        return reachable.error();
    std::string id;
    Result<control::Client> client = errors::cancelled("");
    forbidCoreDumps();
    {
        const Result<SecretString> key = readKey("Key for " + escaped(place.provider) + " (slot " + escaped(place.slot)
                                                 + "), not shown as you type: ");
        if (!key)
            return key.error();
        client = session.connect();
        if (!client)
            return client.error();
        id = client->nextId();
        const SecretString request = setRequest(place, *key, id);
        if (const Result<void> sent = client->send(request.reveal()); !sent)
            return sent.error();
    } // key and request are wiped before anything is waited for
    return client->wait(id);
}

Command keyCommand()
{
    const Note store = {"<state>/secrets/provider/PROVIDER/SLOT",
                        "where the daemon keeps it, readable by itself alone"};
    return {
        .name = "key",
        .summary = "store and remove API keys",
        .description =
            "Keys live in the daemon's secret store and nowhere else: not in a provider file, not in the environment, "
            "not in the tree. A provider may have several, in named slots; the route table picks one with "
            "key(SLOT).",
        .examples = {{"ctx provider key set openai", "Type the key; it is not shown."}},
        .subcommands =
            {{
                 .name = "set",
                 .summary = "store a key, read from a silent prompt or standard input",
                 .description =
                     "On a terminal you are asked for the key and it is not shown; otherwise standard input is the "
                     "key, without surrounding white space. It is never taken from the command line, because every "
                     "user of the machine can read that, and the shell keeps it in its history. A key that was "
                     "there is replaced.",
                 .arguments = {{.name = "NAME", .help = "the provider", .completion = Completion::Provider}},
                 .options = {kSlotOption},
                 .examples = {{"ctx provider key set openai", "Ask for it."},
                              {"ctx provider key set openai < key.txt", "From a file."},
                              {"pass show work | ctx provider key set openai --slot office",
                               "From a password manager, into another slot."}},
                 .exits = {{"2", "wrong usage, or no usable key was given"},
                           {"13", "only root, the daemon's user and the group cortexfs may"},
                           {"130", "interrupted; nothing was stored"}},
                 .files = {store},
                 .printsFacts = true,
                 .refusesSecrets =
                     "a key is not taken from the command line, where every user of this machine can read it: run "
                     "\"ctx provider key set NAME\" and type it, or pipe it into that; if it was a real key, remove "
                     "it from your shell's history",
                 .run = set,
             },
             {
                 .name = "remove",
                 .summary = "remove a key from the secret store",
                 .description = "The key is deleted for good. Models that need it are unconfigured from then on.",
                 .arguments = {{.name = "NAME", .help = "the provider", .completion = Completion::Provider}},
                 .options = {kSlotOption},
                 .examples = {{"ctx provider key remove openai", "The key in the slot default."},
                              {"ctx provider key remove openai --slot office", "Another one."}},
                 .exits = {{"1", "there is no such key"},
                           {"13", "only root, the daemon's user and the group cortexfs may"}},
                 .files = {store},
                 .printsFacts = true,
                 .run = remove,
             }},
    };
}

} // namespace cortexfs::ctx::provider_command
