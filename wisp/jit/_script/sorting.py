"""Sorting by what the program compares with: __lt__ of its classes, tensors of one element, keys."""

import ast
import inspect
from typing import List  # noqa: UP035 (read by the compiler)

from wisp.jit._script import types as T
from wisp.jit._script.control import Condition
from wisp.jit._script.values import FALSE, NONE, TRUE, Const, Native

_PLAIN = (*T.NUMBERS, T.STR)


def _order(count: int, before):
    """The numbers below `count` in an order in which before(j, i) holds for no i that comes before a j: merged, so
    that equal ones stay as they are."""
    order = list(range(count))
    width = 1
    while width < count:
        merged: List[int] = []  # noqa: UP006
        for start in range(0, count, 2 * width):
            middle = min(start + width, count)
            stop = min(middle + width, count)
            i = start
            j = middle
            while i < middle or j < stop:
                if j == stop or (i < middle and not before(order[j], order[i])):
                    merged.append(order[i])
                    i += 1
                else:
                    merged.append(order[j])
                    j += 1
        order = merged
        width *= 2
    return order


class Sorting:
    """sorted(), list.sort()."""

    def function_sorted(self, arguments, keywords, node):
        items = self.function_list(arguments, {}, node)
        return self._sorted(items, keywords.get("reverse", FALSE), keywords.get("key", NONE), node)

    def list_sort(self, owner, values, key=NONE, reverse=FALSE):
        reverse = values[0] if values else reverse
        if self._sorts_itself(owner.type.items[0]) and key is NONE:
            return self.builtin("sort.t", owner, self._direction(reverse))
        made = self._sorted(owner, reverse, key, self.at)
        return self.builtin("_set_slice", owner, NONE, NONE, made)

    def _chosen(self, name, arguments, keywords, node):
        """The least or greatest of several, by a key, or what stands for those of nothing."""
        if not keywords:
            return self._extreme(name, arguments, node)
        items = self.function_list(arguments, {}, node) if len(arguments) == 1 else self.list_value(arguments, None)
        items, key = self.materialize(items), keywords.get("key", NONE)
        some = self.builtin("Bool", self.builtin("len", items))
        if "default" not in keywords:
            self.fail_unless(some, "ValueError", Const(f"{name}() arg is an empty sequence"))

        def found():
            return self.get_item(self._sorted(items, Const(name == "max"), key, node), Const(0), node)

        return self.choose(Condition(some), found, lambda: keywords["default"]) if "default" in keywords else found()

    def _sorted(self, items, reverse, key, node):
        items, reverse = self.materialize(items), self._direction(reverse)
        inner = items.type.items[0]
        if key is NONE and self._sorts_itself(inner):
            return self.builtin("sorted", items, reverse)
        keys = items if key is NONE else self._mapped(items, lambda item: self.call(key, [item], {}, node))
        self._check_sortable(keys.type.items[0], node)

        def before(i, j):
            left, right = self.get_item(keys, i, node), self.get_item(keys, j, node)
            return self.choose(
                Condition(self.truth(reverse)),
                lambda: self.less(right, left, node),
                lambda: self.less(left, right, node),
            )

        order = self.call_library(_order, [self.builtin("len", items), Native(before)], {})
        return self._mapped(order, lambda i: self.get_item(items, i, node), inner)

    def _direction(self, reverse):
        found = self.try_convert(reverse, T.BOOL)
        return self.fail(self.wrong_argument("reverse", T.BOOL, reverse)) if found is None else found

    def _sorts_itself(self, kind):
        """Whether the core can compare values of a type."""
        if kind.kind in ("tuple", "list"):
            return all(map(self._sorts_itself, kind.items))
        return kind in _PLAIN or kind.kind == "Any"  # of which the core finds out when the program runs

    def _check_sortable(self, kind, node):
        if kind.kind == "tuple":
            for item in kind.items:
                self._check_sortable(item, node)
        elif kind.kind == "class":
            if not inspect.isfunction(inspect.getattr_static(kind.host.python_class, "__lt__", None)):
                self.fail(f"to be sorted, the class '{T.shown(kind)}' must define a __lt__ method", node)
        elif not self._sorts_itself(kind) and kind != T.TENSOR:
            self.fail(f"a list of {T.shown(kind)} cannot be sorted: its items have no order", node)

    def less(self, left, right, node):
        """Whether a value is to come before another; tuples by the first of their items that differ."""
        found = self.type_of(left)
        if found is None or found.kind != "tuple":
            return self.truth(self.binary(ast.Lt(), left, right, node))
        pairs = list(zip(self.items_of(left, None, node), self.items_of(right, None, node)))
        return self._less_by_items(pairs, node)

    def _less_by_items(self, pairs, node):
        if not pairs:
            return FALSE
        (left, right), rest = pairs[0], pairs[1:]
        if not rest:
            return self.less(left, right, node)
        return self.choose(
            Condition(self.less(left, right, node)),
            lambda: TRUE,
            lambda: self.choose(
                Condition(self.less(right, left, node)), lambda: FALSE, lambda: self._less_by_items(rest, node)
            ),
        )

    def _mapped(self, items, function, inner=None):
        """A list of what a function of the compiler makes of the items of a list."""
        if inner is None:
            around, self.block = self.block, type(self.block)(self.block)
            inner = self.type_of(function(self.builtin("__getitem__", items, Const(0))))
            self.block = around
        made = self.emit_one("prim::ListConstruct", [], T.list_of(inner))

        def body(index):
            item = self.builtin("__getitem__", items, index)
            self.builtin("append", made, self.convert(function(item), inner))
            return TRUE

        self.loop([], [], self.builtin("len", items), TRUE, body)
        return made
