// One conversation over an object's socket, as a state machine for any event loop: the caller polls fd() and calls
// advance(). ObjectClient drives it from Qt's loop, ctx from poll(2). One thread; never blocks.
//
// It connects when a request is open. A connection that is lost while one is open is made anew, with growing pauses; every
// open request is then sent again: a send with its id, which the object recognises, a resume after the last event that
// came. What comes again is not told again (RunProgress).
#pragma once

#include "common/base/clock.h"
#include "common/base/unique_fd.h"
#include "common/jsonl/frame_reader.h"
#include "common/object_client/object_event.h"
#include "common/object_client/object_request.h"
#include "common/object_client/run_progress.h"

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cortexfs::object {

struct LinkOptions {
    std::string path; // of the socket; may be a link
    Conversation conversation = {};
    int firstPatienceMs = 0;  // how long a socket that does not answer is tried before there was any connection
    int patienceMs = 60'000;  // after a loss: since something new came last
    int shortestPauseMs = 50; // before the second try; doubled each time
    int longestPauseMs = 2000;
};

enum class RequestKind { Send, Resume, Cancel, Ping, Status };

struct LinkNews {
    enum class Kind {
        Connected,
        Lost,  // `error` says why; open requests go on
        Event, // `event`, of a run or a reply
        Ended  // the request `id` of `request` is over; nothing more of it comes
    };
    Kind kind = Kind::Event;
    ObjectEvent event = {};
    RequestKind request = RequestKind::Send;
    std::string id = {};
    // Ended: none when it was answered, of a run when its done says ok. Else the refusal, the error of the run, ECANCELED
    // of a cancelled one, or why there is no connection: ENOENT, ECONNREFUSED, EACCES, ECONNRESET ...; EBADMSG and EMSGSIZE
    // for a peer that breaks the protocol.
    std::optional<Error> error = {};
};

class ObjectLink {
public:
    explicit ObjectLink(LinkOptions options, const Clock &clock = systemClock());

    // Errors as sendFrame(). A send with an id that is open already is EEXIST.
    Result<void> send(const SendRequest &request);
    // The stored events after that id (empty: all), then the live run to its done. Gives the request's id.
    std::string resume(std::string_view after);
    // Of the run or the send with that id.
    void cancel(std::string_view id);
    std::string ping();
    std::string status();

    bool isIdle() const { return m_open.empty(); } // no request is open
    bool isConnected() const { return m_fd.isValid(); }
    const std::string &cursor() const { return m_progress.cursor(); }
    // While paused nothing is read, so that the object holds its provider back.
    void setPaused(bool isPaused) { m_isPaused = isPaused; }

    // What to wait for before the next advance(): this descriptor (-1: none) and at most this long (-1: for ever). The
    // descriptor changes only within advance() and close().
    int fd() const { return m_fd.get(); }
    bool wantsRead() const { return isConnected() && !m_isPaused; }
    bool wantsWrite() const { return isConnected() && m_sent < m_out.size(); }
    int waitMs() const;
    // Connects, sends and reads what is possible now.
    std::vector<LinkNews> advance();
    // Ends everything silently.
    void close();

private:
    struct Open {
        RequestKind kind;
        std::string id;
        std::string frame;
        std::string after = {};   // resume
        std::string run = {};     // send, once it started
        bool isFollowing = false; // resume: the stored events are over
        std::optional<Error> error = {};
    };
    using Requests = std::list<Open>;

    std::string add(RequestKind kind, std::string id, std::string frame, std::string after = {});
    void enqueue(const Open &request);
    void connect(std::vector<LinkNews> &news);
    void handleConnectError(const Error &error, std::vector<LinkNews> &news);
    void flush(std::vector<LinkNews> &news);
    void read(std::vector<LinkNews> &news);
    void takeFrames(std::vector<LinkNews> &news);
    void takeEvent(ObjectEvent event, std::vector<LinkNews> &news);
    Requests::iterator requestOf(const ObjectEvent &event);
    Requests::iterator refusedBy(const ObjectEvent &event);
    Requests::iterator find(RequestKind kind, std::string_view id);
    void noteError(const ObjectEvent &event);
    void noteDone(const ObjectEvent &event, std::vector<LinkNews> &news);
    void end(Requests::iterator request, std::optional<Error> error, std::vector<LinkNews> &news);
    void endAll(const Error &error, std::vector<LinkNews> &news);
    void lose(const Error &error, std::vector<LinkNews> &news);
    void dropConnection();
    std::string nextId(std::string_view prefix);

    const LinkOptions m_options;
    const Clock &m_clock;
    UniqueFd m_fd;
    jsonl::FrameReader m_frames;
    std::string m_out;
    std::size_t m_sent = 0;
    bool m_isPaused = false;
    Requests m_open; // in their order
    RunProgress m_progress;
    bool m_wasConnected = false;
    std::int64_t m_aloneSince = 0; // since when nothing new came over a connection
    std::int64_t m_nextTry = 0;
    int m_pauseMs = 0;
    int m_lastId = 0;
};

// An id for a send that no other client has: "PREFIX-" and 32 random hexadecimal digits.
std::string randomId(std::string_view prefix);

} // namespace cortexfs::object
