// The mutable state of the daemon and the one place that publishes snapshots of it. Lives on the Qt thread; only
// postTreeChange() and checkControl() may be called from elsewhere.
#pragma once

#include "common/base/places.h"
#include "common/config/daemon_config.h"
#include "daemon/core/catalog_builder.h"
#include "daemon/core/control_store.h"
#include "daemon/core/problem.h"
#include "daemon/core/state_writer.h"
#include "daemon/models/context_limits.h"
#include "daemon/providers/core/secret_store.h"
#include "daemon/snapshot/runtime_snapshot.h"
#include "daemon/snapshot/snapshot_cell.h"
#include "daemon/snapshot/tree_change.h"

#include <QObject>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cortexfs {

class Runtime : public QObject, public TreeChangeHandler {
    Q_OBJECT
public:
    Runtime(Places places, config::DaemonConfig config, std::vector<BinLink> bin, QObject *parent = nullptr);
    ~Runtime() override;

    // Makes the state directories and reads everything once. An unusable state directory is the only failure: a bad
    // provider file leaves its provider out and becomes a problem.
    Result<void> load();
    // Reads the configuration again and publishes.
    void refresh();
    // A key of this provider came or went: what depends on it is built again, and what the service answered to another
    // key keeps none of its models waiting any longer.
    void secretsChanged(const std::string &provider);

    const Places &places() const { return m_places; }
    const config::DaemonConfig &config() const { return m_config; }
    const config::ProviderSet &providers() const { return m_providers; }
    const std::vector<Problem> &problems() const { return m_problems; }
    const SnapshotCell<RuntimeSnapshot> &snapshot() const { return m_snapshot; }
    providers::SecretStore &secrets() { return m_secrets; }
    const providers::SecretStore &secrets() const { return m_secrets; }
    const models::ContextLimits &contextLimits() const { return m_limits; }
    // Why the limits cache counts as none; nothing when it is good or absent.
    const std::optional<Error> &limitsFault() const { return m_limitsFault; }
    // What a provider said about the age of its models; kept while the daemon lives.
    void noteCreationTimes(const std::string &provider, const std::map<std::string, std::int64_t> &seconds);
    StateWriter &writer() { return m_writer; }

    // Replaces the route table when it still has this etag; "" as text removes it. `done` on the Qt thread: EINVAL with the
    // line, ESTALE, EMSGSIZE.
    void putRoute(std::string text, std::string etag, std::function<void(Result<void>)> done);

    void postTreeChange(TreeChange change, TreeChangeDone done) override;
    Result<void> checkControl(std::string_view path, std::string_view content) const override;

Q_SIGNALS:
    void snapshotChanged(std::shared_ptr<const cortexfs::RuntimeSnapshot> before,
                         std::shared_ptr<const cortexfs::RuntimeSnapshot> after);

private:
    void readConfiguration();
    void readLimits();
    std::int64_t createdAt(const std::string &provider, const std::string &id) const; // 0: not said
    void rebuild();
    void publish(std::shared_ptr<const models::ModelCatalog> catalog);
    std::string statusText(const models::ModelCatalog &catalog) const;
    void apply(const TreeChange &change, const TreeChangeDone &done);
    Result<void> checkChangeable(const TreeChange &change) const; // EROFS, or nothing
    void applyControlWrite(const TreeChange &change, const TreeChangeDone &done);
    void applyRoute(const TreeChange &change, const TreeChangeDone &done);
    void applyLink(const TreeChange &change, const TreeChangeDone &done);
    void applyLinkRemoval(const TreeChange &change, const TreeChangeDone &done);

    Places m_places;
    config::DaemonConfig m_config;
    std::vector<BinLink> m_bin;
    ControlStore m_store;
    providers::SecretStore m_secrets;
    CatalogBuilder m_builder;
    config::ProviderSet m_providers;
    models::ContextLimits m_limits;
    std::optional<Error> m_limitsFault;
    std::map<std::string, std::map<std::string, std::int64_t>> m_createdAt; // by provider and native id
    ControlStore::Overrides m_overrides;
    std::map<std::string, abi::ModelRef> m_userAliases;
    std::vector<Problem> m_configProblems;
    std::vector<Problem> m_problems;
    SnapshotCell<RuntimeSnapshot> m_snapshot;
    StateWriter m_writer;
};

} // namespace cortexfs
