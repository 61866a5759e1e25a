// The sequence of events on standard output: start ... done, also when the daemon cannot finish it.
#pragma once

#include "app/runner/buffer.h"

namespace cortexfs::runner {

class Sequence {
public:
    // "model/P/M"; may stay empty when it could not be learnt. The text outlives the sequence.
    void setObject(Text object) { m_object = object; }

    // Copies one event of the daemon; `body` is Reply::body.
    void take(Text body, Buffer &out);
    // Ends the sequence by error and done, with start before them when none was seen. Writes nothing after done.
    void fail(const char *code, Text message, Buffer &out);

    bool isOpen() const { return m_hasStarted && !m_isDone; }

private:
    Text m_object;
    char m_runStorage[256];
    Buffer m_run{m_runStorage, sizeof m_runStorage}; // id of the run that started
    bool m_hasStarted = false;
    bool m_isDone = false;
};

} // namespace cortexfs::runner
