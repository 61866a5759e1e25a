"""Streams of model replies: time to the first token, and what a chunk costs."""

import json
import os
import statistics
import time
from contextlib import contextmanager
from subprocess import DEVNULL, run

from measure import output, paired
from stage import Cortexd, Failure, Process

MODEL = "model/local/custom-model"
CHUNKS = 100_000
TOKEN_OF_PROVIDER = '"content":" token"'
END_OF_PROVIDER = "[DONE]"
TOKEN_OF_OURS = '"type":"delta"'
END_OF_OURS = '"type":"result"'


class Endpoint:
    """The least server, and how a stream of so many chunks, so many microseconds apart, is asked for."""

    def __init__(self, build):
        self.server = Process([build.yardstick("sse_server")], "sse_server")
        self.port = int(self.server.first_line)

    def base(self, chunks, gap_us):
        return f"http://127.0.0.1:{self.port}/c{chunks}g{gap_us}/v1"

    def stop(self):
        self.server.stop()


BODY = json.dumps({"model": "custom-model", "stream": True, "messages": [{"role": "user", "content": "hello"}]})


@contextmanager
def relaying(bench, endpoint, chunks, gap_us):
    """A cortexd with that stream as its only model, and the two requests that ask for it, as files."""
    base = endpoint.base(chunks, gap_us)
    provider = {"name": "local", "base_url": base, "formats": ["openai.chat"], "models": ["custom-model"]}
    with Cortexd(bench.build, {"local": provider}) as cortexd:
        cortexd.request("provider.key.set", name="local", slot="default", value="sk-bench")
        execute = {"op": "exec", "id": "1", "object": MODEL, "argv": ["hello"], "stdin": None, "cwd": "/", "tty": False}
        ours = cortexd.directory.path / "exec.json"
        ours.write_text(json.dumps(execute) + "\n")
        path = base.split(str(endpoint.port), 1)[1]
        direct = cortexd.directory.path / "direct.http"
        direct.write_bytes(f"POST {path}/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                           f"Content-Length: {len(BODY)}\r\n\r\n{BODY}".encode())
        yield cortexd, str(ours), str(direct)


def first_tokens(bench, address, request, token, end, streams, rounds):
    """Median and 99th percentile in microseconds."""
    median, high = output([bench.build.yardstick("first_token"), str(address), request, token, end, str(streams),
                           str(rounds)])
    return float(median), float(high)


def processor_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def first_token_of_one(bench, endpoint):
    """What we add to a direct client's time, one stream at a time."""
    with relaying(bench, endpoint, 20, 0) as (cortexd, ours, direct):
        found = {"ours": [], "direct": []}

        def measured(name, *arguments):
            found[name].append(first_tokens(bench, *arguments, 1, 50)[0])
            return found[name][-1]

        paired(bench.report, "streams.first-token", "us",
               lambda: measured("ours", cortexd.control, ours, TOKEN_OF_OURS, END_OF_OURS),
               lambda: measured("direct", endpoint.port, direct, TOKEN_OF_PROVIDER, END_OF_PROVIDER), bench.pairs)
        added = statistics.median(mine - base for mine, base in zip(found["ours"], found["direct"]))
        bench.report.line("streams.first-token.added", added, "us", most=2000)


def first_token_of_many(bench, endpoint):
    """50 streams of a second each, all begun at once."""
    with relaying(bench, endpoint, 20, 50_000) as (cortexd, ours, direct):
        values, bases = [], []
        for _ in range(bench.pairs):
            values.append(first_tokens(bench, cortexd.control, ours, TOKEN_OF_OURS, END_OF_OURS, 50, 1))
            bases.append(first_tokens(bench, endpoint.port, direct, TOKEN_OF_PROVIDER, END_OF_PROVIDER, 50, 1))
        for index, name in enumerate(["median", "p99"]):
            value = statistics.median(pair[index] for pair in values)
            base = statistics.median(pair[index] for pair in bases)
            # Six connections to a host would let the last of them begin after eight seconds.
            bench.report.line(f"streams.first-token-of-50.{name}", value / 1000, "ms", base / 1000, most=500)


def chunks(bench, endpoint):
    """A long reply to the caller's stdout against programs that only split it into lines."""
    with relaying(bench, endpoint, CHUNKS, 0) as (cortexd, _, _direct):
        url = endpoint.base(CHUNKS, 0) + "/chat/completions"
        costs = {"ours": [], "qnam_lines": [], "curl_lines": []}
        curl_rates = []

        def ours():
            before, begin = processor_seconds(cortexd.pid), time.perf_counter()
            done = run([cortexd.path(MODEL), "hello"], stdout=DEVNULL, check=False)
            seconds = time.perf_counter() - begin
            if done.returncode != 0:
                raise Failure(f"a run of {CHUNKS} chunks ended with {done.returncode}")
            costs["ours"].append((processor_seconds(cortexd.pid) - before) * 1e6 / CHUNKS)
            return CHUNKS / seconds

        def lines(name):
            rate, cost = output([bench.build.yardstick(name), url, BODY])
            costs[name].append(float(cost))
            return float(rate)

        def theirs():
            curl_rates.append(lines("curl_lines"))
            return lines("qnam_lines")

        paired(bench.report, "streams.chunks-against-qnam", "chunks/s", ours, theirs, bench.pairs, least=1)
        middle = {name: statistics.median(found) for name, found in costs.items()}
        bench.report.line("streams.chunks-of-curl", statistics.median(curl_rates), "chunks/s")
        bench.report.line("streams.cost-of-a-chunk", middle["ours"], "us", middle["qnam_lines"],
                          middle["ours"] / middle["qnam_lines"], most=1)
        bench.report.line("streams.cost-of-a-chunk.curl", middle["curl_lines"], "us")


def streams(bench):
    """Time to the first token, alone and among 50, and the rate and cost of chunks."""
    endpoint = Endpoint(bench.build)
    try:
        first_token_of_one(bench, endpoint)
        first_token_of_many(bench, endpoint)
        chunks(bench, endpoint)
    finally:
        endpoint.stop()
