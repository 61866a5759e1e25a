// What users changed under model/: control files and aliases, kept in the installed tree as
//     <tree>/model/<P>/<M>.d/<control>      regular files
//     <tree>/model/<alias>                  links "P/M"
//     <tree>/model/route                    the route table
// Reading happens at start and on refresh; every change is one atomic file operation.
#pragma once

#include "common/abi/names.h"
#include "common/base/result.h"
#include "daemon/models/types/model_catalog.h"

#include <map>
#include <optional>
#include <string>
#include <utility>

namespace cortexfs {

class ControlStore {
public:
    explicit ControlStore(std::string tree) : m_directory(std::move(tree) + "/model") {}

    // Makes the directory and removes what a crash left half-written.
    Result<void> prepare() const;

    using Overrides = std::map<abi::ModelRef, std::map<models::Control, std::string>>;
    Overrides loadOverrides() const;
    std::map<std::string, abi::ModelRef> loadAliases() const;

    Result<void> write(const abi::ModelRef &ref, models::Control control, const std::string &text) const;
    Result<void> setAlias(const std::string &name, const abi::ModelRef &target) const;
    // ENOENT when the user made none of that name.
    Result<void> removeAlias(const std::string &name) const;

    // A file that is gone has the etag "". `expected`: ESTALE when the table on disk has another one by now.
    Result<void> writeRoute(const std::string &text, const std::optional<std::string> &expected = {}) const;
    // ENOENT when there is none, unless `expected` says that this is known.
    Result<void> removeRoute(const std::optional<std::string> &expected = {}) const;

private:
    Result<void> checkRouteEtag(int directory, const std::optional<std::string> &expected) const;

    std::string m_directory;
};

} // namespace cortexfs
