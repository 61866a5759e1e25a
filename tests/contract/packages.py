"""npm packages that a test or a bench needs, installed into the build directory once for each lock file."""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess

INSTALL_SECONDS = 120

# How npm names the ways in which a registry cannot be reached. A package that is there but wrong is another matter.
UNREACHABLE = re.compile(
    r"\b(ENOTFOUND|EAI_AGAIN|EAI_FAIL|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ENETDOWN|EADDRNOTAVAIL|"
    r"ERR_SOCKET_TIMEOUT|ENOTCACHED|E407|E429|E50[0-4])\b")


class Missing(Exception):
    """What the test needs is not to be had on this machine: a reason to skip it."""


class Packages:
    """`node` and a directory with node_modules in it."""

    def __init__(self, node, directory):
        self.node = node
        self.directory = directory

    def script(self, *below):
        """The words of a command that runs a program of a package."""
        return [self.node, os.path.join(self.directory, "node_modules", *below)]


def install(source, target, program):
    """Brings the packages of source/package-lock.json to target; `program` is the one of them whose code is run. Raises
    Missing, or RuntimeError with npm's words."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        raise Missing("npm is not installed")
    refuse_old_node(node, source, program)
    target = os.path.abspath(target)  # npm runs in it, and takes a relative cache as being below it
    os.makedirs(target, exist_ok=True)
    with open(os.path.join(target, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two runs of one build directory
        wanted = fingerprint(source)
        stamp = os.path.join(target, "installed")
        if read(stamp) != wanted:
            with contextlib.suppress(FileNotFoundError):
                os.remove(stamp)
            for name in ("package.json", "package-lock.json"):
                shutil.copyfile(os.path.join(source, name), os.path.join(target, name))
            clean_install(npm, target)
            with open(stamp, "w", encoding="utf-8") as out:
                out.write(wanted)
    return Packages(node, target)


def refuse_old_node(node, source, program):
    """A program may not even load in a node that is older than it says; Debian 12 has such a one."""
    with open(os.path.join(source, "package-lock.json"), encoding="utf-8") as file:
        engines = json.load(file)["packages"]["node_modules/" + program].get("engines", {})
    needed = engines.get("node", "").removeprefix(">=")
    found = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=60, check=True).stdout.strip()
    if needed and numbers(found.removeprefix("v")) < numbers(needed):
        raise Missing(f"node is {found}, {program} needs {needed}")


def numbers(version):
    return [int(number) for number in version.split(".")]


def fingerprint(source):
    digest = hashlib.sha256()
    for name in ("package.json", "package-lock.json"):
        with open(os.path.join(source, name), "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return None


def clean_install(npm, target):
    cache = os.path.join(target, "cache")
    # The user's home may be read-only or not there at all.
    environment = dict(os.environ, npm_config_cache=cache, npm_config_update_notifier="false",
                       npm_config_engine_strict="false", npm_config_fetch_retries="1",
                       npm_config_fetch_retry_mintimeout="1000", npm_config_fetch_retry_maxtimeout="5000")
    environment.setdefault("HOME", target)
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    with subprocess.Popen(command, cwd=target, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True) as process:
        try:
            output, _ = process.communicate(timeout=INSTALL_SECONDS)
        except subprocess.TimeoutExpired:
            raise Missing(f"the npm packages were not there after {INSTALL_SECONDS} s") from None
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    if process.returncode == 0:
        return
    unreachable = UNREACHABLE.search(output)
    if unreachable:
        raise Missing(f"the npm packages cannot be fetched: {unreachable.group(0)}")
    raise RuntimeError(f"npm ci ended with {process.returncode}:\n{output}")
