#include "tests/wire/feed.h"

namespace cortexfs::test {

namespace {
const char *const kRun = "r1";
} // namespace

std::vector<std::string> Decoded::lines() const
{
    std::vector<std::string> out = {abi::events::start(kRun, "test/model").toJson()};
    for (abi::Event event : events) {
        event.run = kRun;
        out.push_back(event.toJson());
    }
    if (failure)
        out.push_back(abi::events::error(kRun, failure->error).toJson());
    out.push_back(abi::events::done(kRun, failure ? abi::RunStatus::Error : abi::RunStatus::Ok, reason).toJson());
    return out;
}

std::string Decoded::text() const
{
    std::string out;
    for (const std::string &line : lines())
        out += line + "\n";
    if (failure) {
        out += failure->retryable ? "retryable " : "";
        out += failure->mayFallBack ? "mayFallBack " : "";
        out += failure->retryAfterMs ? std::to_string(*failure->retryAfterMs) : "";
    }
    return out;
}

std::string Decoded::code() const { return failure ? std::string(failure->error.name()) : std::string(); }

Decoded decode(const Reply &reply, const std::vector<std::size_t> &cuts)
{
    const wire::WireFormat *format = wire::findByFormat(reply.format);
    wire::ResponseDecoder decoder(*format, reply.toolNames);
    Decoded out;
    decoder.onHead(reply.status, reply.headers, reply.wallMs);
    std::size_t begin = 0;
    const auto feed = [&](std::size_t end) {
        decoder.onBytes(std::string_view(reply.body).substr(begin, end - begin), out.events);
        begin = end;
    };
    for (const std::size_t cut : cuts)
        feed(cut);
    feed(reply.body.size());
    decoder.onEnd(reply.transport, out.events);
    out.reason = decoder.reason();
    out.failure = decoder.failure();
    out.dataEvents = decoder.dataEvents();
    return out;
}

Decoded decodeInPieces(const Reply &reply, std::size_t pieceSize)
{
    std::vector<std::size_t> cuts;
    for (std::size_t at = pieceSize; at < reply.body.size(); at += pieceSize)
        cuts.push_back(at);
    return decode(reply, cuts);
}

std::string sse(const std::vector<std::string> &events)
{
    std::string out;
    for (const std::string &event : events)
        out += "data: " + event + "\n\n";
    return out;
}

} // namespace cortexfs::test
