// Runs the built ctx in a world of its own: a temporary tree, a temporary runtime directory, a clean environment.
#pragma once

#include "tests/ctx/fake_daemon.h"

#include <QTemporaryDir>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cortexfs::ctx::test {

struct Outcome {
    int exitCode = -1; // -1: killed by a signal or by the time limit
    int signal = 0;
    std::string out;
    std::string err;
    bool echoesAfter = true; // of a run on a terminal: does it show what is typed, afterwards?
};

// What happens on the terminal side of a pty run, called again and again with all that was shown so far until it gives
// false; `type` sends keys.
using Typist = std::function<bool(const std::string &shown, const std::function<void(const std::string &)> &type)>;

class World {
public:
    World();

    const std::string &root() const { return m_root; }
    const std::string &runtime() const { return m_runtime; }
    std::string base() const { return m_base; }
    // Starts listening on <runtime>/control.sock.
    FakeDaemon &daemon();
    void stopDaemon() { m_daemon.reset(); }
    // Starts listening on <runtime>/<name>.sock, the socket of an object such as "model/debug/echo".
    FakeDaemon &object(const std::string &name = "model/debug/echo");
    // Its socket stays, as after a kill -9.
    void stopObject() { m_object.reset(); }

    // status, model/debug/echo with its .d, model/main, model/local/m1, agent/, tool/, home/, shared/
    void makeTree();
    void write(const std::string &path, const std::string &text, int mode = 0644);
    std::string read(const std::string &path) const;

    // --root and --runtime come from the environment, unless `environment` says otherwise ("" removes a variable).
    Outcome run(const std::vector<std::string> &arguments, const std::string &input = {},
                const std::map<std::string, std::string> &environment = {}) const;
    // The same on a pseudo terminal: what it shows is `out`.
    Outcome runOnTerminal(const std::vector<std::string> &arguments, const Typist &typist = {},
                          const std::map<std::string, std::string> &environment = {}) const;
    // Through /bin/bash, with $CTX naming the program.
    Outcome shell(const std::string &script, const std::map<std::string, std::string> &environment = {}) const;

private:
    Outcome runCommand(const std::vector<std::string> &command, const std::string &input,
                       const std::map<std::string, std::string> &environment) const;
    std::map<std::string, std::string> fullEnvironment(const std::map<std::string, std::string> &changes) const;

    QTemporaryDir m_directory;
    std::string m_base;
    std::string m_root;
    std::string m_runtime;
    std::unique_ptr<FakeDaemon> m_daemon;
    std::unique_ptr<FakeDaemon> m_object;
};

std::string programPath();

} // namespace cortexfs::ctx::test
