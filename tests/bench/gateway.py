"""What we put between a client and its provider, against a gateway from npm that does as much: both in front of the same
server, in the same run. Asked for by name only: the packages have to be fetched first.

The gateway is given what it wants: its clients keep their connections, and nothing counts before it is warm. It waits
25 ms before the first token of a stream (a timer in its code), which no tuning of ours is worth; whole replies are where
the two compare. The override in gateway/package.json is the last version of its HTTP layer with which it can stream.
"""

import json
import statistics
import sys
from contextlib import contextmanager
from pathlib import Path

from measure import output
from stage import Cortexd, Failure, Process
from streams import END_OF_OURS, TOKEN_OF_OURS, TOKEN_OF_PROVIDER, Endpoint

HERE = Path(__file__).resolve().parent
PACKAGES = HERE / "gateway"
sys.path.append(str(HERE.parent / "contract"))
import packages  # noqa: E402

PROGRAM = "@portkey-ai/gateway"
END_OF_WHOLE = '"total_tokens":10}}'
END_OF_STREAM = "\r\n0\r\n\r\n"
WARM_UP = 400  # requests: a compiler that compiles what is hot has then seen them all


class Side:
    """One way to the server: where requests go, and the files that hold them."""

    def __init__(self, bench, address):
        self.bench = bench
        self.address = str(address)
        self.requests = {}

    def median(self, case, streams, rounds):
        """Microseconds until the token is there."""
        request, token, end = self.requests[case]
        return float(output([self.bench.build.yardstick("first_token"), "-k", self.address, request, token, end,
                             str(streams), str(rounds)])[0])


def http_request(path, port, body, headers=()):
    head = [f"POST {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", "Content-Type: application/json",
            "Authorization: Bearer sk-bench", *headers, f"Content-Length: {len(body)}"]
    return "\r\n".join(head) + "\r\n\r\n" + body


def write(directory, name, text):
    path = directory / name
    path.write_bytes(text.encode())
    return str(path)


# Name, chunks, microseconds between them, whether it is a stream.
CASES = [("whole", 1, 0, False), ("burst", 20, 0, True), ("paced", 20, 50_000, True)]


def prepare(bench, endpoint, cortexd, theirs):
    """(direct, ours, theirs), each with a request for each case."""
    sides = Side(bench, endpoint.port), Side(bench, cortexd.control), Side(bench, theirs.first_line.strip())
    directory = cortexd.directory.path
    for name, chunks, gap, streams in CASES:
        base = endpoint.base(chunks, gap)
        body = json.dumps({"model": "custom-model", "stream": streams,
                           "messages": [{"role": "user", "content": "hello"}]}, separators=(",", ":"))
        found = (TOKEN_OF_PROVIDER, END_OF_STREAM) if streams else (END_OF_WHOLE, END_OF_WHOLE)
        direct = http_request(base.split(str(endpoint.port), 1)[1] + "/chat/completions", endpoint.port, body)
        sides[0].requests[name] = (write(directory, f"direct-{name}", direct), *found)
        execute = {"op": "exec", "id": "1", "object": f"model/{name}/custom-model", "argv": ["hello"], "stdin": None,
                   "cwd": "/", "tty": False}
        sides[1].requests[name] = (write(directory, f"ours-{name}", json.dumps(execute) + "\n"),
                                   TOKEN_OF_OURS if streams else END_OF_OURS, END_OF_OURS)
        through = http_request("/v1/chat/completions", sides[2].address, body,
                               ["x-portkey-provider: openai", f"x-portkey-custom-host: {base}"])
        sides[2].requests[name] = (write(directory, f"theirs-{name}", through), *found)
    return sides


def compare(bench, name, case, sides, streams, rounds, most):
    """The median of what each of the two adds to a direct call of the same round."""
    direct, added = [], ([], [])
    for number in range(bench.pairs):
        order = [(number + index) % 3 for index in range(3)]
        times = dict((index, sides[index].median(case, streams, rounds)) for index in order)
        direct.append(times[0])
        for index, values in enumerate(added):
            values.append(times[index + 1] - times[0])
    ours, theirs = map(statistics.median, added)
    if theirs <= 0:
        raise Failure(f"{name}: the gateway adds nothing, so that there is nothing to compare with")
    bench.report.line(f"gateway.{name}.direct", statistics.median(direct), "us")
    bench.report.line(f"gateway.{name}.added", ours, "us", theirs,
                      statistics.median(mine / yours for mine, yours in zip(*added)), most=most)


@contextmanager
def running(command, what):
    process = Process(command, what)
    try:
        yield process
    finally:
        process.stop()


def gateway(bench):
    """Time that is added to whole replies and to first tokens, one request at a time and 50 at once."""
    try:
        found = packages.install(PACKAGES, bench.build.directory / "bench" / "gateway", PROGRAM)
    except (packages.Missing, RuntimeError) as problem:
        raise Failure(f"gateway: {problem}") from None
    endpoint = Endpoint(bench.build)
    providers = {name: {"name": name, "base_url": endpoint.base(chunks, gap), "formats": ["openai.chat"],
                        "models": ["custom-model"],
                        "model_capabilities": {"custom-model": ["chat", "stream"] if streams else ["chat"]}}
                 for name, chunks, gap, streams in CASES}
    command = [found.node, "-r", str(PACKAGES / "loopback.cjs"),
               *found.script(*PROGRAM.split("/"), "build", "start-server.js")[1:], "--headless"]
    try:
        with Cortexd(bench.build, providers) as cortexd, running(command, PROGRAM) as theirs:
            for name in providers:
                cortexd.request("provider.key.set", name=name, slot="default", value="sk-bench")
            sides = prepare(bench, endpoint, cortexd, theirs)
            for side in sides:
                side.median("whole", 10, WARM_UP // 10)
                side.median("burst", 10, WARM_UP // 10)
            compare(bench, "whole-reply-of-1", "whole", sides, 1, 100, most=0.25)
            compare(bench, "whole-reply-of-50", "whole", sides, 50, 10, most=0.25)
            compare(bench, "first-token-of-1", "burst", sides, 1, 50, most=0.1)
            compare(bench, "first-token-of-50", "paced", sides, 50, 2, most=0.1)
    finally:
        endpoint.stop()
