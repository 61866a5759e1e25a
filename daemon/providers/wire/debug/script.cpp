#include "daemon/providers/wire/debug/script.h"

#include "daemon/providers/wire/core/reply_builder.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <utility>

namespace cortexfs::wire::debug {

namespace {

using models::Conversation;
using models::Message;

std::int64_t tokenEstimate(std::int64_t bytes) { return (bytes + 3) / 4; }

std::int64_t promptBytes(const Conversation &conversation)
{
    std::size_t bytes = conversation.system.size();
    for (const Message &message : conversation.messages) {
        bytes += models::textOf(message).size();
        for (const models::ToolCall &call : message.toolCalls)
            bytes += call.name.size() + call.arguments.size();
    }
    return static_cast<std::int64_t>(bytes);
}

std::size_t callsSoFar(const Conversation &conversation)
{
    std::size_t count = 0;
    for (const Message &message : conversation.messages)
        count += message.toolCalls.size();
    return count;
}

// Where the last user message stands; the number of messages when there is none.
std::size_t lastUserMessage(const Conversation &conversation)
{
    for (std::size_t i = conversation.messages.size(); i > 0; --i) {
        if (conversation.messages[i - 1].role == Message::Role::User)
            return i - 1;
    }
    return conversation.messages.size();
}

std::string_view takeWord(std::string_view &line)
{
    const std::size_t end = std::min(line.find(' '), line.size());
    const std::string_view word = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
    return word;
}

std::optional<std::int64_t> number(std::string_view text, std::int64_t most)
{
    std::int64_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || failure != std::errc() || end != text.data() + text.size() || value < 0 || value > most)
        return std::nullopt;
    return value;
}

constexpr int kLongestWaitMs = 3'600'000;
constexpr std::int64_t kMostRepeats = 1'000'000'000;

// The lines of one turn, taken off one by one.
class Lines {
public:
    explicit Lines(std::string_view text) : m_rest(text), m_more(!text.empty()) {}

    std::optional<std::string_view> next()
    {
        if (!m_more)
            return std::nullopt;
        const std::size_t end = m_rest.find('\n');
        std::string_view line = m_rest.substr(0, end);
        m_more = end != std::string_view::npos && end + 1 < m_rest.size();
        m_rest.remove_prefix(m_more ? end + 1 : m_rest.size());
        if (line.ends_with('\r'))
            line.remove_suffix(1);
        return line;
    }
    std::string_view rest() const { return m_rest; }

private:
    std::string_view m_rest;
    bool m_more;
};

// The part of a script that is turn number `index`, or nothing when the script has fewer.
std::optional<std::string_view> turnOf(std::string_view script, std::size_t index)
{
    for (; index > 0; --index) {
        Lines lines(script);
        for (;;) {
            const auto line = lines.next();
            if (!line)
                return std::nullopt;
            if (*line == "turn")
                break;
        }
        script = lines.rest();
    }
    return script;
}

} // namespace

struct ScriptSource::State {
    std::string text; // what is echoed, or the lines of this turn
    std::size_t at = 0;
    bool isEcho = true;
    std::int64_t repeatsLeft = 0;
    std::string repeated;
    std::int64_t inputBytes = 0;
    std::int64_t outputBytes = 0;
    std::size_t nextCall = 1;

    ReplyBuilder reply;
    std::vector<abi::Event> made;
    std::deque<Step> ready;

    void read(const Conversation &conversation, bool script);
    void advance();
    void runLine(std::string_view line);
    void say(std::string_view piece);
    void think(std::string_view piece);
    bool call(std::string_view rest);
    void endTurn();
    void moveEvents();
};

void ScriptSource::State::read(const Conversation &conversation, bool script)
{
    isEcho = !script;
    inputBytes = promptBytes(conversation);
    nextCall = callsSoFar(conversation) + 1;
    const std::size_t user = lastUserMessage(conversation);
    if (user == conversation.messages.size())
        return;
    text = models::textOf(conversation.messages[user]);
    if (isEcho)
        return;
    std::size_t turn = 0;
    std::string results;
    for (std::size_t i = user + 1; i < conversation.messages.size(); ++i) {
        const Message &message = conversation.messages[i];
        if (message.role == Message::Role::Assistant) {
            ++turn;
            results.clear();
        } else if (message.role == Message::Role::Tool) {
            results += models::textOf(message);
        }
    }
    if (const auto lines = turnOf(text, turn)) {
        text = std::string(*lines);
    } else {
        text = std::move(results);
        isEcho = true;
    }
}

void ScriptSource::State::say(std::string_view piece)
{
    outputBytes += static_cast<std::int64_t>(piece.size());
    reply.addText(piece);
}

void ScriptSource::State::think(std::string_view piece)
{
    outputBytes += static_cast<std::int64_t>(piece.size());
    reply.addReasoning(piece);
}

bool ScriptSource::State::call(std::string_view rest)
{
    const std::string_view name = takeWord(rest);
    if (name.empty())
        return false;
    const std::string id = "call_" + std::to_string(nextCall++);
    outputBytes += static_cast<std::int64_t>(name.size() + rest.size());
    reply.addToolCall({.id = id, .name = name, .arguments = rest});
    return true;
}

void ScriptSource::State::runLine(std::string_view line)
{
    std::string_view rest = line;
    const std::string_view word = takeWord(rest);
    if (word == "say")
        return say(rest);
    if (word == "think")
        return think(rest);
    if (word == "call" && call(rest))
        return;
    if (word == "wait") {
        if (const auto ms = number(rest, kLongestWaitMs)) {
            ready.push_back({.kind = Step::Kind::Wait, .waitMs = static_cast<int>(*ms)});
            return;
        }
    }
    if (word == "fail") {
        if (const int code = errnoFromName(rest))
            return reply.fail(failureFor(makeError(code, "the script says: fail " + std::string(rest))));
    }
    if (word == "repeat") {
        std::string_view piece = rest;
        const auto count = number(takeWord(piece), kMostRepeats);
        if (count && !piece.empty()) {
            repeatsLeft = *count;
            repeated = piece;
            return;
        }
    }
    say(line);
}

void ScriptSource::State::endTurn()
{
    reply.setUsage({.inputTokens = tokenEstimate(inputBytes), .outputTokens = tokenEstimate(outputBytes)});
    reply.finish(abi::StopReason::Stop);
}

void ScriptSource::State::advance()
{
    if (repeatsLeft > 0) {
        --repeatsLeft;
        return say(repeated);
    }
    const std::string_view rest = std::string_view(text).substr(at);
    if (isEcho) {
        at = text.size();
        return rest.empty() ? endTurn() : say(rest);
    }
    Lines lines(rest);
    const auto line = lines.next();
    if (!line || *line == "turn")
        return endTurn();
    at = text.size() - lines.rest().size();
    runLine(*line);
}

void ScriptSource::State::moveEvents()
{
    for (abi::Event &event : made)
        ready.push_back({.kind = Step::Kind::Emit, .event = std::move(event)});
    made.clear();
    if (reply.failure())
        ready.push_back({.kind = Step::Kind::Fail, .failure = reply.failure()});
    else if (reply.reason())
        ready.push_back({.kind = Step::Kind::End, .reason = *reply.reason()});
}

ScriptSource::ScriptSource(std::string_view model, const Conversation &conversation)
    : m_state(std::make_unique<State>())
{
    m_state->read(conversation, model == "script");
}

ScriptSource::ScriptSource(ScriptSource &&) noexcept = default;
ScriptSource &ScriptSource::operator=(ScriptSource &&) noexcept = default;
ScriptSource::~ScriptSource() = default;

ScriptSource::Step ScriptSource::next()
{
    State &state = *m_state;
    state.reply.setSink(&state.made);
    while (state.ready.empty()) {
        if (!state.reply.isFinished())
            state.advance();
        state.moveEvents();
    }
    Step step = std::move(state.ready.front());
    state.ready.pop_front();
    return step;
}

} // namespace cortexfs::wire::debug
