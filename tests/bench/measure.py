"""Numbers: paired ratios for rates, plain values for counts, one JSON object a line for both.

The machine's speed moves by half between two minutes, so a rate says nothing alone. A pair measures the baseline and the
thing itself one after the other; the ratio of a bench is the median of the ratios of its pairs, each pair in the other
order than the one before.
"""

import json
import os
import statistics
import subprocess

from stage import Failure

CORE = max(os.sched_getaffinity(0))


class Report:
    """Prints results and remembers whether one missed its floor."""

    def __init__(self):
        self.missed = []

    def line(self, bench, value, unit, baseline=None, ratio=None, most=None, least=None):
        """`most` and `least` bound the ratio where there is one, else the value."""
        measured = value if ratio is None else ratio
        result = {"bench": bench, "value": tidy(value), "unit": unit, "baseline": tidy(baseline), "ratio": tidy(ratio)}
        if most is not None or least is not None:
            bound = most if most is not None else least
            passed = measured <= bound if most is not None else measured >= bound
            result |= {"floor": ("<= " if most is not None else ">= ") + str(bound), "pass": passed}
            if not passed:
                self.missed.append(bench)
        print(json.dumps(result), flush=True)


def tidy(number):
    """Four significant digits."""
    return number if number is None or isinstance(number, int) else float(f"{number:.4g}")


def output(command, **options):
    """What a program prints, as words; it must succeed."""
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise Failure(f"{' '.join(map(str, command))}: {done.stderr.strip() or done.returncode}")
    return done.stdout.split()


def paired(report, bench, unit, subject, baseline, pairs, **bound):
    """`subject` and `baseline` give one number each time they are called."""
    values, bases, ratios = [], [], []
    for number in range(pairs):
        if number % 2:
            value, base = subject(), baseline()
        else:
            base, value = baseline(), subject()
        values.append(value)
        bases.append(base)
        ratios.append(value / base)
    report.line(bench, statistics.median(values), unit, statistics.median(bases), statistics.median(ratios), **bound)


class Pinned:
    """All threads of some servers on one core, and a prefix that puts clients there too: a wake-up of another core costs
    more than most of what is measured, and whether it happens is up to the scheduler."""

    prefix = ["taskset", "-c", str(CORE)]

    def __init__(self, *pids):
        self.pids = pids

    def __enter__(self):
        for pid in self.pids:
            output(["taskset", "-acp", str(CORE), str(pid)])
        return self

    def __exit__(self, *_):
        everywhere = ",".join(map(str, sorted(os.sched_getaffinity(0))))
        for pid in self.pids:
            output(["taskset", "-acp", everywhere, str(pid)])


class Client:
    """The yardstick clients, on the core of the servers."""

    def __init__(self, build, seconds):
        self.build = build
        self.seconds = str(seconds)

    def operations(self, operation, path):
        """`path` from its own directory, so that the depth of the trees does not count."""
        directory, name = (path, ".") if operation in ("lookup", "list") else os.path.split(path)
        command = Pinned.prefix + [self.build.yardstick("fs_client"), operation, name, self.seconds]
        return float(output(command, cwd=directory)[0])

    def requests(self, socket, request):
        return float(output(Pinned.prefix + [self.build.yardstick("rpc_client"), socket, self.seconds, request])[0])

    def pings(self, socket, busy, quiet, request):
        command = [self.build.yardstick("ping_client"), socket, self.seconds, str(busy), str(quiet), request]
        return float(output(Pinned.prefix + command)[0])

    def spawn(self, command, count=60, env=None):
        """Median wall time of one run in microseconds."""
        return float(output(Pinned.prefix + [self.build.yardstick("spawn"), str(count), *command], env=env)[0])


def memory(pid):
    """Resident bytes of a process, and those that are its own: clean pages of libraries are the page cache's, and count as
    private only while no other program happens to map them."""
    resident = private = 0
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as rollup:
        for line in rollup:
            words = line.split()
            if words[0] == "Rss:":
                resident = int(words[1]) * 1024
            elif words[0] == "Private_Dirty:":
                private = int(words[1]) * 1024
    return resident, private


def switches(pid):
    """How often the threads of a process have gone to sleep of their own will: each is a wake-up."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/status", encoding="ascii") as status:
            total += sum(int(line.split()[1]) for line in status if line.startswith("voluntary_ctxt_switches"))
    return total
