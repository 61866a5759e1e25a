#include "daemon/core/catalog_builder.h"

#include "common/abi/control_text.h"
#include "daemon/core/alias_choice.h"
#include "daemon/providers/wire/wire_format.h"

#include <algorithm>
#include <set>

namespace cortexfs {

namespace {

using models::Control;
using models::ModelEntry;

constexpr std::string_view kBuiltInDriver = "debug";

std::vector<std::string> knownDrivers()
{
    std::vector<std::string> drivers;
    for (const wire::WireFormat *format : wire::registry())
        drivers.push_back(format->descriptor().driver);
    return drivers;
}

const wire::WireFormat *defaultFormat()
{
    for (const wire::WireFormat *format : wire::registry()) {
        if (format->descriptor().isDefault)
            return format;
    }
    return nullptr;
}

// One line a purpose. Direct use takes the plain formats first, agents the rich ones; within both the order of the file.
std::string driverTable(const std::vector<std::string> &formats)
{
    std::vector<const wire::WireFormat *> chosen;
    for (const std::string &name : formats) {
        if (const wire::WireFormat *format = wire::findByFormat(name))
            chosen.push_back(format);
    }
    if (chosen.empty()) {
        if (const wire::WireFormat *format = defaultFormat())
            chosen.push_back(format);
    }
    const auto list = [&](bool richFirst) {
        std::string words;
        for (const bool rich : {richFirst, !richFirst}) {
            for (const wire::WireFormat *format : chosen) {
                if (format->descriptor().isRich == rich)
                    words += (words.empty() ? "" : ",") + format->descriptor().driver;
            }
        }
        return words;
    };
    const std::string direct = list(false);
    return "default=" + direct + "\nexec=" + direct + "\nsocket=" + direct + "\nagent=" + list(true) + "\n";
}

std::string capabilityText(const config::ProviderConfig &provider, const std::string &id)
{
    const auto declared = provider.modelCapabilities.find(id);
    if (declared == provider.modelCapabilities.end())
        return "chat\nstream\ntool_call_syntax\n"; // what every format of ours carries
    std::string text;
    for (const std::string &word : declared->second)
        text += word + "\n";
    return text;
}

ModelEntry builtIn(const char *name)
{
    ModelEntry entry;
    entry.ref = {"debug", name};
    entry.nativeId = name;
    std::string table;
    for (const char *purpose : {"default", "exec", "socket", "agent"})
        table += std::string(purpose) + "=" + std::string(kBuiltInDriver) + "\n";
    entry.driver = table;
    entry.cap = "chat\nstream\ntool_call_syntax\n";
    entry.effort = "auto\n";
    return entry;
}

class Collector {
public:
    Collector(const CatalogInput &input, std::vector<Problem> &problems) : m_input(input), m_problems(problems) {}

    std::vector<ModelEntry> collect()
    {
        m_entries.push_back(builtIn("echo"));
        m_entries.push_back(builtIn("script"));
        for (const config::ProviderConfig &provider : m_input.providers) {
            if (provider.enabled)
                addProvider(provider);
        }
        for (ModelEntry &entry : m_entries)
            applyOverrides(entry);
        std::sort(m_entries.begin(), m_entries.end(),
                  [](const ModelEntry &a, const ModelEntry &b) { return a.ref < b.ref; });
        return std::move(m_entries);
    }

private:
    void addProvider(const config::ProviderConfig &config)
    {
        const auto provider = std::make_shared<const config::ProviderConfig>(config);
        const bool configured = !config.needsKey || m_input.hasKey(config.name);
        const std::string driver = driverTable(config.formats);
        std::set<std::string> taken;
        for (const std::string &id : config.models) {
            const auto name = abi::projectedModelName(id);
            if (!name) {
                m_problems.push_back(
                    {"providers.d/" + config.file, errors::invalid("no object name for the model " + id)});
                continue;
            }
            if (!taken.insert(*name).second) {
                m_problems.push_back({"providers.d/" + config.file,
                                      errors::alreadyExists("the model " + id + " would be " + *name
                                                            + ", which another one is already; it is left out")});
                continue;
            }
            ModelEntry entry;
            entry.ref = {config.name, *name};
            entry.nativeId = id;
            entry.provider = provider;
            entry.driver = driver;
            entry.cap = capabilityText(config, id);
            entry.effort = "auto\n";
            if (const auto limit = config.modelLimits.find(id); limit != config.modelLimits.end())
                entry.limit = limit->second;
            else if (m_input.limitOf)
                entry.limit = m_input.limitOf(config.name, id);
            if (m_input.createdAt)
                entry.createdAt = m_input.createdAt(config.name, id);
            entry.isConfigured = configured;
            m_entries.push_back(std::move(entry));
        }
    }

    void applyOverrides(ModelEntry &entry)
    {
        const auto stored = m_input.overrides.find(entry.ref);
        if (stored == m_input.overrides.end())
            return;
        for (const auto &[control, text] : stored->second) {
            Result<std::string> checked = checkControlText(control, text);
            if (checked) {
                applyControl(entry, control, std::move(*checked));
            } else {
                m_problems.push_back({"model/" + entry.ref.text() + ".d/"
                                          + std::string(models::kControlNames[static_cast<std::size_t>(control)]),
                                      checked.error()});
            }
        }
    }

    const CatalogInput &m_input;
    std::vector<Problem> &m_problems;
    std::vector<ModelEntry> m_entries;
};

bool isElsewhere(const ModelEntry &before, const ModelEntry &after)
{
    return before.provider && after.provider && before.provider->baseUrl != after.provider->baseUrl;
}

} // namespace

std::vector<std::string> knownFormats()
{
    std::vector<std::string> formats;
    for (const wire::WireFormat *format : wire::registry()) {
        if (format->descriptor().driver != kBuiltInDriver)
            formats.push_back(format->descriptor().format);
    }
    return formats;
}

Result<std::string> checkControlText(Control control, std::string_view text)
{
    switch (control) {
    case Control::Effort: return abi::checkEffort(text);
    case Control::Session: return abi::checkSession(text);
    case Control::Default: return abi::checkDefaults(text);
    case Control::Fallback: return abi::checkFallback(text);
    case Control::Driver: return abi::checkDriver(text, knownDrivers());
    case Control::Id:
    case Control::Cap:
    case Control::Limit:
    case Control::Status:
    case Control::Log: break;
    }
    return errors::readOnly("read-only control");
}

void applyControl(ModelEntry &entry, Control control, std::string text)
{
    entry.overridden = static_cast<std::uint16_t>(entry.overridden | (1u << static_cast<unsigned>(control)));
    switch (control) {
    case Control::Effort: entry.effort = std::move(text); break;
    case Control::Session: entry.hasSocket = text == "socket\n"; break;
    case Control::Default: entry.defaults = std::move(text); break;
    case Control::Fallback: entry.fallback = std::move(text); break;
    case Control::Driver: entry.driver = std::move(text); break;
    case Control::Id:
    case Control::Cap:
    case Control::Limit:
    case Control::Status:
    case Control::Log: break;
    }
}

std::shared_ptr<const models::ModelCatalog> CatalogBuilder::build(const CatalogInput &input,
                                                                  const models::ModelCatalog *previous,
                                                                  std::vector<Problem> &problems)
{
    std::vector<ModelEntry> entries = Collector(input, problems).collect();
    for (ModelEntry &entry : entries) {
        const ModelEntry *old = previous ? previous->find(entry.ref) : nullptr;
        entry.serial = old ? old->serial : m_nextSerial++;
        entry.activity = old ? old->activity : std::make_shared<models::ModelActivity>();
        if (old && isElsewhere(*old, entry))
            entry.activity->endCooldown(); // it was another server that wished to be left alone
    }
    std::vector<models::ModelAlias> aliases = chooseAliases(entries, input.userAliases, input.mount);
    return std::make_shared<const models::ModelCatalog>(std::move(entries), std::move(aliases));
}

} // namespace cortexfs
