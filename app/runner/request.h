// The frames the runner sends (common/control_client/protocol.h): one exec, then its standard input, perhaps a cancel.
#pragma once

#include "app/runner/buffer.h"

// The id of the one request of a connection, as JSON.
#define CORTEXFS_RUNNER_ID "\"1\""

namespace cortexfs::runner {

struct ExecRequest {
    Text object;                 // "model/P/M"
    Text directory;              // absolute; "/" when it is unknown or not UTF-8
    char **words = nullptr;      // null-terminated; sent as `argv`, then `input` is not sent
    const Text *input = nullptr; // the first piece of standard input; null for none at all
    bool hasMoreInput = false;
    bool isTty = false;
};

// Each appends one line with its LF. All texts are valid UTF-8.
void appendExec(Buffer &out, const ExecRequest &request);
void appendInput(Buffer &out, Text piece, bool isLast);
void appendCancel(Buffer &out);

} // namespace cortexfs::runner
