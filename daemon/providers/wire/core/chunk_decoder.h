// What a wire format adds to the decoding of a reply: the meaning of its events. ResponseDecoder does the rest and calls
// nothing here once the reply is finished.
#pragma once

#include "common/json/json.h"
#include "daemon/providers/wire/core/reply_builder.h"

#include <string_view>

namespace cortexfs::wire {

class ChunkDecoder {
public:
    virtual ~ChunkDecoder() = default;
    // False for an event that says only that the connection lives: it does not re-arm the idle timer.
    virtual bool isProgress(const json::Value &) const { return true; }
    // One event of the stream, an object; errors were already taken out.
    virtual void onEvent(std::string_view name, const json::Value &data, ReplyBuilder &reply) = 0;
    // `data: [DONE]`. A format that does not end so ignores it.
    virtual void onDoneMarker(ReplyBuilder &) {}
    // The reply was one JSON object instead of a stream.
    virtual void onDocument(const json::Value &body, ReplyBuilder &reply) = 0;
    // The stream is at its end, cleanly or not: finishes the reply if the provider's terminal signal was seen before,
    // else leaves it as it is.
    virtual void onStreamEnd(ReplyBuilder &reply) = 0;
};

} // namespace cortexfs::wire
