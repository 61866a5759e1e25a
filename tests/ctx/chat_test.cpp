// `ctx chat` on a terminal and in a pipe.
#include "tests/ctx/ctx_run.h"

#include <QTest>

#include <atomic>
#include <csignal>

#include <sys/stat.h>

using namespace cortexfs;
using namespace cortexfs::ctx::test;

namespace {

bool has(const std::string &text, std::string_view part) { return text.find(part) != std::string::npos; }

std::string asJson(std::string_view text)
{
    json::Writer writer;
    writer.string(text);
    return writer.take();
}

std::atomic<int> g_lastEvent = 0; // ids rise within a session, over all connections of a test

std::string eventLine(std::string_view type, std::string_view run, const std::string &rest)
{
    const std::string digits = std::to_string(++g_lastEvent);
    return R"({"type":")" + std::string(type) + R"(","id":"e)" + std::string(12 - digits.size(), '0') + digits
           + R"(","run":")" + std::string(run) + "\"," + rest + "}\n";
}

// An object that says "<TEXT>" to TEXT; to "wait" it says "begun" and waits for its cancel.
void answer(FakeDaemon &object)
{
    object.on("ping", [](Peer &peer, const json::Value &request) {
        peer.raw(R"({"type":"pong","id":)" + request["id"].toJson() + "}\n");
    });
    object.on("send", [](Peer &peer, const json::Value &request) {
        const std::string id(request["id"].stringOr(""));
        const std::string input(request["input"].stringOr(""));
        peer.raw(eventLine("start", id, "\"request\":" + asJson(id)));
        if (input == "wait") {
            peer.raw(eventLine("delta", id, R"("offset":0,"text":"begun")"));
            return;
        }
        if (input == "fail") {
            peer.raw(eventLine("error", id, R"("code":"ENOKEY","message":"no key")")
                     + eventLine("done", id, R"("status":"error")"));
            return;
        }
        peer.raw(eventLine("message", id, "\"role\":\"assistant\",\"content\":" + asJson("<" + input + ">"))
                 + eventLine("done", id, "\"status\":\"ok\",\"request\":" + asJson(id)));
    });
    object.on("cancel", [](Peer &peer, const json::Value &request) {
        const std::string id(request["id"].stringOr(""));
        peer.raw(R"({"type":"accepted","op":"cancel","id":)" + asJson(id) + R"(,"run":)" + asJson(id) + "}\n"
                 + eventLine("done", id, "\"status\":\"cancelled\",\"request\":" + asJson(id)));
    });
}

struct Step {
    std::string shown; // once this was shown (after what the step before waited for), type ...
    std::string keys;
};

Typist typing(const std::vector<Step> &steps)
{
    auto next = std::make_shared<std::size_t>(0);
    auto from = std::make_shared<std::size_t>(0);
    return [=](const std::string &shown, const std::function<void(const std::string &)> &type) {
        while (*next < steps.size()) {
            const std::size_t at = shown.find(steps[*next].shown, *from);
            if (at == std::string::npos)
                return true;
            *from = at + steps[*next].shown.size();
            type(steps[(*next)++].keys);
        }
        return false;
    };
}

constexpr char kPrompt[] = "\r\x1b[J> ";

} // namespace

class ChatTest : public QObject {
    Q_OBJECT

    struct Place : World {
        Place()
        {
            makeTree();
            answer(object());
        }
    };

private Q_SLOTS:
    void aConversationByHand()
    {
        Place place;
        const Outcome outcome = place.runOnTerminal({"chat", "main"}, typing({{kPrompt, "hello\r"},
                                                                              {"<hello>\r\n", ""},
                                                                              {kPrompt, "again\r"},
                                                                              {"<again>\r\n", ""},
                                                                              {kPrompt, "\x04"}}));
        QCOMPARE(outcome.exitCode, 0);
        QVERIFY2(has(outcome.out, "model/debug/echo, conversation default"), outcome.out.c_str());
        QVERIFY2(outcome.echoesAfter, "the terminal is as it was");
        QVERIFY2(outcome.out.rfind("\x1b[?2004l") > outcome.out.rfind("\x1b[?2004h"), "bracketed paste is off again");
        QVERIFY(has(place.object().request("send"), R"("session":"default")"));
    }

    void aPasteOfSeveralLinesIsOneMessage()
    {
        Place place;
        const Outcome outcome = place.runOnTerminal(
            {"chat", "main"},
            typing({{kPrompt, "\x1b[200~one\rtwo\x1b[201~\r"}, {"<one\r\ntwo>\r\n", ""}, {kPrompt, "\x04"}}));
        QCOMPARE(outcome.exitCode, 0);
        QVERIFY(has(place.object().request("send"), R"("input":"one\ntwo")"));
    }

    void whatWasTypedComesBackInTheNextChat()
    {
        Place place;
        const std::string file = place.base() + "/.local/state/cortexfs/chat_history";
        (void)place.runOnTerminal({"chat", "main"},
                                  typing({{kPrompt, "hello\r"}, {"<hello>\r\n", ""}, {kPrompt, "\x04"}}));
        struct stat info = {};
        QCOMPARE(::stat(file.c_str(), &info), 0);
        QCOMPARE(info.st_mode & 07777U, 0600U);
        const Outcome outcome = place.runOnTerminal(
            {"chat", "main"}, typing({{kPrompt, "\x1b[A\x7fp\r"}, {"<hellp>\r\n", ""}, {kPrompt, "\x04"}}));
        QCOMPARE(outcome.exitCode, 0);
    }

    void ctrlCCancelsTheRunAndThenLeaves()
    {
        Place place;
        const Outcome outcome = place.runOnTerminal({"chat", "main"}, typing({{kPrompt, "wait\r"},
                                                                              {"begun", "\x03"},
                                                                              {"cancelled", ""},
                                                                              {kPrompt, "on\r"},
                                                                              {"<on>\r\n", ""},
                                                                              {kPrompt, "\x03"}}));
        QVERIFY2(outcome.exitCode == 130, outcome.out.c_str());
        QVERIFY(outcome.echoesAfter);
        QVERIFY(place.object().waitForRequest(R"("op":"cancel")"));
    }

    void aFailedAnswerIsToldAndTheChatGoesOn()
    {
        Place place;
        const Outcome outcome = place.runOnTerminal({"chat", "main"}, typing({{kPrompt, "fail\r"},
                                                                              {"ctx: no key (ENOKEY)\r\n", ""},
                                                                              {kPrompt, "x\r"},
                                                                              {"<x>\r\n", ""},
                                                                              {kPrompt, "\x04"}}));
        QVERIFY2(outcome.exitCode == 0, outcome.out.c_str());
    }

    void commandsBeginWithASlash()
    {
        Place place;
        place.daemon().on("session.show", [](Peer &peer, const json::Value &request) {
            peer.event(request, R"({"type":"line","line":{"role":"user","content":"asked before"}})");
            peer.result(request, "\"lines\":1");
        });
        const Outcome outcome = place.runOnTerminal({"chat", "main", "-s", "work"},
                                                    typing({{kPrompt, "/help\r"},
                                                            {"/history", ""},
                                                            {kPrompt, "/history\r"},
                                                            {"asked before", ""},
                                                            {kPrompt, "/nonsense\r"},
                                                            {"no such command: /nonsense", ""},
                                                            {kPrompt, "//etc\r"},
                                                            {"</etc>\r\n", ""},
                                                            {kPrompt, "/new a/b\r"},
                                                            {"(EINVAL)", ""},
                                                            {kPrompt, "/new other \r"},
                                                            {"conversation other", ""},
                                                            {kPrompt, "there\r"},
                                                            {"<there>\r\n", ""},
                                                            {kPrompt, "/new\r"},
                                                            {"conversation chat-", ""},
                                                            {kPrompt, "/quit\r"}}));
        QVERIFY2(outcome.exitCode == 0, outcome.out.c_str());
        QVERIFY(has(place.daemon().request("session.show"), R"("session":"work")"));
        QVERIFY(place.object().waitForRequest(R"("session":"other","cwd")"));
        for (const std::string &request : place.object().requests())
            QVERIFY(!has(request, "nonsense"));
    }

    void aTerminationAtThePromptLeavesTheTerminalAsItWas()
    {
        Place place;
        std::atomic<pid_t> pid = 0;
        place.object().on("ping", [&](Peer &peer, const json::Value &request) {
            pid = peer.pid();
            peer.raw(R"({"type":"pong","id":)" + request["id"].toJson() + "}\n");
        });
        bool isKilled = false;
        const Outcome outcome = place.runOnTerminal({"chat", "main"}, [&](const std::string &shown, const auto &) {
            if (!isKilled && has(shown, kPrompt)) {
                isKilled = true;
                ::kill(pid, SIGTERM);
            }
            return !isKilled;
        });
        QCOMPARE(outcome.exitCode, 143);
        QVERIFY(outcome.echoesAfter);
    }

    void aDumbTerminalIsGood()
    {
        Place place;
        const Outcome outcome = place.runOnTerminal(
            {"chat", "main"}, typing({{"> ", "hello\r"}, {"<hello>\r\n", ""}, {"> ", "\x04"}}), {{"TERM", "dumb"}});
        QVERIFY2(outcome.exitCode == 0, outcome.out.c_str());
        QVERIFY(!has(outcome.out, "\x1b"));
    }

    void aPipeIsOneMessage()
    {
        Place place;
        const Outcome outcome = place.run({"chat", "main"}, "line one\nline two\n");
        QCOMPARE(outcome.out, std::string("<line one\nline two\n>\n"));
        QCOMPARE(outcome.err, std::string());
        QCOMPARE(outcome.exitCode, 0);
        QCOMPARE(place.run({"chat", "main"}).exitCode, 2);
        QCOMPARE(place.run({"chat", "main"}, "fail").exitCode, 69);
    }

    void anObjectThatDoesNotAnswerEndsIt()
    {
        Place place;
        place.stopObject();
        const Outcome outcome = place.runOnTerminal({"chat", "main"});
        QCOMPARE(outcome.exitCode, 69);
        QVERIFY2(has(outcome.out, "start it with: "), outcome.out.c_str());
    }
};

QTEST_GUILESS_MAIN(ChatTest)
#include "chat_test.moc"
