// An attempt over HTTP: way out and key, request of the wire format, stream, decoder, idle timer.
#pragma once

#include "daemon/models/attempt.h"
#include "daemon/models/candidate.h"
#include "daemon/models/model_service.h"
#include "daemon/providers/wire/core/response_decoder.h"

#include <QElapsedTimer>
#include <QTimer>

#include <memory>
#include <vector>

namespace cortexfs::models {

class HttpAttempt final : public Attempt {
    Q_OBJECT
public:
    // All referred to outlives the attempt. The candidate's entry has a provider. `mostBytes`: what the run may still
    // receive.
    HttpAttempt(const ModelServices &services, const Candidate &candidate, const wire::WireFormat &format,
                const RunRequest &request, std::size_t mostBytes);
    ~HttpAttempt() override;

    void start() override;
    void cancel() override;
    void setPaused(bool paused) override;
    void fail(const Error &error) override;

private:
    void handleEgress(Result<providers::Egress> egress);
    Result<void> send(const providers::Egress &egress);
    void connectStream();
    void handleHead(const providers::HttpHead &head);
    void handleData(std::string_view bytes);
    void handleStreamEnd(const std::optional<Error> &failure);
    void handleIdleTimer();
    void emitAll(const std::vector<abi::Event> &events);
    void endIfFinished();
    void endLater(Error error);
    void end(AttemptOutcome outcome);

    const ModelServices &m_services;
    const ModelEntry &m_entry;
    const wire::WireFormat &m_format;
    const RunRequest &m_request;
    const std::size_t m_mostBytes;
    std::unique_ptr<providers::HttpStream> m_stream;
    std::unique_ptr<wire::ResponseDecoder> m_decoder;
    SecretString m_key; // to keep it out of what the server says
    QTimer m_idleTimer;
    QElapsedTimer m_sinceData;
    std::uint64_t m_seenData = 0;
    bool m_paused = false;
    bool m_over = false;
};

} // namespace cortexfs::models
