// What one stream gave, for the tests of transports.
#pragma once

#include "daemon/providers/core/http_transport.h"

#include <QEventLoop>
#include <QTimer>

#include <memory>
#include <optional>
#include <string>

namespace cortexfs::test {

class StreamProbe {
public:
    StreamProbe(providers::HttpTransport &transport, providers::HttpRequest request)
    {
        Result<std::unique_ptr<providers::HttpStream>> opened = transport.open(std::move(request));
        if (!opened) {
            m_refusal = opened.error();
            return;
        }
        m_stream = std::move(opened).value();
        QObject::connect(m_stream.get(), &providers::HttpStream::headReceived, m_stream.get(),
                         [this](const providers::HttpHead &head) {
                             ++heads;
                             m_head = head;
                         });
        QObject::connect(m_stream.get(), &providers::HttpStream::dataReceived, m_stream.get(),
                         [this](std::string_view bytes) {
                             body += bytes;
                             received += bytes.size();
                             if (discard)
                                 body.clear();
                         });
        QObject::connect(m_stream.get(), &providers::HttpStream::ended, m_stream.get(),
                         [this](const std::optional<Error> &failure) {
                             ++ends;
                             m_failure = failure;
                         });
    }

    // Set when the transport would not begin.
    const std::optional<Error> &refusal() const { return m_refusal; }
    providers::HttpStream *stream() { return m_stream.get(); }
    std::unique_ptr<providers::HttpStream> take() { return std::move(m_stream); }

    bool isOver() const { return ends > 0; }
    // Runs the event loop at full speed until the stream is over; QTRY_VERIFY naps between its looks. False: too late.
    bool runUntilOver(int timeoutMs)
    {
        QEventLoop loop;
        QTimer::singleShot(timeoutMs, &loop, &QEventLoop::quit);
        QObject::connect(m_stream.get(), &providers::HttpStream::ended, &loop, &QEventLoop::quit);
        if (!isOver())
            loop.exec();
        return isOver();
    }
    int status() const { return m_head.status; }
    // "" for a clean end, else the errno's name.
    std::string outcome() const { return m_failure ? std::string(m_failure->name()) : std::string(); }
    std::string message() const { return m_failure ? m_failure->message() : std::string(); }
    std::string header(std::string_view name) const
    {
        for (const auto &[key, value] : m_head.headers) {
            if (key == name)
                return value;
        }
        return {};
    }

    std::string body;
    std::size_t received = 0;
    bool discard = false;
    int heads = 0;
    int ends = 0;

private:
    std::unique_ptr<providers::HttpStream> m_stream;
    std::optional<Error> m_refusal;
    providers::HttpHead m_head;
    std::optional<Error> m_failure;
};

} // namespace cortexfs::test
