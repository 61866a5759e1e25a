// One model run: from a request to its last event. Lives on the Qt thread.
#pragma once

#include "common/abi/event.h"
#include "daemon/models/types/conversation.h"
#include "daemon/models/types/model_catalog.h"

#include <QObject>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

namespace cortexfs::models {

// Who asks, as the kernel says (SO_PEERCRED), and as what the request counts for route rules.
struct Caller {
    uid_t uid = 0;
    gid_t gid = 0;
    pid_t pid = 0;
    // Names of the program that asks, for the pname rules of the route table; called on the Qt thread, during the run.
    std::function<std::vector<std::string>()> programNames;
};

struct RunRequest {
    std::string run;     // the run's id, already unique
    abi::ModelRef model; // as projected; aliases are resolved before
    abi::Purpose purpose = abi::Purpose::Exec;
    Conversation conversation;
    Caller caller;
    // Asks the model itself, once: no retry, no fallback, whatever its cooldown. A success ends the cooldown.
    bool isProbe = false;
};

// What a run used, for `ctx provider test` and the model's log. Complete once finished() was emitted.
struct RunReport {
    std::string model;     // the one that answered
    std::string transport; // direct | http | unix | builtin
    std::string slot;      // key slot asked for, or empty
    std::string rule;      // the route rule that decided
    int httpStatus = 0;
    std::int64_t firstTokenMs = -1;
    std::int64_t totalMs = 0;
};

// Emits start, ..., done; exactly one done, last, also for a run that fails before it begins. Nothing is emitted from
// within start() before control returns to the event loop.
class ModelRun : public QObject {
    Q_OBJECT
public:
    using QObject::QObject;

    virtual void start() = 0;
    // Ends the run with done status=cancelled; the upstream connection is closed before cancel() returns.
    virtual void cancel() = 0;
    // Back-pressure: a paused run stops reading from the provider.
    virtual void setPaused(bool paused) = 0;
    virtual const RunReport &report() const = 0;

Q_SIGNALS:
    void eventReady(const cortexfs::abi::Event &event);
    // After done. The run may be deleted with deleteLater() from here.
    void finished();
};

} // namespace cortexfs::models
