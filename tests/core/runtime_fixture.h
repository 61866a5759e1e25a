// A Runtime on directories of its own with one provider.
#pragma once

#include "common/base/unique_fd.h"
#include "daemon/core/runtime.h"
#include "tests/support/temp_dir.h"

#include <QTest>

#include <memory>

#include <unistd.h>

namespace cortexfs::test {

inline constexpr char kProvider[] =
    R"({"name":"local","base_url":"http://127.0.0.1:9/v1","models":["a","b"],"default_model":"a","model_limits":{"a":100}})";

class Fixture {
public:
    Fixture()
    {
        places.mode = Mode::User;
        places.mount = dir.path("ctx");
        places.config = dir.path("config");
        places.state = dir.path("state");
        places.runtime = dir.path("run");
        dir.write("config/providers.d/local.json", kProvider);
    }
    bool load()
    {
        runtime = std::make_unique<Runtime>(places, config::DaemonConfig(),
                                            std::vector<BinLink>{{"ctx", "/usr/bin/ctx"}});
        return runtime->load().isOk();
    }
    std::string control(const char *model, models::Control which) const
    {
        const auto catalog = runtime->snapshot().load()->catalog;
        const models::ModelEntry *entry = catalog->find("local", model);
        return entry ? models::controlText(*entry, which) : std::string("(absent)");
    }
    std::string alias(const std::string &name) const
    {
        const auto catalog = runtime->snapshot().load()->catalog;
        const models::ModelAlias *found = catalog->alias(name);
        return found ? found->target + (found->userMade ? "*" : "") : std::string("(absent)");
    }
    // The errno of a change, 0 when it was done; -1 when no answer came.
    int change(TreeChange change)
    {
        int number = -1;
        runtime->postTreeChange(std::move(change),
                                [&](const Result<void> &outcome) { number = outcome ? 0 : outcome.error().number(); });
        if (number != -1)
            return -2; // answered from within
        if (!QTest::qWaitFor([&] { return number != -1; }, 10'000))
            return -1;
        return number;
    }
    int write(const std::string &path, const std::string &content, uid_t uid = ::geteuid())
    {
        TreeChange out;
        out.kind = TreeChange::Kind::WriteControl;
        out.path = path;
        out.content = content;
        out.uid = uid;
        return change(out);
    }
    int link(const std::string &name, const std::string &target, uid_t uid = ::geteuid())
    {
        TreeChange out;
        out.kind = TreeChange::Kind::SetLink;
        out.path = "model/" + name;
        out.content = target;
        out.uid = uid;
        return change(out);
    }
    int unlink(const std::string &name, TreeChange::Kind kind = TreeChange::Kind::RemoveLink, uid_t uid = ::geteuid())
    {
        TreeChange out;
        out.kind = kind;
        out.path = "model/" + name;
        out.uid = uid;
        return change(out);
    }

    test::TempDir dir;
    Places places;
    std::unique_ptr<Runtime> runtime;
};

} // namespace cortexfs::test
