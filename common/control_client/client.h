// Requests and replies of cortexfs.control/v1 (protocol.h) for a program that asks one thing at a time. Blocking, one
// thread. Errors of a call: those of the daemon under their own errno, those of Connection, and EBADMSG when what comes
// back is no reply.
#pragma once

#include "common/control_client/connection.h"
#include "common/json/json.h"

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

namespace cortexfs::control {

inline constexpr std::chrono::milliseconds kReplyTime{10'000};
// A provider test waits for a real model.
inline constexpr std::chrono::milliseconds kProviderTestTime{90'000};

// The request frame (without LF). `members` is the inside of a JSON object, or empty: "\"name\":\"x\"".
std::string requestFrame(std::string_view op, std::string_view id, std::string_view members);

// What one received frame is for the request with that id.
enum class FrameKind { Other, Stream, Result };
struct Frame {
    FrameKind kind = FrameKind::Other; // Other: of another request, to be ignored
    json::Document document;
};
// An error frame of this request, or of none (id null), becomes that Error. EBADMSG: no JSON object with a type.
Result<Frame> readFrame(std::string_view text, std::string_view id);

class Client {
public:
    static Result<Client> connect(const std::string &socketPath, std::chrono::milliseconds time = kReplyTime);
    explicit Client(Connection connection) : m_connection(std::move(connection)) {}

    // An error from it ends the call; the connection is then of no further use.
    using OnFrame = std::function<Result<void>(const json::Value &frame)>;

    // Sends and waits for the result; frames before it go to `onFrame`. `time` is the longest silence, not the whole.
    Result<json::Document> call(std::string_view op, std::string_view members = {},
                                std::chrono::milliseconds time = kReplyTime, const OnFrame &onFrame = {});

    // For a request frame that the caller builds itself (and wipes): `frame` was made with nextId().
    std::string nextId() { return "c" + std::to_string(++m_lastId); }
    Result<void> send(std::string_view frame, std::chrono::milliseconds time = kReplyTime);
    Result<json::Document> wait(std::string_view id, std::chrono::milliseconds time = kReplyTime,
                                const OnFrame &onFrame = {});

    Connection &connection() { return m_connection; }

private:
    Connection m_connection;
    int m_lastId = 0;
};

} // namespace cortexfs::control
