"""Values that become values of type Any: what is a named tuple or a member of an enum says so from then on."""

from wisp.jit._script.control import Condition
from wisp.jit._script.values import NONE, TRUE, Const, Tuple


def _is_named(kind):
    return kind.kind == "tuple" and bool(kind.fields)


def _holds_named(kind):
    """Whether there are named tuples in a list, dict or tuple; those of a dict's keys stay as they are."""
    parts = kind.items[1:] if kind.kind == "dict" else kind.items
    return kind.kind in ("list", "dict", "tuple", "optional") and any(_is_named(p) or _holds_named(p) for p in parts)


class Anys:
    """Writes types into values."""

    def as_any(self, value):
        """A value as one of type Any: named tuples keep their names, in lists, dicts and tuples too."""
        value = self.materialize(value)
        if _holds_named(value.type):
            value = self._with_named_parts(value)
        if not _is_named(value.type):
            return value
        return self.builtin("_named", value, Const(value.type.name), Const(list(value.type.fields)))

    def _with_named_parts(self, value):
        """The same value: lists and dicts get their own items again."""
        kind = value.type
        if kind.kind == "list":
            self._name_items(self.builtin("len", value), lambda i: i, value)
        elif kind.kind == "dict":
            keys = self.builtin("keys", value)
            self._name_items(self.builtin("len", value), lambda i: self.builtin("__getitem__", keys, i), value)
        elif kind.kind == "optional":
            some = Condition(self.builtin("__isnot__", value, NONE))

            def named():
                return self._named_part(self.emit_one("prim::UncheckedCast", [value], kind.items[0]))

            return self.convert(self.choose(some, named, lambda: NONE), kind)
        else:
            items = [self._named_part(item) for item in self.emit("prim::TupleUnpack", [value], kind.items)]
            return self.materialize(Tuple(items, kind.name, kind.fields, kind.host))
        return value

    def _name_items(self, count, key_at, container):
        def body(index):
            key = key_at(index)
            self.builtin("_set_item", container, key, self._named_part(self.builtin("__getitem__", container, key)))
            return TRUE

        self.loop([], [], count, TRUE, body)

    def _named_part(self, item):
        kind = item.type
        if not _is_named(kind) and not _holds_named(kind):
            return item
        found = self.as_any(item)
        return found if found.type == kind else self.emit_one("prim::UncheckedCast", [found], kind)
