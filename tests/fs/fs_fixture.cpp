#include "tests/fs/fs_fixture.h"

#include "common/abi/control_text.h"
#include "common/base/files.h"

#include <QProcess>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cortexfs::fstest {

models::ModelEntry model(std::uint32_t serial, std::string provider, std::string name)
{
    models::ModelEntry entry;
    entry.serial = serial;
    entry.nativeId = name;
    entry.ref = {std::move(provider), std::move(name)};
    entry.driver = "default=debug\n";
    entry.cap = "chat\nstream\n";
    entry.effort = "auto\n";
    entry.activity = std::make_shared<models::ModelActivity>();
    return entry;
}

SnapshotPtr snapshot(const std::string &mount, int count)
{
    std::vector<models::ModelEntry> models;
    models.push_back(model(1, "debug", "echo"));
    models.push_back(model(2, "debug", "script"));
    models.back().hasSocket = true;
    models.front().limit = 32768;
    models.front().activity->appendLog("2026-12-01T10:11:12Z r1 ok 12+34 tokens 812 ms");
    for (int i = 0; i < count; ++i)
        models.push_back(model(static_cast<std::uint32_t>(10 + i), "local", "m" + std::to_string(i)));
    std::vector<models::ModelAlias> aliases = {{"main", mount + "/model/debug/echo", false}};
    auto made = std::make_shared<RuntimeSnapshot>();
    made->statusText = "state=ready\nmodels=" + std::to_string(models.size()) + "\n";
    made->catalog = std::make_shared<const models::ModelCatalog>(std::move(models), std::move(aliases));
    made->bin = {{"ctx", "/usr/bin/ctx"}, {"cortexd", "/usr/bin/cortexd"}};
    return made;
}

SnapshotPtr changed(const SnapshotPtr &before, const std::string &ref,
                    const std::function<void(models::ModelEntry &)> &change)
{
    std::vector<models::ModelEntry> models = before->catalog->models();
    for (models::ModelEntry &entry : models) {
        if (entry.ref.text() == ref)
            change(entry);
    }
    auto made = std::make_shared<RuntimeSnapshot>(*before);
    made->catalog = std::make_shared<const models::ModelCatalog>(std::move(models), before->catalog->aliases());
    return made;
}

namespace {

// "model/P/M.d/C" -> ("P/M", C)
std::pair<std::string, std::string> splitControl(std::string_view path)
{
    const std::size_t slash = path.rfind('/');
    if (!path.starts_with("model/") || slash < 8 || path.substr(slash - 2, 2) != ".d")
        return {};
    return {std::string(path.substr(6, slash - 8)), std::string(path.substr(slash + 1))};
}

Result<std::string> checked(const std::string &control, std::string_view text)
{
    if (control == "effort")
        return abi::checkEffort(text);
    if (control == "session")
        return abi::checkSession(text);
    if (control == "default")
        return abi::checkDefaults(text);
    if (control == "fallback")
        return abi::checkFallback(text);
    if (control == "driver")
        return abi::checkDriver(text, {"debug", "openai-chat"});
    return errors::readOnly("not writable");
}

} // namespace

FakeHandler::FakeHandler(SnapshotCell<RuntimeSnapshot> &cell, Places places) : m_cell(cell), m_places(std::move(places))
{
    m_thread = std::thread([this] { run(); });
}

FakeHandler::~FakeHandler()
{
    {
        const std::lock_guard lock(m_mutex);
        m_isStopping = true;
        m_changed.notify_all();
    }
    m_thread.join();
}

void FakeHandler::hold(bool isHolding)
{
    const std::lock_guard lock(m_mutex);
    m_isHolding = isHolding;
    m_changed.notify_all();
}

void FakeHandler::dropHeld()
{
    std::deque<Job> dropped;
    const std::lock_guard lock(m_mutex);
    dropped.swap(m_jobs);
}

std::vector<TreeChange> FakeHandler::seen() const
{
    const std::lock_guard lock(m_mutex);
    return m_seen;
}

void FakeHandler::postTreeChange(TreeChange change, TreeChangeDone done)
{
    const std::lock_guard lock(m_mutex);
    m_seen.push_back(change);
    m_jobs.push_back({std::move(change), std::move(done)});
    m_changed.notify_all();
}

void FakeHandler::run()
{
    for (;;) {
        Job job;
        {
            std::unique_lock lock(m_mutex);
            m_changed.wait(lock, [this] { return m_isStopping || (!m_jobs.empty() && !m_isHolding); });
            if (m_isStopping)
                return;
            job = std::move(m_jobs.front());
            m_jobs.pop_front();
        }
        job.done(apply(job.change));
    }
}

Result<void> FakeHandler::checkControl(std::string_view path, std::string_view content) const
{
    if (path.starts_with("tool/") || path.starts_with("agent/")) {
        if (content.find("bad") != std::string_view::npos)
            return errors::invalid("bad");
        return {};
    }
    const Result<std::string> text = checked(splitControl(path).second, content);
    if (!text)
        return text.error();
    return {};
}

Result<void> FakeHandler::apply(const TreeChange &change)
{
    const SnapshotPtr before = m_cell.load();
    if (change.path == "model/route") {
        const std::string file = m_places.installedTree() + "/model/route";
        if (change.kind == TreeChange::Kind::RemoveFile)
            return ::unlink(file.c_str()) == 0 ? Result<void>() : errors::fromErrno(errno, "route");
        if (change.content.find("nonsense") != std::string::npos)
            return errors::invalid("nonsense");
        return files::replace(file, change.content, 0644);
    }
    if (change.kind != TreeChange::Kind::WriteControl)
        return setAlias(change.path.substr(6), change.kind == TreeChange::Kind::SetLink ? &change.content : nullptr);
    const auto [ref, control] = splitControl(change.path);
    const Result<std::string> text = checked(control, change.content);
    if (!text)
        return text.error();
    const SnapshotPtr after = changed(before, ref, [&](models::ModelEntry &entry) {
        if (control == "effort")
            entry.effort = *text;
        else if (control == "session")
            entry.hasSocket = *text == "socket\n";
        else if (control == "default")
            entry.defaults = *text;
        else if (control == "fallback")
            entry.fallback = *text;
        else if (control == "driver")
            entry.driver = *text;
    });
    m_cell.store(after);
    if (fs::FsSession *session = m_session)
        session->snapshotChanged(before, after);
    return {};
}

Result<void> FakeHandler::setAlias(const std::string &name, const std::string *target)
{
    const SnapshotPtr before = m_cell.load();
    std::vector<models::ModelAlias> aliases;
    bool isKnown = false;
    for (const models::ModelAlias &alias : before->catalog->aliases()) {
        if (alias.name != name)
            aliases.push_back(alias);
        else
            isKnown = alias.userMade || target;
    }
    if (target && target->find("/model/") == std::string::npos)
        return errors::invalid("no model");
    if (!target && !isKnown)
        return errors::readOnly("not made by a user");
    if (target)
        aliases.push_back({name, *target, true});
    auto after = std::make_shared<RuntimeSnapshot>(*before);
    after->catalog = std::make_shared<const models::ModelCatalog>(before->catalog->models(), std::move(aliases));
    m_cell.store(after);
    if (fs::FsSession *session = m_session)
        session->snapshotChanged(before, after);
    return {};
}

TempDir::TempDir()
{
    char name[] = "/tmp/cortexfs-fs-XXXXXX";
    m_path = ::mkdtemp(name);
    ::chmod(name, 0755); // other uids pass through
}

TempDir::~TempDir()
{
    std::error_code ignored;
    std::filesystem::remove_all(m_path, ignored);
}

Places placesIn(const std::string &directory)
{
    Places places;
    places.mode = ::geteuid() == 0 ? Mode::System : Mode::User;
    places.mount = directory + "/mnt";
    places.config = directory + "/config";
    places.state = directory + "/state";
    places.runtime = directory + "/run";
    return places;
}

Mounted::Mounted(int models, std::function<void(Error)> onEnded)
    : places(placesIn(directory.path())), cell(snapshot(places.mount, models)), handler(cell, places)
{
    fs::FsOptions options;
    options.places = places;
    options.runner = "/usr/bin/cortexfs-object-runner";
    options.daemonUid = ::geteuid();
    options.daemonGid = ::getegid();
    options.allowOther = ::geteuid() == 0;
    options.onEnded = std::move(onEnded);
    Result<std::unique_ptr<fs::FsSession>> mounted = fs::FsSession::mount(std::move(options), cell, handler);
    if (!mounted) {
        problem = QString::fromStdString(mounted.error().text());
        return;
    }
    session = std::move(*mounted);
    handler.attach(session.get());
}

Mounted::~Mounted()
{
    if (session)
        session->stop();
    handler.attach(nullptr);
}

void Mounted::publish(const SnapshotPtr &after)
{
    const SnapshotPtr before = cell.load();
    cell.store(after);
    session->snapshotChanged(before, after);
}

CommandResult shell(const std::string &command, const std::string &directory, int timeoutMs)
{
    QProcess process;
    process.setProcessChannelMode(QProcess::MergedChannels);
    process.setWorkingDirectory(QString::fromStdString(directory));
    process.setStandardInputFile(QProcess::nullDevice());
    process.start(QStringLiteral("/bin/sh"), {QStringLiteral("-c"), QString::fromStdString(command)});
    CommandResult result;
    if (!process.waitForFinished(timeoutMs)) {
        process.kill();
        process.waitForFinished(5'000);
        result.output = QStringLiteral("did not end: ") + QString::fromStdString(command);
        return result;
    }
    result.exitCode = process.exitStatus() == QProcess::NormalExit ? process.exitCode() : 128;
    result.output = QString::fromUtf8(process.readAll());
    return result;
}

int asUser(uid_t uid, const std::function<int()> &body, const std::vector<gid_t> &groups)
{
    int result = 255;
    // The bare system calls change one thread, where those of libc change all.
    std::thread([&] {
        const auto gid = static_cast<gid_t>(uid);
        if (::unshare(CLONE_FS) == 0 && ::syscall(SYS_setgroups, groups.size(), groups.data()) == 0
            && ::syscall(SYS_setresgid, gid, gid, gid) == 0 && ::syscall(SYS_setresuid, uid, uid, uid) == 0)
            result = body();
    }).join();
    // The kernel takes /proc/self away from a process that changed its identity.
    ::prctl(PR_SET_DUMPABLE, 1);
    return result;
}

void put(const std::string &path, const std::string &text, mode_t mode)
{
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    if (fd < 0 || ::write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size()) || ::fchmod(fd, mode) != 0)
        qFatal("cannot write %s", path.c_str());
    ::close(fd);
}

std::string contentOf(const std::string &path)
{
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return "errno " + std::to_string(errno);
    std::string text;
    char buffer[65536];
    ssize_t got = 0;
    while ((got = ::read(fd, buffer, sizeof buffer)) > 0)
        text.append(buffer, static_cast<std::size_t>(got));
    ::close(fd);
    return text;
}

int overwrite(const std::string &path, const std::string &text, int flags)
{
    const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | flags, 0644);
    if (fd < 0)
        return errno;
    const ssize_t written = ::write(fd, text.data(), text.size());
    const int error = written < 0 ? errno : written == static_cast<ssize_t>(text.size()) ? 0 : EIO;
    const int closed = ::close(fd) == 0 ? 0 : errno;
    return error ? error : closed;
}

int errnoOf(int result) { return result < 0 ? errno : 0; }

} // namespace cortexfs::fstest
