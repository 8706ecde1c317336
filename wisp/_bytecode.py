"""What the bytecode of a Python function says about what it does: the part of ``_premises`` that knows instructions."""

import dis
import sys
import types

# Instructions that read and write nothing but the frame's own variables, or do what objects that pass do.
_HARMLESS = {
    "RESUME", "NOP", "CACHE", "PRECALL", "KW_NAMES", "PUSH_NULL", "POP_TOP", "COPY", "SWAP", "COPY_FREE_VARS", "NOT_TAKEN",
    "DUP_TOP", "DUP_TOP_TWO", "ROT_TWO", "ROT_THREE", "ROT_FOUR", "ROT_N", "RETURN_VALUE", "RETURN_CONST", "LOAD_CONST",
    "LOAD_SMALL_INT", "LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW", "LOAD_FAST_LOAD_FAST",
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW", "STORE_FAST", "STORE_FAST_STORE_FAST", "STORE_FAST_LOAD_FAST", "DELETE_FAST",
    "COMPARE_OP", "IS_OP", "CONTAINS_OP", "TO_BOOL", "BUILD_TUPLE", "BUILD_LIST", "BUILD_SLICE", "BUILD_STRING", "BUILD_MAP",
    "BUILD_CONST_KEY_MAP", "DICT_MERGE", "DICT_UPDATE", "MAP_ADD", "FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC",
    "CONVERT_VALUE", "LIST_APPEND", "LIST_EXTEND", "LIST_TO_TUPLE", "UNPACK_SEQUENCE", "UNPACK_EX", "CALL", "CALL_KW",
    "CALL_FUNCTION", "CALL_FUNCTION_KW", "CALL_FUNCTION_EX", "CALL_METHOD", "CALL_INTRINSIC_1", "GET_ITER", "FOR_ITER",
    "END_FOR", "POP_ITER", "GET_LEN", "RAISE_VARARGS", "RERAISE", "MAKE_CELL", "LOAD_ASSERTION_ERROR", "GEN_START",
    "LOAD_COMMON_CONSTANT", "LOAD_FAST_AND_CLEAR", "MAKE_FUNCTION", "SET_FUNCTION_ATTRIBUTE", "LOAD_CLOSURE",
    "RETURN_GENERATOR", "YIELD_VALUE", "STORE_SUBSCR", "STORE_SLICE", "BEFORE_WITH", "SETUP_WITH", "WITH_EXCEPT_START",
    "POP_EXCEPT", "POP_BLOCK",
}  # fmt: skip
_HARMLESS_FAMILIES = ("BINARY_", "UNARY_", "INPLACE_", "JUMP_", "POP_JUMP_")
# Of try and with blocks; what is entered by `with` has to be known.
_BLOCKS = {"PUSH_EXC_INFO", "SETUP_FINALLY", "LOAD_SPECIAL"}
ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD"}


class Unknown(Exception):
    """Why a function is not recorded."""


def codes_in(code):
    yield code
    for inner in code.co_consts:
        if type(inner) is types.CodeType:
            yield from codes_in(inner)


class Code:
    """Code and where its names are found: of a function, or of one that is made while that one runs."""

    def __init__(self, code, function, cells):
        self.code, self.function, self.cells = code, function, cells

    @staticmethod
    def of(function):
        return Code(
            function.__code__,
            function,
            dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)),
        )

    def inner(self):
        """Functions and comprehensions written inside; variables of this one are known to nobody else."""
        for code in self.code.co_consts:
            if type(code) is types.CodeType:
                cells = {name: self.cells[name] for name in code.co_freevars if name in self.cells}
                yield Code(code, self.function, cells)


def instructions_of(code):
    """Those of a code object, without what only lengthens others."""
    return [i for i in dis.get_instructions(code) if i.opname != "EXTENDED_ARG"]


def check_flags(code):
    """That it is no coroutine and, as a whole, no generator."""
    outermost = code.code is code.function.__code__
    if code.code.co_flags & (_UNUSUAL | outermost * _GENERATOR):
        raise Unknown(f"{code.function.__qualname__}() is a generator or coroutine")


def check_harmless(instructions, at, function):
    """That an instruction which names nothing does nothing but what is known."""
    name, qualname = instructions[at].opname, function.__qualname__
    if name in _BLOCKS and not (name == "PUSH_EXC_INFO" and instructions[at + 1].opname == "WITH_EXCEPT_START"):
        raise Unknown(f"{qualname}() has a block of try")
    if name in _BLOCKS or name in _HARMLESS or name.startswith(_HARMLESS_FAMILIES) or name.endswith("_DEREF"):
        return
    raise Unknown(f"it is not known what {name} does (in {qualname}())")


def asks_identity(instructions, at):
    """Whether it is asked if two objects are the same, and not only if one is None."""
    before = instructions[at - 1]
    return instructions[at].opname == "IS_OP" and not (before.opname == "LOAD_CONST" and before.argval is None)


def is_called(instructions, first, last, code):
    """Whether what some instructions find is called there and then, and not given to others, who might call it unseen."""
    name = instructions[last].opname
    if name == "LOAD_METHOD":
        return True
    if _VERSION < (3, 11):  # whose code does not tell: functions are given to others as key=, or to iter()
        return "iter" not in code.co_names and not any("key" in _words_of(const) for const in code.co_consts)
    beside = instructions[last + 1 if _VERSION >= (3, 13) else first - 1]
    return _is_marked(instructions[first]) or _is_marked(instructions[last]) or beside.opname == "PUSH_NULL"


def _is_marked(instruction):
    """Whether it makes ready for a call."""
    name = instruction.opname
    return (name == "LOAD_GLOBAL" or (name == "LOAD_ATTR" and _VERSION >= (3, 12))) and instruction.arg & 1 == 1


def _words_of(const):
    return const if type(const) is tuple else (const,)


def is_self(instruction, code):
    """Whether an instruction ends by loading the first argument, which nothing else is ever assigned to."""
    if code.co_argcount == 0 or not instruction.opname.startswith(("LOAD_FAST", "STORE_FAST_LOAD_FAST")):
        return False
    loaded, first = instruction.argval, code.co_varnames[0]
    if (loaded[-1] if type(loaded) is tuple else loaded) != first:
        return False
    stored = (i.argval for i in dis.get_instructions(code) if i.opname.startswith(("STORE_FAST", "DELETE_FAST")))
    return not any(first in (names if type(names) is tuple else (names,)) for names in stored)


_VERSION = sys.version_info
# inspect.CO_GENERATOR and the like: that module takes ten milliseconds to import.
_FLAGS = {name: bit for bit, name in dis.COMPILER_FLAG_NAMES.items()}
_GENERATOR = _FLAGS["GENERATOR"]
_UNUSUAL = _FLAGS["COROUTINE"] | _FLAGS["ASYNC_GENERATOR"]
