"""Truth: comparisons, and, or, not, and what they say about names."""

import ast

from wisp.jit._script import enums
from wisp.jit._script import types as T
from wisp.jit._script.control import Condition
from wisp.jit._script.values import (
    FALSE,
    NONE,
    TRUE,
    Const,
    ModuleValue,
    StaticDict,
    Tuple,
)


class Conditions:
    """Compiles conditions."""

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

            def known(truth):  # of a bool, its truth is all there is
                return truth if self.type_of(first) == T.BOOL else first

            cases = (rest, lambda: known(FALSE)) if both else (lambda: known(TRUE), rest)
            return self.choose(test, *cases, or_truth=True)

        return from_place(0)

    def condition(self, node, as_value=False):
        """The truth of an expression, with what it says about names. With `as_value`, its value instead of its truth."""
        outer, self.at = self.at, node
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self.condition(node.operand)
            value = (
                Const(not inner.value.obj) if isinstance(inner.value, Const) else self.builtin("__not__", inner.value)
            )
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
        if isinstance(value, (ModuleValue, Const)) and not isinstance(
            getattr(value, "obj", None), self.program.tensor_class
        ):
            return TRUE
        value = self.materialize(value)
        kind = value.type.kind
        if value.type == T.BOOL:
            return value
        if kind == "optional":
            some = Condition(self.builtin("__isnot__", value, NONE))
            inner = value.type.items[0]
            return self.choose(
                some, lambda: self.truth(self.emit_one("prim::UncheckedCast", [value], inner)), lambda: FALSE
            )
        if kind in ("list", "dict", "str"):
            return self.builtin("Bool", self.builtin("len", value))
        if kind == "class":
            return self._truth_of_object(value)
        if value.type != T.TENSOR and value.type not in T.NUMBERS:
            self.fail(f"expected a bool expression for condition but found {self.what_is(value)}")
        return self.builtin("Bool", value)

    def _truth_of_object(self, value):
        """What __bool__ says, or whether __len__ is not 0; other objects are true."""
        for name in ("__bool__", "__len__"):
            if self.find_method(value, name) is not None:
                return self.truth(self.call(self.attribute(value, name, self.at), [], {}, self.at))
        return TRUE

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
        if all(map(enums.is_enum, types)):
            return self.equality("eq" if wanted else "ne", left, right, None)
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
                found = self._either(found, same)
            return found
        container = self.materialize(container)
        if container.type == T.TENSOR:
            return self.builtin("Bool", self.operator("any", self.operator("eq", container, item)))
        if container.type.kind == "class":
            return self.call(self.attribute(container, "__contains__", node), [item], {}, node)
        if container.type.kind == "dict":
            return self.builtin("__contains__", container, self.convert(item, container.type.items[0]))
        return self.builtin("__contains__", container, item)

    def _either(self, a, b):
        if isinstance(b, Const):
            return TRUE if b.obj else a
        if a is FALSE:
            return b
        return TRUE if a is TRUE else self.builtin("__or__", a, b)

    def on_IfExp(self, node, hint):
        condition = self.condition(node.test)
        saved = dict(self.scope)
        value = self.choose(
            condition,
            lambda: self.expression(node.body, hint),
            lambda: self.expression(node.orelse, hint),
            hint=hint,
        )
        if isinstance(condition.value, Const):
            for name in {*condition.if_true, *condition.if_false} & set(saved):
                self.scope[name] = saved[name]
        return value
