// Puts the fragments of tool calls together. Servers number them, or give ids, or neither, or both wrongly; the rules are
// those that survive all of them:
//
//  1. A known id is that call. A new id adopts the call on its index if that one has no id yet, else it is a new call,
//     even if the index is taken.
//  2. Without an id a known index is the latest call on it. Without both, a name begins a new call, anything else goes to
//     the last one.
//  3. A fragment with a name and arguments that begin an object, for a call whose arguments are already whole, is a new
//     call (servers that repeat an id or an index). The same call once more, id, name and arguments, is no new one.
//  4. A name is set once; pieces of arguments are joined; an object is written out once; null is nothing yet.
#pragma once

#include "common/base/result.h"
#include "daemon/providers/wire/core/json_text.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cortexfs::wire {

struct ToolCallFragment {
    std::string_view id; // empty: none
    std::optional<std::int64_t> index;
    std::string_view name;      // empty: none
    std::string_view arguments; // a piece of their JSON text; may be empty
};

struct CollectedCall {
    std::string callId;
    bool isGeneratedId = false;
    std::string name;
    std::string arguments;    // JSON text of an object on one line
    std::string rawArguments; // instead of them, when they are no object: such a call is never executed
    std::size_t position = 0; // among all calls of the reply, as positionOf() gives it
};

class ToolCallAccumulator {
public:
    // The position of the call it went to. EMSGSIZE when the arguments of a call pass limits::kToolArguments,
    // or for more than 1024 calls.
    Result<std::size_t> add(const ToolCallFragment &fragment);
    bool isEmpty() const { return m_calls.empty(); }

    // All calls in the order they began. `idSeed` makes the ids of those that have none: the same seed, the same ids.
    // With `dropBroken`, for a reply that was cut by its length limit, calls without whole arguments are left out.
    // EBADMSG for a call without a name.
    Result<std::vector<CollectedCall>> collect(std::uint64_t idSeed, bool dropBroken) const;

private:
    struct Call {
        std::string id;
        std::string name;
        std::string arguments;
        ObjectBalance balance;
        bool sharesId = false; // its id belongs to an earlier call
    };

    std::optional<std::size_t> find(const ToolCallFragment &fragment) const;
    std::size_t begin(const ToolCallFragment &fragment);

    std::vector<Call> m_calls;
    std::unordered_map<std::string, std::size_t> m_byId;
    std::unordered_map<std::int64_t, std::size_t> m_byIndex;
};

} // namespace cortexfs::wire
