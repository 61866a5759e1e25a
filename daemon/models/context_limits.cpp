#include "daemon/models/context_limits.h"

#include "common/abi/names.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/json/json.h"
#include "daemon/providers/wire/core/model_list.h"

#include <algorithm>
#include <limits>

namespace cortexfs::models {

namespace {

constexpr std::string_view kSchema = "cortexfs.model-limits/v1";

bool isStableModel(std::string_view provider, std::string_view id)
{
    const bool hasControl = std::any_of(id.begin(), id.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte < 0x20 || byte == 0x7f;
    });
    return !hasControl && abi::isObjectName(provider) && abi::projectedModelName(id).has_value();
}

std::string keyOf(std::string_view provider, std::string_view id)
{
    return std::string(provider) + "/" + std::string(id);
}

Error tooMany()
{
    return errors::tooLarge("more than " + std::to_string(limits::kLimitsEntries) + " models in the catalogue");
}

Result<json::Document> parsed(std::string_view text)
{
    if (text.size() > limits::kLimitsBytes)
        return errors::tooLarge("more than 16 MiB of model limits");
    return json::parse(text);
}

} // namespace

std::optional<std::uint32_t> ContextLimits::find(std::string_view provider, std::string_view nativeId) const
{
    constexpr std::string_view kResource = "models/";
    auto it = m_limits.find(keyOf(provider, nativeId));
    if (it == m_limits.end() && nativeId.starts_with(kResource))
        it = m_limits.find(keyOf(provider, nativeId.substr(kResource.size())));
    return it == m_limits.end() ? std::nullopt : std::optional(it->second);
}

Result<ContextLimits> ContextLimits::fromCatalogue(std::string_view text)
{
    const Result<json::Document> document = parsed(text);
    if (!document)
        return document.error().number() == EMSGSIZE ? document.error()
                                                     : errors::badMessage(document.error().message());
    if (!document->root().isObject())
        return errors::badMessage("the catalogue is no JSON object");
    ContextLimits out;
    std::size_t entries = 0;
    for (const json::Member &provider : document->root().members()) {
        for (const json::Member &model : provider.value["models"].members()) {
            if (++entries > limits::kLimitsEntries)
                return tooMany();
            const auto limit = wire::tokenCount(model.value["limit"]["context"]);
            if (limit && isStableModel(provider.key, model.key))
                out.m_limits.emplace(keyOf(provider.key, model.key), *limit);
        }
    }
    if (out.m_limits.empty())
        return errors::badMessage("the catalogue holds no model with a limit");
    return out;
}

Result<ContextLimits> ContextLimits::fromCache(std::string_view text)
{
    const Result<json::Document> document = parsed(text);
    if (!document)
        return document.error();
    const json::Value root = document->root();
    if (root["schema"].stringOr("") != kSchema)
        return errors::invalid("not of the schema " + std::string(kSchema));
    if (!root["models"].isObject())
        return errors::invalid("not an object").withDetail("/models");
    if (root["models"].size() > limits::kLimitsEntries)
        return tooMany();
    ContextLimits out;
    for (const json::Member &member : root["models"].members()) {
        const std::size_t slash = member.key.find('/');
        const auto limit = member.value.asInt();
        const bool isGood = slash != std::string_view::npos
                            && isStableModel(member.key.substr(0, slash), member.key.substr(slash + 1)) && limit
                            && *limit >= 1 && *limit <= std::numeric_limits<std::uint32_t>::max();
        if (!isGood)
            return errors::invalid("not a model with a limit").withDetail("/models/" + json::pointerToken(member.key));
        out.m_limits.emplace(std::string(member.key), static_cast<std::uint32_t>(*limit));
    }
    return out;
}

std::string ContextLimits::cacheText() const
{
    json::Writer writer;
    writer.beginObject().field("schema", kSchema).key("models").beginObject();
    for (const auto &[key, limit] : m_limits)
        writer.field(key, static_cast<std::int64_t>(limit));
    writer.endObject().endObject();
    return writer.take() + "\n";
}

Result<ContextLimits> ContextLimits::loadCache(const std::string &path, uid_t owner)
{
    const Result<std::string> text = files::readTrusted(path, limits::kLimitsBytes, owner);
    if (!text)
        return text.error();
    Result<ContextLimits> limits = fromCache(*text);
    if (!limits && limits.error().detail().empty())
        return limits.error().withDetail(path);
    return limits;
}

Result<void> ContextLimits::storeCache(const std::string &path, const std::string &text)
{
    if (Result<void> made = files::makeDirectories(path.substr(0, path.rfind('/')), 0755); !made)
        return made;
    return files::replace(path, text, 0644);
}

} // namespace cortexfs::models
