"""Writes the type stubs of what the operator table defines; with --check, fails if they are not up to date.

The table says everything about operators. What is written by hand in the core (properties of tensors, small types) is
in tools/stubs/_C.pyi.in; the lazily imported names of wisp are read from wisp/__init__.py.
"""

import importlib.util
import pathlib
import re
import sys
from keyword import iskeyword
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
if any((ROOT / "wisp").glob("_C*.so")):  # a working tree with the core built into it
    sys.path.insert(0, str(ROOT))

import wisp
from wisp import _C

WIDTH = 120
HEADER = "# Made by tools/gen_stubs.py from the operator table: do not edit.\n"

# Bits of the table's traits and homes (core/dispatch/op_def.h).
IN_PLACE, OUT, FACTORY, IN_PLACE_ONLY = 1 << 4, 1 << 5, 1 << 6, 1 << 9
FUNCTION, METHOD, FUNCTIONAL, LINALG, SPECIAL, INTERNAL, FFT = (1 << i for i in range(7))

TYPES = {
    "Tensor": "Tensor",
    "Tensor|Scalar": "Tensor | _Number",
    "Scalar": "_Number",
    "int": "_int",
    "float": "_float",
    "bool": "_bool",
    "True": "Literal[True]",
    "False": "Literal[False]",
    "str": "str",
    "Dtype": "_dtype",
    "Device": "_Device",
    "Layout": "_layout",
    "MemoryFormat": "_memory_format",
    "Generator": "Generator",
    "int[]": "Sequence[_int]",
    "float[]": "Sequence[_float]",
    "Tensor[]": "_Tensors",
    "Tensor?[]": "Sequence[Tensor | None]",
}
FACTORY_PARAMS = ("layout: _layout | None = None", "requires_grad: _bool = False", "pin_memory: _bool | None = None")


class Form(NamedTuple):
    """One way to call an operator: as a function, a method, or in place."""

    home: int
    is_method: bool
    in_place: bool = False


# --- one signature


def python_type(text):
    """The annotation for a type of the schema language."""
    if text.endswith("?"):
        return python_type(text[:-1]) + " | None"
    if re.fullmatch(r"int\[\d+\]", text):  # one number may stand for all
        return "_int | Sequence[_int]"
    return TYPES[text]


def default_text(param):
    """`` = default`` as stubs write it; what Python's literals cannot spell is an ellipsis."""
    text = param["default"]
    if text is None:
        return ""
    is_literal = re.fullmatch(r"None|True|False|-?[\d.]+(e-?\d+)?", text)
    return f" = {text}" if is_literal else ' = "' + text.strip("'\"") + '"' if text[0] in "'\"" else " = ..."


def python_name(param, form):
    name = "input" if param["name"] == "self" and not form.is_method else param["name"]
    return name + "_" if iskeyword(name) else name


def written(param, form):
    """A parameter as it stands in a signature."""
    if form.is_method and param["name"] == "self":
        return "self"
    return f"{python_name(param, form)}: {python_type(param['type'])}{default_text(param)}"


def split_params(op, form):
    """Parameters that may be given by place, and those that may not. A method's tensor comes first."""
    params = op["params"]
    if form.is_method:
        me = next((p for p in params if p["name"] == "self"), params[0])
        params = [{**me, "name": "self"}] + [p for p in params if p is not me]
    by_place, by_name, optional = [], [], False
    for param in params:
        required = param["default"] is None
        (by_name if param["keyword_only"] or (required and optional) else by_place).append(param)
        optional = optional or not required
    return by_place, by_name


def extra_params(op, form):
    """Keywords that operators of a kind take without saying so in their schema."""
    extra = []
    if op["traits"] & OUT and not form.is_method and not form.in_place:
        extra.append(f"out: {'Tensor' if len(op['returns']) == 1 else '_Tensors'} | None = None")
    if op["traits"] & FACTORY:
        extra += FACTORY_PARAMS
    return extra


def returned(op, form):
    if form.in_place:
        return "Self" if form.is_method else "Tensor"
    results = op["returns"]
    if len(results) == 1:
        return "tuple[Tensor, ...]" if results[0]["list"] else python_type(results[0]["type"])
    if any(r["type"].endswith("?") for r in results):  # those not asked for are left out
        return "Any"
    if results[0]["name"]:
        return f"return_types.{op['base']}"
    return f"tuple[{', '.join(python_type(r['type']) for r in results)}]"


def parameter_lists(op, form):
    """The parameter lists of an operator in some form: a second one if a list's items may be given one by one."""
    by_place, by_name = split_params(op, form)
    keywords = [written(p, form) for p in by_name] + extra_params(op, form)
    last = by_place[-1] if by_place else None
    if last and f"Tensor... {last['name']}" in op["schema"]:
        places = [written(p, form) for p in by_place[:-1]]
        yield [*places, f"*{last['name']}: Tensor", *keywords]
        yield arranged([*places, f"{last['name']}: _Tensors"], keywords)
        return
    yield arranged([written(p, form) for p in by_place], keywords)
    if last and takes_items(by_place):
        yield [*(written(p, form) for p in by_place[:-1]), f"*{python_name(last, form)}: _int", *keywords]


def takes_items(by_place):
    """Whether the ints of the last parameter may be given one by one, as in ``x.view(2, 3)``."""
    others = (p["type"] for p in by_place[:-1])
    return by_place[-1]["type"] == "int[]" and all(t.startswith("Tensor") or t == "str" for t in others)


def arranged(places, keywords):
    """Both kinds of parameters in one list. Names that are Python keywords cannot be given by name."""
    hidden = max((i + 1 for i, text in enumerate(places) if iskeyword(text.split(":")[0].rstrip("_"))), default=0)
    return [*places[:hidden], *(["/"] if hidden else []), *places[hidden:], *(["*", *keywords] if keywords else [])]


# --- all overloads of a name


def overloads(ops, form):
    """(parameters, result) of every way to call a name, without those that repeat an earlier one."""
    found = []
    for op in ops:
        absent = IN_PLACE_ONLY if not form.in_place else 0
        if op["homes"] & form.home and not op["traits"] & absent and (not form.in_place or op["traits"] & IN_PLACE):
            found += [(params, returned(op, form)) for params in parameter_lists(op, form)]
    return [pair for i, pair in enumerate(found) if pair not in found[:i]]


def signature_lines(name, params, result, indent):
    """A def in the formatter's layout: on one line, else the parameters on their own line, else each on its own."""
    line = f"{indent}def {name}({', '.join(params)}) -> {result}: ..."
    if len(line) <= WIDTH:
        return [line]
    inner = f"{indent}    {', '.join(params)}"
    if len(inner) <= WIDTH:
        return [f"{indent}def {name}(", inner, f"{indent}) -> {result}: ..."]
    return [f"{indent}def {name}(", *(f"{indent}    {p}," for p in params), f"{indent}) -> {result}: ..."]


def definition(name, found, indent=""):
    """The lines that define a name, given its overloads."""
    lines = []
    for params, result in found:
        lines += [f"{indent}@overload"] if len(found) > 1 else []
        lines += signature_lines(name, params, result, indent)
    return lines


# --- the table


def operators():
    """The public operators by the name they are called by, aliases included."""
    ops, aliases = _C._op_table()
    by_name = {}
    for op in ops:
        if not op["homes"] & INTERNAL:
            by_name.setdefault(op["base"], []).append(op)
    by_name.update({other: by_name[name] for other, name in aliases.items()})
    return dict(sorted(by_name.items()))


def functions(home, present, space=""):
    """The lines that define the functions of one home. ``present`` is where the core has put them."""
    lines = []
    by_name = {
        name.removeprefix(f"{space}_"): ops
        for name, ops in operators().items()
        if any(op["homes"] & home for op in ops)
    }
    for name, ops in by_name.items():
        for spelled, form in ((name, Form(home, False)), (name + "_", Form(home, False, in_place=True))):
            found = overloads(ops, form) if spelled in present else []
            lines += definition(spelled, found)
    return lines


def methods(written_by_hand):
    """The lines that define Tensor's methods of the table."""
    lines = []
    for name, ops in operators().items():
        for spelled, form in ((name, Form(METHOD, True)), (name + "_", Form(METHOD, True, in_place=True))):
            if spelled not in written_by_hand:
                lines += definition(spelled, overloads(ops, form), "    ")
    return lines


# --- Python's operators of tensors

SYMMETRIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift")


def dunder_methods():
    lines = [f"    def __{name}__(self) -> Tensor: ..." for name in ("abs", "invert", "neg", "pos")]
    for name in SYMMETRIC:
        for prefix, result in (("", "Tensor"), ("r", "Tensor"), ("i", "Self")):
            if hasattr(_C.Tensor, f"__{prefix}{name}__"):
                lines.append(f"    def __{prefix}{name}__(self, other: Tensor | _Number, /) -> {result}: ...")
    lines += [f"    def __{name}__(self, other: Tensor, /) -> Tensor: ..." for name in ("matmul", "rmatmul")]
    for name in ("ge", "gt", "le", "lt"):
        lines.append(f"    def __{name}__(self, other: Tensor | _Number, /) -> Tensor: ...")
    for name in ("eq", "ne"):  # object says they give a bool for anything
        lines.append(f"    def __{name}__(self, other: Tensor | _Number, /) -> Tensor: ...  # type: ignore[override]")
    return lines


# --- files


def core_stub():
    """wisp/_C.pyi: the core's types, Tensor first of all."""
    template = (ROOT / "tools/stubs/_C.pyi.in").read_text()
    by_hand = set(re.findall(r"^    (?:def )?(\w+)(?=\(|: )", template.split("class Tensor:")[1], re.MULTILINE))
    dtypes = sorted(name for name, value in vars(_C).items() if isinstance(value, _C.dtype))
    doors = sorted(name for name in vars(_C) if name[0] == "_" and name[1] != "_")
    parts = {
        "doors": [f"{name}: Any" for name in doors],
        "dtypes": [f"{name}: Final[dtype]" for name in dtypes],
        "operators": dunder_methods(),
        "methods": methods(by_hand),
    }
    for name, lines in parts.items():
        template = template.replace(f"{{{name}}}", "\n".join(lines))
    return template


BUILTINS = ("bool", "float", "int")
SHARED = ("Generator", "Tensor", "_Device", "_dtype", "_layout", "_memory_format", "_Number", "_Tensors")


def used(names, lines):
    """Those of some names that occur in the lines."""
    words = set(re.findall(r"\w+", "\n".join(lines)))
    return [name for name in names if name in words]


def assembled(lines, own_imports=()):
    """A stub: what the lines need from elsewhere, the names passed on, and the lines themselves."""
    typing = used(("Any", "Final", "Literal", "overload"), lines)
    standard = [f"from builtins import {name} as _{name}" for name in BUILTINS if used([f"_{name}"], lines)]
    standard += ["from collections.abc import Sequence"] if used(["Sequence"], lines) else []
    standard += [f"from typing import {', '.join(typing)}"] if typing else []
    passed_on = set(re.findall(r" as (\w+)", "\n".join(own_imports)))
    shared = [name for name in used(SHARED, lines) if name not in passed_on]
    ours = [f"from wisp import {name}" for name in used(["return_types"], lines) if name not in passed_on]
    ours += [f"from wisp._C import {', '.join(shared)}"] if shared else []
    blocks = [standard, sorted([*ours, *own_imports], key=import_order), lines]
    return HEADER + "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def import_order(line):
    """Where the linter wants an import: by module, then classes before the rest, numbers in names by value."""
    _, module, _, name = line.replace("(\n    ", "").split()[:4]
    by_value = [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name.strip(",").lower())]
    return module.lower(), not name[0].isupper(), by_value


def import_line(module, name):
    """Imports a name in order to pass it on, which in a stub takes an ``as``."""
    line = f"from {module} import {name} as {name}"
    return line if len(line) <= WIDTH else f"from {module} import (\n    {name} as {name},\n)"


def return_types_stub():
    """wisp/return_types.pyi: the named tuples of results."""
    lines = ["from typing import NamedTuple", "", "from wisp._C import Tensor", ""]
    for name, kind in sorted(_C._return_types.items()):
        fields = [f"    {field}: Tensor" for field in kind.__match_args__]
        lines += [f"class {name}(NamedTuple):", *fields, ""]
    return HEADER + "\n".join(lines)


CONSTANTS = {"e": "_float", "inf": "_float", "nan": "_float", "newaxis": "None", "pi": "_float"}


def core_names():
    """The names of the core that wisp has too."""
    return [name for name in vars(_C) if name[0] != "_" and hasattr(wisp, name) and name not in wisp._HOME_OF]


def submodules():
    """The submodules of wisp that there are."""
    return sorted(name for name in wisp._SUBMODULES if importlib.util.find_spec(f"wisp.{name}"))


def package_stub():
    """wisp/__init__.pyi: everything ``wisp.name`` can be."""
    lines = functions(FUNCTION, _C._functions.keys() - wisp._HOME_OF.keys())
    lazy = {"_C": core_names(), "version": ["__version__"]}
    for name, module in wisp._HOME_OF.items():
        lazy.setdefault(module, []).append(name)
    again = [import_line("wisp", name) for name in submodules()]
    for module, names in lazy.items():
        again += [import_line(f"wisp.{module}", name) for name in names]
    constants = [f"{name}: Final[{kind}]" for name, kind in CONSTANTS.items()]
    return assembled([*constants, "", *lines], again)


def functional_stub():
    """wisp/nn/functional.pyi: the table's functions, and those written in Python."""
    in_python = wisp.nn.functional._in_python
    again = [import_line(function.__module__, name) for name, function in in_python.items()]
    return assembled(functions(FUNCTIONAL, _C._functional.keys() - in_python.keys()), again)


FILES = {
    "wisp/_C.pyi": core_stub,
    "wisp/__init__.pyi": package_stub,
    "wisp/return_types.pyi": return_types_stub,
    "wisp/linalg.pyi": lambda: assembled(
        ["class LinAlgError(RuntimeError): ...", "", *functions(LINALG, getattr(_C, "_linalg", {}), "linalg")]
    ),
    "wisp/nn/functional.pyi": functional_stub,
    "wisp/fft.pyi": lambda: assembled(functions(FFT, getattr(_C, "_fft", {}), "fft")),
    "wisp/special.pyi": lambda: assembled(functions(SPECIAL, getattr(_C, "_special", {}), "special")),
}


def main():
    stale = []
    for name, make in FILES.items():
        path, text = ROOT / name, make()
        if not path.exists() or path.read_text() != text:
            stale.append(name)
            if "--check" not in sys.argv:
                path.write_text(text)
    if stale and "--check" in sys.argv:
        sys.exit(f"stale: {', '.join(stale)}; run python tools/gen_stubs.py")
    print(f"{len(FILES)} stubs, {len(stale)} changed")


if __name__ == "__main__":
    main()
