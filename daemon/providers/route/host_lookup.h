// Addresses of a host for dip rules.
#pragma once

#include "common/route/evaluation.h"

#include <QObject>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace cortexfs::providers {

class HostLookup {
public:
    // Empty: the host does not resolve, or not in time.
    using Done = std::function<void(std::vector<route::Address>)>;
    virtual ~HostLookup() = default;
    // Calls `done` once on the Qt thread, at once or later; not at all when the lookup goes before.
    virtual void lookup(const std::string &host, Done done) = 0;
};

// Asks the system's resolver on a thread of its own, waits 5 s at most, and remembers an answer for half a minute, so
// that the attempts of a run see the same one.
class SystemHostLookup final : public QObject, public HostLookup {
    Q_OBJECT
public:
    SystemHostLookup();
    ~SystemHostLookup() override;

    void lookup(const std::string &host, Done done) override;

private:
    struct Mailbox;
    struct Answer {
        std::vector<route::Address> addresses;
        std::chrono::steady_clock::time_point at;
    };
    void startThread(const std::string &host);
    void handleAnswer(const std::string &host, const std::vector<route::Address> &addresses);
    void handleTimeout(const std::string &host, std::uint64_t serial);
    void answerAll(const std::string &host, const std::vector<route::Address> &addresses);

    std::shared_ptr<Mailbox> m_mailbox; // what threads that outlive us find
    std::map<std::string, Answer> m_answers;
    struct Waiting {
        std::uint64_t serial = 0;
        std::vector<Done> done;
    };
    std::map<std::string, Waiting> m_waiting;
    std::set<std::string> m_asked; // hosts that a thread asks for right now; it may take longer than we wait
    std::uint64_t m_lastSerial = 0;
};

} // namespace cortexfs::providers
