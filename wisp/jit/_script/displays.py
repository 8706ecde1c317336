"""Tuples, lists and dicts as they are written, and comprehensions."""

import ast

from wisp.jit._script import ir
from wisp.jit._script import types as T
from wisp.jit._script.values import (
    NONE,
    TRUE,
    Const,
    StaticDict,
    Tuple,
)


class Displays:
    """Makes containers."""

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
        made = self.emit_one("prim::ListConstruct", values, T.list_of(inner))
        made.is_new = not items
        return made

    @staticmethod
    def _common(a, b):
        if {a, b} == {T.INT, T.FLOAT}:
            return T.FLOAT
        return T.unify(a, b)

    def on_Dict(self, node, hint):
        hint = T.without_none(hint) if hint is not None else None
        wanted = hint if hint is not None and hint.kind == "dict" else None
        if None in node.keys:
            return self._joined_dict(node, wanted)
        keys = [self.expression(k) for k in node.keys]
        values = [self.expression(v, wanted.items[1] if wanted else None) for v in node.values]
        self.at = node
        if self.frame.library and all(map(self.is_static, keys)):
            return StaticDict(dict(zip(map(self.static, keys), values)))
        return self.dict_value(keys, values, wanted)

    def _joined_dict(self, node, wanted):
        """{**a, "b": c}: one part is put into the dict after the other."""
        parts = []
        for key, value in zip(node.keys, node.values):
            parts.append((None if key is None else self.expression(key), self.expression(value)))
        self.at = node
        for key, value in parts:
            found = self.type_of(value)
            if key is None and (found is None or found.kind != "dict"):
                self.fail(f"{self.what_is(value)} cannot be put into a dict by **", node)
            wanted = wanted or (found if key is None else None)
        made = self.emit_one("prim::DictConstruct", [], wanted)
        for key, value in parts:
            if key is None:
                self.builtin("update.dict", made, self.convert(value, wanted))
            else:
                self.put_item(made, key, value, node)
        return made

    def dict_value(self, keys, values, wanted):
        if wanted is None:
            wanted = T.dict_of(self._common_type(keys, T.STR, "keys"), self._common_type(values, T.TENSOR, "values"))
        parts = [self.convert(x, t) for pair in zip(keys, values) for x, t in zip(pair, wanted.items)]
        made = self.emit_one("prim::DictConstruct", parts, wanted)
        made.is_new = not parts
        return made

    def _common_type(self, values, empty, what):
        types = [self.type_of(v) for v in values]
        common = types[0] if types else empty
        for found in types[1:]:
            common = common and found and T.unify(common, found)
        if common is None:
            self.fail(f"the {what} of a dict need one type")
        return common

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
        iterable = self._iterable_of(node.generators[0])
        items = self._unrolled_items(node, iterable, inner)
        if items is not None:
            return Tuple(items) if self.frame.library else self.list_value(items, inner)
        inner = inner or self._probe(node, iterable, lambda: self.type_of(self.expression(node.elt)))
        made = self.emit_one("prim::ListConstruct", [], T.list_of(inner))
        self._collect(
            node, iterable, lambda: self.builtin("append", made, self.convert(self.expression(node.elt, inner), inner))
        )
        return made

    def _iterable_of(self, generator):
        return self.iterable(self.expression(generator.iter), generator.iter)

    def _unrolled_items(self, node, iterable, inner):
        """The items of a comprehension if it is known which there are, else None."""
        if not iterable.unrolled or len(node.generators) > 1:
            return None
        saved, items, generator, mark = dict(self.scope), [], node.generators[0], len(self.block.nodes)
        for i in range(iterable.count):
            self.assign(generator.target, iterable.item(i))
            tests = [self.condition(test).value for test in generator.ifs]
            if not all(isinstance(test, Const) for test in tests):
                del self.block.nodes[mark:]
                items = None
                break
            if all(test.obj for test in tests):
                items.append(self.expression(node.elt, inner))
        self.frame.scope = saved
        return items

    def _probe(self, node, iterable, find):
        """What `find` says of an item, by compiling it aside."""
        outer_block, outer_scope = self.block, dict(self.scope)
        self.block = ir.Block(outer_block)
        for i, generator in enumerate(node.generators):
            iterable = iterable if i == 0 else self._iterable_of(generator)
            self.assign(generator.target, iterable.item(0 if iterable.unrolled else ir.Value(T.INT, self.block)))
            for test in generator.ifs:
                self.refine(self.condition(test).if_true)
        found = find()
        self.block, self.frame.scope = outer_block, outer_scope
        if found is None or (isinstance(found, tuple) and None in found):
            self.fail("the items of a comprehension have to be values", node)
        return found

    def _collect(self, node, iterable, add):
        """Loops over the items that pass the conditions, one in the other."""
        saved = dict(self.scope)
        self._collect_from(node.generators, iterable, add)
        self.frame.scope = saved

    def _collect_from(self, generators, iterable, add):
        generator, inner = generators[0], generators[1:]

        def each(index):
            self.assign(generator.target, iterable.item(index))
            self._if_all(generator.ifs, next_for if inner else add)

        def next_for():
            self._collect_from(inner, self._iterable_of(inner[0]), add)

        def body(index):
            each(index)
            return TRUE

        if iterable.unrolled:
            for i in range(iterable.count):
                each(i)
        else:
            self.loop([], [], self.materialize(iterable.count), TRUE, body)

    def _if_all(self, tests, add):
        if not tests:
            add()
            return

        def then():
            self._if_all(tests[1:], add)
            return NONE

        self.choose(self.condition(tests[0]), then, lambda: NONE)

    def _dict_comprehension(self, node, hint):
        iterable = self._iterable_of(node.generators[0])
        pairs = self._unrolled_items(ast.copy_location(_Pairs(node), node), iterable, None)
        if pairs is not None:
            keys, values = [p.items[0] for p in pairs], [p.items[1] for p in pairs]
            return self.dict_value(keys, values, hint)
        if hint is None:
            hint = T.dict_of(*self._probe(node, iterable, lambda: (self.type_of(self.expression(node.key)),
                                                                   self.type_of(self.expression(node.value)))))  # fmt: skip
        made = self.emit_one("prim::DictConstruct", [], hint)

        def add():
            key = self.convert(self.expression(node.key), hint.items[0])
            self.builtin(
                "_set_item", made, key, self.convert(self.expression(node.value, hint.items[1]), hint.items[1])
            )

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
