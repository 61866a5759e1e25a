// What is already known of the runs of one session, so that a replay after a lost connection tells nothing twice and
// leaves nothing out. Pure.
#pragma once

#include "common/object_client/object_event.h"

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace cortexfs::object {

// Stored events are told once by their ids, which rise within a run. Pieces of text are placed by their offset: a live run
// is replayed as one piece from the beginning of the message. A message that comes whole fills what its pieces lacked.
class RunProgress {
public:
    // False: this event (or all of its text) was there before. Else `event.appended` is set.
    bool take(ObjectEvent &event);

    // The highest event id, for the `after` of a resume. Empty before the first.
    const std::string &cursor() const { return m_cursor; }
    void setCursor(std::string id) { m_cursor = std::move(id); }

private:
    // The text or the reasoning of the message that is being told.
    struct Track {
        std::int64_t told = 0; // bytes
        std::string closedBy;  // id of the last whole message: pieces up to it belong to the past
    };
    struct Run {
        std::string run;
        std::string lastStored;
        Track text;
        Track reasoning;
    };

    Run &runOf(std::string_view name);
    bool takePiece(Track &track, ObjectEvent &event);
    void takeWhole(Track &track, ObjectEvent &event);

    std::deque<Run> m_runs; // oldest first
    std::string m_cursor;
};

} // namespace cortexfs::object
