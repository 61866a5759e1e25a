// The catalogue that is built from provider files, stored controls and aliases.
#include "daemon/core/alias_choice.h"
#include "daemon/core/catalog_builder.h"
#include "tests/common/test_strings.h"

#include <QTest>

#include <set>

using namespace cortexfs;
using models::Control;
using models::ModelEntry;

namespace {

struct Spec {
    std::string ref; // provider/native id
    bool configured = true;
    std::string cap = "chat\n";
    std::string defaultModel = {};
};

ModelEntry entryOf(const Spec &spec)
{
    ModelEntry entry;
    const std::size_t slash = spec.ref.find('/');
    entry.ref = {spec.ref.substr(0, slash), spec.ref.substr(slash + 1)};
    entry.nativeId = entry.ref.model;
    entry.cap = spec.cap;
    entry.isConfigured = spec.configured;
    if (entry.ref.provider != "debug") {
        auto provider = std::make_shared<config::ProviderConfig>();
        provider->name = entry.ref.provider;
        provider->defaultModel = spec.defaultModel;
        entry.provider = provider;
    }
    return entry;
}

std::vector<ModelEntry> entriesOf(std::vector<Spec> specs)
{
    specs.push_back({"debug/echo"});
    specs.push_back({"debug/script"});
    std::vector<ModelEntry> entries;
    for (const Spec &spec : specs)
        entries.push_back(entryOf(spec));
    std::sort(entries.begin(), entries.end(), [](const ModelEntry &a, const ModelEntry &b) { return a.ref < b.ref; });
    return entries;
}

// "name=P/M ..." in the order of the list, a user's with a star
std::string described(const std::vector<models::ModelAlias> &aliases, const std::string &mount)
{
    std::string out;
    for (const models::ModelAlias &alias : aliases) {
        const std::string prefix = mount + "/model/";
        const bool isBelow = alias.target.starts_with(prefix);
        out += (out.empty() ? "" : " ") + alias.name + "="
               + (isBelow ? alias.target.substr(prefix.size()) : "?" + alias.target) + (alias.userMade ? "*" : "");
    }
    return out;
}

config::ProviderConfig provider(const std::string &name, std::vector<std::string> models,
                                std::vector<std::string> formats = {})
{
    config::ProviderConfig config;
    config.name = name;
    config.file = name + ".json";
    config.baseUrl = "http://h.example";
    config.models = std::move(models);
    config.formats = std::move(formats);
    return config;
}

struct Build {
    std::vector<config::ProviderConfig> providers;
    ControlStore::Overrides overrides;
    std::map<std::string, abi::ModelRef> aliases;
    std::set<std::string> keys;
    std::vector<Problem> problems;

    std::shared_ptr<const models::ModelCatalog> with(CatalogBuilder &builder,
                                                     const models::ModelCatalog *previous = nullptr)
    {
        problems.clear();
        const CatalogInput input{providers, overrides, aliases,
                                 [this](const std::string &name) { return keys.count(name) != 0; }, "/m"};
        return builder.build(input, previous, problems);
    }
    std::string problemText() const
    {
        std::string out;
        for (const Problem &problem : problems)
            out += (out.empty() ? "" : " ") + problem.where + ":" + std::string(problem.error.name());
        return out;
    }
};

std::string names(const models::ModelCatalog &catalog)
{
    std::string out;
    for (const ModelEntry &entry : catalog.models())
        out += (out.empty() ? "" : " ") + entry.ref.text();
    return out;
}

} // namespace

class CatalogTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aliases_data();
    void aliases();
    void theBuiltInModelsAreAlwaysThere();
    void driverTables_data();
    void driverTables();
    void projectsEveryModel();
    void collisionsLeaveTheSecondOut();
    void idsWithoutAName();
    void disabledProvidersAreAbsent();
    void keysDecideTheState();
    void controlsOfAnEntry();
    void overridesCount();
    void badOverridesAreProblems_data();
    void badOverridesAreProblems();
    void serialsAndLogsSurvive();
    void checkControlTexts_data();
    void checkControlTexts();
    void formatsOfThisBuild();
};

void CatalogTest::aliases_data()
{
    QTest::addColumn<std::vector<Spec>>("specs");
    QTest::addColumn<std::string>("user"); // "name=P/M ..."
    QTest::addColumn<std::string>("expected");
    using Specs = std::vector<Spec>;
    const auto row = [](const char *title, Specs specs, const char *user, const char *expected) {
        QTest::newRow(title) << std::move(specs) << std::string(user) << std::string(expected);
    };
    const auto all = [](const std::string &ref) {
        return "code=" + ref + " fast=" + ref + " helper=" + ref + " main=" + ref + " reason=" + ref + " vision=" + ref;
    };
    row("without providers all are debug/echo", {}, "", all("debug/echo").c_str());
    row("one model is for everything", {{"p/m"}}, "", all("p/m").c_str());
    row("also one without a key", {{"p/m", false}}, "", all("p/m").c_str());
    row("the default model of the first configured provider by name",
        {{"b/x", true, "chat\n", "y"}, {"b/y", true, "chat\n", "y"}, {"c/z", true, "chat\n", "z"}}, "",
        all("b/y").c_str());
    row("a default model without a key is passed over", {{"a/x", false, "chat\n", "x"}, {"b/y", true, "chat\n", "y"}},
        "", all("b/y").c_str());
    row("without a default the first that works", {{"a/x", false}, {"b/y"}, {"b/z"}}, "", all("b/y").c_str());
    row("a default that is not projected does not count",
        {{"a/x", true, "chat\n", "gone"}, {"b/y", true, "chat\n", "y"}}, "", all("b/y").c_str());
    row("fast and code by word in the name", {{"p/a"}, {"p/b-Fast-1"}, {"p/c-coder"}}, "",
        "code=p/c-coder fast=p/b-Fast-1 helper=p/a main=p/a reason=p/a vision=p/a");
    row("reason and vision by capability", {{"p/a"}, {"p/r", true, "chat\nreasoning\n"}, {"p/v", true, "vision\n"}}, "",
        "code=p/a fast=p/a helper=p/a main=p/a reason=p/r vision=p/v");
    row("a capability is a whole word", {{"p/a"}, {"p/v", true, "visionary\n"}}, "", all("p/a").c_str());
    row("one that works before one that does not", {{"p/fast-1", false}, {"q/fast-2"}}, "",
        "code=q/fast-2 fast=q/fast-2 helper=q/fast-2 main=q/fast-2 reason=q/fast-2 vision=q/fast-2");
    row("a user's alias stays", {{"p/a"}, {"p/b"}}, "main=p/b",
        "code=p/a fast=p/a helper=p/a main=p/b* reason=p/a vision=p/a");
    row("a user's other names too", {{"p/a"}}, "mine=debug/echo work=p/a",
        "code=p/a fast=p/a helper=p/a main=p/a mine=debug/echo* reason=p/a vision=p/a work=p/a*");
    row("one that points at nothing is chosen anew", {{"p/a"}}, "main=p/gone", all("p/a").c_str());
    row("another that points at nothing is absent", {{"p/a"}}, "mine=p/gone", all("p/a").c_str());
    row("the built-in models may be chosen by hand", {{"p/a"}}, "main=debug/script",
        "code=p/a fast=p/a helper=p/a main=debug/script* reason=p/a vision=p/a");
    row("a provider of the same name wins", {{"p/a"}, {"q/b"}}, "p=q/b", all("p/a").c_str());
    row("route is no alias", {{"p/a"}}, "route=p/a", all("p/a").c_str());
}

void CatalogTest::aliases()
{
    QFETCH(std::vector<Spec>, specs);
    QFETCH(std::string, user);
    QFETCH(std::string, expected);
    std::map<std::string, abi::ModelRef> userAliases;
    for (std::string_view left = user; !left.empty();) {
        const std::string_view item = left.substr(0, left.find(' '));
        const std::size_t equals = item.find('=');
        userAliases[std::string(item.substr(0, equals))] = *abi::parseModelRef(item.substr(equals + 1));
        left.remove_prefix(std::min(item.size() + 1, left.size()));
    }
    QCOMPARE(described(chooseAliases(entriesOf(specs), userAliases, "/ctx"), "/ctx"), expected);
}

void CatalogTest::theBuiltInModelsAreAlwaysThere()
{
    Build build;
    CatalogBuilder builder;
    const auto catalog = build.with(builder);
    QCOMPARE(names(*catalog), std::string("debug/echo debug/script"));
    QCOMPARE(build.problemText(), std::string());
    const ModelEntry *echo = catalog->find("debug", "echo");
    QVERIFY(echo && echo->isConfigured && !echo->provider);
    QCOMPARE(models::controlText(*echo, Control::Id), std::string("debug/echo\n"));
    QCOMPARE(models::controlText(*echo, Control::Driver),
             std::string("default=debug\nexec=debug\nsocket=debug\nagent=debug\n"));
    QCOMPARE(models::controlText(*echo, Control::Session), std::string("none\n"));
    QCOMPARE(models::controlText(*echo, Control::Limit), std::string("unknown\n"));
    QCOMPARE(models::controlText(*echo, Control::Status), std::string("state=ready\n"));
}

void CatalogTest::driverTables_data()
{
    QTest::addColumn<std::vector<std::string>>("formats");
    QTest::addColumn<std::string>("table");
    using List = std::vector<std::string>;
    const std::string chat = "default=openai-chat\nexec=openai-chat\nsocket=openai-chat\nagent=openai-chat\n";
    QTest::newRow("no format is the default one") << List{} << chat;
    QTest::newRow("chat") << List{"openai.chat"} << chat;
    QTest::newRow("unknown ones are as none") << List{"next.big"} << chat;
    QTest::newRow("agents get the rich one first")
        << List{"openai.chat", "openai.responses"}
        << std::string("default=openai-chat,openai-responses\nexec=openai-chat,openai-responses\n"
                       "socket=openai-chat,openai-responses\nagent=openai-responses,openai-chat\n");
    QTest::newRow("whatever the order in the file")
        << List{"openai.responses", "openai.chat"}
        << std::string("default=openai-chat,openai-responses\nexec=openai-chat,openai-responses\n"
                       "socket=openai-chat,openai-responses\nagent=openai-responses,openai-chat\n");
    QTest::newRow("anthropic") << List{"anthropic.messages"}
                               << std::string("default=anthropic-messages\nexec=anthropic-messages\n"
                                              "socket=anthropic-messages\nagent=anthropic-messages\n");
}

void CatalogTest::driverTables()
{
    QFETCH(std::vector<std::string>, formats);
    QFETCH(std::string, table);
    Build build;
    build.providers = {provider("p", {"m"}, formats)};
    CatalogBuilder builder;
    const auto catalog = build.with(builder);
    const ModelEntry *entry = catalog->find("p", "m");
    QVERIFY(entry);
    QCOMPARE(entry->driver, table);
    QVERIFY(checkControlText(Control::Driver, entry->driver)); // what is shown may be written back
}

void CatalogTest::projectsEveryModel()
{
    Build build;
    build.providers = {provider("b", {"z", "a", "meta/Llama-3"}), provider("a", {"x"})};
    CatalogBuilder builder;
    const auto catalog = build.with(builder);
    QCOMPARE(names(*catalog), std::string("a/x b/a b/meta_Llama-3 b/z debug/echo debug/script"));
    QCOMPARE(models::controlText(*catalog->find("b", "meta_Llama-3"), Control::Id), std::string("b/meta/Llama-3\n"));
}

void CatalogTest::collisionsLeaveTheSecondOut()
{
    Build build;
    build.providers = {provider("p", {"a/b", "a:b", "a_b", "c"})};
    CatalogBuilder builder;
    const auto catalog = build.with(builder);
    QCOMPARE(names(*catalog), std::string("debug/echo debug/script p/a_b p/c"));
    QCOMPARE(catalog->find("p", "a_b")->nativeId, std::string("a/b"));
    QCOMPARE(build.problemText(), std::string("providers.d/p.json:EEXIST providers.d/p.json:EEXIST"));
    QVERIFY(build.problems[0].error.text().find("a:b") != std::string::npos);
}

void CatalogTest::idsWithoutAName()
{
    Build build;
    build.providers = {provider("p", {std::string(65, 'x'), "." + std::string(63, 'x'), "ok"})};
    CatalogBuilder builder;
    QCOMPARE(names(*build.with(builder)), std::string("debug/echo debug/script p/ok"));
    QCOMPARE(build.problemText(), std::string("providers.d/p.json:EINVAL providers.d/p.json:EINVAL"));
}

void CatalogTest::disabledProvidersAreAbsent()
{
    Build build;
    build.providers = {provider("p", {"m"})};
    build.providers[0].enabled = false;
    CatalogBuilder builder;
    QCOMPARE(names(*build.with(builder)), std::string("debug/echo debug/script"));
}

void CatalogTest::keysDecideTheState()
{
    Build build;
    build.providers = {provider("free", {"m"}), provider("keyed", {"m"}), provider("locked", {"m"})};
    build.providers[0].needsKey = false;
    build.keys = {"keyed"};
    CatalogBuilder builder;
    const auto catalog = build.with(builder);
    QCOMPARE(models::controlText(*catalog->find("free", "m"), Control::Status), std::string("state=ready\n"));
    QCOMPARE(models::controlText(*catalog->find("keyed", "m"), Control::Status), std::string("state=ready\n"));
    const std::string locked = models::controlText(*catalog->find("locked", "m"), Control::Status);
    QVERIFY2(locked.starts_with("state=unconfigured\n"), locked.c_str());
    QVERIFY(locked.find("locked") != std::string::npos);
}

void CatalogTest::controlsOfAnEntry()
{
    Build build;
    build.providers = {provider("p", {"m", "n"})};
    build.providers[0].modelLimits = {{"m", 4294967295u}};
    build.providers[0].modelCapabilities = {{"m", {"chat", "vision"}}, {"n", {}}};
    CatalogBuilder builder;
    const auto catalog = build.with(builder);
    QCOMPARE(models::controlText(*catalog->find("p", "m"), Control::Limit), std::string("4294967295\n"));
    QCOMPARE(models::controlText(*catalog->find("p", "m"), Control::Cap), std::string("chat\nvision\n"));
    QCOMPARE(models::controlText(*catalog->find("p", "n"), Control::Limit), std::string("unknown\n"));
    QCOMPARE(models::controlText(*catalog->find("p", "n"), Control::Cap),
             std::string()); // an empty list is a statement
    QCOMPARE(models::controlText(*catalog->find("p", "m"), Control::Effort), std::string("auto\n"));
    QCOMPARE(models::controlText(*catalog->find("p", "m"), Control::Default), std::string());
    QCOMPARE(models::controlText(*catalog->find("p", "m"), Control::Fallback), std::string());
}

void CatalogTest::overridesCount()
{
    Build build;
    build.providers = {provider("p", {"a/b", "other"})};
    build.overrides[{"p", "a_b"}] = {{Control::Effort, "high\n"},
                                     {Control::Session, "socket\n"},
                                     {Control::Default, "x=1"},
                                     {Control::Fallback, "debug/echo\n"},
                                     {Control::Driver, "debug\n"}};
    build.overrides[{"p", "gone"}] = {{Control::Effort, "broken"}}; // of a model that is not there: kept, no problem
    build.overrides[{"debug", "echo"}] = {{Control::Session, "socket\n"}};
    CatalogBuilder builder;
    const auto catalog = build.with(builder);
    QCOMPARE(build.problemText(), std::string());
    const ModelEntry *entry = catalog->find("p", "a_b");
    QCOMPARE(entry->effort, std::string("high\n"));
    QVERIFY(entry->hasSocket);
    QCOMPARE(entry->defaults, std::string("x=1\n"));
    QCOMPARE(entry->fallback, std::string("debug/echo\n"));
    QCOMPARE(entry->driver, std::string("debug\n"));
    const auto bit = [](Control control) { return 1u << static_cast<unsigned>(control); };
    QCOMPARE(unsigned(entry->overridden), bit(Control::Effort) | bit(Control::Session) | bit(Control::Default)
                                              | bit(Control::Fallback) | bit(Control::Driver));
    QCOMPARE(unsigned(catalog->find("p", "other")->overridden), 0u);
    QVERIFY(catalog->find("debug", "echo")->hasSocket);
}

void CatalogTest::badOverridesAreProblems_data()
{
    QTest::addColumn<int>("control");
    QTest::addColumn<std::string>("text");
    const auto row = [](const char *title, Control control, std::string text) {
        QTest::newRow(title) << static_cast<int>(control) << std::move(text);
    };
    row("effort", Control::Effort, "turbo\n");
    row("effort, empty", Control::Effort, "");
    row("session", Control::Session, "yes\n");
    row("default", Control::Default, "no pair\n");
    row("fallback", Control::Fallback, "main\n");
    row("driver of a newer build", Control::Driver, "default=next-big\n");
    row("bytes", Control::Default, "a=\xff\n");
    row("a read-only one", Control::Limit, "5\n");
}

void CatalogTest::badOverridesAreProblems()
{
    QFETCH(int, control);
    QFETCH(std::string, text);
    Build build;
    build.providers = {provider("p", {"m"})};
    CatalogBuilder builder;
    const auto plain = build.with(builder);
    build.overrides[{"p", "m"}] = {{static_cast<Control>(control), text}};
    const auto catalog = build.with(builder);
    QCOMPARE(build.problems.size(), std::size_t(1));
    QCOMPARE(build.problems[0].where,
             "model/p/m.d/" + std::string(models::kControlNames[static_cast<std::size_t>(control)]));
    for (std::size_t i = 0; i < models::kControlCount; ++i) {
        const auto each = static_cast<Control>(i);
        QCOMPARE(models::controlText(*catalog->find("p", "m"), each),
                 models::controlText(*plain->find("p", "m"), each));
    }
    QCOMPARE(unsigned(catalog->find("p", "m")->overridden), 0u);
}

void CatalogTest::serialsAndLogsSurvive()
{
    Build build;
    build.providers = {provider("p", {"a", "b"})};
    CatalogBuilder builder;
    const auto first = build.with(builder);
    std::set<std::uint32_t> serials;
    for (const ModelEntry &entry : first->models()) {
        QVERIFY(serials.insert(entry.serial).second);
        QVERIFY(entry.serial != 0);
        QCOMPARE(first->bySerial(entry.serial), &entry);
    }
    first->find("p", "b")->activity->appendLog("line");
    const std::uint32_t a = first->find("p", "a")->serial;
    const std::uint32_t b = first->find("p", "b")->serial;

    build.providers = {provider("o", {"new"}), provider("p", {"b", "c"})};
    const auto second = build.with(builder, first.get());
    QCOMPARE(second->find("p", "b")->serial, b);
    QCOMPARE(second->find("p", "b")->activity->logText(), std::string("line\n"));
    QVERIFY(!second->find("p", "a"));
    QCOMPARE(second->bySerial(a), nullptr);
    for (const char *provider : {"o", "p"}) {
        const ModelEntry *fresh = second->find(provider, std::string(provider) == "o" ? "new" : "c");
        QVERIFY(fresh && serials.count(fresh->serial) == 0);
        serials.insert(fresh->serial);
    }
    // One that comes back is another one: its old inode may still be open somewhere.
    build.providers = {provider("p", {"a"})};
    const auto third = build.with(builder, second.get());
    QVERIFY(serials.count(third->find("p", "a")->serial) == 0);
    QCOMPARE(third->find("debug", "echo")->serial, first->find("debug", "echo")->serial);
}

void CatalogTest::checkControlTexts_data()
{
    QTest::addColumn<int>("control");
    QTest::addColumn<std::string>("text");
    QTest::addColumn<int>("number");
    const auto row = [](const char *title, Control control, const char *text, int number) {
        QTest::newRow(title) << static_cast<int>(control) << std::string(text) << number;
    };
    row("effort", Control::Effort, "high", 0);
    row("a wrong effort", Control::Effort, "x", EINVAL);
    row("every driver of this build", Control::Driver,
        "default=openai-chat,openai-responses,anthropic-messages,debug\n", 0);
    row("a driver that is none", Control::Driver, "gemini\n", EINVAL);
    row("id", Control::Id, "x\n", EROFS);
    row("cap", Control::Cap, "chat\n", EROFS);
    row("limit", Control::Limit, "1\n", EROFS);
    row("status", Control::Status, "x\n", EROFS);
    row("log", Control::Log, "", EROFS);
}

void CatalogTest::checkControlTexts()
{
    QFETCH(int, control);
    QFETCH(std::string, text);
    QFETCH(int, number);
    const Result<std::string> checked = checkControlText(static_cast<Control>(control), text);
    QCOMPARE(checked.isOk(), number == 0);
    if (number != 0)
        QCOMPARE(checked.error().number(), number);
}

void CatalogTest::formatsOfThisBuild()
{
    const std::vector<std::string> formats = knownFormats();
    for (const char *format : {"openai.chat", "openai.responses", "anthropic.messages"})
        QVERIFY(std::find(formats.begin(), formats.end(), format) != formats.end());
    QVERIFY(std::find(formats.begin(), formats.end(), "debug") == formats.end()); // no server speaks it
}

QTEST_GUILESS_MAIN(CatalogTest)
#include "catalog_test.moc"
