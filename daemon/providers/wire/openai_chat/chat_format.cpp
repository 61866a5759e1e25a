#include "daemon/providers/wire/openai_chat/chat_format.h"

#include "daemon/providers/wire/openai_chat/chat_decoder.h"
#include "daemon/providers/wire/openai_chat/chat_encoder.h"

namespace cortexfs::wire::openai_chat {

namespace {

class ChatFormat final : public WireFormat {
public:
    const WireDescriptor &descriptor() const override { return m_descriptor; }
    Result<WireRequest> encode(const models::Conversation &conversation, const EncodeContext &context) const override
    {
        return ChatEncoder(conversation, context).encode();
    }
    std::unique_ptr<ChunkDecoder> makeDecoder() const override { return std::make_unique<ChatDecoder>(); }

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
