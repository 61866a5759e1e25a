#include "daemon/providers/wire/anthropic_messages/messages_format.h"

#include "daemon/providers/wire/anthropic_messages/messages_decoder.h"
#include "daemon/providers/wire/anthropic_messages/messages_encoder.h"

namespace cortexfs::wire::anthropic_messages {

namespace {

class MessagesFormat final : public WireFormat {
public:
    const WireDescriptor &descriptor() const override { return m_descriptor; }
    Result<WireRequest> encode(const models::Conversation &conversation, const EncodeContext &context) const override
    {
        return MessagesEncoder(conversation, context).encode();
    }
    std::unique_ptr<ChunkDecoder> makeDecoder() const override { return std::make_unique<MessagesDecoder>(); }

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
