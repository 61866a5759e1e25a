#include "app/runner/sequence.h"

#include "app/runner/frame_text.h"

namespace cortexfs::runner {

namespace {

// The run of a sequence that the daemon never began.
constexpr char kNoRun[] = "r0";

void open(Buffer &out, const char *type, Text run)
{
    out.append("{\"type\":\"");
    out.append(type);
    out.append("\",\"run\":");
    appendQuoted(out, run);
}

} // namespace

void Sequence::take(Text body, Buffer &out)
{
    const size_t begin = out.size();
    out.append("{", 1);
    out.append(body);
    if (body.startsWith("\"type\":\"start\"")) {
        m_hasStarted = true;
        m_run.clear();
        appendUnquoted(m_run, memberOf({out.data() + begin, out.size() - begin}, "run"));
    } else if (body.startsWith("\"type\":\"done\"")) {
        m_isDone = true;
    }
    out.append("\n", 1);
}

void Sequence::fail(const char *code, Text message, Buffer &out)
{
    if (m_isDone)
        return;
    const Text run = m_run.size() > 0 ? m_run.text() : textOf(kNoRun);
    if (!m_hasStarted) {
        open(out, "start", run);
        out.append(",\"model\":");
        constexpr size_t kClass = sizeof "model/" - 1;
        appendQuoted(out,
                     m_object.startsWith("model/") ? Text{m_object.data + kClass, m_object.size - kClass} : m_object);
        out.append("}\n");
    }
    open(out, "error", run);
    out.append(",\"code\":");
    appendQuoted(out, textOf(code));
    out.append(",\"message\":");
    appendQuoted(out, message);
    out.append("}\n");
    open(out, "done", run);
    out.append(",\"status\":\"error\"}\n");
    m_hasStarted = true;
    m_isDone = true;
}

} // namespace cortexfs::runner
