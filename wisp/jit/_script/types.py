"""The types of values in a program, as its text names them."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Type:
    """A kind, and the types of its parts.

    Kinds with parts are "list" (of one type), "tuple", "dict" (key, value), "optional", "future" and "class"; the others are
    written as they are: "Tensor", "int". A named tuple has a name and fields; a class has a name.
    """

    kind: str
    items: tuple = ()
    name: str = ""
    fields: tuple = ()
    host: object = field(default=None, compare=False, hash=False)  # the Python class, or the spec of a module

    def __str__(self):
        return _WRITE.get(self.kind, lambda t: t.kind)(self)


def _tuple_text(t):
    if t.name:
        return t.name + "(" + ", ".join(f"{f} : {item}" for f, item in zip(t.fields, t.items)) + ")"
    return "(" + ", ".join(map(str, t.items)) + (",)" if len(t.items) == 1 else ")")


_WRITE = {
    "list": lambda t: f"{t.items[0]}[]",
    "optional": lambda t: f"{t.items[0]}?",
    "dict": lambda t: f"Dict({t.items[0]}, {t.items[1]})",
    "future": lambda t: f"Future({t.items[0]})",
    "tuple": _tuple_text,
    "class": lambda t: t.name,
}

TENSOR, INT, FLOAT, BOOL, STR, COMPLEX = map(Type, ("Tensor", "int", "float", "bool", "str", "complex"))
NUMBER, NONE, DEVICE, DTYPE, ANY = map(Type, ("Scalar", "NoneType", "Device", "Dtype", "Any"))
LAYOUT, MEMORY_FORMAT, GENERATOR = map(Type, ("Layout", "MemoryFormat", "Generator"))
SIMPLE = {t.kind: t for t in (TENSOR, INT, FLOAT, BOOL, STR, COMPLEX, NUMBER, NONE, DEVICE, DTYPE, ANY, LAYOUT,
                              MEMORY_FORMAT, GENERATOR)}  # fmt: skip
NUMBERS = (BOOL, INT, FLOAT, COMPLEX, NUMBER)


def list_of(item):
    return Type("list", (item,))


def dict_of(key, value):
    return Type("dict", (key, value))


def one_of(types):
    """A value of one of these types (a Union): isinstance() tells which."""
    return types[0] if len(types) == 1 else Type("Any", host=tuple(types))


def members(t):
    """The types that a Union names; of other types, none."""
    return t.host if t.kind == "Any" and isinstance(t.host, tuple) else ()


def future_of(result):
    return Type("future", (result,))


def tuple_of(items):
    return Type("tuple", tuple(items))


def optional_of(t):
    return t if t.kind in ("optional", "NoneType", "Any") else Type("optional", (t,))


def named_tuple_of(name, fields, items, host=None):
    return Type("tuple", tuple(items), name, tuple(fields), host)


def class_of(name, host):
    return Type("class", (), name, (), host)


def without_none(t):
    return t.items[0] if t.kind == "optional" else t


def is_subtype(a, b):
    """Whether a value of type a may stand where b is expected, without a conversion."""
    if b.kind == "Any":
        return not members(b) or _is_member(a, b)
    if a == b:
        return True
    if b == NUMBER:
        return a in NUMBERS
    if b.kind == "optional":
        return a == NONE or is_subtype(without_none(a), b.items[0])
    if a.kind == b.kind == "future":
        return is_subtype(a.items[0], b.items[0])
    if a.kind != b.kind or a.kind != "tuple" or len(a.items) != len(b.items):
        return False
    if b.name and (a.name, a.fields) != (b.name, b.fields):
        return False
    return all(map(is_subtype, a.items, b.items))


def _is_member(a, union):
    """Whether a value of type a is one of a Union."""
    if a.kind == "Any":
        return bool(members(a)) and all(is_subtype(each, union) for each in members(a))
    if a.kind == "optional":
        return is_subtype(NONE, union) and is_subtype(a.items[0], union)
    return any(is_subtype(a, each) for each in members(union))


def unify(a, b):
    """The smallest type that holds both, or None."""
    if is_subtype(a, b):
        return b
    if is_subtype(b, a):
        return a
    if NONE in (a, b):
        return optional_of(b if a == NONE else a)
    if "optional" in (a.kind, b.kind):
        both = unify(without_none(a), without_none(b))
        return both and optional_of(both)
    if a.kind == b.kind == "tuple" and len(a.items) == len(b.items):
        items = [unify(x, y) for x, y in zip(a.items, b.items)]
        return tuple_of(items) if all(items) else None
    return None


def from_schema(text):
    """The type that a schema's text names: "int[]?", "Dict(K, V)"; letters stand for themselves."""
    if text.endswith("?"):
        return optional_of(from_schema(text[:-1]))
    if text.endswith("[]"):
        return list_of(from_schema(text[:-2]))
    if text.startswith("Dict("):
        return dict_of(*map(from_schema, _split(text[5:-1])))
    if text.startswith("Future("):
        return future_of(from_schema(text[7:-1]))
    if text.startswith("("):
        return tuple_of(map(from_schema, _split(text[1:-1])))
    return SIMPLE.get(text) or Type(text)


def _split(text):
    parts, depth, begin = [], 0, 0
    for i, c in enumerate(text + ","):
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append(text[begin:i].strip())
            begin = i + 1
    return parts


def match(wanted, given, letters):
    """Whether a value of type `given` fits `wanted`, whose letters T, K, V are noted as they are found."""
    if wanted.kind in ("T", "K", "V"):
        return is_subtype(given, letters.setdefault(wanted.kind, given))
    if wanted.kind == "optional":
        return given == NONE or match(wanted.items[0], without_none(given), letters)
    if wanted.kind in ("list", "dict", "tuple"):
        return (given.kind == wanted.kind and len(given.items) == len(wanted.items)
                and all(match(w, g, letters) for w, g in zip(wanted.items, given.items)))  # fmt: skip
    return is_subtype(given, wanted)


def fill(t, letters):
    """A schema's type with its letters replaced."""
    if t.kind in letters:
        return letters[t.kind]
    if t.kind == "optional":
        return optional_of(fill(t.items[0], letters))
    return Type(t.kind, tuple(fill(item, letters) for item in t.items)) if t.items else t


def shown(t):
    """As Python's annotations would write it, for messages."""
    if t.kind == "list":
        return f"List[{shown(t.items[0])}]"
    if t.kind == "optional":
        return f"Optional[{shown(t.items[0])}]"
    if t.kind == "dict":
        return f"Dict[{shown(t.items[0])}, {shown(t.items[1])}]"
    if t.kind == "tuple":
        return t.name or f"Tuple[{', '.join(map(shown, t.items))}]"
    if members(t):
        return f"Union[{', '.join(map(shown, members(t)))}]"
    return {"NoneType": "None", "Scalar": "number", "Dtype": "dtype", "Device": "device"}.get(t.kind, str(t))
