// One execution: from the object's path to the exit code.
#pragma once

#include "app/runner/connection.h"
#include "app/runner/input.h"
#include "app/runner/output.h"

#include <signal.h>

namespace cortexfs::runner {

class Run {
public:
    // `words`: the arguments behind the script, null-terminated.
    Run(const char *script, char **words) : m_script(script), m_words(words) {}
    int execute();

private:
    bool readIdentity();
    void chooseInput();
    void sendRequest();
    void sendPieces();
    void handleSignals();
    void wait(bool wantInput);
    void takeLines();
    void takeFrame(Text line);
    void takeResult(Text frame);
    void finish(int exitCode) { m_exitCode = exitCode; m_isFinished = true; }

    // Ends the sequence on stdout by error and done, with start before them when none was seen, and says `diagnostic` on
    // stderr.
    void failHere(const char *code, Text message, const char *hint = nullptr);
    void complain(Text message, const char *hint = nullptr);
    void flushAll();

    const char *m_script;
    char **m_words;
    char m_object[512] = {};
    char m_control[512] = {};
    bool m_isTty = false;
    bool m_hasStreamedInput = false;
    sigset_t m_usualSignals = {};

    Input m_input;
    Output m_output;
    Connection m_connection;

    bool m_hasStarted = false;
    bool m_isDone = false;
    bool m_isFinished = false;
    int m_cancelledBy = 0; // the signal
    int m_exitCode = 0;
    Buffer m_run; // id of the run that started
};

} // namespace cortexfs::runner
