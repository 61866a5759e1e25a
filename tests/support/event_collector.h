// Keeps the events of one run and what a reader would see of them.
#pragma once

#include "common/abi/event.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace cortexfs::test {

class EventCollector {
public:
    // Connects to anything with eventReady(const abi::Event &) and finished(), such as models::ModelRun.
    template<typename Run>
    explicit EventCollector(Run *run)
    {
        QObject::connect(run, &Run::eventReady, run, [this](const abi::Event &event) { add(event); });
        QObject::connect(run, &Run::finished, run, [this] { m_finished = true; });
    }
    EventCollector() = default;
    EventCollector(const EventCollector &) = delete;
    EventCollector &operator=(const EventCollector &) = delete;

    void add(const abi::Event &event)
    {
        m_afterFinished = m_afterFinished || m_finished;
        m_events.push_back(event);
    }

    bool isFinished() const { return m_finished; }
    const std::vector<abi::Event> &events() const { return m_events; }
    // "start delta delta message usage done"
    std::string types() const
    {
        std::string out;
        for (const abi::Event &event : m_events)
            out += (out.empty() ? "" : " ") + std::string(abi::eventTypeWord(event.type));
        return out;
    }
    std::size_t count(abi::EventType type) const
    {
        return static_cast<std::size_t>(
            std::count_if(m_events.begin(), m_events.end(), [&](const abi::Event &e) { return e.type == type; }));
    }
    std::string deltas() const
    {
        std::string out;
        for (const abi::Event &event : m_events)
            out += event.type == abi::EventType::Delta ? event.text : std::string();
        return out;
    }
    // The errno of the error that ended the run, 0 without one.
    int errorCode() const
    {
        const abi::Event *found = finalError();
        return found ? found->code : 0;
    }
    std::string errorMessage() const
    {
        const abi::Event *found = finalError();
        return found ? found->errorMessage : std::string();
    }
    std::string doneStatus() const
    {
        const abi::Event *found = last(abi::EventType::Done);
        return found ? std::string(abi::runStatusWord(found->status)) : std::string();
    }
    const abi::Event *last(abi::EventType type) const
    {
        const auto found = std::find_if(m_events.rbegin(), m_events.rend(),
                                        [&](const abi::Event &e) { return e.type == type; });
        return found == m_events.rend() ? nullptr : &*found;
    }
    // "EAGAIN local/custom-model, ENOENT local/gone": what was tried in vain, or not asked.
    std::string recovered() const
    {
        std::string out;
        for (const abi::Event &event : m_events) {
            if (event.type == abi::EventType::Error && event.recoverable)
                out += (out.empty() ? "" : ", ") + std::string(errnoName(event.code)) + " " + event.model;
        }
        return out;
    }
    // The rules every sequence keeps: start first and once, done last and once, nothing after finished; at most one error
    // that is not recoverable, directly before done and only with status error; recoverable ones name a model and come
    // before all that an answer consists of; offsets without a gap.
    bool isWellFormed() const
    {
        if (!m_finished || m_afterFinished || m_events.size() < 2 || m_events.front().type != abi::EventType::Start
            || m_events.back().type != abi::EventType::Done || count(abi::EventType::Start) != 1
            || count(abi::EventType::Done) != 1)
            return false;
        bool hasAnswer = false;
        std::int64_t offset = 0;
        for (std::size_t i = 1; i + 1 < m_events.size(); ++i) {
            const abi::Event &event = m_events[i];
            if (event.type == abi::EventType::Error) {
                const bool isInPlace = event.recoverable ? !hasAnswer && !event.model.empty()
                                                         : i + 2 == m_events.size() && doneStatus() == "error";
                if (!isInPlace)
                    return false;
                continue;
            }
            hasAnswer = true;
            if (event.type == abi::EventType::Delta) {
                if (event.offset != offset)
                    return false;
                offset += static_cast<std::int64_t>(event.text.size());
            }
        }
        return (finalError() != nullptr) == (doneStatus() == "error");
    }
    // Every event as the reader gets it, for canaries.
    std::string json() const
    {
        std::string out;
        for (const abi::Event &event : m_events)
            out += event.toJson() + "\n";
        return out;
    }

private:
    const abi::Event *finalError() const
    {
        const abi::Event *found = last(abi::EventType::Error);
        return found && !found->recoverable ? found : nullptr;
    }

    std::vector<abi::Event> m_events;
    bool m_finished = false;
    bool m_afterFinished = false;
};

} // namespace cortexfs::test
