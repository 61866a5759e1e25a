#!/usr/bin/env python3
"""Checks the rules of rules.py on the whole tree. Exit 1 when one is broken. usage: check.py [ROOT]"""

import sys
from pathlib import Path

import rules
import tree


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[2])
    loaded = tree.load(root)
    if not loaded.code_files():
        print(f"no code below {root}", file=sys.stderr)
        return 2
    findings = rules.check(loaded)
    for finding in findings:
        print(finding)
    print(f"{len(loaded.files)} files, {len(rules.RULES)} rules, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
