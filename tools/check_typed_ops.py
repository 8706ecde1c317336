#!/usr/bin/env python3
"""Fails if C++ names an operator (in ops.h or ops_*.h, by invoke<"name"> or entry("name")) that the table does not have."""

import pathlib
import re
import sys

import wisp

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main() -> int:
    known = {row["name"] for row in wisp._C._op_table()[0]}
    wrong = []
    for path in sorted((ROOT / "core").rglob("*")):
        if path.suffix not in (".h", ".cpp"):
            continue
        text = path.read_text()
        named = re.findall(
            r'(?:invoke|invoke_many|invoke_in_place|op_def|binary|binary_in_place|unary|compare)<"([\w.]+)">', text
        )
        named += re.findall(r'\bentry\("([\w.]+)"\)', text)
        if path.name == "ops.h" or path.stem.startswith("ops_"):
            named += re.findall(r"^WISP_OP\([\w:<>]+, (\w+),", text, re.MULTILINE)
            named += re.findall(r"^WISP_OP_\((\w+),", text, re.MULTILINE)
            named += re.findall(r'^WISP_OP_AS\([\w:<>]+, \w+, "([\w.]+)"', text, re.MULTILINE)
        wrong += [f"{path.relative_to(ROOT)}: no operator named '{name}'" for name in sorted(set(named) - known)]
    print("\n".join(wrong) or "typed operators: all in the table")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
