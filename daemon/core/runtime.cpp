#include "daemon/core/runtime.h"

#include "common/base/files.h"
#include "common/base/logging.h"
#include "common/base/unique_fd.h"
#include "common/route/route_table.h"

#include <fcntl.h>
#include <unistd.h>

namespace cortexfs {

namespace {

constexpr std::string_view kRoutePath = "model/route";

// "model/P/M.d/control"
struct ControlPath {
    abi::ModelRef ref;
    models::Control control;
};

std::optional<ControlPath> parseControlPath(std::string_view path)
{
    constexpr std::string_view kModel = "model/";
    if (!path.starts_with(kModel))
        return std::nullopt;
    path.remove_prefix(kModel.size());
    const std::size_t slash = path.rfind('/');
    if (slash == std::string_view::npos || !path.substr(0, slash).ends_with(".d"))
        return std::nullopt;
    const auto ref = abi::parseModelRef(path.substr(0, slash - 2));
    const auto control = models::controlFromName(path.substr(slash + 1));
    if (!ref || !control)
        return std::nullopt;
    return ControlPath{*ref, *control};
}

// A link target as people write it: below this mount, below /ctx, or relative to model/.
std::optional<abi::ModelRef> parseAliasTarget(std::string_view target, const std::string &mount)
{
    for (const std::string &prefix : {mount + "/model/", std::string("/ctx/model/"), std::string("./")}) {
        if (target.starts_with(prefix)) {
            target.remove_prefix(prefix.size());
            break;
        }
    }
    return abi::parseModelRef(target);
}

std::shared_ptr<const RuntimeSnapshot> emptySnapshot()
{
    auto snapshot = std::make_shared<RuntimeSnapshot>();
    snapshot->statusText = "state=starting\n";
    snapshot->catalog = std::make_shared<const models::ModelCatalog>(std::vector<models::ModelEntry>(),
                                                                     std::vector<models::ModelAlias>());
    return snapshot;
}

std::string aliasNameOf(const TreeChange &change) { return change.path.substr(change.path.find('/') + 1); }

// What a write left behind that a crash cut short.
void removeLeftovers(const std::string &directory)
{
    const UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (fd.isValid())
        files::removeStaleTemporaries(fd.get());
}

} // namespace

Runtime::Runtime(Places places, config::DaemonConfig config, std::vector<BinLink> bin, QObject *parent)
    : QObject(parent), m_places(std::move(places)), m_config(std::move(config)), m_bin(std::move(bin)),
      m_store(m_places.installedTree()), m_secrets(m_places.state, ::geteuid()), m_snapshot(emptySnapshot())
{}

Runtime::~Runtime() = default;

Result<void> Runtime::load()
{
    const std::string tree = m_places.installedTree();
    for (const char *area : {"agent", "tool", "home", "shared", "model"}) {
        if (Result<void> made = files::makeDirectories(tree + "/" + area, 0755); !made)
            return made;
    }
    if (Result<void> prepared = m_store.prepare(); !prepared)
        return prepared;
    if (Result<void> made = files::makeDirectories(m_places.activeSessionsDir(), 0700); !made)
        return made;
    const std::string limits = m_places.limitsCache();
    for (const std::string &directory : {m_places.providersDir(), limits.substr(0, limits.rfind('/'))})
        removeLeftovers(directory);
    m_overrides = m_store.loadOverrides();
    m_userAliases = m_store.loadAliases();
    refresh();
    return {};
}

void Runtime::refresh()
{
    readConfiguration();
    readLimits();
    rebuild();
}

void Runtime::readLimits()
{
    m_limitsFault.reset();
    Result<models::ContextLimits> limits = models::ContextLimits::loadCache(m_places.limitsCache(), ::geteuid());
    if (!limits && limits.error().number() != ENOENT) {
        m_limitsFault = limits.error();
        qCWarning(lcConfig, "limits cache not used: %s", limits.error().text().c_str());
    }
    m_limits = limits ? std::move(*limits) : models::ContextLimits();
}

std::int64_t Runtime::createdAt(const std::string &provider, const std::string &id) const
{
    const auto known = m_createdAt.find(provider);
    if (known == m_createdAt.end())
        return 0;
    const auto at = known->second.find(id);
    return at == known->second.end() ? 0 : at->second;
}

void Runtime::noteCreationTimes(const std::string &provider, const std::map<std::string, std::int64_t> &seconds)
{
    m_createdAt[provider] = seconds;
    rebuild();
}

void Runtime::readConfiguration()
{
    m_configProblems.clear();
    Result<config::ProviderSet> set = config::loadProviders(m_places.providersDir(), knownFormats());
    if (!set) {
        // The providers that were there stay: an unreadable directory is no reason to take models away.
        m_configProblems.push_back({"providers.d", set.error()});
    } else {
        m_providers = std::move(*set);
        for (const config::InvalidProvider &invalid : m_providers.invalid)
            m_configProblems.push_back({"providers.d/" + invalid.file, invalid.error});
    }
    for (const Problem &problem : m_configProblems)
        qCWarning(lcConfig, "%s: %s", problem.where.c_str(), problem.error.text().c_str());
}

void Runtime::secretsChanged(const std::string &provider)
{
    const auto catalog = m_snapshot.load()->catalog;
    const auto [first, last] = catalog->rangeOf(provider);
    for (std::size_t i = first; i < last; ++i) {
        if (const auto &activity = catalog->models()[i].activity)
            activity->endCooldown();
    }
    rebuild();
}

void Runtime::rebuild()
{
    m_problems = m_configProblems;
    const CatalogInput input{
        m_providers.providers,
        m_overrides,
        m_userAliases,
        [this](const std::string &provider) {
            return m_secrets.state(provider, providers::kDefaultSlot).state == providers::SlotState::Filled;
        },
        m_places.mount,
        [this](const std::string &provider, const std::string &id) { return m_limits.find(provider, id); },
        [this](const std::string &provider, const std::string &id) { return createdAt(provider, id); }};
    publish(m_builder.build(input, m_snapshot.load()->catalog.get(), m_problems));
}

void Runtime::publish(std::shared_ptr<const models::ModelCatalog> catalog)
{
    auto after = std::make_shared<RuntimeSnapshot>();
    after->statusText = statusText(*catalog);
    after->catalog = std::move(catalog);
    after->bin = m_bin;
    const auto before = m_snapshot.load();
    m_snapshot.store(after);
    Q_EMIT snapshotChanged(before, after);
}

std::string Runtime::statusText(const models::ModelCatalog &catalog) const
{
    std::string text = "state=ready\n";
    text += "version=" CORTEXFS_VERSION "\n";
    text += "pid=" + std::to_string(::getpid()) + "\n";
    text += std::string("mode=") + (m_places.mode == Mode::System ? "system" : "user") + "\n";
    text += "mount=" + m_places.mount + "\n";
    text += "providers=" + std::to_string(catalog.providers().size()) + "\n";
    text += "models=" + std::to_string(catalog.models().size()) + "\n";
    text += "problems=" + std::to_string(m_problems.size()) + "\n";
    return text;
}

void Runtime::postTreeChange(TreeChange change, TreeChangeDone done)
{
    QMetaObject::invokeMethod(
        this, [this, change = std::move(change), done = std::move(done)] { apply(change, done); },
        Qt::QueuedConnection);
}

Result<void> Runtime::checkControl(std::string_view path, std::string_view content) const
{
    const auto parsed = parseControlPath(path);
    if (!parsed)
        return errors::readOnly("not a control file");
    const Result<std::string> checked = checkControlText(parsed->control, content);
    if (!checked)
        return checked.error();
    return {};
}

Result<void> Runtime::checkChangeable(const TreeChange &change) const
{
    switch (change.kind) {
    case TreeChange::Kind::WriteControl: {
        if (change.path == kRoutePath)
            return {};
        const auto path = parseControlPath(change.path);
        if (!path || !models::isWritable(path->control))
            return errors::readOnly("not a control file that can be written");
        return {};
    }
    case TreeChange::Kind::SetLink: {
        const std::string name = aliasNameOf(change);
        const auto [first, last] = m_snapshot.load()->catalog->rangeOf(name);
        if (!abi::isObjectName(name) || name == "route" || first != last)
            return errors::readOnly("the name is taken");
        return {};
    }
    case TreeChange::Kind::RemoveLink:
        if (m_userAliases.find(aliasNameOf(change)) == m_userAliases.end())
            return errors::readOnly("not an alias that a user made");
        return {};
    case TreeChange::Kind::RemoveFile:
        if (change.path == kRoutePath)
            return {};
        break;
    }
    return errors::readOnly("not a file that can be removed");
}

void Runtime::apply(const TreeChange &change, const TreeChangeDone &done)
{
    // What nobody may change is read-only for everybody; who asks matters only after that.
    if (const Result<void> changeable = checkChangeable(change); !changeable)
        return done(changeable);
    if (change.uid != 0 && change.uid != ::geteuid())
        return done(errors::accessDenied("not the owner"));
    if (change.path == kRoutePath)
        return applyRoute(change, done);
    switch (change.kind) {
    case TreeChange::Kind::WriteControl: return applyControlWrite(change, done);
    case TreeChange::Kind::SetLink: return applyLink(change, done);
    case TreeChange::Kind::RemoveLink: return applyLinkRemoval(change, done);
    case TreeChange::Kind::RemoveFile: break;
    }
}

void Runtime::applyControlWrite(const TreeChange &change, const TreeChangeDone &done)
{
    const auto path = parseControlPath(change.path);
    if (!m_snapshot.load()->catalog->find(path->ref))
        return done(errors::notFound("no such model"));
    const Result<std::string> checked = checkControlText(path->control, change.content);
    if (!checked)
        return done(checked.error());
    const std::string text = *checked;
    m_writer.run([store = m_store, path = *path, text] { return store.write(path.ref, path.control, text); },
                 [this, path = *path, text, done](const Result<void> &outcome) {
                     if (outcome) {
                         m_overrides[path.ref][path.control] = text;
                         rebuild();
                     }
                     done(outcome);
                 });
}

void Runtime::applyRoute(const TreeChange &change, const TreeChangeDone &done)
{
    if (change.kind == TreeChange::Kind::RemoveFile) {
        m_writer.run([store = m_store] { return store.removeRoute(); }, done);
        return;
    }
    if (const Result<route::Table> table = route::parseTable(change.content); !table)
        return done(table.error());
    m_writer.run([store = m_store, text = change.content] { return store.writeRoute(text); }, done);
}

void Runtime::putRoute(std::string text, std::string etag, std::function<void(Result<void>)> done)
{
    if (const Result<route::Table> table = route::parseTable(text); !table)
        return done(table.error());
    m_writer.run(
        [store = m_store, text = std::move(text), etag = std::move(etag)] {
            return text.empty() ? store.removeRoute(etag) : store.writeRoute(text, etag);
        },
        std::move(done));
}

void Runtime::applyLink(const TreeChange &change, const TreeChangeDone &done)
{
    const std::string name = aliasNameOf(change);
    const auto target = parseAliasTarget(change.content, m_places.mount);
    if (!target || !m_snapshot.load()->catalog->find(*target))
        return done(errors::invalid("an alias points at a model of this tree"));
    m_writer.run([store = m_store, name, ref = *target] { return store.setAlias(name, ref); },
                 [this, name, ref = *target, done](const Result<void> &outcome) {
                     if (outcome) {
                         m_userAliases[name] = ref;
                         rebuild();
                     }
                     done(outcome);
                 });
}

void Runtime::applyLinkRemoval(const TreeChange &change, const TreeChangeDone &done)
{
    const std::string name = aliasNameOf(change);
    m_writer.run([store = m_store, name] { return store.removeAlias(name); },
                 [this, name, done](const Result<void> &outcome) {
                     if (outcome) {
                         m_userAliases.erase(name);
                         rebuild();
                     }
                     done(outcome);
                 });
}

} // namespace cortexfs
