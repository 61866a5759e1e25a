// One exchange on a QNetworkAccessManager.
#pragma once

#include "daemon/providers/core/http_transport.h"
#include "daemon/providers/core/manager_pool.h"

#include <QNetworkReply>
#include <QPointer>
#include <QTimer>

namespace cortexfs::providers {

class QnamStream final : public HttpStream {
    Q_OBJECT
public:
    QnamStream(ManagerPool::Lease lease, std::string where);
    ~QnamStream() override;

    void send(HttpRequest request);

    void abort() override;
    void setPaused(bool paused) override;

private:
    enum class Phase { Connecting, Waiting, Receiving, Over };

    void drain() override;
    void connectReply();
    void handleConnected();
    void handleHead();
    void handleReadable();
    void handleTimeout();
    void scheduleRead();
    void finish();
    void end(const std::optional<Error> &failure);
    void dropReply();

    ManagerPool::Lease m_lease;
    std::string m_where;             // host:port
    QPointer<QNetworkReply> m_reply; // a child of its manager
    QTimer m_timer;                  // connect, then first byte
    Phase m_phase = Phase::Connecting;
    int m_connectMs = 0;
    int m_firstByteMs = 0;
    bool m_neverConnected = true;
    bool m_paused = false;
    bool m_readScheduled = false;
    bool m_draining = false;
    std::size_t m_drained = 0;
    std::string m_sslReason;
};

} // namespace cortexfs::providers
