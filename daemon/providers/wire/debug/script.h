// The models that need no network: debug/echo and debug/script (decisions, section 5). Pure: what happens next, never
// when; the run waits, emits and stamps.
//
// debug/echo says the last user message. debug/script reads it line by line:
//
//   say TEXT          one delta                     call TOOL JSON    a tool call, after the turn's message
//   think TEXT        one reasoning delta           wait MS           a pause
//   repeat N TEXT     N deltas of TEXT              fail ERRNO        the reply fails here
//   turn              the end of this turn; what follows answers the tool results. Without it their text is said.
//
// Any other line, also one of these that is not well formed, is said as it stands. Pieces are joined as they are.
#pragma once

#include "common/abi/event.h"
#include "daemon/models/types/conversation.h"
#include "daemon/providers/wire/core/reply_failure.h"

#include <memory>
#include <optional>
#include <string_view>

namespace cortexfs::wire::debug {

class ScriptSource {
public:
    struct Step {
        enum class Kind {
            Emit, // `event`, without `run`: deltas as they come, then message, tool calls, usage
            Wait, // `waitMs` before the next step is asked for
            Fail, // `failure`; nothing comes after it
            End,  // ok, with `reason`; nothing comes after it
        };
        Kind kind = Kind::End;
        abi::Event event;
        int waitMs = 0;
        std::optional<ReplyFailure> failure;
        abi::StopReason reason = abi::StopReason::Stop;
    };

    // `model`: "echo" or "script"; any other name echoes, so that the driver word `debug` works for every model.
    ScriptSource(std::string_view model, const models::Conversation &conversation);
    ScriptSource(ScriptSource &&) noexcept;
    ScriptSource &operator=(ScriptSource &&) noexcept;
    ~ScriptSource();

    // One step at a time, made when it is asked for: `repeat 500000 x` costs no memory but the message's own text. After
    // Fail or End it is given again. EMSGSIZE (Fail) when the text passes limits::kMessageText.
    Step next();

private:
    struct State;
    std::unique_ptr<State> m_state;
};

} // namespace cortexfs::wire::debug
