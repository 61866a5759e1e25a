#!/usr/bin/env python3
"""The contract with the vendors: a real cortexd talks to a mock of the providers that others wrote, and every request
body is held against the vendors' own types.

usage: run.py --build-dir DIR     cortexd and ctx are in DIR/bin; the npm packages go to DIR/contract
Exit 0 passed, 1 failed, 77 skipped: no npm, or no registry to fetch the packages from.
"""

import argparse
import os
import signal
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import cases
import packages
import processes
import recorder
import shapes
from speakers import SPEAKERS

HERE = os.path.dirname(os.path.abspath(__file__))
PRESETS = os.path.join(HERE, "..", "..", "packaging", "presets")
KEY = "sk-contract-key-that-fits"
WRONG_KEY = "sk-contract-key-that-does-not"
ALL_SECONDS = 480  # below the suite's own limit, so that we still clean up behind us
AT_ONCE = 4


def plan(daemon, proxy):
    """Writes the provider files; (title, function that runs the case) of everything there is to try.

    Each failure has a provider of its own: what one run learns about a server must not change another."""
    keys, jobs = {}, []

    def provider(speaker, name, key):
        config = speaker.config_named(name, PRESETS, proxy.url)
        daemon.add_provider(config)
        keys[name] = key
        return cases.Scene(daemon, proxy, speaker, name, config["default_model"])

    for speaker in SPEAKERS:
        scene = provider(speaker, speaker.name, KEY)
        for case in cases.ANSWERS:
            jobs.append((f"{speaker.name} {case.__name__}", lambda scene=scene, case=case: list(case(scene))))
        for name, question, codes in [] if speaker.is_plain else cases.FAILURES:
            scene_of_failure = provider(speaker, f"{speaker.name}-{name}", WRONG_KEY if name == "denied" else KEY)
            jobs.append((f"{speaker.name} {name}", lambda scene=scene_of_failure, question=question, codes=codes:
                         list(cases.fails(scene, question, codes))))
    return keys, jobs


def tried(job):
    title, function = job
    begin = time.monotonic()
    try:
        problems = function()
    except Exception as error:  # one case must not hide the others
        problems = [f"{type(error).__name__}: {error}"]
    return title, problems, time.monotonic() - begin


def at_once(function, items):
    """The results in order. What has not begun is not begun any more when we are interrupted."""
    pool = ThreadPoolExecutor(AT_ONCE)
    try:
        yield from pool.map(function, items)
    finally:
        pool.shutdown(cancel_futures=True)


def ask_everything(found, base):
    """Runs all cases. The failures as sentences, and what the mock was asked."""
    failures = []
    daemon = processes.Daemon(os.path.join(found.build, "bin"), base)
    with processes.start_mock(found.packages, os.path.join(HERE, "fixtures.json"), KEY) as mock, \
            recorder.Recorder(mock.port) as proxy:
        keys, jobs = plan(daemon, proxy)
        with daemon.start() as cortexd:
            for _ in at_once(lambda item: daemon.set_key(*item), keys.items()):
                pass
            for title, problems, seconds in at_once(tried, jobs):
                print(f"{'FAIL!' if problems else 'PASS '}  : {title} ({seconds:.1f} s)")
                failures += [f"{title}: {problem}" for problem in problems]
            is_running = cortexd.is_running()
            if failures or not is_running:
                failures.append(f"cortexd {'runs' if is_running else 'has ended'}; its log:\n{cortexd.output()}")
        requests = proxy.requests()
    return failures, requests


def check_requests(found, base, requests):
    """Path, key and body of everything that was sent."""
    failures, bodies = [], {}
    speakers = {speaker.name: speaker for speaker in SPEAKERS}
    for request in requests:
        speaker = speakers[request.provider.partition("-")[0]]
        where = f"{request.method} {request.path} of {request.provider}"
        if (request.method, request.path) != ("POST", speaker.endpoint):
            failures.append(f"{where}: not POST {speaker.endpoint}")
        key = WRONG_KEY if request.provider.endswith("-denied") else KEY
        for name, value in speaker.headers(key).items():
            if request.headers.get(name) != value:
                failures.append(f"{where}: the header {name} is not as the vendor wants it")
        text = request.body.decode("utf-8")
        bodies.setdefault((speaker.type, text), shapes.Body(f"{len(bodies)} {where}", speaker.type, text))
    for speaker in SPEAKERS:
        if not any(request.provider == speaker.name for request in requests):
            failures.append(f"{speaker.name} was never asked")
    sent = list(bodies.values())
    bad = [copy for type_name in sorted({body.type for body in sent})
           for copy in shapes.spoilt(next(body for body in sent if body.type == type_name))]
    refused = shapes.check(found.packages, base, sent + bad)
    for body in sent:
        for sentence in refused.get(body.label, []):
            failures.append(f"the vendor's types refuse {body.label}: {sentence}\n{body.text}")
    failures += [f"a check that cannot fail: {body.label} is accepted" for body in bad if body.label not in refused]
    print(f"{len(sent)} bodies of {len(requests)} requests checked, {len(bad)} spoilt ones with them")
    return failures


def interrupted(number, _frame):
    raise SystemExit(f"ended by {signal.Signals(number).name}")


def main():
    parser = argparse.ArgumentParser(description="Runs the contract test.")
    parser.add_argument("--build-dir", required=True)
    found = parser.parse_args()
    found.build = os.path.abspath(found.build_dir)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM):
        signal.signal(number, interrupted)
    signal.alarm(ALL_SECONDS)
    sys.stdout.reconfigure(encoding="utf-8", errors="replace", line_buffering=True)
    try:
        found.packages = packages.install(HERE, os.path.join(found.build, "contract"), "@copilotkit/aimock")
    except packages.Missing as missing:
        print(f"SKIP   : contract {missing}")
        return 77
    with tempfile.TemporaryDirectory(prefix="cortexfs-contract-") as base:
        failures, requests = ask_everything(found, base)
        report(failures)
        refused = check_requests(found, base, requests)
        report(refused)
    return 1 if failures or refused else 0


def report(failures):
    for failure in failures:
        print(f"FAIL!  : contract {failure}")


if __name__ == "__main__":
    sys.exit(main())
