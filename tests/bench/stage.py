"""What the bench measures: a cortexd on directories of its own, and the yardsticks beside it."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

READY_SECONDS = 30


class Failure(Exception):
    """Something that is measured does not work; the message says what."""


class Build:
    """Where the programs of one build are."""

    def __init__(self, directory):
        self.directory = Path(directory)

    def program(self, name):
        return str(self.directory / "bin" / name)

    def yardstick(self, name):
        return str(self.directory / "bench" / name)


def first_line(process, what):
    """Blocks until the process says its first line: that is how all of ours say that they are ready."""
    line = process.stdout.readline()
    if not line:
        process.wait()
        raise Failure(f"{what} ended with {process.returncode} before it was ready")
    return line


class Process:
    """A server that says one line when it is ready and ends on SIGTERM."""

    def __init__(self, command, what):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        self.first_line = first_line(self.process, what)
        self.pid = self.process.pid

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


class Directory:
    """A new directory with a short path (unix sockets allow 107 bytes), removed at the end."""

    def __init__(self):
        self.path = Path(tempfile.mkdtemp(prefix="ctxbench-"))

    def make(self, name):
        path = self.path / name
        path.mkdir(mode=0o700)
        return path

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)


class Cortexd:
    """A daemon with the given provider files ({name: dict})."""

    def __init__(self, build, providers=None):
        self.build = build
        self.directory = Directory()
        self.mount = self.directory.make("ctx")
        config = self.directory.make("config")
        (config / "providers.d").mkdir(mode=0o755)
        for name, content in (providers or {}).items():
            (config / "providers.d" / f"{name}.json").write_text(json.dumps(content))
        self.command = [build.program("cortexd"), "--mount", str(self.mount), "--config", str(config), "--state",
                        str(self.directory.path / "state"), "--runtime", str(self.directory.path / "run"),
                        "--log-level", "error"]
        self.started_seconds = 0.0
        self.process = None
        try:
            self.start()
        except Failure:
            self.directory.remove()
            raise

    def start(self):
        begin = time.perf_counter()
        self.process = Process(self.command, "cortexd")
        self.started_seconds = time.perf_counter() - begin
        self.pid = self.process.pid
        self.control = json.loads(self.process.first_line)["control"]

    def path(self, below):
        return str(self.mount / below)

    def request(self, op, **members):
        """One request of the control protocol; its last frame."""
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(self.control)
            client.sendall(json.dumps({"op": op, "id": "bench", **members}).encode() + b"\n")
            for line in client.makefile("r"):
                frame = json.loads(line)
                if frame["type"] in ("result", "error"):
                    if frame["type"] == "error":
                        raise Failure(f"{op}: {frame['code']} {frame['message']}")
                    return frame
        raise Failure(f"{op}: the connection ended")

    def environment(self):
        run = self.directory.path
        return {**os.environ, "CTX_ROOT": str(self.mount), "CORTEXFS_CONFIG_DIR": str(run / "config"),
                "CORTEXFS_STATE_DIR": str(run / "state"), "CORTEXFS_RUNTIME_DIR": str(run / "run")}

    def close(self):
        self.process.stop()
        self.directory.remove()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Yardsticks:
    """The least servers: an echo over a unix socket, and a libfuse server with cortexd's cache time-out."""

    def __init__(self, build, timeout):
        self.directory = Directory()
        self.socket = str(self.directory.path / "echo.sock")
        self.ping_socket = str(self.directory.path / "ping.sock")
        self.mount = self.directory.make("fuse")
        self.echo = Process([build.yardstick("echo_server"), self.socket], "echo_server")
        self.ping = Process([build.yardstick("ping_server"), self.ping_socket], "ping_server")
        self.fuse = Process([build.yardstick("fuse_server"), str(self.mount), str(timeout)], "fuse_server")

    def path(self, below):
        return str(self.mount / below)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.fuse.stop()
        self.echo.stop()
        self.ping.stop()
        self.directory.remove()


def many_models(files, models):
    """Provider files with that many models each, on an address that nobody asks."""
    return {
        f"p{number:02}": {
            "name": f"p{number:02}",
            "base_url": "http://127.0.0.1:9/v1",
            "formats": ["openai.chat"],
            "models": [f"model-{index:04}" for index in range(models)],
        }
        for number in range(files)
    }


def why_not_mountable():
    """A reason why cortexd cannot mount here, or nothing."""
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "no access to /dev/fuse"
    if os.geteuid() != 0 and not shutil.which("fusermount3"):
        return "not root, and no fusermount3"
    return None


def die(message):
    print(f"bench: {message}", file=sys.stderr)
    sys.exit(1)
