#include "daemon/models/candidate.h"
#include "daemon/models/run_id.h"
#include "daemon/models/run_log.h"

#include <QRegularExpression>
#include <QTest>

#include <set>

using namespace cortexfs;

class RunTextTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void runIdsAreUniqueAndPlain();
    void logLineSaysWhatHappened();
    void driverIsChosenByPurpose_data();
    void driverIsChosenByPurpose();
    void unknownDriverIsNotSupported();
    void driversAreTriedInTheirOrder();
    void controlsReachTheRequest();
};

void RunTextTest::runIdsAreUniqueAndPlain()
{
    std::set<std::string> seen;
    const QRegularExpression shape(QStringLiteral("^r[0-9a-z]{16}$"));
    for (int i = 0; i < 10'000; ++i) {
        const std::string id = models::newRunId();
        QVERIFY(shape.match(QString::fromStdString(id)).hasMatch());
        QVERIFY(seen.insert(id).second);
    }
}

void RunTextTest::logLineSaysWhatHappened()
{
    models::RunSummary summary;
    summary.wallMs = 1'796'119'872'345;
    summary.run = "r1";
    summary.usage = {12, 34, {}, {}};
    summary.totalMs = 812;
    QCOMPARE(models::logLine(summary), std::string("2026-12-01T10:11:12Z r1 ok 12+34 tokens 812 ms"));
    summary.status = abi::RunStatus::Error;
    summary.errnoNumber = ECONNRESET;
    QCOMPARE(models::logLine(summary), std::string("2026-12-01T10:11:12Z r1 error 12+34 tokens 812 ms ECONNRESET"));
}

void RunTextTest::driverIsChosenByPurpose_data()
{
    QTest::addColumn<QByteArray>("driver");
    QTest::addColumn<int>("purpose");
    QTest::addColumn<QByteArray>("chosen");
    const auto row = [](const char *title, const char *driver, abi::Purpose purpose, const char *chosen) {
        QTest::newRow(title) << QByteArray(driver) << static_cast<int>(purpose) << QByteArray(chosen);
    };
    row("a single word counts for all", "debug\n", abi::Purpose::Agent, "debug");
    row("its own line", "default=openai-chat\nexec=debug\n", abi::Purpose::Exec, "debug");
    row("default where there is no own line", "default=openai-chat\nexec=debug\n", abi::Purpose::Agent, "openai-chat");
    row("the first one this build knows", "default=unheard-of,openai-chat,debug\n", abi::Purpose::Socket,
        "openai-chat");
    row("default where the own line has none", "default=openai-chat\nagent=unheard-of\n", abi::Purpose::Agent,
        "openai-chat");
}

void RunTextTest::driverIsChosenByPurpose()
{
    QFETCH(QByteArray, driver);
    QFETCH(int, purpose);
    QFETCH(QByteArray, chosen);
    models::ModelEntry entry;
    entry.driver = driver.toStdString();
    const auto formats = models::formatsFor(entry, static_cast<abi::Purpose>(purpose));
    QVERIFY(formats);
    QCOMPARE(QByteArray::fromStdString(formats->front()->descriptor().driver), chosen);
}

void RunTextTest::unknownDriverIsNotSupported()
{
    models::ModelEntry entry;
    entry.ref = {"p", "m"};
    entry.driver = "default=unheard-of\n";
    const auto formats = models::formatsFor(entry, abi::Purpose::Exec);
    QVERIFY(!formats);
    QCOMPARE(formats.error().number(), ENOTSUP);
    QVERIFY(formats.error().message().find("p/m") != std::string::npos);
}

void RunTextTest::driversAreTriedInTheirOrder()
{
    models::ModelEntry entry;
    entry.driver = "default=openai-chat,anthropic-messages\nagent=unheard-of,openai-responses,openai-chat\n";
    const auto formats = models::formatsFor(entry, abi::Purpose::Agent);
    QVERIFY(formats);
    std::string names;
    for (const wire::WireFormat *format : *formats)
        names += format->descriptor().driver + " ";
    QCOMPARE(names, std::string("openai-responses openai-chat anthropic-messages "));
}

void RunTextTest::controlsReachTheRequest()
{
    models::ModelEntry entry;
    entry.nativeId = "meta-llama/Llama-3";
    entry.effort = "high\n";
    entry.defaults = "temperature=0.5\nmax_tokens=7\n";
    entry.limit = 1000;
    models::Conversation conversation;
    wire::EncodeContext context = models::encodeContextFor(entry, conversation);
    QCOMPARE(context.nativeModel, entry.nativeId);
    QVERIFY(context.effort == abi::Effort::High);
    QVERIFY(context.stream);
    QCOMPARE(context.defaults.size(), 2u);
    QVERIFY(context.limit == 1000u);
    conversation.effort = abi::Effort::Low;
    entry.cap = "chat\n";
    context = models::encodeContextFor(entry, conversation);
    QVERIFY(context.effort == abi::Effort::Low);
    QVERIFY(!context.stream);
}

QTEST_GUILESS_MAIN(RunTextTest)
#include "run_text_test.moc"
