#include "daemon/core/daemon.h"

#include "common/base/clock.h"
#include "common/base/descriptor_limit.h"
#include "common/base/files.h"
#include "common/base/logging.h"
#include "daemon/core/operations.h"
#include "daemon/core/session_operations.h"
#include "daemon/providers/curl/curl_transport.h"

#include <algorithm>
#include <csignal>

#include <sys/stat.h>
#include <unistd.h>

namespace cortexfs {

namespace {

// How long live runs may take to end before the sockets are closed under them; the rest of limits::kShutdownMs is for
// the mount.
constexpr int kStopRunsMs = 2'000;

std::vector<BinLink> installedPrograms(const std::string &executable)
{
    const std::string directory = executable.substr(0, executable.rfind('/') + 1);
    std::vector<BinLink> links;
    for (const char *name : {"cortexd", "cortexfs-admin", "cortexfs-channel", "cortexfs-object-runner", "ctx"}) {
        if (::access((directory + name).c_str(), X_OK) == 0)
            links.push_back({name, directory + name});
    }
    return links;
}

} // namespace

Daemon::Daemon(DaemonOptions options) : m_options(std::move(options)), m_startedAtMs(systemClock().monotonicMs())
{
    m_stopDeadline.setSingleShot(true);
    m_stopDeadline.setInterval(kStopRunsMs);
    connect(&m_stopDeadline, &QTimer::timeout, this, &Daemon::takeDown);
}

Daemon::~Daemon()
{
    if (m_fs)
        m_fs->stop();
}

Result<std::unique_ptr<Daemon>> Daemon::start(DaemonOptions options)
{
    std::unique_ptr<Daemon> daemon(new Daemon(std::move(options)));
    if (Result<void> up = daemon->bringUp(); !up)
        return up.error();
    return daemon;
}

Result<void> Daemon::prepareDirectories()
{
    const Places &places = m_options.places;
    if (isUnderMount(places, places.state) || isUnderMount(places, places.config)
        || isUnderMount(places, places.controlSocket()))
        return errors::invalid("state, config and sockets may not be below the mount").withDetail(places.mount);
    if (Result<void> runtime = prepareRuntimeDir(places, ::geteuid()); !runtime)
        return runtime;
    return files::makeDirectories(places.state, places.mode == Mode::System ? 0755 : 0700);
}

Result<void> Daemon::bringUp()
{
    const Places &places = m_options.places;
    if (Result<void> prepared = prepareDirectories(); !prepared)
        return prepared;
    Result<InstanceLock> lock = InstanceLock::acquire(places.lockFile());
    if (!lock)
        return lock.error();
    m_lock.emplace(std::move(*lock));
    raiseDescriptorLimit();
    Result<std::shared_ptr<sockets::SocketLoop>> loop = sockets::SocketLoop::create();
    if (!loop)
        return loop.error();
    const DescriptorShares shares = descriptorShares();
    const auto socketsFor = [&loop](std::size_t clients) {
        return sockets::SharedSockets{*loop, sockets::ClientBudget::create(static_cast<int>(clients))};
    };
    m_objectSockets = socketsFor(shares.objectClients);

    config::DaemonConfig config;
    if (Result<config::DaemonConfig> loaded = config::loadDaemonConfig(places.configFile()); loaded) {
        config = std::move(*loaded);
    } else {
        // A typing mistake must not keep a server from starting; the file is as good as absent and doctor says so.
        qCWarning(lcConfig, "%s", loaded.error().text().c_str());
        config.warnings.push_back("not used, the defaults hold: " + loaded.error().message());
    }
    if (!m_options.logLevel && config.logLevel)
        logging::setLevel(*config.logLevel);

    m_runtime = std::make_unique<Runtime>(places, config, installedPrograms(m_options.executable));
    if (Result<void> loaded = m_runtime->load(); !loaded)
        return loaded;
    m_egress = std::make_unique<providers::RouteEgress>(places.routeFile(), places.geoDir());
    m_http = std::make_unique<providers::CurlTransport>();
    m_models = std::make_unique<models::ModelService>(
        models::ModelServices{[this] { return m_runtime->snapshot().load()->catalog; }, m_runtime->secrets(), *m_egress,
                              *m_http, systemClock()});
    m_sessions = std::make_unique<sessions::SessionRegistry>(
        sessions::SessionPlace{places.installedTree(), places.activeSessionsDir()},
        modelAnswerer(*m_models, m_runtime->snapshot()), systemClock());
    m_control = std::make_unique<control::ControlServer>(control::ExecServices{*m_models, m_runtime->snapshot()},
                                                         ::geteuid(), nullptr, socketsFor(shares.controlClients));
    registerOperations(*m_control, OperationContext{*m_runtime, *m_models, *m_control, *m_egress,
                                                    [this] { return m_fs && m_fs->isMounted(); },
                                                    [this] { return m_fs ? m_fs->requestCount() : 0; }, m_startedAtMs,
                                                    [this] { return sessionFacts(); }});
    registerSessionOperations(*m_control, *m_sessions);
    if (m_options.withFuse) {
        if (Result<void> mounted = mount(); !mounted)
            return mounted;
    }
    openSessions();
    if (Result<void> listening = m_control->listen(places.controlSocket()); !listening)
        return listening;
    connect(m_control.get(), &control::ControlServer::becameIdle, this, &Daemon::takeDownWhenIdle);
    connect(m_sessions.get(), &sessions::SessionRegistry::becameIdle, this, &Daemon::takeDownWhenIdle);
    return {};
}

// Before the control socket listens: whoever sees the daemon ready finds every socket listening.
void Daemon::openSessions()
{
    m_modelSockets = std::make_unique<sessions::ModelSockets>(m_options.places, *m_sessions, m_objectSockets,
                                                              [this](const std::string &path) {
                                                                  if (m_fs)
                                                                      m_fs->entryChanged(path);
                                                              });
    m_modelSockets->follow(*m_runtime->snapshot().load()->catalog);
    connect(m_runtime.get(), &Runtime::snapshotChanged, this,
            [this](const auto &, const auto &after) { m_modelSockets->follow(*after->catalog); });
    m_sessions->repairUnfinished();
}

SessionFacts Daemon::sessionFacts() const
{
    SessionFacts facts;
    facts.liveRuns = m_sessions->liveRuns();
    facts.repairs = m_sessions->repairs();
    if (m_modelSockets) {
        for (const auto &[path, error] : m_modelSockets->faults())
            facts.sockets.push_back({path, error});
    }
    return facts;
}

Result<void> Daemon::mount()
{
    const Places &places = m_options.places;
    Result<RunnerPath> runner = RunnerPath::find(m_runtime->config().runner, m_options.executable, places.runtime);
    if (!runner)
        return runner.error();
    m_runner.emplace(std::move(*runner));
    if (Result<void> clean = fs::recoverStaleMount(places.mount); !clean)
        return clean;
    fs::FsOptions options;
    options.places = places;
    options.runner = m_runner->path();
    options.daemonUid = ::geteuid();
    options.daemonGid = ::getegid();
    options.allowOther = ::geteuid() == 0 || m_runtime->config().allowOther;
    options.onEnded = [this](const Error &error) {
        const std::string reason = error.text();
        QMetaObject::invokeMethod(
            this,
            [this, reason] {
                qCCritical(lcFs, "the tree is gone: %s", reason.c_str());
                Q_EMIT lostMount();
            },
            Qt::QueuedConnection);
    };
    Result<std::unique_ptr<fs::FsSession>> session = fs::FsSession::mount(std::move(options), m_runtime->snapshot(),
                                                                          *m_runtime);
    if (!session)
        return session.error();
    m_fs = std::move(*session);
    connect(m_runtime.get(), &Runtime::snapshotChanged, this,
            [this](const auto &before, const auto &after) { m_fs->snapshotChanged(before, after); });
    return {};
}

std::string Daemon::readyLine() const
{
    json::Writer writer;
    writer.beginObject().field("type", "ready").field("version", CORTEXFS_VERSION);
    writer.field("mount", m_options.withFuse ? m_options.places.mount : std::string());
    writer.field("control", m_options.places.controlSocket()).endObject();
    return writer.take();
}

void Daemon::stop()
{
    if (m_isStopping)
        return;
    m_isStopping = true;
    m_control->shutDown();
    m_sessions->shutDown();
    if (isBusy())
        m_stopDeadline.start();
    else
        takeDown();
}

void Daemon::takeDownWhenIdle()
{
    if (m_isStopping && !isBusy())
        QMetaObject::invokeMethod(this, &Daemon::takeDown, Qt::QueuedConnection);
}

void Daemon::takeDown()
{
    m_stopDeadline.stop();
    if (m_fs)
        m_fs->stop();
    Q_EMIT stopped();
}

} // namespace cortexfs
