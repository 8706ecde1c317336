"""Objects made of data again; see _encode.py for its form."""

from base64 import b64decode
from collections import Counter, OrderedDict, defaultdict, deque

from wisp import _C
from wisp._storage import storage_of
from wisp.nn.parameter import Parameter
from wisp.serialization._encode import VERSION
from wisp.serialization._files import FileError, device_of, view
from wisp.serialization._numpy import numpy, numpy_dtype, numpy_scalar
from wisp.serialization._pickle import checked_key, set_item

_MUTABLE = {"list": list, "set": set, "dict": dict, "ordered": OrderedDict, "counter": Counter}
_ALIGNMENT = 16  # what any element of NumPy's wants


class Decoder:
    """Makes the object of a document.

    Args:
        document: the parsed JSON.
        bytes_of: a function (name, alignment) -> the data of that name, as a tensor of bytes; KeyError if there is none.
        entry_of: a function (name) -> dtype and shape of the data of that name.
        trust: the judge of names in the file.
    """

    def __init__(self, document, bytes_of, entry_of, trust):
        self._bytes_of, self._entry_of, self._trust = bytes_of, entry_of, trust
        self._made, self._data, self._alignment = {}, {}, {}
        try:
            self.result = self._decode(document)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
            raise FileError(
                f"the file is damaged: its structure cannot be read: {type(error).__name__}: {error}"
            ) from error

    def _decode(self, document):
        if document["version"] != VERSION:
            raise FileError(f"the file is of version {document['version']}, this wisp reads version {VERSION}")
        for node in document["nodes"]:
            self._prepare(node)
        for node in document["nodes"]:
            self._complete(node)
        return self._value(document["root"])

    # --- values

    def _value(self, value):
        if not isinstance(value, dict):
            if isinstance(value, list):
                raise TypeError("a list stands where a value should")
            return value
        [(kind, data)] = value.items()
        return self._made[data] if kind == "ref" else getattr(self, "_value_" + kind)(data)

    def _value_int(self, data):
        return int(data, 16)

    def _value_float(self, data):
        return float(data)

    def _value_complex(self, data):
        return complex(*(self._value(part) for part in data))

    def _value_bytes(self, data):
        return b64decode(data, validate=True)

    def _value_bytearray(self, data):
        return bytearray(b64decode(data, validate=True))

    def _value_dtype(self, data):
        return dtype_of(data)

    def _value_device(self, data):
        return device_of(data)

    def _value_size(self, data):
        return _C.Size(data)

    def _value_ellipsis(self, data):
        return ...

    def _value_global(self, data):
        return self._trust.find(*data)

    def _value_numpy(self, data):
        return numpy_scalar(numpy_dtype(data[0]), b64decode(data[1], validate=True))

    # --- nodes: first what may be referred to before it is complete

    def _prepare(self, node):
        number, kind = node["id"], _kind(node)
        if type(number) is not int or number in self._made:
            raise ValueError(f"a node has the id {number!r}")
        if kind in _MUTABLE:
            self._made[number] = _MUTABLE[kind]()
        elif kind == "tensor":
            self._note_alignment(node)
        elif kind == "deque":
            self._made[number] = deque(maxlen=node["maxlen"])
        elif kind == "default":
            self._made[number] = defaultdict(self._factory(node["factory"]))
        elif kind == "object":
            self._made[number] = self._trust.bare(self._trust.find(*node["object"]))

    def _note_alignment(self, node):
        """Data is aligned for all tensors on it."""
        name = node["tensor"]
        dtype = dtype_of(node["dtype"]) if "dtype" in node else self._entry_of(name).dtype
        self._alignment[name] = max(self._alignment.get(name, 1), dtype.itemsize // (2 if dtype.is_complex else 1))

    def _factory(self, value):
        """What a defaultdict calls for missing keys: a plain type, or something trusted."""
        found = None if value is None else self._trust.find(*value["global"])
        if found in (None, dict, list, set, int, float, str, tuple, bool) or self._trust.may_call(found):
            return found
        raise FileError(f"the file contains a defaultdict of {found}, which would be called")

    # --- then the rest, in order

    def _complete(self, node):
        kind = _kind(node)
        getattr(self, "_complete_" + kind)(node, self._made.get(node["id"]))

    def _values(self, items):
        return [self._value(item) for item in items]

    def _complete_list(self, node, made):
        made.extend(self._values(node["list"]))

    def _complete_deque(self, node, made):
        made.extend(self._values(node["deque"]))

    def _complete_set(self, node, made):
        made.update(checked_key(item) for item in self._values(node["set"]))

    def _complete_tuple(self, node, made):
        self._made[node["id"]] = tuple(self._values(node["tuple"]))

    def _complete_frozenset(self, node, made):
        self._made[node["id"]] = frozenset(map(checked_key, self._values(node["frozenset"])))

    def _complete_namedtuple(self, node, made):
        """Of its class if the program has it, with the same fields; else a plain tuple."""
        from wisp.serialization._trust import imported

        items = self._values(node["namedtuple"])
        cls = imported(*node["class"]) if node["class"] else None
        fits = isinstance(cls, type) and issubclass(cls, tuple) and list(getattr(cls, "_fields", ())) == node["fields"]
        self._made[node["id"]] = tuple.__new__(cls, items) if fits and len(items) == len(cls._fields) else tuple(items)

    def _pairs(self, flat):
        values = self._values(flat)
        return zip(values[::2], values[1::2], strict=True)

    def _complete_dict(self, node, made):
        for key, value in self._pairs(node[_kind(node)]):
            made[checked_key(key)] = value
        if "state" in node:
            self._trust.set_attributes(made, self._value(node["state"]))

    _complete_ordered = _complete_counter = _complete_default = _complete_dict

    def _complete_tensor(self, node, made):
        cls = Parameter if node.get("parameter") else self._trust.find(*node["class"]) if "class" in node else _C.Tensor
        if not issubclass(cls, _C.Tensor):
            raise TypeError(f"{cls} is no class of tensors")
        entry, data = self._entry_of(node["tensor"]), self._shared(node["tensor"])
        dtype = dtype_of(node["dtype"]) if "dtype" in node else entry.dtype
        shape, stride = node.get("shape", entry.shape), node.get("stride")
        state = self._value(node["state"]) if "state" in node else None
        if "order" in node:
            data, stride = _reordered(data, dtype, shape, node["order"]), node["order"]
        self._made[node["id"]] = view(cls, data, dtype, node.get("offset", 0), shape, stride,
                                      bool(node.get("requires_grad")), state)  # fmt: skip

    def _shared(self, name):
        """The data of that name; the same for all that ask."""
        if name not in self._data:
            self._data[name] = self._bytes_of(name, self._alignment[name])
        return self._data[name]

    def _complete_storage(self, node, made):
        self._made[node["id"]] = storage_of(self._bytes_of(node["storage"], _ALIGNMENT))

    def _complete_array(self, node, made):
        data, dtype = self._bytes_of(node["array"], _ALIGNMENT), numpy_dtype(node["dtype"])
        array = numpy().frombuffer(data, dtype) if len(data) else numpy().empty(0, dtype)
        self._made[node["id"]] = array.reshape(node["shape"])

    def _complete_enum(self, node, made):
        import enum

        cls = self._trust.find(*node["enum"])
        if not isinstance(cls, enum.EnumMeta):
            raise TypeError(f"{cls} is no enumeration")
        self._made[node["id"]] = cls.__members__[node["name"]]

    def _complete_object(self, node, made):
        if "state" in node:
            self._trust.set_state(made, self._value(node["state"]))
        self._fill(node, made)

    def _complete_call(self, node, made):
        made = self._trust.call(self._trust.find(*node["call"]), self._values(node["args"]))
        self._made[node["id"]] = made
        self._complete_object(node, made)

    def _fill(self, node, made):
        """What subclasses of list and dict contain."""
        if "items" in node:
            list.extend(made, self._values(node["items"]))
        for key, value in self._pairs(node.get("pairs", ())):
            set_item(made, checked_key(key), value)


def _kind(node):
    """What a node is: the key next to its id."""
    first, kind, *_ = node
    if first != "id":
        raise ValueError("a node does not begin with its id")
    return kind


def dtype_of(name):
    found = getattr(_C, name, None)
    if not isinstance(found, _C.dtype):
        raise FileError(f"the file contains a tensor of dtype {name}, which wisp does not have")
    return found


def _reordered(data, dtype, shape, stride):
    """Row-major data in the order of other strides, as bytes."""
    source = view(_C.Tensor, data, dtype, 0, shape, None)
    room = data.clone()
    view(_C.Tensor, room, dtype, 0, shape, stride).copy_(source)
    return room
