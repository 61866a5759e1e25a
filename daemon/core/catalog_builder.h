// Builds the model catalogue from what the administrator declared, what users changed and what is built in.
#pragma once

#include "common/config/provider_config.h"
#include "daemon/core/control_store.h"
#include "daemon/core/problem.h"
#include "daemon/models/types/model_catalog.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cortexfs {

struct CatalogInput {
    const std::vector<config::ProviderConfig> &providers; // by name
    const ControlStore::Overrides &overrides;
    const std::map<std::string, abi::ModelRef> &userAliases;
    // Whether the provider's default slot holds a key.
    std::function<bool(const std::string &provider)> hasKey;
    std::string mount;
    // What the limits cache and the provider itself know of a model; where they are not given, nothing is known.
    std::function<std::optional<std::uint32_t>(const std::string &provider, const std::string &nativeId)> limitOf = {};
    std::function<std::int64_t(const std::string &provider, const std::string &nativeId)> createdAt = {};
};

class CatalogBuilder {
public:
    // `previous` gives surviving models their serial, their log and their cooldown, which a new base URL ends. Problems: ids
    // that cannot be projected or collide, stored control texts that this build refuses (the default then holds and the
    // file stays).
    std::shared_ptr<const models::ModelCatalog> build(const CatalogInput &input, const models::ModelCatalog *previous,
                                                      std::vector<Problem> &problems);

private:
    std::uint32_t m_nextSerial = 1;
};

// Control text of one model, as stored; the rules of common/abi/control_text.h with this build's drivers. EROFS for a
// control that nobody may write.
Result<std::string> checkControlText(models::Control control, std::string_view text);
// Puts a checked text into an entry.
void applyControl(models::ModelEntry &entry, models::Control control, std::string text);

// The wire formats of this build, as provider files name them.
std::vector<std::string> knownFormats();

} // namespace cortexfs
