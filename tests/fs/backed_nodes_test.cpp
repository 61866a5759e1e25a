// The durable areas without a kernel: identities, descriptors on a budget, and names that change behind our back.
#include "tests/fs/pure_tree.h"

#include <QtTest>

#include <algorithm>
#include <set>

#include <sys/resource.h>
#include <unistd.h>

using namespace cortexfs;
using namespace cortexfs::fs;
using namespace cortexfs::fstest;

class BackedNodesTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void hardLinksAreOneNode();
    void parkedNodesComeBack();
    void parkedNodeOfAnotherInodeIsStale();
    void unlinkedNodeKeepsItsDescriptor();
    void forgottenNodesAreGone();
    void movedDirectoryKeepsItsChildren();
    void exhaustedDescriptorsAreNoEnd();
    void namesOutOfTheArea_data();
    void namesOutOfTheArea();
    void objectsShowMetadata();
    void objectsAreReadOnly();
    void objectControlIsReplaced();
    void agentSockets();
    void homesAreMadeOnLookup();

private:
    static std::string shared(PureTree &tree) { return tree.places.installedTree() + "/shared/"; }
};

void BackedNodesTest::hardLinksAreOneNode()
{
    PureTree tree;
    put(shared(tree) + "a", "x", 0644);
    QCOMPARE(::link((shared(tree) + "a").c_str(), (shared(tree) + "b").c_str()), 0);
    QCOMPARE(tree.id("shared/a"), tree.id("shared/b"));
    QCOMPARE(tree.find("shared/a")->attr.stat.st_nlink, nlink_t(2));
}

void BackedNodesTest::parkedNodesComeBack()
{
    PureTree tree(0, 64);
    std::vector<NodeId> ids;
    for (int i = 0; i < 300; ++i) {
        const std::string name = "f" + std::to_string(i);
        put(shared(tree) + name, name, 0644);
        ids.push_back(tree.id("shared/" + name));
        QVERIFY(tree.nodes.openDescriptors() <= 64);
    }
    QCOMPARE(tree.nodes.size(), std::size_t(300 + 4));
    QVERIFY(!tree.advised.empty()); // the kernel is asked to forget some
    for (int i = 0; i < 300; ++i) {
        const auto opened = tree.areaOf(ids[i]).open({}, ids[i], O_RDONLY);
        QVERIFY(opened);
        std::vector<char> scratch;
        QCOMPARE(std::string(*opened->file->read(scratch, 100, 0)), "f" + std::to_string(i));
        QVERIFY(tree.nodes.openDescriptors() <= 64);
    }
    QCOMPARE(tree.id("shared/f0"), ids[0]);
}

void BackedNodesTest::parkedNodeOfAnotherInodeIsStale()
{
    PureTree tree(0, 64);
    put(shared(tree) + "a", "one", 0644);
    const NodeId old = tree.id("shared/a");
    for (int i = 0; i < 100; ++i) {
        put(shared(tree) + "x" + std::to_string(i), "", 0644);
        tree.id("shared/x" + std::to_string(i));
    }
    QVERIFY(files::replace(shared(tree) + "a", "two", 0644).isOk());
    QCOMPARE(tree.areaOf(old).attributes({}, old, nullptr).error(), ESTALE);
    QVERIFY(tree.id("shared/a") != old);
    QCOMPARE(tree.read("shared/a"), std::string("two"));
}

void BackedNodesTest::unlinkedNodeKeepsItsDescriptor()
{
    PureTree tree(0, 64);
    put(shared(tree) + "a", "kept", 0644);
    const NodeId node = tree.id("shared/a");
    const NodeId parent = tree.id("shared");
    const auto gone = newOutcome<Ack>();
    tree.areaOf(parent).unlink({}, parent, "a", replyInto(gone));
    QCOMPARE(gone->error, 0);
    for (int i = 0; i < 100; ++i) {
        put(shared(tree) + "x" + std::to_string(i), "", 0644);
        tree.id("shared/x" + std::to_string(i));
    }
    const ErrnoOr<Attr> attr = tree.areaOf(node).attributes({}, node, nullptr);
    QVERIFY(attr);
    QCOMPARE(attr->stat.st_nlink, nlink_t(0));
    QCOMPARE(attr->stat.st_size, off_t(4));
}

void BackedNodesTest::forgottenNodesAreGone()
{
    PureTree tree;
    QVERIFY(files::makeDirectories(shared(tree) + "d/e", 0755).isOk());
    const std::size_t before = tree.nodes.size();
    const std::size_t open = tree.nodes.openDescriptors();
    const NodeId directory = tree.id("shared/d");
    const NodeId child = tree.id("shared/d/e");
    QCOMPARE(tree.nodes.size(), before + 2);
    tree.areaOf(directory).forget(directory, 2); // the child still names it
    QVERIFY(tree.tree->areaOf(directory));
    tree.areaOf(child).forget(child, 1);
    QVERIFY(!tree.tree->areaOf(child));
    QVERIFY(!tree.tree->areaOf(directory));
    QCOMPARE(tree.nodes.size(), before);
    QCOMPARE(tree.nodes.openDescriptors(), open);
    // The slot is used again, under another number.
    QVERIFY(tree.id("shared/d") != directory);
}

void BackedNodesTest::movedDirectoryKeepsItsChildren()
{
    PureTree tree(0, 64);
    QVERIFY(files::makeDirectories(shared(tree) + "d", 0755).isOk());
    put(shared(tree) + "d/f", "here", 0644);
    const NodeId file = tree.id("shared/d/f");
    const NodeId parent = tree.id("shared");
    const auto renamed = newOutcome<Ack>();
    tree.tree->rename({}, parent, "d", parent, "e", 0, replyInto(renamed));
    QCOMPARE(renamed->error, 0);
    while (tree.nodes.makeRoom() && tree.nodes.openDescriptors() > 20) {}
    QCOMPARE(*tree.tree->xattr({}, file, "user.cortexfs.abi_path"), std::string("shared/e/f"));
    QVERIFY(tree.areaOf(file).open({}, file, O_RDONLY));
}

void BackedNodesTest::exhaustedDescriptorsAreNoEnd()
{
    PureTree tree;
    for (int i = 0; i < 50; ++i) {
        put(shared(tree) + "f" + std::to_string(i), "x", 0644);
        tree.id("shared/f" + std::to_string(i));
    }
    rlimit before = {};
    ::getrlimit(RLIMIT_NOFILE, &before);
    // Nothing is left for a new descriptor: the tree gives up some of its own.
    const int probe = ::dup(0);
    ::close(probe);
    rlimit tight = before;
    tight.rlim_cur = static_cast<rlim_t>(probe);
    ::setrlimit(RLIMIT_NOFILE, &tight);
    std::vector<ErrnoOr<OpenedFile>> open;
    for (int i = 0; i < 10; ++i) {
        const NodeId node = tree.id("shared/f" + std::to_string(i));
        open.push_back(tree.areaOf(node).open({}, node, O_RDONLY));
    }
    ::setrlimit(RLIMIT_NOFILE, &before);
    for (const auto &opened : open)
        QVERIFY(opened);
}

void BackedNodesTest::namesOutOfTheArea_data()
{
    QTest::addColumn<QString>("name");
    for (const char *name : {".", "..", "a/b", "", "../home"})
        QTest::newRow(name) << QString::fromUtf8(name);
}

void BackedNodesTest::namesOutOfTheArea()
{
    QFETCH(QString, name);
    PureTree tree;
    QVERIFY(files::makeDirectories(shared(tree) + "a/b", 0755).isOk());
    QCOMPARE(tree.tree->lookup({}, tree.id("shared"), name.toStdString()).error(), ENOENT);
    QCOMPARE(tree.tree->lookup({}, tree.id("shared"), std::string(256, 'n')).error(), ENAMETOOLONG);
    // A link is a node of its own and never followed by us.
    QCOMPARE(::symlink("/etc", (shared(tree) + "out").c_str()), 0);
    const NodeId link = tree.id("shared/out");
    QVERIFY(S_ISLNK(tree.find("shared/out")->attr.stat.st_mode));
    QVERIFY(!tree.tree->lookup({}, link, "passwd"));
    QCOMPARE(tree.areaOf(link).open({}, link, O_RDONLY).error(), ELOOP);
}

namespace {

void installTool(PureTree &tree)
{
    const std::string tool = tree.places.installedTree() + "/tool/";
    QVERIFY(files::makeDirectories(tool + "fs.read.d/hooks/pre.d", 0755).isOk());
    put(tool + "fs.read",
        "\x7f"
        "ELF secret bytes",
        0755);
    put(tool + "fs.read.d/description", "Reads a file.\n", 0644);
    put(tool + "fs.read.d/cap", "text\nread_only\n", 0644);
    put(tool + "fs.read.d/status", "idle\n", 0644);
    put(tool + "fs.read.d/.cortexfs-receipt.json", "{}", 0444);
    QVERIFY(files::makeDirectories(tool + ".cortexfs-install-1-0", 0700).isOk());
}

} // namespace

void BackedNodesTest::objectsShowMetadata()
{
    PureTree tree;
    installTool(tree);
    const std::string expected = "#!/usr/bin/runner\n# cortexfs.object=tool/fs.read\n# cortexfs.name=fs.read\n"
                                 "# cortexfs.description=Reads a file.\n# cortexfs.runner=/usr/bin/runner\n"
                                 "# cortexfs.status=idle\n# cortexfs.cap=text,read_only\n";
    QCOMPARE(tree.read("tool/fs.read"), expected);
    const ErrnoOr<Entry> entry = tree.find("tool/fs.read");
    QCOMPARE(std::size_t(entry->attr.stat.st_size), expected.size());
    QCOMPARE(uint(entry->attr.stat.st_mode), uint(S_IFREG | 0555));
    QCOMPARE(*tree.tree->xattr({}, entry->id, "user.cortexfs.kind"), std::string("tool"));
    QCOMPARE(*tree.tree->xattr({}, entry->id, "user.cortexfs.origin"), std::string("overlay"));
    const std::vector<std::string> names = tree.list("tool");
    QCOMPARE(std::set<std::string>(names.begin(), names.end()),
             (std::set<std::string>{".", "..", "fs.read", "fs.read.d"}));
    QCOMPARE(tree.find("tool/.cortexfs-install-1-0").error(), ENOENT);
    QCOMPARE(tree.find("tool/fs.read.d/.cortexfs-receipt.json").error(), ENOENT);
}

void BackedNodesTest::objectsAreReadOnly()
{
    PureTree tree;
    installTool(tree);
    const NodeId top = tree.id("tool");
    const NodeId object = tree.id("tool/fs.read");
    const NodeId controls = tree.id("tool/fs.read.d");
    Area &area = tree.areaOf(top);
    QCOMPARE(area.open({}, object, O_WRONLY).error(), EROFS);
    QCOMPARE(area.open({}, tree.id("tool/fs.read.d/status"), O_WRONLY).error(), EROFS);
    QCOMPARE(area.create({}, top, "new", 0755, O_WRONLY).error(), EROFS);
    QCOMPARE(area.makeDirectory({}, top, "new", 0755).error(), EROFS);
    QCOMPARE(area.makeDirectory({}, controls, "new", 0755).error(), EROFS);
    QCOMPARE(area.removeDirectory({}, top, "fs.read.d"), EROFS);
    for (const auto &[parent, name] : {std::pair(top, "fs.read"), {controls, "cap"}}) {
        const auto gone = newOutcome<Ack>();
        area.unlink({}, parent, name, replyInto(gone));
        QCOMPARE(gone->error, EROFS);
        const auto moved = newOutcome<Ack>();
        area.rename({}, parent, name, parent, "other", 0, replyInto(moved));
        QCOMPARE(moved->error, EROFS);
    }
    QCOMPARE(area.hardLink({}, object, top, "copy").error(), EROFS);
}

void BackedNodesTest::objectControlIsReplaced()
{
    PureTree tree;
    installTool(tree);
    const std::string file = tree.places.installedTree() + "/tool/fs.read.d/description";
    const NodeId node = tree.id("tool/fs.read.d/description");
    const auto write = [&](const std::string &text) {
        auto opened = tree.areaOf(node).open({}, node, O_WRONLY | O_TRUNC);
        const auto written = newOutcome<std::size_t>();
        opened->file->write({}, text, 0, false, replyInto(written));
        const auto closed = newOutcome<Ack>();
        opened->file->flush({}, replyInto(closed));
        const bool isClosed = QTest::qWaitFor([&] {
            tree.changes.deliver();
            return closed->error >= 0;
        });
        return isClosed ? closed->error : -1;
    };
    QCOMPARE(write("bad\n"), EINVAL);
    QCOMPARE(contentOf(file), std::string("Reads a file.\n"));
    QCOMPARE(write("Reads one file.\n"), 0);
    QCOMPARE(contentOf(file), std::string("Reads one file.\n"));
    struct stat info = {};
    QCOMPARE(::stat(file.c_str(), &info), 0);
    QCOMPARE(uint(info.st_mode & 07777), 0644U);
}

void BackedNodesTest::agentSockets()
{
    PureTree tree;
    const std::string agents = tree.places.installedTree() + "/agent/";
    QVERIFY(files::makeDirectories(agents + "coder.d", 0755).isOk());
    put(agents + "coder", "", 0755);
    put(agents + "coder.d/model", "main\n", 0644);
    QVERIFY(S_ISSOCK(tree.find("agent/coder.sock")->attr.stat.st_mode));
    QCOMPARE(tree.find("agent/none.sock").error(), ENOENT);
    const std::vector<std::string> names = tree.list("agent");
    QCOMPARE(std::count(names.begin(), names.end(), "coder.sock"), std::ptrdiff_t(1));
    QVERIFY(tree.read("agent/coder").find("# cortexfs.model=main\n") != std::string::npos);
    QVERIFY(files::makeDirectories(tree.places.runtime + "/agent", 0755).isOk());
    QCOMPARE(::mknod((tree.places.runtime + "/agent/coder.sock").c_str(), S_IFSOCK | 0600, 0), 0);
    const ErrnoOr<Entry> live = tree.find("agent/coder.sock");
    QVERIFY(S_ISLNK(live->attr.stat.st_mode));
    QCOMPARE(*tree.areaOf(live->id).readLink({}, live->id), tree.places.runtime + "/agent/coder.sock");
}

void BackedNodesTest::homesAreMadeOnLookup()
{
    PureTree tree;
    const uid_t own = ::geteuid();
    const Caller owner{own, ::getegid(), 1};
    const Caller stranger{own + 4321, own + 4321, 2};
    const std::string name = std::to_string(own);
    QCOMPARE(tree.find("home/" + name, stranger).error(), ENOENT);
    const ErrnoOr<Entry> home = tree.find("home/" + name, owner);
    QVERIFY(home);
    QCOMPARE(uint(home->attr.stat.st_mode), uint(S_IFDIR | 0700));
    QCOMPARE(home->attr.stat.st_uid, own);
    QCOMPARE(home->seconds, 0.0);
    QCOMPARE(home->attr.seconds, 0.0);
    // Known to the kernel, and still closed to others.
    Area &area = tree.areaOf(home->id);
    QCOMPARE(area.lookup(stranger, home->id, "x").error(), EACCES);
    QVERIFY(!area.openDirectory(stranger, home->id));
    QCOMPARE(area.access(stranger, home->id, X_OK), EACCES);
    QCOMPARE(area.create(stranger, home->id, "x", 0644, O_WRONLY).error(), EACCES);
    QCOMPARE(tree.find("home/root").error(), ENOENT);
    QCOMPARE(tree.find("home/4294967296").error(), ENOENT);
    QCOMPARE(area.makeDirectory(owner, tree.id("home"), "12", 0755).error(), EROFS);
    QCOMPARE(area.removeDirectory(owner, tree.id("home"), name), EROFS);
    QCOMPARE(tree.list("home", stranger), (std::vector<std::string>{".", ".."}));
}

QTEST_GUILESS_MAIN(BackedNodesTest)
#include "backed_nodes_test.moc"
