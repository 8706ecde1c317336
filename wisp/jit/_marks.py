"""What programs write for the compiler: decorators, types and questions that mean something in scripts."""

from builtins import isinstance as _isinstance
from os import environ
from typing import Final, get_args, get_origin
from weakref import WeakSet

__all__ = ["Attribute", "Final", "annotate", "export", "ignore", "interface", "is_scripting", "isinstance", "script_method",
           "unused"]  # fmt: skip


# PYTORCH_JIT=0 in the environment leaves programs Python, so that a debugger sees them.
stays_python = environ.get("PYTORCH_JIT") == "0"

# Functions that were declared with several signatures: their modules and names.
overloaded = set()

# Classes that were given to script(): modules may keep their objects as attributes.
scripted_classes = WeakSet()


def marker(fn):
    """How a function was marked: "ignore", "unused", "export", "script_method" or None."""
    return getattr(fn, "_wisp_script_mark", None)


def _mark(fn, word):
    if _isinstance(fn, property):
        _mark(fn.fget, word)
        return fn
    fn._wisp_script_mark = word
    return fn


def ignore(drop=False, **kwargs):
    """A decorator: scripts call the Python function as it is. With ``drop=True`` as :func:`unused`."""
    if callable(drop):
        return _mark(drop, "ignore")
    return lambda fn: _mark(fn, "unused" if drop else "ignore")


def unused(fn):
    """A decorator: the function is not compiled, and calling it in a script is an error."""
    return _mark(fn, "unused")


def export(fn):
    """A decorator: the method of a module is compiled although forward() does not call it."""
    return _mark(fn, "export")


def script_method(fn):
    """A decorator for the methods of a :class:`ScriptModule` that are compiled."""
    return _mark(fn, "script_method")


def interface(cls):
    """A decorator for classes that only declare methods, for annotations."""
    cls._wisp_interface = True
    return cls


def annotate(the_type, the_value):
    """The value; in scripts, of this type."""
    return the_value


def _uninitialized(the_type):
    """Written by `.code` for a variable of a type before it has a value, which only compiled code can do."""
    raise RuntimeError("_uninitialized() means something in compiled code only")


def _unchecked_cast(the_type, the_value):
    """Written by `.code` for a value whose type the lines around have found out."""
    return the_value


def _unwrap_optional(value):
    """The value, which must not be None; in scripts, of the type inside of the Optional."""
    assert value is not None, "Unwrapping null optional"
    return value


def is_scripting():
    """False here; True in scripts, where what it excludes is not compiled."""
    return False


class Attribute:
    """A value of a module's attribute with the type it has in scripts.

    Assigned in ``__init__``: ``self.names = Attribute([], List[str])``.
    """

    def __init__(self, value, type):
        self.value, self.type = value, type

    def __iter__(self):
        return iter((self.value, self.type))

    def __repr__(self):
        return f"Attribute(value={self.value!r}, type={self.type!r})"


def isinstance(obj, target_type):
    """Whether an object is of a type, which may be a list, tuple, dict or Optional of types."""
    if _isinstance(target_type, tuple):
        return any(isinstance(obj, kind) for kind in target_type)
    origin, parts = get_origin(target_type), get_args(target_type)
    if origin is None:
        return _isinstance(obj, type(None) if target_type is None else target_type)
    if not _isinstance(origin, type) or origin.__name__ == "UnionType":
        return any(isinstance(obj, part) for part in parts)
    if not _isinstance(obj, origin):
        return False
    if origin is dict:
        return all(isinstance(key, parts[0]) and isinstance(value, parts[1]) for key, value in obj.items())
    if origin is tuple and parts[-1:] != (...,):
        return len(obj) == len(parts) and all(map(isinstance, obj, parts))
    return all(isinstance(item, parts[0]) for item in obj)
