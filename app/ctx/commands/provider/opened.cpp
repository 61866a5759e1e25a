#include "app/ctx/commands/provider/opened.h"

#include "app/ctx/commands/provider/provider.h"

namespace cortexfs::ctx::provider_command {

namespace {

Result<json::Document> get(Session &session, std::string_view key, const std::string &value)
{
    json::Writer request;
    request.beginObject().field(key, value).endObject();
    return session.ask("provider.get", membersOf(request.text()));
}

} // namespace

Result<OpenedProvider> OpenedProvider::open(Session &session, const std::string &name)
{
    Result<json::Document> reply = get(session, name.ends_with(".json") ? "file" : "name", name);
    if (!reply && reply.error().number() == ENOENT && !name.ends_with(".json")) {
        Result<json::Document> byFile = get(session, "file", name + ".json");
        if (byFile)
            reply = std::move(byFile);
    }
    if (!reply)
        return withProviderHint(reply.error());
    return OpenedProvider(std::move(*reply));
}

json::Writer OpenedProvider::request() const
{
    json::Writer writer;
    writer.beginObject();
    if (const std::string known = name(); !known.empty())
        writer.field("name", known);
    else
        writer.field("file", file());
    writer.field("etag", etag());
    return writer;
}

Result<json::Document> OpenedProvider::putConfig(Session &session, std::string_view configJson) const
{
    json::Writer writer = request();
    writer.key("config").raw(configJson).endObject();
    return session.ask("provider.put", membersOf(writer.text()));
}

Result<json::Document> OpenedProvider::putText(Session &session, std::string_view text) const
{
    if (!json::isValidUtf8(text))
        return errors::invalid("not text in UTF-8");
    json::Writer writer = request();
    writer.field("text", text).endObject();
    return session.ask("provider.put", membersOf(writer.text()));
}

Result<json::Document> OpenedProvider::remove(Session &session) const
{
    json::Writer writer = request();
    writer.endObject();
    return session.ask("provider.remove", membersOf(writer.text()));
}

} // namespace cortexfs::ctx::provider_command
