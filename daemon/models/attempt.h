// One try of one candidate: from its request to its answer or failure. A run makes one after the other.
#pragma once

#include "common/abi/event.h"
#include "daemon/providers/wire/core/reply_failure.h"

#include <QObject>

#include <cstddef>
#include <optional>
#include <string>

namespace cortexfs::models {

// Exactly one of the two is set.
struct AttemptOutcome {
    std::optional<abi::StopReason> reason;
    std::optional<wire::ReplyFailure> failure;
};

// How the request went out, as far as it came.
struct AttemptFacts {
    std::string transport; // direct | http | unix | builtin
    std::string slot;
    std::string rule; // of the route table
    int httpStatus = 0;
    std::size_t receivedBytes = 0; // of the body
};

// Emits produced any number of times, then ended once; nothing from within start(), nothing after cancel().
class Attempt : public QObject {
    Q_OBJECT
public:
    using QObject::QObject;

    virtual void start() = 0;
    // Upstream is closed when this returns.
    virtual void cancel() = 0;
    // What was already received may still be produced: at most one read of the transport.
    virtual void setPaused(bool paused) = 0;
    // Ends the attempt from outside, as if the connection had failed with `error`.
    virtual void fail(const Error &error) = 0;

    const AttemptFacts &facts() const { return m_facts; }

Q_SIGNALS:
    // An event without `run` and `model`.
    void produced(const cortexfs::abi::Event &event);
    void ended(const cortexfs::models::AttemptOutcome &outcome);

protected:
    AttemptFacts m_facts;
};

} // namespace cortexfs::models
