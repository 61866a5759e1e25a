// One execution: from the object's path to the exit code.
//
// Before the request is sent, SIGINT and SIGTERM end the program as they end any. After it the first one cancels the run
// and the events are copied to their end, exit 128 + the signal; the second one ends the program at once. A reader of
// standard output that leaves ends it too, quietly, as SIGPIPE would: exit 141. The daemon cancels a run whose connection
// is closed.
#pragma once

#include "app/runner/connection.h"
#include "app/runner/input.h"
#include "app/runner/output.h"
#include "app/runner/sequence.h"

#include <signal.h>

namespace cortexfs::runner {

class Run {
public:
    // `words`: the arguments behind the script, null-terminated.
    Run(const char *script, char **words) : m_script(script), m_words(words) {}
    int execute();

private:
    // The steps before the first event; each says false when the run is over, with its failure told.
    bool readIdentity();
    bool connect();
    bool readInput();
    void sendRequest();

    // The loop: send what there is, wait for one of the three descriptors, take what came.
    void prepareInput();
    void wait();
    void receive();
    void takeFrame(Text line);
    void takeResult(Text line);
    void takeError(Text line);
    void cancelIfAsked();

    void finish(int exitCode);
    // Ends the sequence on standard output and says one line on standard error. Exit code by the errno's name.
    void fail(const char *code, Text message, const char *hint = nullptr);
    void failInput();
    void complain(Text message, const char *hint = nullptr);
    int leave();

    const char *m_script;
    char **m_words;
    char m_object[512] = {};
    char m_control[512] = {};
    bool m_isTty = false;
    bool m_hasMoreInput = false;
    sigset_t m_usualSignals = {};
    const sigset_t *m_waitMask = nullptr; // null while signals are not ours

    Input m_input;
    Output m_output;
    Connection m_connection;
    Sequence m_sequence;

    bool m_isFinished = false;
    int m_cancelledBy = 0; // the signal
    int m_exitCode = 0;
};

} // namespace cortexfs::runner
