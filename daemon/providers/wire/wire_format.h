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
    std::string nativeModel; // "gpt-5.6", what the API is asked with
    // Who is asked: opaque data goes back to the provider it came from only, and servers of one format differ in details
    // that a format tells by the name or the host. The base URL is the provider file's, also behind a route.
    std::string provider;
    std::string baseUrl;
    abi::Effort effort = abi::Effort::Auto;
    bool stream = true;
    // The model's `default` control: KEY=VALUE, applied where the request does not say otherwise.
    std::vector<std::pair<std::string, std::string>> defaults;
    std::optional<std::uint32_t> limit; // context tokens
};

// Function names as the API sees them ([A-Za-z0-9_-]{1,64}), each with the name it stands for. Names that need no change
// are left out. encode() makes the table, ResponseDecoder takes it and gives calls their own names back.
using ToolNames = std::vector<std::pair<std::string, std::string>>;

struct WireRequest {
    std::string path;            // below the base URL: "/chat/completions"
    std::vector<Header> headers; // Content-Type, Accept, version headers; no credential
    std::string body;
    AuthScheme auth;
    ToolNames toolNames; // for the decoder of the reply
};

// GET of one page of the models that a server has.
struct ListRequest {
    std::string path; // below the base URL, with a query where there is one: "/models"
    std::vector<Header> headers;
    AuthScheme auth;
};

struct ListedModel {
    std::string id;                     // what the API is asked with
    std::optional<std::uint32_t> limit; // context tokens, where the server documents them
    std::int64_t createdAt = 0;         // seconds; 0: not said
};

struct ModelPage {
    std::vector<ListedModel> models;
    std::string next; // where the next page begins; empty: this was the last
};

struct WireDescriptor {
    std::string format;     // provider file: "openai.chat"
    std::string driver;     // `driver` control: "openai-chat"
    std::string title;      // for people
    bool isDefault = false; // spoken to an endpoint whose provider file names no format
    bool isRich = false;    // carries more (reasoning items, ...): preferred for agents, not for direct use
    bool isBuiltIn = false; // answered inside the daemon, never sent anywhere: see debug/script.h
};

// Receives the events of one reply (core/chunk_decoder.h). Fed by ResponseDecoder with framed events; it never sees
// bytes, HTTP or time.
class ChunkDecoder;

class WireFormat {
public:
    virtual ~WireFormat() = default;
    virtual const WireDescriptor &descriptor() const = 0;
    // EINVAL when the conversation holds what this format cannot carry; ENOTSUP from a format that is built in.
    virtual Result<WireRequest> encode(const models::Conversation &conversation,
                                       const EncodeContext &context) const = 0;
    virtual std::unique_ptr<ChunkDecoder> makeDecoder() const = 0;
    // `next` of the page before, or empty. ENOTSUP from a format that is built in.
    virtual Result<ListRequest> encodeList(std::string_view next) const = 0;
    // EBADMSG for a document that is no list; the errno of an error that stands in its place.
    virtual Result<ModelPage> decodeList(const json::Value &document, const EncodeContext &context) const = 0;
};

// All formats of this build, in folder order. Generated from the member.cmake files.
const std::vector<const WireFormat *> &registry();
const WireFormat *findByDriver(std::string_view driver);
const WireFormat *findByFormat(std::string_view format);

} // namespace cortexfs::wire
