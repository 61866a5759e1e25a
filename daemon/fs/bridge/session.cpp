#include "daemon/fs/session.h"

#include "common/base/clock.h"
#include "common/base/descriptor_limit.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/logging.h"
#include "common/base/unique_fd.h"
#include "daemon/fs/backing/backed_nodes.h"
#include "daemon/fs/bridge/fuse_mount.h"
#include "daemon/fs/bridge/mount_table.h"
#include "daemon/fs/bridge/operations.h"
#include "daemon/fs/nodes/tree.h"
#include "daemon/identity/credentials.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <future>
#include <mutex>
#include <thread>

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

namespace cortexfs::fs {

namespace {

constexpr auto kHandshake = std::chrono::seconds(10);
// Names the kernel is asked to forget while earlier ones wait: advice, so more of it is thrown away.
constexpr int kPendingAdvice = 1024;

} // namespace

class FsSession::Impl {
public:
    Impl(FsOptions given, const SnapshotCell<RuntimeSnapshot> &snapshot, TreeChangeHandler &changeHandler)
        : options(std::move(given)), cell(snapshot), handler(changeHandler)
    {}
    ~Impl() { stop(); }

    Result<void> prepare();
    Result<void> start();
    void stop();
    void announce(std::vector<Invalidation> changes);

    const FsOptions options;
    const SnapshotCell<RuntimeSnapshot> &cell;
    TreeChangeHandler &handler;
    const std::function<void(Invalidation)> forget = [this](Invalidation what) { announce({std::move(what)}); };
    UniqueFd treeFd;
    UniqueFd procFd;
    UniqueFd wakeFd;
    FsCredentials credentials; // of the answering thread
    WorkQueue notifier{"cortexfs-notify", [] {}};
    WorkQueue work{"cortexfs-disk", [] {
                       FsCredentials own;
                       own.prepareThread();
                   }};
    std::unique_ptr<BackedNodes> nodes;
    std::unique_ptr<PendingChanges> changes;
    std::unique_ptr<Tree> tree;
    std::unique_ptr<BridgeContext> bridge;
    std::unique_ptr<FuseMount> mount;
    std::atomic<bool> isMounted{false};

private:
    void advise(Invalidation advice);
    void wake() const;
    void answerRequests(std::promise<int> ready);
    int serve(std::promise<int> &ready, bool &isReady);

    std::atomic<bool> m_isDraining{false}; // changes are refused, everything else is answered
    std::atomic<bool> m_isStopping{false};
    std::atomic<int> m_pendingAdvice{0};
    std::mutex m_stopMutex;
    std::thread m_thread;
};

BridgeContext &contextOf(fuse_req_t request)
{
    return *static_cast<BridgeContext *>(static_cast<FuseMount *>(fuse_req_userdata(request))->context());
}

Result<void> FsSession::Impl::prepare()
{
    const Places &places = options.places;
    if (isUnderMount(places, places.installedTree()))
        return errors::invalid("the installed tree lies below the mount point");
    if (const auto mounted = mountedAt(places.mount))
        return errors::busy(places.mount + " is already a mount of type " + mounted->type);
    if (Result<void> made = files::makeDirectories(places.mount, 0755); !made)
        return made;
    if (Result<void> made = files::makeDirectories(places.installedTree(), 0755); !made)
        return made;
    treeFd = UniqueFd(::open(places.installedTree().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!treeFd.isValid())
        return errors::fromErrno(errno, places.installedTree());
    procFd = UniqueFd(::open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!procFd.isValid())
        return errors::fromErrno(errno, "/proc/self/fd");
    wakeFd = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wakeFd.isValid())
        return errors::fromErrno(errno, "eventfd");

    nodes = std::make_unique<BackedNodes>(descriptorShares().nodes,
                                          [this](Invalidation advice) { advise(std::move(advice)); });
    changes = std::make_unique<PendingChanges>(
        handler, work, [this] { wake(); }, systemClock(), limits::kFuseReplyMs);
    timespec born = {};
    ::clock_gettime(CLOCK_REALTIME, &born);
    Result<std::unique_ptr<Tree>> made = Tree::make(AreaContext{places,
                                                                options.runner,
                                                                {options.daemonUid, options.daemonGid, born},
                                                                cell,
                                                                handler,
                                                                *changes,
                                                                work,
                                                                *nodes,
                                                                credentials,
                                                                forget,
                                                                treeFd.get(),
                                                                procFd.get(),
                                                                0});
    if (!made)
        return made.error();
    tree = std::move(*made);
    bridge.reset(new BridgeContext{*tree, *changes, work, treeFd.get(), {}, {}, {}});
    return {};
}

void FsSession::Impl::advise(Invalidation advice)
{
    if (m_pendingAdvice.fetch_add(1) >= kPendingAdvice) {
        m_pendingAdvice.fetch_sub(1);
        return;
    }
    notifier.post([this, advice = std::move(advice)] {
        m_pendingAdvice.fetch_sub(1);
        mount->invalidate(advice);
    });
}

Result<void> FsSession::Impl::start()
{
    static const fuse_lowlevel_ops operations = bridgeOperations();
    Result<std::unique_ptr<FuseMount>> mounted = FuseMount::mount(options.places.mount, options.allowOther, operations,
                                                                  bridge.get());
    if (!mounted)
        return mounted.error();
    mount = std::move(*mounted);
    isMounted = true;

    std::promise<int> ready;
    std::future<int> answered = ready.get_future();
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    m_thread = std::thread([this, promise = std::move(ready)]() mutable { answerRequests(std::move(promise)); });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);

    if (answered.wait_for(kHandshake) != std::future_status::ready) {
        stop();
        return errors::timedOut("the kernel did not greet the mount " + options.places.mount);
    }
    if (const int error = answered.get()) {
        stop();
        return errors::fromErrno(error, "serve " + options.places.mount);
    }
    return {};
}

void FsSession::Impl::wake() const
{
    const std::uint64_t one = 1;
    // Full means that it is awake already.
    [[maybe_unused]] const ssize_t written = ::write(wakeFd.get(), &one, sizeof one);
}

int FsSession::Impl::serve(std::promise<int> &ready, bool &isReady)
{
    // epoll and not poll: the two descriptors are registered once, not on every request.
    const UniqueFd waits(::epoll_create1(EPOLL_CLOEXEC));
    for (const int fd : {mount->descriptor(), wakeFd.get()}) {
        epoll_event event = {};
        event.events = EPOLLIN;
        event.data.fd = fd;
        if (::epoll_ctl(waits.get(), EPOLL_CTL_ADD, fd, &event) != 0)
            return errno;
    }
    while (!m_isStopping) {
        epoll_event happened[2];
        const int count = ::epoll_wait(waits.get(), happened, 2, changes->msToDeadline());
        if (count < 0 && errno != EINTR)
            return errno;
        changes->expire();
        for (int i = 0; i < count; ++i) {
            if (happened[i].data.fd == wakeFd.get()) {
                std::uint64_t wakes = 0;
                [[maybe_unused]] const ssize_t got = ::read(wakeFd.get(), &wakes, sizeof wakes);
                changes->deliver();
                if (m_isDraining)
                    changes->dropAll();
                continue;
            }
            if (const int error = mount->serveOne())
                return error;
            // The first request is INIT.
            if (!std::exchange(isReady, true))
                ready.set_value(0);
        }
    }
    return 0;
}

void FsSession::Impl::answerRequests(std::promise<int> ready)
{
    ::pthread_setname_np(::pthread_self(), "cortexfs-fuse");
    credentials.prepareThread();
    bool isReady = false;
    const int error = serve(ready, isReady);
    changes->dropAll();
    if (m_isStopping)
        return;
    isMounted = false;
    if (!isReady)
        return ready.set_value(error);
    const std::string where = options.places.mount;
    Error reason = error == ENODEV ? makeError(ENODEV, where + " was unmounted by somebody else")
                                   : errors::fromErrno(error, "requests of " + where);
    qCWarning(lcFs, "%s", reason.message().c_str());
    if (options.onEnded)
        options.onEnded(std::move(reason));
}

// The order matters. The notifier may wait for a lock that a process holds while it waits for an answer of ours, so the
// answering thread works until the notifier is gone; and the answer may need the thread that waits in here, so what was
// handed to it ends first.
void FsSession::Impl::stop()
{
    const std::lock_guard lock(m_stopMutex);
    if (!mount)
        return;
    m_isDraining = true;
    wake();
    notifier.stop();
    work.stop();
    m_isStopping = true;
    wake();
    if (m_thread.joinable())
        m_thread.join();
    mount->unmount();
    isMounted = false;
    bridge->files.clear();
    bridge->directories.clear();
}

void FsSession::Impl::announce(std::vector<Invalidation> what)
{
    if (what.empty())
        return;
    notifier.post([this, what = std::move(what)] {
        for (const Invalidation &one : what)
            mount->invalidate(one);
    });
}

FsSession::FsSession(std::unique_ptr<Impl> impl) : m_impl(std::move(impl)) {}

FsSession::~FsSession() { stop(); }

Result<std::unique_ptr<FsSession>> FsSession::mount(FsOptions options, const SnapshotCell<RuntimeSnapshot> &cell,
                                                    TreeChangeHandler &handler)
{
    auto impl = std::make_unique<Impl>(std::move(options), cell, handler);
    if (Result<void> prepared = impl->prepare(); !prepared)
        return prepared.error();
    if (Result<void> started = impl->start(); !started)
        return started.error();
    return std::unique_ptr<FsSession>(new FsSession(std::move(impl)));
}

void FsSession::snapshotChanged(const std::shared_ptr<const RuntimeSnapshot> &before,
                                const std::shared_ptr<const RuntimeSnapshot> &after)
{
    if (before && after && before != after)
        m_impl->announce(m_impl->tree->snapshotChanged(*before, *after));
}

void FsSession::entryChanged(std::string_view path) { m_impl->announce(m_impl->tree->entryChanged(path)); }

void FsSession::stop() { m_impl->stop(); }

bool FsSession::isMounted() const { return m_impl->isMounted; }

std::uint64_t FsSession::requestCount() const { return m_impl->mount->requests(); }

std::uint64_t FsSession::lookupCount() const { return m_impl->mount->lookups(); }

} // namespace cortexfs::fs
