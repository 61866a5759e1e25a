#include "daemon/providers/route/geo_store.h"
#include "tests/providers/geo_files.h"
#include "tests/support/temp_dir.h"

#include <QTest>

#include <sys/stat.h>
#include <unistd.h>

using namespace cortexfs;
using namespace cortexfs::providers;
using namespace cortexfs::test;

namespace {

using Facts = std::shared_ptr<const GeoFacts>;

Facts loaded(GeoStore &store, const GeoNames &names)
{
    Facts facts;
    store.load(names, [&](Facts arrived) { facts = std::move(arrived); });
    return QTest::qWaitFor([&] { return facts != nullptr; }, 20'000) ? facts : nullptr;
}

// "yes", "no" or "unknown"
std::string word(std::optional<bool> answer) { return !answer ? "unknown" : *answer ? "yes" : "no"; }

std::string country(const Facts &facts, const char *name, const char *address)
{
    return word(facts->countryHolds(name, *route::parseAddress(address)));
}

std::string siteFile()
{
    return geoEntry("CN", geoDomain(2, "example.cn") + geoDomain(3, "only.cn") + geoDomain(0, "keyw")
                              + geoDomain(1, "^re[0-9]+\\.org$") + geoDomain(1, "([broken")
                              + geoDomain(2, "ads.cn", "ads"))
           + geoEntry("OTHER", geoDomain(2, "other.org"));
}

std::string countryFile()
{
    return geoEntry("CN", geoCidr("203.0.113.0/24") + geoCidr("203.0.113.128/25") + geoCidr("2001:db8::/32"))
           + geoEntry("JP", geoCidr("198.51.100.0/24")) + geoEntry("CLOUD", geoCidr("192.0.2.1/32"))
           + geoEntry("OUTSIDE", geoCidr("10.0.0.0/8") + numberField(3, 1));
}

} // namespace

class GeoStoreTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void siteLists_data()
    {
        QTest::addColumn<std::string>("name");
        QTest::addColumn<std::string>("host");
        QTest::addColumn<std::string>("answer");
        const auto row = [](const char *title, const char *name, const char *host, const char *answer) {
            QTest::newRow(title) << std::string(name) << std::string(host) << std::string(answer);
        };
        row("a suffix is itself", "cn", "example.cn", "yes");
        row("a suffix is what is below", "cn", "a.b.example.cn", "yes");
        row("a suffix is no ending of a word", "cn", "xexample.cn", "no");
        row("full is itself", "cn", "only.cn", "yes");
        row("full is not what is below", "cn", "a.only.cn", "no");
        row("a keyword is anywhere", "cn", "xkeywx.org", "yes");
        row("a regular expression", "cn", "re12.org", "yes");
        row("a regular expression that does not fit", "cn", "re.org", "no");
        row("another list", "other", "example.cn", "no");
        row("an attribute picks its entries", "cn@ads", "ads.cn", "yes");
        row("an attribute leaves the rest out", "cn@ads", "example.cn", "no");
        row("a list that is not there", "gone", "example.cn", "unknown");
    }
    void siteLists()
    {
        QFETCH(std::string, name);
        QFETCH(std::string, host);
        QFETCH(std::string, answer);
        TempDir dir;
        dir.write("geo/geosite.dat", siteFile());
        GeoStore store(dir.path("geo"));
        const Facts facts = loaded(store, {{"cn", "cn@ads", "other", "gone"}, {}});
        QVERIFY(facts);
        QCOMPARE(word(facts->siteHolds(name, host)), answer);
    }

    void countryLists_data()
    {
        QTest::addColumn<std::string>("name");
        QTest::addColumn<std::string>("address");
        QTest::addColumn<std::string>("answer");
        const auto row = [](const char *title, const char *name, const char *address, const char *answer) {
            QTest::newRow(title) << std::string(name) << std::string(address) << std::string(answer);
        };
        row("the first of a network", "cn", "203.0.113.0", "yes");
        row("the last of a network", "cn", "203.0.113.255", "yes");
        row("one before", "cn", "203.0.112.255", "no");
        row("one behind", "cn", "203.0.114.0", "no");
        row("IPv6", "cn", "2001:db8:ffff::1", "yes");
        row("IPv6 outside", "cn", "2001:db9::1", "no");
        row("a single address", "cloud", "192.0.2.1", "yes");
        row("an inverse list holds the rest", "outside", "8.8.8.8", "yes");
        row("an inverse list holds not its own", "outside", "10.1.2.3", "no");
        row("a list that is not there", "xx", "8.8.8.8", "unknown");
    }
    void countryLists()
    {
        QFETCH(std::string, name);
        QFETCH(std::string, address);
        QFETCH(std::string, answer);
        TempDir dir;
        dir.write("geo/geoip.dat", countryFile());
        GeoStore store(dir.path("geo"));
        const Facts facts = loaded(store, {{}, {"cn", "cloud", "outside", "xx"}});
        QVERIFY(facts);
        QCOMPARE(country(facts, name.c_str(), address.c_str()), answer);
    }

    void countryDatabase()
    {
        CountryFile file;
        file.add("203.0.113.0/24", "CN");
        file.add("198.51.100.0/25", "JP");
        TempDir dir;
        dir.write("geo/countries.mmdb", file.bytes());
        GeoStore store(dir.path("geo"));
        const Facts facts = loaded(store, {{}, {"cn", "jp"}});
        QVERIFY(facts);
        QVERIFY2(facts->problems().empty(),
                 facts->problems().empty() ? "" : facts->problems().front().error.text().c_str());
        QCOMPARE(country(facts, "cn", "203.0.113.7"), std::string("yes"));
        QCOMPARE(country(facts, "jp", "203.0.113.7"), std::string("no"));
        QCOMPARE(country(facts, "jp", "198.51.100.9"), std::string("yes"));
        QCOMPARE(country(facts, "jp", "198.51.100.200"), std::string("no"));
        QCOMPARE(country(facts, "jp", "2001:db8::1"), std::string("no"));
        QCOMPARE(country(facts, "cloudy", "203.0.113.7"), std::string("unknown"));
        QVERIFY(facts->knowsCountry("de"));
        QVERIFY(!facts->knowsCountry("cloudy"));
    }

    void namesAreKnownWithoutReadingTheirLists()
    {
        TempDir dir;
        dir.write("geo/geosite.dat", siteFile());
        dir.write("geo/geoip.dat", countryFile());
        GeoStore store(dir.path("geo"));
        const Facts facts = loaded(store, {});
        QVERIFY(facts);
        QVERIFY(facts->knowsSite("other") && facts->knowsSite("cn@ads") && !facts->knowsSite("gone"));
        QVERIFY(facts->knowsCountry("jp") && !facts->knowsCountry("gone"));
        QCOMPARE(word(facts->siteHolds("cn", "example.cn")), std::string("unknown"));
    }

    void whatIsInMemoryIsGivenAtOnceUntilAFileChanges()
    {
        TempDir dir;
        dir.write("geo/geosite.dat", siteFile());
        GeoStore store(dir.path("geo"));
        const Facts first = loaded(store, {{"cn"}, {}});
        QVERIFY(first);
        Facts again;
        store.load({{"cn"}, {}}, [&](Facts facts) { again = std::move(facts); });
        QCOMPARE(again, first);
        // A check reads no list and must not throw away the one that runs use.
        store.load({}, [&](Facts facts) { again = std::move(facts); });
        QCOMPARE(again, first);
        dir.write("geo/new.dat", geoEntry("CN", geoDomain(2, "changed.cn")));
        QCOMPARE(::rename(dir.path("geo/new.dat").c_str(), dir.path("geo/geosite.dat").c_str()), 0);
        const Facts changed = loaded(store, {{"cn"}, {}});
        QVERIFY(changed && changed != first);
        QCOMPARE(word(changed->siteHolds("cn", "changed.cn")), std::string("yes"));
        QCOMPARE(word(changed->siteHolds("cn", "example.cn")), std::string("no"));
        QCOMPARE(word(first->siteHolds("cn", "example.cn")), std::string("yes")); // who holds it keeps one state
        QCOMPARE(::unlink(dir.path("geo/geosite.dat").c_str()), 0);
        QCOMPARE(word(loaded(store, {{"cn"}, {}})->siteHolds("cn", "changed.cn")), std::string("unknown"));
    }

    void askingWhileReadingIsAnsweredWithWhatWasAsked()
    {
        TempDir dir;
        dir.write("geo/geosite.dat", siteFile());
        GeoStore store(dir.path("geo"));
        Facts one;
        Facts two;
        store.load({{"cn"}, {}}, [&](Facts facts) { one = std::move(facts); });
        store.load({{"other"}, {}}, [&](Facts facts) { two = std::move(facts); });
        QTRY_VERIFY_WITH_TIMEOUT(one && two, 20'000);
        QCOMPARE(word(one->siteHolds("cn", "example.cn")), std::string("yes"));
        QCOMPARE(word(two->siteHolds("other", "other.org")), std::string("yes"));
    }

    void badFilesAreReportedAndCountAsAbsent_data()
    {
        QTest::addColumn<QByteArray>("name");
        QTest::addColumn<QByteArray>("content");
        const auto row = [](const char *title, const char *name, const std::string &content) {
            QTest::newRow(title) << QByteArray(name) << QByteArray::fromStdString(content);
        };
        const std::string sites = siteFile();
        const std::string countries = countryFile();
        row("a text", "geosite.dat", "domain:example.cn\n");
        row("an empty file", "geosite.dat", "");
        row("a file that was cut", "geosite.dat", sites.substr(0, sites.size() - 3));
        row("a length that leads out", "geosite.dat", std::string("\x0a\xff\xff\xff\xff\x0f", 6));
        row("an entry without a name", "geosite.dat", bytesField(1, geoDomain(2, "a.cn")));
        row("a group", "geosite.dat", std::string("\x0b\x0c", 2));
        row("zeros", "geoip.dat", std::string(64, '\0'));
        row("a cut list of countries", "geoip.dat", countries.substr(0, 20));
        row("an address of five bytes", "geoip.dat",
            geoEntry("CN", bytesField(2, bytesField(1, "abcde") + numberField(2, 8))));
        row("a prefix that is too long", "geoip.dat",
            geoEntry("CN", bytesField(2, bytesField(1, "abcd") + numberField(2, 33))));
        row("a database that is a text", "c.mmdb", "countries");
        row("a database without its end", "c.mmdb", CountryFile().bytes().substr(0, 30));
    }
    void badFilesAreReportedAndCountAsAbsent()
    {
        QFETCH(QByteArray, name);
        QFETCH(QByteArray, content);
        TempDir dir;
        dir.write(("geo/" + name).toStdString(), content.toStdString());
        GeoStore store(dir.path("geo"));
        const Facts facts = loaded(store, {{"cn"}, {"cn"}});
        QVERIFY(facts);
        QCOMPARE(facts->problems().size(), std::size_t(1));
        QCOMPARE(facts->problems().front().file, name.toStdString());
        QCOMPARE(word(facts->siteHolds("cn", "a.cn")), std::string("unknown"));
        QCOMPARE(country(facts, "cn", "203.0.113.7"), std::string("unknown"));
    }

    void whatIsNoFileDoesNotBlock()
    {
        TempDir dir;
        dir.write("geo/x", "");
        QCOMPARE(::mkfifo(dir.path("geo/geosite.dat").c_str(), 0600), 0);
        QCOMPARE(::mkdir(dir.path("geo/geoip.dat").c_str(), 0700), 0);
        QCOMPARE(::symlink("/gone", dir.path("geo/lost.mmdb").c_str()), 0);
        GeoStore store(dir.path("geo"));
        const Facts facts = loaded(store, {{"cn"}, {"cn"}});
        QVERIFY(facts);
        QCOMPARE(facts->problems().size(), std::size_t(2));
    }

    void aLinkToAnotherPackagesFileIsFollowed()
    {
        TempDir dir;
        dir.write("elsewhere.dat", siteFile());
        dir.write("geo/x", "");
        QCOMPARE(::symlink("../elsewhere.dat", dir.path("geo/geosite.dat").c_str()), 0);
        GeoStore store(dir.path("geo"));
        QCOMPARE(word(loaded(store, {{"cn"}, {}})->siteHolds("cn", "example.cn")), std::string("yes"));
    }

    void goingWhileReadingIsSafe()
    {
        TempDir dir;
        dir.write("geo/geosite.dat", siteFile());
        bool isAnswered = false;
        {
            GeoStore store(dir.path("geo"));
            store.load({{"cn"}, {}}, [&](const Facts &) { isAnswered = true; });
        }
        QCoreApplication::processEvents();
        QVERIFY(!isAnswered);
    }
};

QTEST_GUILESS_MAIN(GeoStoreTest)
#include "geo_store_test.moc"
