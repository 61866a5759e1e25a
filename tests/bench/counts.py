#!/usr/bin/env python3
"""Exact numbers: requests to cortexd per operation, wake-ups, memory. They have no noise, so CI holds them.

Run alone it is a test: exit 1 when a bound is broken, 77 where nothing can be mounted.
"""

import argparse
import os
import subprocess
import sys
import time

import measure
import stage

MODELS = 1000
IDLE_SECONDS = 4
MIB = 1024 * 1024


class Requests:
    """Counts the FUSE requests that an operation causes.

    The kernel sends some of them behind the operation's back (RELEASE). A lookup of a new name waits for all that were
    sent before it, because cortexd answers in order; it is one request itself.
    """

    def __init__(self, cortexd):
        self.cortexd = cortexd
        self.names = 0

    def settle(self):
        self.names += 1
        if os.path.lexists(self.cortexd.path(f"model/absent-{self.names}")):
            raise stage.Failure("a name that does not exist was found")
        return self.cortexd.request("metrics")["fuse_requests"]

    def of(self, operation):
        before = self.settle()
        operation()
        return self.settle() - before - 1


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def read(path):
    with open(path, "rb", buffering=0) as file:
        file.read(4096)


def shell_write(path, text):
    """As a shell's `printf > file`: open with O_TRUNC, one write, close."""
    fd = os.open(path, os.O_WRONLY | os.O_TRUNC)
    os.write(fd, text)
    os.close(fd)


def requests_per_operation(report, cortexd):
    count = Requests(cortexd)
    control = cortexd.path("model/debug/echo.d/effort")

    os.lstat(control)
    known = count.of(lambda: os.path.lexists(cortexd.path("model/debug/never-seen")))
    if known != 1:
        raise stage.Failure(f"a lookup of a new name is one request, and the counter says {known}")
    paths = ["", "status", "bin", "model", "model/debug", "model/debug/echo", "model/debug/echo.d", "model/main",
             "model/debug/echo.d/effort", "agent", "tool"]
    for path in paths:
        os.lstat(cortexd.path(path))
    warm = count.of(lambda: [os.lstat(cortexd.path(path)) for path in paths * 20])
    report.line("count.requests.warm-lstat", warm, "requests", most=0)
    os.lstat(control)
    report.line("count.requests.read", count.of(lambda: read(control)), "requests", most=3)
    os.lstat(control)
    report.line("count.requests.write", count.of(lambda: shell_write(control, b"high\n")), "requests", most=5)


def listing(report, build):
    with stage.Cortexd(build, stage.many_models(1, MODELS)) as cortexd:
        count = Requests(cortexd)
        directory = cortexd.path("model/p00")
        entries = 0

        def stat_all():
            nonlocal entries
            names = os.listdir(directory)
            for name in names:
                os.lstat(os.path.join(directory, name))
            entries = len(names)

        requests = count.of(stat_all)
        if entries < 2 * MODELS:
            raise stage.Failure(f"a listing shows {entries} entries of {MODELS} models")
        # Every entry has its attributes from the listing: a page of names a request, and nothing for each of them.
        report.line("count.requests.list-1000-models", requests, "requests", most=entries // 5)
        # ls asks for security labels and access lists besides, entry by entry unless it is told that there are none.
        report.line("count.requests.ls-l-1000-models", count.of(lambda: run("ls", "-l", directory)), "requests")


def idle(report, build, models_per_file, files):
    models = files * models_per_file
    with stage.Cortexd(build, stage.many_models(files, models_per_file)) as cortexd:
        run("ls", cortexd.path("model"))
        before = measure.switches(cortexd.pid)
        time.sleep(IDLE_SECONDS)  # what happens in a span of time is what is measured
        wakes = (measure.switches(cortexd.pid) - before) / IDLE_SECONDS
        resident, private = measure.memory(cortexd.pid)
    name = "empty" if not models else f"{models}-models"
    report.line(f"count.idle.wake-ups.{name}", wakes, "per second", most=1)
    if not models:
        report.line("count.idle.resident", resident, "bytes", most=24 * MIB)
    report.line(f"count.idle.private.{name}", private, "bytes", most=10 * MIB + 1024 * models)


def runner(report, cortexd):
    """System calls of one run through the mount, and the size of the program."""
    trace = str(cortexd.directory.path / "trace")
    traced = subprocess.run(["strace", "-f", "-o", trace, cortexd.path("model/debug/echo"), "hello"], capture_output=True,
                            check=False)
    if traced.returncode == 0:
        with open(trace, encoding="utf-8", errors="replace") as calls:
            report.line("count.runner.system-calls", sum(1 for _ in calls), "calls", most=40)
    size = os.stat(cortexd.build.program("cortexfs-object-runner")).st_size
    report.line("count.runner.size", size, "bytes", most=MIB)


def all_counts(report, build):
    with stage.Cortexd(build) as cortexd:
        requests_per_operation(report, cortexd)
        runner(report, cortexd)
    listing(report, build)
    idle(report, build, 0, 0)
    idle(report, build, 200, 50)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build-dir", required=True)
    options = parser.parse_args()
    if reason := stage.why_not_mountable():
        print(f"SKIP   : {reason}")
        return 77
    report = measure.Report()
    try:
        all_counts(report, stage.Build(options.build_dir))
    except stage.Failure as failure:
        stage.die(str(failure))
    for bench in report.missed:
        print(f"bench: {bench} is over its bound", file=sys.stderr)
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
