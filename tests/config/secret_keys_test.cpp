// A provider file holds no credential, wherever it stands.
#include "common/config/provider_config.h"
#include "tests/common/test_strings.h"

#include <QTest>

using namespace cortexfs;
using namespace cortexfs::config;

class SecretKeysTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void secretKeys_data();
    void secretKeys();
};

void SecretKeysTest::secretKeys_data()
{
    QTest::addColumn<std::string>("members");
    QTest::addColumn<std::string>("pointer");
    const auto row = [](const char *members, const char *pointer) {
        QTest::newRow(members) << std::string(members) << std::string(pointer) + ": ";
    };
    row(R"("api_key":"x")", "/api_key");
    row(R"("api_key":null)", "/api_key");
    row(R"("apiKey":"x")", "/apiKey");
    row(R"("token":"x")", "/token");
    row(R"("api_key_env":"OPENAI_API_KEY")", "/api_key_env");
    row(R"("OPENAI_API_KEY":"x")", "/OPENAI_API_KEY");
    row(R"("token_env":"X")", "/token_env");
    row(R"("password":"x")", "/password");
    row(R"("extra":{"api_key":"x"})", "/extra/api_key");
    row(R"("extra":{"deep":[{"er":{"accessToken":"x"}}]})", "/extra/deep/0/er/accessToken");
    row(R"("extra":[[{"secret":1}]])", "/extra/0/0/secret");
    row(R"("unknown":{"bearer":"x"})", "/unknown/bearer");
    row(R"("timeouts":{"key":1})", "/timeouts/key");
    row(R"("oauth":{"client_secret":"x"})", "/oauth/client_secret");
    row(R"("models":["m",{"api-key":"x"}])", "/models/1/api-key");
}

void SecretKeysTest::secretKeys()
{
    QFETCH(std::string, members);
    QFETCH(std::string, pointer);
    const Result<ProviderConfig> config = parseProvider(
        R"({"name":"local","base_url":"http://127.0.0.1:8317/v1",)" + members + "}", "x.json", {"openai.chat"});
    QVERIFY(!config);
    QCOMPARE(config.error().number(), EINVAL);
    QVERIFY2(config.error().text().find(pointer) != std::string::npos, config.error().text().c_str());
    QVERIFY2(config.error().text().find("ctx provider key set") != std::string::npos, config.error().text().c_str());
}

QTEST_GUILESS_MAIN(SecretKeysTest)
#include "secret_keys_test.moc"
