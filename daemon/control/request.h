// One request of the control socket and the way to answer it.
#pragma once

#include "common/base/result.h"
#include "common/json/json.h"
#include "daemon/sockets/peer.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace cortexfs::control {

// Sends frames of one request. Holds nothing of the connection: once that is gone, sending does nothing. Copyable, so
// that an operation that takes time can keep it. Qt thread.
class Responder {
public:
    using Send = std::function<void(std::string_view line, bool isLast)>;
    Responder(std::string idJson, Send send) : m_idJson(std::move(idJson)), m_send(std::move(send)) {}

    // {"id":ID,"type":"result",<members>}; `members` is the inside of a JSON object or empty. An answer that does not
    // fit into a frame becomes EMSGSIZE: the peer's reader would be lost behind it.
    void result(std::string_view members) const;
    void error(const Error &error) const;
    // A frame of a stream before the result: {"id":ID,<members>}, which must fit into a frame.
    void part(std::string_view members) const;

private:
    std::string m_idJson;
    Send m_send;
};

struct Request {
    std::string op;
    std::string idJson; // the id as JSON text: a string
    sockets::Peer peer;
    json::Value body; // valid during the handler's call only

    std::string text(std::string_view key, std::string_view fallback = {}) const
    {
        return std::string(body[key].stringOr(fallback));
    }
};

// {"id":ID,"type":"error","code","message"}; `idJson` is "null" where no request is known. A long message is cut.
std::string errorLine(std::string_view idJson, const Error &error);
// At most `bytes` of a text from outside, as valid UTF-8.
std::string clipped(std::string_view text, std::size_t bytes);
// The members of an object that a Writer made: "{...}" without its braces.
std::string_view inside(std::string_view objectJson);

// An area of operations: "provider.list" and so on.
using Handler = std::function<void(const Request &, const Responder &)>;

} // namespace cortexfs::control
