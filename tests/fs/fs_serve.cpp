// Mounts a made-up tree until its standard input ends: fs_serve DIRECTORY [MODELS]. Prints the mount point.
#include "tests/fs/fs_fixture.h"

#include <cstdio>
#include <cstdlib>

#include <unistd.h>

using namespace cortexfs;

int main(int count, char **arguments)
{
    if (count < 2)
        return 2;
    const Places places = fstest::placesIn(arguments[1]);
    SnapshotCell<RuntimeSnapshot> cell(fstest::snapshot(places.mount, count > 2 ? std::atoi(arguments[2]) : 2));
    fstest::FakeHandler handler(cell, places);
    if (const Result<void> free = fs::recoverStaleMount(places.mount); !free) {
        std::fprintf(stderr, "%s\n", free.error().text().c_str());
        return 69;
    }
    fs::FsOptions options;
    options.places = places;
    options.runner = "/usr/bin/cortexfs-object-runner";
    options.daemonUid = ::geteuid();
    options.daemonGid = ::getegid();
    options.allowOther = ::geteuid() == 0;
    Result<std::unique_ptr<fs::FsSession>> session = fs::FsSession::mount(std::move(options), cell, handler);
    if (!session) {
        std::fprintf(stderr, "%s\n", session.error().text().c_str());
        return 69;
    }
    handler.attach(session->get());
    std::printf("%s\n", places.mount.c_str());
    std::fflush(stdout);
    char ignored[64];
    while (::read(STDIN_FILENO, ignored, sizeof ignored) > 0) {}
    (*session)->stop();
    handler.attach(nullptr);
    return 0;
}
