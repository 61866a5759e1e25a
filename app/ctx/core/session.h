// What a command works with: where the daemon and its tree are, the way to ask it, standard output. One a process.
#pragma once

#include "app/ctx/core/invocation.h"
#include "app/ctx/core/output.h"
#include "common/base/places.h"
#include "common/control_client/client.h"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace cortexfs::ctx {

class Session {
public:
    // Options win over the environment; --system and --user win over CTX_ROOT and CORTEXFS_RUNTIME_DIR too. A user who
    // has no cortexd of his own and gave no place uses the machine's. EINVAL as resolvePlaces().
    static Result<Session> create(const GlobalOptions &options, const Environment &environment, Output &out);

    const Places &places() const { return m_places; }
    const Environment &environment() const { return m_environment; }
    Output &out() const { return *m_out; }

    // The mounted tree. When only the runtime directory was given, the daemon there is asked.
    std::string mount();
    // Connects to the daemon. When only the tree was given, the tree says where its socket is. An absent daemon is
    // EHOSTDOWN with how to start it.
    Result<control::Client> connect(std::chrono::milliseconds time = control::kReplyTime);
    // connect() and one call.
    Result<json::Document> ask(std::string_view op, std::string_view members = {},
                               std::chrono::milliseconds time = control::kReplyTime);
    std::string controlSocket();

    // "start it with ..."
    std::string startHint() const;

private:
    Session(Places places, const Environment &environment, Output &out)
        : m_places(std::move(places)), m_environment(environment), m_out(&out)
    {}

    Places m_places;
    Environment m_environment;
    Output *m_out;
    bool m_hasRoot = false; // given by option or environment
    bool m_hasRuntime = false;
    std::optional<std::string> m_mount; // found out
    std::optional<std::string> m_socket;
};

// {"a":1} -> "a":1, for the members of a request.
std::string_view membersOf(std::string_view objectJson);
// The result without its "id" and "type", as one JSON object: what --json prints.
std::string factsJson(const json::Value &result);

} // namespace cortexfs::ctx
