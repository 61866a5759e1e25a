#include "common/base/limits.h"
#include "common/config/provider_config.h"
#include "common/config/secret_keys.h"
#include "common/json/json.h"
#include "tests/common/test_strings.h"

#include <QTest>

using namespace cortexfs;
using namespace cortexfs::config;

namespace {

const std::vector<std::string> kFormats = {"openai.chat", "openai.responses"};

Result<ProviderConfig> parse(const std::string &text) { return parseProvider(text, "x.json", kFormats); }

// A valid file with one more member (or several).
std::string with(const std::string &members)
{
    return R"({"name":"local","base_url":"http://127.0.0.1:8317/v1","models":["m","other/model"],"default_model":"m")"
           + (members.empty() ? "" : "," + members) + "}";
}

std::string joined(const std::vector<std::string> &words)
{
    std::string out;
    for (const std::string &word : words)
        out += (out.empty() ? "" : " ") + word;
    return out;
}

} // namespace

class ProviderConfigTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theExampleOfTheAbi();
    void everyKey();
    void defaults();
    void names_data();
    void names();
    void refusedNames_data();
    void refusedNames();
    void needsKey_data();
    void needsKey();
    void baseUrls_data();
    void baseUrls();
    void models_data();
    void models();
    void accepted_data();
    void accepted();
    void faults_data();
    void faults();
    void everyFaultIsNamed();
    void aFileOfFaultsSaysLittle();
    void warnings_data();
    void warnings();
    void namesOfSecrets_data();
    void namesOfSecrets();
    void theValueOfASecretIsNotRepeated();
    void sizes();
    void brokenJson_data();
    void brokenJson();
};

void ProviderConfigTest::theExampleOfTheAbi()
{
    const Result<ProviderConfig> config = parse(R"({
        "name": "local",
        "base_url": "http://127.0.0.1:8317/v1",
        "default_model": "custom-model",
        "enabled": true,
        "formats": ["openai.chat", "openai.responses"]
    })");
    QVERIFY2(config, config ? "" : config.error().text().c_str());
    QCOMPARE(config->name, std::string("local"));
    QCOMPARE(config->baseUrl, std::string("http://127.0.0.1:8317/v1"));
    QCOMPARE(config->defaultModel, std::string("custom-model"));
    QCOMPARE(config->models, std::vector<std::string>{"custom-model"});
    QCOMPARE(config->formats, kFormats);
    QVERIFY(config->enabled && !config->needsKey && config->warnings.empty());
    QCOMPARE(config->file, std::string("x.json"));
}

void ProviderConfigTest::everyKey()
{
    const Result<ProviderConfig> config = parse(R"({
        "name": "p", "base_url": "https://h.example/base/", "enabled": false, "default_model": "d",
        "models": ["a", "d", "b/c"], "model_limits": {"a": 1, "b/c": 4294967295},
        "model_capabilities": {"a": [], "d": ["chat", "vision"]},
        "formats": ["openai.responses"],
        "timeouts": {"connect_ms": 1, "first_byte_ms": 2, "idle_ms": 3, "run_ms": 86400000},
        "headers": {"X-Title": "t", "http-referer": ""},
        "proxy": "env",
        "oauth": {"client_id": "c", "auth_url": "https://a.example/x?y=1", "token_url": "https://a.example/token",
                  "redirect_uri": "http://127.0.0.1:8765/callback", "scopes": ["model.read", "offline_access"]},
        "extra": {"note": "mine", "max_tokens": 5}
    })");
    QVERIFY2(config, config ? "" : config.error().text().c_str());
    QVERIFY(!config->enabled && config->needsKey && config->proxyFromEnvironment);
    QCOMPARE(config->baseUrl, std::string("https://h.example/base"));
    QCOMPARE(joined(config->models), std::string("d a b/c"));
    QCOMPARE(config->modelLimits, (std::map<std::string, std::uint32_t>{{"a", 1u}, {"b/c", 4294967295u}}));
    QCOMPARE(config->modelCapabilities.size(), std::size_t(2));
    QVERIFY(config->modelCapabilities.at("a").empty());
    QCOMPARE(joined(config->modelCapabilities.at("d")), std::string("chat vision"));
    QCOMPARE(joined(config->formats), std::string("openai.responses"));
    QCOMPARE(config->timeouts.connectMs, 1);
    QCOMPARE(config->timeouts.firstByteMs, 2);
    QCOMPARE(config->timeouts.idleMs, 3);
    QCOMPARE(config->timeouts.runMs, 86'400'000);
    QCOMPARE(config->headers.size(), std::size_t(2));
    QCOMPARE(config->headers[0].first + ":" + config->headers[0].second, std::string("X-Title:t"));
    QVERIFY(config->oauth.has_value());
    QCOMPARE(config->oauth->redirectUri, std::string("http://127.0.0.1:8765/callback"));
    QCOMPARE(joined(config->oauth->scopes), std::string("model.read offline_access"));
    QCOMPARE(joined(config->warnings), std::string());
}

void ProviderConfigTest::defaults()
{
    const Result<ProviderConfig> config = parse(R"({"base_url":"https://models.example.test:9000/"})");
    QVERIFY2(config, config ? "" : config.error().text().c_str());
    QCOMPARE(config->name, std::string("models.example.test"));
    QCOMPARE(config->baseUrl, std::string("https://models.example.test:9000"));
    QVERIFY(config->enabled && config->needsKey && !config->proxyFromEnvironment && !config->oauth);
    QVERIFY(config->models.empty() && config->defaultModel.empty() && config->formats.empty());
    QCOMPARE(config->timeouts.connectMs, limits::kConnectMs);
    QCOMPARE(config->timeouts.firstByteMs, limits::kFirstByteMs);
    QCOMPARE(config->timeouts.idleMs, limits::kIdleMs);
    QCOMPARE(config->timeouts.runMs, limits::kRunMs);
}

void ProviderConfigTest::names_data()
{
    QTest::addColumn<std::string>("json");
    QTest::addColumn<std::string>("name");
    const auto row = [](const char *title, const char *json, const char *name) {
        QTest::newRow(title) << std::string(json) << std::string(name);
    };
    row("the name that is given", R"({"name":"My.Provider_1","base_url":"https://api.openai.com/v1"})",
        "My.Provider_1");
    row("openai by its host", R"({"base_url":"https://api.openai.com/v1"})", "openai");
    row("anthropic by its host", R"({"base_url":"https://api.anthropic.com"})", "anthropic");
    row("google by its host", R"({"base_url":"https://generativelanguage.googleapis.com/v1beta/openai"})", "google");
    row("a known host in upper case with port and dot", R"({"base_url":"HTTPS://API.OpenAI.com.:443/v1"})", "openai");
    row("below a known host is another host", R"({"base_url":"https://eu.api.openai.com/v1"})", "eu.api.openai.com");
    row("a known host at the end of another name", R"({"base_url":"https://evil-api.openai.com/"})",
        "evil-api.openai.com");
    row("the host without port and dot, in lower case", R"({"base_url":"http://Models.Example.TEST.:9000/"})",
        "models.example.test");
    row("IDN in ASCII",
        "{\"base_url\":\"https://b\xc3\xbc"
        "cher.example/\"}",
        "xn--bcher-kva.example");
    row("localhost with a name", R"({"name":"l","base_url":"http://localhost:11434"})", "l");
    row("IPv6 with a name", R"({"name":"l","base_url":"http://[::1]:1/v1"})", "l");
}

void ProviderConfigTest::names()
{
    QFETCH(std::string, json);
    QFETCH(std::string, name);
    const Result<ProviderConfig> config = parse(json);
    QVERIFY2(config, config ? "" : config.error().text().c_str());
    QCOMPARE(config->name, name);
}

void ProviderConfigTest::refusedNames_data()
{
    QTest::addColumn<std::string>("json");
    for (const char *host : {"localhost",
                             "localhost.",
                             "LOCALHOST:80",
                             "x.localhost",
                             "127.0.0.1",
                             "127.1",
                             "2130706433",
                             "0x7f.1",
                             "10.1.2.3",
                             "[::1]",
                             "[::ffff:127.0.0.1]",
                             "[fe80::1%25eth0]",
                             "[2001:db8::1]:8080",
                             "0.0.0.0",
                             "255.255.255.255",
                             "debug",
                             "main",
                             "route",
                             "vision",
                             "box.d",
                             "box.sock",
                             "_x.example"})
        QTest::addRow("no name for %s", host) << R"({"base_url":"http://)" + std::string(host) + R"(/v1"})";
    QTest::newRow("no name for a host of 65 characters")
        << R"({"base_url":"http://)" + std::string(60, 'a') + R"(.test/v1"})";
    for (const char *name : {"", "debug", "route", "main", "helper", "fast", "reason", "code", "vision", "a/b", ".",
                             "..", ".x", "a b", "a.d", "a.sock", "a\\n", "caf\xc3\xa9", "-x"})
        QTest::addRow("the name \"%s\"", name)
            << R"({"name":")" + std::string(name) + R"(","base_url":"http://h.example"})";
    QTest::newRow("a name of 65 characters")
        << R"({"name":")" + std::string(65, 'a') + R"(","base_url":"http://h.example"})";
    for (const char *name : {"7", "null", "[]", "{}", "true"})
        QTest::addRow("a name that is %s", name)
            << R"({"name":)" + std::string(name) + R"(,"base_url":"http://h.example"})";
}

void ProviderConfigTest::refusedNames()
{
    QFETCH(std::string, json);
    const Result<ProviderConfig> config = parse(json);
    QVERIFY2(!config, config ? config->name.c_str() : "");
    QCOMPARE(config.error().number(), EINVAL);
    QVERIFY2(config.error().text().find("/name: ") != std::string::npos, config.error().text().c_str());
}

void ProviderConfigTest::needsKey_data()
{
    QTest::addColumn<std::string>("host");
    QTest::addColumn<bool>("needs");
    for (const char *host : {"localhost", "127.0.0.1:1", "127.1", "[::1]", "[::ffff:127.0.0.1]", "a.localhost"})
        QTest::newRow(host) << std::string(host) << false;
    for (const char *host : {"h.example", "10.0.0.1", "[2001:db8::1]", "192.168.1.1", "127.0.0.1.nip.io"})
        QTest::newRow(host) << std::string(host) << true;
}

void ProviderConfigTest::needsKey()
{
    QFETCH(std::string, host);
    QFETCH(bool, needs);
    const Result<ProviderConfig> config = parse(R"({"name":"p","base_url":"http://)" + host + R"("})");
    QVERIFY2(config, config ? "" : config.error().text().c_str());
    QCOMPARE(config->needsKey, needs);
}

void ProviderConfigTest::baseUrls_data()
{
    QTest::addColumn<std::string>("url");  // as a JSON value
    QTest::addColumn<std::string>("kept"); // empty: refused
    const auto row = [](const char *title, const char *url, const char *kept) {
        QTest::newRow(title) << std::string(url) << std::string(kept);
    };
    row("slashes at the end go", R"("https://h/v1///")", "https://h/v1");
    row("the root's slash goes", R"("https://h/")", "https://h");
    row("the spelling stays", R"("https://H.Example/V1")", "https://H.Example/V1");
    row("slashes escaped in JSON", R"("http:\/\/h\/v1")", "http://h/v1");
    row("empty", R"("")", "");
    row("null", "null", "");
    row("a number", "1", "");
    row("a list", R"(["http://h"])", "");
    row("no scheme", R"("h.example/v1")", "");
    row("another scheme", R"("ftp://h/v1")", "");
    row("a user and password", R"("https://user:hunter2@h/v1")", "");
    row("an empty user", R"("https://@h/v1")", "");
    row("a fragment", R"("https://h/v1#a")", "");
    row("an escaped line feed", R"("https://h/v1\nX-Evil: 1")", "");
    row("an escaped NUL", R"("https://h/v1\u0000")", "");
    row("a blank", R"("https://h /v1")", "");
    row("nothing but slashes", R"("///")", "");
    row("no host", R"("https:///v1")", "");
}

void ProviderConfigTest::baseUrls()
{
    QFETCH(std::string, url);
    QFETCH(std::string, kept);
    const Result<ProviderConfig> config = parse(R"({"name":"p","base_url":)" + url + "}");
    QCOMPARE(config.isOk(), !kept.empty());
    if (config) {
        QCOMPARE(config->baseUrl, kept);
    } else {
        QCOMPARE(config.error().number(), EINVAL);
        QVERIFY2(config.error().text().find("/base_url: ") != std::string::npos, config.error().text().c_str());
        QVERIFY(config.error().text().find("hunter2") == std::string::npos);
    }
}

void ProviderConfigTest::models_data()
{
    QTest::addColumn<std::string>("members");
    QTest::addColumn<std::string>("models"); // with | between
    const auto row = [](const char *title, const char *members, const char *models) {
        QTest::newRow(title) << std::string(members) << std::string(models);
    };
    row("neither", "", "");
    row("an empty list", R"("models":[])", "");
    row("the default alone", R"("default_model":"d")", "d");
    row("the list alone", R"("models":["b","a"])", "b|a");
    row("the default is added", R"("default_model":"d","models":["b"])", "d|b");
    row("the default is not added twice", R"("default_model":"b","models":["a","b"])", "b|a");
    row("names that are no object names", R"("models":["meta-llama/Llama-3","a b","caf\u00e9"])",
        "meta-llama/Llama-3|a b|caf\xc3\xa9");
}

void ProviderConfigTest::models()
{
    QFETCH(std::string, members);
    QFETCH(std::string, models);
    const Result<ProviderConfig> config = parse(R"({"name":"p","base_url":"http://h")"
                                                + (members.empty() ? "" : "," + members) + "}");
    QVERIFY2(config, config ? "" : config.error().text().c_str());
    std::string all;
    for (const std::string &id : config->models)
        all += (all.empty() ? "" : "|") + id;
    QCOMPARE(all, models);
}

void ProviderConfigTest::accepted_data()
{
    QTest::addColumn<std::string>("members");
    for (
        const char *members :
        {R"("model_limits":{})", R"("model_limits":{"m":1})", R"("model_limits":{"m":4294967295})",
         R"("model_capabilities":{})", R"("model_capabilities":{"m":[]})",
         R"("model_capabilities":{"m":["chat","stream","session","vision","audio_input","audio_output","json_schema","tool_call_syntax","reasoning","embedding","rerank"]})",
         R"("timeouts":{})", R"("timeouts":{"connect_ms":1})", R"("headers":{})",
         R"("headers":{"anthropic-version":"2023-06-01"})", R"("headers":{"X-Api-Version":"1"})", R"("proxy":"none")",
         R"("enabled":false)", R"("extra":null)", R"("extra":"anything")",
         R"("extra":{"max_tokens":1,"token_url":"x"})"})
        QTest::newRow(members) << std::string(members);
}

void ProviderConfigTest::accepted()
{
    QFETCH(std::string, members);
    const Result<ProviderConfig> config = parse(with(members));
    QVERIFY2(config, config ? "" : config.error().text().c_str());
    QCOMPARE(joined(config->warnings), std::string());
}

void ProviderConfigTest::faults_data()
{
    QTest::addColumn<std::string>("members");
    QTest::addColumn<std::string>("pointer");
    const auto row = [](const char *members, const char *pointer) {
        QTest::newRow(members) << std::string(members) << std::string(pointer) + ": ";
    };
    row(R"("model_limits":{"m":0})", "/model_limits/m");
    row(R"("model_limits":{"m":-1})", "/model_limits/m");
    row(R"("model_limits":{"m":-0})", "/model_limits/m");
    row(R"("model_limits":{"m":4294967296})", "/model_limits/m");
    row(R"("model_limits":{"m":18446744073709551616})", "/model_limits/m");
    row(R"("model_limits":{"m":1e3})", "/model_limits/m");
    row(R"("model_limits":{"m":1.0})", "/model_limits/m");
    row(R"("model_limits":{"m":"32768"})", "/model_limits/m");
    row(R"("model_limits":{"m":null})", "/model_limits/m");
    row(R"("model_limits":{"m":true})", "/model_limits/m");
    row(R"("model_limits":{"m":[1]})", "/model_limits/m");
    row(R"("model_limits":{"unknown":1})", "/model_limits/unknown");
    row(R"("model_limits":{"local/m":1})", "/model_limits/local~1m");
    row(R"("model_limits":[])", "/model_limits");
    row(R"("model_limits":null)", "/model_limits");
    row(R"("model_capabilities":{"m":["native_thread"]})", "/model_capabilities/m");
    row(R"("model_capabilities":{"m":["openai_responses"]})", "/model_capabilities/m");
    row(R"("model_capabilities":{"m":["chat","chat"]})", "/model_capabilities/m");
    row(R"("model_capabilities":{"m":["Chat"]})", "/model_capabilities/m");
    row(R"("model_capabilities":{"m":[""]})", "/model_capabilities/m");
    row(R"("model_capabilities":{"m":[1]})", "/model_capabilities/m");
    row(R"("model_capabilities":{"m":"chat"})", "/model_capabilities/m");
    row(R"("model_capabilities":{"m":null})", "/model_capabilities/m");
    row(R"("model_capabilities":{"unknown":[]})", "/model_capabilities/unknown");
    row(R"("model_capabilities":[])", "/model_capabilities");
    row(R"("formats":[])", "/formats");
    row(R"("formats":["gemini"])", "/formats");
    row(R"("formats":["openai.chat","openai.chat"])", "/formats");
    row(R"("formats":"openai.chat")", "/formats");
    row(R"("formats":[1])", "/formats/0");
    row(R"("formats":["openai-chat"])", "/formats");
    row(R"("timeouts":{"connect_ms":0})", "/timeouts/connect_ms");
    row(R"("timeouts":{"first_byte_ms":-5})", "/timeouts/first_byte_ms");
    row(R"("timeouts":{"idle_ms":86400001})", "/timeouts/idle_ms");
    row(R"("timeouts":{"idle_ms":1.5})", "/timeouts/idle_ms");
    row(R"("timeouts":{"connect_ms":"10s"})", "/timeouts/connect_ms");
    row(R"("timeouts":5)", "/timeouts");
    row(R"("headers":{"Authorization":"Bearer x"})", "/headers/Authorization");
    row(R"("headers":{"authorization":"x"})", "/headers/authorization");
    row(R"("headers":{"X-Api-Key":"x"})", "/headers/X-Api-Key");
    row(R"("headers":{"x-goog-api-key":"x"})", "/headers/x-goog-api-key");
    row(R"("headers":{"X-Auth-Token":"x"})", "/headers/X-Auth-Token");
    row(R"("headers":{"Cookie":"x"})", "/headers/Cookie");
    row(R"("headers":{"Proxy-Authorization":"x"})", "/headers/Proxy-Authorization");
    row(R"("headers":{"":"x"})", "/headers/");
    row(R"("headers":{"a b":"x"})", "/headers/a b");
    row(R"("headers":{"a:b":"x"})", "/headers/a:b");
    row(R"("headers":{"a\r\nb":"x"})", "/headers/a\r\nb");
    row(R"("headers":{"X":"a\r\nY: b"})", "/headers/X");
    row(R"("headers":{"X":"\u0000"})", "/headers/X");
    row(R"("headers":{"X":1})", "/headers/X");
    row(R"("headers":["X"])", "/headers");
    row(R"("enabled":"yes")", "/enabled");
    row(R"("enabled":1)", "/enabled");
    row(R"("enabled":null)", "/enabled");
    row(R"("proxy":"http://proxy:8080")", "/proxy");
    row(R"("proxy":true)", "/proxy");
    row(R"("oauth":{})", "/oauth/client_id");
    row(R"("oauth":[])", "/oauth");
    row(R"("oauth":{"client_id":"c","auth_url":"x","token_url":"https://t","redirect_uri":"http://127.0.0.1/"})",
        "/oauth/auth_url");
    row(R"("oauth":{"client_id":"c","auth_url":"https://a","token_url":"file:///t","redirect_uri":"http://127.0.0.1/"})",
        "/oauth/token_url");
    row(R"("oauth":{"client_id":"c","auth_url":"https://a","token_url":"https://t","redirect_uri":"http://127.0.0.1/","scopes":"x"})",
        "/oauth/scopes");
    row(R"("oauth":{"client_id":"c","client_secret":"s","auth_url":"https://a","token_url":"https://t","redirect_uri":"http://127.0.0.1/"})",
        "/oauth/client_secret");
}

void ProviderConfigTest::faults()
{
    QFETCH(std::string, members);
    QFETCH(std::string, pointer);
    const Result<ProviderConfig> config = parse(with(members));
    QVERIFY(!config);
    QCOMPARE(config.error().number(), EINVAL);
    QVERIFY2(config.error().text().find(pointer) != std::string::npos, config.error().text().c_str());
}

void ProviderConfigTest::everyFaultIsNamed()
{
    const Result<ProviderConfig> config = parse(
        R"({"base_url":7,"enabled":"x","models":["",1,"a\u0001"],"default_model":"","timeouts":{"idle_ms":0},"api_key":"k"})");
    QVERIFY(!config);
    const std::string text = config.error().text();
    for (const char *pointer : {"/base_url: ", "/enabled: ", "/models/0: ", "/models/1: ", "/models/2: ",
                                "/default_model: ", "/timeouts/idle_ms: ", "/api_key: "})
        QVERIFY2(text.find(pointer) != std::string::npos, (std::string(pointer) + " in " + text).c_str());
}

void ProviderConfigTest::aFileOfFaultsSaysLittle()
{
    std::string models;
    for (int i = 0; i < 20'000; ++i)
        models += i == 0 ? "1" : ",1";
    const Result<ProviderConfig> config = parse(with(R"("formats":[)" + models + "]"));
    QVERIFY(!config);
    QVERIFY2(config.error().text().size() < 5'000, std::to_string(config.error().text().size()).c_str());
    QVERIFY(config.error().text().find("more") != std::string::npos);
    const Result<ProviderConfig> longKey = parse(with("\"model_limits\":{\"" + std::string(50'000, 'k') + "\":1}"));
    QVERIFY(!longKey);
    QVERIFY(longKey.error().text().size() < 5'000);
    std::string keys;
    for (int i = 0; i < 3'000; ++i)
        keys += (keys.empty() ? "" : ",") + ("\"u" + std::to_string(i) + "\":1");
    const Result<ProviderConfig> warned = parse(with(keys));
    QVERIFY(warned);
    QVERIFY(warned->warnings.size() <= 21);
}

void ProviderConfigTest::warnings_data()
{
    QTest::addColumn<std::string>("members");
    QTest::addColumn<std::string>("warning");
    const auto row = [](const char *title, const char *members, const char *warning) {
        QTest::newRow(title) << std::string(members) << std::string(warning);
    };
    row("an unknown key", R"("colour":"red")", "/colour: unknown key, ignored");
    row("an unknown key with a slash", R"("a/b":1)", "/a~1b: unknown key, ignored");
    row("an unknown timeout", R"("timeouts":{"read_ms":1})", "/timeouts/read_ms: unknown key, ignored");
    row("a key in another case", R"("Base_URL":"x")", "/Base_URL: unknown key, ignored");
    row("a format of a newer build", R"("formats":["openai.chat","next.big"])",
        "/formats: not known to this build: next.big");
    row("an unknown key of oauth",
        R"("oauth":{"client_id":"c","auth_url":"https://a","token_url":"https://t","redirect_uri":"http://127.0.0.1/","pkce":true})",
        "/oauth/pkce: unknown key, ignored");
}

void ProviderConfigTest::warnings()
{
    QFETCH(std::string, members);
    QFETCH(std::string, warning);
    const Result<ProviderConfig> config = parse(with(members));
    QVERIFY2(config, config ? "" : config.error().text().c_str());
    QCOMPARE(config->warnings, std::vector<std::string>{warning});
}

void ProviderConfigTest::namesOfSecrets_data()
{
    QTest::addColumn<bool>("secret");
    for (const char *key :
         {"api_key",       "apikey",      "apiKey",       "APIKey",        "API_KEY",      "API-KEY",
          "x-api-key",     "api_key_env", "api_keys",     "apiKeyFile",    "openaiApiKey", "key",
          "token",         "authToken",   "auth-token",   "access_token",  "accessToken",  "refreshToken",
          "bearer",        "secret",      "clientSecret", "client_secret", "private_key",  "password",
          "dbPassword",    "passwd",      "passphrase",   "credential",    "credentials",  "authorization",
          "Authorization", "key_env",     "SOME_ENV",     "keyEnv",        "cookie",       "jwt"})
        QTest::newRow(key) << true;
    for (const char *key : {"name", "base_url", "token_url", "tokenUrl", "auth_url", "max_tokens", "maxTokens",
                            "keyboard", "monkey", "model_limits", "secretary", "environment", "author", "tokenizer",
                            "key_length", "redirect_uri", "client_id", "headers", ""})
        QTest::newRow(*key ? key : "empty") << false;
}

void ProviderConfigTest::namesOfSecrets()
{
    QFETCH(bool, secret);
    const std::string key = QTest::currentDataTag();
    QCOMPARE(looksLikeSecret(key == "empty" ? "" : key), secret);
}

void ProviderConfigTest::theValueOfASecretIsNotRepeated()
{
    const std::string canary = "sk-canary-12345";
    for (const std::string &members :
         {R"("api_key":")" + canary + "\"", R"("headers":{"Authorization":"Bearer )" + canary + "\"}",
          R"("extra":{"token":")" + canary + "\"}", R"("oauth":{"client_secret":")" + canary + "\"}"}) {
        const Result<ProviderConfig> config = parse(with(members));
        QVERIFY(!config);
        QVERIFY2(config.error().text().find(canary) == std::string::npos, config.error().text().c_str());
    }
}

void ProviderConfigTest::sizes()
{
    const std::string head = R"({"name":"p","base_url":"http://h","extra":")";
    const std::string fits = head + std::string(limits::kProviderFile - head.size() - 2, 'x') + "\"}";
    QCOMPARE(fits.size(), limits::kProviderFile);
    QVERIFY(parse(fits));
    const Result<ProviderConfig> tooLarge = parse(fits + " ");
    QVERIFY(!tooLarge);
    QCOMPARE(tooLarge.error().number(), EMSGSIZE);
    const std::string id(256, 'i');
    const auto fileWith = [](const std::string &member) {
        return "{\"name\":\"p\",\"base_url\":\"http://h\"," + member + "}";
    };
    QVERIFY(parse(fileWith("\"models\":[\"" + id + "\"]")));
    QVERIFY(!parse(fileWith("\"models\":[\"" + id + "i\"]")));
    QVERIFY(!parse(fileWith("\"default_model\":\"" + id + "i\"")));
}

void ProviderConfigTest::brokenJson_data()
{
    QTest::addColumn<std::string>("text");
    const auto row = [](const char *title, std::string text) { QTest::newRow(title) << std::move(text); };
    row("empty", "");
    row("blanks", " \n");
    row("a list", R"([{"name":"p","base_url":"http://h"}])");
    row("a string", R"("http://h")");
    row("null", "null");
    row("cut short", R"({"name":"p","base_url":"http://h")");
    row("two values", R"({"name":"p","base_url":"http://h"}{})");
    row("a trailing comma", R"({"name":"p","base_url":"http://h",})");
    row("a comment", "{\"name\":\"p\", // x\n\"base_url\":\"http://h\"}");
    row("single quotes", "{'name':'p','base_url':'http://h'}");
    row("a BOM", "\xef\xbb\xbf{\"name\":\"p\",\"base_url\":\"http://h\"}");
    row("a NUL behind", std::string("{\"name\":\"p\",\"base_url\":\"http://h\"}\0", 36));
    row("Latin-1", "{\"name\":\"p\",\"base_url\":\"http://h\",\"extra\":\"caf\xe9\"}");
    row("nested without end", std::string(60'000, '['));
    row("nested too deep",
        R"({"name":"p","base_url":"http://h","extra":)" + std::string(200, '[') + std::string(200, ']') + "}");
    row("NaN", R"({"name":"p","base_url":"http://h","extra":NaN})");
}

void ProviderConfigTest::brokenJson()
{
    QFETCH(std::string, text);
    const Result<ProviderConfig> config = parse(text);
    QVERIFY(!config);
    QCOMPARE(config.error().number(), EINVAL);
    QVERIFY(!config.error().message().empty());
}

QTEST_GUILESS_MAIN(ProviderConfigTest)
#include "provider_config_test.moc"
