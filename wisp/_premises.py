"""Whether a Python function does nothing but call operators, and what that rests on.

``wisp.compile`` records a call of such a function and makes it again without Python, as long as its arguments are
alike and everything it names is what it was. What a function does is read from its bytecode: instructions and names
that are not known to be harmless are a reason not to record it. Which operators it calls, with which numbers, then depends
on nothing but sizes, dtypes and numbers that it is given; that it does not look at what tensors hold is found out while it
is recorded.
"""

import dis
import math
import sys
import types

from wisp import _C

# Instructions that read and write nothing but the frame's own variables, or do what objects that pass do.
_HARMLESS = {
    "RESUME", "NOP", "CACHE", "PRECALL", "KW_NAMES", "PUSH_NULL", "POP_TOP", "COPY", "SWAP", "COPY_FREE_VARS", "NOT_TAKEN",
    "DUP_TOP", "DUP_TOP_TWO", "ROT_TWO", "ROT_THREE", "ROT_FOUR", "ROT_N", "RETURN_VALUE", "RETURN_CONST", "LOAD_CONST",
    "LOAD_SMALL_INT", "LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW", "LOAD_FAST_LOAD_FAST",
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW", "STORE_FAST", "STORE_FAST_STORE_FAST", "STORE_FAST_LOAD_FAST", "DELETE_FAST",
    "COMPARE_OP", "TO_BOOL", "BUILD_TUPLE", "BUILD_LIST", "BUILD_SLICE", "BUILD_STRING",
    "FORMAT_VALUE", "FORMAT_SIMPLE", "LIST_EXTEND", "LIST_TO_TUPLE", "UNPACK_SEQUENCE", "CALL", "CALL_KW", "CALL_FUNCTION",
    "CALL_FUNCTION_KW", "CALL_FUNCTION_EX", "CALL_METHOD", "GET_ITER", "FOR_ITER", "END_FOR", "POP_ITER", "GET_LEN",
    "RAISE_VARARGS", "LOAD_ASSERTION_ERROR", "LOAD_COMMON_CONSTANT",
}  # fmt: skip
_HARMLESS_FAMILIES = ("BINARY_", "UNARY_", "INPLACE_", "JUMP_", "POP_JUMP_")
_NAMES = {"LOAD_GLOBAL", "LOAD_DEREF"}
_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD"}
_FUNCTIONS = {
    len, range, min, max, abs, sum, int, float, bool, tuple, list, zip, enumerate, reversed, round, isinstance, divmod,
    pow, any, all, _C.Tensor, ValueError, TypeError, RuntimeError, IndexError, AssertionError, NotImplementedError,
}  # fmt: skip
_NUMBERS = (int, float, bool, complex, str, type(None), _C.dtype, _C.memory_format, type(Ellipsis))
# Members of tensors that are no operators of the table, and tell no more than sizes and dtypes do; and of lists and tuples.
_MEMBERS = {
    "shape", "ndim", "dtype", "T", "mT", "H", "mH", "real", "imag", "size", "dim", "ndimension", "numel", "nelement", "to",
    "float", "double", "half", "bfloat16", "long", "int", "short", "char", "byte", "bool", "is_floating_point", "is_complex",
    "append", "values", "indices",
}  # fmt: skip


class _Unknown(Exception):
    """Why a function is not recorded."""


def premises_of(function):
    """What a recorded call of the function rests on, or, in words, why it is not recorded."""
    try:
        found = _Reader()
        found.read(function)
    except _Unknown as unknown:
        return str(unknown)
    classes = [_C.Tensor]
    if "wisp.nn" in sys.modules:
        classes.append(sys.modules["wisp.nn"].Parameter)
    for cls in classes:
        hasattr(cls, "shape")  # gives it a version, if it has none
    return tuple(found.names), tuple(found.cells), tuple(found.functions), tuple(classes), tuple(found.tensors)


class _Reader:
    """Goes through the code of a function and of those that it calls."""

    def __init__(self):
        self.names, self.cells, self.functions, self.tensors = [], [], [], []

    def read(self, function):
        if any(function is known for known in self.functions):
            return
        code = function.__code__
        if code.co_flags & _UNUSUAL:
            raise _Unknown(f"{function.__qualname__}() is a generator or coroutine, or takes **")
        if getattr(code, "co_exceptiontable", b""):
            raise _Unknown(f"{function.__qualname__}() has a block of try or with")
        self._read_parts(function)
        instructions = [i for i in dis.get_instructions(code) if i.opname != "EXTENDED_ARG"]
        at = 0
        while at < len(instructions):
            at = self._read_instruction(function, instructions, at)

    def _read_parts(self, function):
        if vars(function):
            raise _Unknown(f"{function.__qualname__}() has attributes")
        for value in function.__defaults__ or ():
            self._check_number(value, f"a default of {function.__qualname__}()")
        for name, value in (function.__kwdefaults__ or {}).items():
            self._check_number(value, f"the default of {name}")
            self.names.append((function.__kwdefaults__, name, value))
        self.functions.append(function)

    def _read_instruction(self, function, instructions, at):
        """Returns the place of the next one."""
        instruction = instructions[at]
        name = instruction.opname
        if name in _NAMES:
            return self._read_name(function, instructions, at)
        if name in _ATTRIBUTES:
            if not _is_member(instruction.argval):
                raise _Unknown(f"it is not known what .{instruction.argval} does (in {function.__qualname__}())")
        elif name == "IS_OP":  # of two arguments it may be another time
            if instructions[at - 1].argval is not None or instructions[at - 1].opname != "LOAD_CONST":
                raise _Unknown(f"it asks whether two things are the same (in {function.__qualname__}())")
        elif name not in _HARMLESS and not name.startswith(_HARMLESS_FAMILIES):
            raise _Unknown(f"it is not known what {name} does (in {function.__qualname__}())")
        return at + 1

    def _read_name(self, function, instructions, at):
        """A global or free variable, and what of it is asked for if it is a module."""
        instruction = instructions[at]
        shown = instruction.argval
        find = self._global if instruction.opname == "LOAD_GLOBAL" else self._free
        value = find(function, shown)
        while type(value) is types.ModuleType and instructions[at + 1].opname in _ATTRIBUTES:
            at += 1
            name = instructions[at].argval
            shown += f".{name}"
            if name not in vars(value):
                raise _Unknown(f"{shown} is not defined")
            value = self._named(vars(value), name)
        self._check(value, shown)
        return at + 1

    def _named(self, names, name):
        self.names.append((names, name, names[name]))
        return names[name]

    def _global(self, function, name):
        if name in function.__globals__:
            return self._named(function.__globals__, name)
        self.names.append((function.__globals__, name))  # nobody may define it
        place = function.__builtins__
        if name not in place:
            raise _Unknown(f"{name} is not defined")
        return self._named(place, name)

    def _free(self, function, name):
        cell = function.__closure__[function.__code__.co_freevars.index(name)]
        try:
            self.cells.append((cell, cell.cell_contents))
        except ValueError:
            raise _Unknown(f"{name} is not defined yet") from None
        return cell.cell_contents

    def _check(self, value, shown):
        """Whether a value does nothing but what is known."""
        if isinstance(value, _C.Tensor):
            if all(value is not known for known in self.tensors):
                self.tensors.append(value)
        elif type(value) is types.FunctionType:
            self.read(value)
        elif (
            type(value) is types.BuiltinFunctionType
            and value.__module__ == "math"
            and vars(math).get(value.__name__) is value
        ):
            return
        elif type(value) is not _OPERATOR and not _is_known(value):
            self._check_number(value, shown)

    def _check_number(self, value, shown):
        if type(value) is tuple:
            for item in value:
                self._check_number(item, shown)
        elif type(value) not in _NUMBERS:
            raise _Unknown(f"{shown} is of type {type(value).__name__}")


_OPERATOR = type(_C._functions["add"])
_METHOD = type(vars(_C.Tensor)["add"])
# inspect.CO_VARKEYWORDS and the like: that module takes ten milliseconds to import.
_UNUSUAL = sum(
    bit
    for bit, name in dis.COMPILER_FLAG_NAMES.items()
    if name in ("VARKEYWORDS", "GENERATOR", "COROUTINE", "ASYNC_GENERATOR")
)


def _is_known(value):
    return any(value is known for known in _FUNCTIONS)


def _is_member(name):
    if name in _MEMBERS:
        return True
    return not name.startswith("_") and type(vars(_C.Tensor).get(name)) is _METHOD
