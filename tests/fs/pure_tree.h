// A tree without a kernel: the test plays the answering thread.
#pragma once

#include "common/base/clock.h"
#include "common/base/files.h"
#include "common/base/unique_fd.h"
#include "daemon/fs/backing/backed_nodes.h"
#include "daemon/fs/nodes/tree.h"
#include "daemon/identity/credentials.h"
#include "tests/fs/fs_fixture.h"

#include <atomic>
#include <cstdlib>
#include <thread>

#include <fcntl.h>

namespace cortexfs::fstest {

class FakeClock : public Clock {
public:
    std::int64_t monotonicMs() const override { return now; }
    std::int64_t wallMs() const override { return now; }
    std::int64_t now = 1'000;
};

// Keeps what is posted until the test answers.
class ManualHandler : public TreeChangeHandler {
public:
    struct Posted {
        TreeChange change;
        TreeChangeDone done;
    };
    void postTreeChange(TreeChange change, TreeChangeDone done) override
    {
        posted.push_back({std::move(change), std::move(done)});
    }
    Result<void> checkControl(std::string_view, std::string_view content) const override
    {
        return content.find("bad") == std::string_view::npos ? Result<void>() : errors::invalid("bad");
    }
    std::vector<Posted> posted;
};

// The outcome of a Reply: -1 while there is none.
template<typename T>
struct Outcome {
    int error = -1;
    T value = {};
};
template<typename T>
fs::Reply<T> replyInto(std::shared_ptr<Outcome<T>> outcome)
{
    class Keep : public fs::Responder<T> {
    public:
        explicit Keep(std::shared_ptr<Outcome<T>> to) : m_to(std::move(to)) {}
        void succeed(T value) override
        {
            m_to->error = 0;
            m_to->value = std::move(value);
        }
        void fail(int error) override { m_to->error = error; }

    private:
        std::shared_ptr<Outcome<T>> m_to;
    };
    return fs::Reply<T>(std::make_unique<Keep>(std::move(outcome)));
}
template<typename T>
std::shared_ptr<Outcome<T>> newOutcome()
{
    return std::make_shared<Outcome<T>>();
}

class PureTree {
public:
    explicit PureTree(int models = 2, std::size_t budget = 1000)
        : places(placesIn(directory.path())), runner("/usr/bin/runner"), cell(snapshot(places.mount, models)),
          work("test-work", [] {}), changes(
                                        handler, work, [this] { woken = true; }, clock, 5'000),
          nodes(budget, [this](fs::Invalidation advice) { advised.push_back(std::move(advice)); })
    {
        if (!files::makeDirectories(places.installedTree(), 0755))
            std::abort();
        treeFd = UniqueFd(::open(places.installedTree().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        procFd = UniqueFd(::open("/proc/self/fd", O_PATH | O_CLOEXEC));
        Result<std::unique_ptr<fs::Tree>> made = fs::Tree::make(
            fs::AreaContext{places,
                            runner,
                            {::geteuid(), ::getegid(), {1'700'000'000, 0}},
                            cell,
                            handler,
                            changes,
                            work,
                            nodes,
                            credentials,
                            forget,
                            treeFd.get(),
                            procFd.get(),
                            0});
        tree = std::move(*made);
    }

    ~PureTree() { credentials.assumeDaemon(); }

    // The node of a path below the mount; an errno where there is none.
    fs::ErrnoOr<fs::Entry> find(const std::string &path, const Caller &caller = {})
    {
        fs::Entry at;
        at.id = fs::kRootId;
        std::size_t from = 0;
        while (from < path.size()) {
            const std::size_t end = std::min(path.find('/', from), path.size());
            const fs::ErrnoOr<fs::Entry> next = tree->lookup(caller, at.id, path.substr(from, end - from));
            if (!next)
                return next;
            at = *next;
            from = end + 1;
        }
        return at;
    }
    fs::NodeId id(const std::string &path) { return find(path)->id; }
    fs::Area &areaOf(fs::NodeId node) { return *tree->areaOf(node); }
    // What a reader who opens it now sees; "errno N" otherwise.
    std::string read(const std::string &path)
    {
        const fs::ErrnoOr<fs::Entry> entry = find(path);
        if (!entry)
            return "errno " + std::to_string(entry.error());
        fs::ErrnoOr<fs::OpenedFile> opened = areaOf(entry->id).open({}, entry->id, O_RDONLY);
        if (!opened)
            return "errno " + std::to_string(opened.error());
        std::vector<char> scratch;
        const auto data = opened->file->read(scratch, 1 << 20, 0);
        return data ? std::string(*data) : "errno " + std::to_string(data.error());
    }
    std::vector<std::string> list(const std::string &path, const Caller &caller = {})
    {
        class Names : public fs::DirectorySink {
        public:
            bool wantsEntries() const override { return true; }
            bool add(std::string_view name, const fs::Entry &, off_t) override
            {
                names.emplace_back(name);
                return true;
            }
            std::vector<std::string> names;
        } sink;
        const fs::NodeId node = path.empty() ? fs::kRootId : id(path);
        auto opened = areaOf(node).openDirectory(caller, node);
        if (opened)
            (*opened)->list(caller, 0, sink);
        return sink.names;
    }
    // Answers the oldest posted change.
    void answer(Result<void> outcome)
    {
        auto posted = std::move(handler.posted.front());
        handler.posted.erase(handler.posted.begin());
        posted.done(std::move(outcome));
        changes.deliver();
    }

    TempDir directory;
    Places places;
    const std::string runner;
    SnapshotCell<RuntimeSnapshot> cell;
    ManualHandler handler;
    FakeClock clock;
    std::atomic<bool> woken{false};
    std::vector<fs::Invalidation> advised;
    const std::function<void(fs::Invalidation)> forget = [this](fs::Invalidation what) {
        forgotten.push_back(std::move(what));
    };
    std::vector<fs::Invalidation> forgotten;
    fs::WorkQueue work;
    fs::PendingChanges changes;
    FsCredentials credentials;
    UniqueFd treeFd;
    UniqueFd procFd;
    fs::BackedNodes nodes;
    std::unique_ptr<fs::Tree> tree;
};

} // namespace cortexfs::fstest
