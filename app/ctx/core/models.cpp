#include "app/ctx/core/models.h"

#include "app/ctx/core/text.h"

namespace cortexfs::ctx {

Result<ModelList> ModelList::fetch(Session &session, std::string_view provider, std::chrono::milliseconds time)
{
    Result<control::Client> client = session.connect(time);
    if (!client)
        return client.error();
    ModelList list;
    std::string after;
    for (;;) {
        json::Writer request;
        request.beginObject();
        if (!provider.empty())
            request.field("provider", json::toValidUtf8(provider));
        if (!after.empty())
            request.field("after", after);
        request.endObject();
        Result<json::Document> page = client->call("model.list", membersOf(request.text()), time);
        if (!page)
            return page.error();
        const json::Value root = page->root();
        std::string last;
        for (const json::Value &model : root["models"].elements()) {
            const std::string_view name = model["name"].stringOr("");
            last = name;
            // A daemon may give more than was asked for.
            const bool isWanted = provider.empty() || name.substr(0, name.find('/')) == provider;
            if (isWanted)
                list.m_models.push_back(model);
        }
        if (after.empty())
            list.m_aliases = root["aliases"].elements();
        const bool hasMore = root["more"].asBool().value_or(false) && !last.empty() && last != after;
        list.m_pages.push_back(std::move(*page));
        if (!hasMore)
            break;
        after = last;
    }
    for (const json::Value &alias : list.m_aliases) {
        std::string &names = list.m_aliasesByModel[std::string(alias["target"].stringOr(""))];
        names += (names.empty() ? "" : " ") + std::string(alias["name"].stringOr(""));
    }
    return list;
}

std::string ModelList::aliasesOf(std::string_view model) const
{
    const auto at = m_aliasesByModel.find(model);
    return at == m_aliasesByModel.end() ? std::string() : at->second;
}

std::string capText(const json::Value &model)
{
    std::string out;
    for (const json::Value &word : model["cap"].elements())
        out += (out.empty() ? "" : " ") + std::string(word.stringOr("?"));
    return out;
}

std::string limitText(const json::Value &model)
{
    const auto limit = model["limit"].asInt();
    return limit ? tokens(*limit) : "unknown";
}

} // namespace cortexfs::ctx
