// Listing of model/.
#include "daemon/fs/nodes/model/model_area.h"
#include "daemon/fs/tree/listed_directory.h"

#include <cerrno>

namespace cortexfs::fs::nodes {

using models::ModelEntry;

namespace {
constexpr std::string_view kSuffixes[] = {"", ".d", ".sock"};
}

// A provider may have thousands of models: the names are made while they are taken, from the snapshot of the moment of
// opening. The offset counts three places a model, whether it has a socket or not.
class ProviderListing : public OpenDirectory {
public:
    ProviderListing(const ModelArea &area, NodeId node, std::shared_ptr<const RuntimeSnapshot> snapshot,
                    std::pair<std::size_t, std::size_t> range)
        : m_area(area), m_node(node), m_snapshot(std::move(snapshot)), m_range(range)
    {}

    int list(const Caller &, off_t offset, DirectorySink &sink) override
    {
        if (offset < 0)
            return EINVAL;
        if (!addDots(sink, m_node, m_area.rootId(), offset))
            return 0;
        const auto &models = m_snapshot->catalog->models();
        for (auto at = static_cast<std::size_t>(offset - kAfterDots);; ++at) {
            const std::size_t index = m_range.first + at / std::size(kSuffixes);
            if (index >= m_range.second)
                return 0;
            if (!addName(models[index], kSuffixes[at % std::size(kSuffixes)], static_cast<off_t>(at) + kAfterDots + 1,
                         sink))
                return 0;
        }
    }

private:
    bool addName(const ModelEntry &model, std::string_view suffix, off_t next, DirectorySink &sink)
    {
        const std::optional<NodeId> node = m_area.nodeOfModel(model, suffix);
        if (!node)
            return true;
        m_name.assign(model.ref.model).append(suffix);
        if (sink.wantsEntries()) {
            const ErrnoOr<Entry> entry = m_area.entryOf(*m_snapshot, *node);
            return !entry || sink.add(m_name, *entry, next);
        }
        Entry entry;
        entry.attr.stat.st_ino = *node;
        entry.attr.stat.st_mode = suffix.empty()                               ? S_IFREG
                                  : suffix == ".d"                             ? S_IFDIR
                                  : fs::kindOf(*node) == ModelArea::SocketLink ? S_IFLNK
                                                                               : S_IFSOCK;
        return sink.add(m_name, entry, next);
    }

    const ModelArea &m_area;
    const NodeId m_node;
    const std::shared_ptr<const RuntimeSnapshot> m_snapshot;
    const std::pair<std::size_t, std::size_t> m_range;
    std::string m_name;
};

ErrnoOr<std::unique_ptr<OpenDirectory>> ModelArea::openDirectory(const Caller &caller, NodeId node)
{
    const Snapshot snapshot = m_context.snapshot.load();
    std::vector<ListedDirectory::Name> names;
    const auto add = [&](std::string_view name, NodeId child) {
        if (const ErrnoOr<Entry> entry = entryOf(*snapshot, child))
            names.push_back({std::string(name), *entry});
    };
    NodeId parent = rootId();
    switch (kindOf(node)) {
    case Provider: {
        const auto range = snapshot->catalog->rangeOf(m_providers.name(keyOf(node)));
        if (range.first == range.second)
            return Errno{ESTALE};
        return std::unique_ptr<OpenDirectory>(std::make_unique<ProviderListing>(*this, node, snapshot, range));
    }
    case Top:
        parent = kRootId;
        for (const std::string &provider : snapshot->catalog->providers())
            add(provider, id(m_providers.id(provider), Provider));
        for (const models::ModelAlias &alias : snapshot->catalog->aliases())
            add(alias.name, aliasId(alias));
        if (routeStat())
            add("route", id(0, Route));
        break;
    case Directory: {
        const ModelEntry *model = modelOf(*snapshot, node);
        if (!model)
            return Errno{ESTALE};
        parent = id(m_providers.id(model->ref.provider), Provider);
        for (std::size_t i = 0; i < models::kControlCount; ++i)
            add(models::kControlNames[i], controlId(*model, static_cast<models::Control>(i)));
        break;
    }
    default: return Errno{ENOTDIR};
    }
    for (const StagedFiles::FilePtr &file : m_staged.list(caller, node))
        names.push_back({file->name, StagedFiles::entryOf(*file)});
    return std::unique_ptr<OpenDirectory>(std::make_unique<ListedDirectory>(node, parent, std::move(names)));
}

} // namespace cortexfs::fs::nodes
