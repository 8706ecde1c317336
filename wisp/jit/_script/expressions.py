"""Expressions."""

import ast
import operator

from wisp.jit._script import ir
from wisp.jit._script import types as T
from wisp.jit._script.control import Condition
from wisp.jit._script.values import (
    FALSE,
    NONE,
    TRUE,
    Closure,
    Const,
    Iterable,
    ModuleValue,
    StaticDict,
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
_DUNDER = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
           ast.Pow: "pow", ast.MatMult: "matmul", ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le",
           ast.Gt: "gt", ast.GtE: "ge", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor"}  # fmt: skip

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
            what, instead = _UNSUPPORTED.get(type(node), (f"the expression {type(node).__name__}", "Write it in another way."))
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
        if isinstance(left, Tuple) and isinstance(right, (Tuple, Const)) and isinstance(op, ast.Add):
            return Tuple([*left.items, *self.items_of(right, None, node)])
        if isinstance(op, ast.Mod) and types[0] == T.STR:
            return self.unsupported("formatting with %", "Use an f-string or str.format().", node)
        if isinstance(left, Tuple) and self.is_static(right) and isinstance(op, ast.Mult):
            return Tuple(left.items * self.static(right))
        if self.frame.library and types[0] is not None and types[0].kind == "tuple" and types[1] == T.INT:
            return self.builtin("mul.t", self.list_value(self.items_of(left, None, node), None), right)
        tensor_name, plain_name = _BINARY.get(type(op), (None, None))
        if T.TENSOR in types:
            return self.tensor_binary(tensor_name, left, right, node)
        for owner, other, prefix in ((left, right, "__"), (right, left, "__r")):
            found = self.type_of(owner)
            if found is not None and found.kind == "class" and type(op) in _DUNDER:
                method = self.find_method(owner, f"{prefix}{_DUNDER[type(op)]}__")
                if method is not None:
                    return self.call(method, [other], {}, node)
        if isinstance(op, (ast.Eq, ast.NotEq)):
            return self.equality(plain_name, left, right, node)
        if plain_name is None:
            self.fail(f"{_DUNDER.get(type(op), 'this')} is not defined for {self.what_is(left)} and {self.what_is(right)}")
        return self.plain_binary(plain_name, left, right)

    def folded(self, function, *objects):
        """The result of a Python function now."""
        try:
            return self.wrap(function(*objects))
        except Exception as error:
            return self.fail(f"{type(error).__name__}: {error}")

    def tensor_binary(self, name, left, right, node):
        for value in (left, right):
            if self.type_of(value) is None or self.type_of(value) not in (T.TENSOR, *T.NUMBERS):
                if name in ("eq", "ne"):
                    return self.equality(name, left, right, node)
                self.fail(f"{name} is not defined for {self.what_is(left)} and {self.what_is(right)}")
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
            return self.materialize(Const({"int": int, "float": float, "complex": complex}[wanted.kind](value.obj)))
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

    # --- truth

    def on_Compare(self, node, hint):
        return self.condition(node, as_value=True).value

    def on_BoolOp(self, node, hint):
        """`and` and `or` give one of their operands."""
        both = isinstance(node.op, ast.And)

        def from_place(i):
            condition = self.condition(node.values[i], as_value=True)
            if i == len(node.values) - 1:
                return condition.value
            first = condition.value
            test = Condition(self.truth(first), condition.if_true, condition.if_false)

            def rest():
                return from_place(i + 1)

            return self.choose(test, *((rest, lambda: self._falsy(first)) if both else (lambda: first, rest)))

        return from_place(0)

    def _falsy(self, value):
        return FALSE if self.type_of(value) == T.BOOL else value

    def condition(self, node, as_value=False):
        """The truth of an expression, with what it says about names. With `as_value`, its value instead of its truth."""
        outer, self.at = self.at, node
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self.condition(node.operand)
            value = Const(not inner.value.obj) if isinstance(inner.value, Const) else self.builtin("__not__", inner.value)
            found = Condition(value, inner.if_false, inner.if_true)
        elif isinstance(node, ast.BoolOp) and not as_value:
            found = self._bool_condition(node)
        elif isinstance(node, ast.Compare):
            found = self._comparison(node)
            found.value = found.value if as_value else self.truth(found.value)
        elif isinstance(node, ast.Call) and self._is_isinstance(node):
            found = self.isinstance_condition(node)
        else:
            value = self.expression(node)
            known = {node.id: "some"} if isinstance(node, ast.Name) else {}
            found = Condition(value if as_value else self.truth(value), known)
        self.at = outer
        return found

    def _is_isinstance(self, node):
        if not isinstance(node.func, (ast.Name, ast.Attribute)) or len(node.args) != 2:
            return False
        name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
        if name != "isinstance":
            return False
        function = self.expression(node.func)
        return isinstance(function, Const) and self.program.is_isinstance(function.obj)

    def _bool_condition(self, node):
        """`and` and `or` as conditions: later parts are computed only if needed, knowing what the earlier ones say."""
        both = isinstance(node.op, ast.And)
        if_true, if_false, count = {}, {}, len(node.values)

        def from_place(i):
            condition = self.condition(node.values[i])
            if_true.update(condition.if_true)
            if_false.update(condition.if_false)
            if i == count - 1:
                return condition.value
            if isinstance(condition.value, Const) and bool(condition.value.obj) != both:
                return condition.value

            def rest():
                return from_place(i + 1)

            return self.choose(condition, *((rest, lambda: FALSE) if both else (lambda: TRUE, rest)))

        saved = dict(self.scope)
        value = from_place(0)
        for name, was in saved.items():  # what parts know of names holds inside of the expression
            if name in if_true or name in if_false:
                self.scope[name] = was
        return Condition(value, if_true if both else {}, {} if both else if_false)

    def truth(self, value):
        """A bool, or a constant, that says whether a value counts as true."""
        if self.is_static(value):
            return Const(bool(self.static(value)))
        if isinstance(value, Tuple):
            return Const(bool(value.items))
        if isinstance(value, (ModuleValue, Const)) and not isinstance(getattr(value, "obj", None), self.program.tensor_class):
            return TRUE
        value = self.materialize(value)
        kind = value.type.kind
        if value.type == T.BOOL:
            return value
        if kind == "optional":
            some = Condition(self.builtin("__isnot__", value, NONE))
            inner = value.type.items[0]
            return self.choose(some, lambda: self.truth(self.emit_one("prim::UncheckedCast", [value], inner)), lambda: FALSE)
        if kind in ("list", "dict", "str"):
            return self.builtin("Bool", self.builtin("len", value))
        if kind == "class":
            return TRUE
        if value.type != T.TENSOR and value.type not in T.NUMBERS:
            self.fail(f"{self.what_is(value)} cannot be used as a condition")
        return self.builtin("Bool", value)

    def _comparison(self, node):
        if len(node.ops) == 1:
            return self._compare(node.left, node.ops[0], node.comparators[0], node)
        left = self.expression(node.left)

        def from_place(i, left):
            right = self.expression(node.comparators[i])
            self.at = node
            first = self.compare(node.ops[i], left, right, node)
            if i == len(node.ops) - 1:
                return first
            return self.choose(Condition(self.truth(first)), lambda: from_place(i + 1, right), lambda: FALSE)

        return Condition(from_place(0, left))

    def _compare(self, left_node, op, right_node, node):
        left, right = self.expression(left_node), self.expression(right_node)
        self.at = node
        value = self.compare(op, left, right, node)
        if not isinstance(op, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)):
            return Condition(value)
        names = [n.id for n, other in ((left_node, right), (right_node, left))
                 if isinstance(n, ast.Name) and isinstance(other, Const) and other.obj is None]  # fmt: skip
        known = Condition(value, dict.fromkeys(names, "none"), dict.fromkeys(names, "some"))
        if isinstance(op, (ast.IsNot, ast.NotEq)):
            known.if_true, known.if_false = known.if_false, known.if_true
        return known

    def compare(self, op, left, right, node):
        if isinstance(op, (ast.Is, ast.IsNot)):
            return self._identity(isinstance(op, ast.Is), left, right)
        if isinstance(op, (ast.In, ast.NotIn)):
            found = self.contains(right, left, node)
            if isinstance(op, ast.In):
                return found
            return Const(not found.obj) if isinstance(found, Const) else self.builtin("__not__", found)
        return self.binary(op, left, right, node)

    def _identity(self, wanted, left, right):
        types = self.type_of(left), self.type_of(right)
        if T.NONE in types:
            other = types[0] if types[1] == T.NONE else types[1]
            if other is None or other == T.NONE or other.kind not in ("optional", "Any"):
                return Const((other == T.NONE) == wanted)
        if isinstance(left, Const) and isinstance(right, Const):
            return Const((left.obj is right.obj) == wanted)
        if left is right:
            return Const(wanted)
        return self.builtin("__is__" if wanted else "__isnot__", left, right)

    def contains(self, container, item, node):
        if self.is_static(container) and self.is_static(item):
            return self.folded(lambda a, b: b in a, self.static(container), self.static(item))
        if isinstance(container, StaticDict) and self.is_static(item):
            return Const(self.static(item) in container.items)
        if isinstance(container, ModuleValue):
            return self.module_contains(container, item)
        if isinstance(container, Tuple) or self.is_static(container):
            found = FALSE
            for part in self.items_of(container, None, node):
                same = self.truth(self.equality("eq", item, part, node))
                found = same if found is FALSE else self._either(found, same)
            return found
        container = self.materialize(container)
        if container.type == T.TENSOR:
            return self.builtin("Bool", self.operator("any", self.operator("eq", container, item)))
        if container.type.kind == "dict":
            return self.builtin("__contains__", container, self.convert(item, container.type.items[0]))
        return self.builtin("__contains__", container, item)

    def _either(self, a, b):
        if isinstance(b, Const):
            return TRUE if b.obj else a
        return TRUE if a is TRUE else self.builtin("__or__", a, b)

    def on_IfExp(self, node, hint):
        condition = self.condition(node.test)
        saved = dict(self.scope)
        value = self.choose(condition, lambda: self.expression(node.body, hint), lambda: self.expression(node.orelse, hint))
        if isinstance(condition.value, Const):
            for name in {*condition.if_true, *condition.if_false} & set(saved):
                self.scope[name] = saved[name]
        return value

    # --- containers

    def on_Tuple(self, node, hint):
        hint = T.without_none(hint) if hint is not None else None
        hints = hint.items if hint is not None and hint.kind == "tuple" and len(hint.items) == len(node.elts) else None
        parts = self._display_items(node, hints)
        if self.frame.library and any(isinstance(part, ir.Value) for part in parts):
            return self._joined(parts, None)
        return Tuple([item for part in parts for item in self.items_of(self._one(part), None, node)])

    @staticmethod
    def _one(part):
        return Tuple(part) if isinstance(part, list) else part

    def _display_items(self, node, hints):
        """The items of a tuple or list as it is written: lists of them, between lists of the program (*xs)."""
        parts = []
        for i, item in enumerate(node.elts):
            if not isinstance(item, ast.Starred):
                parts.append([self.expression(item, hints[i] if hints else None)])
                continue
            value = self.expression(item.value)
            found = self.type_of(value)
            if isinstance(value, ir.Value) and found.kind == "list":
                parts.append(value)
            else:
                parts.append(self.items_of(value, None, item))
        return parts

    def _joined(self, parts, inner):
        """One list of several parts."""
        inner = inner or next(part.type.items[0] for part in parts if isinstance(part, ir.Value))
        whole = None
        for part in parts:
            part = self.list_value(part, inner) if isinstance(part, list) else part
            whole = part if whole is None else self.builtin("add", whole, part)
        return whole

    def on_List(self, node, hint):
        hint = T.without_none(hint) if hint is not None else None
        inner = hint.items[0] if hint is not None and hint.kind == "list" else None
        parts = self._display_items(node, [inner] * len(node.elts))
        self.at = node
        if any(isinstance(part, ir.Value) for part in parts):
            return self._joined(parts, inner)
        return self.list_value([item for part in parts for item in part], inner)

    def list_value(self, items, inner):
        """A new list of values of one type."""
        types = [self.type_of(item) for item in items]
        if None in types and self.frame.library:
            return Tuple(items)
        if inner is None:
            inner = types[0] if types else T.TENSOR
            for item, found in zip(items, types):
                if found is None:
                    self.fail(f"{self.what_is(item)} cannot be an item of a list")
                common = self._common(inner, found)
                if common is None:
                    self.fail(f"the items of a list need one type, and are {T.shown(inner)} and {T.shown(found)}")
                inner = common
        values = [self.convert(item, inner) for item in items]
        return self.emit_one("prim::ListConstruct", values, T.list_of(inner))

    @staticmethod
    def _common(a, b):
        if {a, b} == {T.INT, T.FLOAT}:
            return T.FLOAT
        return T.unify(a, b)

    def on_Dict(self, node, hint):
        keys = [self.expression(k) if k is not None else self.unsupported("** in a dict", "Use update().", node) for k in node.keys]
        hint = T.without_none(hint) if hint is not None else None
        wanted = hint if hint is not None and hint.kind == "dict" else None
        values = [self.expression(v, wanted.items[1] if wanted else None) for v in node.values]
        self.at = node
        if self.frame.library and all(map(self.is_static, keys)):
            return StaticDict(dict(zip(map(self.static, keys), values)))
        return self.dict_value(keys, values, wanted)

    def dict_value(self, keys, values, wanted):
        if wanted is None:
            wanted = T.dict_of(self._common_type(keys, T.STR, "keys"), self._common_type(values, T.TENSOR, "values"))
        parts = [self.convert(x, t) for pair in zip(keys, values) for x, t in zip(pair, wanted.items)]
        return self.emit_one("prim::DictConstruct", parts, wanted)

    def _common_type(self, values, empty, what):
        types = [self.type_of(v) for v in values]
        common = types[0] if types else empty
        for found in types[1:]:
            common = common and found and T.unify(common, found)
        if common is None:
            self.fail(f"the {what} of a dict need one type")
        return common

    def on_JoinedStr(self, node, hint):
        """An f-string: the text with braces, and the values for them."""
        pattern, values = "", []
        for part in node.values:
            if isinstance(part, ast.Constant):
                pattern += part.value.replace("{", "{{").replace("}", "}}")
                continue
            spec = self._spec(part.format_spec)
            conversion = "" if part.conversion < 0 else "!" + chr(part.conversion)
            pattern += "{" + conversion + (":" + spec if spec else "") + "}"
            values.append(self.expression(part.value))
        self.at = node
        if all(map(self.is_static, values)):
            return self.folded(pattern.format, *map(self.static, values))
        return self.builtin("format", Const(pattern), *map(self.formatted, values))

    def _spec(self, node):
        if node is None:
            return ""
        spec = self.expression(node)
        if not isinstance(spec, Const):
            self.unsupported("a width or precision that is not constant", "Use rjust(), ljust() or round().", node)
        return spec.obj

    def formatted(self, value):
        """A value for a text; what has no place in the graph is text already."""
        if isinstance(value, Const) and self.type_of(value) is None:
            return Const(str(value.obj))
        return value

    # --- comprehensions

    def on_ListComp(self, node, hint):
        return self.comprehension(node, hint)

    def on_GeneratorExp(self, node, hint):
        return self.comprehension(node, hint)

    def on_DictComp(self, node, hint):
        hint = T.without_none(hint) if hint is not None else None
        return self._dict_comprehension(node, hint if hint is not None and hint.kind == "dict" else None)

    def comprehension(self, node, hint):
        """A list; of items that are known one by one a tuple in the library's own code."""
        hint = T.without_none(hint) if hint is not None else None
        inner = hint.items[0] if hint is not None and hint.kind == "list" else None
        iterable = self._single_iterable(node)
        if iterable.unrolled:
            items = self._unrolled_items(node, iterable, inner)
            return Tuple(items) if self.frame.library else self.list_value(items, inner)
        inner = inner or self._probe(node, iterable, lambda: self.type_of(self.expression(node.elt)))
        made = self.emit_one("prim::ListConstruct", [], T.list_of(inner))
        self._collect(node, iterable, lambda: self.builtin("append", made, self.convert(self.expression(node.elt, inner), inner)))
        return made

    def _single_iterable(self, node):
        if len(node.generators) != 1:
            self.unsupported("a comprehension with several for", "Use nested for loops.", node)
        return self.iterable(self.expression(node.generators[0].iter), node.generators[0].iter)

    def _unrolled_items(self, node, iterable, inner):
        saved, items, generator = dict(self.scope), [], node.generators[0]
        for i in range(iterable.count):
            self.assign(generator.target, iterable.item(i))
            tests = [self.condition(test).value for test in generator.ifs]
            if not all(isinstance(test, Const) for test in tests):
                self.unsupported("a condition in a comprehension over a tuple", "Use a for loop.", node)
            if all(test.obj for test in tests):
                items.append(self.expression(node.elt, inner))
        self.frame.scope = saved
        return items

    def _probe(self, node, iterable, find):
        """What `find` says of an item, by compiling it aside."""
        outer_block, outer_scope = self.block, dict(self.scope)
        self.block = ir.Block(outer_block)
        self.assign(node.generators[0].target, iterable.item(ir.Value(T.INT, self.block)))
        for test in node.generators[0].ifs:
            self.refine(self.condition(test).if_true)
        found = find()
        self.block, self.frame.scope = outer_block, outer_scope
        if found is None or (isinstance(found, tuple) and None in found):
            self.fail("the items of a comprehension have to be values", node)
        return found

    def _collect(self, node, iterable, add):
        """A loop over the items that pass the conditions."""
        generator, saved = node.generators[0], dict(self.scope)

        def body(index):
            self.assign(generator.target, iterable.item(index))
            self._if_all(generator.ifs, add)
            return TRUE

        self.loop([], [], self.materialize(iterable.count), TRUE, body)
        self.frame.scope = saved

    def _if_all(self, tests, add):
        if not tests:
            add()
            return

        def then():
            self._if_all(tests[1:], add)
            return NONE

        self.choose(self.condition(tests[0]), then, lambda: NONE)

    def _dict_comprehension(self, node, hint):
        iterable = self._single_iterable(node)
        if iterable.unrolled:
            count = iterable.count
            pairs = self._unrolled_items(ast.copy_location(_Pairs(node), node), iterable, None)
            assert len(pairs) <= count
            keys, values = [p.items[0] for p in pairs], [p.items[1] for p in pairs]
            return self.dict_value(keys, values, hint)
        if hint is None:
            hint = T.dict_of(*self._probe(node, iterable, lambda: (self.type_of(self.expression(node.key)),
                                                                   self.type_of(self.expression(node.value)))))  # fmt: skip
        made = self.emit_one("prim::DictConstruct", [], hint)

        def add():
            key = self.convert(self.expression(node.key), hint.items[0])
            self.builtin("_set_item", made, key, self.convert(self.expression(node.value, hint.items[1]), hint.items[1]))

        self._collect(node, iterable, add)
        return made

    def materialize_iterable(self, value):
        """list(range(n)) and the like."""
        if value.unrolled:
            return self.list_value([value.item(i) for i in range(value.count)], None)
        outer_block = self.block
        self.block = ir.Block(outer_block)
        inner = self.type_of(value.item(ir.Value(T.INT, self.block)))
        self.block = outer_block
        made = self.emit_one("prim::ListConstruct", [], T.list_of(inner))

        def body(index):
            self.builtin("append", made, self.materialize(value.item(index)))
            return TRUE

        self.loop([], [], self.materialize(value.count), TRUE, body)
        return made


def _Pairs(node):
    """A dict comprehension as one of pairs."""
    pair = ast.copy_location(ast.Tuple([node.key, node.value], ast.Load()), node.value)
    return ast.GeneratorExp(pair, node.generators)


__all__ = ["Expressions", "Iterable"]
