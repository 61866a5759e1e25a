// A wire format: how one family of model APIs is spoken. Pure: text in, text out, no sockets, no clock.
//
// A format is a folder daemon/providers/wire/<format>/ with a member.cmake. It says how a neutral conversation becomes a
// request body and how a reply's events become canonical events. What all formats share (HTTP status to errno, SSE
// framing, JSON or event stream, tool-call accumulation, size limits) is in daemon/providers/wire/core.
#pragma once

#include "common/abi/event.h"
#include "common/abi/words.h"
#include "common/base/result.h"
#include "common/json/json.h"
#include "daemon/models/types/conversation.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cortexfs::wire {

using Header = std::pair<std::string, std::string>;

// How the credential goes on the wire; the transport puts it there, a format never sees it.
struct AuthScheme {
    std::string headerName; // "Authorization"
    std::string prefix;     // "Bearer "
};

struct EncodeContext {
    std::string nativeModel;              // "gpt-5.6", what the API is asked with
    abi::Effort effort = abi::Effort::Auto;
    bool stream = true;
    // The model's `default` control: KEY=VALUE, applied where the request does not say otherwise.
    std::vector<std::pair<std::string, std::string>> defaults;
    std::optional<std::uint32_t> limit;   // context tokens
};

struct WireRequest {
    std::string path;            // below the base URL: "/chat/completions"
    std::vector<Header> headers; // Content-Type, Accept, version headers; no credential
    std::string body;
    AuthScheme auth;
};

struct WireDescriptor {
    std::string format;  // provider file: "openai.chat"
    std::string driver;  // `driver` control: "openai-chat"
    std::string title;   // for people
    bool isDefault = false; // spoken to an endpoint whose provider file names no format
    bool isRich = false;    // carries more (reasoning items, ...): preferred for agents, not for direct use
};

// Receives the events of one reply. Fed by ResponseDecoder with framed events; it never sees bytes, HTTP or time.
class ChunkDecoder;

class WireFormat {
public:
    virtual ~WireFormat() = default;
    virtual const WireDescriptor &descriptor() const = 0;
    // EINVAL when the conversation holds what this format cannot carry.
    virtual Result<WireRequest> encode(const models::Conversation &conversation, const EncodeContext &context) const = 0;
    virtual std::unique_ptr<ChunkDecoder> makeDecoder() const = 0;
};

// All formats of this build, in folder order. Generated from the member.cmake files.
const std::vector<const WireFormat *> &registry();
const WireFormat *findByDriver(std::string_view driver);
const WireFormat *findByFormat(std::string_view format);

} // namespace cortexfs::wire
