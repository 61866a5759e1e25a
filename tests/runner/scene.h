// An object and a daemon that answers it as a test says.
#pragma once

#include "tests/ctx/fake_daemon.h"
#include "tests/runner/runner_process.h"

#include <string>

namespace cortexfs::runner::test {

using ctx::test::FakeDaemon;
using ctx::test::Peer;

inline constexpr char kStart[] = R"({"type":"start","run":"r1","model":"debug/echo"})";
inline constexpr char kDone[] = R"({"type":"done","run":"r1","status":"ok","reason":"stop"})";
inline constexpr char kCancelled[] = R"({"type":"done","run":"r1","status":"cancelled"})";

struct Scene {
    ObjectFile object;
    FakeDaemon daemon{object.control()};

    // start, done, exit 0 for everything.
    void answerAll()
    {
        daemon.on("exec", [](Peer &peer, const json::Value &request) {
            peer.event(request, kStart);
            peer.event(request, kDone);
            peer.result(request, "\"exit\":0");
        });
    }
    Ended run(std::vector<std::string> words, RunnerProcess::Options options = {}) const
    {
        return RunnerProcess(object.path(), std::move(words), std::move(options)).finish();
    }
    // The exec frame as JSON text.
    std::string execFrame() const { return daemon.request("exec"); }
};

} // namespace cortexfs::runner::test
