#include "common/object_client/object_link.h"

#include "common/base/limits.h"
#include "common/base/unix_address.h"

#include <algorithm>
#include <array>
#include <iterator>

#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

namespace cortexfs::object {

namespace {

constexpr std::size_t kMostPerTurn = 256 * limits::kKiB;
constexpr int kFullQueueMs = 5'000; // a daemon whose accept queue is full is there

Error connectError(int number, const std::string &path)
{
    switch (number) {
    case ENOENT: return errors::notFound("there is no such socket").withDetail(path);
    case ECONNREFUSED: return errors::refused("nobody answers on this socket").withDetail(path);
    case EACCES:
    case EPERM: return errors::accessDenied("this user may not use the socket").withDetail(path);
    case EAGAIN: return errors::timedOut("the object does not accept connections").withDetail(path);
    default: return errors::fromErrno(number, path);
    }
}

// What a daemon that is just starting again looks like.
bool mayPass(int number)
{
    return number == ENOENT || number == ECONNREFUSED || number == ETIMEDOUT || number == ENOTDIR || number == ENOTCONN
           || number == EIO;
}

} // namespace

ObjectLink::ObjectLink(LinkOptions options, const Clock &clock) : m_options(std::move(options)), m_clock(clock) {}

Result<void> ObjectLink::send(const SendRequest &request)
{
    if (find(RequestKind::Send, request.id) != m_open.end())
        return errors::alreadyExists("a message with this id is on its way");
    Result<std::string> frame = sendFrame(m_options.conversation, request);
    if (!frame)
        return frame.error();
    add(RequestKind::Send, request.id, std::move(*frame));
    return {};
}

std::string ObjectLink::resume(std::string_view after)
{
    std::string id = nextId("resume");
    std::string frame = resumeFrame(m_options.conversation, id, after);
    return add(RequestKind::Resume, std::move(id), std::move(frame), std::string(after));
}

void ObjectLink::cancel(std::string_view id)
{
    if (find(RequestKind::Cancel, id) == m_open.end())
        add(RequestKind::Cancel, std::string(id), cancelFrame(m_options.conversation, id));
}

std::string ObjectLink::ping()
{
    std::string id = nextId("ping");
    std::string frame = pingFrame(id);
    return add(RequestKind::Ping, std::move(id), std::move(frame));
}

std::string ObjectLink::status()
{
    std::string id = nextId("status");
    std::string frame = statusFrame(m_options.conversation, id);
    return add(RequestKind::Status, std::move(id), std::move(frame));
}

std::string ObjectLink::add(RequestKind kind, std::string id, std::string frame, std::string after)
{
    if (m_open.empty() && !isConnected()) { // nobody waited until now
        m_aloneSince = m_clock.monotonicMs();
        m_nextTry = m_aloneSince;
        m_pauseMs = 0;
    }
    m_open.push_back({kind, std::move(id), std::move(frame), std::move(after)});
    if (isConnected())
        enqueue(m_open.back());
    return m_open.back().id;
}

void ObjectLink::enqueue(const Open &request)
{
    if (m_sent == m_out.size()) {
        m_out.clear();
        m_sent = 0;
    }
    m_out += request.frame;
    m_out += '\n';
}

int ObjectLink::waitMs() const
{
    if (isConnected() || m_open.empty())
        return -1;
    return static_cast<int>(std::max<std::int64_t>(0, m_nextTry - m_clock.monotonicMs()));
}

std::vector<LinkNews> ObjectLink::advance()
{
    std::vector<LinkNews> news;
    if (!isConnected() && !m_open.empty() && m_clock.monotonicMs() >= m_nextTry)
        connect(news);
    if (wantsWrite())
        flush(news);
    if (wantsRead())
        read(news);
    return news;
}

void ObjectLink::connect(std::vector<LinkNews> &news)
{
    const Result<UnixAddress> address = unixAddress(m_options.path);
    if (!address)
        return handleConnectError(connectError(address.error().number(), m_options.path), news);
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd.isValid())
        return handleConnectError(errors::fromErrno(errno, "socket"), news);
    while (::connect(fd.get(), address->get(), UnixAddress::size()) != 0) {
        if (errno != EINTR)
            return handleConnectError(connectError(errno, m_options.path), news);
    }
    m_fd = std::move(fd);
    m_wasConnected = true;
    news.push_back({.kind = LinkNews::Kind::Connected});
    for (Open &request : m_open) {
        if (request.kind == RequestKind::Resume)
            request.frame = resumeFrame(m_options.conversation, request.id, request.after);
        request.isFollowing = false;
        request.error.reset();
        enqueue(request);
    }
}

void ObjectLink::handleConnectError(const Error &error, std::vector<LinkNews> &news)
{
    const std::int64_t now = m_clock.monotonicMs();
    int patience = m_wasConnected ? m_options.patienceMs : m_options.firstPatienceMs;
    if (error.number() == ETIMEDOUT)
        patience = std::max(patience, kFullQueueMs);
    if (!mayPass(error.number()) || now - m_aloneSince >= patience)
        return endAll(error, news);
    m_pauseMs = std::clamp(m_pauseMs * 2, m_options.shortestPauseMs, m_options.longestPauseMs);
    m_nextTry = std::min(now + m_pauseMs, m_aloneSince + patience);
}

void ObjectLink::flush(std::vector<LinkNews> &news)
{
    while (wantsWrite()) {
        const std::string_view rest = std::string_view(m_out).substr(m_sent);
        const ssize_t count = ::send(m_fd.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
        if (count >= 0) {
            m_sent += static_cast<std::size_t>(count);
        } else if (errno == EAGAIN) {
            return;
        } else if (errno != EINTR) {
            // What the object said before it closed is still there to be read.
            const int failure = errno;
            m_out.clear();
            m_sent = 0;
            if (failure != EPIPE && failure != ECONNRESET)
                lose(errors::fromErrno(failure, m_options.path), news);
            return;
        }
    }
}

void ObjectLink::read(std::vector<LinkNews> &news)
{
    std::array<char, 64 * limits::kKiB> buffer;
    for (std::size_t taken = 0; wantsRead() && taken < kMostPerTurn;) {
        const ssize_t count = ::recv(m_fd.get(), buffer.data(), buffer.size(), 0);
        if (count > 0) {
            taken += static_cast<std::size_t>(count);
            m_frames.append(std::string_view(buffer.data(), static_cast<std::size_t>(count)));
            takeFrames(news);
        } else if (count < 0 && errno == EAGAIN) {
            return;
        } else if (count == 0 || errno != EINTR) {
            return lose(errors::connectionReset("the object closed the connection"), news);
        }
    }
}

void ObjectLink::takeFrames(std::vector<LinkNews> &news)
{
    while (isConnected()) {
        const auto frame = m_frames.next();
        if (!frame)
            break;
        Result<ObjectEvent> event = readObjectEvent(*frame);
        if (!event)
            return endAll(event.error(), news);
        takeEvent(std::move(*event), news);
    }
    if (m_frames.isOverflowed())
        endAll(errors::tooLarge("the object sent a frame of more than 1 MiB"), news);
}

void ObjectLink::takeEvent(ObjectEvent event, std::vector<LinkNews> &news)
{
    const bool isNew = m_progress.take(event);
    for (Open &request : m_open) {
        if (request.kind == RequestKind::Resume && isIdAfter(event.id, request.after) && !event.run.empty())
            request.after = event.id;
    }
    if (isNew && !event.run.empty() && !event.id.empty()) {
        m_aloneSince = m_clock.monotonicMs();
        m_pauseMs = 0;
    }
    if (event.isRefusal()) {
        const auto refused = refusedBy(event);
        const Error error = event.error();
        if (refused == m_open.end() && event.id.empty() && event.request.empty())
            return endAll(error, news); // about the connection as a whole
        const bool hasDone = refused != m_open.end() && refused->kind == RequestKind::Send
                             && error.number() == ECANCELED;
        if (hasDone) { // a send that had waited; its done follows
            refused->error = error;
            news.push_back({.kind = LinkNews::Kind::Event, .event = std::move(event)});
            return;
        }
        news.push_back({.kind = LinkNews::Kind::Event, .event = std::move(event)});
        if (refused != m_open.end())
            end(refused, error, news);
        return;
    }
    if (event.type == EventType::Start) {
        if (const auto started = find(RequestKind::Send, event.request); started != m_open.end())
            started->run = event.run;
    }
    noteError(event);
    const ObjectEvent told = event; // the request ends after its last event was told
    if (isNew)
        news.push_back({.kind = LinkNews::Kind::Event, .event = std::move(event)});
    if (told.type == EventType::Done)
        return noteDone(told, news);
    const auto answered = requestOf(told);
    if (answered == m_open.end())
        return;
    if (told.type == EventType::Resumed && told.isLive)
        answered->isFollowing = true;
    else
        end(answered, std::nullopt, news);
}

ObjectLink::Requests::iterator ObjectLink::requestOf(const ObjectEvent &event)
{
    switch (event.type) {
    case EventType::Pong: return find(RequestKind::Ping, event.id);
    case EventType::Accepted: return find(RequestKind::Cancel, event.id);
    case EventType::Status: return find(RequestKind::Status, event.id);
    case EventType::Resumed: return find(RequestKind::Resume, event.id);
    default: return m_open.end();
    }
}

ObjectLink::Requests::iterator ObjectLink::refusedBy(const ObjectEvent &event)
{
    if (!event.request.empty())
        return find(RequestKind::Send, event.request);
    // A cancel carries the id of what it cancels, so it comes before the send of that id.
    for (const RequestKind kind :
         {RequestKind::Cancel, RequestKind::Ping, RequestKind::Status, RequestKind::Resume, RequestKind::Send}) {
        if (const auto found = find(kind, event.id); found != m_open.end())
            return found;
    }
    return m_open.end();
}

ObjectLink::Requests::iterator ObjectLink::find(RequestKind kind, std::string_view id)
{
    return std::find_if(m_open.begin(), m_open.end(),
                        [&](const Open &request) { return request.kind == kind && request.id == id; });
}

void ObjectLink::noteError(const ObjectEvent &event)
{
    if (event.type != EventType::Error || event.isRecoverable)
        return;
    for (Open &request : m_open) {
        const bool isOfRun = request.kind == RequestKind::Send
                             && (request.run == event.run || request.id == event.request);
        if (isOfRun || request.isFollowing)
            request.error = event.error();
    }
}

void ObjectLink::noteDone(const ObjectEvent &event, std::vector<LinkNews> &news)
{
    for (auto request = m_open.begin(); request != m_open.end();) {
        const auto next = std::next(request);
        const bool isOfRun = request->kind == RequestKind::Send
                             && (request->id == event.request || (!request->run.empty() && request->run == event.run));
        if (isOfRun || request->isFollowing) {
            std::optional<Error> error = request->error;
            if (event.status == "ok")
                error.reset();
            else if (event.status == "cancelled")
                error = errors::cancelled("the run was cancelled");
            else if (!error)
                error = errors::io("the run failed without saying why");
            end(request, std::move(error), news);
        }
        request = next;
    }
}

void ObjectLink::end(Requests::iterator request, std::optional<Error> error, std::vector<LinkNews> &news)
{
    news.push_back({.kind = LinkNews::Kind::Ended,
                    .request = request->kind,
                    .id = std::move(request->id),
                    .error = std::move(error)});
    m_open.erase(request);
}

void ObjectLink::endAll(const Error &error, std::vector<LinkNews> &news)
{
    dropConnection();
    while (!m_open.empty())
        end(m_open.begin(), error, news);
}

void ObjectLink::lose(const Error &error, std::vector<LinkNews> &news)
{
    dropConnection();
    news.push_back({.kind = LinkNews::Kind::Lost, .error = error});
    // A temporary conversation ends with its connection: sent again, a message would be a new one.
    if (m_options.conversation.scope == "temp")
        return endAll(error, news);
    // Connections that bring nothing new do not count: a peer that closes each at once must not be asked for ever.
    const std::int64_t now = m_clock.monotonicMs();
    if (now - m_aloneSince >= m_options.patienceMs && m_pauseMs > 0)
        return endAll(error, news);
    if (m_pauseMs == 0)
        m_aloneSince = now;
    m_nextTry = now + m_pauseMs;
    m_pauseMs = std::clamp(m_pauseMs * 2, m_options.shortestPauseMs, m_options.longestPauseMs);
}

void ObjectLink::dropConnection()
{
    m_fd.reset();
    m_frames = jsonl::FrameReader();
    m_out.clear();
    m_sent = 0;
}

void ObjectLink::close()
{
    dropConnection();
    m_open.clear();
}

std::string ObjectLink::nextId(std::string_view prefix)
{
    return std::string(prefix) + "-" + std::to_string(++m_lastId);
}

std::string randomId(std::string_view prefix)
{
    std::array<unsigned char, 16> bytes;
    std::size_t filled = 0;
    while (filled < bytes.size()) {
        const ssize_t count = ::getrandom(bytes.data() + filled, bytes.size() - filled, 0);
        filled += count > 0 ? static_cast<std::size_t>(count) : 0;
    }
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string id = std::string(prefix) + "-";
    for (const unsigned char byte : bytes) {
        id += kDigits[byte >> 4];
        id += kDigits[byte & 15];
    }
    return id;
}

} // namespace cortexfs::object
