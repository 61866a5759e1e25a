#include "daemon/providers/wire/openai_responses/responses_format.h"

#include "daemon/providers/wire/core/model_list.h"
#include "daemon/providers/wire/openai_responses/responses_decoder.h"
#include "daemon/providers/wire/openai_responses/responses_encoder.h"

namespace cortexfs::wire::openai_responses {

namespace {

class ResponsesFormat final : public WireFormat {
public:
    const WireDescriptor &descriptor() const override { return m_descriptor; }
    Result<WireRequest> encode(const models::Conversation &conversation, const EncodeContext &context) const override
    {
        return ResponsesEncoder(conversation, context).encode();
    }
    std::unique_ptr<ChunkDecoder> makeDecoder() const override { return std::make_unique<ResponsesDecoder>(); }
    Result<ListRequest> encodeList(std::string_view) const override
    {
        return ListRequest{.path = "/models",
                           .headers = {{"Accept", "application/json"}},
                           .auth = {.headerName = "Authorization", .prefix = "Bearer "}};
    }
    Result<ModelPage> decodeList(const json::Value &document, const EncodeContext &) const override
    {
        return readModelList(document);
    }

private:
    WireDescriptor m_descriptor{
        .format = std::string(kFormatName), .driver = "openai-responses", .title = "OpenAI Responses", .isRich = true};
};

} // namespace

const WireFormat &format()
{
    static const ResponsesFormat instance;
    return instance;
}

} // namespace cortexfs::wire::openai_responses
