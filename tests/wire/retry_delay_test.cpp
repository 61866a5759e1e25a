#include "daemon/providers/wire/core/retry_delay.h"

#include <QtTest>

using namespace cortexfs;

namespace {
constexpr std::int64_t kNow = 784'111'777'000; // Sun, 06 Nov 1994 08:49:37 GMT
constexpr std::int64_t kNone = -1;
} // namespace

Q_DECLARE_METATYPE(std::vector<wire::Header>)

class RetryDelayTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void readsTimes_data();
    void readsTimes();
    void readsDurations_data();
    void readsDurations();
    void readsHeaders_data();
    void readsHeaders();
};

void RetryDelayTest::readsTimes_data()
{
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<qint64>("expected");
    const auto row = [](const char *text, std::int64_t expected) {
        QTest::newRow(text) << QByteArray(text) << qint64(expected);
    };
    row("Sun, 06 Nov 1994 08:49:37 GMT", kNow);
    row("Sunday, 06-Nov-94 08:49:37 GMT", kNow);
    row("Sun Nov  6 08:49:37 1994", kNow);
    row("1994-11-06T08:49:37Z", kNow);
    row("1994-11-06T09:49:37.250+01:00", kNow + 250);
    row("Thu, 01 Jan 1970 00:00:00 GMT", 0);
    row("Sun, 31 Feb 1994 08:49:37 GMT", kNone);
    row("Sun, 06 Nov 1994 25:49:37 GMT", kNone);
    row("Sun, 06 Now 1994 08:49:37 GMT", kNone);
    row("1994-11-06", kNone);
    row("soon", kNone);
    row("", kNone);
}

void RetryDelayTest::readsTimes()
{
    QFETCH(QByteArray, text);
    QFETCH(qint64, expected);
    QCOMPARE(wire::timeFromText(text.toStdString()).value_or(kNone), expected);
}

void RetryDelayTest::readsDurations_data()
{
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<qint64>("expected");
    const auto row = [](const char *text, std::int64_t expected) {
        QTest::newRow(text) << QByteArray(text) << qint64(expected);
    };
    row("34.07s", 34070);
    row("6m0s", 360'000);
    row("1h2m3s", 3'723'000);
    row("250ms", 250);
    row("0s", 0);
    row("1d", 86'400'000);
    row("12", kNone);
    row("s", kNone);
    row("1.2.3s", kNone);
    row("99999999999999999d", kNone);
    row("5 s", kNone);
}

void RetryDelayTest::readsDurations()
{
    QFETCH(QByteArray, text);
    QFETCH(qint64, expected);
    QCOMPARE(wire::delayFromDuration(text.toStdString()).value_or(kNone), expected);
}

void RetryDelayTest::readsHeaders_data()
{
    QTest::addColumn<std::vector<wire::Header>>("headers");
    QTest::addColumn<qint64>("after");
    QTest::addColumn<qint64>("reset");
    const auto row = [](const char *name, std::vector<wire::Header> headers, std::int64_t after, std::int64_t reset) {
        QTest::newRow(name) << std::move(headers) << qint64(after) << qint64(reset);
    };
    row("no header", {}, kNone, kNone);
    row("whole seconds", {{"Retry-After", "7"}}, 7000, kNone);
    row("decimal seconds", {{"retry-after", " 1.5 "}}, 1500, kNone);
    row("now", {{"retry-after", "0"}}, 0, kNone);
    row("milliseconds win", {{"retry-after", "7"}, {"retry-after-ms", "250"}}, 250, kNone);
    row("a date ahead", {{"retry-after", "Sun, 06 Nov 1994 08:50:07 GMT"}}, 30'000, kNone);
    row("a date behind is now", {{"retry-after", "Sun, 06 Nov 1994 08:00:00 GMT"}}, 0, kNone);
    row("days", {{"retry-after", "276480"}}, 276'480'000, kNone);
    row("a negative number is now", {{"retry-after", "-3"}}, 0, kNone);
    row("no number and no date", {{"retry-after", "later"}}, kNone, kNone);
    row("a reset as a duration", {{"x-ratelimit-reset-requests", "6m0s"}}, kNone, 360'000);
    row("a reset as a time", {{"vendor-ratelimit-tokens-reset", "1994-11-06T08:49:47Z"}}, kNone, 10'000);
    row("a reset in epoch milliseconds", {{"X-RateLimit-Reset", "784111787000"}}, kNone, 10'000);
    row("the limit that is used up decides",
        {{"x-ratelimit-remaining-requests", "99"},
         {"x-ratelimit-reset-requests", "1h0m"},
         {"x-ratelimit-remaining-tokens", "0"},
         {"x-ratelimit-reset-tokens", "2s"}},
        kNone, 2000);
    row("none is used up", {{"x-ratelimit-remaining-requests", "99"}, {"x-ratelimit-reset-requests", "1h0m"}}, kNone,
        kNone);
}

void RetryDelayTest::readsHeaders()
{
    QFETCH(std::vector<wire::Header>, headers);
    QFETCH(qint64, after);
    QFETCH(qint64, reset);
    QCOMPARE(wire::retryAfter(headers, kNow).value_or(kNone), after);
    QCOMPARE(wire::rateLimitReset(headers, kNow).value_or(kNone), reset);
}

QTEST_GUILESS_MAIN(RetryDelayTest)
#include "retry_delay_test.moc"
