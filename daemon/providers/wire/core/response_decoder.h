// Turns the bytes of one HTTP reply into canonical events, whatever the format: status and error bodies to errno, event
// stream or plain JSON, SSE framing, limits, the terminal rule.
//
// Order of calls: onHead once, onBytes any number of times, onEnd once. Events come without `run`; the run stamps it.
// The same bytes give the same events however they are split. A failed or cut reply yields its deltas and a failure,
// never a message or a tool call.
#pragma once

#include "common/base/limits.h"
#include "daemon/providers/wire/core/reply_failure.h"
#include "daemon/providers/wire/wire_format.h"

namespace cortexfs::wire {

class ResponseDecoder {
public:
    // `toolNames`: of the request that is answered. `mostBytes`: what is left of limits::kRunBytes; more is EMSGSIZE.
    explicit ResponseDecoder(const WireFormat &format, ToolNames toolNames = {},
                             std::size_t mostBytes = limits::kRunBytes);
    ~ResponseDecoder();

    // `wallMs` is the time now, for Retry-After dates.
    void onHead(int status, const std::vector<Header> &headers, std::int64_t wallMs);
    void onBytes(std::string_view bytes, std::vector<abi::Event> &out);
    // `transport`: why the connection ended, nothing for a clean end.
    void onEnd(const std::optional<Error> &transport, std::vector<abi::Event> &out);

    // The provider's own terminal signal was seen, or the reply failed: the rest of the connection does not matter.
    bool isFinished() const;
    // Set when finished and ok.
    std::optional<abi::StopReason> reason() const;
    // Set when finished and not ok.
    const std::optional<ReplyFailure> &failure() const;
    // Data events so far (comments and what a format calls no progress do not count): the idle timer watches this.
    std::uint64_t dataEvents() const;

private:
    struct State;
    std::unique_ptr<State> m_state;
};

} // namespace cortexfs::wire
