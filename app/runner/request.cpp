#include "app/runner/request.h"

#include "app/runner/frame_text.h"

namespace cortexfs::runner {

namespace {

void appendWords(Buffer &out, char **words)
{
    out.append("[", 1);
    for (char **word = words; word && *word; ++word) {
        if (word != words)
            out.append(",", 1);
        appendQuoted(out, textOf(*word));
    }
    out.append("]", 1);
}

} // namespace

void appendExec(Buffer &out, const ExecRequest &request)
{
    out.append("{\"op\":\"exec\",\"id\":" CORTEXFS_RUNNER_ID ",\"object\":");
    appendQuoted(out, request.object);
    out.append(",\"argv\":");
    appendWords(out, request.words);
    out.append(",\"stdin\":");
    if (request.input && !request.words)
        appendQuoted(out, *request.input);
    else
        out.append("null");
    if (request.hasMoreInput)
        out.append(",\"stdin_open\":true");
    out.append(",\"cwd\":");
    appendQuoted(out, request.directory);
    out.append(request.isTty ? ",\"tty\":true}\n" : ",\"tty\":false}\n");
}

void appendInput(Buffer &out, Text piece, bool isLast)
{
    out.append("{\"op\":\"stdin\",\"id\":" CORTEXFS_RUNNER_ID ",\"data\":");
    appendQuoted(out, piece);
    out.append(isLast ? ",\"eof\":true}\n" : ",\"eof\":false}\n");
}

void appendCancel(Buffer &out) { out.append("{\"op\":\"cancel\",\"id\":" CORTEXFS_RUNNER_ID "}\n"); }

} // namespace cortexfs::runner
