#include "app/ctx/core/conversation.h"

#include "app/ctx/core/models.h"
#include "app/ctx/core/objects.h"
#include "app/ctx/core/text.h"
#include "app/ctx/core/tree.h"
#include "common/abi/names.h"

#include <algorithm>

namespace cortexfs::ctx {

namespace {

constexpr std::string_view kModels = "model/";
constexpr std::string_view kAgents = "agent/";

bool isAlias(std::string_view object)
{
    return object.starts_with(kModels) && object.find('/', kModels.size()) == std::string_view::npos;
}

// What an alias points at; the tree knows, and without a mount the daemon does.
Result<std::string> aliasTarget(Session &session, const std::string &alias)
{
    const Tree tree(session);
    if (const Result<TreeEntry> entry = tree.entry(alias); entry && S_ISLNK(entry->info.st_mode)) {
        const auto target = tree.linkPath(*entry);
        if (!target)
            return errors::invalid("the link leads out of the tree").withDetail(alias);
        return *target;
    }
    const Result<ModelList> list = ModelList::fetch(session);
    if (!list)
        return list.error();
    const std::string name = alias.substr(kModels.size());
    for (const json::Value &known : list->aliases()) {
        if (known["name"].stringOr("") == name && !known["target"].stringOr("").empty())
            return std::string(kModels) + std::string(known["target"].stringOr(""));
    }
    return errors::notFound("no such alias or object; \"ctx model ls\" shows the models").withDetail(name);
}

bool isThere(Session &session, const std::string &object)
{
    if (Tree(session).exists(object))
        return true;
    const auto model = abi::parseModelRef(std::string_view(object).substr(std::min(kModels.size(), object.size())));
    if (!object.starts_with(kModels) || !model)
        return false;
    const Result<ModelList> list = ModelList::fetch(session, model->provider);
    return list && std::any_of(list->models().begin(), list->models().end(), [&](const json::Value &known) {
               return known["name"].stringOr("") == model->text();
           });
}

Error withoutSocket(Session &session, const std::string &object)
{
    // Without a daemon nothing has a socket.
    if (const Result<control::Client> daemon = session.connect(); !daemon)
        return daemon.error();
    if (!isThere(session, object))
        return errors::notFound("no such object; \"ctx ls model\" and \"ctx ls agent\" show what is there")
            .withDetail(object);
    if (object.starts_with(kAgents))
        return errors::notFound("the agent has no socket: it is not running").withDetail(object);
    return errors::notFound("keeps no conversations yet; ctx set " + shellWord(object + ".d/session") + " socket")
        .withDetail(object);
}

} // namespace

Result<std::string> conversingObject(Session &session, std::string_view name)
{
    if (!json::isValidUtf8(name))
        return errors::invalid("the object's name is not valid UTF-8");
    std::string object = objectOf(session, name);
    if (isAlias(object)) {
        const Result<std::string> target = aliasTarget(session, object);
        if (!target)
            return target;
        object = *target;
    }
    const bool isModel = object.starts_with(kModels) && abi::parseModelRef(object.substr(kModels.size()));
    const bool isAgent = object.starts_with(kAgents) && abi::isObjectName(object.substr(kAgents.size()));
    if (!isModel && !isAgent)
        return errors::invalid("only models and agents hold conversations").withDetail(object);
    return object;
}

Result<std::string> objectSocket(Session &session, const std::string &object)
{
    const Tree tree(session);
    const std::string name = object + ".sock";
    if (tree.exists(name)) {
        const Result<TreeEntry> entry = tree.entry(name);
        if (entry)
            return entry->target.starts_with('/') ? entry->target : tree.absolute(name);
    }
    const std::string path = parentOf(session.controlSocket()) + "/" + name;
    struct stat info = {};
    if (::lstat(path.c_str(), &info) == 0)
        return path;
    return withoutSocket(session, object);
}

Result<object::Conversation> conversationOf(const Invocation &invocation)
{
    object::Conversation made;
    made.session = invocation.value("--session").value_or("default");
    made.scope = invocation.value("--scope").value_or("");
    made.shared = invocation.value("--shared").value_or("");
    for (const std::string *text : {&made.session, &made.shared}) {
        if (!json::isValidUtf8(*text))
            return errors::invalid("the name of a session is not valid UTF-8");
    }
    if (invocation.has("--shared") && made.scope.empty())
        made.scope = "shared";
    if ((made.scope == "shared") == made.shared.empty())
        return errors::invalid("--scope shared and --shared SPACE belong together");
    return made;
}

const Argument &objectArgument()
{
    static const Argument made = {
        .name = "OBJECT", .help = "alias, PROVIDER/MODEL, agent or path of the tree", .completion = Completion::Object};
    return made;
}

Option sessionOption()
{
    return {.name = "--session",
            .letter = 's',
            .value = "NAME",
            .help = "which conversation (default: \"default\"); a new name begins one"};
}

Option sharedOption()
{
    return {.name = "--shared", .value = "SPACE", .help = "of the conversations in the shared space SPACE"};
}

std::vector<Option> conversationOptions()
{
    return {sessionOption(),
            {.name = "--scope",
             .value = "SCOPE",
             .help = "private: yours, kept (default); shared: of a space; temp: not kept",
             .choices = {"private", "shared", "temp"}},
            sharedOption()};
}

std::string storedMembers(const std::string &object, std::string_view session, std::string_view shared,
                          std::string_view more)
{
    json::Writer writer;
    writer.beginObject().field("object", object);
    if (!session.empty())
        writer.field("session", session);
    if (!shared.empty())
        writer.field("shared", shared);
    writer.endObject();
    std::string members(membersOf(writer.text()));
    if (!more.empty())
        members += "," + std::string(more);
    return members;
}

} // namespace cortexfs::ctx
