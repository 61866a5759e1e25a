#include "daemon/providers/core/endpoint_url.h"

#include <QTest>

using namespace cortexfs;

class EndpointUrlTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void pathIsJoined_data();
    void pathIsJoined();
    void badBaseIsRefused_data();
    void badBaseIsRefused();
};

void EndpointUrlTest::pathIsJoined_data()
{
    QTest::addColumn<QByteArray>("base");
    QTest::addColumn<QByteArray>("path");
    QTest::addColumn<QByteArray>("url");
    const auto row = [](const char *title, const char *base, const char *path, const char *url) {
        QTest::newRow(title) << QByteArray(base) << QByteArray(path) << QByteArray(url);
    };
    row("base path is kept", "http://h:1/v1", "/chat/completions", "http://h:1/v1/chat/completions");
    row("trailing slashes go", "http://h/v1//", "/models", "http://h/v1/models");
    row("empty path becomes /v1", "https://h", "/chat/completions", "https://h/v1/chat/completions");
    row("a bare slash is an empty path", "https://h/", "/models", "https://h/v1/models");
    row("longer base path", "https://h/openai/deployments/x", "/chat/completions",
        "https://h/openai/deployments/x/chat/completions");
    row("query is kept behind the path", "https://h/v1?api-version=2", "/models", "https://h/v1/models?api-version=2");
    row("query without a path", "https://h?x=1", "/models", "https://h/v1/models?x=1");
    row("a path of its own version is not doubled", "https://h/v1", "/v1/messages", "https://h/v1/messages");
    row("a path of its own version under an empty base", "https://h", "/v1/messages", "https://h/v1/messages");
    row("a path of its own version under another base", "https://h/api", "/v1/messages", "https://h/api/v1/messages");
    row("an address in brackets", "http://[::1]:8317/v1", "/models", "http://[::1]:8317/v1/models");
    row("escapes stay as written", "http://h/a%2Fb", "/models", "http://h/a%2Fb/models");
}

void EndpointUrlTest::pathIsJoined()
{
    QFETCH(QByteArray, base);
    QFETCH(QByteArray, path);
    QFETCH(QByteArray, url);
    const Result<std::string> joined = providers::endpointUrl(base.toStdString(), path.toStdString());
    QVERIFY(joined);
    QCOMPARE(QByteArray::fromStdString(*joined), url);
}

void EndpointUrlTest::badBaseIsRefused_data()
{
    QTest::addColumn<QByteArray>("base");
    QTest::newRow("user name") << QByteArray("http://user@h/v1");
    QTest::newRow("password") << QByteArray("http://user:canary@h/v1");
    QTest::newRow("empty user name") << QByteArray("http://@h/v1");
    QTest::newRow("fragment") << QByteArray("http://h/v1#x");
    QTest::newRow("another scheme") << QByteArray("file:///etc/passwd");
    QTest::newRow("no scheme") << QByteArray("h/v1");
    QTest::newRow("no host") << QByteArray("http:///v1");
    QTest::newRow("line break") << QByteArray("http://h/v1\r\nX: 1");
    QTest::newRow("empty") << QByteArray("");
}

void EndpointUrlTest::badBaseIsRefused()
{
    QFETCH(QByteArray, base);
    const Result<std::string> joined = providers::endpointUrl(base.toStdString(), "/models");
    QVERIFY(!joined);
    QCOMPARE(joined.error().number(), EINVAL);
    QVERIFY(joined.error().message().find("canary") == std::string::npos);
}

QTEST_GUILESS_MAIN(EndpointUrlTest)
#include "endpoint_url_test.moc"
