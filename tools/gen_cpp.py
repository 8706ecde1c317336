#!/usr/bin/env python3
"""Writes the operators as C++ programs see them, from the operator table; with --check, fails if they are not up to date.

The files are core/runtime/operators.h (functions), methods.inc (declarations inside the class Tensor) and operators.cpp.
"""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
if any((ROOT / "wisp").glob("_C*.so")):  # a working tree with the core built into it
    sys.path.insert(0, str(ROOT))

from wisp import _C

FOLDER = ROOT / "core" / "runtime"
FUNCTION, METHOD, FUNCTIONAL, LINALG, SPECIAL, INTERNAL, FFT = (1 << i for i in range(7))
IN_PLACE, IN_PLACE_ONLY = 1 << 4, 1 << 9
NOTE = "// Made by tools/gen_cpp.py from the operator table: do not edit.\n// clang-format off\n"

# Where functions live, and the prefix of their names in the table that the namespace stands for.
SPACES = [
    (FUNCTION, "", ""), (FUNCTIONAL, "nn::functional", ""), (LINALG, "linalg", "linalg_"),
    (SPECIAL, "special", "special_"), (FFT, "fft", "fft_"),
]  # fmt: skip

TYPES = {
    "Tensor": "const Tensor&", "Tensor?": "const Tensor&", "Tensor|Scalar": "const Operand&",
    "Tensor|Scalar?": "const Operand&", "Scalar": "Scalar", "Scalar?": "std::optional<Scalar>", "int": "int64_t",
    "int?": "std::optional<int64_t>", "float": "double", "float?": "std::optional<double>", "bool": "bool",
    "bool?": "std::optional<bool>", "str": "std::string_view", "str?": "std::optional<std::string_view>",
    "Dtype": "DType", "Dtype?": "std::optional<DType>", "Device?": "std::optional<Device>",
    "MemoryFormat?": "std::optional<MemoryFormat>", "Generator?": "const Generator&", "Tensor[]": "const Tensors&",
    "Tensor...": "const Tensors&", "Tensor?[]": "const Tensors&", "float[]": "const std::vector<double>&",
    "float[]?": "std::optional<std::vector<double>>",
}  # fmt: skip

# Overloads that Python chooses by the value of an argument have names of their own; None: another entry has that name.
RENAMED = {
    "max_pool1d.indices": "max_pool1d_with_indices", "max_pool2d.indices": None, "max_pool3d.indices": None,
    "nonzero.tuple": "nonzero_tuple",
}  # fmt: skip
# Declared by hand in tensor.h.
BY_HAND = {"to", "item", "index", "index_put", "contiguous"}
RESERVED = {"from", "default", "and", "or", "not", "xor", "union", "bool", "float", "double", "int", "long", "short",
            "char"}  # fmt: skip


def is_dropped(param):
    """Whether C++ does not show a parameter: old names of ``reduction``, and values that chose the overload."""
    legacy = param["name"] in ("size_average", "reduce") and param["type"] == "bool?"
    return legacy or param["name"] == "_stacklevel" or param["type"] in ("True", "False")


def dropped_value(param):
    values = {"True": "true", "False": "false", "bool?": "std::nullopt"}
    return values.get(param["type"], param["default"])


def cpp_type(param):
    kind = param["type"]
    if kind.startswith("int["):
        return "OptionalIntList" if kind.endswith("?") else "IntList"
    return TYPES[kind]


def cpp_default(param):
    text, kind = param["default"], cpp_type(param)
    if text is None:
        return None
    if text in ("None", "[]"):
        return "IntList{}" if text == "[]" else "{}"
    if text in ("True", "False"):
        return text.lower()
    if param["type"] == "MemoryFormat?":
        return "MemoryFormat::contiguous"
    if "string_view" in kind:
        return '"' + text.strip("\"'") + '"'
    return text.replace("[", "{").replace("]", "}")


class Parameter:
    """A parameter of a C++ function."""

    def __init__(self, kind, name, default):
        self.kind, self.name, self.default = kind, name + "_" * (name in RESERVED), default

    def declaration(self, with_default=True):
        default = f" = {self.default}" if with_default and self.default is not None else ""
        return f"{self.kind} {self.name}{default}"


class Function:
    """One overload: its parameters, and the expressions that are handed to the operator."""

    def __init__(self, row, name):
        self.row, self.name = row, name
        self.parameters, self.arguments = [], []
        shown = [p for p in row["params"] if not is_dropped(p)]
        names = {p["name"] for p in shown if p["keyword_only"]}
        self.is_factory = {"dtype", "device"} <= names
        for param in row["params"]:
            self.arguments.append(self._argument(param))
        last = [p for p in shown if p["name"] == "generator"]
        for param in [p for p in shown if p not in last]:
            self._add(param)
        for param in last:
            self._add(param)
        self.in_order = list(self.parameters)  # as the function has them; methods begin with the object

    def _argument(self, param):
        if is_dropped(param):
            return dropped_value(param)
        if self.is_factory and param["name"] in ("dtype", "device"):
            return f"options.{param['name']}()"
        name = Parameter("", param["name"], None).name
        count = param["type"][4:5]
        return f"repeated({name}, {count})" if param["type"].startswith("int[") and count.isdigit() else name

    def _add(self, param):
        if self.is_factory and param["name"] in ("dtype", "device"):
            if param["name"] == "dtype":
                self.parameters.append(Parameter("const TensorOptions&", "options", "{}"))
            return
        self.parameters.append(Parameter(cpp_type(param), param["name"], cpp_default(param)))

    def accepted(self):
        """The lists of types it may be called with."""
        kinds = tuple(p.kind for p in self.parameters)
        return {kinds[:n] for n in range(self.required(), len(kinds) + 1)}

    def required(self):
        """How many arguments have to be given; defaults before one that has none do not count."""
        given = [i for i, p in enumerate(self.parameters) if p.default is None]
        return given[-1] + 1 if given else 0

    def settle(self):
        """Takes away defaults that C++ does not allow: those in front of a parameter without one."""
        for param in self.parameters[: self.required()]:
            param.default = None

    def require_one_more(self):
        if self.required() == len(self.parameters):
            return False
        self.parameters[self.required()].default = None
        return True

    def result(self):
        returns = self.row["returns"]
        if not returns:
            return "void"
        if returns[0]["type"] == "bool":
            return "bool"
        if returns[0]["list"]:
            return "Tensors"
        return "Tensor" if len(returns) == 1 else f"std::tuple<{', '.join(['Tensor'] * len(returns))}>"

    def listed(self, with_defaults, skip=None):
        return ", ".join(p.declaration(with_defaults) for p in self.parameters if p is not skip)

    def body(self, arguments=None):
        arguments = ", ".join(arguments or self.arguments)
        call = f'run<{self.result()}>(op, "{self.row["name"]}", {{{arguments}}})'
        if self.is_factory:
            call = f"options.applied_to({call})"
        return f"{{ static Entry op; return {call}; }}"

    # --- as a method

    def self_parameter(self):
        named = [p for p in self.parameters if p.name == "self"]
        return (named or self.parameters)[0]

    def method_body(self):
        own = self.self_parameter()
        if self.row["homes"] & FUNCTION:
            given = ", ".join("*this" if p is own else p.name for p in self.in_order)
            return f"{{ return api::{self.name}({given}); }}"
        return self.body(["*this" if argument == own.name else argument for argument in self.arguments])

    def in_place_body(self):
        own = self.self_parameter().name
        arguments = ", ".join("*this" if argument == own else argument for argument in self.arguments)
        return f'{{ static Entry op; run_in_place(op, "{self.row["name"]}", {{{arguments}}}); return *this; }}'


def without_ambiguity(functions):
    """Overloads that C++ can tell apart: defaults that would make two of them fit the same call are taken away."""
    kept, taken = [], set()
    for function in functions:
        function.settle()
        while function.accepted() & taken and function.require_one_more():
            pass
        if not function.accepted() & taken:
            taken |= function.accepted()
            kept.append(function)
    for function in kept:
        _make_flags_strict(function, [other for other in kept if other is not function])
    return kept


def _make_flags_strict(function, others):
    """Where another overload takes numbers in place of a bool, an int must not become a bool."""
    kinds = [p.kind for p in function.parameters]
    for other in others:
        others_kinds = [p.kind for p in other.parameters]
        differ = [i for i, (a, b) in enumerate(zip(kinds, others_kinds)) if a != b]
        if (
            differ
            and kinds[differ[0]] == "bool"
            and others_kinds[differ[0]] in ("int64_t", "IntList", "OptionalIntList")
        ):
            function.parameters[differ[0]].kind = "Flag"


def same_functions(groups, others):
    """The names that stand for the same overloads, written the same, in both."""
    return [name for name, group in groups.items() if name in others and _written(group) == _written(others[name])]


def _written(group):
    return [(f.row["name"], f.result(), f.listed(True)) for f in group]


def rows_with_aliases():
    table, aliases = _C._op_table()
    public = [row for row in table if not row["homes"] & INTERNAL and not row["base"].startswith("_")]
    for row in public:
        yield row, RENAMED.get(row["name"], row["base"])
    for alias, base in aliases.items():
        for row in public:
            if row["base"] == base:
                yield row, alias


def grouped(rows, make=Function):
    """{name: its overloads}; rows whose name is None have no place in C++."""
    groups = {}
    for row, name in rows:
        if name is not None:
            groups.setdefault(name, []).append(make(row, name))
    return {name: without_ambiguity(functions) for name, functions in groups.items()}


def functions_of(home, prefix):
    rows = [(row, name and name.removeprefix(prefix)) for row, name in rows_with_aliases()
            if row["homes"] & home and not row["traits"] & IN_PLACE_ONLY]  # fmt: skip
    return grouped(rows)


def methods(in_place):
    def fits(row):
        if not row["homes"] & METHOD or row["base"] in BY_HAND:
            return False
        return row["traits"] & (IN_PLACE | IN_PLACE_ONLY) if in_place else not row["traits"] & IN_PLACE_ONLY

    return grouped([(row, name) for row, name in rows_with_aliases() if fits(row)], _as_method)


def _as_method(row, name):
    """The object comes first, whatever the order in the table."""
    function = Function(row, name)
    own = function.self_parameter()
    function.parameters.remove(own)
    function.parameters.insert(0, own)
    own.default = None
    return function


# --- the files


def header():
    lines = [NOTE, "#pragma once", "", '#include "runtime/tensor.h"', "", "#pragma GCC visibility push(default)",
             "namespace wisp::api {"]  # fmt: skip
    at_top = functions_of(FUNCTION, "")
    for home, space, prefix in SPACES:
        groups = functions_of(home, prefix)
        lines += [f"namespace {space} {{"] if space else []
        borrowed = same_functions(groups, at_top) if home == FUNCTIONAL else []
        lines += [f"using api::{name};" for name in borrowed]
        for group in (group for name, group in groups.items() if name not in borrowed):
            lines += [f"{f.result()} {f.name}({f.listed(True)});" for f in group]
        lines += [f"}}  // namespace {space}"] if space else []
        if home == FUNCTIONAL:
            lines += [f"using nn::functional::{name};" for name in groups if name not in at_top]
    return "\n".join([*lines, "}  // namespace wisp::api", "#pragma GCC visibility pop", ""])


def declarations():
    lines = [NOTE]
    for group in methods(False).values():
        lines += [f"{f.result()} {f.name}({f.listed(True, f.parameters[0])}) const;" for f in group]
    for group in methods(True).values():
        lines += [f"const Tensor& {f.name}_({f.listed(True, f.parameters[0])}) const;" for f in group]
    return "\n".join([*lines, ""])


def definitions():
    lines = [NOTE, '#include "runtime/operators.h"', "", '#include "runtime/bridge.h"', "", "namespace wisp::api {"]
    at_top = functions_of(FUNCTION, "")
    for home, space, prefix in SPACES:
        groups = functions_of(home, prefix)
        lines += [f"namespace {space} {{"] if space else []
        borrowed = same_functions(groups, at_top) if home == FUNCTIONAL else []
        for group in (group for name, group in groups.items() if name not in borrowed):
            lines += [f"{f.result()} {f.name}({f.listed(False)}) {f.body()}" for f in group]
        lines += [f"}}  // namespace {space}"] if space else []
    for group in methods(False).values():
        lines += [f"{f.result()} Tensor::{f.name}({f.listed(False, f.parameters[0])}) const {f.method_body()}"
                  for f in group]  # fmt: skip
    for group in methods(True).values():
        lines += [f"const Tensor& Tensor::{f.name}_({f.listed(False, f.parameters[0])}) const {f.in_place_body()}"
                  for f in group]  # fmt: skip
    return "\n".join([*lines, "}  // namespace wisp::api", ""])


def main():
    made = {"operators.h": header(), "methods.inc": declarations(), "operators.cpp": definitions()}
    old = [name for name, text in made.items() if not (FOLDER / name).exists() or (FOLDER / name).read_text() != text]
    if "--check" not in sys.argv:
        for name in old:
            (FOLDER / name).write_text(made[name])
        return 0
    print("\n".join(f"core/runtime/{name} is out of date: run tools/gen_cpp.py" for name in old) or "C++: up to date")
    return bool(old)


if __name__ == "__main__":
    sys.exit(main())
