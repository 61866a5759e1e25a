#include "daemon/core/session_operations.h"

#include "common/base/files.h"
#include "common/base/limits.h"
#include "daemon/core/reply_json.h"

#include <algorithm>
#include <limits>

namespace cortexfs {

namespace {

using control::Authority;
using control::Request;
using control::Responder;
using sessions::SessionKey;
using sessions::SessionUser;

constexpr std::string_view kModelClass = "model/";
constexpr std::int64_t kListed = 50;
constexpr std::int64_t kMostListedSessions = 1000;
constexpr std::size_t kMostShown = 4 * limits::kMiB;
constexpr std::size_t kLatestBytes = limits::kFrame / 2;

abi::ModelRef modelOf(const SessionKey &key)
{
    const std::string_view name = std::string_view(key.object).substr(kModelClass.size());
    return abi::parseModelRef(name).value_or(abi::ModelRef());
}

struct Target {
    SessionKey key;
    SessionUser user;
};

// Which sessions a request means: those of the caller, of a space, or of the user that root names.
Result<Target> targetOf(const Request &request)
{
    Target target;
    target.key.object = request.text("object");
    const std::string_view object = target.key.object;
    if (!object.starts_with(kModelClass) || !abi::parseModelRef(object.substr(kModelClass.size())))
        return errors::invalid("object: not model/P/M");
    target.key.name = request.text("session", "default");
    if (Result<void> named = sessions::checkSessionName(target.key.name); !named)
        return named.error();
    target.user = {request.peer.uid, request.peer.gid};
    if (const json::Value uid = request.body["uid"]; !uid.isMissing()) {
        const auto number = uid.asInt();
        if (!number || *number < 0 || *number >= std::numeric_limits<uid_t>::max())
            return errors::invalid("uid: not the number of a user");
        if (request.peer.uid != 0 && static_cast<uid_t>(*number) != request.peer.uid)
            return errors::accessDenied("only root looks at the sessions of others");
        target.user = {static_cast<uid_t>(*number), static_cast<gid_t>(*number)};
    }
    target.key.uid = target.user.uid;
    if (const json::Value space = request.body["shared"]; !space.isMissing()) {
        target.key.scope = sessions::Scope::Shared;
        target.key.space = space.stringOr("");
        target.key.uid = 0;
        if (!abi::isObjectName(target.key.space))
            return errors::invalid("shared: not the name of a space");
    }
    return target;
}

// In a space the files belong to its keeper, whom everybody may ask who may write there.
Result<SessionUser> readerOf(const sessions::SessionPlace &place, const Target &target)
{
    if (target.key.scope != sessions::Scope::Shared)
        return target.user;
    return sessions::keeperOfSpace(place, target.key.space, target.user);
}

Result<std::int64_t> limitOf(const Request &request, std::int64_t fallback, std::int64_t most)
{
    const json::Value value = request.body["limit"];
    if (value.isMissing())
        return fallback;
    const auto number = value.asInt();
    if (!number || *number < 1)
        return errors::invalid("limit: not a number of at least 1");
    return std::min(*number, most);
}

void handleList(sessions::SessionRegistry &registry, const Request &request, const Responder &responder)
{
    const Result<Target> target = targetOf(request);
    if (!target)
        return responder.error(target.error());
    const Result<std::int64_t> most = limitOf(request, kListed, kMostListedSessions);
    if (!most)
        return responder.error(most.error());
    std::make_shared<sessions::Strand>(registry.pool())
        ->run(
            &registry,
            [place = registry.place(), target = *target, after = request.text("after"),
             most = *most]() -> Result<sessions::SessionPage> {
                const Result<SessionUser> user = readerOf(place, target);
                if (!user)
                    return user.error();
                return sessions::listSessions(place, target.key, *user, after, static_cast<std::size_t>(most));
            },
            [responder](Result<sessions::SessionPage> page) {
                if (!page)
                    return responder.error(page.error());
                json::Writer writer = openObject();
                writer.key("sessions").beginArray();
                for (const sessions::SessionSummary &session : page->sessions) {
                    writer.beginObject().field("session", session.session).field("state", session.state);
                    writer.field("created_at", session.createdAt).field("updated_at", session.updatedAt);
                    writer.field("cwd", session.cwd).endObject();
                }
                writer.endArray().field("more", page->hasMore);
                respond(responder, writer);
            });
}

struct Shown {
    std::vector<std::string> newestFirst; // lines
    std::string text;                     // of latest.md
};

Result<Shown> readShown(const sessions::SessionPlace &place, const Target &target, const std::string &what,
                        std::int64_t most)
{
    const Result<SessionUser> user = readerOf(place, target);
    if (!user)
        return user.error();
    Shown shown;
    if (what == "output") {
        Result<std::string> text = sessions::readLatest(place, target.key, *user, kLatestBytes);
        if (!text)
            return text.error();
        shown.text = json::toValidUtf8(*text);
        return shown;
    }
    Result<std::unique_ptr<sessions::LineFile>> file = sessions::openForReading(place, target.key, *user,
                                                                                (what + ".jsonl").c_str());
    if (!file)
        return file.error();
    std::size_t bytes = 0;
    const Result<void> read = sessions::forEachLineBackwards(**file, [&](std::string_view line, std::uint64_t) {
        bytes += line.size();
        if (bytes > kMostShown || std::ssize(shown.newestFirst) == most)
            return false;
        const Result<json::Document> document = json::parse(line);
        if (document && document->root().isObject() && line.size() < limits::kSessionLine)
            shown.newestFirst.emplace_back(line);
        return true;
    });
    if (!read)
        return read.error();
    return shown;
}

void handleShow(sessions::SessionRegistry &registry, const Request &request, const Responder &responder)
{
    const Result<Target> target = targetOf(request);
    if (!target)
        return responder.error(target.error());
    const std::string what = request.text("what");
    if (what != "messages" && what != "events" && what != "output")
        return responder.error(errors::invalid("what: none of messages, events, output"));
    const Result<std::int64_t> most = limitOf(request, std::numeric_limits<std::int64_t>::max(),
                                              std::numeric_limits<std::int64_t>::max());
    if (!most)
        return responder.error(most.error());
    std::make_shared<sessions::Strand>(registry.pool())
        ->run(
            &registry,
            [place = registry.place(), target = *target, what, most = *most] {
                return readShown(place, target, what, most);
            },
            [responder, what](Result<Shown> shown) {
                if (!shown)
                    return responder.error(shown.error());
                for (auto line = shown->newestFirst.rbegin(); line != shown->newestFirst.rend(); ++line)
                    responder.part("\"type\":\"line\",\"line\":" + *line);
                json::Writer writer = openObject();
                if (what == "output")
                    writer.field("text", shown->text);
                else
                    writer.field("lines", count(shown->newestFirst.size()));
                respond(responder, writer);
            });
}

} // namespace

sessions::Answerer modelAnswerer(models::ModelService &models, const SnapshotCell<RuntimeSnapshot> &snapshot)
{
    sessions::Answerer answerer;
    answerer.createRun = [&models](const SessionKey &key, std::string run, models::Conversation conversation,
                                   const models::Caller &caller) {
        models::RunRequest request;
        request.run = std::move(run);
        request.model = modelOf(key);
        request.purpose = abi::Purpose::Socket;
        request.conversation = std::move(conversation);
        request.caller = caller;
        return models.createRun(std::move(request));
    };
    answerer.limit = [&snapshot](const SessionKey &key) -> std::optional<std::uint32_t> {
        const auto catalog = snapshot.load()->catalog;
        const models::ModelEntry *entry = catalog->find(modelOf(key));
        return entry ? entry->limit : std::nullopt;
    };
    return answerer;
}

void registerSessionOperations(control::ControlServer &server, sessions::SessionRegistry &registry)
{
    server.addHandler(
        "session.list", Authority::Anyone,
        [&registry](const Request &request, const Responder &responder) { handleList(registry, request, responder); });
    server.addHandler(
        "session.show", Authority::Anyone,
        [&registry](const Request &request, const Responder &responder) { handleShow(registry, request, responder); });
}

} // namespace cortexfs
