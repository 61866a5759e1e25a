// The projected part of the tree, asked without a kernel.
#include "daemon/fs/bridge/mount_table.h"
#include "daemon/fs/nodes/home/home_area.h"
#include "tests/fs/pure_tree.h"

#include <QtTest>

#include <set>

using namespace cortexfs;
using namespace cortexfs::fs;
using namespace cortexfs::fstest;

class TreeTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void rootHasExactlyItsSevenNames();
    void attributesOfNodes_data();
    void attributesOfNodes();
    void unknownNames_data();
    void unknownNames();
    void inodesAreDifferentAndStable();
    void textOfAReaderIsTheOneOfItsOpening();
    void cooldownShowsAndEndsWithoutARefresh();
    void readOnlyNodesRefuseEveryUid_data();
    void readOnlyNodesRefuseEveryUid();
    void xattrs_data();
    void xattrs();
    void xattrsCannotBeSet();
    void linksListNoXattrs();
    void goneModelIsStale();
    void snapshotTellsWhatToForget();
    void socketIsPlaceholderUntilItIsLive();
    void providerListingGoesOnAtAnyOffset();
    void mountTable_data();
    void mountTable();
    void uids_data();
    void uids();
    void droppedReplySaysEio();
    void answersOnlyOnce();
};

void TreeTest::rootHasExactlyItsSevenNames()
{
    PureTree tree;
    const std::vector<std::string> expected = {".", "..", "status", "bin", "model", "agent", "tool", "home", "shared"};
    QCOMPARE(tree.list(""), expected);
    QCOMPARE(tree.find("channel").error(), ENOENT);
    QCOMPARE(tree.find("provider").error(), ENOENT);
}

void TreeTest::attributesOfNodes_data()
{
    QTest::addColumn<QString>("path");
    QTest::addColumn<uint>("mode");
    QTest::newRow("status is a file to read") << "status" << uint(S_IFREG | 0444);
    QTest::newRow("bin is a directory") << "bin" << uint(S_IFDIR | 0755);
    QTest::newRow("programs are links") << "bin/ctx" << uint(S_IFLNK | 0777);
    QTest::newRow("a provider is a directory") << "model/debug" << uint(S_IFDIR | 0755);
    QTest::newRow("a model is executable") << "model/debug/echo" << uint(S_IFREG | 0555);
    QTest::newRow("controls are in a directory") << "model/debug/echo.d" << uint(S_IFDIR | 0755);
    QTest::newRow("effort can be written") << "model/debug/echo.d/effort" << uint(S_IFREG | 0644);
    QTest::newRow("limit cannot") << "model/debug/echo.d/limit" << uint(S_IFREG | 0444);
    QTest::newRow("status of a model cannot") << "model/debug/echo.d/status" << uint(S_IFREG | 0444);
    QTest::newRow("a declared socket is one") << "model/debug/script.sock" << uint(S_IFSOCK | 0666);
    QTest::newRow("an alias is a link") << "model/main" << uint(S_IFLNK | 0777);
}

void TreeTest::attributesOfNodes()
{
    QFETCH(QString, path);
    QFETCH(uint, mode);
    PureTree tree;
    const ErrnoOr<Entry> entry = tree.find(path.toStdString());
    QVERIFY(entry);
    QCOMPARE(uint(entry->attr.stat.st_mode), mode);
    QCOMPARE(entry->attr.stat.st_uid, ::geteuid());
    QCOMPARE(quint64(entry->attr.stat.st_ino), quint64(entry->id));
    QVERIFY(entry->seconds >= 1.0);
    if (S_ISREG(mode))
        QCOMPARE(std::size_t(entry->attr.stat.st_size), tree.read(path.toStdString()).size());
}

void TreeTest::unknownNames_data()
{
    QTest::addColumn<QString>("path");
    for (const char *path :
         {"x", "model/nobody", "model/debug/none", "model/debug/none.d", "model/debug/echo.sock", "model/debug/.d",
          "model/debug/echo.d/native", "bin/none", "model/route", "tool/x", "agent/x.sock"})
        QTest::newRow(path) << QString::fromUtf8(path);
}

void TreeTest::unknownNames()
{
    QFETCH(QString, path);
    PureTree tree;
    QCOMPARE(tree.find(path.toStdString()).error(), ENOENT);
}

void TreeTest::inodesAreDifferentAndStable()
{
    PureTree tree(50);
    std::set<NodeId> seen;
    std::vector<std::string> paths = {"",
                                      "status",
                                      "bin",
                                      "bin/ctx",
                                      "bin/cortexd",
                                      "model",
                                      "model/main",
                                      "model/debug",
                                      "model/local",
                                      "agent",
                                      "tool",
                                      "home",
                                      "shared",
                                      "model/debug/script.sock"};
    for (const std::string &name : tree.list("model/local")) {
        if (name.front() != '.')
            paths.push_back("model/local/" + name);
    }
    for (const std::string_view control : models::kControlNames)
        paths.push_back("model/debug/echo.d/" + std::string(control));
    for (const std::string &path : paths) {
        const ErrnoOr<Entry> entry = tree.find(path);
        QVERIFY2(entry, path.c_str());
        const ino_t inode = path.empty() ? 1 : entry->attr.stat.st_ino;
        QVERIFY2(seen.insert(inode).second, path.c_str());
        QCOMPARE(tree.find(path)->id, entry->id);
    }
    // The same after a refresh that keeps the serials.
    const NodeId before = tree.id("model/local/m7");
    tree.cell.store(changed(tree.cell.load(), "local/m7", [](models::ModelEntry &entry) { entry.effort = "low\n"; }));
    QCOMPARE(tree.id("model/local/m7"), before);
}

void TreeTest::textOfAReaderIsTheOneOfItsOpening()
{
    PureTree tree;
    const NodeId node = tree.id("model/debug/echo.d/effort");
    const auto opened = tree.areaOf(node).open({}, node, O_RDONLY);
    QVERIFY(opened);
    QVERIFY(opened->directIo);
    QVERIFY(!opened->needsFlush);
    tree.cell.store(
        changed(tree.cell.load(), "debug/echo", [](models::ModelEntry &entry) { entry.effort = "xhigh\n"; }));
    std::vector<char> scratch;
    QCOMPARE(std::string(*opened->file->read(scratch, 3, 0)), std::string("aut"));
    QCOMPARE(std::string(*opened->file->read(scratch, 100, 3)), std::string("o\n"));
    QCOMPARE(tree.read("model/debug/echo.d/effort"), std::string("xhigh\n"));
}

void TreeTest::cooldownShowsAndEndsWithoutARefresh()
{
    PureTree tree;
    const auto activity = tree.cell.load()->catalog->find("local", "m1")->activity;
    const std::string model = "model/local/m1";
    const auto sizesAgree = [&] {
        for (const std::string &path : {model, model + ".d/status"}) {
            if (static_cast<std::size_t>(tree.find(path)->attr.stat.st_size) != tree.read(path).size())
                return false;
        }
        return true;
    };
    QCOMPARE(tree.read(model + ".d/status"), std::string("state=ready\n"));
    QVERIFY(sizesAgree());
    activity->startCooldown({systemClock().wallMs() + 3'600'000, EAGAIN, "slow down"});
    const std::string status = tree.read(model + ".d/status");
    QVERIFY2(status.starts_with("state=cooldown\nreason=slow down\nerrno=EAGAIN\nuntil=2"), status.c_str());
    QVERIFY(tree.read(model).find("# cortexfs.status=cooldown\n") != std::string::npos);
    QVERIFY(sizesAgree());
    // Its pages would outlive it.
    const NodeId node = tree.id(model);
    QVERIFY(tree.areaOf(node).open({}, node, O_RDONLY)->directIo);
    activity->endCooldown();
    QCOMPARE(tree.read(model + ".d/status"), std::string("state=ready\n"));
    QVERIFY(tree.read(model).find("# cortexfs.status=ready\n") != std::string::npos);
    QVERIFY(sizesAgree());
}

void TreeTest::readOnlyNodesRefuseEveryUid_data()
{
    QTest::addColumn<QString>("path");
    QTest::addColumn<uint>("uid");
    for (const char *path : {"model/debug/echo.d/limit", "model/debug/echo.d/id", "model/debug/echo.d/log", "status",
                             "model/debug/echo"}) {
        for (const uint uid : {0U, 1000U, uint(::geteuid())})
            QTest::newRow(qPrintable(QStringLiteral("%1 as %2").arg(QString::fromUtf8(path)).arg(uid)))
                << QString::fromUtf8(path) << uid;
    }
}

void TreeTest::readOnlyNodesRefuseEveryUid()
{
    QFETCH(QString, path);
    QFETCH(uint, uid);
    PureTree tree;
    const NodeId node = tree.id(path.toStdString());
    Area &area = tree.areaOf(node);
    const Caller caller{uid, uid, 1};
    QCOMPARE(area.open(caller, node, O_WRONLY).error(), EROFS);
    QCOMPARE(area.open(caller, node, O_RDWR).error(), EROFS);
    QCOMPARE(area.open(caller, node, O_RDONLY | O_TRUNC).error(), EROFS);
    QCOMPARE(area.access(caller, node, W_OK), EROFS);
    QCOMPARE(area.access(caller, node, R_OK), 0);
    QCOMPARE(tree.tree->setXattr(caller, node, "user.x", "1", 0), EROFS);
    AttrChange change;
    change.mode = 0666;
    const auto outcome = newOutcome<Attr>();
    area.setAttributes(caller, node, change, nullptr, replyInto(outcome));
    QCOMPARE(outcome->error, EROFS);
    const NodeId parent = tree.id(path.contains(QLatin1Char('/')) ? path.section(QLatin1Char('/'), 0, -2).toStdString()
                                                                  : "");
    const auto gone = newOutcome<Ack>();
    tree.areaOf(parent).unlink(caller, parent, path.section(QLatin1Char('/'), -1).toStdString(), replyInto(gone));
    QCOMPARE(gone->error, EROFS);
}

void TreeTest::xattrs_data()
{
    QTest::addColumn<QString>("path");
    QTest::addColumn<QString>("name");
    QTest::addColumn<QString>("value");
    const auto row = [](const char *path, const char *name, const QString &value) {
        QTest::newRow(qPrintable(QStringLiteral("%1 of %2").arg(QLatin1String(name), QLatin1String(path))))
            << QString::fromUtf8(path) << QStringLiteral("user.cortexfs.") + QString::fromUtf8(name) << value;
    };
    row("model/debug/echo", "abi_path", QStringLiteral("model/debug/echo"));
    row("model/debug/echo", "kind", QStringLiteral("model"));
    row("model/debug/echo", "origin", QStringLiteral("virtual"));
    row("model/debug/echo", "storage", QStringLiteral("memory"));
    row("model/debug/echo", "virtual", QStringLiteral("true"));
    row("model/debug/echo", "backing_exists", QStringLiteral("false"));
    row("model/debug/echo", "tokenizer", QStringLiteral("byte-estimate-v1"));
    row("model/debug/echo.d/effort", "bytes", QStringLiteral("5"));
    row("model/debug/echo.d/effort", "token_estimate", QStringLiteral("2"));
    row("model/debug/echo.d/effort", "abi_path", QStringLiteral("model/debug/echo.d/effort"));
    row("model/debug/echo.d/effort", "kind", QStringLiteral("control"));
    row("", "abi_path", QString());
    row("status", "kind", QStringLiteral("status"));
    row("shared", "origin", QStringLiteral("disk"));
    row("shared", "virtual", QStringLiteral("false"));
    row("shared", "abi_path", QStringLiteral("shared"));
    row("shared", "backing_exists", QStringLiteral("true"));
}

void TreeTest::xattrs()
{
    QFETCH(QString, path);
    QFETCH(QString, name);
    QFETCH(QString, value);
    PureTree tree;
    const NodeId node = path.isEmpty() ? kRootId : tree.id(path.toStdString());
    const ErrnoOr<std::string> found = tree.tree->xattr({}, node, name.toStdString());
    QVERIFY(found);
    QCOMPARE(QString::fromStdString(*found), value);
    QCOMPARE(*tree.tree->xattr({}, node, "user.cortexfs.control"), tree.places.controlSocket());
    QCOMPARE(tree.tree->xattr({}, node, "user.cortexfs.nothing").error(), ENODATA);
    QCOMPARE(tree.tree->xattr({}, node, "security.capability").error(), ENODATA);
}

void TreeTest::xattrsCannotBeSet()
{
    PureTree tree;
    for (const char *path : {"shared", "model/debug/echo", "status"}) {
        const NodeId node = tree.id(path);
        QCOMPARE(tree.tree->setXattr({}, node, "user.cortexfs.kind", "x", 0), EROFS);
        QCOMPARE(tree.tree->removeXattr({}, node, "user.cortexfs.kind"), EROFS);
    }
}

void TreeTest::linksListNoXattrs()
{
    PureTree tree;
    QCOMPARE(tree.tree->xattrNames({}, tree.id("model/main"))->size(), std::size_t(0));
    QCOMPARE(tree.tree->xattrNames({}, tree.id("bin/ctx"))->size(), std::size_t(0));
    QVERIFY(tree.tree->xattrNames({}, tree.id("model/debug/echo"))->find("user.cortexfs.abi_path")
            != std::string::npos);
}

void TreeTest::goneModelIsStale()
{
    PureTree tree(3);
    const NodeId node = tree.id("model/local/m1");
    tree.cell.store(snapshot(tree.places.mount, 1));
    QCOMPARE(tree.areaOf(node).attributes({}, node, nullptr).error(), ESTALE);
    QCOMPARE(tree.areaOf(node).open({}, node, O_RDONLY).error(), ESTALE);
    QCOMPARE(tree.find("model/local/m1").error(), ENOENT);
}

void TreeTest::snapshotTellsWhatToForget()
{
    PureTree tree(3);
    const SnapshotPtr before = tree.cell.load();
    const NodeId effort = tree.id("model/local/m1.d/effort");
    const NodeId executable = tree.id("model/local/m1");
    const NodeId provider = tree.id("model/local");
    const auto forgets = [&](const SnapshotPtr &after) {
        std::set<std::pair<NodeId, std::string>> what;
        for (const Invalidation &one : tree.tree->snapshotChanged(*before, *after))
            what.insert({one.node, one.name});
        return what;
    };
    QVERIFY(forgets(before).empty());

    const auto changedEffort = forgets(
        changed(before, "local/m1", [](models::ModelEntry &entry) { entry.effort = "low\n"; }));
    QCOMPARE(changedEffort, (std::set<std::pair<NodeId, std::string>>{{effort, ""}, {executable, ""}}));

    const auto newSocket = forgets(
        changed(before, "local/m1", [](models::ModelEntry &entry) { entry.hasSocket = true; }));
    QVERIFY(newSocket.contains({provider, "m1.sock"}));

    const auto fewer = forgets(snapshot(tree.places.mount, 1));
    QVERIFY(fewer.contains({provider, "m1"}));
    QVERIFY(fewer.contains({provider, "m2.d"}));
    QVERIFY(!fewer.contains({provider, "m0"}));
    QVERIFY(forgets(snapshot(tree.places.mount, 0)).contains({tree.id("model"), "local"}));
}

void TreeTest::socketIsPlaceholderUntilItIsLive()
{
    PureTree tree;
    const std::string runtime = tree.places.runtime + "/model/debug";
    QVERIFY(S_ISSOCK(tree.find("model/debug/script.sock")->attr.stat.st_mode));
    QVERIFY(files::makeDirectories(runtime, 0755).isOk());
    QCOMPARE(::mknod((runtime + "/script.sock").c_str(), S_IFSOCK | 0666, 0), 0);
    const ErrnoOr<Entry> live = tree.find("model/debug/script.sock");
    QVERIFY(S_ISLNK(live->attr.stat.st_mode));
    QCOMPARE(*tree.areaOf(live->id).readLink({}, live->id), runtime + "/script.sock");
    const auto changes = tree.tree->entryChanged("model/debug/script.sock");
    QCOMPARE(changes.size(), std::size_t(1));
    QCOMPARE(changes[0].node, tree.id("model/debug"));
    QCOMPARE(changes[0].name, std::string("script.sock"));
}

void TreeTest::providerListingGoesOnAtAnyOffset()
{
    PureTree tree(100);
    class Few : public DirectorySink {
    public:
        bool wantsEntries() const override { return false; }
        bool add(std::string_view name, const Entry &, off_t following) override
        {
            if (room == 0)
                return false;
            --room;
            names.emplace_back(name);
            next = following;
            return true;
        }
        int room = 0;
        off_t next = 0;
        std::vector<std::string> names;
    } sink;
    const NodeId node = tree.id("model/local");
    const auto opened = tree.areaOf(node).openDirectory({}, node);
    for (std::size_t before = 1; before != sink.names.size();) {
        before = sink.names.size();
        sink.room = 7;
        QCOMPARE((*opened)->list({}, sink.next, sink), 0);
    }
    QCOMPARE(sink.names.size(), std::size_t(2 + 2 * 100));
    QCOMPARE(std::set<std::string>(sink.names.begin(), sink.names.end()).size(), sink.names.size());
}

void TreeTest::mountTable_data()
{
    QTest::addColumn<QString>("path");
    QTest::addColumn<QString>("type");
    QTest::newRow("a mount of ours") << "/ctx"
                                     << "fuse.cortexfs";
    QTest::newRow("the topmost of two counts") << "/two"
                                               << "tmpfs";
    QTest::newRow("a blank in the path") << "/a b"
                                         << "fuse.cortexfs";
    QTest::newRow("nothing there") << "/ct" << QString();
    QTest::newRow("below a mount is no mount") << "/ctx/home" << QString();
}

void TreeTest::mountTable()
{
    QFETCH(QString, path);
    QFETCH(QString, type);
    constexpr std::string_view table = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
                                       "40 22 0:50 / /ctx rw,nosuid - fuse.cortexfs cortexfs rw,user_id=0\n"
                                       "41 22 0:51 / /two rw master:3 shared:2 - fuse.cortexfs cortexfs rw\n"
                                       "42 41 0:52 / /two rw - tmpfs tmpfs rw\n"
                                       "43 22 0:53 / /a\\040b rw - fuse.cortexfs cortexfs rw\n"
                                       "broken line\n";
    const auto found = mountedAt(table, path.toStdString());
    QCOMPARE(found ? QString::fromStdString(found->type) : QString(), type);
}

void TreeTest::uids_data()
{
    QTest::addColumn<QString>("name");
    QTest::addColumn<bool>("isUid");
    for (const char *good : {"0", "1000", "65534", "4294967294"})
        QTest::newRow(good) << QString::fromUtf8(good) << true;
    for (const char *bad : {"", "00", "01000", "-1", "+1", "4294967295", "4294967296", "99999999999999999999", "1a",
                            " 1", "0x10", "root", "1."})
        QTest::newRow(qPrintable(QStringLiteral("no uid: '%1'").arg(QLatin1String(bad))))
            << QString::fromUtf8(bad) << false;
}

void TreeTest::uids()
{
    QFETCH(QString, name);
    QFETCH(bool, isUid);
    QCOMPARE(nodes::parseUid(name.toStdString()).has_value(), isUid);
}

void TreeTest::droppedReplySaysEio()
{
    const auto outcome = newOutcome<Ack>();
    {
        const Reply<Ack> dropped = replyInto(outcome);
    }
    QCOMPARE(outcome->error, EIO);
}

void TreeTest::answersOnlyOnce()
{
    const auto outcome = newOutcome<Ack>();
    Reply<Ack> reply = replyInto(outcome);
    Reply<Ack> moved = std::move(reply);
    reply.fail(EPERM); // NOLINT: what is left of it has nothing to answer
    QCOMPARE(outcome->error, -1);
    moved.ok();
    moved.fail(EPERM);
    QCOMPARE(outcome->error, 0);
}

QTEST_GUILESS_MAIN(TreeTest)
#include "tree_test.moc"
