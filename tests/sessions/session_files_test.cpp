// What is on the disk after a crash at any byte, and what opening makes of it.
#include "daemon/sessions/message_line.h"
#include "daemon/sessions/session_files.h"
#include "daemon/sessions/session_tree.h"

#include "tests/support/temp_dir.h"

#include <QTest>

#include <atomic>
#include <thread>

#include <sys/stat.h>
#include <unistd.h>

using namespace cortexfs;
using namespace cortexfs::sessions;

namespace {

constexpr char kDirectory[] = "tree/home/%1/model/debug/echo.d/session/default/";

std::string withUid(const char *text) { return QString::fromUtf8(text).arg(::geteuid()).toStdString(); }

struct Store {
    test::TempDir dir;
    SessionPlace place{dir.path("tree"), dir.path("active")};
    SessionKey key{"model/debug/echo", Scope::Private, ::geteuid(), {}, 0, "default"};
    SessionUser user{::geteuid(), ::getegid()};

    Store()
    {
        dir.write("tree/home/x", "");
        dir.write("tree/shared/x", "");
        dir.write("active/x", "");
        ::unlink(dir.path("active/x").c_str());
        ::unlink(dir.path("tree/home/x").c_str());
    }
    std::string file(const char *name) const { return withUid(kDirectory) + name; }
    Result<std::unique_ptr<SessionFiles>> open(OpenMode mode = OpenMode::Create) const
    {
        return SessionFiles::open(place, key, user, mode);
    }
};

// Two runs: a whole one, and one that is being answered.
constexpr char kMessages[] =
    "{\"role\":\"user\",\"id\":\"e000000000001\",\"request\":\"a\",\"run\":\"r1\",\"content\":[{\"type\":\"text\","
    "\"text\":\"one\"}],\"ts_ms\":1}\n"
    "{\"role\":\"assistant\",\"id\":\"e000000000003\",\"run\":\"r1\",\"model\":\"debug/echo\",\"content\":[{\"type\":"
    "\"text\",\"text\":\"one\"}]}\n"
    "{\"role\":\"user\",\"id\":\"e000000000006\",\"request\":\"b\",\"run\":\"r2\",\"content\":[{\"type\":\"text\","
    "\"text\":\"two\"}],\"ts_ms\":2}\n";
constexpr char kEvents[] =
    "{\"type\":\"start\",\"id\":\"e000000000001\",\"run\":\"r1\",\"model\":\"debug/echo\",\"request\":\"a\"}\n"
    "{\"type\":\"message\",\"id\":\"e000000000003\",\"run\":\"r1\",\"role\":\"assistant\",\"content\":[{\"type\":"
    "\"text\",\"text\":\"one\"}],\"model\":\"debug/echo\"}\n"
    "{\"type\":\"done\",\"id\":\"e000000000005\",\"run\":\"r1\",\"status\":\"ok\",\"request\":\"a\"}\n"
    "{\"type\":\"start\",\"id\":\"e000000000006\",\"run\":\"r2\",\"model\":\"debug/echo\",\"request\":\"b\"}\n";

struct Line {
    std::string type, run;
    std::uint64_t id;
};

// Empty when a line is no JSON object.
std::vector<Line> linesOf(const std::string &text)
{
    std::vector<Line> lines;
    std::size_t start = 0;
    for (std::size_t end; (end = text.find('\n', start)) != std::string::npos; start = end + 1) {
        const auto document = json::parse(std::string_view(text).substr(start, end - start));
        if (!document || !document->root().isObject())
            return {};
        const json::Value root = document->root();
        lines.push_back({std::string(root["type"].stringOr(root["role"].stringOr(""))),
                         std::string(root["run"].stringOr("")), parseEventId(root["id"].stringOr("")).value_or(0)});
    }
    return start == text.size() ? lines : std::vector<Line>();
}

} // namespace

class SessionFilesTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aCrashAtAnyByteIsPutInOrder()
    {
        const std::string messages = kMessages;
        const std::string events = kEvents;
        // The user line is written first, the events follow it: every prefix of the two in that order.
        const std::size_t lastUser = messages.rfind("{\"role\"");
        const std::size_t lastStart = events.rfind("{\"type\"");
        for (std::size_t cut = lastUser; cut <= messages.size() + (events.size() - lastStart); ++cut) {
            Store store;
            const std::size_t ofEvents = cut > messages.size() ? lastStart + cut - messages.size() : lastStart;
            store.dir.write(store.file("messages.jsonl"), messages.substr(0, cut));
            store.dir.write(store.file("events.jsonl"), events.substr(0, ofEvents));
            const bool hasSecond = cut >= messages.size();
            {
                const auto files = store.open(OpenMode::Existing);
                QVERIFY2(files.isOk(), files ? "" : files.error().text().c_str());
                QCOMPARE((*files)->history().requests.size(), hasSecond ? 2u : 1u);
            }
            const std::string stored = store.dir.read(store.file("events.jsonl"));
            const std::vector<Line> lines = linesOf(stored);
            QVERIFY2(!lines.empty(), stored.c_str());
            for (std::size_t i = 1; i < lines.size(); ++i)
                QVERIFY2(lines[i - 1].id < lines[i].id, stored.c_str());
            QCOMPARE(lines.back().type, std::string("done"));
            QCOMPARE(lines.back().run, std::string(hasSecond ? "r2" : "r1"));
            const auto count = [&](const char *type) {
                return std::count_if(lines.begin(), lines.end(), [&](const Line &line) { return line.type == type; });
            };
            QCOMPARE(count("start"), hasSecond ? 2 : 1);
            QCOMPARE(count("done"), hasSecond ? 2 : 1);
            QCOMPARE(count("error"), hasSecond ? 1 : 0);
            const std::vector<Line> kept = linesOf(store.dir.read(store.file("messages.jsonl")));
            QCOMPARE(kept.size(), hasSecond ? 3u : 2u);
            // Once in order it stays so.
            QVERIFY(store.open(OpenMode::Existing).isOk());
            QCOMPARE(store.dir.read(store.file("events.jsonl")), stored);
        }
    }

    void aBlockThatNeverReachedTheDiskIsCutOff()
    {
        Store store;
        store.dir.write(store.file("messages.jsonl"), kMessages + std::string(300, '\0') + "\n");
        store.dir.write(store.file("events.jsonl"), kEvents + std::string(10, '\0'));
        const auto files = store.open(OpenMode::Existing);
        QVERIFY(files.isOk());
        QCOMPARE((*files)->history().repairs.size(), 3u);
        QCOMPARE(store.dir.read(store.file("messages.jsonl")), std::string(kMessages));
    }

    void idsOfLostDeltasAreNotGivenOutAgain()
    {
        Store store;
        store.dir.write(store.file("messages.jsonl"), kMessages);
        store.dir.write(store.file("events.jsonl"), kEvents);
        const auto files = store.open(OpenMode::Existing);
        QVERIFY(files.isOk());
        QVERIFY((*files)->history().lastId > 100'000'000);
    }

    void oneProcessHasASession()
    {
        Store store;
        const auto first = store.open();
        QVERIFY(first.isOk());
        const auto second = store.open();
        QVERIFY(!second.isOk());
        QCOMPARE(second.error().number(), EBUSY);
    }

    void whatIsNotThereIsNotMadeByAReader()
    {
        Store store;
        QCOMPARE(store.open(OpenMode::Existing).error().number(), ENOENT);
        QVERIFY(::access(store.dir.path(withUid("tree/home/%1")).c_str(), F_OK) != 0);
    }

    void aLinkInAHomeIsNotFollowed()
    {
        Store store;
        store.dir.write("elsewhere/x", "");
        store.dir.write(withUid("tree/home/%1/x"), "");
        QCOMPARE(::symlink(store.dir.path("elsewhere").c_str(), store.dir.path(withUid("tree/home/%1/model")).c_str()),
                 0);
        const auto files = store.open();
        QVERIFY(!files.isOk());
        QVERIFY2(files.error().number() == ELOOP || files.error().number() == ENOTDIR, files.error().text().c_str());
        QVERIFY(::access(store.dir.path("elsewhere/debug").c_str(), F_OK) != 0);
    }

    void aRefusedMessageDoesNotTurnUpLater()
    {
        Store store;
        const auto files = store.open();
        QVERIFY(files.isOk());
        QVERIFY((*files)->beginRun(userLine("e000000000001", "a", "r1", "[]", 1), "/tmp", 1).isOk());
        QCOMPARE(unfinishedSessions(store.place).size(), 1u);
        SessionFiles::RunEnd end;
        end.eventLines = "{\"type\":\"done\",\"id\":\"e000000000002\",\"run\":\"r1\"}\n";
        end.state = "done";
        end.latest = "text";
        QVERIFY((*files)->endRun(end, 2).isOk());
        QCOMPARE(unfinishedSessions(store.place).size(), 0u);
        QCOMPARE(store.dir.read(store.file("state")), std::string("done\n"));
        QCOMPARE(store.dir.read(store.file("cwd")), std::string("/tmp\n"));
        QCOMPARE(store.dir.read(store.file("latest.md")), std::string("text\n"));
        struct stat info = {};
        QCOMPARE(::stat(store.dir.path(store.file("messages.jsonl")).c_str(), &info), 0);
        QCOMPARE(info.st_mode & 0777, mode_t{0600});
        QCOMPARE(::stat(store.dir.path(withUid(kDirectory)).c_str(), &info), 0);
        QCOMPARE(info.st_mode & 0777, mode_t{0700});
    }

    void theNewestUseIsListedFirst()
    {
        Store store;
        for (const char *name : {"one", "two", "three", "one"}) {
            store.key.name = name;
            const auto files = store.open();
            QVERIFY(files.isOk());
            QVERIFY((*files)->beginRun(userLine("e000000000001", "a", "r1", "[]", 1), "", 1).isOk());
        }
        const auto list = [&](const char *after, std::size_t most) {
            const auto page = listSessions(store.place, store.key, store.user, after, most);
            QStringList names;
            for (const SessionSummary &session : page ? page->sessions : std::vector<SessionSummary>())
                names += QString::fromStdString(session.session);
            return names.join(QLatin1Char(' ')) + (page && page->hasMore ? QStringLiteral(" ...") : QString());
        };
        QCOMPARE(list("", 50), QStringLiteral("one three two"));
        QCOMPARE(list("", 2), QStringLiteral("one three ..."));
        QCOMPARE(list("three", 2), QStringLiteral("two"));
        QCOMPARE(list("two", 2), QString());
        store.key.object = "model/debug/script";
        QCOMPARE(list("", 2), QString());
    }

    void sessionsUsedAtOnceAreAllListed()
    {
        constexpr int kThreads = 4;
        constexpr int kEach = 200; // enough lines for the list to be made short in between
        Store store;
        std::vector<std::thread> threads;
        std::atomic<int> failures = 0;
        for (int i = 0; i < kThreads; ++i) {
            threads.emplace_back([&, i] {
                SessionKey key = store.key;
                for (int n = 0; n < kEach; ++n) {
                    key.name = std::string(50, 's') + std::to_string(i) + "-" + std::to_string(n);
                    const auto files = SessionFiles::open(store.place, key, store.user, OpenMode::Create);
                    if (!files || !(*files)->beginRun(userLine("e000000000001", "a", "r1", "[]", 1), "", 1)
                        || !(*files)->beginRun(userLine("e000000000003", "b", "r2", "[]", 1), "", 1)
                        || !(*files)->beginRun(userLine("e000000000005", "c", "r3", "[]", 1), "", 1))
                        ++failures;
                }
            });
        }
        for (std::thread &thread : threads)
            thread.join();
        QCOMPARE(failures.load(), 0);
        std::size_t count = 0;
        std::string after;
        for (bool hasMore = true; hasMore;) {
            const auto page = listSessions(store.place, store.key, store.user, after, 1000);
            QVERIFY(page.isOk());
            count += page->sessions.size();
            hasMore = page->hasMore;
            after = page->sessions.back().session;
        }
        QCOMPARE(count, std::size_t{kThreads} * kEach);
    }
};

QTEST_GUILESS_MAIN(SessionFilesTest)
#include "session_files_test.moc"
