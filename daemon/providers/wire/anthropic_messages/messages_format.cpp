#include "daemon/providers/wire/anthropic_messages/messages_format.h"

#include "daemon/providers/wire/anthropic_messages/messages_decoder.h"
#include "daemon/providers/wire/anthropic_messages/messages_encoder.h"
#include "daemon/providers/wire/core/model_list.h"

namespace cortexfs::wire::anthropic_messages {

namespace {

constexpr std::string_view kPageSize = "1000"; // the most; the default is a handful

// For a query: what is not unreserved becomes %XX.
std::string percentEncoded(std::string_view text)
{
    static constexpr char kHex[] = "0123456789ABCDEF";
    std::string out;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
            || std::string_view("-._~").find(c) != std::string_view::npos) {
            out += c;
        } else {
            out += '%';
            out += kHex[byte >> 4];
            out += kHex[byte & 15];
        }
    }
    return out;
}

class MessagesFormat final : public WireFormat {
public:
    const WireDescriptor &descriptor() const override { return m_descriptor; }
    Result<WireRequest> encode(const models::Conversation &conversation, const EncodeContext &context) const override
    {
        return MessagesEncoder(conversation, context).encode();
    }
    std::unique_ptr<ChunkDecoder> makeDecoder() const override { return std::make_unique<MessagesDecoder>(); }
    Result<ListRequest> encodeList(std::string_view next) const override
    {
        ListRequest request;
        request.path = "/v1/models?limit=" + std::string(kPageSize);
        if (!next.empty())
            request.path += "&after_id=" + percentEncoded(next);
        request.headers = {{"Accept", "application/json"}, {"anthropic-version", std::string(kApiVersion)}};
        request.auth = {.headerName = "x-api-key", .prefix = ""};
        return request;
    }
    Result<ModelPage> decodeList(const json::Value &document, const EncodeContext &) const override
    {
        Result<ModelPage> page = readModelList(document);
        if (page && document["has_more"].asBool().value_or(false)) {
            page->next = document["last_id"].stringOr("");
            if (page->next.empty())
                return errors::badMessage("the list says that there is more, but not where");
        }
        return page;
    }

private:
    WireDescriptor m_descriptor{
        .format = std::string(kFormatName), .driver = "anthropic-messages", .title = "Anthropic Messages"};
};

} // namespace

const WireFormat &format()
{
    static const MessagesFormat instance;
    return instance;
}

} // namespace cortexfs::wire::anthropic_messages
