#include "daemon/providers/core/manager_pool.h"

#include <QElapsedTimer>
#include <QNetworkAccessManager>
#include <QNetworkProxyFactory>

#include <algorithm>

namespace cortexfs::providers {

namespace {

constexpr int kStreamsPerHost = 6; // QHttpNetworkConnectionPrivate::defaultHttpChannelCount

class EnvironmentProxies final : public QNetworkProxyFactory {
public:
    QList<QNetworkProxy> queryProxy(const QNetworkProxyQuery &query) override { return systemProxyForQuery(query); }
};

} // namespace

struct ManagerPool::Slot {
    std::unique_ptr<QNetworkAccessManager> manager;
    bool proxyFromEnvironment = false;
    bool isRetired = false;
    std::map<std::string, int> streams; // by endpoint
    QElapsedTimer idleSince;
    ManagerPool *pool = nullptr;
};

ManagerPool::Lease::Lease(Lease &&other) noexcept
    : m_slot(std::move(other.m_slot)), m_endpoint(std::move(other.m_endpoint))
{
    other.m_slot.reset();
}

ManagerPool::Lease &ManagerPool::Lease::operator=(Lease &&other) noexcept
{
    if (this != &other) {
        release();
        m_slot = std::move(other.m_slot);
        m_endpoint = std::move(other.m_endpoint);
        other.m_slot.reset();
    }
    return *this;
}

QNetworkAccessManager *ManagerPool::Lease::manager() const
{
    const std::shared_ptr<Slot> slot = m_slot.lock();
    return slot ? slot->manager.get() : nullptr;
}

void ManagerPool::Lease::retireManager()
{
    if (const std::shared_ptr<Slot> slot = m_slot.lock())
        slot->isRetired = true;
}

void ManagerPool::Lease::release()
{
    const std::shared_ptr<Slot> slot = m_slot.lock();
    m_slot.reset();
    if (!slot)
        return;
    const auto found = slot->streams.find(m_endpoint);
    if (--found->second == 0)
        slot->streams.erase(found);
    if (!slot->streams.empty())
        return;
    slot->idleSince.start();
    slot->pool->scheduleSweep(slot->isRetired);
}

ManagerPool::ManagerPool(int idleMs, QObject *parent) : QObject(parent), m_idleMs(idleMs)
{
    m_sweep.setSingleShot(true);
    connect(&m_sweep, &QTimer::timeout, this, &ManagerPool::dropIdle);
}

ManagerPool::~ManagerPool() = default;

ManagerPool::Lease ManagerPool::acquire(const std::string &endpoint, bool proxyFromEnvironment)
{
    // First fit: the old managers stay full and warm, the ones made for a burst run empty and go.
    const auto fits = [&](const std::shared_ptr<Slot> &slot) {
        if (slot->isRetired || slot->proxyFromEnvironment != proxyFromEnvironment)
            return false;
        const auto found = slot->streams.find(endpoint);
        return found == slot->streams.end() || found->second < kStreamsPerHost;
    };
    auto chosen = std::find_if(m_slots.begin(), m_slots.end(), fits);
    if (chosen == m_slots.end()) {
        auto slot = std::make_shared<Slot>();
        slot->manager = std::make_unique<QNetworkAccessManager>();
        slot->manager->setAutoDeleteReplies(false);
        slot->manager->setRedirectPolicy(QNetworkRequest::ManualRedirectPolicy);
        slot->proxyFromEnvironment = proxyFromEnvironment;
        slot->pool = this;
        // A manager that was told nothing follows http_proxy of the environment, and would send keys there.
        if (proxyFromEnvironment)
            slot->manager->setProxyFactory(new EnvironmentProxies); // owned by the manager
        else
            slot->manager->setProxy(QNetworkProxy::NoProxy);
        m_slots.push_back(std::move(slot));
        chosen = std::prev(m_slots.end());
    }
    ++(*chosen)->streams[endpoint];
    Lease lease;
    lease.m_slot = *chosen;
    lease.m_endpoint = endpoint;
    return lease;
}

void ManagerPool::scheduleSweep(bool soon)
{
    if (soon)
        m_sweep.start(0);
    else if (!m_sweep.isActive())
        m_sweep.start(m_idleMs);
}

void ManagerPool::dropIdle()
{
    qint64 youngest = -1;
    std::erase_if(m_slots, [&](const std::shared_ptr<Slot> &slot) {
        if (!slot->streams.empty())
            return false;
        const qint64 idle = slot->idleSince.elapsed();
        if (slot->isRetired || idle >= m_idleMs)
            return true;
        youngest = std::max(youngest, m_idleMs - idle);
        return false;
    });
    if (youngest >= 0)
        m_sweep.start(static_cast<int>(youngest) + 1);
}

} // namespace cortexfs::providers
