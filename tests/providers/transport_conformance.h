// What every transport owes its users, whatever carries the bytes. A test program inherits this suite, says how to reach a
// server, and adds what its carrier alone can show.
#pragma once

#include "daemon/providers/curl/curl_transport.h"
#include "tests/providers/stream_probe.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wire_replies.h"
#include "tests/support/wire_server.h"

#include <QObject>

#include <memory>
#include <string>

namespace cortexfs::test {

inline constexpr char kCanary[] = "sk-canary-5f1e7c";

// A JSON POST to the server, over what it listens on.
providers::HttpRequest postTo(const WireServer &server, std::string_view path = "/v1/x",
                              std::string body = "{\"model\":\"m\"}");
providers::HttpRequest post(const std::string &url, std::string body = "{\"model\":\"m\"}");
providers::HttpRequest withKey(providers::HttpRequest request);
// Reads one request, sends these bytes, closes.
WireServer::Script answerOnce(std::string bytes);

class TransportConformance : public QObject {
    Q_OBJECT

protected:
    virtual std::unique_ptr<WireServer> serve(WireServer::Script script) = 0;
    // What an error says of where the server is.
    virtual std::string placeOf(const WireServer &server) const = 0;

private Q_SLOTS:
    void replyArrives_data();
    void replyArrives();
    void replyArrivesHoweverItIsSplit_data();
    void replyArrivesHoweverItIsSplit();
    void headKeepsItsOrderAndLosesOnlyTheCoding();
    void failureHasItsErrno_data();
    void failureHasItsErrno();
    void requestIsRefusedBeforeItIsSent_data();
    void requestIsRefusedBeforeItIsSent();
    void requestIsWhatWasAsked();
    void requestHasNothingThatNobodyGave();
    void largeBodyArrivesWhole();
    void redirectIsHandedOnAndKeepsTheKey_data();
    void redirectIsHandedOnAndKeepsTheKey();
    void postIsSentOnceWhenThePeerClosesBeforeReplying_data();
    void postIsSentOnceWhenThePeerClosesBeforeReplying();
    void cookiesAreNotKept();
    void abortReachesThePeerWithoutOurEventLoop();
    void abortInsideASignalIsTheLastOne_data();
    void abortInsideASignalIsTheLastOne();
    void pausedStreamEndsWhenItIsReadAgain_data();
    void pausedStreamEndsWhenItIsReadAgain();
    void connectionIsUsedAgain();
    void connectionIsUsedAgainAfterRetire();
    void retireOfAnEndlessReplyClosesIt();
    void connectionOfAnAbortedStreamIsNotUsedAgain();
    void idleTransportKeepsNothing();
    void streamOutlivesItsTransport();
    void noDescriptorIsLeakedOrInherited();

private:
    TempDir m_dir;
};

} // namespace cortexfs::test
