"""Which classes and functions a file may name, and what may be done with them.

Loading calls nothing but what stands in the table below or was added by ``add_safe_globals()``. With
``weights_only=False`` a file may besides name classes and functions that the program has imported itself, outside the
standard library; objects of such classes are made and filled without calling any of their code, but for ``__hash__()`` of keys.
"""

import builtins
import re
import sys

from wisp.serialization._files import FileError, shown

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "safe_globals"]

_added = {}  # by full name
# What any file may call: classes that only hold what they are given, and need no more memory than that.
_HARMLESS = {
    "builtins": ("complex", "range", "slice"),
    "datetime": ("date", "datetime", "time", "timedelta", "timezone"),
    "decimal": ("Decimal",),
    "pathlib": ("PosixPath", "PurePosixPath", "PureWindowsPath", "WindowsPath"),
    "uuid": ("UUID",),
    "wisp": ("TypedStorage",),
    "wisp.nn.parameter": ("UninitializedBuffer", "UninitializedParameter"),
}
# What any file may name without calling it: default factories.
_NAMED = ("bool", "bytes", "complex", "dict", "float", "frozenset", "int", "list", "object", "set", "str", "tuple")
# Of the standard library, objects that weights_only=False allows.
_PLAIN = {"argparse": ("Namespace",), "types": ("SimpleNamespace",)}
_DTYPE = re.compile(r"(q?u?int|float|complex|bits)[0-9]\w*")  # what dtypes are called that do not exist here
_MOVED = {"pathlib._local": "pathlib"}  # where classes are in some versions of Python only
_HEAP_TYPE = 1 << 9  # Python's flag of classes written in Python


# --- what the user trusts


def _full_name(entry):
    if isinstance(entry, tuple):
        name = entry[1]
        if not isinstance(name, str):
            raise TypeError(f"expected a pair (class or function, 'its.full.name'), got {entry}")
        return name
    return f"{entry.__module__}.{entry.__qualname__}"


def add_safe_globals(safe_globals):
    """Lets files name these classes and functions: loading may then call them.

    Args:
        safe_globals: a list of classes or functions, or of pairs (class or function, full name in the file).

    >>> class Settings:
    ...     pass
    >>> wisp.serialization.add_safe_globals([Settings])
    """
    _added.update({_full_name(entry): entry for entry in safe_globals})


def get_safe_globals():
    """What add_safe_globals() has added."""
    return list(_added.values())


def clear_safe_globals():
    """Forgets what add_safe_globals() has added."""
    _added.clear()


class safe_globals:
    """A with block in which files may name these classes and functions; see add_safe_globals()."""

    def __init__(self, safe_globals):
        self.safe_globals = safe_globals

    def __enter__(self):
        self._before = dict(_added)
        add_safe_globals(self.safe_globals)

    def __exit__(self, *exc):
        _added.clear()
        _added.update(self._before)


# --- what a file may do


def ours(module):
    """The name here of a module of PyTorch's; other names stay."""
    return "wisp" + module[5:] if module == "torch" or module.startswith("torch.") else module


def _root(module):
    return module.split(".")[0]


def name_of(item):
    """(module, qualified name) under which a class or function can be found again, or None."""
    module, name = getattr(item, "__module__", None), getattr(item, "__qualname__", None)
    found = sys.modules.get(module)
    for part in name.split(".") if name else ():
        found = getattr(found, part, None)
    return (_MOVED.get(module, module), name) if found is item else None


def imported(module, name):
    """What the program has under that name; None if there is nothing. Nothing is imported, also not by looking."""
    found = sys.modules.get(module)
    for part in name.split("."):
        found = found.__dict__.get(part) if hasattr(found, "__dict__") else None
    return found


class Trust:
    """The judge of one file.

    Args:
        weights_only: whether only tensors, plain data and what the user has declared safe may come from the file.
        refused: if given, a set that unknown names are added to instead of being an error.
    """

    def __init__(self, weights_only=True, refused=None):
        self.weights_only, self.refused = weights_only, refused
        self._may_call = {}  # by id

    def find(self, module, name):
        """The class or function of that name; fails if a file may not name it."""
        module = _MOVED.get(module, module)
        callable = self._callable(module, name)
        if callable is not None:
            self._may_call[id(callable)] = callable
            return callable
        if module == "builtins" and name in _NAMED:
            return getattr(builtins, name)
        found = None if self.weights_only else self._known(module, name)
        return self._refuse(module, name) if found is None else found

    def _callable(self, module, name):
        for full in (f"{module}.{name}", f"{ours(module)}.{name}"):
            if full in _added:
                entry = _added[full]
                return entry[0] if isinstance(entry, tuple) else entry
        if name in _HARMLESS.get(module, ()):
            from importlib import import_module

            return getattr(import_module(module), name)
        return None

    def _known(self, module, name):
        foreign, module = module != ours(module), ours(module)
        if _root(module) in sys.stdlib_module_names and name not in _PLAIN.get(module, ()):
            return None
        found = imported(module, name)
        if found is None and module.startswith(("wisp.nn.", "wisp.optim.")):
            found = _anywhere(module, name) if foreign else _after_import(module, name)
        # What a module has imported from elsewhere is not its own.
        home = getattr(found, "__module__", None)
        return found if callable(found) and isinstance(home, str) and _root(home) == _root(module) else None

    def _refuse(self, module, name):
        if self.refused is not None:
            return self.refused.add(f"{module}.{name}")
        if _root(module) == "torch" and (
            name.startswith("_rebuild") or name.endswith("Storage") or _DTYPE.fullmatch(name)
        ):
            raise FileError(f"the file contains a kind of tensor that wisp does not have: {module}.{name}")
        how = f"wisp.serialization.add_safe_globals([{name}]) allows it, if you trust it"
        if self.weights_only and self._known(module, name):
            how += "; weights_only=False allows all objects of classes that the program has imported"
        elif imported(ours(module), name) is None:
            how = f"The program has not imported {module}.{name}; once it has, {how}"
        raise FileError(
            f"Weights only load failed: the file contains {module}.{name}, and loading runs no code that it was not told to "
            f"trust. {how}. Better is to save a state_dict(), which is plain data."
        )

    def may_call(self, function):
        return id(function) in self._may_call

    def call(self, function, args, kwargs=()):
        """What a trusted class or function makes of arguments of the file."""
        if not self.may_call(function):
            raise FileError(
                f"Weights only load failed: the file asks to call {_shown(function)}. If you trust it, "
                f"wisp.serialization.add_safe_globals([{_shown(function)}]) allows that"
            )
        return _attempt(function, args, kwargs)

    def new(self, cls, args, kwargs):
        """An object of a class before its state is set: by its ``__new__()`` if it is trusted."""
        if self.may_call(cls) and isinstance(cls, type):
            return _attempt(cls.__new__, (cls, *args), kwargs)
        if args or kwargs:
            raise FileError(f"objects of {_shown(cls)} cannot be made without calling its code; to allow that, use "
                            f"wisp.serialization.add_safe_globals([{cls.__name__}])")  # fmt: skip
        return self.bare(cls)

    def bare(self, cls):
        """An object of a class, made without calling any of its code."""
        if not isinstance(cls, type):
            raise FileError(f"the file is damaged: {_shown(cls)} is no class")
        base = next(b for b in cls.__mro__ if not b.__flags__ & _HEAP_TYPE)
        if base not in _bases() or (hasattr(cls, "__del__") and not self.may_call(cls)):
            raise FileError(f"objects of {_shown(cls)} cannot be made without calling its code; to allow that, use "
                            f"wisp.serialization.add_safe_globals([{cls.__name__}])")  # fmt: skip
        return base.__new__(cls)

    def set_state(self, made, state):
        """Gives an object its attributes."""
        set_state = getattr(type(made), "__setstate__", None)
        if set_state is not None:
            if not (self.may_call(type(made)) or _root(set_state.__module__) == "wisp"):
                raise FileError(f"{_shown(type(made))} has a __setstate__() of its own; to have it called, use "
                                f"wisp.serialization.add_safe_globals([{type(made).__name__}])")  # fmt: skip
            return set_state(made, state)
        return self.set_attributes(made, state)

    def set_attributes(self, made, state):
        """The same for objects without a say in it."""
        attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
        if attributes:
            _own_dict(made).update(_named(attributes))
        for name, value in _named(slots or {}).items():
            _set_slot(made, name, value)


def _attempt(function, args, kwargs):
    try:
        return function(*args, **dict(kwargs))
    except Exception as error:
        raise FileError(f"the file is damaged: {_shown(function)} refuses its arguments: {error}") from error


def _bases():
    from collections import OrderedDict, defaultdict

    return object, dict, list, set, OrderedDict, defaultdict


def _after_import(module, name):
    """Modules of ours are imported when first used; a file may be the first to name them."""
    from importlib import import_module

    try:
        import_module(module)
    except ImportError:
        return None
    return imported(module, name)


def _anywhere(module, name):
    """A class of PyTorch's, which may stand in another module here."""
    name = {"NonDynamicallyQuantizableLinear": "Linear"}.get(name, name)
    while module != "wisp":
        found = _after_import(module, name)
        if found is not None:
            return found
        module = module.rpartition(".")[0]
    return None


def _named(attributes):
    if not isinstance(attributes, dict) or not all(isinstance(name, str) for name in attributes):
        raise FileError("the file is damaged: the attributes of an object are no dict by name")
    return attributes


def _own_dict(made):
    try:
        return object.__getattribute__(made, "__dict__")
    except AttributeError:
        raise FileError(f"the file is damaged: objects of {_shown(type(made))} have no attributes") from None


def _set_slot(made, name, value):
    from types import MemberDescriptorType

    slot = next((c.__dict__[name] for c in type(made).__mro__ if name in c.__dict__), None)
    if not isinstance(slot, MemberDescriptorType):
        raise FileError(f"the file is damaged: {_shown(type(made))} has no slot {name!r}")
    slot.__set__(made, value)


def _shown(item):
    name = getattr(item, "__qualname__", None)
    return shown(item) if name is None else f"{getattr(item, '__module__', '?')}.{name}"
