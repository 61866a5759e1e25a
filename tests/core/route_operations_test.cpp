// route.get, route.put, route.check, route.explain, what the tree writes, and what doctor says.
#include "daemon/core/route_operations.h"

#include "common/base/limits.h"
#include "common/control_client/client.h"
#include "daemon/core/operations.h"
#include "tests/control/control_fixture.h"

#include <QTest>

#include <sys/stat.h>
#include <unistd.h>

using namespace cortexfs;
using namespace cortexfs::test;

namespace {

constexpr char kFar[] = R"({"name":"far","base_url":"https://h.example/v1","models":["m"]})";
constexpr char kNear[] = R"({"name":"near","base_url":"http://127.0.0.1:9/v1","models":["a/b"],"default_model":"a/b"})";

class Fixture : public ControlFixture {
public:
    bool start()
    {
        provider("far.json", kFar);
        provider("near.json", kNear);
        if (!ControlFixture::start())
            return false;
        m_route = std::make_unique<providers::RouteEgress>(places.routeFile(), places.geoDir());
        registerOperations(*server, OperationContext{*runtime, *models, *server, *m_route, [] { return true; },
                                                     [] { return std::uint64_t(0); }, systemClock().monotonicMs()});
        return true;
    }
    json::Value ask(const std::string &op, const std::string &members = {})
    {
        RawClient asking = client();
        const std::string text = test::ask(asking, control::requestFrame(op, "1", members) + "\n");
        Result<json::Document> document = json::parse(text.substr(0, text.find('\n')));
        if (!document)
            return {};
        m_documents.push_back(std::move(*document));
        return m_documents.back().root();
    }
    // "ok", or the code of the error.
    std::string put(const std::string &text, const std::string &etag)
    {
        json::Writer request;
        request.beginObject().field("text", text).field("etag", etag).endObject();
        const json::Value reply = ask("route.put", std::string(control::inside(request.text())));
        return std::string(reply["type"].stringOr("") == "result" ? "ok" : reply["code"].stringOr("(none)"));
    }
    std::string etag() { return std::string(ask("route.get")["etag"].stringOr("(none)")); }
    std::string stored() const { return dir.read("state/storage/current/model/route"); }
    bool isThere() const { return ::access(places.routeFile().c_str(), F_OK) == 0; }
    void store(const std::string &text) const { dir.write("state/storage/current/model/route", text); }
    int change(TreeChange::Kind kind, const std::string &content, uid_t uid = ::geteuid())
    {
        TreeChange change;
        change.kind = kind;
        change.path = "model/route";
        change.content = content;
        change.uid = uid;
        int number = -1;
        runtime->postTreeChange(change,
                                [&](const Result<void> &outcome) { number = outcome ? 0 : outcome.error().number(); });
        return turnUntil([&] { return number != -1; }) ? number : -1;
    }

private:
    std::unique_ptr<providers::RouteEgress> m_route;
    std::vector<json::Document> m_documents;
};

std::string str(const json::Value &value) { return std::string(value.stringOr("(none)")); }

std::string keysOf(const json::Value &value)
{
    std::string out;
    for (const json::Member &member : value.members())
        out += (out.empty() ? "" : " ") + std::string(member.key);
    return out;
}

} // namespace

class RouteOperationsTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void getTellsTextAndVersion()
    {
        Fixture fixture;
        QVERIFY(fixture.start());
        json::Value reply = fixture.ask("route.get");
        QCOMPARE(keysOf(reply), std::string("id type text etag exists"));
        QCOMPARE(str(reply["text"]), std::string());
        QCOMPARE(str(reply["etag"]), std::string());
        QCOMPARE(reply["exists"].asBool(), std::optional(false));
        fixture.store("fallback: direct\n");
        reply = fixture.ask("route.get");
        QCOMPARE(str(reply["text"]), std::string("fallback: direct\n"));
        QVERIFY(!str(reply["etag"]).empty());
        QCOMPARE(reply["exists"].asBool(), std::optional(true));
        fixture.store(std::string(limits::kRouteFile - 1, '#') + "\n");
        QCOMPARE(str(fixture.ask("route.get")["code"]), std::string("EMSGSIZE"));
        QCOMPARE(::unlink(fixture.places.routeFile().c_str()), 0);
        QCOMPARE(::symlink("/etc/passwd", fixture.places.routeFile().c_str()), 0);
        QCOMPARE(str(fixture.ask("route.get")["code"]), std::string("EIO"));
    }

    void putReplacesWhatWasRead()
    {
        Fixture fixture;
        QVERIFY(fixture.start());
        QCOMPARE(fixture.put("fallback: direct\n", "wrong"), std::string("ESTALE"));
        QVERIFY(!fixture.isThere());
        QCOMPARE(fixture.put("fallback: direct\n", ""), std::string("ok"));
        QCOMPARE(fixture.stored(), std::string("fallback: direct\n"));
        struct stat info = {};
        QCOMPARE(::stat(fixture.places.routeFile().c_str(), &info), 0);
        QCOMPARE(info.st_mode & 0777, mode_t(0644));
        const std::string etag = fixture.etag();
        QCOMPARE(fixture.put("# second\n", ""), std::string("ESTALE"));
        fixture.store("# by somebody else\n");
        QCOMPARE(fixture.put("# second\n", etag), std::string("ESTALE"));
        QCOMPARE(fixture.stored(), std::string("# by somebody else\n"));
        QCOMPARE(fixture.put("# second\n", fixture.etag()), std::string("ok"));
        QCOMPARE(fixture.stored(), std::string("# second\n"));
        QCOMPARE(fixture.put("", fixture.etag()), std::string("ok"));
        QVERIFY(!fixture.isThere());
        QCOMPARE(fixture.put("", ""), std::string("ok")); // removing what is not there
    }

    void putKeepsTheOldTable_data()
    {
        QTest::addColumn<std::string>("members");
        QTest::addColumn<std::string>("code");
        QTest::addColumn<std::string>("says");
        const auto row = [](const char *name, const char *members, const char *code, const char *says) {
            QTest::newRow(name) << std::string(members) << std::string(code) << std::string(says);
        };
        row("a fault", "\"text\":\"model(a) -> gone\",\"etag\":\"E\"", "EINVAL",
            "line 1, column 13: no such group: gone");
        row("no text", "\"etag\":\"E\"", "EINVAL", "text: not a string");
        row("a text that is a number", "\"text\":7,\"etag\":\"E\"", "EINVAL", "text: not a string");
        row("no version", "\"text\":\"# x\"", "EINVAL", "etag: not a string");
    }
    void putKeepsTheOldTable()
    {
        QFETCH(std::string, members);
        QFETCH(std::string, code);
        QFETCH(std::string, says);
        Fixture fixture;
        QVERIFY(fixture.start());
        fixture.store("# old\n");
        const std::size_t at = members.find("\"E\"");
        if (at != std::string::npos)
            members.replace(at + 1, 1, fixture.etag());
        const json::Value reply = fixture.ask("route.put", members);
        QCOMPARE(str(reply["code"]), code);
        QCOMPARE(str(reply["message"]), says);
        QCOMPARE(fixture.stored(), std::string("# old\n"));
    }

    void putNeedsAuthority()
    {
        Fixture fixture;
        QVERIFY(fixture.start());
        control::ControlServer foreign(control::ExecServices{*fixture.models, fixture.runtime->snapshot()}, 54321);
        providers::RouteEgress route(fixture.places.routeFile(), fixture.places.geoDir());
        registerRouteOperations(foreign, *fixture.runtime, route);
        const std::string socket = fixture.dir.path("foreign.sock");
        QVERIFY(foreign.listen(socket));
        if (::geteuid() == 0)
            QSKIP("root may do everything");
        RawClient client(socket);
        const std::string reply = test::ask(
            client, control::requestFrame("route.put", "1", "\"text\":\"\",\"etag\":\"\"") + "\n");
        QVERIFY2(reply.find("EACCES") != std::string::npos, reply.c_str());
    }

    void checkTellsFaultsAndWarnings()
    {
        Fixture fixture;
        QVERIFY(fixture.start());
        json::Value reply = fixture.ask("route.check");
        QCOMPARE(keysOf(reply), std::string("id type ok rules groups warnings"));
        QCOMPARE(reply["ok"].asBool(), std::optional(true));
        reply = fixture.ask("route.check", "\"text\":\"group(g) -> direct\\nmodel(*) -> direct\\nmodel(a) -> direct\"");
        QCOMPARE(reply["rules"].asInt().value_or(0), std::int64_t(2));
        QCOMPARE(reply["groups"].asInt().value_or(0), std::int64_t(1));
        QCOMPARE(reply["warnings"].size(), std::size_t(2));
        QCOMPARE(reply["warnings"].at(1)["line"].asInt().value_or(0), std::int64_t(3));
        reply = fixture.ask("route.check", "\"text\":\"# x\\n  host(a) -> direct\"");
        QCOMPARE(reply["ok"].asBool(), std::optional(false));
        QCOMPARE(keysOf(reply["error"]), std::string("code message line column"));
        QCOMPARE(str(reply["error"]["code"]), std::string("EINVAL"));
        QCOMPARE(reply["error"]["line"].asInt().value_or(0), std::int64_t(2));
        QCOMPARE(reply["error"]["column"].asInt().value_or(0), std::int64_t(3));
        fixture.store("nonsense\n");
        reply = fixture.ask("route.check");
        QCOMPARE(reply["ok"].asBool(), std::optional(false));
        QCOMPARE(reply["error"]["line"].asInt().value_or(0), std::int64_t(1));
        QCOMPARE(str(fixture.ask("route.check", "\"text\":[]")["code"]), std::string("EINVAL"));
        std::string many;
        for (int i = 0; i < 20'000; ++i)
            many += "model(a) -> direct\\n";
        reply = fixture.ask("route.check", "\"text\":\"" + many + "\"");
        QCOMPARE(reply["rules"].asInt().value_or(0), std::int64_t(20'000));
        QCOMPARE(reply["warnings"].size(), std::size_t(201)); // bounded, and says how many more
    }

    void explain_data()
    {
        QTest::addColumn<std::string>("members");
        QTest::addColumn<std::string>("expected"); // line, group, transport, URL, slot, key, number of warnings
        const auto row = [](const char *name, const char *members, const char *expected) {
            QTest::newRow(name) << std::string(members) << std::string(expected);
        };
        row("a program", "\"model\":\"far/m\",\"pname\":\"curl\"", "6 p http http://127.0.0.1:8/v2 office missing 0");
        row("no program", "\"model\":\"far/m\"", "9 must_direct direct https://h.example/v1 default missing 1");
        row("an address", "\"model\":\"far/m\",\"ip\":\"192.0.2.5\"", "7 s unix http://localhost/v1  none 0");
        row("a host that is an address", "\"model\":\"near/a_b\"",
            "8 stored direct http://127.0.0.1:9/v1 kept filled 0");
        row("an alias", "\"model\":\"main\"", "8 stored direct http://127.0.0.1:9/v1 kept filled 0");
    }
    void explain()
    {
        QFETCH(std::string, members);
        QFETCH(std::string, expected);
        Fixture fixture;
        QVERIFY(fixture.start());
        QVERIFY(fixture.runtime->secrets().set("near", "kept", SecretString(std::string("sk-x"))));
        TreeChange link;
        link.kind = TreeChange::Kind::SetLink;
        link.path = "model/main";
        link.content = "near/a_b";
        link.uid = ::geteuid();
        bool isLinked = false;
        fixture.runtime->postTreeChange(link, [&](const Result<void> &outcome) { isLinked = outcome.isOk(); });
        QVERIFY(turnUntil([&] { return isLinked; }));
        fixture.store(
            "group(p) -> http(http://127.0.0.1:8/v2), key(office)\ngroup(s) -> unix(/x.sock), key(none)\n"
            "group(stored) -> direct, key(kept)\n\n# rules\n"
            "pname(curl) -> p\ndip(192.0.2.0/24) -> s\ndip(geoip:private) -> stored\nfallback: must_direct\n");
        const json::Value reply = fixture.ask("route.explain", members);
        const std::string seen = std::to_string(reply["line"].asInt().value_or(-1)) + " " + str(reply["group"]) + " "
                                 + str(reply["transport"]) + " " + str(reply["base_url"]) + " " + str(reply["slot"])
                                 + " " + str(reply["key"]) + " " + std::to_string(reply["warnings"].size());
        QCOMPARE(seen, expected);
        QCOMPARE(keysOf(reply), std::string("id type model line rule group transport base_url ")
                                    + (str(reply["transport"]) == "unix" ? "socket " : "") + "slot key warnings");
    }

    void explainWithoutATable()
    {
        Fixture fixture;
        QVERIFY(fixture.start());
        const json::Value reply = fixture.ask("route.explain", "\"model\":\"near/a_b\"");
        QCOMPARE(reply["line"].asInt().value_or(-1), std::int64_t(0));
        QCOMPARE(str(reply["rule"]), std::string("fallback: direct"));
        QCOMPARE(str(reply["key"]), std::string("none")); // a loopback host needs none
    }

    void explainRefusals_data()
    {
        QTest::addColumn<std::string>("members");
        QTest::addColumn<std::string>("code");
        const auto row = [](const char *name, const char *members, const char *code) {
            QTest::newRow(name) << std::string(members) << std::string(code);
        };
        row("no model", "", "EINVAL");
        row("an unknown model", "\"model\":\"far/gone\"", "ENOENT");
        row("no name of a model", "\"model\":\"/\"", "ENOENT");
        row("a model inside the daemon", "\"model\":\"debug/echo\"", "ENOTSUP");
        row("no address", "\"model\":\"far/m\",\"ip\":\"nowhere\"", "EINVAL");
        row("a program that is a number", "\"model\":\"far/m\",\"pname\":3", "EINVAL");
    }
    void explainRefusals()
    {
        QFETCH(std::string, members);
        QFETCH(std::string, code);
        Fixture fixture;
        QVERIFY(fixture.start());
        QCOMPARE(str(fixture.ask("route.explain", members)["code"]), code);
    }

    void explainOfABadTable()
    {
        Fixture fixture;
        QVERIFY(fixture.start());
        fixture.store("nonsense\n");
        const json::Value reply = fixture.ask("route.explain", "\"model\":\"far/m\"");
        QCOMPARE(str(reply["code"]), std::string("EINVAL"));
        QVERIFY(str(reply["message"]).starts_with("model/route, line 1, column "));
    }

    void theTreeWritesAndRemovesTheTable()
    {
        using Kind = TreeChange::Kind;
        Fixture fixture;
        QVERIFY(fixture.start());
        QCOMPARE(fixture.change(Kind::RemoveFile, ""), ENOENT);
        QCOMPARE(fixture.change(Kind::WriteControl, "fallback: must_direct\n"), 0);
        QCOMPARE(fixture.stored(), std::string("fallback: must_direct\n"));
        QCOMPARE(fixture.change(Kind::WriteControl, "fallback: gone\n"), EINVAL);
        QCOMPARE(fixture.change(Kind::WriteControl, "# x\n", 54321), EACCES);
        QCOMPARE(fixture.change(Kind::RemoveFile, "", 54321), EACCES);
        QCOMPARE(fixture.change(Kind::WriteControl, std::string(limits::kRouteFile + 1, '#')), EMSGSIZE);
        QCOMPARE(fixture.stored(), std::string("fallback: must_direct\n"));
        QCOMPARE(fixture.change(Kind::WriteControl, std::string(limits::kRouteFile, '#')), 0);
        QCOMPARE(fixture.stored().size(), limits::kRouteFile);
        QCOMPARE(fixture.change(Kind::WriteControl, ""), 0);
        QCOMPARE(fixture.stored(), std::string());
        QCOMPARE(fixture.change(Kind::RemoveFile, "", 0), 0);
        QVERIFY(!fixture.isThere());
    }

    void doctorTellsOfTheTable_data()
    {
        QTest::addColumn<std::string>("text");
        QTest::addColumn<std::string>("status");
        QTest::addColumn<std::string>("says");
        const auto row = [](const char *name, const char *text, const char *status, const char *says) {
            QTest::newRow(name) << std::string(text) << std::string(status) << std::string(says);
        };
        row("good", "model(a) -> direct\n", "ok", "1 rules");
        row("bad", "model(a) -> gone\n", "error", "model/route, line 1, column 13: no such group: gone");
        row("missing data", "# x\ndip(geoip:cn) -> direct\n", "warning", "line 2: no data for geoip:cn");
    }
    void doctorTellsOfTheTable()
    {
        QFETCH(std::string, text);
        QFETCH(std::string, status);
        QFETCH(std::string, says);
        Fixture fixture;
        QVERIFY(fixture.start());
        fixture.store(text);
        const json::Value reply = fixture.ask("doctor");
        int seen = 0;
        for (const json::Value &check : reply["checks"].elements()) {
            if (str(check["name"]) != "model/route")
                continue;
            ++seen;
            QCOMPARE(str(check["status"]), status);
            QVERIFY2(str(check["message"]).starts_with(says), str(check["message"]).c_str());
            QCOMPARE(str(check["hint"]).empty(), status == "ok");
        }
        QCOMPARE(seen, 1);
    }
};

QTEST_GUILESS_MAIN(RouteOperationsTest)
#include "route_operations_test.moc"
