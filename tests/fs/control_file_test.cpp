// Writing control files: which sequences of writes give a new text, which leave the old one.
#include "common/base/limits.h"
#include "daemon/fs/tree/control_file.h"
#include "daemon/fs/tree/staged_files.h"
#include "tests/fs/pure_tree.h"

#include <QtTest>

using namespace cortexfs;
using namespace cortexfs::fs;
using namespace cortexfs::fstest;

namespace {

class FakeStorage : public ControlStorage {
public:
    std::optional<ControlRef> controlNamed(NodeId, std::string_view) override { return std::nullopt; }
    int mayChangeControl(const Caller &, const ControlRef &) override { return 0; }
    int checkControl(const ControlRef &, std::string_view text) const override
    {
        return text.find("bad") == std::string_view::npos ? 0 : EINVAL;
    }
    void commitControl(const Caller &, const ControlRef &, std::string text, std::function<void(int)> done) override
    {
        if (!refusal)
            committed.push_back(QString::fromStdString(text));
        done(refusal);
    }
    void settleControl(const Caller &, const ControlRef &, std::string text) override
    {
        settled.push_back(QString::fromStdString(text));
    }
    QStringList committed;
    QStringList settled;
    int refusal = 0;
};

} // namespace

class ControlFileTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void sequences_data();
    void sequences();
    void refusedCommitIsAnErrorOfClose();
    void oversizeIsEmsgsize();
    void stagedFileCommitsByRename();
    void stagedFilesBelongToTheirMaker();
    void stagedFilesAreFew();
    void changeEndsAtItsDeadline();
    void droppedChangeIsEio();
    void stopEndsEverything();
    void openWaitsForASettlingChange();
    void aliasChanges();
};

// Steps: "w OFFSET TEXT", "t SIZE", "f" (a close), "s" (fsync), "r" (the last close). Each gives an errno.
void ControlFileTest::sequences_data()
{
    QTest::addColumn<bool>("isSingle");
    QTest::addColumn<int>("flags");
    QTest::addColumn<QStringList>("steps");
    QTest::addColumn<QList<int>>("errnos");
    QTest::addColumn<QStringList>("committed");
    QTest::addColumn<QStringList>("settled");
    const QStringList none;
    const auto words = [](std::initializer_list<const char *> texts) {
        QStringList list;
        for (const char *text : texts)
            list.push_back(QString::fromUtf8(text));
        return list;
    };
    using E = QList<int>;
    QTest::newRow("shell: printf > effort")
        << true << O_TRUNC << words({"f", "w 0 high", "f", "r"}) << E{0, 0, 0, 0} << words({"high"}) << none;
    QTest::newRow("one value: bad text fails in write")
        << true << O_TRUNC << words({"w 0 bad", "f", "r"}) << E{EINVAL, 0, 0} << none << none;
    QTest::newRow("one value: the old one stays after a truncate alone")
        << true << O_TRUNC << words({"f", "r"}) << E{0, 0} << none << none;
    QTest::newRow("one value: two rewrites through one descriptor")
        << true << 0 << words({"w 0 low", "w 0 high"}) << E{0, 0} << words({"low", "high"}) << none;
    QTest::newRow("one value: a second write makes a longer text")
        << true << O_TRUNC << words({"w 0 lo", "w 2 w"}) << E{0, 0} << words({"lo", "low"}) << none;
    QTest::newRow("one value: in the middle") << true << 0 << words({"w 2 x"}) << E{EINVAL} << none << none;
    QTest::newRow("lines: shell") << false << O_TRUNC << words({"f", "w 0 a=1", "f", "r"}) << E{0, 0, 0, 0}
                                  << words({"a=1"}) << none;
    QTest::newRow("lines: several writes, one commit")
        << false << O_TRUNC << words({"w 0 a=1", "w 3 ;b=2", "f", "r"}) << E{0, 0, 0, 0} << words({"a=1;b=2"}) << none;
    QTest::newRow("lines: bad text fails in close and is forgotten")
        << false << O_TRUNC << words({"w 0 bad", "f", "f", "r"}) << E{0, EINVAL, 0, 0} << none << none;
    QTest::newRow("lines: fsync commits")
        << false << O_TRUNC << words({"w 0 x", "s", "f", "r"}) << E{0, 0, 0, 0} << words({"x"}) << none;
    QTest::newRow("lines: half-new") << false << 0 << words({"w 0 a", "w 3 b", "f"}) << E{0, EINVAL, 0} << words({"a"})
                                     << none;
    QTest::newRow("lines: hole at the start")
        << false << O_TRUNC << words({"w 4 b", "f", "r"}) << E{EINVAL, 0, 0} << none << words({""});
    QTest::newRow("lines: a rewrite without truncation replaces all")
        << false << 0 << words({"w 0 n", "f", "r"}) << E{0, 0, 0} << words({"n"}) << none;
    QTest::newRow("lines: append adds to the old text") << false << O_APPEND << words({"w 99 new", "w 5 er", "f", "r"})
                                                        << E{0, 0, 0, 0} << words({"old\nnewer"}) << none;
    QTest::newRow("lines: truncate alone commits at the end")
        << false << O_TRUNC << words({"f", "f", "r"}) << E{0, 0, 0} << none << words({""});
    QTest::newRow("lines: ftruncate commits in close")
        << false << 0 << words({"t 0", "f", "r"}) << E{0, 0, 0} << words({""}) << none;
    QTest::newRow("lines: ftruncate to the present size is nothing")
        << false << 0 << words({"t 4", "f", "r"}) << E{0, 0, 0} << none << none;
    QTest::newRow("lines: ftruncate to another size")
        << false << 0 << words({"t 2", "f", "r"}) << E{EINVAL, 0, 0} << none << none;
    QTest::newRow("lines: opened, nothing done") << false << 0 << words({"f", "r"}) << E{0, 0} << none << none;
    QTest::newRow("lines: created and never written")
        << false << O_CREAT << words({"f", "r"}) << E{0, 0} << none << words({""});
}

void ControlFileTest::sequences()
{
    QFETCH(bool, isSingle);
    QFETCH(int, flags);
    QFETCH(QStringList, steps);
    QFETCH(QList<int>, errnos);
    QFETCH(QStringList, committed);
    QFETCH(QStringList, settled);
    FakeStorage storage;
    ControlFile file(storage, ControlRef{7, "model/p/m.d/x", true, isSingle}, "old\n", flags);
    QList<int> seen;
    for (const QString &step : steps) {
        const auto ack = newOutcome<Ack>();
        const auto size = newOutcome<std::size_t>();
        switch (step.front().toLatin1()) {
        case 'w': {
            const std::string text = step.section(QLatin1Char(' '), 2).toStdString();
            file.write({}, text, step.section(QLatin1Char(' '), 1, 1).toLongLong(), false, replyInto(size));
            seen.push_back(size->error);
            if (!size->error)
                QCOMPARE(size->value, text.size());
            continue;
        }
        case 't': file.truncate({}, step.section(QLatin1Char(' '), 1).toLongLong(), replyInto(ack)); break;
        case 'f': file.flush({}, replyInto(ack)); break;
        case 's': file.sync({}, false, replyInto(ack)); break;
        default: file.release({}); ack->error = 0;
        }
        seen.push_back(ack->error);
    }
    QCOMPARE(seen, errnos);
    QCOMPARE(storage.committed, committed);
    QCOMPARE(storage.settled, settled);
}

void ControlFileTest::refusedCommitIsAnErrorOfClose()
{
    FakeStorage storage;
    storage.refusal = ENOSPC;
    ControlFile file(storage, ControlRef{7, "p", true, false}, "old", O_TRUNC);
    const auto written = newOutcome<std::size_t>();
    file.write({}, "new", 0, false, replyInto(written));
    QCOMPARE(written->error, 0);
    const auto closed = newOutcome<Ack>();
    file.flush({}, replyInto(closed));
    QCOMPARE(closed->error, ENOSPC);
}

void ControlFileTest::oversizeIsEmsgsize()
{
    FakeStorage storage;
    ControlFile file(storage, ControlRef{7, "p", true, false}, "old", O_TRUNC);
    const std::string full(limits::kControlFile, 'x');
    const auto write = [&](const std::string &text, off_t offset) {
        const auto outcome = newOutcome<std::size_t>();
        file.write({}, text, offset, false, replyInto(outcome));
        return outcome->error;
    };
    QCOMPARE(write(full + "x", 0), EMSGSIZE);
    QCOMPARE(write("x", off_t(limits::kControlFile)), EMSGSIZE);
    QCOMPARE(write(full, 0), 0);
    QCOMPARE(write("x", off_t(limits::kControlFile)), EMSGSIZE);
    // What came before the write that did not fit is half a text: it is not committed, and closing says so.
    const auto closed = newOutcome<Ack>();
    file.flush({}, replyInto(closed));
    QCOMPARE(closed->error, EMSGSIZE);
    file.release({});
    QVERIFY(storage.committed.isEmpty() && storage.settled.isEmpty());
    // Who begins anew has a new text.
    QCOMPARE(write("new", 0), 0);
    const auto again = newOutcome<Ack>();
    file.flush({}, replyInto(again));
    QCOMPARE(again->error, 0);
}

void ControlFileTest::stagedFileCommitsByRename()
{
    PureTree tree;
    const NodeId directory = tree.id("model/debug/echo.d");
    Area &area = tree.areaOf(directory);
    const Caller caller{::geteuid(), ::getegid(), 1};
    auto created = area.create(caller, directory, "effort.tmp", 0600, O_WRONLY | O_EXCL);
    QVERIFY(created);
    QVERIFY(created->entry.seconds == 0);
    const auto written = newOutcome<std::size_t>();
    created->opened.file->write(caller, "high\n", 0, false, replyInto(written));
    created->opened.file.reset();
    QCOMPARE(tree.read("model/debug/echo.d/effort.tmp"), std::string("high\n"));
    QCOMPARE(tree.read("model/debug/echo.d/effort"), std::string("auto\n"));

    const auto readOnly = newOutcome<Ack>();
    area.rename(caller, directory, "effort.tmp", directory, "limit", 0, replyInto(readOnly));
    QCOMPARE(readOnly->error, EROFS);

    const auto renamed = newOutcome<Ack>();
    area.rename(caller, directory, "effort.tmp", directory, "effort", 0, replyInto(renamed));
    QCOMPARE(tree.handler.posted.size(), std::size_t(1));
    QCOMPARE(tree.handler.posted[0].change.path, std::string("model/debug/echo.d/effort"));
    QCOMPARE(tree.handler.posted[0].change.content, std::string("high\n"));
    tree.answer({});
    QCOMPARE(renamed->error, 0);
    QCOMPARE(tree.find("model/debug/echo.d/effort.tmp").error(), ENOENT);

    // Bad content: the temporary file stays, so that it can be looked at.
    auto bad = area.create(caller, directory, "t", 0600, O_WRONLY);
    bad->opened.file->write(caller, "bad\n", 0, false, replyInto(newOutcome<std::size_t>()));
    const auto refused = newOutcome<Ack>();
    area.rename(caller, directory, "t", directory, "effort", 0, replyInto(refused));
    QCOMPARE(refused->error, EINVAL);
    QVERIFY(tree.find("model/debug/echo.d/t"));

    const auto away = newOutcome<Ack>();
    area.rename(caller, directory, "effort", directory, "effort~", 0, replyInto(away));
    QCOMPARE(away->error, EROFS);
}

void ControlFileTest::stagedFilesBelongToTheirMaker()
{
    PureTree tree;
    const NodeId directory = tree.id("model/debug/echo.d");
    Area &area = tree.areaOf(directory);
    const uid_t owner = ::geteuid();
    const Caller maker{owner, owner, 1};
    QVERIFY(area.create(maker, directory, "mine", 0666, O_WRONLY));
    const Caller stranger{owner + 77, owner + 77, 2};
    QCOMPARE(area.lookup(stranger, directory, "mine").error(), ENOENT);
    QCOMPARE(area.create(stranger, directory, "theirs", 0666, O_WRONLY).error(), EACCES);
    const NodeId node = tree.find("model/debug/echo.d/mine", maker)->id;
    QCOMPARE(area.open(stranger, node, O_RDONLY).error(), EACCES);
    QVERIFY(area.lookup(Caller{0, 0, 3}, directory, "mine"));
    QCOMPARE(tree.list("model/debug/echo.d", stranger).size(), 2 + models::kControlCount);
    QCOMPARE(tree.list("model/debug/echo.d", maker).size(), 3 + models::kControlCount);
}

void ControlFileTest::stagedFilesAreFew()
{
    PureTree tree;
    const NodeId directory = tree.id("model/debug/echo.d");
    Area &area = tree.areaOf(directory);
    const Caller caller{::geteuid(), ::getegid(), 1};
    std::vector<ErrnoOr<CreatedFile>> open;
    for (std::size_t i = 0; i < StagedFiles::kPerDirectory; ++i)
        open.push_back(area.create(caller, directory, "t" + std::to_string(i), 0600, O_WRONLY));
    QVERIFY(open.back());
    QCOMPARE(area.create(caller, directory, "more", 0600, O_WRONLY).error(), ENOSPC);
    open.erase(open.begin()); // a closed one makes room
    QVERIFY(area.create(caller, directory, "more", 0600, O_WRONLY));
    QCOMPARE(area.lookup(caller, directory, "t0").error(), ENOENT);
    const auto tooLong = newOutcome<std::size_t>();
    open.back()->opened.file->write(caller, std::string(limits::kControlFile + 1, 'x'), 0, false, replyInto(tooLong));
    QCOMPARE(tooLong->error, EMSGSIZE);
}

void ControlFileTest::changeEndsAtItsDeadline()
{
    PureTree tree;
    const NodeId node = tree.id("model/debug/echo.d/effort");
    const auto opened = tree.areaOf(node).open({}, node, O_WRONLY | O_TRUNC);
    QVERIFY(opened);
    QCOMPARE(tree.changes.msToDeadline(), -1);
    const auto written = newOutcome<std::size_t>();
    opened->file->write({}, "high\n", 0, false, replyInto(written));
    QCOMPARE(tree.changes.msToDeadline(), 5'000);
    tree.clock.now += 4'999;
    tree.changes.expire();
    QCOMPARE(written->error, -1);
    QCOMPARE(tree.changes.msToDeadline(), 1);
    tree.clock.now += 1;
    tree.changes.expire();
    QCOMPARE(written->error, ETIMEDOUT);
    QCOMPARE(tree.changes.msToDeadline(), -1);
    tree.answer({}); // too late, and harmless
    QCOMPARE(written->error, ETIMEDOUT);
}

void ControlFileTest::droppedChangeIsEio()
{
    PureTree tree;
    const NodeId node = tree.id("model/debug/echo.d/effort");
    const auto opened = tree.areaOf(node).open({}, node, O_WRONLY);
    const auto written = newOutcome<std::size_t>();
    opened->file->write({}, "high\n", 0, false, replyInto(written));
    tree.woken = false;
    tree.handler.posted.clear();
    QVERIFY(tree.woken);
    tree.changes.deliver();
    QCOMPARE(written->error, EIO);
}

void ControlFileTest::stopEndsEverything()
{
    PureTree tree;
    const NodeId node = tree.id("model/debug/echo.d/effort");
    const auto opened = tree.areaOf(node).open({}, node, O_WRONLY);
    const auto written = newOutcome<std::size_t>();
    opened->file->write({}, "high\n", 0, false, replyInto(written));
    tree.changes.dropAll();
    QCOMPARE(written->error, EIO);
    tree.answer({});
    QCOMPARE(written->error, EIO);
}

void ControlFileTest::openWaitsForASettlingChange()
{
    PureTree tree;
    const NodeId node = tree.id("model/debug/echo.d/fallback");
    auto opened = tree.areaOf(node).open({}, node, O_WRONLY | O_TRUNC);
    QVERIFY(!tree.changes.defer(node, [] {}));
    opened->file->release({});
    bool isOpen = false;
    QVERIFY(tree.changes.defer(node, [&] { isOpen = true; }));
    QVERIFY(!isOpen);
    QCOMPARE(tree.handler.posted[0].change.content, std::string());
    tree.answer({});
    QVERIFY(isOpen);
    QVERIFY(!tree.changes.defer(node, [] {}));
}

void ControlFileTest::aliasChanges()
{
    PureTree tree;
    const NodeId top = tree.id("model");
    Area &area = tree.areaOf(top);
    const auto made = newOutcome<Entry>();
    area.makeSymlink({}, top, "mine", "/ctx/model/debug/echo", replyInto(made));
    QVERIFY(tree.handler.posted[0].change.kind == TreeChange::Kind::SetLink);
    QCOMPARE(tree.handler.posted[0].change.path, std::string("model/mine"));
    tree.answer(errors::invalid("no such model"));
    QCOMPARE(made->error, EINVAL);

    const auto reserved = newOutcome<Entry>();
    area.makeSymlink({}, top, "route", "x", replyInto(reserved));
    QCOMPARE(reserved->error, EROFS);
    const auto stranger = newOutcome<Entry>();
    area.makeSymlink({::geteuid() + 5, 5, 1}, top, "mine", "x", replyInto(stranger));
    QCOMPARE(stranger->error, EACCES);
    const auto builtIn = newOutcome<Ack>();
    area.unlink({}, top, "main", replyInto(builtIn));
    QVERIFY(tree.handler.posted[0].change.kind == TreeChange::Kind::RemoveLink);
    tree.answer(errors::readOnly("made by the daemon"));
    QCOMPARE(builtIn->error, EROFS);
    const auto provider = newOutcome<Ack>();
    area.rename({}, top, "main", top, "debug", 0, replyInto(provider));
    QCOMPARE(provider->error, EROFS);
}

QTEST_GUILESS_MAIN(ControlFileTest)
#include "control_file_test.moc"
