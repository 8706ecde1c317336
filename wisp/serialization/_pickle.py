"""An interpreter of pickles that runs no code of theirs: what they name, call and build is decided by its owner."""

import struct
from codecs import escape_decode
from collections import OrderedDict

from wisp.serialization._files import FileError

_MARK = object()
_SIZES = {form: struct.calcsize(form) for form in ("<B", "<H", "<i", "<I", "<Q", ">d")}
_LONGEST_LINE = 1 << 20
_LARGEST_KEY = 10_000  # parts of a key of a dict; nested tuples could make its hash take for ever


def checked_key(key):
    """A key that can be hashed in reasonable time."""
    if type(key) in (str, int):
        return key
    parts, seen = [key], 0
    while parts:
        part = parts.pop()
        seen += 1
        if isinstance(part, (tuple, frozenset)):
            parts += part
        elif isinstance(part, slice):  # which later versions of Python hash
            parts += (part.start, part.stop, part.step)
        if seen + len(parts) > _LARGEST_KEY:
            raise FileError("the file is damaged: a key of a dict is too large")
    try:
        hash(key)
    except TypeError as error:
        raise FileError(f"the file is damaged: a key cannot be one: {error}") from None
    return key


def set_item(target, key, value):
    """An item of a dict or of an object of a subclass, whose own code is not called."""
    (OrderedDict if isinstance(target, OrderedDict) else dict).__setitem__(target, key, value)


class Machine:
    """Runs one pickle.

    Args:
        data: a memoryview that contains it.
        position: where it begins; afterwards, where it ended.
        owner: has ``find(module, name)``, ``reduce(function, args)``, ``new(cls, args, kwargs)``, ``build(made, state)``
            and ``persistent(id)``.
        encoding: of strings written by Python 2; "bytes" leaves them as they are.
    """

    def __init__(self, data, position, owner, encoding="utf-8"):
        self.data, self.position, self.owner, self.encoding = data, position, owner, encoding
        self.stack, self.memo = [], {}

    def run(self):
        """The object of the pickle."""
        try:
            return self._run()
        except FileError:
            raise
        except (IndexError, KeyError, TypeError, ValueError, AttributeError, OverflowError, struct.error) as error:
            raise FileError(
                f"the file is damaged: its pickle cannot be read: {type(error).__name__}: {error}"
            ) from error

    def _run(self):
        data = self.data
        while True:
            code = data[self.position]
            self.position += 1
            if code == ord("."):
                return self.stack.pop()
            step = _STEPS.get(code)
            if step is None:
                raise FileError(f"the file is damaged: {code:#x} is no instruction of a pickle that holds data")
            step(self)

    # --- reading arguments

    def bytes(self, size):
        end = self.position + size
        if size < 0 or end > len(self.data):
            raise FileError("the file is damaged: its pickle is cut off")
        found = bytes(self.data[self.position : end])
        self.position = end
        return found

    def number(self, form):
        found = struct.unpack_from(form, self.data, self.position)[0]
        self.position += _SIZES[form]
        return found

    def line(self):
        for window in (1 << 8, 1 << 12, 1 << 16, _LONGEST_LINE):
            found, end, _ = bytes(self.data[self.position : self.position + window]).partition(b"\n")
            if end:
                self.position += len(found) + 1
                return found
        raise FileError("the file is damaged: a line of its pickle does not end")

    def text(self, form):
        return self.bytes(self.number(form)).decode("utf-8", "surrogatepass")

    def old_text(self, raw):
        return raw if self.encoding == "bytes" else raw.decode(self.encoding)

    # --- the stack

    def since_mark(self):
        for i in range(len(self.stack) - 1, -1, -1):
            if self.stack[i] is _MARK:
                items = self.stack[i + 1 :]
                del self.stack[i:]
                return items
        raise FileError("the file is damaged: its pickle misses a mark")

    def push(self, value):
        self.stack.append(value)

    def append(self, items):
        target = self.stack[-1]
        if type(target) is not list and not hasattr(target, "extend"):
            raise FileError(f"the file is damaged: it appends to an object of {type(target).__name__}")
        (list.extend if isinstance(target, list) else type(target).extend)(target, items)

    def set_items(self, flat):
        target = self.stack[-1]
        if not isinstance(target, dict) or len(flat) % 2:
            raise FileError(f"the file is damaged: it sets items of an object of {type(target).__name__}")
        for key, value in zip(flat[::2], flat[1::2]):
            set_item(target, checked_key(key), value)

    def add(self, items):
        target = self.stack[-1]
        if type(target) is not set:
            raise FileError(f"the file is damaged: it adds to an object of {type(target).__name__}")
        target.update(checked_key(item) for item in items)

    def remember(self, number):
        self.memo[number] = self.stack[-1]

    def new(self, with_kwargs):
        kwargs = self.stack.pop() if with_kwargs else {}
        args = self.stack.pop()
        self.push(self.owner.new(self.stack.pop(), args, kwargs))


_STEPS = {}


def _step(code):
    def put(function):
        _STEPS[code if isinstance(code, int) else ord(code)] = function
        return function

    return put


def _pushes(code, make):
    _STEPS[code if isinstance(code, int) else ord(code)] = lambda machine: machine.push(make(machine))


def _int_line(machine):
    line = machine.line()
    return {b"00": False, b"01": True}.get(line, None) if line in (b"00", b"01") else int(line)


def _signed(machine, form):
    return int.from_bytes(machine.bytes(machine.number(form)), "little", signed=True)


def _string_line(machine):
    line = machine.line().strip()
    if len(line) < 2 or line[:1] not in b"\"'" or line[-1:] != line[:1]:
        raise FileError("the file is damaged: a text of its pickle has no quotes")
    return machine.old_text(escape_decode(line[1:-1])[0])


for _code, _make in {
    "(": lambda m: _MARK,
    "N": lambda m: None,
    0x88: lambda m: True,
    0x89: lambda m: False,
    "F": lambda m: float(m.line()),
    "I": _int_line,
    "L": lambda m: int(m.line().rstrip(b"L")),
    "J": lambda m: m.number("<i"),
    "K": lambda m: m.number("<B"),
    "M": lambda m: m.number("<H"),
    0x8A: lambda m: _signed(m, "<B"),
    0x8B: lambda m: _signed(m, "<i"),
    "G": lambda m: m.number(">d"),
    "S": _string_line,
    "T": lambda m: m.old_text(m.bytes(m.number("<i"))),
    "U": lambda m: m.old_text(m.bytes(m.number("<B"))),
    "B": lambda m: m.bytes(m.number("<I")),
    "C": lambda m: m.bytes(m.number("<B")),
    0x8E: lambda m: m.bytes(m.number("<Q")),
    0x96: lambda m: bytearray(m.bytes(m.number("<Q"))),
    "V": lambda m: m.line().decode("raw-unicode-escape"),
    "X": lambda m: m.text("<I"),
    0x8C: lambda m: m.text("<B"),
    0x8D: lambda m: m.text("<Q"),
    "]": lambda m: [],
    ")": lambda m: (),
    "}": lambda m: {},
    0x8F: lambda m: set(),
    "l": lambda m: m.since_mark(),
    "t": lambda m: tuple(m.since_mark()),
    0x91: lambda m: frozenset(map(checked_key, m.since_mark())),
    0x85: lambda m: (m.stack.pop(),),
    0x86: lambda m: tuple([m.stack.pop(), m.stack.pop()][::-1]),
    0x87: lambda m: tuple([m.stack.pop(), m.stack.pop(), m.stack.pop()][::-1]),
    "2": lambda m: m.stack[-1],
    "g": lambda m: m.memo[int(m.line())],
    "h": lambda m: m.memo[m.number("<B")],
    "j": lambda m: m.memo[m.number("<I")],
    "P": lambda m: m.owner.persistent(m.line().decode("ascii")),
    "Q": lambda m: m.owner.persistent(m.stack.pop()),
    "c": lambda m: m.owner.find(m.line().decode(), m.line().decode()),
}.items():
    _pushes(_code, _make)


@_step(0x80)
def _protocol(machine):
    if machine.number("<B") > 5:
        raise FileError("the file is damaged: its pickle is of an unknown protocol")


@_step(0x95)
def _frame(machine):
    machine.bytes(8)


@_step("0")
def _pop(machine):
    machine.stack.pop()


@_step("1")
def _pop_mark(machine):
    machine.since_mark()


@_step("d")
def _dict(machine):
    flat = machine.since_mark()
    machine.push({})
    machine.set_items(flat)


@_step("a")
def _append(machine):
    machine.append([machine.stack.pop()])


@_step("e")
def _appends(machine):
    machine.append(machine.since_mark())


@_step("s")
def _set_item(machine):
    value = machine.stack.pop()
    machine.set_items([machine.stack.pop(), value])


@_step("u")
def _set_items(machine):
    machine.set_items(machine.since_mark())


@_step(0x90)
def _add_items(machine):
    machine.add(machine.since_mark())


@_step("p")
def _put(machine):
    machine.remember(int(machine.line()))


@_step("q")
def _put1(machine):
    machine.remember(machine.number("<B"))


@_step("r")
def _put4(machine):
    machine.remember(machine.number("<I"))


@_step(0x94)
def _memoize(machine):
    machine.remember(len(machine.memo))


@_step("R")
def _reduce(machine):
    args = machine.stack.pop()
    machine.push(machine.owner.reduce(machine.stack.pop(), args))


@_step(0x93)
def _stack_global(machine):
    name = machine.stack.pop()
    machine.push(machine.owner.find(machine.stack.pop(), name))


@_step(0x81)
def _new(machine):
    machine.new(with_kwargs=False)


@_step(0x92)
def _new_with_kwargs(machine):
    machine.new(with_kwargs=True)


@_step("o")
def _object(machine):
    cls, *args = machine.since_mark()
    machine.push(machine.owner.new(cls, tuple(args), {}))


@_step("i")
def _instance(machine):
    cls = machine.owner.find(machine.line().decode(), machine.line().decode())
    machine.push(machine.owner.new(cls, tuple(machine.since_mark()), {}))


@_step("b")
def _build(machine):
    state = machine.stack.pop()
    machine.owner.build(machine.stack[-1], state)
