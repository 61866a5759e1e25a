#include "daemon/providers/route/route_egress.h"
#include "tests/providers/geo_files.h"
#include "tests/support/temp_dir.h"

#include <QTest>

#include <sys/stat.h>
#include <unistd.h>

using namespace cortexfs;
using namespace cortexfs::providers;
using namespace cortexfs::test;

namespace {

// Answers when it is told to.
class FakeLookup final : public HostLookup {
public:
    void lookup(const std::string &host, Done done) override
    {
        asked.push_back(host);
        if (isInstant)
            return done(addresses);
        waiting.push_back(std::move(done));
    }
    std::vector<route::Address> addresses;
    std::vector<std::string> asked;
    std::vector<Done> waiting;
    bool isInstant = true;
};

class Fixture {
public:
    Fixture()
    {
        auto fake = std::make_unique<FakeLookup>();
        lookup = fake.get();
        dir.write("model/x", "");
        egress = std::make_unique<RouteEgress>(dir.path("model/route"), dir.path("geo"), std::move(fake));
        provider.name = "local";
        provider.baseUrl = "https://api.example.com/v1";
    }
    void table(const std::string &text) const
    {
        dir.write("model/new", text);
        QCOMPARE(::rename(dir.path("model/new").c_str(), dir.path("model/route").c_str()), 0);
    }
    EgressQuery query() const { return {provider, {"local", "big_model"}, "big/model", names}; }
    std::optional<Result<Egress>> start()
    {
        answer.reset();
        egress->resolve(query(), [this](Result<Egress> arrived) { answer = std::move(arrived); });
        return answer;
    }
    // "GROUP line N", or the error.
    std::string resolved()
    {
        start();
        if (!QTest::qWaitFor([&] { return answer.has_value(); }, 20'000))
            return "(no answer)";
        return *answer ? (*answer)->group + " line " + std::to_string((*answer)->line) : (*answer).error().text();
    }
    std::vector<route::Warning> warnings(const std::optional<std::string> &text = {})
    {
        std::optional<RouteEgress::Check> check;
        egress->check(text, [&](RouteEgress::Check arrived) { check = std::move(arrived); });
        if (!QTest::qWaitFor([&] { return check.has_value(); }, 20'000) || check->error)
            return {{-1, "no answer, or not valid"}};
        return check->warnings;
    }

    TempDir dir;
    config::ProviderConfig provider;
    std::function<std::vector<std::string>()> names;
    FakeLookup *lookup;
    std::unique_ptr<RouteEgress> egress;
    std::optional<Result<Egress>> answer;
};

} // namespace

class RouteEgressTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void withoutATableEverythingGoesDirect()
    {
        Fixture fixture;
        const auto answer = fixture.start();
        QVERIFY(answer && *answer);
        const Egress &egress = **answer;
        QCOMPARE(egress.transport, Transport::Direct);
        QCOMPARE(egress.baseUrl, std::string("https://api.example.com/v1"));
        QCOMPARE(egress.slot, std::string("default"));
        QCOMPARE(egress.group, std::string("direct"));
        QCOMPARE(egress.rule, std::string("fallback: direct"));
        QCOMPARE(egress.line, 0);
    }

    void aGroupSaysTransportUrlAndSlot_data()
    {
        QTest::addColumn<std::string>("group");
        QTest::addColumn<std::string>("expected"); // transport, URL, socket, slot
        const auto row = [](const char *name, const char *group, const char *expected) {
            QTest::newRow(name) << std::string(group) << std::string(expected);
        };
        row("direct with another key", "direct, key(office)", "direct https://api.example.com/v1  office");
        row("http", "http(http://127.0.0.1:8/v2)", "http http://127.0.0.1:8/v2  default");
        row("http with a key", "http(http://127.0.0.1:8/v2), key(office)", "http http://127.0.0.1:8/v2  office");
        row("http without any key", "http(http://127.0.0.1:8/v2), key(none)", "http http://127.0.0.1:8/v2  ");
        row("unix", "unix(/run/p.sock), key(k)", "unix http://localhost/v1 /run/p.sock k");
        row("unix with a base", "unix(/run/p.sock, http://h/x)", "unix http://h/x /run/p.sock default");
    }
    void aGroupSaysTransportUrlAndSlot()
    {
        QFETCH(std::string, group);
        QFETCH(std::string, expected);
        Fixture fixture;
        fixture.table("group(g) -> " + group + "\nprovider(local) -> g\n");
        const auto answer = fixture.start();
        QVERIFY(answer && *answer);
        const Egress &egress = **answer;
        QCOMPARE(std::string(transportWord(egress.transport)) + " " + egress.baseUrl + " " + egress.socketPath + " "
                     + egress.slot,
                 expected);
        QCOMPARE(egress.rule, std::string("provider(local) -> g"));
        QCOMPARE(egress.line, 2);
    }

    void aChangedTableHoldsFromTheNextRequestOn()
    {
        Fixture fixture;
        QCOMPARE(fixture.resolved(), std::string("direct line 0"));
        fixture.table("fallback: must_direct\n");
        QCOMPARE(fixture.resolved(), std::string("must_direct line 1"));
        QCOMPARE(fixture.resolved(), std::string("must_direct line 1"));
        // In place, with the same size and within a tick of the file system's clock.
        fixture.dir.write("model/route", "fallback: direct     \n");
        QCOMPARE(fixture.resolved(), std::string("direct line 1"));
        fixture.dir.write("model/route", "fallback: must_direct\n");
        QCOMPARE(fixture.resolved(), std::string("must_direct line 1"));
        QCOMPARE(::unlink(fixture.dir.path("model/route").c_str()), 0);
        QCOMPARE(fixture.resolved(), std::string("direct line 0"));
    }

    void aBadTableIsNoWayOut_data()
    {
        QTest::addColumn<std::string>("text");
        QTest::addColumn<std::string>("says");
        QTest::newRow("a fault") << std::string("# x\nmodel(a) -> gone\n")
                                 << std::string("model/route, line 2, column 13: no such group: gone");
        QTest::newRow("no text") << std::string("\xff\n") << std::string("model/route: not valid UTF-8");
    }
    void aBadTableIsNoWayOut()
    {
        QFETCH(std::string, text);
        QFETCH(std::string, says);
        Fixture fixture;
        fixture.table(text);
        QCOMPARE(fixture.resolved(), says);
        QCOMPARE(fixture.answer->error().number(), EINVAL);
        QCOMPARE(fixture.resolved(), says);
        fixture.table("");
        QCOMPARE(fixture.resolved(), std::string("direct line 0"));
    }

    void aFileThatCannotBeReadIsNoWayOut()
    {
        Fixture fixture;
        fixture.dir.write("secret", "fallback: direct\n");
        QCOMPARE(::symlink("../secret", fixture.dir.path("model/route").c_str()), 0);
        fixture.resolved();
        QCOMPARE(fixture.answer->error().number(), EIO);
        QCOMPARE(::unlink(fixture.dir.path("model/route").c_str()), 0);
        QCOMPARE(::mkdir(fixture.dir.path("model/route").c_str(), 0700), 0);
        fixture.resolved();
        QCOMPARE(fixture.answer->error().number(), EIO);
        QCOMPARE(fixture.answer->error().detail(), std::string("model/route"));
    }

    void aHostIsResolvedWhenADipRuleIsReached()
    {
        Fixture fixture;
        fixture.table("provider(local) -> direct\ndip(192.0.2.7) -> must_direct\n");
        QCOMPARE(fixture.resolved(), std::string("direct line 1"));
        QVERIFY(fixture.lookup->asked.empty());
        fixture.table("dip(192.0.2.7) -> must_direct\n");
        fixture.lookup->addresses = {*route::parseAddress("192.0.2.7")};
        QCOMPARE(fixture.resolved(), std::string("must_direct line 1"));
        QCOMPARE(fixture.lookup->asked, std::vector<std::string>{"api.example.com"});
        fixture.lookup->addresses = {};
        QCOMPARE(fixture.resolved(), std::string("direct line 0"));
        fixture.provider.baseUrl = "http://192.0.2.7:81/v1";
        QCOMPARE(fixture.resolved(), std::string("must_direct line 1"));
        QCOMPARE(fixture.lookup->asked.size(), std::size_t(2)); // an address is not asked for
    }

    void requestsThatWaitDoNotHoldEachOther()
    {
        Fixture fixture;
        fixture.table("dip(192.0.2.7) -> must_direct\n");
        fixture.lookup->isInstant = false;
        QVERIFY(!fixture.start());
        // Meanwhile the table changes; the one that waits goes on with the table it began with.
        fixture.table("fallback: direct\n");
        std::optional<Result<Egress>> other;
        fixture.egress->resolve(fixture.query(), [&](Result<Egress> arrived) { other = std::move(arrived); });
        QVERIFY(other && *other);
        QCOMPARE((*other)->line, 1);
        fixture.lookup->waiting.front()({*route::parseAddress("192.0.2.7")});
        QVERIFY(fixture.answer && *fixture.answer);
        QCOMPARE((*fixture.answer)->group, std::string("must_direct"));
    }

    void goingWhileARequestWaitsIsSafe()
    {
        Fixture fixture;
        fixture.table("dip(192.0.2.7) -> must_direct\n");
        fixture.lookup->isInstant = false;
        QVERIFY(!fixture.start());
        fixture.egress.reset();
        QVERIFY(!fixture.answer);
    }

    void programNamesAreAskedForOnceAndOnlyWhenReached()
    {
        Fixture fixture;
        int times = 0;
        fixture.names = [&] {
            ++times;
            return std::vector<std::string>{"curl"};
        };
        fixture.table("fallback: direct\n");
        QCOMPARE(fixture.resolved(), std::string("direct line 1"));
        QCOMPARE(times, 0);
        fixture.table("pname(x) -> direct\npname(curl) -> must_direct\n");
        QCOMPARE(fixture.resolved(), std::string("must_direct line 2"));
        QCOMPARE(times, 1);
    }

    void geoRules()
    {
        Fixture fixture;
        fixture.dir.write("geo/geosite.dat", geoEntry("CN", geoDomain(2, "example.com")));
        fixture.dir.write("geo/geoip.dat", geoEntry("JP", geoCidr("198.51.100.0/24")));
        fixture.lookup->addresses = {*route::parseAddress("198.51.100.3")};
        fixture.table("domain(geosite:gone) -> direct\n!domain(geosite:gone) -> direct\n"
                      "domain(geosite:cn) -> must_direct\n");
        QCOMPARE(fixture.resolved(), std::string("must_direct line 3"));
        fixture.table("dip(geoip:us) -> direct\ndip(geoip:jp) -> must_direct\n");
        QCOMPARE(fixture.resolved(), std::string("must_direct line 2"));
    }

    void explainAsksNoResolver()
    {
        Fixture fixture;
        fixture.table("dip(192.0.2.0/24) -> must_direct\n");
        const auto explained = [&](std::optional<route::Address> address) {
            std::optional<RouteEgress::Explanation> out;
            fixture.egress->explain(fixture.query(), address, [&](const Result<RouteEgress::Explanation> &arrived) {
                if (arrived)
                    out = *arrived;
            });
            return out;
        };
        const auto without = explained({});
        QVERIFY(without);
        QCOMPARE(without->egress.group, std::string("direct"));
        QCOMPARE(without->warnings.size(), std::size_t(1));
        QVERIFY(without->warnings[0].starts_with("api.example.com was not resolved"));
        const auto with = explained(route::parseAddress("192.0.2.9"));
        QVERIFY(with);
        QCOMPARE(with->egress.group, std::string("must_direct"));
        QVERIFY(with->warnings.empty());
        QVERIFY(fixture.lookup->asked.empty());
    }

    void checkWarnsOfMissingData()
    {
        Fixture fixture;
        QVERIFY(fixture.warnings().empty()); // no table
        const std::string text = "domain(geosite:cn) -> direct\ndip(geoip:private, geoip:jp) -> direct\n";
        const std::vector<route::Warning> none = fixture.warnings(text);
        QCOMPARE(none.size(), std::size_t(2));
        QCOMPARE(none[0].line, 1);
        QVERIFY(none[0].message.starts_with("no data for geosite:cn"));
        QCOMPARE(none[1].line, 2);
        QVERIFY(none[1].message.starts_with("no data for geoip:jp"));
        fixture.dir.write("geo/geosite.dat", "nonsense");
        fixture.dir.write("geo/geoip.dat", geoEntry("JP", geoCidr("198.51.100.0/24")));
        const std::vector<route::Warning> bad = fixture.warnings(text);
        QCOMPARE(bad.size(), std::size_t(2));
        QVERIFY(bad[0].message.starts_with("<state>/geo/geosite.dat is not used"));
        QCOMPARE(bad[1].line, 1);
    }

    void theSystemsResolverAnswersAndRemembers()
    {
        SystemHostLookup lookup;
        std::vector<route::Address> addresses;
        int answers = 0;
        const auto take = [&](std::vector<route::Address> arrived) {
            addresses = std::move(arrived);
            ++answers;
        };
        lookup.lookup("localhost", take);
        lookup.lookup("localhost", take);
        QTRY_COMPARE_WITH_TIMEOUT(answers, 2, 20'000);
        QVERIFY(!addresses.empty());
        QVERIFY(route::isPrivateAddress(addresses.front()));
        lookup.lookup("localhost", take);
        QCOMPARE(answers, 3); // at once
    }

    void theSystemsResolverMayGoWhileItAsks()
    {
        bool isAnswered = false;
        {
            SystemHostLookup lookup;
            lookup.lookup("localhost", [&](const std::vector<route::Address> &) { isAnswered = true; });
        }
        QCoreApplication::processEvents();
        QVERIFY(!isAnswered);
    }
};

QTEST_GUILESS_MAIN(RouteEgressTest)
#include "route_egress_test.moc"
