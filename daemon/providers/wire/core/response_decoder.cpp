#include "daemon/providers/wire/core/response_decoder.h"

#include "daemon/providers/wire/core/chunk_decoder.h"
#include "daemon/providers/wire/core/failure_classifier.h"
#include "daemon/providers/wire/core/json_text.h"
#include "daemon/providers/wire/core/redaction.h"
#include "daemon/providers/wire/core/retry_delay.h"
#include "daemon/providers/wire/core/sse_splitter.h"

#include <algorithm>

namespace cortexfs::wire {

namespace {

constexpr std::size_t kErrorBody = 256 * limits::kKiB; // what is kept of the body of a failed request
constexpr std::string_view kEventStream = "text/event-stream";
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// "Text/HTML; charset=x" -> "text/html"
std::string mediaType(const std::vector<Header> &headers)
{
    const std::string_view value = headerValue(headers, "content-type").value_or("");
    std::string out(trimmed(value.substr(0, value.find(';'))));
    std::transform(out.begin(), out.end(), out.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return out;
}

enum class Content { Unknown, Json, Events, Other };

// What a successful reply is, by its first bytes: servers lie in both directions. Unknown while they do not say.
Content sniff(std::string_view begin, bool isAll, bool saysEvents)
{
    if (begin.starts_with(kByteOrderMark))
        begin.remove_prefix(kByteOrderMark.size());
    else if (!isAll && kByteOrderMark.starts_with(begin))
        return Content::Unknown;
    while (!begin.empty() && std::string_view(" \t\r\n").find(begin.front()) != std::string_view::npos)
        begin.remove_prefix(1);
    if (begin.empty())
        return Content::Unknown;
    if (begin.front() == '{' || begin.front() == '[')
        return Content::Json;
    if (begin.front() == '<')
        return Content::Other;
    if (saysEvents || begin.front() == ':')
        return Content::Events;
    for (const std::string_view field : {"data", "event", "id", "retry", "error"}) {
        if (begin.size() > field.size()) {
            if (begin.starts_with(field)
                && std::string_view(":\r\n").find(begin[field.size()]) != std::string_view::npos)
                return Content::Events;
        } else if (!isAll && field.starts_with(begin)) {
            return Content::Unknown;
        }
    }
    return Content::Other;
}

std::uint64_t hashOf(std::uint64_t seed, std::string_view text)
{
    std::uint64_t hash = 0xcbf29ce484222325u ^ seed;
    for (const char c : text)
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return hash;
}

} // namespace

struct ResponseDecoder::State {
    State(const WireFormat &format, ToolNames names, std::size_t most)
        : decoder(format.makeDecoder()), reply(std::move(names)), mostBytes(most)
    {}

    void takeBytes(std::string_view bytes);
    void takeSuccess(std::string_view bytes);
    void decide(bool isAll);
    void takeEvents();
    void takeEvent(const SseEvent &event);
    void takeDocument(std::string_view text);
    void endSuccess(const std::optional<Error> &transport);

    void fail(Error error) { reply.fail(failureFor(std::move(error))); }
    void failAsOther()
    {
        fail(errors::badMessage(mediaKind.empty() ? "the reply is neither JSON nor an event stream"
                                                  : "unexpected content type " + presentable(mediaKind)));
    }
    bool isSuccess() const { return status >= 200 && status <= 299; }

    std::unique_ptr<ChunkDecoder> decoder;
    ReplyBuilder reply;
    SseSplitter splitter;
    std::vector<Header> headers;
    std::string mediaKind;
    std::int64_t wallMs = 0;
    int status = 0;
    bool hasSeed = false;
    Content content = Content::Unknown;
    std::string body; // error body, JSON document, or bytes that are not yet known for what they are
    std::size_t mostBytes;
    std::size_t received = 0;
    std::uint64_t dataEvents = 0;
};

void ResponseDecoder::State::takeBytes(std::string_view bytes)
{
    // What is within the limit counts however the network cuts it.
    const bool isTooMuch = bytes.size() > mostBytes - received;
    bytes = bytes.substr(0, mostBytes - received);
    received += bytes.size();
    if (isSuccess())
        takeSuccess(bytes);
    else
        body.append(bytes.substr(0, kErrorBody - std::min(kErrorBody, body.size())));
    if (isTooMuch && !reply.isFinished())
        fail(errors::tooLarge("the run received more than 64 MiB"));
}

void ResponseDecoder::State::takeSuccess(std::string_view bytes)
{
    if (content == Content::Events) {
        splitter.append(bytes);
        return takeEvents();
    }
    body.append(bytes);
    if (content == Content::Unknown)
        decide(false);
    if (content == Content::Json && body.size() > limits::kSseEvent)
        fail(errors::tooLarge("the reply is one JSON text of more than 8 MiB"));
}

void ResponseDecoder::State::decide(bool isAll)
{
    // Blank lines may come for minutes before the answer; they need not be kept, nor looked at again.
    const std::size_t first = body.find_first_not_of(" \t\r\n");
    body.erase(0, first == std::string::npos ? body.size() : first);
    content = sniff(body, isAll, mediaKind == kEventStream);
    if (content == Content::Events) {
        splitter.append(body);
        body = {};
        takeEvents();
    } else if (content == Content::Other) {
        failAsOther();
    }
}

void ResponseDecoder::State::takeEvents()
{
    while (!reply.isFinished()) {
        const auto event = splitter.next();
        if (!event)
            break;
        takeEvent(*event);
    }
    if (splitter.isOverflowed() && !reply.isFinished())
        fail(errors::tooLarge("an event of the stream is longer than 8 MiB"));
}

void ResponseDecoder::State::takeEvent(const SseEvent &event)
{
    const std::string_view data = trimmed(event.data);
    if (data.empty())
        return;
    if (data == "[DONE]") {
        ++dataEvents;
        return decoder->onDoneMarker(reply);
    }
    if (!hasSeed) {
        // Replies differ in their first event (id, time); the clock helps where a server gives neither.
        reply.setIdSeed(hashOf(static_cast<std::uint64_t>(wallMs), data));
        hasSeed = true;
    }
    const auto document = json::parseLenient(data);
    if (!document)
        return fail(errors::badMessage("a malformed event in the stream: " + document.error().message()));
    const json::Value root = document->root();
    if (event.name == "error")
        return reply.fail(failureOfFault(faultOf(root)));
    if (const auto fault = faultIn(root))
        return reply.fail(failureOfFault(*fault));
    if (!root.isObject())
        return fail(errors::badMessage("an event of the stream is no JSON object"));
    if (decoder->isProgress(root))
        ++dataEvents;
    decoder->onEvent(event.name, root, reply);
}

void ResponseDecoder::State::takeDocument(std::string_view text)
{
    ++dataEvents;
    if (text.starts_with(kByteOrderMark))
        text.remove_prefix(kByteOrderMark.size());
    reply.setIdSeed(hashOf(static_cast<std::uint64_t>(wallMs), text));
    const auto document = json::parseLenient(trimmed(text));
    if (!document)
        return fail(errors::badMessage("the reply is malformed JSON: " + document.error().message()));
    const json::Value root = document->root();
    if (const auto fault = faultIn(root))
        return reply.fail(failureOfFault(*fault));
    if (!root.isObject())
        return fail(errors::badMessage("the reply is no JSON object"));
    decoder->onDocument(root, reply);
    if (reply.isFinished())
        return;
    // Some gateways report an error as {code,message} with status 200.
    if (root["message"].isString() || root["detail"].isString())
        return reply.fail(failureOfFault(faultOf(root)));
    fail(errors::badMessage("the reply holds no answer"));
}

void ResponseDecoder::State::endSuccess(const std::optional<Error> &transport)
{
    if (content == Content::Unknown && !transport)
        decide(true);
    if (content == Content::Json && !transport)
        takeDocument(body);
    if (content == Content::Events) {
        // What a broken connection left of an event is a piece of it, not the event.
        if (!transport)
            splitter.finish();
        takeEvents();
        if (!reply.isFinished())
            decoder->onStreamEnd(reply);
    }
    if (reply.isFinished())
        return;
    if (transport)
        reply.fail(failureOfTransport(*transport));
    else if (content == Content::Unknown && !mediaKind.empty() && mediaKind != kEventStream
             && mediaKind.find("json") == std::string::npos)
        failAsOther();
    else
        fail(errors::connectionReset("the stream ended before the answer was complete"));
}

ResponseDecoder::ResponseDecoder(const WireFormat &format, ToolNames toolNames, std::size_t mostBytes)
    : m_state(std::make_unique<State>(format, std::move(toolNames), mostBytes))
{}

ResponseDecoder::~ResponseDecoder() = default;

void ResponseDecoder::onHead(int status, const std::vector<Header> &headers, std::int64_t wallMs)
{
    m_state->status = status;
    m_state->headers = headers;
    m_state->mediaKind = mediaType(headers);
    m_state->wallMs = wallMs;
}

void ResponseDecoder::onBytes(std::string_view bytes, std::vector<abi::Event> &out)
{
    if (m_state->reply.isFinished())
        return;
    m_state->reply.setSink(&out);
    m_state->takeBytes(bytes);
    m_state->reply.setSink(nullptr);
}

void ResponseDecoder::onEnd(const std::optional<Error> &transport, std::vector<abi::Event> &out)
{
    State &state = *m_state;
    if (state.reply.isFinished())
        return;
    state.reply.setSink(&out);
    if (state.status == 0)
        state.reply.fail(failureOfTransport(transport.value_or(errors::connectionReset("no reply"))));
    else if (state.isSuccess())
        state.endSuccess(transport);
    else
        state.reply.fail(failureOfStatus(state.status, state.headers, state.body, state.wallMs));
    state.reply.setSink(nullptr);
}

bool ResponseDecoder::isFinished() const { return m_state->reply.isFinished(); }

std::optional<abi::StopReason> ResponseDecoder::reason() const { return m_state->reply.reason(); }

const std::optional<ReplyFailure> &ResponseDecoder::failure() const { return m_state->reply.failure(); }

std::uint64_t ResponseDecoder::dataEvents() const { return m_state->dataEvents; }

} // namespace cortexfs::wire
