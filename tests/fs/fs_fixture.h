// What the tests of the tree share: a catalogue that is made up, a handler that plays the Qt thread, a mount in a
// directory of its own.
#pragma once

#include "common/base/places.h"
#include "daemon/fs/session.h"
#include "daemon/snapshot/runtime_snapshot.h"
#include "daemon/snapshot/snapshot_cell.h"
#include "daemon/snapshot/tree_change.h"

#include <QString>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace cortexfs::fstest {

using SnapshotPtr = std::shared_ptr<const RuntimeSnapshot>;

models::ModelEntry model(std::uint32_t serial, std::string provider, std::string name);
// debug/echo, debug/script (with a socket) and `count` models of the provider "local".
SnapshotPtr snapshot(const std::string &mount, int count = 2);
// A copy in which one model is changed.
SnapshotPtr changed(const SnapshotPtr &before, const std::string &ref,
                    const std::function<void(models::ModelEntry &)> &change);

// Applies changes in a thread of its own, as the Qt thread would: stores the new snapshot, tells the session, answers.
class FakeHandler : public TreeChangeHandler {
public:
    explicit FakeHandler(SnapshotCell<RuntimeSnapshot> &cell, Places places);
    ~FakeHandler() override;

    void postTreeChange(TreeChange change, TreeChangeDone done) override;
    Result<void> checkControl(std::string_view path, std::string_view content) const override;

    void attach(fs::FsSession *session) { m_session = session; }
    // Keeps every change without an answer until it is off again.
    void hold(bool isHolding);
    // Forgets what is held: the callbacks are destroyed without being called.
    void dropHeld();
    std::vector<TreeChange> seen() const;

private:
    struct Job {
        TreeChange change;
        TreeChangeDone done;
    };
    void run();
    Result<void> apply(const TreeChange &change);
    Result<void> setAlias(const std::string &name, const std::string *target);

    SnapshotCell<RuntimeSnapshot> &m_cell;
    const Places m_places;
    std::atomic<fs::FsSession *> m_session{nullptr};
    mutable std::mutex m_mutex;
    std::condition_variable m_changed;
    std::deque<Job> m_jobs;
    std::vector<TreeChange> m_seen;
    bool m_isHolding = false;
    bool m_isStopping = false;
    std::thread m_thread;
};

// A directory under /tmp that is removed with everything in it.
class TempDir {
public:
    TempDir();
    ~TempDir();
    const std::string &path() const { return m_path; }

private:
    std::string m_path;
};

Places placesIn(const std::string &directory);

// A mount with its handler. `models` as for snapshot().
class Mounted {
public:
    explicit Mounted(int models = 2, std::function<void(Error)> onEnded = {});
    ~Mounted();

    std::string path(const std::string &below) const { return places.mount + "/" + below; }
    void publish(const SnapshotPtr &after);

    TempDir directory;
    Places places;
    SnapshotCell<RuntimeSnapshot> cell;
    FakeHandler handler;
    std::unique_ptr<fs::FsSession> session;
    QString problem; // why session is null
};

// /bin/sh -c in the mount's directory; out and err together.
struct CommandResult {
    int exitCode = -1;
    QString output;
};
CommandResult shell(const std::string &command, const std::string &directory = "/", int timeoutMs = 60'000);

// On a thread with this uid and gid and only these groups; gives what `body` gives (an errno, 0 is fine).
int asUser(uid_t uid, const std::function<int()> &body, const std::vector<gid_t> &groups = {});

// A file beside the mount, without the care of files::replace.
void put(const std::string &path, const std::string &text, mode_t mode = 0644);
std::string contentOf(const std::string &path);
// An errno, 0 when the whole text was taken by one write and close(2) agreed.
int overwrite(const std::string &path, const std::string &text, int flags = 0);
int errnoOf(int result);

} // namespace cortexfs::fstest
