#include "daemon/models/types/model_catalog.h"

#include "common/abi/control_text.h"
#include "common/base/logging.h"
#include "common/base/utc_time.h"

#include <algorithm>

namespace cortexfs::models {

namespace {

constexpr std::size_t kLogLines = 32;

void appendMeta(std::string &out, std::string_view key, std::string_view value)
{
    out += "# cortexfs.";
    out += key;
    out += '=';
    out += logging::escapeControl(value);
    out += '\n';
}

std::string joined(const std::vector<std::string> &words, const char *separator)
{
    std::string out;
    for (const std::string &word : words)
        out += (out.empty() ? "" : separator) + word;
    return out;
}

std::string limitText(const ModelEntry &entry)
{
    return entry.limit ? std::to_string(*entry.limit) : std::string("unknown");
}

std::optional<ModelActivity::Cooldown> cooldownOf(const ModelEntry &entry, std::int64_t nowMs)
{
    // A model without a key has the more lasting trouble.
    return entry.activity && entry.isConfigured ? entry.activity->cooldown(nowMs) : std::nullopt;
}

std::string statusText(const ModelEntry &entry, std::int64_t nowMs)
{
    if (!entry.isConfigured)
        return "state=unconfigured\nreason=no key in slot default of provider " + entry.ref.provider + "\n";
    const auto cooldown = cooldownOf(entry, nowMs);
    if (!cooldown)
        return "state=ready\n";
    std::string text = "state=cooldown\nreason=" + cooldown->reason + "\nerrno=";
    text += errnoName(cooldown->errnoNumber);
    // Rounded up: at the time that is shown it is over.
    return text + "\nuntil=" + utcTimestamp(cooldown->untilMs + 999) + "\n";
}

} // namespace

std::optional<Control> controlFromName(std::string_view name)
{
    for (std::size_t i = 0; i < kControlCount; ++i) {
        if (kControlNames[i] == name)
            return static_cast<Control>(i);
    }
    return std::nullopt;
}

bool isWritable(Control control)
{
    switch (control) {
    case Control::Driver:
    case Control::Effort:
    case Control::Default:
    case Control::Fallback:
    case Control::Session: return true;
    case Control::Id:
    case Control::Cap:
    case Control::Limit:
    case Control::Status:
    case Control::Log: return false;
    }
    return false;
}

void ModelActivity::appendLog(std::string line)
{
    const std::lock_guard lock(m_mutex);
    m_lines.push_back(logging::escapeControl(line));
    if (m_lines.size() > kLogLines)
        m_lines.erase(m_lines.begin());
}

std::string ModelActivity::logText() const
{
    const std::lock_guard lock(m_mutex);
    std::string out;
    for (const std::string &line : m_lines)
        out += line + "\n";
    return out;
}

void ModelActivity::startCooldown(Cooldown cooldown)
{
    cooldown.reason = logging::escapeControl(cooldown.reason);
    const std::lock_guard lock(m_mutex);
    m_cooldown = std::move(cooldown);
}

void ModelActivity::endCooldown()
{
    const std::lock_guard lock(m_mutex);
    m_cooldown.reset();
}

std::optional<ModelActivity::Cooldown> ModelActivity::cooldown(std::int64_t nowMs) const
{
    const std::lock_guard lock(m_mutex);
    return m_cooldown && m_cooldown->untilMs > nowMs ? m_cooldown : std::nullopt;
}

std::string_view stateWord(const ModelEntry &entry, std::int64_t nowMs)
{
    if (!entry.isConfigured)
        return "unconfigured";
    return cooldownOf(entry, nowMs) ? "cooldown" : "ready";
}

std::string controlText(const ModelEntry &entry, Control control, std::int64_t nowMs)
{
    switch (control) {
    case Control::Id: return entry.ref.provider + "/" + entry.nativeId + "\n";
    case Control::Driver: return entry.driver;
    case Control::Cap: return entry.cap;
    case Control::Effort: return entry.effort;
    case Control::Default: return entry.defaults;
    case Control::Fallback: return entry.fallback;
    case Control::Limit: return limitText(entry) + "\n";
    case Control::Session: return entry.hasSocket ? "socket\n" : "none\n";
    case Control::Status: return statusText(entry, nowMs);
    case Control::Log: return entry.activity ? entry.activity->logText() : std::string();
    }
    return {};
}

std::string metadataText(const ModelEntry &entry, std::string_view runner, std::int64_t nowMs)
{
    std::string out = "#!";
    out += runner;
    out += '\n';
    appendMeta(out, "object", "model/" + entry.ref.text());
    appendMeta(out, "id", entry.ref.provider + "/" + entry.nativeId);
    appendMeta(out, "name", entry.ref.text());
    appendMeta(out, "description",
               entry.provider ? "model " + entry.nativeId + " of provider " + entry.ref.provider
                              : "built-in model without a network");
    appendMeta(out, "type", "model");
    appendMeta(out, "created_at", std::to_string(entry.createdAt));
    appendMeta(out, "owned_by", entry.provider ? entry.ref.provider : "cortexfs");
    appendMeta(out, "context_length", limitText(entry));
    for (const char *purpose : {"default", "exec", "socket", "agent"}) {
        appendMeta(out, std::string("driver.") + purpose, joined(abi::driversFor(entry.driver, purpose), ","));
    }
    appendMeta(out, "session", entry.hasSocket ? "socket" : "none");
    appendMeta(out, "status", stateWord(entry, nowMs));
    appendMeta(out, "cap", joined(abi::linesOf(entry.cap), ","));
    return out;
}

ModelCatalog::ModelCatalog(std::vector<ModelEntry> models, std::vector<ModelAlias> aliases)
    : m_models(std::move(models)), m_aliases(std::move(aliases))
{
    std::sort(m_models.begin(), m_models.end(), [](const ModelEntry &a, const ModelEntry &b) { return a.ref < b.ref; });
    m_models.shrink_to_fit();
    m_bySerial.reserve(m_models.size());
    for (std::uint32_t i = 0; i < m_models.size(); ++i) {
        m_bySerial.emplace_back(m_models[i].serial, i);
        if (m_providers.empty() || m_providers.back() != m_models[i].ref.provider)
            m_providers.push_back(m_models[i].ref.provider);
    }
    std::sort(m_bySerial.begin(), m_bySerial.end());
}

std::pair<std::size_t, std::size_t> ModelCatalog::rangeOf(std::string_view provider) const
{
    const auto first = std::partition_point(m_models.begin(), m_models.end(),
                                            [&](const ModelEntry &e) { return e.ref.provider < provider; });
    const auto last = std::partition_point(first, m_models.end(),
                                           [&](const ModelEntry &e) { return e.ref.provider == provider; });
    return {static_cast<std::size_t>(first - m_models.begin()), static_cast<std::size_t>(last - m_models.begin())};
}

const ModelEntry *ModelCatalog::find(std::string_view provider, std::string_view model) const
{
    const auto it = std::partition_point(m_models.begin(), m_models.end(), [&](const ModelEntry &e) {
        const int order = std::string_view(e.ref.provider).compare(provider);
        return order < 0 || (order == 0 && e.ref.model < model);
    });
    if (it == m_models.end() || it->ref.provider != provider || it->ref.model != model)
        return nullptr;
    return &*it;
}

const ModelEntry *ModelCatalog::bySerial(std::uint32_t serial) const
{
    const auto it = std::lower_bound(m_bySerial.begin(), m_bySerial.end(),
                                     std::pair<std::uint32_t, std::uint32_t>(serial, 0));
    if (it == m_bySerial.end() || it->first != serial)
        return nullptr;
    return &m_models[it->second];
}

const ModelAlias *ModelCatalog::alias(std::string_view name) const
{
    for (const ModelAlias &alias : m_aliases) {
        if (alias.name == name)
            return &alias;
    }
    return nullptr;
}

} // namespace cortexfs::models
