"""Python's own functions, and the methods of strings, lists, dicts and tuples."""

import ast
import builtins
from collections import OrderedDict

from wisp import _C
from wisp.jit._script import ir, written
from wisp.jit._script import types as T
from wisp.jit._script.control import Condition
from wisp.jit._script.errors import FrontendError
from wisp.jit._script.signatures import method_arguments
from wisp.jit._script.sorting import Sorting
from wisp.jit._script.values import FALSE, NONE, TRUE, Const, Iterable, ModuleValue, Slice, StaticDict, Tuple

_STRING_DEFAULTS = {
    "strip": [NONE], "lstrip": [NONE], "rstrip": [NONE], "split": [NONE, Const(-1)], "replace": [None, None, Const(-1)],
    "ljust": [None, Const(" ")], "rjust": [None, Const(" ")], "center": [None, Const(" ")],
    "rsplit": [NONE, Const(-1)], "expandtabs": [Const(8)],
}  # fmt: skip
# These may be told where to begin and end.
_PARTS_OF_STRINGS = ("find", "rfind", "index", "rindex", "count", "startswith", "endswith")


class Plain(Sorting):
    """Calls that need no operator of the table."""

    # --- Python's functions

    def function_len(self, arguments, keywords, node):
        (value,) = arguments
        if isinstance(value, Tuple):
            return Const(len(value.items))
        if isinstance(value, ModuleValue):
            own = self.own_special(value, "__len__")
            return Const(len(self.children_of(value) or ())) if own is None else self.call_method(own, [], {}, node)
        if isinstance(value, StaticDict):
            return Const(len(value.items))
        value = self.materialize(value)
        if value.type.kind == "tuple":
            return Const(len(value.type.items))
        if value.type.kind == "class":
            return self.call(self.attribute(value, "__len__", node), [], {}, node)
        return self.builtin("len", value)

    def function_range(self, arguments, keywords, node):
        values = [self.convert(a, T.INT) if not self.is_static(a) else a for a in arguments]
        start, stop, step = [*([Const(0)] if len(values) == 1 else []), *values, Const(1)][:3]
        if all(isinstance(v, Const) for v in (start, stop, step)):
            items = range(start.obj, stop.obj, step.obj)
            if self.frame.library:
                return Iterable(len(items), lambda i: Const(items[i]), True)
            count = Const(len(items))
        elif isinstance(step, Const) and step.obj == 1 and isinstance(start, Const) and start.obj == 0:
            return Iterable(stop, lambda i: i)
        else:
            count = self.builtin("__range_length", start, stop, step)
        if all(isinstance(v, Const) for v in (start, step)) and (start.obj, step.obj) == (0, 1):
            return Iterable(count, lambda i: i)
        return Iterable(count, lambda i: self.builtin("__derive_index", i, start, step))

    def function_hash(self, arguments, keywords, node):
        (value,) = arguments
        if isinstance(value, ir.Value) and value.type.kind == "class":
            return self.call(self.attribute(value, "__hash__", node), [], {}, node)
        return self.builtin("hash", self.materialize(value))

    def function_slice(self, arguments, keywords, node):
        if keywords or not 1 <= len(arguments) <= 3:
            self.fail("slice does not accept any keyword arguments, and takes 1 to 3 others", node)
        ends = [None if isinstance(a, Const) and a.obj is None else a for a in arguments]
        return Slice(*([None, *ends, None] if len(ends) == 1 else [*ends, None])[:3])

    def function_enumerate(self, arguments, keywords, node):
        inner = self.iterable(arguments[0], node)
        start = keywords.get("start", arguments[1] if len(arguments) > 1 else Const(0))

        def item(i):
            place = Const(i) if isinstance(i, int) else i
            return Tuple([self.binary(ast.Add(), place, start, node) if start.obj != 0 else place, inner.item(i)])

        if not isinstance(start, Const):
            self.fail("enumerate() needs a start that is constant")
        return Iterable(inner.count, item, inner.unrolled)

    def function_zip(self, arguments, keywords, node):
        parts = [self.iterable(a, node) for a in arguments]
        fixed = [p.count for p in parts if p.unrolled]
        if keywords and self.truth(keywords["strict"]) is not FALSE:
            self._check_lengths(parts, self.truth(keywords["strict"]))
        if fixed:
            return Iterable(min(fixed), lambda i: Tuple([p.item(i if p.unrolled else Const(i)) for p in parts]), True)
        count = self.materialize(parts[0].count)
        for part in parts[1:]:
            count = self.builtin("min.int", count, part.count)
        return Iterable(count, lambda i: Tuple([p.item(i) for p in parts]))

    def _check_lengths(self, parts, strict):
        """zip(strict=True)"""
        first = self.materialize(self._count(parts[0]))
        for place, part in enumerate(parts[1:], 2):
            same = self.builtin("eq.int", first, self._count(part))
            held = self.choose(Condition(strict), lambda same=same: same, lambda: TRUE)
            self.fail_unless(
                self.materialize(held),
                "ValueError",
                Const(f"zip() argument {place} is of another length than argument 1"),
            )

    @staticmethod
    def _count(iterable):
        return Const(iterable.count) if isinstance(iterable.count, int) else iterable.count

    def function_reversed(self, arguments, keywords, node):
        inner = self.iterable(arguments[0], node)
        if inner.unrolled:
            return Iterable(inner.count, lambda i: inner.item(inner.count - 1 - i), True)
        last = self.binary(ast.Sub(), inner.count, Const(1), node)
        return Iterable(inner.count, lambda i: inner.item(self.binary(ast.Sub(), last, i, node)))

    def function_print(self, arguments, keywords, node):
        if keywords:
            self.fail(
                "print doesn't accept any keyword arguments in scripts: join the texts first", node, FrontendError
            )
        self.emit("prim::Print", [self.materialize(self.formatted(a)) for a in arguments], [])
        return NONE

    def function_int(self, arguments, keywords, node):
        if len(arguments) == 2:
            return self.builtin("Int.base", *arguments)
        return self._number("Int", arguments[0], node) if arguments else Const(0)

    def function_float(self, arguments, keywords, node):
        return self._number("Float", arguments[0], node) if arguments else Const(0.0)

    def function_complex(self, arguments, keywords, node):
        if len(arguments) == 2:
            return self.builtin("Complex.parts", *(self.as_number(a, T.FLOAT) for a in arguments))
        return self.builtin("Complex", arguments[0])

    def function_bool(self, arguments, keywords, node):
        return self.truth(arguments[0])

    def _number(self, name, value, node):
        value = self.materialize(value)
        wanted = {"Int": T.INT, "Float": T.FLOAT}[name]
        if value.type == wanted:
            return value
        if value.type.kind == "class":
            return self.call(self.attribute(value, f"__{name.lower()}__", node), [], {}, node)
        return self.builtin(name, value)

    def function_str(self, arguments, keywords, node):
        return self.to_string(arguments[0])

    def to_string(self, value):
        if isinstance(value, Const):
            return Const(str(value.obj))
        kind = self.type_of(value)
        if kind is not None and kind.kind == "class" and self.find_method(value, "__str__"):
            return self.call(self.find_method(value, "__str__"), [], {}, self.at)
        return value if self.type_of(value) == T.STR else self.builtin("str", value)

    def function_repr(self, arguments, keywords, node):
        return self.builtin("repr", arguments[0])

    def function_list(self, arguments, keywords, node):
        if not arguments:
            return self.list_value([], None)
        value = arguments[0]
        if isinstance(value, (Tuple, Const)) and self.frame.library and self.type_of(value) is None:
            return Tuple(self.items_of(value, None, node))
        if isinstance(value, Tuple):
            return self.list_value(value.items, None)
        if isinstance(value, Iterable):
            return self.materialize_iterable(value)
        value = self.materialize(value)
        if value.type.kind == "dict":
            return self.builtin("keys", value)
        if value.type.kind in ("list", "str"):
            return self.builtin("list", value)
        if value.type == T.TENSOR:
            return self.operator("unbind", value, Const(0))
        return self.list_value(self.items_of(value, None, node), None)

    def function_tuple(self, arguments, keywords, node):
        if not arguments:
            return Tuple([])
        value = arguments[0]
        if isinstance(value, Iterable) and value.unrolled:
            return Tuple([value.item(i) for i in range(value.count)])
        found = self.type_of(value)
        if isinstance(value, ir.Value) and found.kind == "list":
            if self.frame.library:
                return value  # of any length: a list will do
            self.unsupported("a tuple of any length", "Keep the list, or unpack it into names.", node)
        return Tuple(self.items_of(value, None, node))

    def function_dict(self, arguments, keywords, node):
        if not arguments or (isinstance(arguments[0], Const) and not arguments[0].obj):
            return self.dict_value([Const(k) for k in keywords], list(keywords.values()), None)
        value = self.materialize(arguments[0])
        made = self.builtin("copy", value) if value.type.kind == "dict" else self.builtin("dict.pairs", value)
        for key, item in keywords.items():
            self.put_item(made, Const(key), item, node)
        return made

    def function_abs(self, arguments, keywords, node):
        (value,) = arguments
        found = self.type_of(value)
        if found == T.TENSOR:
            return self.operator("abs", value)
        return self.builtin("abs", self.as_number(value, T.INT) if found == T.BOOL else value)

    def function_round(self, arguments, keywords, node):
        value, *digits = [*arguments, *keywords.values()]
        found = self.type_of(value)
        if found == T.TENSOR:
            return self.tensor_method(self.materialize(value), "round", [], {"decimals": digits[0]} if digits else {})
        if found == T.INT and not digits:
            return value
        value = self.as_number(value, T.FLOAT)
        return self.builtin("round.digits", value, digits[0]) if digits else self.builtin("round.float", value)

    def function_pow(self, arguments, keywords, node):
        return self.binary(ast.Pow(), *arguments, node)

    def function_divmod(self, arguments, keywords, node):
        wanted = T.FLOAT if T.FLOAT in map(self.type_of, arguments) else T.INT
        return self.builtin("divmod", *(self.as_number(a, wanted) for a in arguments))

    def function_min(self, arguments, keywords, node):
        return self._chosen("min", arguments, keywords, node)

    def function_max(self, arguments, keywords, node):
        return self._chosen("max", arguments, keywords, node)

    def _extreme(self, name, arguments, node):
        if len(arguments) == 1:
            value = arguments[0]
            if isinstance(value, Tuple):
                return self._extreme(name, value.items, node) if len(value.items) > 1 else value.items[0]
            if isinstance(value, Iterable):
                value = self.materialize_iterable(value)
            if self.type_of(value) == T.TENSOR:
                return self.operator(name, value)
            value = self.materialize(value)
            plain = value.type in (T.list_of(T.INT), T.list_of(T.FLOAT))
            return self.builtin(f"{name}.{value.type.items[0]}_list" if plain else f"{name}.t_list", value)
        result = arguments[0]
        for other in arguments[1:]:
            types = self.type_of(result), self.type_of(other)
            if T.TENSOR in types:
                result = self.operator(f"{name}.other", result, other)
                continue
            if not all(t in (T.BOOL, T.INT, T.FLOAT) for t in types):
                result = self.builtin(f"{name}.t_list", self.list_value([result, other], None))
                continue
            wanted = T.FLOAT if T.FLOAT in types else T.INT
            result = self.builtin(f"{name}.{wanted}", self.as_number(result, wanted), self.as_number(other, wanted))
        return result

    def function_sum(self, arguments, keywords, node):
        value, *start = [*arguments, *keywords.values()]
        if isinstance(value, Iterable):
            value = self.materialize_iterable(value)
        found = self.type_of(value)
        if found == T.TENSOR:
            return self.operator("sum", value)
        if isinstance(value, Tuple) or (found is not None and found.kind == "list" and found.items[0] == T.TENSOR):
            return self._sum_items(value, start[0] if start else Const(0), node)
        total = self.builtin("sum", value)
        return self.binary(ast.Add(), start[0], total, node) if start else total

    def _sum_items(self, value, start, node):
        if isinstance(value, Tuple):
            for item in value.items:
                start = self.binary(ast.Add(), start, item, node)
            return start
        self.scope["$sum"] = self.make_tensor([start], {}) if self.type_of(start) != T.TENSOR else start
        iterable = self.iterable(value, node)

        def body(index):
            self.scope["$sum"] = self.operator("add", self.scope["$sum"], iterable.item(index))
            return TRUE

        name = ast.Assign([ast.Name("$sum", ast.Store())], ast.Constant(0))
        self.loop([name], [], self.materialize(iterable.count), TRUE, body)
        return self.scope.pop("$sum")

    def function_any(self, arguments, keywords, node):
        return self._any_or_all("any", arguments[0], node)

    def function_all(self, arguments, keywords, node):
        return self._any_or_all("all", arguments[0], node)

    def _any_or_all(self, name, value, node):
        if self.type_of(value) == T.TENSOR:
            return self.operator(name, value)
        if isinstance(value, Tuple):
            result = Const(name == "all")
            for item in value.items:
                result = self._either_or_both(name, result, self.truth(item))
            return result
        value = self.materialize(value)
        return self.builtin(f"{name}.bool" if value.type == T.list_of(T.BOOL) else f"{name}.t", value)

    def _either_or_both(self, name, a, b):
        for known, other in ((a, b), (b, a)):
            if isinstance(known, Const):
                return other if known.obj == (name == "all") else known
        return self.builtin("__and__" if name == "all" else "__or__", a, b)

    def function_ord(self, arguments, keywords, node):
        return self.builtin("ord", *arguments)

    def function_chr(self, arguments, keywords, node):
        return self.builtin("chr", *arguments)

    def function_hex(self, arguments, keywords, node):
        return self.builtin("hex", *arguments)

    def function_oct(self, arguments, keywords, node):
        return self.builtin("oct", *arguments)

    def function_bin(self, arguments, keywords, node):
        return self.builtin("bin", *arguments)

    def function_type(self, arguments, keywords, node):
        value = arguments[0]
        if isinstance(value, ModuleValue):
            return Const(value.spec.python_class)
        if isinstance(value, Const):
            return Const(type(value.obj))
        if self.type_of(value) == T.TENSOR:
            return Const(_C.Tensor)
        return self.unsupported("type()", "Use isinstance().", node)

    def function_getattr(self, arguments, keywords, node):
        if not isinstance(arguments[1], Const):
            self.unsupported("getattr() with a name that is not constant", "Use a dict or a ModuleDict.", node)
        if len(arguments) == 3 and not self.has_attribute(arguments[0], arguments[1].obj):
            return arguments[2]
        return self.attribute(arguments[0], arguments[1].obj, node)

    def function_hasattr(self, arguments, keywords, node):
        if len(arguments) != 2 or not isinstance(arguments[1], Const) or not isinstance(arguments[1].obj, str):
            self.fail("hasattr expects an object and the name of an attribute, a string that is constant", node)
        return Const(self.has_attribute(arguments[0], arguments[1].obj))

    def function_callable(self, arguments, keywords, node):
        return Const(isinstance(arguments[0], Const) and callable(arguments[0].obj))

    def function_super(self, arguments, keywords, node):
        return self.super_value(arguments, node)

    def function_id(self, arguments, keywords, node):
        return self.unsupported("id()", "Compare with `is`.", node)

    def function_map(self, arguments, keywords, node):
        inner = self.iterable(arguments[1], node)
        return Iterable(inner.count, lambda i: self.call(arguments[0], [inner.item(i)], {}, node), inner.unrolled)

    # --- methods

    def plain_method(self, owner, name, arguments, keywords, node):
        """A method of a string, list, dict, tuple or other plain value."""
        kind = owner.type.kind
        if (kind, name) == ("list", "sort"):
            return self.list_sort(owner, arguments, **keywords)
        if (kind, name) == ("str", "format") and keywords:
            self.unsupported("format() by names of a text that is not constant", "Number the fields, as in {0}.", node)
        defaults = _STRING_DEFAULTS.get(name, []) if kind == "str" else []
        try:
            values = method_arguments(kind, name, arguments, keywords, defaults)
        except TypeError as error:
            self.fail(str(error), node)
        handler = getattr(self, f"{kind}_{name}", None)
        if handler is not None and kind in ("list", "dict", "str"):
            return handler(owner, values)
        if kind == "str":
            values += defaults[len(values) :]
            if name in _PARTS_OF_STRINGS and len(values) > 1:
                return self.builtin(f"{name}.range", owner, *values, *[NONE] * (3 - len(values)))
            if self.program.tables.builtins(f"{name}.str"):
                return self.builtin(f"{name}.str", owner, *values)
        if kind in ("complex", "float", "int") and name == "conjugate":
            return self.call_library(written.conjugate, [owner], {}) if kind == "complex" else owner
        if kind == "Generator" and name in ("manual_seed", "initial_seed"):
            return self.builtin(name, owner, *arguments, *keywords.values())
        if kind == "tuple" and name in ("index", "count"):
            items = self.list_value(self.items_of(owner, None, node), None)
            return getattr(self, f"list_{name}")(items, arguments)
        if kind == "tuple" and name == "_replace" and owner.type.fields:
            fields = dict(zip(owner.type.fields, self.items_of(owner, None, node)))
            return self.construct(owner.type.host, arguments, {**fields, **keywords}, node)
        shown = T.shown(owner.type)
        return self.fail(f"'{shown}' object has no attribute or method '{name}' that scripts can use", node)

    def str_splitlines(self, owner, values):
        return self.builtin("splitlines.keep" if values else "splitlines.str", owner, *values)

    def str_format(self, owner, values):
        return self.builtin("format", owner, *map(self.formatted, values))

    def str_join(self, owner, values):
        value = self.materialize_iterable(values[0]) if isinstance(values[0], Iterable) else values[0]
        return self.builtin("join", owner, self.convert(value, T.list_of(T.STR)))

    def _item(self, owner, value):
        wanted, found = owner.type.items[0], self.type_of(value)
        converted = self.try_convert(value, wanted)
        if converted is None:
            advice = (
                f": write `name: List[{T.shown(found)}] = []` where it is made" if wanted == T.TENSOR and found else ""
            )
            self.fail(f"Could not match type {self.type_shown(value)} to the items of a {T.shown(owner.type)}{advice}")
        return converted

    def list_append(self, owner, values):
        return self.builtin("append", owner, self._item(owner, values[0]))

    def list_extend(self, owner, values):
        return self.builtin("extend", owner, self.convert(values[0], owner.type))

    def list_insert(self, owner, values):
        return self.builtin("insert", owner, values[0], self._item(owner, values[1]))

    def list_pop(self, owner, values):
        return self.builtin("pop.t", owner, values[0] if values else Const(-1))

    def list_remove(self, owner, values):
        return self.builtin("remove.t", owner, self._item(owner, values[0]))

    def list_copy(self, owner, values):
        return self.builtin("list.t", owner)

    def list_clear(self, owner, values):
        return self.builtin("clear.t", owner)

    def list_reverse(self, owner, values):
        return self.builtin("reverse.t", owner)

    def list_index(self, owner, values):
        ends = [*values[1:], Const(2**63 - 1)][: 2 if len(values) > 1 else 0]
        return self.builtin("index.part" if ends else "index.t", owner, values[0], *ends)

    def list_count(self, owner, values):
        return self.builtin("count.t", owner, values[0])

    def list_numel(self, owner, values):  # of a shape
        return self.builtin("prod.int", owner)

    def _key(self, owner, value):
        return self.convert(value, owner.type.items[0])

    def _fallback(self, owner, value):
        return self.convert(value, owner.type.items[1])

    def dict_keys(self, owner, values):
        return self.builtin("keys.dict", owner)

    def dict_values(self, owner, values):
        return self.builtin("values.dict", owner)

    def dict_items(self, owner, values):
        return self.builtin("items.dict", owner)

    def dict_copy(self, owner, values):
        return self.builtin("copy.dict", owner)

    def dict_clear(self, owner, values):
        return self.builtin("clear.dict", owner)

    def dict_get(self, owner, values):
        key = self._key(owner, values[0])
        if len(values) == 1 or self.type_of(values[1]) == T.NONE:
            return self.builtin("get.dict", owner, key)
        return self.builtin("get.default", owner, key, self._fallback(owner, values[1]))

    def dict_pop(self, owner, values):
        key = self._key(owner, values[0])
        if len(values) == 1:
            return self.builtin("pop.dict", owner, key)
        return self.builtin("pop.dict_default", owner, key, self._fallback(owner, values[1]))

    def dict_popitem(self, owner, values):
        return self.builtin("popitem.dict", owner)

    def dict_setdefault(self, owner, values):
        return self.builtin("setdefault.dict", owner, self._key(owner, values[0]), self._fallback(owner, values[1]))

    def dict_update(self, owner, values):
        return self.builtin("update.dict", owner, self.convert(values[0], owner.type))


FUNCTIONS = {
    getattr(builtins, name.removeprefix("function_")): name for name in dir(Plain) if name.startswith("function_")
} | {OrderedDict: "function_dict"}
