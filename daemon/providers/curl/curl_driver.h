// Drives libcurl's transfers on the Qt event loop: a notifier for each socket, one timer, no thread and no polling.
//
// libcurl may not be called from its own callbacks, and receivers of a stream's signals do call it (abort, open). So
// callbacks only note what came; when libcurl has returned, the streams that noted something deliver it.
#pragma once

#include <QObject>
#include <QPointer>
#include <QTimer>

#include <curl/curl.h>

#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

class QSocketNotifier;

namespace cortexfs::providers {

class CurlStream;

class CurlDriver final : public QObject {
    Q_OBJECT
public:
    explicit CurlDriver(int idleMs);
    // Detaches the streams that are left.
    ~CurlDriver() override;

    // False: no memory. The stream takes itself out before it goes.
    bool add(CurlStream &stream, CURL *easy);
    // The connection goes back to the idle ones when the exchange is over, else it is closed now.
    void remove(CurlStream &stream, CURL *easy);

    // `stream` has something to deliver: after the current call into libcurl, or soon.
    void touch(CurlStream &stream);

    bool isIdle() const { return m_multi == nullptr; }

private:
    struct Watch;

    static int handleSocket(CURL *easy, curl_socket_t socket, int what, void *driver, void *watch);
    static int handleTimeout(CURLM *multi, long ms, void *driver);

    bool prepare();
    void watch(curl_socket_t socket, int what, Watch *known);
    void act(curl_socket_t socket, int events);
    void collectFinished();
    void deliver();
    void dropIdle();

    CURLM *m_multi = nullptr;
    QTimer m_timer; // libcurl's own
    QTimer m_idle;  // from the last stream to the end of its connections
    std::unordered_map<curl_socket_t, std::unique_ptr<Watch>> m_watches;
    std::unordered_set<CurlStream *> m_streams;
    std::vector<QPointer<CurlStream>> m_touched;
    bool m_isActing = false;
    bool m_isDeliveryPosted = false;
};

} // namespace cortexfs::providers
