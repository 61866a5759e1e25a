#include "app/runner/reply.h"

#include "app/runner/frame_text.h"
#include "app/runner/request.h"

#include <string.h>

namespace cortexfs::runner {

namespace {

constexpr char kPrefix[] = "{\"id\":" CORTEXFS_RUNNER_ID ",";

bool isOfType(Text body, const char *word) { return memberOf(body, "type").equals(word); }

} // namespace

Reply replyOf(Text line)
{
    Reply reply;
    if (!line.startsWith(kPrefix)) {
        // A frame that the daemon could not read has no id to give back.
        if (memberOf(line, "id").equals("null") && isOfType(line, "\"error\""))
            reply.kind = Reply::Kind::Error;
        return reply;
    }
    const size_t skipped = sizeof kPrefix - 1;
    reply.body = {line.data + skipped, line.size - skipped};
    reply.kind = Reply::Kind::Event;
    if (reply.body.startsWith("\"type\":\"result\""))
        reply.kind = Reply::Kind::Result;
    // An error that belongs to a run is an event of it.
    else if (reply.body.startsWith("\"type\":\"error\"") && !memberOf(line, "run").data)
        reply.kind = Reply::Kind::Error;
    return reply;
}

} // namespace cortexfs::runner
