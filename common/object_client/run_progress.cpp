#include "common/object_client/run_progress.h"

namespace cortexfs::object {

namespace {

// A session runs one at a time with 16 waiting; older ones are not replayed unless they are asked for.
constexpr std::size_t kRemembered = 64;

bool isReply(EventType type)
{
    return type == EventType::Pong || type == EventType::Accepted || type == EventType::Status
           || type == EventType::Resumed;
}

} // namespace

bool RunProgress::take(ObjectEvent &event)
{
    if (isReply(event.type) || event.run.empty())
        return true;
    Run &run = runOf(event.run);
    const bool isPiece = event.type == EventType::Delta || event.type == EventType::ReasoningDelta;
    bool isNew = true;
    if (isPiece) {
        isNew = takePiece(event.type == EventType::Delta ? run.text : run.reasoning, event);
    } else if (!event.id.empty()) {
        isNew = isIdAfter(event.id, run.lastStored);
        if (isNew)
            run.lastStored = event.id;
    }
    if (isNew && event.type == EventType::Message && (event.role.empty() || event.role == "assistant"))
        takeWhole(run.text, event);
    if (isNew && event.type == EventType::ReasoningMessage)
        takeWhole(run.reasoning, event);
    if (isIdAfter(event.id, m_cursor))
        m_cursor = event.id;
    return isNew;
}

bool RunProgress::takePiece(Track &track, ObjectEvent &event)
{
    if (!event.id.empty() && !track.closedBy.empty() && !isIdAfter(event.id, track.closedBy))
        return false;
    const std::int64_t offset = event.offset.value_or(track.told);
    const std::int64_t end = offset + static_cast<std::int64_t>(event.text.size());
    if (offset > track.told) // a gap is filled by the whole message
        return true;
    if (end <= track.told)
        return false;
    event.appended = event.text.substr(static_cast<std::size_t>(track.told - offset));
    track.told = end;
    return true;
}

void RunProgress::takeWhole(Track &track, ObjectEvent &event)
{
    if (static_cast<std::int64_t>(event.text.size()) > track.told)
        event.appended = event.text.substr(static_cast<std::size_t>(track.told));
    track.told = 0;
    track.closedBy = event.id;
}

RunProgress::Run &RunProgress::runOf(std::string_view name)
{
    for (Run &run : m_runs) {
        if (run.run == name)
            return run;
    }
    if (m_runs.size() == kRemembered)
        m_runs.pop_front();
    m_runs.emplace_back().run = name;
    return m_runs.back();
}

} // namespace cortexfs::object
