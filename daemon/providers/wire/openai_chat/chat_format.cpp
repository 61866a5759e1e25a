#include "daemon/providers/wire/openai_chat/chat_format.h"

#include "daemon/providers/wire/core/model_list.h"
#include "daemon/providers/wire/openai_chat/chat_decoder.h"
#include "daemon/providers/wire/openai_chat/chat_encoder.h"
#include "daemon/providers/wire/openai_chat/dialect.h"

namespace cortexfs::wire::openai_chat {

namespace {

ListRequest listRequest()
{
    return {.path = "/models",
            .headers = {{"Accept", "application/json"}},
            .auth = {.headerName = "Authorization", .prefix = "Bearer "}};
}

// Gemini lists "models/gemini-x" and is asked for "gemini-x".
void stripResourceNames(ModelPage &page)
{
    constexpr std::string_view kPrefix = "models/";
    for (ListedModel &model : page.models) {
        if (model.id.starts_with(kPrefix) && model.id.size() > kPrefix.size())
            model.id.erase(0, kPrefix.size());
    }
}

class ChatFormat final : public WireFormat {
public:
    const WireDescriptor &descriptor() const override { return m_descriptor; }
    Result<WireRequest> encode(const models::Conversation &conversation, const EncodeContext &context) const override
    {
        return ChatEncoder(conversation, context).encode();
    }
    std::unique_ptr<ChunkDecoder> makeDecoder() const override { return std::make_unique<ChatDecoder>(); }
    Result<ListRequest> encodeList(std::string_view) const override { return listRequest(); }
    Result<ModelPage> decodeList(const json::Value &document, const EncodeContext &context) const override
    {
        Result<ModelPage> page = readModelList(document);
        if (page && dialectFor(context).server == Server::Gemini)
            stripResourceNames(*page);
        return page;
    }

private:
    WireDescriptor m_descriptor{.format = std::string(kFormatName),
                                .driver = "openai-chat",
                                .title = "OpenAI Chat Completions",
                                .isDefault = true};
};

} // namespace

const WireFormat &format()
{
    static const ChatFormat instance;
    return instance;
}

} // namespace cortexfs::wire::openai_chat
