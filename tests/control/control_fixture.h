// A control server on a socket of its own, with the models that need no network, and what its clients see.
#pragma once

#include "common/base/clock.h"
#include "daemon/control/control_server.h"
#include "daemon/core/runtime.h"
#include "daemon/models/model_service.h"
#include "daemon/providers/curl/curl_transport.h"
#include "tests/sockets/raw_client.h"
#include "tests/support/temp_dir.h"

#include <QCoreApplication>
#include <QElapsedTimer>
#include <QTest>

#include <functional>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include <sys/stat.h>

namespace cortexfs::test {

// Turns the event loop without a pause until the condition holds; false after the time.
inline bool turnUntil(const std::function<bool()> &condition, int timeoutMs = 30'000)
{
    QElapsedTimer timer;
    timer.start();
    while (!condition()) {
        if (timer.elapsed() > timeoutMs)
            return false;
        QCoreApplication::processEvents(QEventLoop::AllEvents, 5);
    }
    return true;
}

class ControlFixture {
public:
    // The mount's name holds "model/" to catch those who look for it in a link's target.
    explicit ControlFixture(uid_t daemonUid = ::geteuid())
    {
        places.mode = Mode::User;
        places.mount = dir.path("model/ctx");
        places.config = dir.path("config");
        places.state = dir.path("state");
        places.runtime = dir.path("run");
        ::chmod(dir.path().c_str(), 0755);
        ::mkdir(places.runtime.c_str(), 0755);
        m_daemonUid = daemonUid;
    }
    ControlFixture(const ControlFixture &) = delete;
    ControlFixture &operator=(const ControlFixture &) = delete;

    void provider(const std::string &file, const std::string &text) const
    {
        dir.write("config/providers.d/" + file, text);
    }

    // Reads the configuration and listens.
    bool start()
    {
        runtime = std::make_unique<Runtime>(places, config::DaemonConfig(), std::vector<BinLink>());
        if (!runtime->load())
            return false;
        models = std::make_unique<models::ModelService>(
            models::ModelServices{[this] { return runtime->snapshot().load()->catalog; }, runtime->secrets(), m_egress,
                                  m_http, systemClock()});
        server = std::make_unique<control::ControlServer>(control::ExecServices{*models, runtime->snapshot()},
                                                          m_daemonUid);
        return server->listen(places.controlSocket()).isOk();
    }

    RawClient client() const { return RawClient(places.controlSocket()); }

    // Every live client's socket.
    std::vector<sockets::FrameSocket *> sockets() const
    {
        const auto found = server->findChildren<sockets::FrameSocket *>();
        return {found.begin(), found.end()};
    }

    TempDir dir;
    Places places;

private:
    providers::DirectEgress m_egress;
    providers::CurlTransport m_http;
    uid_t m_daemonUid = 0;

public:
    std::unique_ptr<Runtime> runtime;
    std::unique_ptr<models::ModelService> models;
    std::unique_ptr<control::ControlServer> server;
};

// Run ids and token counts differ from run to run and are not what the tests are about.
inline std::string normalised(const std::string &text)
{
    static const std::regex run("\"run\":\"r[a-z0-9]{16}\"");
    static const std::regex tokens("\"(input|output)_tokens\":[0-9]+");
    return std::regex_replace(std::regex_replace(text, run, "\"run\":\"R\""), tokens, "\"$1_tokens\":N");
}

inline std::size_t countOf(const std::string &text, const std::string &part)
{
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size()))
        ++count;
    return count;
}

// Sends `request` and gives what came until `lines` lines are there; what there is when they do not come.
inline std::string ask(RawClient &client, const std::string &request, std::size_t lines = 1)
{
    client.take();
    std::string_view left = request;
    turnUntil([&] {
        left.remove_prefix(client.offer(left));
        return left.empty() || client.isAtEnd();
    });
    turnUntil([&] { return countOf(client.received(), "\n") >= lines || client.isAtEnd(); }, 10'000);
    return client.take();
}

// Until the last frame of a request: its result or its error without a run.
inline std::string askUntilResult(RawClient &client, const std::string &request)
{
    client.take();
    std::string_view left = request;
    turnUntil([&] {
        left.remove_prefix(client.offer(left));
        const std::string &seen = client.received();
        return client.isAtEnd()
               || (left.empty() && seen.find("\"type\":\"result\"") != std::string::npos && seen.ends_with('\n'));
    });
    return client.take();
}

} // namespace cortexfs::test
