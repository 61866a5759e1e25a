"""The rules of ARCHITECTURE.md that a machine can check. Each takes a Tree and yields Findings."""

import posixpath
import re

from tree import Finding

# ---- which folder may include which -------------------------------------------------------------------------------

LAYERS = {
    "common": {"common"},
    "channels": {"channels", "common"},
    "daemon": {"daemon", "common"},
    "gui": {"gui", "common"},
    "app": {"app", "gui", "daemon", "channels", "common"},
}

# Inside common a folder includes only those before it.
COMMON_ORDER = ["base", "json", "jsonl", "abi", "config", "route", "policy", "object", "oauth", "control_client", "object_client"]

# Folders that may know only what is listed (prefixes), because they are pure or because they start in a millisecond.
NARROW = [
    ("daemon/providers/wire/", ("common/", "daemon/models/types/", "daemon/providers/wire/")),
    ("daemon/models/types/", ("common/", "daemon/models/types/")),
    ("channels/codecs/", ("common/", "channels/core/", "channels/codecs/")),
    ("channels/core/", ("common/", "channels/core/")),
]

# Members of these families do not know each other; "core" is what they share.
FAMILIES = ["daemon/providers/wire/", "channels/codecs/", "channels/hosts/"]
FAMILY_SHARED = {"core"}


def layer_of(path):
    return path.split("/", 1)[0]


def includes_between_layers(tree):
    for path in tree.product_files():
        allowed = LAYERS.get(layer_of(path))
        if allowed is None:
            continue
        for include in tree.includes(path):
            target = layer_of(include.name)
            if include.angled or target not in (set(LAYERS) | {"tests"}):
                continue
            if target not in allowed:
                yield Finding(path, include.line, "layers", f"{layer_of(path)} must not include {target}: {include.name}")


def includes_inside_common(tree):
    for path in tree.product_files():
        parts = path.split("/")
        if parts[0] != "common" or len(parts) < 3:
            continue
        if parts[1] not in COMMON_ORDER:
            yield Finding(path, 0, "common-order", f"common/{parts[1]} has no place in COMMON_ORDER of tests/arch/rules.py")
            continue
        for include in tree.includes(path):
            target = include.name.split("/")
            if include.angled or target[0] != "common" or len(target) < 3 or target[1] not in COMMON_ORDER:
                continue
            if COMMON_ORDER.index(target[1]) > COMMON_ORDER.index(parts[1]):
                yield Finding(path, include.line, "common-order",
                              f"common/{parts[1]} stands below common/{target[1]} and must not include {include.name}")


def includes_of_narrow_folders(tree):
    for path in tree.product_files():
        for folder, allowed in NARROW:
            if not path.startswith(folder):
                continue
            for include in tree.includes(path):
                if not include.angled and "/" in include.name and not include.name.startswith(allowed):
                    yield Finding(path, include.line, "narrow", f"{folder} must not include {include.name}")


def includes_between_family_members(tree):
    for path in tree.product_files():
        for family in FAMILIES:
            own = member_of(path, family)
            if own is None or own in FAMILY_SHARED:
                continue
            for include in tree.includes(path):
                other = None if include.angled else member_of(include.name, family)
                if other not in (None, own) and other not in FAMILY_SHARED:
                    yield Finding(path, include.line, "family", f"member {own} must not include member {other}: {include.name}")


def member_of(path, family):
    rest = path[len(family):] if path.startswith(family) else ""
    return rest.split("/", 1)[0] if "/" in rest else None


def include_cycles(tree):
    """Folders that include each other, directly or around corners."""
    edges = {}
    examples = {}
    for path in tree.product_files():
        folder = posixpath.dirname(path)
        for include in tree.includes(path):
            target = posixpath.dirname(include.name)
            if include.angled or target == folder or include.name not in tree.files:
                continue
            edges.setdefault(folder, set()).add(target)
            examples.setdefault((folder, target), (path, include))
    for group in strongly_connected(edges):
        for (folder, target), (path, include) in sorted(examples.items()):
            if folder in group and target in group:
                yield Finding(path, include.line, "cycle", f"{folder} includes {target}, which leads back: {include.name}")


def strongly_connected(edges):
    """Tarjan's components with more than one folder."""
    index, low, stack, on_stack, groups = {}, {}, [], set(), []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        on_stack.add(node)
        for target in sorted(edges.get(node, ())):
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in on_stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            group = set()
            while True:
                member = stack.pop()
                on_stack.discard(member)
                group.add(member)
                if member == node:
                    break
            if len(group) > 1:
                groups.append(group)

    for node in sorted(edges):
        if node not in index:
            visit(node)
    return groups


# ---- who may know which library -----------------------------------------------------------------------------------

QT_NETWORK = r"(QtNetwork|QNetwork|QTcp|QUdp|QSsl|QLocal|QHost|QAbstractSocket|QAuthenticator|QDns|QHttp)"

# What, a pattern of the header's name, and either the only folders that may include it or the folders that must not.
LIBRARIES = [
    ("libfuse", r"(^|/)(fuse|fuse_lowlevel|fuse_common|fuse_opt|cuse_lowlevel)\.h$", "only", ("daemon/fs/bridge/",)),
    ("libcurl", r"^curl/", "only", ("daemon/providers/curl/",)),
    ("RapidJSON", r"^rapidjson/", "only", ("common/json/",)),
    ("Qt's JSON", r"^(QtCore/)?QJson", "only", ()),
    ("Qt Network", QT_NETWORK, "not",
     tuple(f"common/{name}/" for name in COMMON_ORDER if name != "control_client")
     + ("channels/codecs/", "channels/core/", "daemon/providers/wire/", "daemon/models/types/", "daemon/fs/", "app/runner/")),
    ("Qt Gui and Widgets", r"^(QtGui|QtWidgets|QApplication|QGuiApplication|QWidget|QMainWindow|QDialog)", "only",
     ("gui/", "app/admin/")),
    ("Qt", r"^Q[A-Z]", "not", ("app/runner/",)),
]


def library_headers(tree):
    for path in tree.product_files():
        for include in tree.includes(path):
            for name, pattern, sense, folders in LIBRARIES:
                if not re.search(pattern, include.name):
                    continue
                inside = path.startswith(folders) if folders else False
                if inside != (sense == "only"):
                    yield Finding(path, include.line, "library", f"{name} does not belong here: {include.name}")


# ---- shape of a file ------------------------------------------------------------------------------------------------

MOST_LINES = 600


def file_sizes(tree):
    for path in tree.code_files():
        lines = tree.files[path].count("\n")
        if lines > MOST_LINES:
            yield Finding(path, 0, "size", f"{lines} lines; past {MOST_LINES} a file wants splitting")


def header_shape(tree):
    for path in tree.code_files():
        if path.endswith(".h") and not re.search(r"^#pragma once$", tree.files[path], re.MULTILINE):
            yield Finding(path, 0, "header", "no #pragma once")
        if path.endswith(".cpp"):
            own = path[:-4] + ".h"
            first = next(iter(tree.includes(path)), None)
            if own in tree.files and (first is None or first.name != own):
                yield Finding(path, first.line if first else 0, "header", f"the first include is not {own}")
        for include in tree.includes(path):
            if include.angled or include.name in tree.files:
                continue
            beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), include.name))
            if beside in tree.files:
                yield Finding(path, include.line, "header", f"included from beside, not from the root: {include.name}")


# What, and the pattern in code without comments.
BANNED = [
    ("BlockingQueuedConnection stops one thread for another", r"\bBlockingQueuedConnection\b"),
    ("a nested event loop", r"\bQEventLoop\b|\bprocessEvents\s*\("),
]

UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX|HA" r"CK)\b|\b[Nn]ot (yet )?implemented\b")


def banned_words(tree):
    for path in tree.product_files():
        for number, line in enumerate(tree.code_lines(path), start=1):
            for what, pattern in BANNED:
                if re.search(pattern, line):
                    yield Finding(path, number, "banned", what)
            if path.endswith(".h") and re.match(r"\s*using namespace\b", line):
                yield Finding(path, number, "banned", "`using namespace` in a header")


def unfinished_words(tree):
    for path in tree.code_files():
        for number, line in enumerate(tree.files[path].split("\n"), start=1):
            match = UNFINISHED.search(line)
            if match:
                yield Finding(path, number, "unfinished", f"unfinished: {match.group(0)}")


# ---- names that have one place --------------------------------------------------------------------------------------

# Names that mean a vendor wherever they stand, and short ones that do so only as a word of their own.
VENDORS = ("openai anthropic claude gemini google codex mistral deepseek dashscope moonshot openrouter ollama "
           "lmstudio huggingface telegram discord feishu dingtalk whatsapp gmail mattermost").split()
VENDOR_WORDS = "gpt glm grok groq kimi qwen vllm llama slack qqbot".split()
VENDOR = re.compile("|".join(VENDORS) + "|" + "|".join(rf"(?<![a-z]){word}(?![a-z])" for word in VENDOR_WORDS),
                    re.IGNORECASE)
VENDOR_FOLDERS = re.compile(r"^(daemon/providers/wire/(?!core/)[^/]+/|channels/(codecs|hosts)/(?!core/)[^/]+/|"
                            r"packaging/presets/|packaging/man/|packaging/completions/|tests/|translations/)")


# Examples of command lines in help texts, and a library whose name is not a vendor's service.
NOT_A_VENDOR = re.compile(r'"[^"]*(\bctx|\$) [^"]*"|google(::|/)protobuf')


def vendor_names(tree):
    """Comments and examples may name one; code, strings, build files and scripts may not know a vendor."""
    for path in tree.files:
        is_build = path.endswith(("CMakeLists.txt", ".cmake"))
        if VENDOR_FOLDERS.match(path) or not (path.endswith(CODE_AND_SCRIPTS) or is_build):
            continue
        if path.endswith((".h", ".cpp", ".c")):
            lines = tree.code_lines(path)
        else:
            lines = [re.sub(r"(^|\s)#.*", "", line) for line in tree.files[path].split("\n")]
        for number, line in enumerate(lines, start=1):
            match = VENDOR.search(NOT_A_VENDOR.sub("", line))
            if match:
                yield Finding(path, number, "vendor", f"{match.group(0)} is known here; its place is its own folder")


CODE_AND_SCRIPTS = (".h", ".cpp", ".c", ".cmake", ".in", ".desktop", ".service", ".conf", ".ui")

# Written in parts, so that this file does not hold what it looks for.
REGISTRIES = re.compile("|".join([
    r"\b[a-z0-9.-]*debian" r"\.org\b", r"registry\.np" r"mjs\.org", r"registry\.yarn" r"pkg\.com", r"\bpy" r"pi\.org",
    r"files\.python" r"hosted\.org", r"\bcrates" r"\.io\b", r"proxy\.go" r"lang\.org", r"repo1?\.maven\b",
    r"rubygems" r"\.org", r"conda\.ana" r"conda\.org"]))
MACHINE_PATHS = re.compile(r"(^|[^A-Za-z0-9_.])/(wo" r"rk|fa" r"rm)/|/tmp/bui" r"ld-|/ro" r"ot/\.")


def foreign_places(tree):
    for path, text in tree.files.items():
        for number, line in enumerate(text.split("\n"), start=1):
            if REGISTRIES.search(line):
                yield Finding(path, number, "registry", "names the host of a package registry")
            if MACHINE_PATHS.search(line):
                yield Finding(path, number, "machine-path", "names a path of one machine")


def lock_files(tree):
    for path, text in tree.files.items():
        if not path.endswith(("package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml")):
            continue
        for number, line in enumerate(text.split("\n"), start=1):
            if re.search(r'"?resolved"?:? "?https?:|tarball: ', line):
                yield Finding(path, number, "lock-file", "records where a package came from")


TOP_LEVEL = {
    "CMakeLists.txt", "CMakePresets.json", "app", "common", "channels", "daemon", "gui", "tests", "translations", "packaging",
    "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "LICENSE",
    # demanded by a tool
    ".ci", ".clang-format", ".clang-tidy", ".editorconfig", ".gitignore", ".gitattributes",
}


def top_level_entries(tree):
    for entry in sorted({path.split("/", 1)[0] for path in tree.files} - TOP_LEVEL):
        yield Finding(entry, 0, "top-level", "not one of the entries that the top level has")


RULES = [
    includes_between_layers,
    includes_inside_common,
    includes_of_narrow_folders,
    includes_between_family_members,
    include_cycles,
    library_headers,
    file_sizes,
    header_shape,
    banned_words,
    unfinished_words,
    vendor_names,
    foreign_places,
    lock_files,
    top_level_entries,
]


def check(tree):
    findings = [finding for rule in RULES for finding in rule(tree)]
    return sorted(findings, key=lambda f: (f.path, f.line, f.rule))
