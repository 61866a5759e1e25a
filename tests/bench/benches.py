"""The rates. Each bench is a function of a Bench; its first word is the name under which `run` finds it."""

import json
import os
import statistics
from pathlib import Path

import stage
from gateway import gateway
from measure import Pinned, output, paired
from stage import Cortexd, Process
from streams import streams

# cortexd's time-outs of names and attributes outside home and shared, in seconds.
CACHE_SECONDS = 1
ECHO = {"op": "exec", "id": "1", "object": "model/debug/echo", "argv": ["hello"], "stdin": None, "cwd": "/", "tty": False}
CTX_COMMANDS = ["--version", "--help", "status", "doctor", "ls", "which main", "cat model/debug/echo", "env", "model ls",
                "provider list"]


class Bench:
    """What a bench is given: the report, the clients, and the two sides already running."""

    def __init__(self, report, build, client, pairs, cortexd, yardsticks):
        self.report = report
        self.build = build
        self.client = client
        self.pairs = pairs
        self.cortexd = cortexd
        self.yardsticks = yardsticks

    def paired(self, name, unit, subject, baseline, **bound):
        paired(self.report, name, unit, subject, baseline, self.pairs, **bound)


def fs(bench):
    """Operations on the mount against a libfuse server with the same time-outs."""
    rows = [
        ("fs.lstat", "lstat", "model/debug/echo.d/effort", "control", 0.8),
        ("fs.getxattr", "getxattr", "model/debug/echo", "control", 0.8),
        ("fs.lookup", "lookup", "model/debug", "dir", 0.8),
        ("fs.read", "read", "model/debug/echo.d/effort", "control", 0.8),
    ]
    with Pinned(bench.cortexd.pid, bench.yardsticks.fuse.pid):
        for name, operation, ours, theirs, least in rows:
            bench.paired(name, "operations/s", lambda: bench.client.operations(operation, bench.cortexd.path(ours)),
                         lambda: bench.client.operations(operation, bench.yardsticks.path(theirs)), least=least)


def listing(bench):
    """A directory of 1000 models, with their control directories, against one of as many plain entries."""
    with Cortexd(bench.build, stage.many_models(1, 1000)) as cortexd:
        with Pinned(cortexd.pid, bench.yardsticks.fuse.pid):
            bench.paired("listing.1000-models", "listings/s",
                         lambda: bench.client.operations("list", cortexd.path("model/p00")),
                         lambda: bench.client.operations("list", bench.yardsticks.path("dir")))


def exec_(bench):
    """One run of debug/echo by executing its file."""
    echo = [bench.cortexd.path("model/debug/echo"), "hello"]
    native = [bench.build.yardstick("c_runner"), bench.yardsticks.socket, "hello"]
    home = Path(bench.cortexd.path(f"home/{os.getuid()}"))
    script = home / "echo.sh"
    script.write_text('#!/bin/sh\necho "$1"\n')
    script.chmod(0o755)
    with Pinned(bench.cortexd.pid, bench.yardsticks.echo.pid):
        bench.paired("exec.echo-against-c", "us", lambda: bench.client.spawn(echo), lambda: bench.client.spawn(native),
                     most=2.5)
        bench.paired("exec.echo-against-sh", "us", lambda: bench.client.spawn(echo),
                     lambda: bench.client.spawn([str(script), "hello"]), most=0.5)
    resident = int(output([bench.build.yardstick("spawn"), "5", *echo])[1])
    bench.report.line("exec.runner-resident", resident * 1024, "bytes", most=2 * 1024 * 1024)


def rpc(bench):
    """Runs of debug/echo over one connection of the control socket against a bare echo."""
    request = json.dumps(ECHO)
    with Pinned(bench.cortexd.pid, bench.yardsticks.echo.pid):
        bench.paired("rpc.exec", "runs/s", lambda: bench.client.requests(bench.cortexd.control, request),
                     lambda: bench.client.requests(bench.yardsticks.socket, request))


def sockets(bench):
    """The smallest round trip over the control socket, of one client and of many, against epoll and RapidJSON alone."""
    request = json.dumps({"op": "bench.none", "id": "1"})
    with Pinned(bench.cortexd.pid, bench.yardsticks.ping.pid):
        for name, busy, quiet, least in [("sockets.1-client", 1, 0, 0.6), ("sockets.200-clients", 200, 0, 0.5),
                                         ("sockets.1-client-beside-500-quiet", 1, 500, 0.6)]:
            bench.paired(name, "round trips/s", lambda: bench.client.pings(bench.cortexd.control, busy, quiet, request),
                         lambda: bench.client.pings(bench.yardsticks.ping_socket, busy, quiet, request), least=least)


def start(bench):
    """From exec to the ready line."""
    for name, files, models, most in [("start.empty", 0, 0, 60), ("start.50-files-of-200-models", 50, 200, 200)]:
        with Cortexd(bench.build, stage.many_models(files, models)) as cortexd:
            times = [cortexd.started_seconds]
            for _ in range(bench.pairs - 1):
                cortexd.process.stop()
                cortexd.start()
                times.append(cortexd.started_seconds)
        bench.report.line(name, statistics.median(times) * 1000, "ms", most=most)


def ctx(bench):
    """Each command against a Qt Core program that only starts and exits."""
    noop = [bench.build.yardstick("qt_noop")]
    for command in CTX_COMMANDS:
        words = [bench.build.program("ctx"), *command.split()]
        with Pinned(bench.cortexd.pid):
            bench.paired("ctx." + command.replace(" ", "-").strip("-"), "us",
                         lambda: bench.client.spawn(words, 20, bench.cortexd.environment()),
                         lambda: bench.client.spawn(noop, 20), most=1.3)


def chat(bench):
    """A reply of 20 chunks through the mount against curl and the same server."""
    server = Process([bench.build.program("cortexfs-wire-server"), "--chunks", "20"], "cortexfs-wire-server")
    try:
        url = json.loads(server.first_line)["base_url"]
        provider = {"name": "local", "base_url": url, "formats": ["openai.chat"], "models": ["custom-model"]}
        with Cortexd(bench.build, {"local": provider}) as cortexd:
            cortexd.request("provider.key.set", name="local", slot="default", value="sk-bench")
            ours = [cortexd.path("model/local/custom-model"), "hello"]
            body = json.dumps({"model": "custom-model", "stream": True, "messages": [{"role": "user", "content": "hello"}]})
            curl = ["curl", "-sN", "-H", "Content-Type: application/json", "-H", "Authorization: Bearer sk-bench", "-d", body,
                    url + "/chat/completions"]
            bench.paired("chat.20-chunks-against-curl", "us", lambda: bench.client.spawn(ours, 20),
                         lambda: bench.client.spawn(curl, 20), most=0.4)
    finally:
        server.stop()


def route(bench):
    """One request asking a route table of 10 000 rules, of which the last one matches."""
    milliseconds = float(output([bench.build.yardstick("route_rules")])[0])
    bench.report.line("route.10000-rules", milliseconds, "ms", most=1)


ALL = {"fs": fs, "listing": listing, "exec": exec_, "rpc": rpc, "sockets": sockets, "start": start, "ctx": ctx, "chat": chat,
       "streams": streams, "route": route}
BY_NAME_ONLY = {"gateway": gateway}
