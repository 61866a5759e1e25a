// One connection to the control socket: JSONL frames over a unix stream socket, every wait bounded, EINTR retried, no
// SIGPIPE. Blocking, for one thread. The frames mean nothing here; see client.h for requests and replies.
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "common/control_client/deadline.h"
#include "common/jsonl/frame_reader.h"

#include <optional>
#include <string>
#include <string_view>

namespace cortexfs::control {

class Connection {
public:
    // EHOSTDOWN: nobody listens there (no socket, a socket left by a killed daemon, something that is no socket);
    // EACCES; ETIMEDOUT: the daemon does not accept. Paths longer than sun_path are reached through their directory.
    static Result<Connection> open(const std::string &socketPath, Deadline deadline);

    // Sends one frame and its LF. The text is not copied, so that a secret in it has one place to be wiped.
    // EMSGSIZE: more than a frame may hold, nothing was sent. ECONNRESET: the peer closed; frames that it had sent before
    // can still be received. ETIMEDOUT: it does not read; the connection is then of no further use.
    Result<void> send(std::string_view frame, Deadline deadline);

    // The next whole frame without its LF, valid until the next call. ETIMEDOUT: none came. ECONNRESET: the peer closed
    // before one was complete. EMSGSIZE: it sent more than a frame may hold.
    Result<std::string_view> receive(Deadline deadline);

    // The two halves of receive(), for a caller with a poll loop of its own over fd().
    std::optional<std::string_view> takeFrame() { return m_frames.next(); }
    // Takes what the socket has now. Errors as receive(); without data it succeeds and adds nothing.
    Result<void> readAvailable();

    int fd() const { return m_fd.get(); }

private:
    explicit Connection(UniqueFd fd) : m_fd(std::move(fd)) {}

    UniqueFd m_fd;
    jsonl::FrameReader m_frames;
};

} // namespace cortexfs::control
