// What one frame of the control socket means for the runner.
#pragma once

#include "app/runner/buffer.h"

namespace cortexfs::runner {

struct Reply {
    enum class Kind {
        Event,  // of our run: `body` is the event without its first brace, as the daemon wrote it behind the id
        Result, // the last frame; read `exit`, `diagnostic` and `usage` from the line
        Error,  // the daemon refuses the request: `code` and `message` are in the line
        Foreign // nothing for us
    };
    Kind kind = Kind::Foreign;
    Text body;
};

// Any bytes are safe. The daemon writes the id first, so an event is recognised without reading it through.
Reply replyOf(Text line);

} // namespace cortexfs::runner
