// A GET whose whole answer is wanted in memory, within a number of bytes and a time. Qt thread.
#pragma once

#include "common/base/result.h"
#include "daemon/providers/core/http_transport.h"

#include <QObject>
#include <QTimer>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace cortexfs::providers {

struct FetchLimits {
    std::size_t maxBytes = 0; // of the decoded body
    int totalMs = 0;          // from start() to the last byte
};

struct FetchedReply {
    HttpHead head; // whatever the status
    std::string body;
};

// One fetch. Destroying it drops the connection and the outcome.
class BoundedFetch : public QObject {
    Q_OBJECT
public:
    using Done = std::function<void(Result<FetchedReply>)>;

    explicit BoundedFetch(QObject *parent = nullptr);
    ~BoundedFetch() override;

    // Calls `done` once, from the event loop; it may destroy this object. The errors of HttpTransport and HttpStream;
    // EMSGSIZE over the bytes, ETIMEDOUT over the time. Once an object.
    void start(HttpTransport &transport, HttpRequest request, const FetchLimits &limits, Done done);

private:
    void handleData(std::string_view bytes);
    void finish(Result<FetchedReply> outcome);
    void drop();

    FetchLimits m_limits;
    Done m_done;
    FetchedReply m_reply;
    std::unique_ptr<HttpStream> m_stream;
    QTimer m_deadline;
};

} // namespace cortexfs::providers
