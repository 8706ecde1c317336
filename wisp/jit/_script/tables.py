"""The vocabulary of programs: operators of the table, and functions of plain values, with their schemas."""

from dataclasses import dataclass
from functools import cache

from wisp import _C
from wisp.jit._script import types as T

HOMES = {"function": 1, "method": 2, "functional": 4, "linalg": 8, "special": 16, "internal": 32, "fft": 64}
POINTWISE, RANDOM, IN_PLACE, FACTORY, IN_PLACE_ONLY, SPELLED_OUT = 1, 1 << 3, 1 << 4, 1 << 6, 1 << 9, 1 << 14
# Operators that are made in one step with the pointwise ones around them.
_CUT_JOIN_OR_MULTIPLY = {"chunk", "split", "cat", "mm", "matmul", "linear", "addmm"}


@dataclass(frozen=True)
class Param:
    """A parameter of an operator."""

    name: str
    type: str  # as the schema has it, without "?"
    optional: bool
    keyword_only: bool
    default: str | None
    size: int = 0  # of int[2]: a single int stands for two

    @property
    def variadic(self):
        return self.type.endswith("...")


class Operator:
    """An entry of the table of operators."""

    def __init__(self, entry):
        self.name, self.base, self.schema = entry["name"], entry["base"], entry["schema"]
        self.homes, self.traits, self.returns = entry["homes"], entry["traits"], entry["returns"]
        self.params = [_param(p, f"Tensor... {p['name']}" in self.schema) for p in entry["params"]]
        self.result = [_result(r) for r in self.returns]
        self.fields = (
            tuple(r["name"] for r in self.returns) if len(self.returns) > 1 and self.returns[0]["name"] else ()
        )

    def node_name(self, in_place):
        """The name of its nodes: "aten::clamp_.tensor" overwrites self."""
        base, dot, overload = self.name.partition(".")
        return f"aten::{base}{'_' if in_place else ''}{dot}{overload}"


def _param(entry, variadic):
    text = "Tensor..." if variadic else entry["type"]
    optional = text.endswith("?")
    text = text[:-1] if optional else text
    size = 0
    if text.startswith("int[") and text != "int[]":
        size, text = int(text[4:-1]), "int[]"
    return Param(entry["name"], text, optional, entry["keyword_only"], entry["default"], size)


def _result(entry):
    text = entry["type"]
    found = T.from_schema(text.removesuffix("?").removesuffix("[]"))
    found = T.list_of(found) if entry["list"] else found
    return T.optional_of(found) if text.endswith("?") else found


class Builtin:
    """A function of plain values: "append.t(T[] self, T item) -> ()"."""

    def __init__(self, schema):
        head, _, result = schema.rpartition(" -> ")
        self.full_name, _, params = head.partition("(")
        self.base = self.full_name.partition(".")[0]
        params = T._split(params[:-1])
        self.variadic = bool(params) and params[-1].startswith("Any...")
        self.params = [p.rpartition(" ")[0] for p in params if not p.startswith("Any...")] if params != [""] else []
        self.types = list(map(T.from_schema, self.params))
        self.result = None if result == "()" else T.from_schema(result)

    def result_for(self, given):
        """The type of the result for arguments of these types, or None if they do not fit."""
        if len(given) < len(self.types) or (len(given) > len(self.types) and not self.variadic):
            return None
        letters = {}
        if not all(T.match(w, g, letters) for w, g in zip(self.types, given)):
            return None
        return T.NONE if self.result is None else T.fill(self.result, letters)


class Tables:
    """Operators and builtins by name, and what Python's operator functions are called in the table."""

    def __init__(self):
        entries, aliases = _C._op_table()
        self.operators = {}
        for entry in entries:
            self.operators.setdefault(entry["base"], []).append(Operator(entry))
        for other, name in aliases.items():
            self.operators[other] = self.operators[name]
        self._builtins = {}
        for schema in _C._jit.builtin_schemas():
            builtin = Builtin(schema)
            self._builtins.setdefault(builtin.base, []).append(builtin)
            if builtin.full_name != builtin.base:
                self._builtins[builtin.full_name] = [builtin]
        self._functions = self._find_functions()

    def _find_functions(self):
        """(home, name in the table, whether it overwrites) of the objects that Python code calls."""
        found = {}
        spaces = {"function": (_C._functions, ""), "functional": (_C._functional, ""), "linalg": (_C._linalg, "linalg_"),
                  "special": (_C._special, "special_"), "fft": (_C._fft, "fft_")}  # fmt: skip
        for home, (functions, prefix) in spaces.items():
            for name, function in functions.items():
                base = prefix + name if prefix + name in self.operators else name
                in_place = not self.overloads(base, home)
                found[id(function)] = (home, base.removesuffix("_") if in_place else base, in_place)
        return found

    def builtins(self, name):
        return self._builtins.get(name, ())

    def function(self, obj):
        """(overloads, in_place) of an operator as Python knows it, or None."""
        found = self._functions.get(id(obj))
        if found is None:
            return None
        home, base, in_place = found
        return self.overloads(base, home, in_place), in_place

    def overloads(self, base, home, in_place=False):
        """The entries of a name that are found at a place, in the order they are tried."""
        fits = (lambda op: op.traits & IN_PLACE) if in_place else (lambda op: not op.traits & IN_PLACE_ONLY)
        return [op for op in self.operators.get(base, ()) if op.homes & HOMES[home] and fits(op)]

    def method(self, name):
        """(overloads, in_place) of a method of tensors, or None."""
        found = self.overloads(name, "method")
        if found:
            return found, False
        found = self.overloads(name[:-1], "method", True) if name.endswith("_") else []
        return (found, True) if found else None

    def named(self, name):
        """The operator of a full name, wherever it lives."""
        return next(op for op in self.operators[name.partition(".")[0]] if op.name == name)

    def is_known(self, name):
        """Whether graphs have a function of a name, which Python may not have."""
        return name in self._builtins or bool(self.overloads(name, "internal"))

    def is_fused(self, name):
        """Whether calls of an operator can be made in one step with others. ("__getitem__" and the like are no operators.)"""
        found = [op for op in self.operators.get(name.partition(".")[0], ()) if op.name == name]
        if not found:
            return name.partition(".")[0] in self._builtins
        traits = found[0].traits
        alike = traits & SPELLED_OUT or (traits & POINTWISE and not traits & (RANDOM | IN_PLACE_ONLY))
        return bool(alike) or found[0].base in _CUT_JOIN_OR_MULTIPLY


@cache
def tables():
    """Read once: the tables do not change."""
    return Tables()
