// A run over the candidates of a model. The attempts do the work; the run stamps what they produce and keeps the order
// of events: start, what the answering candidate says, at most one error, done.
#pragma once

#include "daemon/models/attempt.h"
#include "daemon/models/candidate.h"
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
    void beginAttempt();
    std::unique_ptr<Attempt> makeAttempt(const Candidate &candidate, const wire::WireFormat &format);
    void handleProduced(abi::Event event);
    void handleEnded(const AttemptOutcome &outcome);
    void handleRunTimeout();
    void endLater(abi::RunStatus status);
    void end(abi::RunStatus status, std::optional<abi::StopReason> reason, const std::optional<Error> &error);
    void takeFacts();
    void appendLog(abi::RunStatus status, int errnoNumber);

    const ModelServices m_services;
    const RunRequest m_request;
    const std::vector<Candidate> m_candidates;
    std::unique_ptr<Attempt> m_attempt;
    RunReport m_report;
    abi::Usage m_usage;
    QTimer m_runTimer;
    State m_state = State::New;
    std::int64_t m_startedMs = 0;
    bool m_paused = false;
    bool m_cancelled = false;
};

} // namespace cortexfs::models
