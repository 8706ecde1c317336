"""Expressions."""

import ast
import operator

from wisp.jit._script import enums
from wisp.jit._script import types as T
from wisp.jit._script.values import (
    Closure,
    Const,
    Tuple,
    Undefined,
)

_FOLD = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.LShift: operator.lshift,
    ast.RShift: operator.rshift, ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert,
    ast.Not: operator.not_,
}  # fmt: skip

# Operators: of tensors in the table, and of plain values.
_BINARY = {
    ast.Add: ("add", "add"), ast.Sub: ("sub", "sub"), ast.Mult: ("mul", "mul"), ast.Div: ("div", "div"),
    ast.FloorDiv: ("floor_divide", "floordiv"), ast.Mod: ("remainder", "remainder"), ast.Pow: ("pow", "pow"),
    ast.MatMult: ("matmul", None), ast.BitAnd: ("bitwise_and", "__and__"), ast.BitOr: ("bitwise_or", "__or__"),
    ast.BitXor: ("bitwise_xor", "__xor__"), ast.LShift: ("bitwise_left_shift", "__lshift__"),
    ast.RShift: ("bitwise_right_shift", "__rshift__"), ast.Eq: ("eq", "eq"), ast.NotEq: ("ne", "ne"),
    ast.Lt: ("lt", "lt"), ast.LtE: ("le", "le"), ast.Gt: ("gt", "gt"), ast.GtE: ("ge", "ge"),
}  # fmt: skip
_REFLECTED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
DUNDER = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
           ast.Pow: "pow", ast.MatMult: "matmul", ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le",
           ast.Gt: "gt", ast.GtE: "ge", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
          ast.LShift: "lshift", ast.RShift: "rshift"}  # fmt: skip

_UNSUPPORTED = {
    ast.Await: ("await", "Use jit.wait()."),
    ast.Yield: ("yield", "Collect the values in a list and return it."),
    ast.YieldFrom: ("yield from", "Collect the values in a list and return it."),
    ast.Set: ("a set", "Use a list, or a dict with the items as keys."),
    ast.SetComp: ("a set comprehension", "Use a list, or a dict with the items as keys."),
}


class Expressions:
    """Compiles expressions. `hint` is the type that is wanted, if that is known."""

    def expression(self, node, hint=None):
        """The value of an expression."""
        outer, self.at = self.at, node
        handler = getattr(self, "on_" + type(node).__name__, None)
        if handler is None:
            what, instead = _UNSUPPORTED.get(
                type(node), (f"the expression {type(node).__name__}", "Write it in another way.")
            )
            self.unsupported(what, instead, node)
        value = handler(node, hint)
        self.at = outer
        return value

    def on_Constant(self, node, hint):
        if isinstance(node.value, bytes):
            self.unsupported("bytes", "Use a string.", node)
        return Const(node.value)

    def on_Name(self, node, hint):
        if node.id in self.scope:
            value = self.scope[node.id]
            if isinstance(value, Undefined):
                self.fail(value.reason, node)
            return value
        try:
            return self.wrap(self.frame.lookup(node.id))
        except NameError as error:
            return self.fail(str(error), node)

    def lookup_python(self, name):
        """The Python object a name stands for, for annotations."""
        value = self.scope.get(name)
        return value.obj if isinstance(value, Const) else self.frame.lookup(name)

    def on_Attribute(self, node, hint):
        return self.attribute(self.expression(node.value), node.attr, node)

    def on_NamedExpr(self, node, hint):
        value = self.expression(node.value)
        self.assign(node.target, value)
        return value

    def on_Starred(self, node, hint):
        return self.unsupported("* here", "It can be used in calls, for tuples of known length.", node)

    def on_Lambda(self, node, hint):
        return Closure(node, self.frame)

    # --- arithmetic

    def on_BinOp(self, node, hint):
        left, right = self.expression(node.left), self.expression(node.right)
        self.at = node
        return self.binary(node.op, left, right, node)

    def binary(self, op, left, right, node):
        """The value of an operator between two values."""
        if self.is_static(left) and self.is_static(right):
            return self.folded(_FOLD.get(type(op)), self.static(left), self.static(right))
        types = self.type_of(left), self.type_of(right)
        if isinstance(op, ast.Add) and all(t is not None and t.kind == "tuple" for t in types):
            return Tuple([*self.items_of(left, None, node), *self.items_of(right, None, node)])
        if isinstance(op, ast.Mod) and types[0] == T.STR:
            return self.percent(left, right, node)
        if isinstance(left, Tuple) and self.is_static(right) and isinstance(op, ast.Mult):
            return Tuple(left.items * self.static(right))
        if self.frame.library and types[0] is not None and types[0].kind == "tuple" and types[1] == T.INT:
            return self.builtin("mul.t", self.list_value(self.items_of(left, None, node), None), right)
        same = self.same_dataclass(left, right) if isinstance(op, (ast.Eq, ast.NotEq)) else None
        if same is not None:
            return same if isinstance(op, ast.Eq) else self.builtin("__not__", same)
        for owner, other, prefix in ((left, right, "__"), (right, left, "__r")):
            found = self.type_of(owner)
            if found is not None and found.kind == "class" and type(op) in DUNDER:
                method = self.find_method(owner, f"{prefix}{DUNDER[type(op)]}__")
                if method is not None:
                    return self.call(method, [other], {}, node)
        tensor_name, plain_name = _BINARY.get(type(op), (None, None))
        if T.TENSOR in types:
            return self.tensor_binary(tensor_name, left, right, node)
        if isinstance(op, (ast.Eq, ast.NotEq)):
            return self.equality(plain_name, left, right, node)
        if plain_name is None:
            self.fail(
                f"{DUNDER.get(type(op), 'this')} is not defined for {self.what_is(left)} and {self.what_is(right)}"
            )
        return self.plain_binary(plain_name, left, right)

    def folded(self, function, *objects):
        """The result of a Python function now."""
        try:
            return self.wrap(function(*objects))
        except Exception as error:  # noqa: BLE001 (whatever Python says of it)
            return self.fail(f"{type(error).__name__}: {error}")

    def tensor_binary(self, name, left, right, node):
        for value in (left, right):
            if self.type_of(value) is None or self.type_of(value) not in (T.TENSOR, *T.NUMBERS):
                if name in ("eq", "ne"):
                    return self.equality(name, left, right, node)
                self.fail(f"{name} is not defined for {self.what_is(left)} and {self.what_is(right)}")
        if name in _REFLECTED and self.type_of(left) != T.TENSOR:  # comparisons have their tensor in front
            name, left, right = _REFLECTED[name], right, left
        return self.operator(name, left, right)

    def plain_binary(self, name, left, right):
        """An operator between plain values, after they have got one type."""
        a, b = self.materialize(left), self.materialize(right)
        if a.type.kind == "list" and b.type.kind == "tuple":
            b = self.convert(right, a.type)
        logic = name in ("__and__", "__or__", "__xor__") and a.type == b.type == T.BOOL
        if a.type in T.NUMBERS and b.type in T.NUMBERS and not logic:
            wanted = max(a.type, b.type, T.INT, key=T.NUMBERS.index)
            a, b = self.as_number(left, wanted), self.as_number(right, wanted)
        elif b.type.kind == "list" and name == "mul" or (b.type == T.STR and a.type == T.INT and name == "mul"):
            a, b = b, a
        return self.builtin(name, a, b)

    def as_number(self, value, wanted):
        """A number as another kind of number: bool, int, float, complex, or any (Scalar)."""
        if isinstance(value, Const) and wanted != T.NUMBER:
            kind = {"int": int, "float": float, "complex": complex}[wanted.kind]
            return self.materialize(Const(kind(value.obj)))
        value = self.materialize(value)
        if value.type == wanted or wanted == T.NUMBER:
            return value
        return self.builtin({"int": "Int", "float": "Float", "complex": "Complex"}[wanted.kind], value)

    def equality(self, name, left, right, node):
        a, b = self.type_of(left), self.type_of(right)
        if a is None or b is None:
            self.fail(f"{self.what_is(left)} and {self.what_is(right)} cannot be compared", node)
        if a in T.NUMBERS and b in T.NUMBERS and T.COMPLEX not in (a, b) and T.NUMBER not in (a, b):
            wanted = T.FLOAT if T.FLOAT in (a, b) else T.INT
            return self.builtin(f"{name}.{wanted}", self.as_number(left, wanted), self.as_number(right, wanted))
        if enums.is_enum(a) and enums.is_enum(b) and a.host is not b.host:
            return Const(name != "eq")
        if {a.kind, b.kind} == {"list", "tuple"}:  # sizes are lists here, and are compared with tuples
            wanted = a if a.kind == "list" else b
            converted = self.try_convert(left, wanted), self.try_convert(right, wanted)
            if None not in converted:
                left, right = converted
        if T.DEVICE in (a, b) and T.STR in (a, b):
            left, right = self.convert(left, T.DEVICE), self.convert(right, T.DEVICE)
        return self.builtin(f"{name}.any", left, right)

    def on_UnaryOp(self, node, hint):
        if isinstance(node.op, ast.Not):
            return self.condition(node).value
        value = self.expression(node.operand)
        self.at = node
        if self.is_static(value):
            return self.folded(_FOLD[type(node.op)], self.static(value))
        found = self.type_of(value)
        if isinstance(node.op, ast.UAdd):
            return value
        name = "neg" if isinstance(node.op, ast.USub) else "bitwise_not"
        if found == T.TENSOR:
            return self.operator(name, value)
        if found is not None and found.kind == "class":
            return self.call(self.attribute(value, f"__{name.removeprefix('bitwise_')}__", node), [], {}, node)
        if found == T.BOOL:
            value = self.as_number(value, T.INT)
        return self.builtin(name, value)
