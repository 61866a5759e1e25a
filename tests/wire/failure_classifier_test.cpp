#include "daemon/providers/wire/core/failure_classifier.h"

#include "daemon/providers/wire/core/redaction.h"

#include "tests/common/test_strings.h"

#include <QtTest>

using namespace cortexfs;

namespace {

constexpr std::int64_t kNow = 1'764'500'000'000;

std::string outcome(const wire::ReplyFailure &failure)
{
    return std::string(failure.error.name()) + (failure.retryable ? " retry" : "")
           + (failure.mayFallBack ? " next" : "");
}

} // namespace

class FailureClassifierTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void mapsEveryStatus_data();
    void mapsEveryStatus();
    void readsEveryFormOfBody_data();
    void readsEveryFormOfBody();
    void classifiesInStreamErrors_data();
    void classifiesInStreamErrors();
    void honoursWhatTheServerAsksFor();
    void mapsBrokenConnections_data();
    void mapsBrokenConnections();
    void showsNoKeys_data();
    void showsNoKeys();
};

void FailureClassifierTest::mapsEveryStatus_data()
{
    QTest::addColumn<int>("status");
    QTest::addColumn<QByteArray>("expected");
    const auto row = [](int status, const char *expected) {
        QTest::newRow(std::to_string(status).c_str()) << status << QByteArray(expected);
    };
    row(301, "ENOTSUP next");
    row(307, "ENOTSUP next");
    row(400, "EINVAL");
    row(401, "EACCES next");
    row(402, "EDQUOT next");
    row(403, "EACCES next");
    row(404, "ENOENT next");
    row(405, "ENOTSUP next");
    row(408, "ETIMEDOUT retry next");
    row(409, "EAGAIN retry next");
    row(410, "ENOENT next");
    row(413, "EMSGSIZE next");
    row(415, "ENOTSUP next");
    row(418, "EINVAL");
    row(422, "EINVAL");
    row(424, "EHOSTDOWN retry next");
    row(425, "EAGAIN retry next");
    row(429, "EAGAIN retry next");
    row(451, "EACCES next");
    row(499, "ECANCELED");
    row(500, "EHOSTDOWN retry next");
    row(501, "ENOTSUP next");
    row(502, "EHOSTDOWN retry next");
    row(503, "EHOSTDOWN retry next");
    row(504, "ETIMEDOUT retry next");
    row(524, "ETIMEDOUT retry next");
    row(529, "EHOSTDOWN retry next");
    row(599, "EHOSTDOWN retry next");
    row(199, "EBADMSG next");
    row(999, "EBADMSG next");
}

void FailureClassifierTest::mapsEveryStatus()
{
    QFETCH(int, status);
    QFETCH(QByteArray, expected);
    const wire::ReplyFailure failure = wire::failureOfStatus(status, {}, "", kNow);
    QCOMPARE(QByteArray::fromStdString(outcome(failure)), expected);
    QVERIFY(failure.error.text().find("HTTP " + std::to_string(status)) != std::string::npos);
}

void FailureClassifierTest::readsEveryFormOfBody_data()
{
    QTest::addColumn<int>("status");
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<QByteArray>("code");
    QTest::addColumn<QByteArray>("message");
    const auto row = [](const char *name, int status, const char *body, const char *code, const char *message) {
        QTest::newRow(name) << status << QByteArray(body) << QByteArray(code) << QByteArray(message);
    };
    row("an error object", 400, R"({"error":{"message":"bad thing","type":"invalid_request_error"}})", "EINVAL",
        "bad thing (HTTP 400)");
    row("an error text", 404, R"({"error":"model not here"})", "ENOENT", "model not here (HTTP 404)");
    row("an array of one", 400, R"([{"error":{"code":400,"message":"Unknown name","status":"INVALID_ARGUMENT"}}])",
        "EINVAL", "Unknown name (HTTP 400)");
    row("a typed envelope", 529, R"({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}})",
        "EHOSTDOWN", "Overloaded (HTTP 529)");
    row("a flat message", 500, R"({"message":"no luck","code":"internal"})", "EHOSTDOWN", "no luck (HTTP 500)");
    row("a detail text", 422, R"({"detail":"Unsupported parameter: x"})", "EINVAL",
        "Unsupported parameter: x (HTTP 422)");
    row("a detail list", 422, R"({"detail":[{"loc":["body"],"msg":"field required","type":"missing"}]})", "EINVAL",
        "field required (HTTP 422)");
    row("a detail object", 400, R"({"detail":{"error":{"message":"deep"}}})", "EINVAL", "deep (HTTP 400)");
    row("a JSON string", 400, R"("just text")", "EINVAL", "just text (HTTP 400)");
    row("a page is not shown", 502, "<html><title>502 Bad Gateway</title></html>", "EHOSTDOWN", "HTTP 502");
    row("plain text is not shown", 504, "upstream timeout", "ETIMEDOUT", "HTTP 504");
    row("nothing", 503, "", "EHOSTDOWN", "HTTP 503");
    row("a number", 500, "17", "EHOSTDOWN", "HTTP 500");
    row("an error null", 500, R"({"error":null})", "EHOSTDOWN", "HTTP 500");
    row("context length by its code", 400, R"({"error":{"message":"x","code":"context_length_exceeded"}})", "EMSGSIZE",
        "x (HTTP 400)");
    row("context length by its words, whatever the status", 500,
        R"({"error":{"message":"Input is longer than the model's context length"}})", "EMSGSIZE",
        "Input is longer than the model's context length (HTTP 500)");
    row("prompt too long", 400,
        R"({"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 > 8"}})",
        "EMSGSIZE", "prompt is too long: 9 > 8 (HTTP 400)");
    row("tokens a minute are a rate, not a length", 429,
        R"({"error":{"message":"Request too large: reduce the length, tokens per min","code":"rate_limit_exceeded"}})",
        "EAGAIN", "Request too large: reduce the length, tokens per min (HTTP 429)");
    row("an exhausted quota", 429, R"({"error":{"message":"quota","type":"insufficient_quota"}})", "EDQUOT",
        "quota (HTTP 429)");
    row("a low balance with status 400", 400,
        R"({"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}})",
        "EDQUOT", "Your credit balance is too low (HTTP 400)");
    row("a status is believed over words", 403, R"({"error":{"message":"m","type":"server_error"}})", "EACCES",
        "m (HTTP 403)");
    row("control characters and line ends become blanks", 400, "{\"error\":{\"message\":\"a\\nb\\u001b[31m\"}}",
        "EINVAL", "a b [31m (HTTP 400)");
}

void FailureClassifierTest::readsEveryFormOfBody()
{
    QFETCH(int, status);
    QFETCH(QByteArray, body);
    QFETCH(QByteArray, code);
    QFETCH(QByteArray, message);
    const wire::ReplyFailure failure = wire::failureOfStatus(status, {}, body.toStdString(), kNow);
    QCOMPARE(QByteArray::fromStdString(std::string(failure.error.name())), code);
    QCOMPARE(QByteArray::fromStdString(failure.error.text()), message);
}

void FailureClassifierTest::classifiesInStreamErrors_data()
{
    QTest::addColumn<QByteArray>("event");
    QTest::addColumn<QByteArray>("expected");
    const auto row = [](const char *name, const char *event, const char *expected) {
        QTest::newRow(name) << QByteArray(event) << QByteArray(expected);
    };
    row("by its type", R"({"error":{"message":"m","type":"server_error","code":null}})", "EHOSTDOWN retry next");
    row("by a number", R"({"error":{"message":"m","code":502}})", "EHOSTDOWN retry next");
    row("by a number in a string", R"({"error":{"message":"m","code":"429"}})", "EAGAIN retry next");
    row("a number that is no status says nothing", R"({"error":{"message":"m","code":1302}})", "EIO next");
    row("by a status word", R"([{"error":{"message":"m","status":"UNAVAILABLE"}}])", "EHOSTDOWN retry next");
    row("rate limit inside an invalid request",
        R"({"error":{"message":"m","type":"invalid_request_error","code":"rate_limit_exceeded"}})",
        "EAGAIN retry next");
    row("overloaded", R"({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}})",
        "EHOSTDOWN retry next");
    row("authentication", R"({"error":{"type":"authentication_error","message":"m"}})", "EACCES next");
    row("not found", R"({"error":{"type":"invalid_request_error","code":"model_not_found","message":"m"}})",
        "ENOENT next");
    row("timeout", R"({"error":{"type":"timeout_error","message":"m"}})", "ETIMEDOUT retry next");
    row("invalid", R"({"error":{"type":"invalid_request_error","message":"m"}})", "EINVAL");
    row("too long before the number",
        R"({"error":{"code":400,"message":"the request exceeds the available context size"}})", "EMSGSIZE next");
    row("quota before the number", R"({"error":{"code":400,"message":"insufficient credits"}})", "EDQUOT next");
    row("nothing to go by", R"({"error":{"message":"something"}})", "EIO next");
    row("a bare text", R"({"error":"something"})", "EIO next");
    row("a broken upstream", R"({"error":{"code":"x","message":"m","metadata":{"error_type":"provider_unavailable"}}})",
        "EHOSTDOWN retry next");
}

void FailureClassifierTest::classifiesInStreamErrors()
{
    QFETCH(QByteArray, event);
    QFETCH(QByteArray, expected);
    const auto document = json::parse(event.toStdString());
    QVERIFY(document);
    const auto fault = wire::faultIn(document->root());
    QVERIFY(fault);
    QCOMPARE(QByteArray::fromStdString(outcome(wire::failureOfFault(*fault))), expected);
}

void FailureClassifierTest::honoursWhatTheServerAsksFor()
{
    const auto of = [](int status, const std::vector<wire::Header> &headers, std::string_view body = "") {
        return wire::failureOfStatus(status, headers, body, kNow);
    };
    QCOMPARE(of(429, {{"retry-after", "3"}}).retryAfterMs.value_or(-1), 3000);
    QCOMPARE(of(503, {{"Retry-After", "0"}}).retryAfterMs.value_or(-1), 0);
    QVERIFY(!of(400, {{"retry-after", "3"}}).retryAfterMs);
    QVERIFY(!of(429, {{"x-should-retry", "false"}}).retryable);
    QVERIFY(of(400, {{"x-should-retry", "true"}}).retryable);
    QVERIFY(of(429, {{"x-should-retry", "maybe"}}).retryable);
    const std::string_view info =
        R"([{"error":{"code":429,"message":"m","details":[{"@type":"RetryInfo","retryDelay":"34.07s"}]}}])";
    QCOMPARE(of(429, {}, info).retryAfterMs.value_or(-1), 34070);
    QCOMPARE(of(429, {{"retry-after", "1"}}, info).retryAfterMs.value_or(-1), 1000);
    QCOMPARE(of(429, {{"x-ratelimit-reset-tokens", "2s"}}).retryAfterMs.value_or(-1), 2000);
    QVERIFY(!of(500, {{"x-ratelimit-reset-tokens", "2s"}}).retryAfterMs);
}

void FailureClassifierTest::mapsBrokenConnections_data()
{
    QTest::addColumn<int>("number");
    QTest::addColumn<QByteArray>("expected");
    const auto row = [](int number, const char *expected) {
        QTest::newRow(std::string(errnoName(number)).c_str()) << number << QByteArray(expected);
    };
    row(ECONNREFUSED, "ECONNREFUSED retry next");
    row(ECONNRESET, "ECONNRESET retry next");
    row(ETIMEDOUT, "ETIMEDOUT retry next");
    row(EHOSTUNREACH, "EHOSTUNREACH next");
    row(EPROTO, "EPROTO next");
    row(EBADMSG, "EBADMSG next");
    row(ECANCELED, "ECANCELED");
}

void FailureClassifierTest::mapsBrokenConnections()
{
    QFETCH(int, number);
    QFETCH(QByteArray, expected);
    QCOMPARE(QByteArray::fromStdString(outcome(wire::failureOfTransport(makeError(number, "m")))), expected);
}

void FailureClassifierTest::showsNoKeys_data()
{
    QTest::addColumn<QByteArray>("message");
    QTest::addColumn<QByteArray>("expected");
    const auto row = [](const char *name, const QByteArray &message, const QByteArray &expected) {
        QTest::newRow(name) << message << expected;
    };
    row("a masked key", "Incorrect API key provided: sk-abc***xyz. You can",
        "Incorrect API key provided: [redacted]. You can");
    row("a whole key", "key sk-proj-Ab12Cd34 is wrong", "key [redacted] is wrong");
    row("a bearer token", "got 'Bearer abc'", "got 'Bearer [redacted]'");
    row("a long run of letters and digits", "token 9f8e7d6c5b4a39281706f5e4d3c2b1a0!", "token [redacted]!");
    row("a mask of stars alone", "key ab****yz", "key [redacted]");
    row("model names stay", "model gpt-5.1-2025-11-13 or Qwen3-235B-A22B-Instruct-2507 not found",
        "model gpt-5.1-2025-11-13 or Qwen3-235B-A22B-Instruct-2507 not found");
    row("numbers stay", "208310 tokens > 200000 maximum, at 1764500000000000000",
        "208310 tokens > 200000 maximum, at 1764500000000000000");
    row("words stay", "exceed_context_size_error: internationalization",
        "exceed_context_size_error: internationalization");
    row("broken UTF-8 is mended", QByteArray("a\xff\xfe") + "b", QByteArray("a\xef\xbf\xbd\xef\xbf\xbd") + "b");
}

void FailureClassifierTest::showsNoKeys()
{
    QFETCH(QByteArray, message);
    QFETCH(QByteArray, expected);
    QCOMPARE(QByteArray::fromStdString(wire::presentable(message.toStdString())), expected);
    const std::string longer = wire::presentable(std::string(700, 'x') + " " + message.toStdString());
    QVERIFY(longer.size() <= 503);
    QVERIFY(json::isValidUtf8(wire::presentable(message.repeated(200).toStdString())));
}

QTEST_GUILESS_MAIN(FailureClassifierTest)
#include "failure_classifier_test.moc"
