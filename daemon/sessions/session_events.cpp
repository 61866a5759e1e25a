#include "daemon/sessions/session.h"

#include "common/base/limits.h"
#include "daemon/sessions/session_turn.h"

#include <algorithm>

namespace cortexfs::sessions {

namespace {
constexpr std::size_t kBlock = 128 * limits::kKiB; // of stored events at once
}

void Session::attach(SessionReader *reader)
{
    if (std::find(m_readers.begin(), m_readers.end(), reader) == m_readers.end())
        m_readers.push_back(reader);
}

void Session::detach(SessionReader *reader)
{
    std::erase(m_readers, reader);
    updatePaused();
    if (isIdle())
        Q_EMIT changed();
}

void Session::findEvent(std::uint64_t after, QObject *context, std::function<void(Result<std::uint64_t>)> done)
{
    if (!m_files)
        return done(errors::stale("the session was removed"));
    m_strand->run(
        context,
        [files = m_files, after]() -> Result<std::uint64_t> {
            // From the end: most readers want what is new.
            std::uint64_t first = files->events().size();
            const Result<void> read = forEachLineBackwards(files->events(),
                                                           [&](std::string_view line, std::uint64_t offset) {
                                                               const std::optional<std::uint64_t> id = idOfLine(line);
                                                               if (id && *id <= after)
                                                                   return false;
                                                               first = offset;
                                                               return true;
                                                           });
            if (!read)
                return read.error();
            return first;
        },
        std::move(done));
}

void Session::readEvents(std::uint64_t offset, QObject *context, std::function<void(Result<EventBlock>)> done)
{
    if (!m_files)
        return done(errors::stale("the session was removed"));
    m_strand->run(
        context,
        [files = m_files, offset, end = m_storedBytes]() -> Result<EventBlock> {
            std::size_t count = kBlock;
            for (;;) {
                const std::uint64_t left = end > offset ? end - offset : 0;
                Result<std::string> text = files->events().read(offset, std::min<std::uint64_t>(count, left));
                if (!text)
                    return text.error();
                const std::size_t whole = text->rfind('\n') + 1; // 0: not one whole line
                if (whole > 0 || text->size() == left) {
                    text->resize(whole > 0 ? whole : text->size());
                    const std::uint64_t next = text->empty() ? end : offset + text->size();
                    return EventBlock{std::move(*text), next};
                }
                count = limits::kFrame;
                if (text->size() >= limits::kFrame)
                    return errors::badMessage("events.jsonl has a line of more than 1 MiB");
            }
        },
        std::move(done));
}

bool Session::attachLive(SessionReader *reader, std::uint64_t after, const std::string &run)
{
    if (!m_live || (!run.empty() && m_live->turn.run != run))
        return false;
    if (!m_live->run) { // the user's message is being stored
        m_live->turn.readers.emplace_back(reader);
        return true;
    }
    struct Piece {
        std::uint64_t id;
        abi::EventType type;
        std::string_view text;
    };
    std::vector<Piece> pieces;
    if (!m_live->reasoning.empty())
        pieces.push_back({m_live->reasoningId, abi::EventType::ReasoningDelta, m_live->reasoning});
    if (!m_live->text.empty())
        pieces.push_back({m_live->textId, abi::EventType::Delta, m_live->text});
    std::sort(pieces.begin(), pieces.end(), [](const Piece &a, const Piece &b) { return a.id < b.id; });
    for (const Piece &piece : pieces) {
        if (piece.id <= after)
            continue;
        abi::Event event = abi::events::delta(m_live->turn.run, std::string(piece.text), 0);
        event.type = piece.type;
        event.id = eventId(piece.id);
        reader->write(lineOf(event));
    }
    reader->follow(*this, m_live->turn.run);
    updatePaused();
    return true;
}

} // namespace cortexfs::sessions
