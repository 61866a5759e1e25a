// A run over the candidates of a model. The attempts do the work; the run decides what follows a failed one, stamps what
// the attempts produce and keeps the order of events: start, what was tried in vain, what the answering candidate says,
// at most one error that is not recoverable, done.
//
// Nothing of an attempt is passed on before its first output (a non-empty delta or reasoning delta, or a tool call), so
// that a failed one leaves nothing behind; with the first output its candidate has the run.
#pragma once

#include "daemon/models/attempt.h"
#include "daemon/models/candidate_chain.h"
#include "daemon/models/model_run.h"
#include "daemon/models/model_service.h"

#include <QTimer>

#include <memory>
#include <vector>

namespace cortexfs::models {

class CandidateRun final : public ModelRun {
    Q_OBJECT
public:
    CandidateRun(const ModelServices &services, RunRequest request, std::vector<Candidate> candidates);
    ~CandidateRun() override;

    void start() override;
    void cancel() override;
    void setPaused(bool paused) override;
    const RunReport &report() const override { return m_report; }

private:
    enum class State { New, Starting, Running, Ending, Over };

    void begin();
    // Leaves the candidate, if there is one, because of `why`, for the next one; ends the run when there is none.
    void moveOn(const std::optional<Error> &why);
    void takeCandidate(const Candidate &candidate);
    void beginAttempt();
    std::unique_ptr<Attempt> makeAttempt(const wire::WireFormat &format);
    void dropAttempt();
    void handleProduced(abi::Event event);
    void pass(abi::Event event);
    void handleEnded(const AttemptOutcome &outcome);
    void succeed(abi::StopReason reason);
    void handleFailure(const wire::ReplyFailure &failure);
    void tryNextDriver(const Error &why);
    void retryLater(const Error &why, std::int64_t waitMs);
    void handleRunTimeout();
    // False when a receiver ended the run meanwhile.
    bool announce(const std::string &model, const Error &why, const std::string &what = {});
    Error errorAtTheEnd(const std::optional<Error> &why, std::int64_t nowMs) const;
    bool isBuiltIn() const { return m_formats.at(m_format)->descriptor().isBuiltIn; }
    double chance() const;
    void endLater(abi::RunStatus status);
    void end(abi::RunStatus status, std::optional<abi::StopReason> reason, const std::optional<Error> &error);
    void takeFacts();
    void appendLog(const Candidate &candidate, abi::RunStatus status, int errnoNumber);

    const ModelServices m_services;
    const RunRequest m_request;
    CandidateChain m_chain;
    const Candidate *m_candidate = nullptr;          // the one that is asked
    std::vector<const wire::WireFormat *> m_formats; // of the candidate, in the order they are tried
    std::size_t m_format = 0;
    int m_retries = 0; // of the candidate
    std::unique_ptr<Attempt> m_attempt;
    std::vector<abi::Event> m_held; // of the attempt, before its first output
    bool m_hasOutput = false;
    std::size_t m_receivedBytes = 0; // of the attempts that are over
    RunReport m_report;
    abi::Usage m_usage;
    QTimer m_runTimer;
    QTimer m_nextAttempt;
    State m_state = State::New;
    std::int64_t m_startedMs = 0;
    bool m_paused = false;
    bool m_cancelled = false;
    std::optional<Error> m_timeout; // the run's time is over
};

} // namespace cortexfs::models
