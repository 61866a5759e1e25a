#include "common/route/evaluation.h"

#include <QTest>

#include <set>

using namespace cortexfs;
using namespace cortexfs::route;

namespace {

class FakeGeo final : public GeoData {
public:
    bool isLoaded() const override { return loaded; }
    std::optional<bool> siteHolds(std::string_view name, std::string_view host) const override
    {
        ++asked;
        if (name != "cn")
            return std::nullopt;
        return host.ends_with(".cn");
    }
    std::optional<bool> countryHolds(std::string_view name, const Address &address) const override
    {
        ++asked;
        if (name != "cn")
            return std::nullopt;
        return address == *parseAddress("203.0.113.9");
    }
    mutable int asked = 0;
    bool loaded = true;
};

Query query(const char *host)
{
    Query out;
    out.host = host;
    out.provider = "example";
    out.model = "example/big_model-1";
    out.nativeModel = "big/model-1";
    out.programNames = [] { return std::vector<std::string>{"curl", "curl-bin"}; };
    return out;
}

} // namespace

class RouteEvaluationTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void decides_data()
    {
        QTest::addColumn<QByteArray>("rule");
        QTest::addColumn<QByteArray>("host");
        QTest::addColumn<QByteArray>("address");
        QTest::addColumn<bool>("hit");
        const auto row = [](const char *name, const char *rule, const char *host, const char *address, bool hit) {
            QTest::newRow(name) << QByteArray(rule) << QByteArray(host) << QByteArray(address) << hit;
        };
        row("a domain covers itself", "domain(a.com)", "a.com", "", true);
        row("a domain covers what is below", "domain(a.com)", "api.a.com", "", true);
        row("a domain is no substring", "domain(a.com)", "xa.com", "", false);
        row("full means only itself", "domain(full:a.com)", "api.a.com", "", false);
        row("a keyword is a substring", "domain(keyword:i.a)", "api.a.com", "", true);
        row("a regular expression searches", R"(domain(regex:^api\d+\.a\.com$))", "api12.a.com", "", true);
        row("case does not count", "domain(A.COM)", "a.com", "", true);
        row("a list is an or", "domain(x.com, a.com)", "a.com", "", true);
        row("two matchers are an and", "domain(a.com) && provider(other)", "a.com", "", false);
        row("a negation", "!provider(other) && domain(a.com)", "a.com", "", true);
        row("a provider by prefix", "provider(exam*)", "a.com", "", true);
        row("a model by its own name", "model(big_model-1)", "a.com", "", true);
        row("a model by its native name", "model(big/model-1)", "a.com", "", true);
        row("a model by its full name", "model(example/big*)", "a.com", "", true);
        row("a model prefix that does not fit", "model(small*)", "a.com", "", false);
        row("an address that the host resolves to", "dip(192.0.2.7)", "a.com", "192.0.2.7", true);
        row("a network", "dip(192.0.2.0/24)", "a.com", "192.0.2.7", true);
        row("a network of the other family", "dip(2001:db8::/32)", "a.com", "192.0.2.7", false);
        row("an IPv6 network", "dip(2001:db8::/33)", "a.com", "2001:db8:7fff::1", true);
        row("an IPv6 network by one bit not", "dip(2001:db8::/33)", "a.com", "2001:db8:8000::1", false);
        row("an address literal needs no resolving", "dip(127.0.0.0/8)", "127.0.0.1", "", true);
        row("private networks", "dip(geoip:private)", "a.com", "10.1.2.3", true);
        row("loopback is private", "dip(geoip:private)", "::1", "", true);
        row("a public address is not private", "dip(geoip:private)", "a.com", "8.8.8.8", false);
        row("a mapped IPv4 address is not private as such", "dip(geoip:private)", "::ffff:8.8.8.8", "", false);
        row("a country with data", "dip(geoip:cn)", "a.com", "203.0.113.9", true);
        row("a country without data never matches", "dip(geoip:xx)", "a.com", "8.8.8.8", false);
        row("nor does its negation", "!dip(geoip:xx)", "a.com", "8.8.8.8", false);
        row("a host that does not resolve matches no dip", "dip(0.0.0.0/0)", "a.com", "", false);
        row("nor a negated one", "!dip(10.0.0.0/8)", "a.com", "", false);
        row("a site list", "domain(geosite:cn)", "x.cn", "", true);
        row("a site list without data", "domain(geosite:zz)", "x.cn", "", false);
        row("a program by one of its names", "pname(wget, curl-bin)", "a.com", "", true);
        row("another program", "pname(wget)", "a.com", "", false);
    }
    void decides()
    {
        QFETCH(QByteArray, rule);
        QFETCH(QByteArray, host);
        QFETCH(QByteArray, address);
        QFETCH(bool, hit);
        const Result<Table> table = parseTable(rule.toStdString() + " -> must_direct");
        QVERIFY2(table.isOk(), table ? "" : table.error().text().c_str());
        const Query asked = query(host.constData());
        const FakeGeo geo;
        Evaluation evaluation(*table, asked, geo);
        std::optional<Decision> decision = evaluation.run();
        if (!decision) {
            std::vector<Address> addresses;
            if (!address.isEmpty())
                addresses.push_back(*parseAddress(address.toStdString()));
            evaluation.setAddresses(addresses);
            decision = evaluation.run();
        }
        QVERIFY(decision.has_value());
        QCOMPARE(decision->group->name == "must_direct", hit);
        QCOMPARE(decision->line, hit ? 1 : 0);
    }

    void firstMatchWins()
    {
        const Result<Table> table = parseTable("group(a) -> direct, key(a)\ngroup(b) -> direct, key(b)\n"
                                               "provider(example) -> b\nmodel(*) -> a\n");
        QVERIFY(table);
        const Query asked = query("a.com");
        const FakeGeo geo;
        QCOMPARE(Evaluation(*table, asked, geo).run()->group->slot, std::string("b"));
    }

    void addressesAndNamesAreAskedForOnlyWhenReached()
    {
        const Result<Table> table = parseTable("provider(example) -> direct\ndip(1.2.3.4) -> direct\n"
                                               "pname(x) -> direct\ndomain(geosite:cn) -> direct\n");
        QVERIFY(table);
        Query asked = query("a.com");
        asked.programNames = []() -> std::vector<std::string> { qFatal("asked without need"); };
        const FakeGeo geo;
        QVERIFY(Evaluation(*table, asked, geo).run().has_value());
        QCOMPARE(geo.asked, 0);
    }

    void programNamesAreAskedForOnce()
    {
        const Result<Table> table = parseTable("pname(x) -> direct\npname(y) -> direct\npname(curl) -> must_direct\n");
        QVERIFY(table);
        int times = 0;
        Query asked = query("a.com");
        asked.programNames = [&] {
            ++times;
            return std::vector<std::string>{"curl"};
        };
        const FakeGeo geo;
        QCOMPARE(Evaluation(*table, asked, geo).run()->line, 3);
        QCOMPARE(times, 1);
    }

    void geoDataIsAskedForWhenItsRuleIsReached()
    {
        const Result<Table> table = parseTable("provider(none) -> direct\ndomain(geosite:cn) -> must_direct\n");
        QVERIFY(table);
        const Query asked = query("x.cn");
        FakeGeo geo;
        geo.loaded = false;
        Evaluation evaluation(*table, asked, geo);
        QVERIFY(!evaluation.run().has_value());
        QCOMPARE(evaluation.need(), Evaluation::Need::GeoData);
        geo.loaded = true;
        QCOMPARE(evaluation.run()->line, 2);
    }

    void resumesWhereItStopped()
    {
        const Result<Table> table = parseTable(
            "provider(none) -> direct\nprovider(example) && dip(10.0.0.0/8) -> must_direct\n"
            "fallback: direct\n");
        QVERIFY(table);
        const Query asked = query("a.com");
        const FakeGeo geo;
        Evaluation evaluation(*table, asked, geo);
        QVERIFY(!evaluation.run().has_value());
        QVERIFY(!evaluation.run().has_value()); // asking again without an answer changes nothing
        evaluation.setAddresses({*parseAddress("10.0.0.1")});
        QCOMPARE(evaluation.run()->line, 2);
    }
};

QTEST_GUILESS_MAIN(RouteEvaluationTest)
#include "route_evaluation_test.moc"
