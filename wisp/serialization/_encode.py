"""Objects as data: a flat list of nodes in JSON, and the tensors they refer to.

A *value* is a JSON scalar, or an object with one key that says what it is: ``{"ref": 3}`` is the node of id 3,
``{"bytes": "..."}`` bytes, and so on. A *node* is a container, a tensor or another object; it has an "id" and stands in
the list behind everything it is made of, except where a structure contains itself. Being flat, it needs no
recursion to be read, and what is one object when saved is one object when loaded.
"""

import enum
from base64 import b64encode
from collections import Counter, OrderedDict, defaultdict, deque

from wisp import _C
from wisp._storage import UntypedStorage
from wisp.nn.parameter import Parameter, is_lazy
from wisp.serialization._storages import plan
from wisp.serialization._trust import name_of

VERSION = 1
_LARGEST_INT = 1 << 53  # what every reader of JSON keeps exact
_SEQUENCES = {list: "list", tuple: "tuple", set: "set", frozenset: "frozenset", deque: "deque"}
_MAPPINGS = {dict: "dict", OrderedDict: "ordered", Counter: "counter", defaultdict: "default"}
_MUTABLE = (list, set, deque)


class Encoder:
    """Takes an object apart.

    Attributes:
        document: what JSON text is to be made of.
        blobs: {name: a tensor or raw bytes to be written}, in the order they were met.
    """

    def __init__(self, obj):
        self._nodes, self._ids, self._kept, self._tensors = [], {}, [], []
        self._names = {"__metadata__": 1}  # how often each was wanted
        self.blobs = {}
        root = self._value(obj, ())
        self._place_tensors()
        self.document = {"version": VERSION, "root": root, "nodes": self._nodes}

    # --- values

    def _value(self, obj, path):
        kind = type(obj)
        if obj is None or kind is bool or kind is str:
            return obj
        encode = _SCALARS.get(kind)
        if encode is not None:
            return encode(obj)
        if id(obj) in self._ids:
            return {"ref": self._ids[id(obj)]}
        return self._other(obj, kind, path)

    def _other(self, obj, kind, path):
        if kind.__module__ == "numpy" and hasattr(obj, "tobytes"):
            return self._numpy(obj, path)
        if kind in _SEQUENCES:
            return self._sequence(obj, _SEQUENCES[kind], path)
        if kind in _MAPPINGS:
            return self._mapping(obj, _MAPPINGS[kind], path)
        if isinstance(obj, _C.Tensor):
            return self._tensor(obj, path)
        if kind is UntypedStorage:
            return self._storage(obj, path)
        if isinstance(obj, tuple) and hasattr(kind, "_fields"):
            return self._named_tuple(obj, path)
        if isinstance(obj, enum.Enum):
            return self._node(obj, {"enum": self._global(kind, path), "name": obj.name})
        if isinstance(obj, type) or (callable(obj) and hasattr(obj, "__qualname__")):
            return {"global": self._global(obj, path)}
        return self._object(obj, path)

    def _start(self, obj):
        """The id of an object that may contain itself: it is known before its contents."""
        self._ids[id(obj)] = number = len(self._ids)
        self._kept.append(obj)  # as long as it lives, its address is not another's
        return number

    def _node(self, obj, node):
        """Adds the node of an object; if it was met again below itself, it has one already."""
        if id(obj) not in self._ids:
            self._nodes.append({"id": self._start(obj), **node})
        return {"ref": self._ids[id(obj)]}

    def _finish(self, number, node):
        self._nodes.append({"id": number, **node})
        return {"ref": number}

    # --- containers

    def _sequence(self, obj, kind, path):
        number = self._start(obj) if isinstance(obj, _MUTABLE) else None
        node = {kind: [self._value(item, (*path, i)) for i, item in enumerate(obj)]}
        if kind == "deque":
            node["maxlen"] = obj.maxlen
        return self._node(obj, node) if number is None else self._finish(number, node)

    def _pairs(self, obj, path):
        flat = []
        for key, value in obj.items():
            flat += (self._value(key, (*path, "key")), self._value(value, (*path, key)))
        return flat

    def _mapping(self, obj, kind, path):
        number = self._start(obj)
        node = {kind: self._pairs(obj, path)}
        if kind == "default":
            node["factory"] = self._value(obj.default_factory, (*path, "default_factory"))
        if getattr(obj, "__dict__", None):  # a state_dict's _metadata
            node["state"] = self._value(obj.__dict__, (*path, "__dict__"))
        return self._finish(number, node)

    def _named_tuple(self, obj, path):
        items = [self._value(item, (*path, name)) for name, item in zip(obj._fields, obj)]
        return self._node(
            obj, {"namedtuple": items, "class": list(name_of(type(obj)) or ()), "fields": list(obj._fields)}
        )

    # --- tensors and arrays

    def _tensor(self, obj, path):
        if is_lazy(obj):
            return self._object(obj, path)
        number = self._start(obj)
        node = {"tensor": None}
        if type(obj) is Parameter:
            node["parameter"] = True
        elif type(obj) is not _C.Tensor:
            node["class"] = self._global(type(obj), path)
        if obj.requires_grad:
            node["requires_grad"] = True
        attributes = obj._attributes()
        if attributes:
            node["state"] = self._value(attributes, (*path, "__dict__"))
        self._tensors.append((obj, self._name(path), number))
        return self._finish(number, node)

    def _storage(self, obj, path):
        name = self._name(path)
        self.blobs[name] = obj._whole()
        return self._node(obj, {"storage": name})

    def _numpy(self, obj, path):
        if obj.dtype.kind not in "biufcSUMm":
            raise _refusal(path, f"a NumPy object of dtype {obj.dtype}", "only numbers, texts and dates can be saved")
        if obj.shape == () and not hasattr(obj, "ctypes"):  # a scalar
            return {"numpy": [obj.dtype.str, b64encode(obj.tobytes()).decode()]}
        name = self._name(path)
        self.blobs[name] = obj.tobytes()
        return self._node(obj, {"array": name, "dtype": obj.dtype.str, "shape": list(obj.shape)})

    def _name(self, path):
        """A name for data by its place, that no other has."""
        name = ".".join(str(part) for part in path if isinstance(part, (str, int))) or "data"
        while name in self._names:
            self._names[name] += 1
            name = f"{name}#{self._names[name]}"
        self._names[name] = 1
        return name

    def _place_tensors(self):
        nodes = {node["id"]: node for node in self._nodes}
        for number, (place, blobs) in plan(self._tensors):
            nodes[number].update(place)
            self.blobs.update(blobs)

    # --- other objects

    def _global(self, item, path):
        found = name_of(item)
        if found is None:
            raise _refusal(path, repr(item), "a function or class can be saved by name only, and this one has none to be "
                           "found by")  # fmt: skip
        return list(found)

    def _object(self, obj, path):
        """Whatever else there is, by the protocol of copy and pickle. Reading it back needs the reader's trust."""
        try:
            function, args, *rest = obj.__reduce_ex__(2)
        except (TypeError, ValueError) as error:
            raise _refusal(path, f"an object of {type(obj).__name__}", str(error)) from None
        state, items, pairs = (*rest, None, None, None)[:3]
        number = None
        if function.__name__ == "__newobj__" and len(args) == 1:
            number, node = self._start(obj), {"object": self._global(args[0], path)}
        elif function.__name__ == "__newobj__":
            raise _refusal(path, f"an object of {type(obj).__name__}", "its class builds it in __new__()")
        else:
            node = {
                "call": self._global(function, path),
                "args": [self._value(a, (*path, i)) for i, a in enumerate(args)],
            }
        if state is not None:
            node["state"] = self._value(state, path)
        if items is not None:
            node["items"] = [self._value(item, (*path, i)) for i, item in enumerate(items)]
        if pairs is not None:
            node["pairs"] = self._pairs(dict(pairs), path)
        return self._node(obj, node) if number is None else self._finish(number, node)


def _refusal(path, what, why):
    place = "".join(f"[{part!r}]" for part in path)
    return TypeError(f"save(): {what}{f' at {place}' if place else ''} cannot be saved: {why}")


def _int(value):
    return value if -_LARGEST_INT <= value <= _LARGEST_INT else {"int": hex(value)}


def _float(value):
    return value if value - value == 0 else {"float": repr(value)}


_SCALARS = {
    int: _int,
    float: _float,
    complex: lambda value: {"complex": [_float(value.real), _float(value.imag)]},
    bytes: lambda value: {"bytes": b64encode(value).decode()},
    bytearray: lambda value: {"bytearray": b64encode(value).decode()},
    _C.dtype: lambda value: {"dtype": str(value).rpartition(".")[2]},
    _C.device: lambda value: {"device": str(value)},
    _C.Size: lambda value: {"size": list(value)},
    type(...): lambda value: {"ellipsis": True},
}
