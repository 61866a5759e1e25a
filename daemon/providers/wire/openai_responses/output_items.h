// The items of one response while its stream goes on: which item an event is about, and what is known of it. Servers
// number items, or name them, or do both, and some give an item another id in every event.
#pragma once

#include "common/json/json.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cortexfs::wire::openai_responses {

struct OutputItem {
    enum class Kind { Message, Call, Reasoning, Other };
    enum class Voice { None, Summary, Text }; // which of its two texts a reasoning item shows

    Kind kind = Kind::Other;
    std::string id;
    std::int64_t index = 0;
    // Numbers of the text or summary parts that gave text.
    std::set<std::int64_t> parts;

    std::size_t textBytes = 0; // message
    std::string phase;         // message: "commentary", "final_answer", or empty

    std::string callId; // call
    std::string name;
    std::string arguments;
    bool isCut = false; // the server says so
    bool isDone = false;

    Voice voice = Voice::None; // reasoning
    std::string raw;           // the item as it has to be sent back; JSON text
};

OutputItem::Kind kindOf(const json::Value &item);

class OutputItems {
public:
    // More items than that are no answer.
    static constexpr std::size_t kMost = 4096;

    // The item that an event belongs to; a new one when there is none. Null when there are too many.
    OutputItem *forEvent(const json::Value &event, OutputItem::Kind kind);
    // The item that begins with this event (response.output_item.added).
    OutputItem *begin(const json::Value &event);
    // The known item for an element of a finished response's `output`, if any.
    OutputItem *findFinished(const json::Value &item, std::int64_t position);
    OutputItem *add(OutputItem::Kind kind, std::string_view id, std::int64_t index);

    bool hasAny(OutputItem::Kind kind) const;
    // In the order of their numbers, then as they began. Valid until the next call of add, begin or forEvent.
    std::vector<OutputItem *> inOrder();

private:
    OutputItem *byId(std::string_view id);
    OutputItem *byIndex(std::optional<std::int64_t> index, OutputItem::Kind kind);

    std::vector<OutputItem> m_items;
    std::unordered_map<std::string, std::size_t> m_byId;
    std::unordered_map<std::int64_t, std::size_t> m_byIndex; // the latest of that number
    std::size_t m_last = 0;
};

} // namespace cortexfs::wire::openai_responses
