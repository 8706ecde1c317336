"""Whether a Python function does nothing but call operators, and what that rests on.

``wisp.compile`` records a call of such a function or module and makes it again without Python, as long as its arguments
are alike and everything it names is what it was. What a function does is read from its bytecode: instructions and names
that are not known to be harmless are a reason not to record it. Which operators it calls, with which numbers, then depends
on nothing but sizes, dtypes and numbers that it is given; that it does not look at what tensors hold is found out while it
is recorded.

Objects with attributes (modules, what holds a program's settings) are read without following which of them a variable
stands for: an attribute that any code names is looked up in all objects that were met, and has to be harmless in each.
"""

import math
import sys
import types

from wisp import _C
from wisp._bytecode import (
    ATTRIBUTES,
    Code,
    Unknown,
    asks_identity,
    check_flags,
    check_harmless,
    codes_in,
    instructions_of,
    is_called,
    is_self,
)

_GUARDS = _C.no_grad, _C.enable_grad, _C.set_grad_enabled, _C.inference_mode
_FUNCTIONS = {
    len, range, min, max, abs, sum, int, float, bool, tuple, list, dict, zip, enumerate, reversed, round, isinstance, divmod,
    pow, any, all, iter, type, super, getattr, callable, str, slice, _C.Tensor, ValueError, TypeError, RuntimeError,
    IndexError, AssertionError, NotImplementedError, *_GUARDS,
}  # fmt: skip
_NUMBERS = (int, float, bool, complex, str, type(None), _C.dtype, _C.memory_format, type(Ellipsis))
_HARMLESS_KINDS = (*_NUMBERS, *_GUARDS)
# Members of tensors that are no operators of the table, and tell no more than sizes and dtypes do; and of lists and
# dicts. Those of strings are harmless, too.
_MEMBERS = {
    "shape", "ndim", "dtype", "T", "mT", "H", "mH", "real", "imag", "size", "dim", "ndimension", "numel", "nelement", "to",
    "float", "double", "half", "bfloat16", "long", "int", "short", "char", "byte", "bool", "is_floating_point", "is_complex",
    "append", "values", "indices", "items", "keys", "get", "type_as", "__name__",
}  # fmt: skip


def premises_of(function, arguments=()):
    """What a recorded call of a function or module rests on, or, in words, why it is not recorded. Arguments that are
    neither tensors nor numbers are read like objects that are found by name."""
    found = _Reader()
    try:
        found.read_all(function, arguments)
    except Unknown as unknown:
        return str(unknown)
    classes = [_C.Tensor, *found.classes]
    if "wisp.nn" in sys.modules:
        classes.append(sys.modules["wisp.nn"].Parameter)
    for cls in classes:
        hasattr(cls, "shape")  # gives it a version, if it has none
    objects = [(thing, vars(thing)) for thing in found.objects if not isinstance(thing, type)]
    codes = [code for function in found.functions for code in codes_in(function.__code__)]
    if found.modules:
        codes.append(_module_class().__call__.__code__)
    parts = found.names.values(), found.cells, found.functions, classes, found.tensors, objects
    return (*map(tuple, (*parts, found.shunned, codes, found.whole, found.lists)), found.asks_identity)


class _Reader:
    """Goes through the code of a function and of those that it calls. What cannot be read must not be called: whether it
    is shows while a call is recorded."""

    def __init__(self):
        self.names, self.cells, self.functions, self.tensors, self.classes = {}, [], [], [], []
        self.objects, self.shunned, self.whole, self.lists, self.modules = [], [], [], [], False
        self._mentioned, self._mentioned_of_self = {}, {}  # attributes, each with the functions that name it
        self._methods, self._plain = set(), set()  # functions that are found in classes, and elsewhere
        self._looked_up, self._harmful, self._any_name = set(), {}, []
        self._supers = self.asks_identity = False

    def read_all(self, root, arguments):
        for thing in (root, *arguments):
            if not isinstance(thing, (_C.Tensor, *_NUMBERS, list, tuple, dict)):
                self._check(thing, "what is compiled")
        self._look_up()
        self._shun_for_names()
        first = getattr(root, "__func__", root)
        if isinstance(first, types.FunctionType):
            first = first.__code__
        for shunned, reason in self.shunned:
            if shunned is first:
                raise Unknown(reason)

    # --- functions

    def read(self, function, is_method=False):
        (self._methods if is_method else self._plain).add(function)
        if any(function is known for known in self.functions) or self._is_shunned(function.__code__):
            return
        self.functions.append(function)
        try:
            self._read_parts(function)
            self._read_code(Code.of(function))
        except Unknown as unknown:
            self._shun(function, str(unknown))

    def _shun(self, function, reason):
        self.functions = [known for known in self.functions if known is not function]
        if not self._is_shunned(function.__code__):
            self.shunned.append((function.__code__, reason))

    def _is_shunned(self, thing):
        return any(thing is shunned for shunned, _ in self.shunned)

    def _read_parts(self, function):
        if vars(function).keys() - {"__wrapped__"}:
            raise Unknown(f"{function.__qualname__}() has attributes")
        for value in function.__defaults__ or ():
            self._check(value, f"a default of {function.__qualname__}()")
        for name, value in (function.__kwdefaults__ or {}).items():
            self._check(value, f"the default of {name}")
            self._note(function.__kwdefaults__, name)

    def _read_code(self, code):
        check_flags(code)
        if any(
            const == "requires_grad" or (type(const) is tuple and "requires_grad" in const)
            for const in code.code.co_consts
        ):
            raise Unknown(f"{code.function.__qualname__}() makes tensors that require gradients")
        instructions = instructions_of(code.code)
        at = 0
        while at < len(instructions):
            at = self._read_instruction(code, instructions, at)
        for inner in code.inner():
            self._read_code(inner)

    def _read_instruction(self, code, instructions, at):
        """Returns the place of the next one."""
        instruction = instructions[at]
        name = instruction.opname
        if name == "LOAD_GLOBAL" or (name.endswith("_DEREF") and instruction.argval in code.cells):
            return self._read_name(code, instructions, at)
        if name in ATTRIBUTES or name == "LOAD_SUPER_ATTR":
            of_self = at > 0 and is_self(instructions[at - 1], code.code)
            mentioned = self._mentioned_of_self if of_self else self._mentioned
            mentioned.setdefault(instruction.argval, []).append(code.function)
            self._read_method_of_tensors(instruction.argval)
        else:
            self.asks_identity = self.asks_identity or asks_identity(instructions, at)
            check_harmless(instructions, at, code.function)
        return at + 1

    def _read_method_of_tensors(self, name):
        """Of those that are written in Python."""
        method = vars(_C.Tensor).get(name)
        if type(method) is types.FunctionType:
            self.read(method)

    # --- names

    def _read_name(self, code, instructions, at):
        """A global or free variable, and what of it is asked for if it is a module of Python."""
        instruction, first = instructions[at], at
        shown = instruction.argval
        if instruction.opname not in ("LOAD_GLOBAL", "LOAD_DEREF"):
            raise Unknown(f"it is not known what {instruction.opname} does (in {code.function.__qualname__}())")
        value = (self._global if instruction.opname == "LOAD_GLOBAL" else self._free)(code, shown)
        while type(value) is types.ModuleType and instructions[at + 1].opname in ATTRIBUTES:
            at += 1
            name = instructions[at].argval
            shown += f".{name}"
            if name not in vars(value):
                raise Unknown(f"{shown} is not defined")
            value = self._note(vars(value), name)
        if _is_unknown_of_c(value) and is_called(instructions, first, at, code.code):
            self.shunned.append((value, f"{shown} is of type {type(value).__name__}"))
        else:
            self._check(value, shown)
        return at + 1

    def _note(self, names, name, *absent):
        """What a name in a dict stands for; with a fourth argument, nothing may."""
        found = absent or (names[name],)
        self.names[id(names), name] = (names, name) if absent else (names, name, *found)
        return found[0]

    def _global(self, code, name):
        function = code.function
        if name in function.__globals__:
            return self._note(function.__globals__, name)
        self._note(function.__globals__, name, None)
        place = _builtins_of(function)
        if name not in place:
            raise Unknown(f"{name} is not defined")
        return self._note(place, name)

    def _free(self, code, name):
        cell = code.cells[name]
        try:
            self.cells.append((cell, cell.cell_contents))
        except ValueError:
            raise Unknown(f"{name} is not defined yet") from None
        return cell.cell_contents

    # --- values

    def _check(self, value, shown):
        """Whether a value does nothing but what is known."""
        kind = type(value)
        if isinstance(value, _C.Tensor):
            if all(value is not known for known in self.tensors):
                self.tensors.append(value)
        elif kind is types.FunctionType:
            self.read(value)
        elif _is_known(value):
            self._check_known(value)
        elif kind is list:
            self._check_list(value, shown)
        elif kind is dict:
            self._check_dict(value, shown)
        elif kind is types.MethodType:
            self._check(value.__self__, shown)
            self._check(value.__func__, shown)
        elif kind is _C._Collected and value._is_compiled:
            self._check(value._function, shown)
        elif kind is tuple:
            for item in value:
                self._check(item, shown)
        elif kind is not _OPERATOR and kind not in _HARMLESS_KINDS and not _is_of_math(value):
            self._meet(value, shown)

    def _check_known(self, value):
        if value is super:
            self._supers = True
        elif value is getattr:
            self._any_name.append(self.functions[-1])

    def _check_list(self, value, shown):
        if len(value) > _MANY:
            raise Unknown(f"{shown} is a long list")
        if all(value is not known for known, _ in self.lists):
            self.lists.append((value, tuple(value)))
            for item in tuple(value):
                self._check(item, f"an item of {shown}")

    def _check_dict(self, value, shown):
        """A dict of a program or of a module, with all that it holds."""
        if len(value) > _MANY:
            raise Unknown(f"{shown} is a large dict")
        if all(value is not known for known in self.whole):
            self.whole.append(value)
            for name in tuple(value):
                if type(name) not in (str, int):
                    raise Unknown(f"{shown} has keys of type {type(name).__name__}")
                self._check(self._note(value, name), f"{shown}[{name!r}]")

    # --- objects with attributes

    def _meet(self, thing, shown):
        if any(thing is known for known in self.objects):
            return
        if type(thing) is type:
            return self._meet_class(thing, shown)
        cls = type(thing)
        if (reason := _objection(cls)) is not None:
            raise Unknown(f"{shown} is of type {cls.__name__}{reason}")
        self.objects.append(thing)
        if all(cls is not known for known in self.classes):
            self.classes.append(cls)
        for name in self._looked_at_by_itself(thing, cls):
            self._attribute(thing, name)

    def _meet_class(self, cls, shown):
        """A class, for its attributes, or to be asked for. Calls of it would show, as those of functions do."""
        if not all(map(_is_written_in_python, cls.__mro__[:-1])):
            raise Unknown(f"{shown} is of type type")
        self.objects.append(cls)
        self.classes.append(cls)

    def _looked_at_by_itself(self, thing, cls):
        """What calls, items and comparisons of an object look at."""
        module = _module_class()
        call = _in_class(cls, "__call__")[1]
        if module and call is vars(module)["__call__"]:
            self.modules = True
            if thing._hooked:
                raise Unknown(f"a module of class {cls.__name__} has hooks")
            yield from ("_hooked", "forward")
        elif call:
            self._check(call, f"{cls.__name__}.__call__")
        if hasattr(cls, "__len__"):
            yield from ("_modules", "_parameters", "__len__", "__iter__", "__getitem__", "__contains__")
        if hasattr(cls, "__dataclass_fields__"):
            yield from tuple(vars(thing))

    def _look_up(self):
        """All attributes that any code names, in all objects; that may lead to others."""
        done = -1
        while done != len(self._looked_up):
            done = len(self._looked_up)
            for thing in tuple(self.objects):
                every = vars(thing) if self._any_name and not isinstance(thing, type) else ()
                for name in {*self._mentioned, *self._mentioned_of_self, *every}:
                    self._look_up_once(thing, name)

    def _look_up_once(self, thing, name):
        if (id(thing), name) in self._looked_up:
            return
        self._looked_up.add((id(thing), name))
        try:
            self._attribute(thing, name)
        except Unknown as unknown:
            self._harmful[name] = str(unknown)

    def _shun_for_names(self):
        """Functions that name what is not known to be harmless."""
        for name, functions in (*self._mentioned.items(), *self._mentioned_of_self.items()):
            for function in functions:
                of_self = function in self._methods and function not in self._plain
                if name in self._harmful:
                    self._shun(function, self._harmful[name])
                elif not _is_member(name) and not self._is_attribute(name, of_self and name in self._mentioned_of_self):
                    self._shun(function, f"it is not known what .{name} does (in {function.__qualname__}())")
        for function in self._any_name:
            for name in self._harmful.keys() & {name for thing in self.objects for name in vars(thing)}:
                self._shun(function, self._harmful[name])

    def _is_attribute(self, name, of_self):
        """Of an object, and not of a tensor too, which it may be that is asked."""
        if not of_self and hasattr(_C.Tensor, name):
            return False
        return any(name in vars(thing) or hasattr(type(thing), name) for thing in self.objects)

    def _attribute(self, thing, name):
        """What an object has under a name, if anything: its class is looked at first for properties, then itself."""
        if name in _INTERNAL:
            return
        if isinstance(thing, type):
            return self._check_in_class(*_in_class(thing, name), f"{thing.__name__}.{name}")
        own, shown = vars(thing), f"{type(thing).__name__}.{name}"
        owner, value = _in_class(type(thing), name)
        if type(value) is property:
            self.read(value.fget, True)
        elif owner is not None and hasattr(type(value), "__set__"):
            raise Unknown(f"{shown} is of type {type(value).__name__}")
        elif name in own:
            self._check_own(self._note(own, name), shown)
        else:
            self._note(own, name, None)
            self._check_in_class(owner, value, shown)
        for base in type(thing).__mro__ if self._supers else ():
            if name in vars(base):
                self._check_in_class(base, vars(base)[name], shown)

    def _check_in_class(self, owner, value, shown):
        if owner is None or shown.endswith(".__class__"):
            return
        if owner is object:  # __setattr__() and the like
            raise Unknown(f"it is not known what {shown} does")
        if type(value) is types.FunctionType:
            self.read(value, True)
        elif type(value) is not property:
            self._check(value.__func__ if type(value) is staticmethod else value, shown)

    def _check_own(self, value, shown):
        members = type(value).__name__ == "MemberDict" and _is_ours(type(value))
        (self._check_dict if members else self._check)(value, shown)


_OPERATOR = type(_C._functions["add"])
_METHOD = type(vars(_C.Tensor)["add"])
# Special methods that none of the harmless instructions call, or that are looked at.
_COMPARING = {"__eq__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__"}
_HEAP_TYPE = 1 << 9
_MANY = 256  # of what a list or dict holds
_INTERNAL = {"_non_persistent_buffers_set"}  # of modules, and of no use to forward()
_QUIET = {
    "__call__", "__init__", "__new__", "__repr__", "__str__", "__del__", "__dir__", "__getstate__", "__setstate__", "__reduce__",
    "__post_init__", "__init_subclass__", "__setattr__", "__delattr__", "__copy__", "__deepcopy__", "__sizeof__",
    "__annotate__", "__annotate_func__", "__replace__",
}  # fmt: skip


def _builtins_of(function):
    return getattr(function, "__builtins__", None) or vars(sys.modules["builtins"])


def _is_unknown_of_c(value):
    return type(value) is types.BuiltinFunctionType and not _is_known(value) and not _is_of_math(value)


def _is_of_math(value):
    return type(value) is types.BuiltinFunctionType and vars(math).get(value.__name__) is value


def _is_known(value):
    return any(value is known for known in _FUNCTIONS)


def _is_member(name):
    if name in _MEMBERS or (not name.startswith("_") and name in vars(str)):
        return True
    return not name.startswith("_") and type(vars(_C.Tensor).get(name)) is _METHOD


def _module_class():
    nn = sys.modules.get("wisp.nn")
    return nn and nn.Module


def _is_ours(cls):
    return cls.__module__.partition(".")[0] == "wisp"


def _in_class(cls, name):
    """The class that defines a name, and what it is there; (None, None): none does."""
    return next(((base, vars(base)[name]) for base in cls.__mro__ if name in vars(base)), (None, None))


def _objection(cls):
    """Why objects of a class cannot be read, in words; None: they can."""
    if not cls.__dictoffset__ or not all(map(_is_written_in_python, cls.__mro__[:-1])):
        return ""
    for base in cls.__mro__[:-1]:
        if base.__name__ == "_Lookup" and _is_ours(base):
            return ", which has a __getattr__()"
        if not _is_ours(base):
            for name, value in vars(base).items():
                if _is_special(name) and isinstance(value, types.FunctionType) and not _is_of_dataclass(cls, name):
                    return f", which has a {name}()"
    return None


def _is_written_in_python(cls):
    """Of others it is not known what their objects have besides attributes."""
    of_c = types.WrapperDescriptorType, types.GetSetDescriptorType, types.MethodDescriptorType
    members = [type(value) for name, value in vars(cls).items() if name not in ("__dict__", "__weakref__")]
    return bool(cls.__flags__ & _HEAP_TYPE) and not any(kind in of_c for kind in members)


def _is_special(name):
    return name.startswith("__") and name.endswith("__") and name not in _QUIET


def _is_of_dataclass(cls, name):
    """Whether it compares fields, which are all known then."""
    return hasattr(cls, "__dataclass_fields__") and name in _COMPARING
