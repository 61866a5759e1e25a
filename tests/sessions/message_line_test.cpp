#include "daemon/sessions/message_line.h"
#include "daemon/sessions/session_key.h"

#include "common/base/limits.h"

#include <QTest>

using namespace cortexfs;
using namespace cortexfs::sessions;

namespace {

std::string turn(int number, const std::string &question, const std::string &answer)
{
    const std::string id = eventId(static_cast<std::uint64_t>(number));
    Answer given;
    given.id = id;
    given.run = "r" + std::to_string(number);
    given.model = "acme/big";
    given.content = {{"text", answer}};
    given.opaque = "{\"signature\":\"s\"}";
    json::Writer content;
    content.beginArray().beginObject().field("type", "text").field("text", question).endObject().endArray();
    return userLine(id, "q" + std::to_string(number), given.run, content.text(), 5) + assistantLine(given);
}

QString texts(const std::vector<models::Message> &messages)
{
    QStringList all;
    for (const models::Message &message : messages)
        all += QString::fromStdString(models::textOf(message));
    return all.join(QLatin1Char('|'));
}

} // namespace

class MessageLineTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void historyHasTheNewestWholeTurns_data()
    {
        QTest::addColumn<int>("budget");
        QTest::addColumn<QString>("expected");
        const int one = static_cast<int>(turn(1, "q1", "a1").size());
        const int user = static_cast<int>(turn(1, "q1", "a1").find('\n')) + 1;
        QTest::newRow("all of it fits") << 3 * one << QStringLiteral("q1|a1|q2|a2|q3|a3");
        QTest::newRow("the oldest turn does not fit") << 2 * one << QStringLiteral("q2|a2|q3|a3");
        QTest::newRow("an answer without its question is left out") << 3 * one - user << QStringLiteral("q2|a2|q3|a3");
        QTest::newRow("nothing fits") << 10 << QString();
    }
    void historyHasTheNewestWholeTurns()
    {
        QFETCH(int, budget);
        MemoryLineFile file(limits::kMiB);
        for (int i = 1; i <= 3; ++i)
            QVERIFY(file.append(turn(i, "q" + std::to_string(i), "a" + std::to_string(i))).isOk());
        const auto history = readHistory(file, static_cast<std::size_t>(budget));
        QVERIFY(history.isOk());
        QTEST(texts(*history), "expected");
    }

    void linesOfAnySizeAreReadFromBothEnds()
    {
        MemoryLineFile file(64 * limits::kMiB);
        std::vector<std::string> written;
        for (const std::size_t size : {std::size_t{1}, std::size_t{65534}, std::size_t{65535}, std::size_t{65536},
                                       std::size_t{200'000}, std::size_t{3}, limits::kFrame - 1}) {
            written.push_back(std::string(size, 'x'));
            QVERIFY(file.append(written.back() + "\n").isOk());
        }
        std::vector<std::string> forwards;
        QVERIFY(forEachLine(file, 0, [&](std::string_view line, std::uint64_t) {
                    forwards.emplace_back(line);
                    return true;
                }).isOk());
        QVERIFY(forwards == written);
        std::vector<std::string> backwards;
        QVERIFY(forEachLineBackwards(file, [&](std::string_view line, std::uint64_t) {
                    backwards.emplace_back(line);
                    return true;
                }).isOk());
        std::reverse(backwards.begin(), backwards.end());
        QVERIFY(backwards == written);
    }

    void opaqueDataGoesBackToItsProvider()
    {
        MemoryLineFile file(limits::kMiB);
        QVERIFY(file.append(turn(1, "q", "a")).isOk());
        const auto history = readHistory(file, 100'000);
        QCOMPARE(history->at(1).opaque, std::string("{\"signature\":\"s\"}"));
        QCOMPARE(history->at(1).opaqueProvider, std::string("acme"));
    }

    void aUserLineTellsItsRequest()
    {
        const std::string line = turn(7, "why \"so\"?", "a").substr(0, turn(7, "why \"so\"?", "a").find('\n'));
        const auto stored = readUserLine(line);
        QVERIFY(stored.has_value());
        QCOMPARE(stored->request, std::string("q7"));
        QCOMPARE(idOfLine(line).value_or(0), std::uint64_t{7});
        QCOMPARE(std::string(runOfLine(line)), std::string("r7"));
        QVERIFY(!readUserLine("{\"role\":\"assistant\"}"));
    }

    void memoryHasAnEnd()
    {
        MemoryLineFile file(10);
        QVERIFY(file.append("12345\n").isOk());
        QCOMPARE(file.append("12345\n").error().number(), ENOSPC);
        QCOMPARE(file.size(), std::uint64_t{6});
    }

    void budgetLeavesRoomForTheAnswer()
    {
        QCOMPARE(historyBudget(1000), std::size_t{3000});
        QCOMPARE(historyBudget(std::nullopt), limits::kHistory);
        QCOMPARE(historyBudget(4'000'000'000u), limits::kHistory);
    }
};

QTEST_GUILESS_MAIN(MessageLineTest)
#include "message_line_test.moc"
