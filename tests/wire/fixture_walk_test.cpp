// Every transcript gives its expected events, however the network cuts it.
#include "tests/wire/fixture.h"
#include "tests/wire/json_compare.h"

#include <QtTest>

#include <map>
#include <random>

using namespace cortexfs;
using namespace cortexfs::test;

namespace {

const char *const kFolders[] = {"openai.chat",      "local.openai",       "aggregator.openai", "gemini.openai",
                                "openai.responses", "anthropic.messages", "http-errors"};

// Members that an expectation may leave out: what is kept elsewhere, and what the fixtures do not speak of.
bool mayBeUnexpected(std::string_view key) { return key == "offset" || key == "model"; }

std::string errorDifference(const json::Value &expected, const json::Value &actual, const json::Value &meta)
{
    const std::string_view code = actual["code"].stringOr("");
    bool isAccepted = code == expected["code"].stringOr("");
    for (const json::Value &other : meta["accept_codes"].elements())
        isAccepted = isAccepted || other.stringOr("") == code;
    if (!isAccepted)
        return "code " + std::string(code) + ": " + std::string(actual["message"].stringOr(""));
    if (actual["message"].stringOr("").find(expected["message"].stringOr("")) == std::string_view::npos)
        return "message: " + std::string(actual["message"].stringOr(""));
    return {};
}

std::string eventDifference(const json::Value &expected, const json::Value &actual, const json::Value &meta,
                            Generated &generated)
{
    if (expected["type"].stringOr("") == "error" && actual["type"].stringOr("") == "error")
        return errorDifference(expected, actual, meta);
    for (const json::Member &member : expected.members()) {
        if (member.key == "opaque")
            continue;
        const std::string found = difference(member.value, actual[member.key], &generated,
                                             "/" + std::string(member.key));
        if (!found.empty())
            return found;
    }
    for (const json::Member &member : actual.members()) {
        const bool isNoCount = member.value.asInt() == 0
                               && (member.key == "cached_tokens" || member.key == "cache_write_tokens");
        if (expected[member.key].isMissing() && !mayBeUnexpected(member.key) && !isNoCount)
            return "unexpected member " + std::string(member.key);
    }
    return {};
}

std::string expectationDifference(const Fixture &fixture, const Decoded &decoded)
{
    const std::vector<std::string> lines = decoded.lines();
    Generated generated;
    for (std::size_t i = 0; i < std::max(lines.size(), fixture.expected.size()); ++i) {
        if (i >= lines.size())
            return "missing: " + fixture.expected[i];
        if (i >= fixture.expected.size())
            return "too much: " + lines[i];
        const auto expected = json::parse(fixture.expected[i]);
        const auto actual = json::parse(lines[i]);
        if (!expected || !actual)
            return "not JSON: " + lines[i];
        const std::string found = eventDifference(expected->root(), actual->root(), fixture.meta.root(), generated);
        if (!found.empty())
            return "line " + std::to_string(i + 1) + ": " + found;
    }
    return {};
}

// Offsets count the bytes of the same message before the piece.
std::string offsetDifference(const std::vector<abi::Event> &events)
{
    std::int64_t text = 0;
    std::int64_t reasoning = 0;
    for (const abi::Event &event : events) {
        if (event.type == abi::EventType::ReasoningMessage)
            reasoning = 0;
        if (event.type != abi::EventType::Delta && event.type != abi::EventType::ReasoningDelta)
            continue;
        std::int64_t &sum = event.type == abi::EventType::Delta ? text : reasoning;
        if (event.offset != sum)
            return "offset " + std::to_string(event.offset) + " instead of " + std::to_string(sum);
        sum += static_cast<std::int64_t>(event.text.size());
    }
    return {};
}

} // namespace

class FixtureWalkTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase();
    void givesItsEvents_data() { addRows(); }
    void givesItsEvents();
    void givesTheSameHoweverItIsCut_data() { addRows(); }
    void givesTheSameHoweverItIsCut();
    void saysWhatMayBeDoneAboutAFailure_data() { addRows(); }
    void saysWhatMayBeDoneAboutAFailure();
    void keepsItsTextsWhenTheConnectionBreaks_data() { addRows(); }
    void keepsItsTextsWhenTheConnectionBreaks();

private:
    void addRows();
    const Fixture &current() const { return m_fixtures.at(QTest::currentDataTag()); }

    std::map<std::string, Fixture> m_fixtures;
};

void FixtureWalkTest::initTestCase()
{
    for (const char *folder : kFolders) {
        for (const std::string &name : fixtureNames(folder, ".meta.json")) {
            Fixture fixture = loadFixture(folder, name);
            m_fixtures.emplace(fixture.name, std::move(fixture));
        }
    }
    QVERIFY(m_fixtures.size() >= 40);
}

void FixtureWalkTest::addRows()
{
    QTest::addColumn<int>("unused");
    for (const auto &[name, fixture] : m_fixtures)
        QTest::newRow(name.c_str()) << 0;
}

void FixtureWalkTest::givesItsEvents()
{
    const Fixture &fixture = current();
    const Decoded decoded = decode(fixture.reply);
    const std::string found = expectationDifference(fixture, decoded);
    QVERIFY2(found.empty(), (found + "\n" + decoded.text()).c_str());
    const std::string offsets = offsetDifference(decoded.events);
    QVERIFY2(offsets.empty(), offsets.c_str());
}

void FixtureWalkTest::givesTheSameHoweverItIsCut()
{
    const Fixture &fixture = current();
    const std::string whole = decode(fixture.reply).text();
    QCOMPARE(decodeInPieces(fixture.reply, 1).text(), whole);
    QCOMPARE(decodeInPieces(fixture.reply, 3).text(), whole);
    QCOMPARE(decode(fixture.reply, fixture.split).text(), whole);
    for (std::size_t cut = 1; cut < fixture.reply.body.size(); ++cut)
        QCOMPARE(decode(fixture.reply, {cut}).text(), whole);
    std::mt19937 random(42);
    for (int round = 0; round < 20; ++round) {
        std::vector<std::size_t> cuts;
        for (int i = 0; i < 12; ++i)
            cuts.push_back(random() % (fixture.reply.body.size() + 1));
        std::sort(cuts.begin(), cuts.end());
        QCOMPARE(decode(fixture.reply, cuts).text(), whole);
    }
}

void FixtureWalkTest::saysWhatMayBeDoneAboutAFailure()
{
    const Fixture &fixture = current();
    const json::Value meta = fixture.meta.root();
    const Decoded decoded = decode(fixture.reply);
    if (const auto retryable = meta["retryable"].asBool())
        QCOMPARE(decoded.failure && decoded.failure->retryable, *retryable);
    if (const auto delay = meta["retry_after_ms"].asInt())
        QCOMPARE(decoded.failure->retryAfterMs.value_or(-1), *delay);
    if (const auto allowed = meta["fallback_ok"].asBool())
        QCOMPARE(decoded.failure && decoded.failure->mayFallBack && decoded.events.empty(), *allowed);
}

void FixtureWalkTest::keepsItsTextsWhenTheConnectionBreaks()
{
    // Cut off at any place: either the reply was complete by then, or it gives a part of its deltas and fails, and never
    // a message or a call.
    const Fixture &fixture = current();
    if (fixture.reply.status != 200)
        return;
    const Decoded whole = decode(fixture.reply);
    for (std::size_t end = 0; end < fixture.reply.body.size(); ++end) {
        Reply cut = fixture.reply;
        cut.body.resize(end);
        cut.transport = errors::connectionReset("closed by the peer");
        const Decoded decoded = decode(cut);
        if (!decoded.failure)
            continue;
        QVERIFY(decoded.events.size() <= whole.events.size());
        for (std::size_t i = 0; i < decoded.events.size(); ++i) {
            QVERIFY(decoded.events[i].type != abi::EventType::Message);
            QVERIFY(decoded.events[i].type != abi::EventType::ToolCall);
            QCOMPARE(decoded.events[i].toJson(), whole.events[i].toJson());
        }
    }
}

QTEST_GUILESS_MAIN(FixtureWalkTest)
#include "fixture_walk_test.moc"
