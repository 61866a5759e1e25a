"""Holds request bodies against the vendors' own types: a body the compiler refuses is one the vendor did not mean."""

import json
import os
import re
import subprocess

COMPILE_SECONDS = 240
HEAD = "import Anthropic from '@anthropic-ai/sdk';\nimport OpenAI from 'openai';\n"
PROJECT = {
    "compilerOptions": {"noEmit": True, "strict": True, "skipLibCheck": True, "target": "es2022", "module": "nodenext",
                        "moduleResolution": "nodenext", "types": []},
    "files": ["bodies.mts"],
}


class Body:
    def __init__(self, label, type_name, text):
        self.label = label
        self.type = type_name
        self.text = text.strip()  # JSON, which is an expression of the language as it stands


def check(packages, directory, bodies):
    """{label: the compiler's sentences} of the bodies that are refused. Raises RuntimeError when nothing was checked."""
    source = os.path.join(directory, "bodies.mts")
    starts = write(source, bodies)
    # The packages are found from where the file is.
    link = os.path.join(directory, "node_modules")
    if not os.path.islink(link):
        os.symlink(os.path.join(packages.directory, "node_modules"), link)
    with open(os.path.join(directory, "tsconfig.json"), "w", encoding="utf-8") as out:
        json.dump(PROJECT, out)
    done = subprocess.run(packages.script("typescript", "bin", "tsc") + ["--project", ".", "--pretty", "false"],
                          cwd=directory, capture_output=True, encoding="utf-8", timeout=COMPILE_SECONDS, check=False)
    refused = {}
    for found in re.finditer(r"^bodies\.mts\((\d+),\d+\): error (TS\d+: .*(?:\n .*)*)", done.stdout, re.MULTILINE):
        line = int(found.group(1))
        index = max((i for i, start in enumerate(starts) if start <= line), default=None)
        if index is None:
            break  # the head: the packages themselves were not found
        refused.setdefault(bodies[index].label, []).append(found.group(2))
    if (done.returncode == 0) != (not refused) or not bodies:
        raise RuntimeError(f"the type check did not work, tsc ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return refused


def write(source, bodies):
    """The line on which each body begins."""
    starts = []
    text = HEAD
    for number, body in enumerate(bodies):
        starts.append(text.count("\n") + 1)
        text += f"export const body{number}: {body.type} = {body.text};\n"
    with open(source, "w", encoding="utf-8") as out:
        out.write(text)
    return starts


def spoilt(body):
    """The same body with faults of one kind each, all of which must be refused."""
    def changed(kind, change):
        copy = json.loads(body.text)
        change(copy)
        return Body(f"{kind}: {body.label}", body.type, json.dumps(copy))

    turns = "messages" if "messages" in json.loads(body.text) else "input"
    yield changed("a misspelt key", lambda copy: copy.update(max_tokenz=1))
    yield changed("an unknown role", lambda copy: copy[turns].append({"role": "narrator", "content": "x"}))
    yield changed("a number as the model", lambda copy: copy.update(model=5))
    yield changed("a tool without its shape", lambda copy: copy.update(tools=[{"shape": 1}]))
    if "Anthropic" in body.type:
        yield changed("no max_tokens", lambda copy: copy.pop("max_tokens"))
