#include "daemon/sockets/unix_listener.h"

#include "common/base/logging.h"

#include <QPointer>
#include <QTimerEvent>

#include <cstring>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace cortexfs::sockets {

namespace {

constexpr int kBacklog = 4096;
constexpr int kRestMs = 100;
constexpr int kAcceptsPerTurn = 64;

Result<sockaddr_un> addressOf(const std::string &path)
{
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path)
        return errors::fromErrno(ENAMETOOLONG, path);
    std::memcpy(address.sun_path, path.data(), path.size());
    return address;
}

// Where the socket is bound before it is renamed into place. A name that only fits without its ending is reached through
// a descriptor of its directory, which `directory` keeps open.
Result<sockaddr_un> stagingAddress(const std::string &temporary, UniqueFd &directory)
{
    if (Result<sockaddr_un> direct = addressOf(temporary))
        return direct;
    const std::size_t slash = temporary.rfind('/');
    const std::string parent = slash == std::string::npos ? "." : temporary.substr(0, slash + 1);
    directory = UniqueFd(::open(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!directory.isValid())
        return errors::fromErrno(errno, parent);
    return addressOf("/proc/self/fd/" + std::to_string(directory.get()) + "/"
                     + temporary.substr(slash == std::string::npos ? 0 : slash + 1));
}

bool isAnswering(const sockaddr_un &address)
{
    const UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!probe.isValid())
        return false;
    const int rc = ::connect(probe.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address);
    // EAGAIN: a full backlog is somebody listening too.
    return rc == 0 || errno == EAGAIN;
}

} // namespace

UnixListener::UnixListener(int maxClients, QObject *parent, SharedSockets shared)
    : QObject(parent), m_shared(std::move(shared)), m_maxClients(maxClients)
{}

UnixListener::~UnixListener() { close(); }

Result<void> UnixListener::listen(const std::string &path, mode_t mode)
{
    const Result<sockaddr_un> wanted = addressOf(path);
    if (!wanted)
        return wanted.error();
    if (isAnswering(*wanted))
        return errors::fromErrno(EADDRINUSE, path);
    struct stat info = {};
    if (::lstat(path.c_str(), &info) == 0 && !S_ISSOCK(info.st_mode))
        return errors::alreadyExists("is there and is no socket").withDetail(path);
    const std::string temporary = path + ".new";
    UniqueFd directory;
    const Result<sockaddr_un> staged = stagingAddress(temporary, directory);
    if (!staged)
        return staged.error();

    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd.isValid())
        return errors::fromErrno(errno, "socket");
    if (!m_shared.loop) {
        Result<std::shared_ptr<SocketLoop>> loop = SocketLoop::create();
        if (!loop)
            return loop.error();
        m_shared.loop = std::move(*loop);
    }
    ::unlink(temporary.c_str());
    if (::bind(fd.get(), reinterpret_cast<const sockaddr *>(&*staged), sizeof *staged) != 0)
        return errors::fromErrno(errno, path);
    if (::chmod(temporary.c_str(), mode) != 0 || ::listen(fd.get(), kBacklog) != 0
        || ::stat(temporary.c_str(), &info) != 0 || ::rename(temporary.c_str(), path.c_str()) != 0) {
        const int number = errno;
        ::unlink(temporary.c_str());
        return errors::fromErrno(number, path);
    }
    const Result<SocketLoop::Key> key = m_shared.loop->watch(fd.get(), {true, false}, *this);
    if (!key) {
        ::unlink(path.c_str());
        return key.error();
    }
    m_fd = std::move(fd);
    m_key = *key;
    m_path = path;
    m_inode = info.st_ino;
    return {};
}

void UnixListener::close()
{
    if (!m_fd.isValid())
        return;
    m_shared.loop->unwatch(m_key);
    if (m_shared.budget)
        m_shared.budget->stopWaiting(*this);
    m_retry.stop();
    m_fd.reset();
    struct stat info = {};
    // A successor may already listen under the same name.
    if (::lstat(m_path.c_str(), &info) == 0 && info.st_ino == m_inode)
        ::unlink(m_path.c_str());
}

void UnixListener::setAccepting(bool isAccepting)
{
    if (m_fd.isValid())
        m_shared.loop->setInterest(m_key, {isAccepting && m_clients < m_maxClients, false});
}

void UnixListener::seatsFreed()
{
    m_wasServed = false;
    setAccepting(true);
}

void UnixListener::rest()
{
    setAccepting(false);
    m_retry.start(kRestMs, this);
}

void UnixListener::timerEvent(QTimerEvent *event)
{
    if (event->timerId() != m_retry.timerId())
        return QObject::timerEvent(event);
    m_retry.stop();
    setAccepting(true);
}

void UnixListener::acceptClients()
{
    const QPointer<UnixListener> alive(this);
    for (int turn = 0; turn < kAcceptsPerTurn; ++turn) {
        if (m_clients >= m_maxClients)
            return setAccepting(false); // a client that leaves wakes us
        if (m_shared.budget && m_shared.budget->isFull()) {
            m_shared.budget->wait(*this, m_wasServed);
            return setAccepting(false);
        }
        UniqueFd client(::accept4(m_fd.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!client.isValid()) {
            const int number = errno; // logging changes it
            if (number == EINTR || number == ECONNABORTED)
                continue;
            if (number == EAGAIN || number == EWOULDBLOCK)
                return;
            if (!m_isOutOfResources)
                qCWarning(lcControl, "accept on %s: %s", m_path.c_str(), std::strerror(number));
            m_isOutOfResources = true; // said once, not ten times a second
            return rest();
        }
        m_isOutOfResources = false;
        const Result<Peer> peer = peerOf(client.get());
        if (!peer)
            continue;
        const QPointer<FrameSocket> socket(new FrameSocket(std::move(client), *peer, m_shared.loop, this));
        if (m_shared.budget)
            socket->m_seat = m_shared.budget->take();
        m_wasServed = true;
        ++m_clients;
        connect(socket.data(), &QObject::destroyed, this, [this] {
            --m_clients;
            setAccepting(true);
        });
        Q_EMIT clientConnected(socket);
        // Most clients have written their request by now.
        if (socket && socket->isOpen())
            socket->socketReadable();
        if (!alive || !m_fd.isValid())
            return;
    }
}

} // namespace cortexfs::sockets
