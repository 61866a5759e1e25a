// QNetworkAccessManagers, as many as the streams of the moment need.
//
// A manager of Qt 6.4 opens at most six connections to one host, and a seventh request waits for one of them to end
// (QHttp1Configuration of Qt 6.5 makes this class unnecessary). So a manager never carries more than six streams to one
// host. Each manager costs a thread: there is none before the first request, and those that have carried nothing for a
// minute are dropped. Until then their warm connections are used first.
#pragma once

#include <QObject>
#include <QTimer>

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

class QNetworkAccessManager;

namespace cortexfs::providers {

class ManagerPool final : public QObject {
    Q_OBJECT
    struct Slot;

public:
    // A place for one stream; given back when it goes.
    class Lease {
    public:
        Lease() = default;
        Lease(Lease &&other) noexcept;
        Lease &operator=(Lease &&other) noexcept;
        Lease(const Lease &) = delete;
        Lease &operator=(const Lease &) = delete;
        ~Lease() { release(); }

        QNetworkAccessManager *manager() const;
        // For a stream that is dropped before its connection stands: Qt 6.4 goes on connecting (a TLS handshake with a
        // silent peer never ends), and only the end of the manager ends that. It takes no new streams and goes with its
        // last one.
        void retireManager();
        void release();

    private:
        friend class ManagerPool;
        std::weak_ptr<Slot> m_slot;
        std::string m_endpoint;
    };

    explicit ManagerPool(int idleMs = 60'000, QObject *parent = nullptr);
    ~ManagerPool() override;

    // `endpoint` is scheme://host:port.
    Lease acquire(const std::string &endpoint, bool proxyFromEnvironment);
    std::size_t managerCount() const { return m_slots.size(); }

private:
    void scheduleSweep(bool soon);
    void dropIdle();

    std::vector<std::shared_ptr<Slot>> m_slots; // the fullest are the oldest
    QTimer m_sweep;
    int m_idleMs;
};

} // namespace cortexfs::providers
