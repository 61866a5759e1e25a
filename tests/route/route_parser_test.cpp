#include "common/route/route_table.h"

#include <QTest>

using namespace cortexfs;
using namespace cortexfs::route;

class RouteParserTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void exampleOfTheAbiParses()
    {
        const Result<Table> table = parseTable(R"(
group(proxy) -> http(http://127.0.0.1:8080/v1), key(office)
group(local-socket) -> unix(/run/user/1000/cortexfs/proxy/openai.sock), key(local)

dip(198.51.100.45) -> direct
# dip(203.0.113.43) -> JP
domain(bestproxy.com) -> proxy
pname(NetworkManager, systemd-resolved, dnsmasq) -> must_direct
dip(geoip:private) -> direct
dip(geoip:cn) -> direct
domain(geosite:cn) -> direct
model(embedding-*) -> local-socket
fallback: proxy
)");
        QVERIFY2(table.isOk(), table ? "" : table.error().text().c_str());
        QCOMPARE(table->rules.size(), std::size_t(7));
        QCOMPARE(table->rules[0].line, 5);
        QCOMPARE(table->rules[6].text, std::string("model(embedding-*) -> local-socket"));
        QCOMPARE(table->rules[2].matchers[0].values.size(), std::size_t(3));
        QCOMPARE(table->fallback, std::string("proxy"));
        QCOMPARE(table->fallbackLine, 13);
        QCOMPARE(table->group("proxy").baseUrl, std::string("http://127.0.0.1:8080/v1"));
        QCOMPARE(table->group("proxy").slot, std::string("office"));
        QCOMPARE(table->group("local-socket").baseUrl, std::string("http://localhost/v1"));
        QCOMPARE(table->geositeNames(), std::vector<std::string>{"cn"});
        QCOMPARE(table->geoipNames(), std::vector<std::string>{"cn"});
    }

    void emptyTextGoesDirect()
    {
        const Result<Table> table = parseTable("");
        QVERIFY(table);
        QCOMPARE(table->fallback, std::string("direct"));
        QCOMPARE(table->fallbackLine, 0);
    }

    void accepted_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::newRow("a comment after a blank") << QByteArray("domain(a.com) -> direct # why");
        QTest::newRow("a hash inside a word is no comment") << QByteArray("pname(c#) -> direct");
        QTest::newRow("a negated matcher joined to another") << QByteArray("!provider(local) && model(x*) -> direct");
        QTest::newRow("a group used before it is defined")
            << QByteArray("provider(a) -> g\ngroup(g) -> direct, key(k)");
        QTest::newRow("no key wanted") << QByteArray("group(g) -> http(http://127.0.0.1:1/v1), key(none)");
        QTest::newRow("a socket with a base URL") << QByteArray("group(g) -> unix(/a/b.sock, http://x/v1)");
        QTest::newRow("a regular expression with parentheses") << QByteArray(R"(domain(regex:^(a|b)\.com$) -> direct)");
        QTest::newRow("a comma inside quotation marks") << QByteArray(R"(domain(regex:"a{1,2}\.com") -> direct)");
        QTest::newRow("networks of both families") << QByteArray("dip(10.0.0.0/8, fd00::/8, ::1) -> direct");
        QTest::newRow("lines that end in CR LF") << QByteArray("domain(a.com) -> direct\r\nfallback: direct\r\n");
        QTest::newRow("no blanks at all") << QByteArray("domain(a.com)&&dip(1.2.3.4)->direct");
        QTest::newRow("every form of a domain")
            << QByteArray("domain(full:a.com, suffix:b.com, keyword:c, geosite:cn, .d.com) -> direct");
    }
    void accepted()
    {
        QFETCH(QByteArray, text);
        const Result<Table> table = parseTable(text.toStdString());
        QVERIFY2(table.isOk(), table ? "" : table.error().text().c_str());
    }

    void refused_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QByteArray>("where");
        QTest::newRow("an unknown matcher") << QByteArray("host(a) -> direct") << QByteArray("line 1, column 1");
        QTest::newRow("an undefined group")
            << QByteArray("# x\n\nmodel(a) -> nowhere") << QByteArray("line 3, column 13");
        QTest::newRow("an undefined fallback") << QByteArray("fallback: nowhere") << QByteArray("line 1, column 11");
        QTest::newRow("a built-in group defined again")
            << QByteArray("group(direct) -> direct") << QByteArray("line 1, column 6");
        QTest::newRow("a group defined twice")
            << QByteArray("group(a) -> direct\ngroup(a) -> direct") << QByteArray("line 2, column 6");
        QTest::newRow("two fallbacks") << QByteArray("fallback: direct\nfallback: direct") << QByteArray("line 2");
        QTest::newRow("no arrow") << QByteArray("model(a) direct") << QByteArray("line 1, column 10");
        QTest::newRow("no group after the arrow") << QByteArray("model(a) ->") << QByteArray("line 1, column 12");
        QTest::newRow("an open parenthesis") << QByteArray("model(a -> direct") << QByteArray("line 1");
        QTest::newRow("an empty argument") << QByteArray("model(a,,b) -> direct") << QByteArray("line 1, column 9");
        QTest::newRow("words after the group")
            << QByteArray("model(a) -> direct now") << QByteArray("line 1, column 20");
        QTest::newRow("a transport that does not exist")
            << QByteArray("group(a) -> socks(x)") << QByteArray("line 1, column 13");
        QTest::newRow("an http group that is no URL")
            << QByteArray("group(a) -> http(nonsense)") << QByteArray("line 1, column 18");
        QTest::newRow("a URL with a password")
            << QByteArray("group(a) -> http(http://u:p@h/v1)") << QByteArray("line 1, column 18");
        QTest::newRow("a relative socket") << QByteArray("group(a) -> unix(x.sock)") << QByteArray("line 1, column 18");
        QTest::newRow("a slot that is no name")
            << QByteArray("group(a) -> direct, key(../x)") << QByteArray("line 1, column 25");
        QTest::newRow("an address out of range")
            << QByteArray("dip(1.2.3.256) -> direct") << QByteArray("line 1, column 5");
        QTest::newRow("a prefix out of range")
            << QByteArray("dip(10.0.0.0/33) -> direct") << QByteArray("line 1, column 5");
        QTest::newRow("a star in the middle") << QByteArray("model(a*b) -> direct") << QByteArray("line 1, column 7");
        QTest::newRow("a broken regular expression")
            << QByteArray("domain(regex:[) -> direct") << QByteArray("line 1, column 8");
        QTest::newRow("a control character") << QByteArray("model(a\x01) -> direct") << QByteArray("line 1, column 8");
        QTest::newRow("prose") << QByteArray("send everything direct") << QByteArray("line 1");
    }
    void refused()
    {
        QFETCH(QByteArray, text);
        QFETCH(QByteArray, where);
        const Result<Table> table = parseTable(text.toStdString());
        QVERIFY(!table);
        QCOMPARE(table.error().number(), EINVAL);
        QVERIFY2(table.error().detail().starts_with(where.toStdString()), table.error().text().c_str());
    }

    void everyPrefixOfATextEndsInATableOrAClearError()
    {
        const std::string text =
            "group(p) -> unix(/a.sock, http://h/v1), key(k)\n!domain(regex:\"a,b\", geosite:x) && dip(::1/64) -> p\n"
            "fallback: p # c\n";
        for (std::size_t i = 0; i <= text.size(); ++i) {
            const Result<Table> table = parseTable(text.substr(0, i));
            if (!table)
                QVERIFY(table.error().detail().starts_with("line "));
        }
    }

    void warnings_data()
    {
        QTest::addColumn<std::string>("text");
        QTest::addColumn<std::vector<int>>("lines");
        const auto row = [](const char *name, const char *text, std::vector<int> lines) {
            QTest::newRow(name) << std::string(text) << std::move(lines);
        };
        row("nothing to say", "group(g) -> direct\nmodel(a*) -> g\nfallback: direct\n", {});
        row("no table at all", "", {});
        row("rules behind one that takes everything", "provider(*) -> direct\nmodel(a) -> direct\nfallback: direct\n",
            {2, 3});
        row("a list with a star in it", "model(a, *) -> direct\nmodel(b) -> direct\n", {2});
        row("a negated star takes nothing", "!model(*) -> direct\nmodel(b) -> direct\n", {});
        row("a star joined to another matcher", "model(*) && pname(x) -> direct\nmodel(b) -> direct\n", {});
        row("the same question twice", "model(a) -> direct\nmodel( a )  -> must_direct\n", {2});
        row("a group that nothing leads to", "group(g) -> direct\ngroup(h) -> direct\nfallback: h\n", {1});
    }
    void warnings()
    {
        QFETCH(std::string, text);
        QFETCH(std::vector<int>, lines);
        const Result<Table> table = parseTable(text);
        QVERIFY2(table.isOk(), table ? "" : table.error().text().c_str());
        std::vector<int> seen;
        for (const Warning &warning : checkTable(*table)) {
            QVERIFY(!warning.message.empty());
            seen.push_back(warning.line);
        }
        QCOMPARE(seen, lines);
    }

    void positionsAreReadFromErrors()
    {
        const auto position = positionOf(parseTable("# x\nmodel(a) -> gone").error());
        QVERIFY(position.has_value());
        QCOMPARE(position->line, 2);
        QCOMPARE(position->column, 13);
        QVERIFY(!positionOf(errors::invalid("line 3 of something else")).has_value());
    }

    void linesOfGeoNames()
    {
        const Result<Table> table = parseTable(
            "domain(a.com) -> direct\ndomain(geosite:cn) && dip(geoip:jp) -> direct\n"
            "dip(geoip:cn) -> direct\n");
        QVERIFY(table);
        QCOMPARE(lineOfGeoName(*table, MatcherKind::Domain, "cn"), 2);
        QCOMPARE(lineOfGeoName(*table, MatcherKind::Dip, "cn"), 3);
        QCOMPARE(lineOfGeoName(*table, MatcherKind::Dip, "xx"), 0);
    }

    void oversizedTextIsRefused()
    {
        QCOMPARE(parseTable(std::string(1024 * 1024 + 1, '#')).error().number(), EMSGSIZE);
    }
};

QTEST_GUILESS_MAIN(RouteParserTest)
#include "route_parser_test.moc"
