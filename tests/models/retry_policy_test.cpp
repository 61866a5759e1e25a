// The table of what follows a failed attempt.
#include "daemon/models/retry_policy.h"

#include <QTest>

using namespace cortexfs;
using namespace cortexfs::models;
using Kind = NextStep::Kind;

namespace {

wire::ReplyFailure failed(int code, std::optional<std::int64_t> retryAfterMs = {})
{
    wire::ReplyFailure failure = wire::failureFor(makeError(code, "it did not work"));
    failure.retryAfterMs = retryAfterMs;
    return failure;
}

} // namespace

Q_DECLARE_METATYPE(cortexfs::models::NextStep::Kind)

class RetryPolicyTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void errnoDecides_data();
    void errnoDecides();
    void historyDecides();
    void waitDoublesWithChance_data();
    void waitDoublesWithChance();
    void wishOfTheServer_data();
    void wishOfTheServer();
    void serverMayForbidButNotDemand();
    void driverUnsupported_data();
    void driverUnsupported();
};

void RetryPolicyTest::errnoDecides_data()
{
    QTest::addColumn<int>("code");
    QTest::addColumn<Kind>("fresh");
    QTest::addColumn<Kind>("triedTwice");
    const auto row = [](int code, Kind fresh, Kind triedTwice) {
        QTest::newRow(std::string(errnoName(code)).c_str()) << code << fresh << triedTwice;
    };
    for (const int code : {EAGAIN, EHOSTDOWN, ETIMEDOUT, ECONNREFUSED, ECONNRESET})
        row(code, Kind::Retry, Kind::MoveOn);
    for (const int code : {ENOKEY, EACCES, EDQUOT, ENOENT, ENOTSUP, EMSGSIZE, EHOSTUNREACH, EPROTO, EBADMSG, EIO})
        row(code, Kind::MoveOn, Kind::MoveOn);
    for (const int code : {EINVAL, ECANCELED})
        row(code, Kind::Fail, Kind::Fail);
}

void RetryPolicyTest::errnoDecides()
{
    QFETCH(int, code);
    QFETCH(Kind, fresh);
    QFETCH(Kind, triedTwice);
    QCOMPARE(nextStep(failed(code), {}, {}, 0.5).kind, fresh);
    QCOMPARE(nextStep(failed(code), {.retries = 1}, {}, 0.5).kind, fresh);
    QCOMPARE(nextStep(failed(code), {.retries = 2}, {}, 0.5).kind, triedTwice);
    QVERIFY(!nextStep(failed(code), {}, {}, 0.5).cooldownMs);
}

void RetryPolicyTest::historyDecides()
{
    QCOMPARE(nextStep(failed(EAGAIN), {.hasOutput = true}, {}, 0).kind, Kind::Fail);
    QCOMPARE(nextStep(failed(ENOKEY), {.hasOutput = true}, {}, 0).kind, Kind::Fail);
    QCOMPARE(nextStep(failed(EAGAIN), {.isProbe = true}, {}, 0).kind, Kind::Fail);
    QCOMPARE(nextStep(failed(ENOKEY), {.isProbe = true}, {}, 0).kind, Kind::Fail);
    QCOMPARE(nextStep(failed(EAGAIN), {.isRunOver = true}, {}, 0).kind, Kind::Fail);
    // It says the same every time.
    QCOMPARE(nextStep(failed(EAGAIN), {.isBuiltIn = true}, {}, 0).kind, Kind::MoveOn);
}

void RetryPolicyTest::waitDoublesWithChance_data()
{
    QTest::addColumn<int>("retries");
    QTest::addColumn<double>("chance");
    QTest::addColumn<qint64>("waitMs");
    QTest::newRow("first, shortest") << 0 << 0.0 << qint64(375);
    QTest::newRow("first, middle") << 0 << 0.5 << qint64(500);
    QTest::newRow("first, longest") << 0 << 1.0 << qint64(625);
    QTest::newRow("second, shortest") << 1 << 0.0 << qint64(750);
    QTest::newRow("second, middle") << 1 << 0.5 << qint64(1000);
    QTest::newRow("second, longest") << 1 << 1.0 << qint64(1250);
}

void RetryPolicyTest::waitDoublesWithChance()
{
    QFETCH(int, retries);
    QFETCH(double, chance);
    QFETCH(qint64, waitMs);
    QCOMPARE(qint64(nextStep(failed(EHOSTDOWN), {.retries = retries}, {}, chance).waitMs), waitMs);
}

void RetryPolicyTest::wishOfTheServer_data()
{
    QTest::addColumn<int>("code");
    QTest::addColumn<qint64>("wishMs");
    QTest::addColumn<Kind>("kind");
    QTest::addColumn<qint64>("waitMs");
    QTest::addColumn<qint64>("cooldownMs"); // 0: none
    const auto row = [](const char *title, int code, qint64 wishMs, Kind kind, qint64 waitMs, qint64 cooldownMs) {
        QTest::newRow(title) << code << wishMs << kind << waitMs << cooldownMs;
    };
    row("at once is no advice", EAGAIN, 0, Kind::Retry, 500, 0);
    row("shorter than ours", EAGAIN, 100, Kind::Retry, 105, 0);
    row("longer than ours", EAGAIN, 4000, Kind::Retry, 4200, 0);
    row("just short enough", EAGAIN, 10'000, Kind::Retry, 10'500, 0);
    row("just too long", EAGAIN, 10'001, Kind::MoveOn, 0, 10'001);
    row("an hour", EHOSTDOWN, 3'600'000, Kind::MoveOn, 0, 3'600'000);
    row("a year is a day", EAGAIN, 31'536'000'000, Kind::MoveOn, 0, 86'400'000);
    row("exhausted quota with a short wait", EDQUOT, 1000, Kind::MoveOn, 0, 0);
    row("exhausted quota with a long wait", EDQUOT, 60'000, Kind::MoveOn, 0, 60'000);
}

void RetryPolicyTest::wishOfTheServer()
{
    QFETCH(int, code);
    QFETCH(qint64, wishMs);
    QFETCH(Kind, kind);
    QFETCH(qint64, waitMs);
    QFETCH(qint64, cooldownMs);
    const NextStep step = nextStep(failed(code, wishMs), {}, {}, 0.5);
    QCOMPARE(step.kind, kind);
    QCOMPARE(qint64(step.waitMs), waitMs);
    QCOMPARE(qint64(step.cooldownMs.value_or(0)), cooldownMs);
    // Chance never shortens it.
    if (step.kind == Kind::Retry)
        QVERIFY(nextStep(failed(code, wishMs), {}, {}, 0).waitMs >= wishMs);
    // The reader has a part of the answer: the candidate cools down all the same.
    const NextStep late = nextStep(failed(code, wishMs), {.hasOutput = true}, {}, 0.5);
    QCOMPARE(late.kind, Kind::Fail);
    QCOMPARE(qint64(late.cooldownMs.value_or(0)), cooldownMs);
}

void RetryPolicyTest::serverMayForbidButNotDemand()
{
    wire::ReplyFailure forbidden = failed(EHOSTDOWN);
    forbidden.retryable = false; // x-should-retry: false
    QCOMPARE(nextStep(forbidden, {}, {}, 0).kind, Kind::MoveOn);
    wire::ReplyFailure demanded = failed(EDQUOT);
    demanded.retryable = true; // x-should-retry: true
    QCOMPARE(nextStep(demanded, {}, {}, 0).kind, Kind::MoveOn);
}

void RetryPolicyTest::driverUnsupported_data()
{
    QTest::addColumn<int>("code");
    QTest::addColumn<int>("status");
    QTest::addColumn<bool>("expected");
    QTest::newRow("404") << ENOENT << 404 << true;
    QTest::newRow("405") << ENOTSUP << 405 << true;
    QTest::newRow("501") << ENOTSUP << 501 << true;
    QTest::newRow("cannot be said in this format") << ENOTSUP << 0 << true;
    QTest::newRow("redirect") << ENOTSUP << 302 << false;
    QTest::newRow("the model is gone") << ENOENT << 410 << false;
    QTest::newRow("not found, in a stream") << ENOENT << 200 << false;
    QTest::newRow("bad request") << EINVAL << 400 << false;
    QTest::newRow("server error") << EHOSTDOWN << 500 << false;
}

void RetryPolicyTest::driverUnsupported()
{
    QFETCH(int, code);
    QFETCH(int, status);
    QFETCH(bool, expected);
    QCOMPARE(isDriverUnsupported(makeError(code, "x"), status), expected);
}

QTEST_APPLESS_MAIN(RetryPolicyTest)
#include "retry_policy_test.moc"
