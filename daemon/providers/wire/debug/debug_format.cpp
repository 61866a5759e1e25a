#include "daemon/providers/wire/debug/debug_format.h"

#include "daemon/providers/wire/core/chunk_decoder.h"

namespace cortexfs::wire::debug {

namespace {

Error noWire() { return errors::unsupported("the driver debug answers inside the daemon and speaks to no server"); }

class NoDecoder final : public ChunkDecoder {
public:
    void onEvent(std::string_view, const json::Value &, ReplyBuilder &reply) override { reply.fail({noWire()}); }
    void onDocument(const json::Value &, ReplyBuilder &reply) override { reply.fail({noWire()}); }
    void onStreamEnd(ReplyBuilder &) override {}
};

class DebugFormat final : public WireFormat {
public:
    const WireDescriptor &descriptor() const override { return m_descriptor; }
    Result<WireRequest> encode(const models::Conversation &, const EncodeContext &) const override { return noWire(); }
    std::unique_ptr<ChunkDecoder> makeDecoder() const override { return std::make_unique<NoDecoder>(); }
    Result<ListRequest> encodeList(std::string_view) const override { return noWire(); }
    Result<ModelPage> decodeList(const json::Value &, const EncodeContext &) const override { return noWire(); }

private:
    WireDescriptor m_descriptor{
        .format = "debug", .driver = "debug", .title = "Built-in debug models", .isBuiltIn = true};
};

} // namespace

const WireFormat &format()
{
    static const DebugFormat instance;
    return instance;
}

} // namespace cortexfs::wire::debug
