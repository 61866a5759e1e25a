// Replies of model servers, as bytes, through the whole of the decoding, and what is kept of them into the next request.
// A target for one format is this and one line.
#pragma once

#include "common/json/json.h"
#include "daemon/providers/wire/core/response_decoder.h"
#include "tests/fuzz/check.h"

#include <algorithm>
#include <cstdint>
#include <string>

namespace cortexfs::fuzz {

struct Head {
    int status = 200;
    const char *type = "text/event-stream";
    bool broken = false; // the connection, at the end
};

inline constexpr Head kHeads[] = {
    {200, "text/event-stream"},
    {200, "application/json"},
    {200, "text/html"},
    {200, ""},
    {429, "application/json"},
    {400, "text/html"},
    {200, "text/event-stream", true},
    {302, ""},
};

class Observer {
public:
    void take(const std::vector<abi::Event> &events)
    {
        for (const abi::Event &event : events) {
            const std::string line = event.toJson();
            check(json::parse(line).isOk(), "an event is JSON", line);
            check(line.find('\n') == std::string::npos, "an event is one line", line);
            switch (event.type) {
            case abi::EventType::Delta: takePiece(event, m_text); break;
            case abi::EventType::ReasoningDelta: takePiece(event, m_reasoning); break;
            case abi::EventType::ReasoningMessage:
                check(event.text == m_reasoning, "a reasoning message is the sum of its deltas", line);
                m_reasoning.clear();
                break;
            case abi::EventType::Message:
                ++m_messages;
                for (const abi::ContentPart &part : event.content)
                    m_answer.parts.push_back({.text = part.text});
                break;
            case abi::EventType::ToolCall:
                ++m_calls;
                m_answer.toolCalls.push_back({event.callId, event.name, event.arguments});
                check(!event.callId.empty() && !event.name.empty(), "a call has an id and a name", line);
                break;
            case abi::EventType::Usage: ++m_usages; break;
            default: check(false, "an event that belongs to the run", line);
            }
            if (!event.opaque.empty())
                m_answer.opaque = event.opaque;
            m_out += line + event.opaque + "\n";
        }
    }

    std::string finish(const wire::ResponseDecoder &decoder)
    {
        check(decoder.isFinished(), "a reply that has ended is finished");
        check(decoder.reason().has_value() != decoder.failure().has_value(), "a reply succeeds or fails");
        check(m_messages <= 1 && m_usages <= 1, "at most one message and one usage", m_out);
        if (decoder.failure()) {
            check(m_messages + m_calls + m_usages == 0, "a failed reply leaves its deltas only", m_out);
            const std::string line = abi::events::error("r", decoder.failure()->error).toJson();
            check(json::parse(line).isOk(), "an error is JSON", line);
            m_out += line;
        } else {
            m_out += abi::stopReasonWord(*decoder.reason());
        }
        return m_out;
    }

    // What a session keeps of it.
    models::Message answer() const
    {
        models::Message out = m_answer;
        out.role = models::Message::Role::Assistant;
        out.opaqueProvider = "p";
        return out;
    }

private:
    static void takePiece(const abi::Event &event, std::string &text)
    {
        check(!event.text.empty(), "a delta is not empty");
        check(event.offset == static_cast<std::int64_t>(text.size()), "an offset counts the bytes before it");
        text += event.text;
    }

    models::Message m_answer;
    std::string m_out;
    std::string m_text;
    std::string m_reasoning;
    int m_messages = 0;
    int m_calls = 0;
    int m_usages = 0;
};

// The turn goes back to the provider it came from: whatever it was, the next request is one.
inline void sendAgain(const wire::WireFormat &format, const models::Message &answer)
{
    models::Conversation next;
    next.messages.resize(1);
    next.messages[0].parts.push_back({.text = "Go"});
    next.messages.push_back(answer);
    next.messages.push_back(next.messages[0]);
    const auto request = format.encode(next, {.nativeModel = "m", .provider = "p"});
    check(request.isOk(), "an answer can be sent again", answer.opaque);
    check(json::parse(request->body).isOk(), "a request is JSON", request->body);
}

inline std::string decode(const wire::WireFormat &format, const Head &head, std::string_view bytes,
                          std::size_t pieceSize)
{
    wire::ResponseDecoder decoder(format, {{"fs_read", "fs.read"}});
    decoder.onHead(head.status, {{"content-type", head.type}}, 1'764'500'000'000);
    Observer observer;
    while (!bytes.empty()) {
        const std::string_view piece = bytes.substr(0, pieceSize);
        bytes.remove_prefix(piece.size());
        std::vector<abi::Event> events;
        decoder.onBytes(piece, events);
        observer.take(events);
    }
    std::vector<abi::Event> events;
    decoder.onEnd(head.broken ? std::optional(errors::connectionReset("closed")) : std::nullopt, events);
    observer.take(events);
    std::string out = observer.finish(decoder);
    sendAgain(format, observer.answer());
    return out;
}

inline void fuzzReply(const char *formatName, const std::uint8_t *data, std::size_t size)
{
    const wire::WireFormat &format = *wire::findByFormat(formatName);
    std::string_view input = inputOf(data, size);
    const std::size_t pieceSize = 1 + takeByte(input) % 32;
    const Head &head = kHeads[takeByte(input) % std::size(kHeads)];
    const std::string whole = decode(format, head, input, std::max<std::size_t>(input.size(), 1));
    check(decode(format, head, input, pieceSize) == whole, "events do not depend on how the bytes come", whole);
}

} // namespace cortexfs::fuzz
