// Events of a streamed message, or a whole one, into canonical events (Anthropic API reference, "Streaming messages").
//
// Complete when a stop_reason or message_stop was seen. Counts of message_delta are the whole so far and replace those
// before; the prompt is the sum of its three parts. Unknown events, blocks and deltas are skipped.
#pragma once

#include "daemon/providers/wire/core/chunk_decoder.h"
#include "daemon/providers/wire/core/turn_layout.h"

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace cortexfs::wire::anthropic_messages {

class MessagesDecoder final : public ChunkDecoder {
public:
    bool isProgress(const json::Value &data) const override { return data["type"].stringOr("") != "ping"; }
    void onEvent(std::string_view name, const json::Value &data, ReplyBuilder &reply) override;
    void onDocument(const json::Value &body, ReplyBuilder &reply) override;
    void onStreamEnd(ReplyBuilder &reply) override;

private:
    struct Block {
        enum class Kind { Text, Thinking, Redacted, Call, Other };
        Kind kind = Kind::Other;
        bool isClosed = false;
        std::size_t textBytes = 0;
        std::string thinking;
        std::string signature;
        std::string raw; // Redacted: the block itself
        std::string callId;
        std::string name;
        std::string input;  // whole, as the block began with it
        std::string pieces; // of the JSON text
    };

    void takeStart(const json::Value &data, ReplyBuilder &reply);
    void takeDelta(const json::Value &data, ReplyBuilder &reply);
    void takeStop(const json::Value &data, ReplyBuilder &reply);
    void takeMessageDelta(const json::Value &data, ReplyBuilder &reply);

    Block *begin(const json::Value &content, std::optional<std::int64_t> index, ReplyBuilder &reply);
    // The open block that an event is about; a new one of `kind` when its start was lost. Null when there are too many.
    Block *blockFor(const json::Value &data, Block::Kind kind, ReplyBuilder &reply);
    Block *add(Block::Kind kind, std::optional<std::int64_t> index, ReplyBuilder &reply);
    void addText(Block &block, std::string_view text, ReplyBuilder &reply);
    void addThinking(Block &block, std::string_view text, ReplyBuilder &reply);
    void close(Block &block, ReplyBuilder &reply);

    void takeUsage(const json::Value &usage);
    void finish(ReplyBuilder &reply);
    // The calls of the reply that were not cut, in their order; false when the reply failed.
    bool addCalls(bool wasCut, std::vector<std::optional<std::size_t>> &positions, ReplyBuilder &reply);
    TurnLayout layoutOf(const std::vector<std::optional<std::size_t>> &positions, const ReplyBuilder &reply,
                        abi::StopReason reason) const;

    std::vector<Block> m_blocks;
    std::unordered_map<std::int64_t, std::size_t> m_byIndex; // the latest of that number
    std::optional<std::int64_t> m_input;
    std::optional<std::int64_t> m_cacheRead;
    std::optional<std::int64_t> m_cacheWrite;
    std::optional<std::int64_t> m_output;
    std::optional<abi::StopReason> m_reason;
};

} // namespace cortexfs::wire::anthropic_messages
