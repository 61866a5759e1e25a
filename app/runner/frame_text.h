// The little JSON the runner needs: writing strings, and reading members of one flat frame. Any bytes are safe to read.
#pragma once

#include "app/runner/buffer.h"

namespace cortexfs::runner {

// "text" with quotes and escapes. The text is valid UTF-8.
void appendQuoted(Buffer &out, Text text);

// Length of the longest part from the start that is whole, valid UTF-8. A broken sequence sets `isBroken`; one that is
// only cut off at the end does not.
size_t wholeUtf8(Text text, bool &isBroken);

// The raw JSON text of a member of the outermost object; data is null when there is none or the frame is no object.
// A string keeps its quotes.
Text memberOf(Text frame, const char *key);
// The text of a JSON string, unescaped; nothing for anything else.
bool appendUnquoted(Buffer &out, Text json);
// A non-negative whole number that fits, else `fallback`.
int numberOf(Text json, int fallback);
// Control characters as \xNN, so that a message cannot drive the terminal.
void appendPrintable(Buffer &out, Text text);

} // namespace cortexfs::runner
