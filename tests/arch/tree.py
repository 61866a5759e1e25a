"""The tree that the rules look at: text files by path, and what a C++ file includes."""

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

CODE_SUFFIXES = (".h", ".cpp", ".c")


@dataclass(frozen=True)
class Finding:
    """One broken rule at one place; line 0 is the file or folder as a whole."""

    path: str
    line: int
    rule: str
    message: str

    def __str__(self):
        where = f"{self.path}:{self.line}" if self.line else self.path
        return f"{where}: [{self.rule}] {self.message}"


@dataclass(frozen=True)
class Include:
    line: int
    name: str
    angled: bool


@dataclass
class Tree:
    """`files` maps a path from the root, with slashes, to its text."""

    files: dict
    _includes: dict = field(default_factory=dict)
    _code: dict = field(default_factory=dict)

    def code_files(self):
        return [path for path in self.files if path.endswith(CODE_SUFFIXES)]

    def product_files(self):
        """Code that is installed: everything but the tests."""
        return [path for path in self.code_files() if not path.startswith("tests/")]

    def includes(self, path):
        if path not in self._includes:
            self._includes[path] = parse_includes(self.files[path])
        return self._includes[path]

    def code_lines(self, path):
        """The lines without comments; a line that was a comment is empty. Strings stay."""
        if path not in self._code:
            self._code[path] = strip_comments(self.files[path]).split("\n")
        return self._code[path]


INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')


def parse_includes(text):
    found = []
    for number, line in enumerate(text.split("\n"), start=1):
        match = INCLUDE.match(line)
        if match:
            found.append(Include(number, match.group(1) or match.group(2), match.group(1) is None))
    return found


TOKEN = re.compile(
    r"""//[^\n]*                                   # line comment
      | /\*.*?\*/                                  # block comment
      | R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)" # raw string
      | "(?:\\.|[^"\\\n])*"
      | '(?:\\.|[^'\\\n])*'
    """,
    re.VERBOSE | re.DOTALL,
)


def strip_comments(text):
    def replace(match):
        token = match.group(0)
        return "\n" * token.count("\n") if token.startswith(("//", "/*")) else token

    # A digit separator (10'000) would open a character literal.
    return TOKEN.sub(replace, re.sub(r"(?<=[0-9a-fA-F])'(?=[0-9a-fA-F])", "", text))


def load(root):
    """Every text file that is tracked or would be; build folders are ignored by .gitignore."""
    root = Path(root)
    try:
        listing = subprocess.run(
            ["git", "-c", f"safe.directory={root}", "-C", str(root), "ls-files", "-z", "-co", "--exclude-standard"],
            check=True, capture_output=True).stdout.decode().split("\0")
    except (OSError, subprocess.CalledProcessError):
        skipped = {".git", "build", "node_modules"}
        listing = [str(path.relative_to(root)) for path in root.rglob("*")
                   if not skipped & set(path.relative_to(root).parts)]
    files = {}
    for name in listing:
        path = root / name
        if not name or path.is_symlink() or not path.is_file():
            continue
        data = path.read_bytes()
        if b"\0" not in data[:4096]:
            files[name] = data.decode("utf-8", errors="replace")
    return Tree(files)
