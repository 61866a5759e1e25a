#include "common/abi/endpoint.h"
#include "common/abi/names.h"
#include "common/abi/words.h"
#include "tests/common/test_strings.h"

#include <QTest>

using namespace cortexfs;
using namespace cortexfs::abi;

class NamesTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void objectNames_data();
    void objectNames();
    void everyByteAlone();
    void modelRefs_data();
    void modelRefs();
    void projectedNames_data();
    void projectedNames();
    void projectedNamesAreObjectNames();
    void aliases();
    void capabilities_data();
    void capabilities();
    void efforts_data();
    void efforts();
    void endpoints_data();
    void endpoints();
    void refusedEndpoints_data();
    void refusedEndpoints();
    void hosts_data();
    void hosts();
};

void NamesTest::objectNames_data()
{
    QTest::addColumn<std::string>("name");
    QTest::addColumn<bool>("ok");
    const auto row = [](const char *title, std::string name, bool ok) {
        QTest::newRow(title) << std::move(name) << ok;
    };
    row("a word", "echo", true);
    row("one character", "a", true);
    row("one digit", "7", true);
    row("every mark inside", "a.b_c+d-e", true);
    row("a dot at the end", "a.", true);
    row("a dash at the end", "a-", true);
    row("two dots inside", "a..b", true);
    row("64 characters", std::string(64, 'x'), true);
    row("65 characters", std::string(65, 'x'), false);
    row("empty", "", false);
    row("dot", ".", false);
    row("dot dot", "..", false);
    row("a dot first", ".hidden", false);
    row("a dash first", "-rf", false);
    row("an underscore first", "_x", false);
    row("a plus first", "+x", false);
    row("a slash", "a/b", false);
    row("a slash behind", "a/", false);
    row("a blank", "a b", false);
    row("a blank behind", "a ", false);
    row("a line feed behind", "a\n", false);
    row("a NUL inside", std::string("a\0b", 3), false);
    row("a NUL behind", std::string("a\0", 2), false);
    row("a backslash", "a\\b", false);
    row("a colon", "a:b", false);
    row("a letter beyond ASCII", "caf\xc3\xa9", false);
    row("an invalid byte", "a\xff", false);
    row("a full-width letter", "\xef\xbd\x81", false);
    row("the ending .sock", "a.sock", false);
    row("the ending .d", "a.d", false);
    row("both endings", "a.sock.d", false);
    row("the endings in upper case are other endings", "a.SOCK", true);
    row("the upper case D too", "a.D", true);
    row("sock without its dot", "asock", true);
    row("the word sock", "sock", true);
    row("the word d", "d", true);
    row("ending inside", "a.d.b", true);
    row("64 characters that end in .d", std::string(62, 'x') + ".d", false);
}

void NamesTest::objectNames()
{
    QFETCH(std::string, name);
    QFETCH(bool, ok);
    QCOMPARE(isObjectName(name), ok);
    const Result<void> check = checkObjectName(name);
    QCOMPARE(check.isOk(), ok);
    if (!ok) {
        QCOMPARE(check.error().number(), EINVAL);
        QVERIFY(!check.error().message().empty());
    }
}

void NamesTest::everyByteAlone()
{
    const std::string first = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    const std::string inside = first + "._+-";
    for (int byte = 0; byte < 256; ++byte) {
        const char c = static_cast<char>(byte);
        QCOMPARE(isObjectName(std::string(1, c)), first.find(c) != std::string::npos);
        QCOMPARE(isObjectName(std::string("a") + c + "b"), inside.find(c) != std::string::npos);
    }
}

void NamesTest::modelRefs_data()
{
    QTest::addColumn<std::string>("text");
    QTest::addColumn<bool>("ok");
    const auto row = [](const char *title, std::string text, bool ok) {
        QTest::newRow(title) << std::move(text) << ok;
    };
    row("provider and model", "openai/gpt-5.6", true);
    row("no slash", "openai", false);
    row("no model", "openai/", false);
    row("no provider", "/gpt", false);
    row("two slashes", "a/b/c", false);
    row("a double slash", "a//b", false);
    row("a slash first", "/a/b", false);
    row("parent directory", "../b", false);
    row("parent directory as model", "a/..", false);
    row("a line feed", "a/b\n", false);
    row("a socket", "a/b.sock", false);
    row("a control directory", "a/b.d", false);
    row("empty", "", false);
    row("a slash", "/", false);
    row("both at full length", std::string(64, 'p') + "/" + std::string(64, 'm'), true);
    row("one more", std::string(65, 'p') + "/m", false);
}

void NamesTest::modelRefs()
{
    QFETCH(std::string, text);
    QFETCH(bool, ok);
    const auto ref = parseModelRef(text);
    QCOMPARE(ref.has_value(), ok);
    if (ok)
        QCOMPARE(ref->text(), text);
}

void NamesTest::projectedNames_data()
{
    QTest::addColumn<std::string>("id");
    QTest::addColumn<std::string>("name"); // empty: none
    const auto row = [](const char *title, std::string id, const char *name) {
        QTest::newRow(title) << std::move(id) << std::string(name);
    };
    row("a legal id stays", "gpt-5.6", "gpt-5.6");
    row("upper case stays", "GPT-4o", "GPT-4o");
    row("a slash", "meta-llama/Llama-3", "meta-llama_Llama-3");
    row("a colon", "qwen3:8b", "qwen3_8b");
    row("a blank", "my model", "my_model");
    row("an at sign and a tilde", "a@b~c", "a_b_c");
    row("one character beyond ASCII is one underscore", "caf\xc3\xa9", "caf_");
    row("each of several", "m-\xe6\xa8\xa1\xe5\x9e\x8b", "m-__");
    row("one of four bytes",
        "a\xf0\x9f\x98\x80"
        "b",
        "a_b");
    row("a NUL", std::string("a\0b", 3), "a_b");
    row("the ending .sock", "a.sock", "a_sock");
    row("the ending .d", "a.d", "a_d");
    row("both", "a.sock.d", "a.sock_d");
    row("nothing but .d", ".d", "x_d");
    row("nothing but .sock", ".sock", "x_sock");
    row("a dot first", ".hidden", "x.hidden");
    row("a slash first", "/a", "x_a");
    row("a dash first", "-rf", "x-rf");
    row("dot dot", "..", "x..");
    row("path traversal", "../../etc/passwd", "x.._.._etc_passwd");
    row("64 characters", std::string(64, 'x'), std::string(64, 'x').c_str());
    row("65 characters have no name", std::string(65, 'x'), "");
    row("64 characters beyond ASCII", "a" + std::string("\xc3\xa9\xc3\xa9"), "a__");
    row("64 that may not begin so have no name", "." + std::string(63, 'x'), "");
    row("63 that may not begin so", "." + std::string(62, 'x'), ("x." + std::string(62, 'x')).c_str());
    row("empty has none", "", "");
}

void NamesTest::projectedNames()
{
    QFETCH(std::string, id);
    QFETCH(std::string, name);
    QCOMPARE(projectedModelName(id).value_or(""), name);
}

void NamesTest::projectedNamesAreObjectNames()
{
    // Every pair of bytes, alone and with the reserved endings behind.
    for (int a = 0; a < 256; ++a) {
        for (int b = 0; b < 256; ++b) {
            for (const char *ending : {"", ".d", ".sock"}) {
                const std::string id = std::string(1, static_cast<char>(a)) + static_cast<char>(b) + ending;
                const auto name = projectedModelName(id);
                if (name)
                    QVERIFY2(isObjectName(*name), name->c_str());
                // Projecting twice changes nothing more.
                if (name)
                    QCOMPARE(projectedModelName(*name).value_or(""), *name);
            }
        }
    }
}

void NamesTest::aliases()
{
    for (const char *name : {"main", "helper", "fast", "reason", "code", "vision"})
        QVERIFY(isModelAlias(name));
    for (const char *name : {"Main", "", "main ", "default", "debug", "route", "mai"})
        QVERIFY(!isModelAlias(name));
}

void NamesTest::capabilities_data()
{
    QTest::addColumn<std::string>("word");
    QTest::addColumn<bool>("stable");
    for (const char *word : {"chat", "stream", "session", "vision", "audio_input", "audio_output", "json_schema",
                             "tool_call_syntax", "reasoning", "embedding", "rerank"})
        QTest::newRow(word) << std::string(word) << true;
    for (const char *word : {"openai_responses", "anthropic_messages", "gemini_generate_content", "native_thread",
                             "native_stateful", "native_stateless", "Chat", "chat ", "", "tools"})
        QTest::addRow("not \"%s\"", word) << std::string(word) << false;
}

void NamesTest::capabilities()
{
    QFETCH(std::string, word);
    QFETCH(bool, stable);
    QCOMPARE(isCapability(word), stable);
}

void NamesTest::efforts_data()
{
    QTest::addColumn<std::string>("word");
    QTest::addColumn<bool>("known");
    for (const char *word : {"auto", "none", "low", "medium", "high", "xhigh", "max"})
        QTest::newRow(word) << std::string(word) << true;
    for (const char *word : {"", "High", "high ", "minimal", "0"})
        QTest::addRow("not \"%s\"", word) << std::string(word) << false;
}

void NamesTest::efforts()
{
    QFETCH(std::string, word);
    QFETCH(bool, known);
    const auto effort = effortFromWord(word);
    QCOMPARE(effort.has_value(), known);
    if (known)
        QCOMPARE(std::string(effortWord(*effort)), word);
    QCOMPARE(std::string(purposeWord(Purpose::Exec)), std::string("exec"));
    QCOMPARE(std::string(purposeWord(Purpose::Socket)), std::string("socket"));
    QCOMPARE(std::string(purposeWord(Purpose::Agent)), std::string("agent"));
}

void NamesTest::endpoints_data()
{
    QTest::addColumn<std::string>("url");
    QTest::addColumn<std::string>("expected"); // scheme host port
    const auto row = [](const char *title, const char *url, const char *expected) {
        QTest::newRow(title) << std::string(url) << std::string(expected);
    };
    row("https", "https://api.example.com/v1", "https api.example.com -1");
    row("a port", "http://models.example.test:9000/", "http models.example.test 9000");
    row("upper case", "HTTPS://API.Example.COM/V1", "https api.example.com -1");
    row("a trailing dot", "https://api.example.com./v1", "https api.example.com -1");
    row("no path", "https://h", "https h -1");
    row("an empty port is the scheme's", "https://h:/v1", "https h -1");
    row("the largest port", "http://h:65535", "http h 65535");
    row("IPv6 in brackets", "http://[::1]:8080/v1", "http ::1 8080");
    row("IPv6 in long form", "http://[0:0:0:0:0:0:0:1]", "http ::1 -1");
    row("a query is kept by the caller", "https://h/v1?api-version=1", "https h -1");
    row("IDN becomes ASCII",
        "https://b\xc3\xbc"
        "cher.example/v1",
        "https xn--bcher-kva.example -1");
    row("IDN in upper case",
        "https://B\xc3\x9c"
        "CHER.example",
        "https xn--bcher-kva.example -1");
    row("a Chinese host", "https://\xe6\xa8\xa1\xe5\x9e\x8b.example", "https xn--xgs754b.example -1");
    row("an underscore", "http://my_host/v1", "http my_host -1");
    row("an at sign in the path is no user", "https://h/@cf/meta", "https h -1");
}

void NamesTest::endpoints()
{
    QFETCH(std::string, url);
    QFETCH(std::string, expected);
    const Result<Endpoint> endpoint = parseEndpoint(url);
    QVERIFY2(endpoint, endpoint ? "" : endpoint.error().text().c_str());
    QCOMPARE(endpoint->scheme + " " + endpoint->host + " " + std::to_string(endpoint->port), expected);
}

void NamesTest::refusedEndpoints_data()
{
    QTest::addColumn<std::string>("url");
    const auto row = [](const char *title, std::string url) { QTest::newRow(title) << std::move(url); };
    row("empty", "");
    row("no scheme", "api.example.com/v1");
    row("no scheme but slashes", "//api.example.com/v1");
    row("a word", "openai");
    row("ftp", "ftp://h/");
    row("file", "file:///etc/passwd");
    row("unix", "unix:/run/x.sock");
    row("javascript", "javascript:alert(1)");
    row("ws", "ws://h/");
    row("no host", "http:///v1");
    row("no host but a port", "http://:80/v1");
    row("no slashes", "http:h");
    row("nothing but dots", "http://.../v1");
    row("a user", "http://user@h/v1");
    row("a user and a password", "http://user:secret@h/v1");
    row("an empty user", "http://@h/v1");
    row("an empty user and password", "http://:@h/v1");
    row("a password alone", "http://:p@h/v1");
    row("a fragment", "http://h/v1#x");
    row("an empty fragment", "http://h/v1#");
    row("a blank inside", "http://h/v 1");
    row("a blank before", " http://h/v1");
    row("a blank behind", "http://h/v1 ");
    row("a line feed", "http://h/v1\n");
    row("a CRLF that would add a header", "http://h/v1\r\nX: y");
    row("a NUL", std::string("http://h/\0v1", 12));
    row("a tab", "http://h\t/v1");
    row("a port that is too large", "http://h:65536/");
    row("a negative port", "http://h:-1/");
    row("a port that is no number", "http://h:x/");
    row("an open bracket", "http://[::1/v1");
    row("no IPv6 in the brackets", "http://[zz]/v1");
    row("IPv6 without brackets", "http://::1/v1");
    row("a backslash", "http:\\\\h\\v1");
    row("a broken percent escape", "http://h/%zz");
}

void NamesTest::refusedEndpoints()
{
    QFETCH(std::string, url);
    const Result<Endpoint> endpoint = parseEndpoint(url);
    QVERIFY2(!endpoint, endpoint ? endpoint->host.c_str() : "");
    QCOMPARE(endpoint.error().number(), EINVAL);
    QVERIFY2(endpoint.error().text().find("secret") == std::string::npos || url.find("secret") == std::string::npos
                 || endpoint.error().text().find("secret store") != std::string::npos,
             endpoint.error().text().c_str());
}

void NamesTest::hosts_data()
{
    QTest::addColumn<std::string>("url");
    QTest::addColumn<bool>("literal");
    QTest::addColumn<bool>("localhost");
    QTest::addColumn<bool>("loopback");
    const auto row = [](const char *title, const char *host, bool literal, bool localhost, bool loopback) {
        QTest::newRow(title) << "http://" + std::string(host) + "/v1" << literal << localhost << loopback;
    };
    row("localhost", "localhost", false, true, true);
    row("LOCALHOST", "LOCALHOST:80", false, true, true);
    row("localhost with a dot", "localhost.", false, true, true);
    row("below localhost", "models.localhost", false, true, true);
    row("not quite localhost", "notlocalhost", false, false, false);
    row("127.0.0.1", "127.0.0.1:8317", true, false, true);
    row("127.0.0.1 with a dot", "127.0.0.1.", true, false, true);
    row("127.1", "127.1", true, false, true);
    row("as one number", "2130706433", true, false, true);
    row("in hexadecimal", "0x7f000001", true, false, true);
    row("in octal", "0177.0.0.1", true, false, true);
    row("the far end of 127/8", "127.255.255.254", true, false, true);
    row("in full-width digits", "\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.0.0.1", true, false, true);
    row("a private address", "10.0.0.1", true, false, false);
    row("any address", "0.0.0.0", true, false, false);
    row("::1", "[::1]:80", true, false, true);
    row("::1 in full", "[0000:0000:0000:0000:0000:0000:0000:0001]", true, false, true);
    row("IPv4-mapped loopback", "[::ffff:127.0.0.1]", true, false, true);
    row("IPv4-mapped in hexadecimal", "[::ffff:7f00:1]", true, false, true);
    row("IPv4-mapped elsewhere", "[::ffff:10.0.0.1]", true, false, false);
    row("with a zone", "[fe80::1%25eth0]", true, false, false);
    row("a global IPv6 address", "[2001:db8::1]", true, false, false);
    row("a name", "api.example.com", false, false, false);
    row("a name that begins like an address", "127.0.0.1.nip.io", false, false, false);
    row("a name of digits and letters", "1e100.net", false, false, false);
}

void NamesTest::hosts()
{
    QFETCH(std::string, url);
    QFETCH(bool, literal);
    QFETCH(bool, localhost);
    QFETCH(bool, loopback);
    const Result<Endpoint> endpoint = parseEndpoint(url);
    QVERIFY2(endpoint, endpoint ? "" : endpoint.error().text().c_str());
    QCOMPARE(isIpLiteral(endpoint->host), literal);
    QCOMPARE(isLocalhostName(endpoint->host), localhost);
    QCOMPARE(isLoopbackHost(endpoint->host), loopback);
}

QTEST_GUILESS_MAIN(NamesTest)
#include "names_test.moc"
