"""What names and expressions stand for while a program is compiled, besides values of the graph (ir.Value)."""

from dataclasses import dataclass, field


class Const:
    """A Python object known now: numbers and strings, but also modules, functions and classes."""

    __slots__ = ("obj",)

    def __init__(self, obj):
        self.obj = obj

    def __repr__(self):
        return f"Const({self.obj!r})"


class Tuple:
    """A tuple whose items are known one by one. A named one has the type of its class."""

    __slots__ = ("fields", "host", "items", "name")

    def __init__(self, items, name="", fields=(), host=None):
        self.items, self.name, self.fields, self.host = list(items), name, tuple(fields), host


@dataclass(eq=False)
class ModuleValue:
    """A module of the program: its object in the graph, and what is known of its class."""

    value: object
    spec: object
    path: tuple = ()  # for messages


@dataclass(eq=False)
class Method:
    """A Python function with its first argument."""

    owner: object
    function: object


@dataclass(eq=False)
class Attribute:
    """A method of a value of the graph (tensor, list, string ...) that has not been called yet."""

    owner: object
    name: str


@dataclass(eq=False)
class Closure:
    """A function defined inside of the one that is compiled: compiled where it is called."""

    node: object
    frame: object


@dataclass(eq=False)
class Native:
    """A function of the compiler itself, which library code that it compiles calls."""

    function: object


@dataclass(eq=False)
class Super:
    """super() in a method."""

    owner: object
    after: type


@dataclass(eq=False)
class Iterable:
    """What a for loop goes over: how many items, and a function that emits the item of a place.

    `count` is a value of the graph, or an int if it is known: then the loop can be unrolled, if the items differ
    in type.
    """

    count: object
    item: object
    unrolled: bool = False


@dataclass(eq=False)
class Slice:
    """slice(start, stop, step) whose ends are values; None is the natural end."""

    start: object
    stop: object
    step: object


@dataclass(eq=False)
class StaticObject:
    """An object of one of the library's own classes. Its attributes are kept among the names of a frame, as "@1.name"."""

    cls: type
    number: int


@dataclass(eq=False)
class StaticDict:
    """A dict whose keys are known, in library code."""

    items: dict = field(default_factory=dict)


class Undefined:
    """A name that has no value on some way to here."""

    __slots__ = ("reason",)

    def __init__(self, reason):
        self.reason = reason


class _Unset:
    """A value that has not been given yet and will not be read: it may be of any type."""

    def __repr__(self):
        return "UNSET"


UNSET = _Unset()
TRUE, FALSE, NONE = Const(True), Const(False), Const(None)
