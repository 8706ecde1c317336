"""Writes docs/reference.md from the operator table; with --check, fails if it is not up to date."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
if any((ROOT / "wisp").glob("_C*.so")):  # a working tree with the core built into it
    sys.path.insert(0, str(ROOT))

from wisp import _C

PAGE = ROOT / "docs" / "reference.md"
FUNCTION, METHOD, FUNCTIONAL, LINALG, SPECIAL, INTERNAL, FFT = (1 << i for i in range(7))
IN_PLACE, OUT, COMPOSITE = 1 << 4, 1 << 5, 1 << 7
SECTIONS = [
    ("wisp", "wisp.", FUNCTION),
    ("Methods only", "Tensor.", METHOD),
    ("wisp.nn.functional", "wisp.nn.functional.", FUNCTIONAL),
    ("wisp.linalg", "wisp.linalg.", LINALG),
    ("wisp.special", "wisp.special.", SPECIAL),
    ("wisp.fft", "wisp.fft.", FFT),
]


def signature(row, name):
    """`name(self, other, *, alpha=1)` as Python shows it."""
    parts, starred = [], False
    for param in row["params"]:
        if param["keyword_only"] and not starred:
            parts.append("*")
            starred = True
        parts.append(param["name"] + ("" if param["default"] is None else f"={param['default']}"))
    return f"{name}({', '.join(parts)})"


def forms(rows):
    """Which other forms there are, in words."""
    traits = homes = 0
    for row in rows:
        traits, homes = traits | row["traits"], homes | row["homes"]
    words = ["method"] if homes & METHOD else []
    words += [f"in place `{rows[0]['base']}_`"] if traits & IN_PLACE else []
    words += ["`out=`"] if traits & OUT else []
    if traits & COMPOSITE:
        words.append("differentiable as its parts are")
    elif any(row["vjp"] for row in rows):
        words.append("differentiable, in forward and reverse mode")
    onnx = {row["onnx"] for row in rows if row["onnx"][0] not in "+-"}
    words += [f"ONNX {' or '.join(sorted(onnx))}"] if onnx else []
    return ", ".join(words)


def entry(rows, prefix):
    space = prefix.split(".")[-2]
    name = rows[0]["base"].removeprefix(f"{space}_")
    lines = [f"### {prefix}{name}", "", "```python", *(signature(row, name) for row in rows), "```", ""]
    text, _, example = rows[0]["doc"].partition("\n\n")
    lines += [text, ""]
    if example:
        lines += ["```python", example, "```", ""]
    extra = forms(rows)
    return lines + ([f"*{extra}*", ""] if extra else [])


def section(title, prefix, home, table):
    by_name = {}
    for row in table:
        skip = home == METHOD and row["homes"] & FUNCTION
        if row["homes"] & home and not skip:
            by_name.setdefault(row["base"], []).append(row)
    lines = [f"## {title}", ""]
    for name in sorted(by_name):
        lines += entry(by_name[name], prefix)
    return lines


def page():
    table, aliases = _C._op_table()
    public = [row for row in table if not row["homes"] & INTERNAL]
    lines = ["# Operators", "", "Made by `tools/gen_reference.py` from the operator table: do not edit.", ""]
    for title, prefix, home in SECTIONS:
        lines += section(title, prefix, home, public)
    lines += ["## Other names", "", "| name | is |", "|---|---|"]
    lines += [f"| `{alias}` | `{aliases[alias]}` |" for alias in sorted(aliases)]
    return "\n".join(lines) + "\n"


def main():
    text = page()
    if "--check" in sys.argv:
        if not PAGE.exists() or PAGE.read_text() != text:
            sys.exit("stale: docs/reference.md; run python tools/gen_reference.py")
        return
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
