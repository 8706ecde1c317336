"""Attributes and items of values."""

import ast
import inspect

import wisp
from wisp import _C
from wisp.jit._script import annotations, enums, ir
from wisp.jit._script import types as T
from wisp.jit._script.interfaces import interface_of
from wisp.jit._script.values import (
    NONE,
    UNSET,
    Attribute,
    Closure,
    Const,
    Iterable,
    Method,
    ModuleValue,
    Native,
    StaticDict,
    StaticObject,
    Super,
    Tuple,
)


class Members:
    """Reads and writes attributes and items."""

    def wrap(self, obj):
        """A Python object as a value."""
        if isinstance(
            obj,
            (
                ir.Value,
                Const,
                Tuple,
                Method,
                Closure,
                ModuleValue,
                StaticDict,
                StaticObject,
                Iterable,
                Attribute,
                Native,
            ),
        ):
            return obj
        return Const(self.program.unwrap(obj))

    # --- attributes

    def attribute(self, owner, name, node=None):
        """owner.name"""
        if isinstance(owner, ModuleValue):
            return self.module_attribute(owner, name, node)
        if isinstance(owner, Super):
            return self.super_attribute(owner, name, node)
        if isinstance(owner, Tuple):
            return self._tuple_attribute(owner, name, node)
        if isinstance(owner, StaticDict):
            return Attribute(owner, name)
        if isinstance(owner, StaticObject):
            return self.static_attribute(owner, name, node)
        if isinstance(owner, Const) and not isinstance(owner.obj, _C.Tensor):
            return self._constant_attribute(owner.obj, name, node)
        if isinstance(owner, (Method, Closure, Iterable, Attribute)):
            return self.fail(f"{self.what_is(owner)} has no attribute '{name}'", node)
        return self._value_attribute(self.materialize(owner), name, node)

    def _constant_attribute(self, obj, name, node):
        try:
            found = getattr(obj, name)
        except AttributeError:
            if obj is wisp and self.program.tables.is_known(name):  # as `.code` writes what Python has no name for
                return Native(lambda *arguments: self.known_function(name, arguments))
            who = f"'{obj.__name__}'" if hasattr(obj, "__name__") else f"'{type(obj).__name__}' object"
            method = "" if hasattr(obj, "__name__") else " or method"
            return self.fail(f"{who} has no attribute{method} '{name}'", node)
        return self.wrap(found)

    def _tuple_attribute(self, owner, name, node):
        name = enums.field_of(owner, name)
        if name in owner.fields:
            return owner.items[owner.fields.index(name)]
        if name != "_replace" and owner.name and inspect.isfunction(getattr(owner.host, name, None)):
            return Method(owner, getattr(owner.host, name))
        return Attribute(self.materialize(owner), name)

    def _value_attribute(self, owner, name, node):
        found = owner.type
        if found == T.TENSOR:
            return self.tensor_attribute(owner, name, node)
        if found.kind == "class":
            return self.object_attribute(owner, name, node)
        if interface_of(found) is not None:
            return self.interface_attribute(owner, name, node)
        name = enums.field_of(found, name)
        if found.kind == "tuple" and name in found.fields:
            at = found.fields.index(name)
            return self.emit_one("prim::TupleIndex", [owner], found.items[at], {"index": ir.Constant(str(at))})
        if found.kind == "tuple" and name != "_replace" and inspect.isfunction(getattr(found.host, name, None)):
            return Method(
                Tuple(self.items_of(owner, None, node), found.name, found.fields, found.host), getattr(found.host, name)
            )
        if enums.is_plain_enum(found) and name in ("name", "value"):
            return self._plain_member_attribute(owner, name, node)
        if found == T.DEVICE and name in ("type", "index"):
            return self.builtin(f"{name}.Device", owner)
        if found == T.DTYPE and name in ("is_floating_point", "is_complex"):
            return self.builtin(f"{name}.dtype", owner)
        if found in (T.COMPLEX, T.FLOAT, T.INT) and name in ("real", "imag"):
            return self.builtin(f"{name}.complex", self.as_number(owner, T.COMPLEX))
        if found.kind == "optional":
            inner = T.shown(found.items[0])
            self.fail(f"'{name}' of an Optional[{inner}] cannot be read: test `is not None` or assert it before", node)
        return Attribute(owner, name)

    def _plain_member_attribute(self, owner, name, node):
        if name == "value":
            return owner
        members = owner.type.host.__members__
        names = self.dict_value([Const(m.value) for m in members.values()], list(map(Const, members)), None)
        return self.get_item(names, owner, node)

    def has_attribute(self, owner, name):
        if isinstance(owner, ModuleValue):
            return owner.spec.has(name)
        if isinstance(owner, Const):
            return hasattr(owner.obj, name)
        found = self.type_of(owner)
        if found is not None and found.kind == "class":
            return self.program.object_has(found, name)
        if found is not None and found.kind == "tuple":
            return name in found.fields or (bool(found.fields) and hasattr(found.host, name))
        host = {T.TENSOR: _C.Tensor, T.INT: int, T.FLOAT: float, T.BOOL: bool, T.STR: str}.get(found)
        return host is not None and hasattr(host, name)

    def super_value(self, arguments, node):
        frame = self.frame
        while frame is not None and frame.owner is None:
            frame = frame.parent
        if frame is None:
            self.fail("super() can only be used in a method", node)
        owner = frame.scope.get("self") or frame.scope[next(iter(frame.scope))]
        return Super(arguments[1] if len(arguments) == 2 else owner, frame.owner)

    def super_attribute(self, owner, name, node):
        host = owner.owner.spec.python_class if isinstance(owner.owner, ModuleValue) else owner.owner.type.host
        order = host.__mro__
        for cls in order[order.index(owner.after) + 1 :]:
            if name in vars(cls):
                found = vars(cls)[name]
                return Method(owner.owner, found) if inspect.isfunction(found) else self.wrap(getattr(cls, name))
        return self.fail(f"'super' object has no attribute '{name}'", node)

    # --- items

    def on_Subscript(self, node, hint):
        owner = self.expression(node.value)
        if (
            isinstance(owner, Const)
            and isinstance(owner.obj, type)
            or getattr(getattr(owner, "obj", None), "__module__", "") == "typing"
        ):
            return Const(owner.obj[self.lookup_annotation(node.slice)])
        index = self.index(node.slice)
        self.at = node
        if isinstance(owner, ModuleValue):
            return self.module_item(owner, index, node, hint)
        return self.get_item(owner, index, node)

    def lookup_annotation(self, node):
        return eval(ast.unparse(node), {}, annotations._Names(self.lookup_python))

    def get_item(self, owner, index, node):
        """owner[index]"""
        if isinstance(owner, ModuleValue):
            return self.module_item(owner, index, node)
        if isinstance(owner, StaticDict):
            key = self.static(index) if not isinstance(index, (slice, list)) and self.is_static(index) else None
            return owner.items[key] if key in owner.items else self.fail(f"there is no {key!r} in the dict", node)
        if isinstance(owner, Tuple):
            return self._tuple_item(owner.items, index, node)
        plain = self._static_index(index)
        if self.is_static(owner) and plain is not UNSET:
            return self.folded(lambda: self.static(owner)[plain])
        owner = self.materialize(owner)
        if owner.type == T.TENSOR:
            return self.tensor_item(owner, index)
        if owner.type.kind == "tuple":
            return self._tuple_item(self.emit("prim::TupleUnpack", [owner], owner.type.items), index, node)
        if owner.type.kind == "class":
            return self.call(self.attribute(owner, "__getitem__", node), [index], {}, node)
        if owner.type.kind not in ("list", "dict", "str"):
            self.fail(f"{self.what_is(owner)} has no items", node)
        if isinstance(index, slice):
            return self.builtin(
                "slice", owner, *(NONE if p is None else p for p in (index.start, index.stop, index.step))
            )
        wanted = owner.type.items[0] if owner.type.kind == "dict" else T.INT
        return self.builtin("__getitem__", owner, self.convert(self._index_value(index, node), wanted))

    def _index_value(self, index, node):
        if isinstance(index, list):
            return Tuple(index)
        return index

    def _static_index(self, index):
        """An index as a Python object, or UNSET if it is not known."""
        if isinstance(index, slice):
            parts = [NONE if p is None else p for p in (index.start, index.stop, index.step)]
            return slice(*(p.obj for p in parts)) if all(isinstance(p, Const) for p in parts) else UNSET
        if isinstance(index, list):
            parts = [self._static_index(part) for part in index]
            return UNSET if any(p is UNSET for p in parts) else tuple(parts)
        return self.static(index) if self.is_static(index) else UNSET

    def _tuple_item(self, items, index, node):
        known = self._static_index(index)
        if isinstance(known, slice):
            return Tuple(items[known])
        if isinstance(known, int):
            if not -len(items) <= known < len(items):
                self.fail(f"tuple index {known} is out of range for {len(items)} items", node)
            return items[known]
        types = {self.type_of(item) for item in items}
        if len(types) == 1 and None not in types:
            return self.get_item(self.list_value(items, None), index, node)
        return self.fail("the index of a tuple whose items are of different types has to be a constant, because we cannot "
                         "resolve the output type otherwise", node)  # fmt: skip

    def put_item(self, owner, index, value, node):
        """owner[index] = value"""
        if isinstance(owner, StaticDict) and self.is_static(index):
            owner.items[self.static(index)] = value
            return
        if isinstance(owner, Const) and isinstance(owner.obj, (list, dict)):
            self.fail(f"an item of a {type(owner.obj).__name__} that is a constant of the script would be changed: pass it "
                      "as an argument, or keep it in an attribute of the module", node)  # fmt: skip
        owner = self.materialize(owner)
        if owner.type == T.TENSOR:
            self.put_tensor_item(owner, index, value)
        elif owner.type.kind == "class":
            self.call(self.attribute(owner, "__setitem__", node), [index, value], {}, node)
        elif owner.type.kind == "list" and isinstance(index, slice):
            ends = [NONE if p is None else p for p in (index.start, index.stop)]
            if index.step is not None:
                self.unsupported("assignment to a slice with a step", "Assign the items in a loop.", node)
            self.builtin("_set_slice", owner, *ends, self.convert(value, owner.type))
        elif owner.type.kind in ("list", "dict"):
            key = T.INT if owner.type.kind == "list" else owner.type.items[0]
            item = self.convert(value, owner.type.items[-1])
            self.builtin("_set_item", owner, self.convert(index, key), item)
        else:
            self.fail(f"{self.what_is(owner)} does not support subscripted assignment", node)
