#include "daemon/providers/curl/curl_driver.h"

#include "daemon/providers/curl/curl_stream.h"

#include <QSocketNotifier>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include <fcntl.h>

namespace cortexfs::providers {

namespace {

// Idle connections that are kept; a burst of streams leaves no more behind.
constexpr long kMostConnections = 64;

// Descriptors that a program which we start would get.
std::set<int> inheritableDescriptors()
{
    std::set<int> found;
    std::error_code error;
    for (std::filesystem::directory_iterator entry("/proc/self/fd", error), end; !error && entry != end;
         entry.increment(error)) {
        const int fd = std::atoi(entry->path().filename().c_str());
        if (const int flags = ::fcntl(fd, F_GETFD); flags >= 0 && (flags & FD_CLOEXEC) == 0)
            found.insert(fd);
    }
    return found;
}

// libcurl 7.88 makes the pair that wakes its own poll, which we do not use, without close-on-exec.
CURLM *makeMulti()
{
    const std::set<int> before = inheritableDescriptors();
    CURLM *multi = curl_multi_init();
    for (const int fd : inheritableDescriptors()) {
        if (before.count(fd) == 0)
            ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
    return multi;
}

} // namespace

// One socket of libcurl. The notifiers die later: they may be the ones that are being delivered.
struct CurlDriver::Watch {
    Watch(CurlDriver &driver, curl_socket_t socket)
        : read(new QSocketNotifier(socket, QSocketNotifier::Read)),
          write(new QSocketNotifier(socket, QSocketNotifier::Write))
    {
        read->setEnabled(false);
        write->setEnabled(false);
        connect(read, &QSocketNotifier::activated, &driver, [&driver, socket] { driver.act(socket, CURL_CSELECT_IN); });
        connect(write, &QSocketNotifier::activated, &driver,
                [&driver, socket] { driver.act(socket, CURL_CSELECT_OUT); });
    }
    ~Watch()
    {
        for (QSocketNotifier *notifier : {read, write}) {
            notifier->setEnabled(false);
            notifier->disconnect();
            notifier->deleteLater();
        }
    }
    Watch(const Watch &) = delete;
    Watch &operator=(const Watch &) = delete;

    QSocketNotifier *read;
    QSocketNotifier *write;
};

CurlDriver::CurlDriver(int idleMs)
{
    m_timer.setSingleShot(true);
    m_timer.setTimerType(Qt::PreciseTimer);
    connect(&m_timer, &QTimer::timeout, this, [this] { act(CURL_SOCKET_TIMEOUT, 0); });
    m_idle.setSingleShot(true);
    m_idle.setInterval(idleMs);
    connect(&m_idle, &QTimer::timeout, this, &CurlDriver::dropIdle);
}

CurlDriver::~CurlDriver()
{
    while (!m_streams.empty())
        (*m_streams.begin())->detach();
    dropIdle();
}

bool CurlDriver::prepare()
{
    m_idle.stop();
    if (m_multi)
        return true;
    m_multi = makeMulti();
    if (!m_multi)
        return false;
    curl_multi_setopt(m_multi, CURLMOPT_SOCKETFUNCTION, &CurlDriver::handleSocket);
    curl_multi_setopt(m_multi, CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(m_multi, CURLMOPT_TIMERFUNCTION, &CurlDriver::handleTimeout);
    curl_multi_setopt(m_multi, CURLMOPT_TIMERDATA, this);
    curl_multi_setopt(m_multi, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
    curl_multi_setopt(m_multi, CURLMOPT_MAXCONNECTS, kMostConnections);
    return true;
}

bool CurlDriver::add(CurlStream &stream, CURL *easy)
{
    if (!prepare() || curl_multi_add_handle(m_multi, easy) != CURLM_OK) {
        if (m_streams.empty())
            m_idle.start();
        return false;
    }
    m_streams.insert(&stream);
    return true;
}

void CurlDriver::remove(CurlStream &stream, CURL *easy)
{
    if (m_streams.erase(&stream) == 0)
        return;
    curl_multi_remove_handle(m_multi, easy);
    if (m_streams.empty())
        m_idle.start();
}

void CurlDriver::touch(CurlStream &stream)
{
    m_touched.emplace_back(&stream);
    if (m_isActing || m_isDeliveryPosted)
        return;
    m_isDeliveryPosted = true;
    QMetaObject::invokeMethod(
        this,
        [this] {
            m_isDeliveryPosted = false;
            deliver();
        },
        Qt::QueuedConnection);
}

int CurlDriver::handleSocket(CURL *, curl_socket_t socket, int what, void *driver, void *watch)
{
    static_cast<CurlDriver *>(driver)->watch(socket, what, static_cast<Watch *>(watch));
    return 0;
}

int CurlDriver::handleTimeout(CURLM *, long ms, void *driver)
{
    QTimer &timer = static_cast<CurlDriver *>(driver)->m_timer;
    if (ms < 0)
        timer.stop();
    else
        timer.start(static_cast<int>(ms));
    return 0;
}

void CurlDriver::watch(curl_socket_t socket, int what, Watch *known)
{
    if (what == CURL_POLL_REMOVE) {
        m_watches.erase(socket);
        return;
    }
    if (!known) {
        // The pair on which libcurl hears from its resolver is its own make, and would reach programs that we start.
        ::fcntl(socket, F_SETFD, FD_CLOEXEC);
        auto &slot = m_watches[socket];
        slot = std::make_unique<Watch>(*this, socket);
        known = slot.get();
        curl_multi_assign(m_multi, socket, known);
    }
    known->read->setEnabled(what == CURL_POLL_IN || what == CURL_POLL_INOUT);
    known->write->setEnabled(what == CURL_POLL_OUT || what == CURL_POLL_INOUT);
}

void CurlDriver::act(curl_socket_t socket, int events)
{
    if (!m_multi)
        return;
    m_isActing = true;
    int running = 0;
    curl_multi_socket_action(m_multi, socket, events, &running);
    collectFinished();
    m_isActing = false;
    deliver();
}

void CurlDriver::collectFinished()
{
    int left = 0;
    while (const CURLMsg *message = curl_multi_info_read(m_multi, &left)) {
        if (message->msg != CURLMSG_DONE)
            continue;
        const CURLcode code = message->data.result;
        CurlStream *stream = nullptr;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &stream);
        stream->finish(code);
    }
}

void CurlDriver::deliver()
{
    // What is touched meanwhile is posted, so that one stream cannot keep the loop.
    const std::vector<QPointer<CurlStream>> touched = std::exchange(m_touched, {});
    for (const QPointer<CurlStream> &stream : touched) {
        if (stream)
            stream->deliver();
    }
}

void CurlDriver::dropIdle()
{
    m_idle.stop();
    m_timer.stop();
    if (m_multi && m_streams.empty()) {
        curl_multi_cleanup(std::exchange(m_multi, nullptr));
        m_watches.clear();
    }
}

} // namespace cortexfs::providers
