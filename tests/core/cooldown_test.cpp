// What the administrator changes about a provider ends the cooldown that its models got before.
#include "common/base/clock.h"
#include "tests/common/test_strings.h"
#include "tests/core/runtime_fixture.h"

#include <QTest>

#include <functional>

using namespace cortexfs;
using namespace cortexfs::test;

namespace {

using Change = std::function<void(Fixture &)>;

void rewriteProvider(Fixture &fixture, const std::string &json)
{
    fixture.dir.write("config/providers.d/local.json", json);
    fixture.runtime->refresh();
}

void setKey(Fixture &fixture, const char *provider)
{
    QVERIFY(fixture.runtime->secrets().set(provider, "default", SecretString("sk-1")));
    fixture.runtime->secretsChanged(provider);
}

} // namespace

Q_DECLARE_METATYPE(Change)

class CooldownTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void endsWithWhatItCameFrom_data();
    void endsWithWhatItCameFrom();
};

void CooldownTest::endsWithWhatItCameFrom_data()
{
    QTest::addColumn<Change>("change");
    QTest::addColumn<std::string>("waiting"); // which models are still in cooldown
    const auto row = [](const char *title, Change change, const char *waiting) {
        QTest::newRow(title) << change << std::string(waiting);
    };
    row(
        "everything is read again", [](Fixture &fixture) { fixture.runtime->refresh(); }, "local/a local/b other/m ");
    row(
        "another base URL",
        [](Fixture &fixture) {
            rewriteProvider(fixture, R"({"name":"local","base_url":"http://127.0.0.1:9/v2","models":["a","b"]})");
        },
        "other/m ");
    row(
        "another setting",
        [](Fixture &fixture) {
            rewriteProvider(fixture, R"({"name":"local","base_url":"http://127.0.0.1:9/v1","models":["a","b","c"]})");
        },
        "local/a local/b other/m ");
    row(
        "a key", [](Fixture &fixture) { setKey(fixture, "local"); }, "other/m ");
    row(
        "the key of another provider", [](Fixture &fixture) { setKey(fixture, "other"); }, "local/a local/b ");
    row(
        "a key of nobody", [](Fixture &fixture) { setKey(fixture, "nobody"); }, "local/a local/b other/m ");
    row(
        "the key is removed",
        [](Fixture &fixture) {
            QVERIFY(fixture.runtime->secrets().set("local", "default", SecretString("sk-1")));
            QVERIFY(fixture.runtime->secrets().remove("local", "default"));
            fixture.runtime->secretsChanged("local");
        },
        "other/m ");
}

void CooldownTest::endsWithWhatItCameFrom()
{
    QFETCH(Change, change);
    QFETCH(std::string, waiting);
    Fixture fixture;
    fixture.dir.write("config/providers.d/other.json",
                      R"({"name":"other","base_url":"http://127.0.0.1:9/v1","models":["m"]})");
    QVERIFY(fixture.load());
    const std::int64_t now = systemClock().wallMs();
    for (const models::ModelEntry &entry : fixture.runtime->snapshot().load()->catalog->models()) {
        if (entry.provider)
            entry.activity->startCooldown({now + 3'600'000, EAGAIN, "slow down"});
    }
    change(fixture);
    std::string seen;
    for (const models::ModelEntry &entry : fixture.runtime->snapshot().load()->catalog->models()) {
        if (entry.activity->cooldown(now))
            seen += entry.ref.provider + "/" + entry.ref.model + " ";
    }
    QCOMPARE(seen, waiting);
}

QTEST_GUILESS_MAIN(CooldownTest)
#include "cooldown_test.moc"
