#!/usr/bin/env python3
"""Fails if a room of core/ includes what ARCHITECTURE.md does not allow it."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def allowed_includes() -> dict[str, set[str]]:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    block = re.search(r"```layers\n(.*?)```", text, re.DOTALL).group(1)
    rooms = {}
    for line in block.strip().splitlines():
        room, _, others = line.partition("->")
        rooms[room.strip()] = set(others.split()) | {room.strip()}
    return rooms


def main() -> int:
    rooms = allowed_includes()
    wrong = []
    for path in sorted((ROOT / "core").rglob("*")):
        if path.suffix not in (".h", ".cpp", ".c"):
            continue
        room = path.relative_to(ROOT / "core").parts[0]
        if room not in rooms:  # precompiled.h
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            quoted = re.match(r'\s*#include "([^"/]+)/', line)
            if quoted and quoted.group(1) not in rooms[room] and quoted.group(1) in rooms:
                wrong.append(f"{path.relative_to(ROOT)}:{number}: {room} may not include {quoted.group(1)}")
            if room != "bindings" and re.match(r"\s*#include\s*<Python\.h>", line):
                wrong.append(f"{path.relative_to(ROOT)}:{number}: only bindings/ may include Python.h")
    print("\n".join(wrong) or f"layers: {len(rooms)} rooms, all includes allowed")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
