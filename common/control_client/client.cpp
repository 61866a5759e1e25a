#include "common/control_client/client.h"

namespace cortexfs::control {

namespace {

Error notAReply(std::string_view why)
{
    return errors::badMessage("cortexd sent something that is no reply (" + std::string(why) + ")");
}

Error errorOf(const json::Value &frame)
{
    const int number = errnoFromName(frame["code"].stringOr(""));
    std::string message(frame["message"].stringOr(""));
    if (message.empty())
        message = "cortexd refused the request";
    return makeError(number == 0 ? EIO : number, std::move(message));
}

} // namespace

std::string requestFrame(std::string_view op, std::string_view id, std::string_view members)
{
    std::string frame = "{\"op\":";
    json::appendQuoted(frame, op);
    frame += ",\"id\":";
    json::appendQuoted(frame, id);
    if (!members.empty()) {
        frame += ',';
        frame += members;
    }
    frame += '}';
    return frame;
}

Result<Frame> readFrame(std::string_view text, std::string_view id)
{
    Result<json::Document> document = json::parse(text);
    if (!document)
        return notAReply("invalid JSON, " + document.error().text());
    const json::Value root = document->root();
    const auto type = root["type"].asString();
    if (!type)
        return notAReply("no type");
    const json::Value replyId = root["id"];
    const bool isOurs = replyId.asString() == id;
    if (*type == "error" && (isOurs || replyId.isNull())) {
        // An exec has error events in its stream; those carry a run and are no answer to the request.
        if (root["run"].isMissing())
            return errorOf(root);
    }
    Frame frame;
    if (isOurs)
        frame.kind = *type == "result" ? FrameKind::Result : FrameKind::Stream;
    frame.document = std::move(*document);
    return frame;
}

Result<Client> Client::connect(const std::string &socketPath, std::chrono::milliseconds time)
{
    Result<Connection> connection = Connection::open(socketPath, Deadline::after(time));
    if (!connection)
        return connection.error();
    return Client(std::move(*connection));
}

Result<void> Client::send(std::string_view frame, std::chrono::milliseconds time)
{
    const Result<void> sent = m_connection.send(frame, Deadline::after(time));
    // Closed while we sent: the reason may stand in a frame that came before; wait() finds it.
    if (!sent && sent.error().number() == ECONNRESET)
        return {};
    return sent;
}

Result<json::Document> Client::wait(std::string_view id, std::chrono::milliseconds time, const OnFrame &onFrame)
{
    for (;;) {
        const Result<std::string_view> text = m_connection.receive(Deadline::after(time));
        if (!text)
            return text.error();
        Result<Frame> frame = readFrame(*text, id);
        if (!frame)
            return frame.error();
        if (frame->kind == FrameKind::Result)
            return std::move(frame->document);
        if (frame->kind == FrameKind::Stream && onFrame) {
            if (const Result<void> taken = onFrame(frame->document.root()); !taken)
                return taken.error();
        }
    }
}

Result<json::Document> Client::call(std::string_view op, std::string_view members, std::chrono::milliseconds time,
                                    const OnFrame &onFrame)
{
    const std::string id = nextId();
    if (const Result<void> sent = send(requestFrame(op, id, members), time); !sent)
        return sent.error();
    return wait(id, time, onFrame);
}

} // namespace cortexfs::control
