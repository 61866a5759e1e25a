#include "common/config/daemon_config.h"

#include "common/abi/endpoint.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/json/json.h"

namespace cortexfs::config {

Result<DaemonConfig> parseDaemonConfig(std::string_view text)
{
    const Result<json::Document> document = json::parse(text);
    if (!document)
        return document.error();
    std::vector<std::string> faults;
    json::ObjectReader reader(document->root(), "", faults);
    DaemonConfig config;
    if (reader.has("autostart"))
        config.autostart = reader.stringList("autostart");
    if (const auto url = reader.string("models_dev_url")) {
        config.modelsDevUrl = *url;
        if (const Result<abi::Endpoint> checked = abi::parseEndpoint(*url); !checked)
            reader.fault("models_dev_url", checked.error().message());
    }
    config.allowOther = reader.boolean("allow_other").value_or(false);
    config.runner = reader.string("runner");
    if (config.runner && !config.runner->starts_with('/'))
        reader.fault("runner", "not an absolute path");
    config.logLevel = reader.string("log_level");
    if (config.logLevel && *config.logLevel != "debug" && *config.logLevel != "info" && *config.logLevel != "warning"
        && *config.logLevel != "error")
        reader.fault("log_level", "not debug, info, warning or error");
    for (const std::string &key : reader.unknownKeys())
        config.warnings.push_back("/" + json::pointerToken(key) + ": unknown key, ignored");
    if (faults.empty())
        return config;
    return errors::invalid(json::joinedFaults(faults));
}

Result<DaemonConfig> loadDaemonConfig(const std::string &path)
{
    const Result<std::string> text = files::readRegular(path, limits::kProviderFile);
    if (!text) {
        if (text.error().number() == ENOENT)
            return DaemonConfig();
        return text.error();
    }
    Result<DaemonConfig> config = parseDaemonConfig(*text);
    if (!config)
        return config.error().withDetail(path);
    return config;
}

} // namespace cortexfs::config
