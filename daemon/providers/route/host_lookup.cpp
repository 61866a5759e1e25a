#include "daemon/providers/route/host_lookup.h"

#include "common/base/logging.h"

#include <QTimer>

#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace cortexfs::providers {

namespace {

constexpr std::chrono::milliseconds kLimit{5'000};
constexpr std::chrono::seconds kFresh{30};
// Hosts come from provider files; who changes those all the time shall not fill the memory.
constexpr std::size_t kMostRemembered = 256;

std::vector<route::Address> resolve(const std::string &host)
{
    std::vector<route::Address> out;
    addrinfo hints = {};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo *list = nullptr;
    if (::getaddrinfo(host.c_str(), nullptr, &hints, &list) != 0)
        return out;
    for (const addrinfo *entry = list; entry; entry = entry->ai_next) {
        route::Address address = {};
        if (entry->ai_family == AF_INET) {
            address[10] = address[11] = 0xff;
            std::memcpy(address.data() + 12, &reinterpret_cast<const sockaddr_in *>(entry->ai_addr)->sin_addr, 4);
        } else if (entry->ai_family == AF_INET6) {
            std::memcpy(address.data(), &reinterpret_cast<const sockaddr_in6 *>(entry->ai_addr)->sin6_addr, 16);
        } else {
            continue;
        }
        out.push_back(address);
    }
    ::freeaddrinfo(list);
    return out;
}

} // namespace

// A resolver may hang for longer than we live: its thread is not waited for, and looks here whether anybody still is.
struct SystemHostLookup::Mailbox {
    std::mutex mutex;
    SystemHostLookup *owner = nullptr;
};

SystemHostLookup::SystemHostLookup() : m_mailbox(std::make_shared<Mailbox>()) { m_mailbox->owner = this; }

SystemHostLookup::~SystemHostLookup()
{
    const std::lock_guard lock(m_mailbox->mutex);
    m_mailbox->owner = nullptr;
}

void SystemHostLookup::lookup(const std::string &host, Done done)
{
    const auto known = m_answers.find(host);
    if (known != m_answers.end() && std::chrono::steady_clock::now() - known->second.at < kFresh)
        return done(known->second.addresses);
    Waiting &waiting = m_waiting[host];
    waiting.done.push_back(std::move(done));
    if (waiting.done.size() > 1)
        return;
    waiting.serial = ++m_lastSerial;
    QTimer::singleShot(kLimit, this, [this, host, serial = waiting.serial] { handleTimeout(host, serial); });
    if (!m_asked.contains(host))
        startThread(host);
}

void SystemHostLookup::handleTimeout(const std::string &host, std::uint64_t serial)
{
    const auto waiting = m_waiting.find(host);
    if (waiting == m_waiting.end() || waiting->second.serial != serial)
        return;
    qCWarning(lcProvider, "%s does not resolve within 5 s; no dip rule matches it", host.c_str());
    answerAll(host, {});
}

void SystemHostLookup::startThread(const std::string &host)
{
    try {
        m_asked.insert(host);
        std::thread([mailbox = m_mailbox, host] {
            std::vector<route::Address> addresses = resolve(host);
            const std::lock_guard lock(mailbox->mutex);
            SystemHostLookup *owner = mailbox->owner;
            if (!owner)
                return;
            QMetaObject::invokeMethod(
                owner, [owner, host, addresses] { owner->handleAnswer(host, addresses); }, Qt::QueuedConnection);
        }).detach();
    } catch (const std::system_error &error) {
        qCWarning(lcProvider, "no thread to resolve %s: %s", host.c_str(), error.what());
        m_asked.erase(host);
    }
}

void SystemHostLookup::handleAnswer(const std::string &host, const std::vector<route::Address> &addresses)
{
    m_asked.erase(host);
    if (m_answers.size() >= kMostRemembered)
        m_answers.clear();
    // A failure is not remembered: the next request may well find the network up.
    if (!addresses.empty())
        m_answers[host] = {addresses, std::chrono::steady_clock::now()};
    answerAll(host, addresses);
}

void SystemHostLookup::answerAll(const std::string &host, const std::vector<route::Address> &addresses)
{
    const auto found = m_waiting.find(host);
    if (found == m_waiting.end())
        return;
    const std::vector<Done> ready = std::move(found->second.done);
    m_waiting.erase(found);
    for (const Done &done : ready)
        done(addresses);
}

} // namespace cortexfs::providers
