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
        const abi::Event *found = last(abi::EventType::Error);
        return found ? found->code : 0;
    }
    std::string errorMessage() const
    {
        const abi::Event *found = last(abi::EventType::Error);
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
    // The rules every sequence keeps: start first and once, done last and once, nothing after finished, one error at most.
    bool isWellFormed() const
    {
        return m_finished && !m_afterFinished && !m_events.empty() && m_events.front().type == abi::EventType::Start
               && m_events.back().type == abi::EventType::Done && count(abi::EventType::Start) == 1
               && count(abi::EventType::Done) == 1 && count(abi::EventType::Error) <= 1;
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
    std::vector<abi::Event> m_events;
    bool m_finished = false;
    bool m_afterFinished = false;
};

} // namespace cortexfs::test
