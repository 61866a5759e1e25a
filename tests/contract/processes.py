"""The programs of the contract test: the mock server, cortexd on directories of its own, and ctx."""

import json
import os
import queue
import re
import shutil
import subprocess
import threading
import time

START_SECONDS = 60
RUN_SECONDS = 60
STOP_SECONDS = 10


class Child:
    """A program that runs until it is stopped; it does not outlive us, however we end."""

    def __init__(self, command, environment=None):
        setpriv = shutil.which("setpriv")
        guard = [setpriv, "--pdeathsig", "KILL"] if setpriv else []
        self._process = subprocess.Popen(guard + command, env=environment, stdin=subprocess.DEVNULL,
                                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        self._lines = []
        self._news = queue.Queue()
        threading.Thread(target=self._collect, daemon=True).start()

    def _collect(self):
        for line in self._process.stdout:
            self._lines.append(line)
            self._news.put(line)
        self._news.put(None)

    def wait_for_line(self, pattern):
        """The match of the first line that has it."""
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                line = self._news.get(timeout=max(deadline - time.monotonic(), 0.01))
            except queue.Empty:
                raise RuntimeError(f"not ready after {START_SECONDS} s:\n{self.output()}") from None
            if line is None:
                raise RuntimeError(f"ended before it was ready:\n{self.output()}")
            match = re.search(pattern, line)
            if match:
                return match

    def output(self):
        return "".join(self._lines)

    def is_running(self):
        return self._process.poll() is None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def start_mock(packages, fixtures, key):
    """The mock on a port of the kernel's choice; `port` is set when it listens."""
    command = packages.script("@copilotkit", "aimock", "dist", "cli.js") + [
        "--port", "0", "--host", "127.0.0.1", "--fixtures", fixtures, "--strict", "--validate-on-load",
        "--chunk-size", "7"]
    child = Child(command, dict(os.environ, AIMOCK_API_KEYS=key))
    try:
        child.port = int(child.wait_for_line(r"listening on http://127\.0\.0\.1:(\d+)").group(1))
    except BaseException:
        child.__exit__()
        raise
    return child


class Run:
    """What one `ctx exec` wrote."""

    def __init__(self, exit_code, out, err):
        self.exit_code = exit_code
        self.out = out
        self.err = err
        self.events = [json.loads(line) for line in out.splitlines()]

    def of(self, kind):
        return [event for event in self.events if event["type"] == kind]

    def text(self):
        return "".join(event["text"] for event in self.of("delta"))

    def last_error(self):
        """The code that the run ended with; an error before another attempt is recoverable and does not count."""
        final = [event["code"] for event in self.of("error") if not event.get("recoverable")]
        return final[-1] if final else None

    def __str__(self):
        return f"exit {self.exit_code}\n{self.out}{self.err}"


class Daemon:
    """cortexd without a mount, its places below `base`."""

    def __init__(self, binaries, base):
        self._ctx = os.path.join(binaries, "ctx")
        self._daemon = os.path.join(binaries, "cortexd")
        places = {name: os.path.join(base, name) for name in ("config", "state", "runtime", "mount")}
        self._arguments = [word for name, path in places.items() for word in ("--" + name, path)]
        self._environment = dict(os.environ, CORTEXFS_CONFIG_DIR=places["config"], CORTEXFS_STATE_DIR=places["state"],
                                 CORTEXFS_RUNTIME_DIR=places["runtime"], CTX_ROOT=places["mount"])
        self._providers = os.path.join(places["config"], "providers.d")
        os.makedirs(self._providers)

    def add_provider(self, config):
        with open(os.path.join(self._providers, config["name"] + ".json"), "w", encoding="utf-8") as out:
            json.dump(config, out)

    def start(self):
        """The Child, ready."""
        child = Child([self._daemon, "--no-fuse"] + self._arguments, self._environment)
        try:
            child.wait_for_line(r'"type":"ready"')
        except BaseException:
            child.__exit__()
            raise
        return child

    def ctx(self, arguments, text=""):
        return subprocess.run([self._ctx] + arguments, env=self._environment, input=text, capture_output=True,
                              encoding="utf-8", timeout=RUN_SECONDS, check=False)

    def set_key(self, provider, key):
        done = self.ctx(["provider", "key", "set", provider], key + "\n")
        if done.returncode != 0:
            raise RuntimeError(f"ctx provider key set {provider}: {done.stdout}{done.stderr}")

    def run(self, model, question):
        """Executes a model; `question` is text, or a conversation."""
        done = self.ctx(["exec", model], question if isinstance(question, str) else json.dumps(question))
        return Run(done.returncode, done.stdout, done.stderr)
