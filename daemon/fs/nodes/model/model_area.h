// model/: providers, models with their control files and sockets, aliases, and the route table.
//
// Nothing is kept per model. A node id holds the model's serial and what it is of the model; the text comes from the
// catalogue in the snapshot when it is asked for. Only models that changed since the mount have a time of their own.
#pragma once

#include "daemon/fs/tree/area.h"
#include "daemon/fs/tree/area_context.h"
#include "daemon/fs/tree/control_directory.h"
#include "daemon/fs/tree/name_ids.h"

#include "common/base/unique_fd.h"

#include <atomic>
#include <cerrno>
#include <mutex>
#include <unordered_map>

namespace cortexfs::fs::nodes {

AreaDescriptor modelArea();

class ModelArea : public Area, private ControlStorage {
public:
    static Result<std::unique_ptr<Area>> make(const AreaContext &context);

    NodeId rootId() const override { return id(0, Top); }
    ErrnoOr<Entry> lookup(const Caller &caller, NodeId parent, std::string_view name) override;
    ErrnoOr<Attr> attributes(const Caller &caller, NodeId node, OpenFile *file) override;
    ErrnoOr<std::string> readLink(const Caller &caller, NodeId node) override;
    int access(const Caller &caller, NodeId node, int mask) override;
    ErrnoOr<OpenedFile> open(const Caller &caller, NodeId node, int flags) override;
    ErrnoOr<std::unique_ptr<OpenDirectory>> openDirectory(const Caller &caller, NodeId node) override;
    ErrnoOr<NodeFacts> facts(NodeId node) override;
    bool listsReservedXattrs(NodeId node) const override;
    int setXattr(const Caller &, NodeId node, const std::string &, std::string_view, int) override
    {
        // Programs that replace a file try to give the new one its access list, and go on without.
        return fs::kindOf(node) == Staged ? EOPNOTSUPP : EROFS;
    }

    void setAttributes(const Caller &caller, NodeId node, const AttrChange &change, OpenFile *file,
                       Reply<Attr> reply) override;
    ErrnoOr<CreatedFile> create(const Caller &caller, NodeId parent, std::string_view name, mode_t mode,
                                int flags) override;
    void makeSymlink(const Caller &caller, NodeId parent, std::string_view name, std::string_view target,
                     Reply<Entry> reply) override;
    void unlink(const Caller &caller, NodeId parent, std::string_view name, Reply<Ack> reply) override;
    void rename(const Caller &caller, NodeId from, std::string_view name, NodeId to, std::string_view newName,
                unsigned flags, Reply<Ack> reply) override;

    void snapshotChanged(const RuntimeSnapshot &before, const RuntimeSnapshot &after, Invalidations &changes) override;
    std::optional<NodeId> projectedParent(std::string_view path) const override;

private:
    friend class ProviderListing;

    // The key is 0, a provider's name id, an alias's name id, a staged serial, or a model's serial.
    enum Kind : unsigned {
        Top = 1,
        Provider,
        Alias,
        Route,
        Staged,
        Executable,
        Directory,
        Placeholder,
        SocketLink,
        FirstControl = 32,
    };
    using Snapshot = std::shared_ptr<const RuntimeSnapshot>;

    ModelArea(const AreaContext &context, UniqueFd backing);

    NodeId id(std::uint64_t key, unsigned kind) const { return projectedId(m_context.tag, key, kind); }
    static std::optional<models::Control> controlOf(unsigned kind);
    NodeId controlId(const models::ModelEntry &model, models::Control control) const;
    // The node of one of a model's three names, given what follows the model's own name.
    std::optional<NodeId> nodeOfModel(const models::ModelEntry &model, std::string_view suffix) const;
    NodeId aliasId(const models::ModelAlias &alias) const;
    const models::ModelAlias *aliasOf(const RuntimeSnapshot &snapshot, NodeId node) const;
    static const models::ModelEntry *modelOf(const RuntimeSnapshot &snapshot, NodeId node);

    ErrnoOr<Attr> attributesOf(const RuntimeSnapshot &snapshot, NodeId node) const;
    ErrnoOr<Entry> entryOf(const RuntimeSnapshot &snapshot, NodeId node) const;
    bool isCoolingDown(const models::ModelEntry &model) const;
    std::size_t metadataSize(const RuntimeSnapshot &snapshot, const models::ModelEntry &model) const;
    ErrnoOr<struct stat> routeStat() const;
    ErrnoOr<Entry> routeEntry(const RuntimeSnapshot &snapshot) const;
    std::string liveSocket(const models::ModelEntry &model) const;
    bool isLive(const models::ModelEntry &model) const;
    timespec changedAt(std::uint32_t serial) const;
    timespec catalogChangedAt() const;
    // False where the kernel may still believe an older size: pages must not be filled then.
    bool isAnnounced(const RuntimeSnapshot &snapshot, std::uint32_t serial) const;
    void noteChange(std::uint32_t serial);

    std::optional<ControlRef> controlRef(const RuntimeSnapshot &snapshot, NodeId node) const;
    ErrnoOr<std::string> textOf(const RuntimeSnapshot &snapshot, NodeId node) const;
    OpenedFile editControl(const ControlRef &control, std::string text, int flags);
    int mayChange(const Caller &caller) const;
    void changeLink(const Caller &caller, TreeChange::Kind kind, std::string_view name, std::string target,
                    PendingChanges::Continuation then);
    void renameAlias(const Caller &caller, const models::ModelAlias &alias, std::string_view newName, unsigned flags,
                     Reply<Ack> reply);
    void compareModels(const models::ModelEntry &before, const models::ModelEntry &after, Invalidations &changes);
    void forgetModel(const models::ModelEntry &model, Invalidations &changes) const;

    ControlStorage &storage() { return *this; }
    std::optional<ControlRef> controlNamed(NodeId directory, std::string_view name) override;
    int mayChangeControl(const Caller &caller, const ControlRef &control) override;
    std::size_t stagedBytes(NodeId directory) const override;
    int checkControl(const ControlRef &control, std::string_view text) const override;
    void commitControl(const Caller &caller, const ControlRef &control, std::string text,
                       std::function<void(int)> done) override;
    void settleControl(const Caller &caller, const ControlRef &control, std::string text) override;

    const AreaContext m_context;
    const UniqueFd m_backing; // <installed tree>/model
    mutable NameIds m_providers;
    mutable NameIds m_aliases; // "name\0target"
    StagedFiles m_staged;
    ControlDirectory m_controls;

    // Sizes of the executables' texts, by place in the catalogue; 0 is not known yet. Answering thread only.
    mutable std::weak_ptr<const models::ModelCatalog> m_sizedCatalog;
    mutable std::vector<std::uint32_t> m_sizes;
    // When a cooldown was last told of, by serial, in seconds. Answering thread only.
    mutable std::unordered_map<std::uint32_t, time_t> m_cooling;

    mutable std::mutex m_mutex;
    std::unordered_map<std::uint32_t, timespec> m_changed; // by serial, since the mount
    timespec m_catalogChanged;
    std::atomic<const void *> m_announced{nullptr}; // the catalogue that the kernel was told about
};

} // namespace cortexfs::fs::nodes
