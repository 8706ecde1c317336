"""What programs find as torch.jit while wisp has no compiler: the names that ask for compiled code, and code as written.

It is what PyTorch does if told not to compile (``PYTORCH_JIT=0``): functions and modules are given back as they are, so
results are the same. There is no saving of compiled programs.
"""

from builtins import isinstance as _isinstance
from typing import Final, get_args, get_origin

__all__ = [
    "Attribute", "Error", "Final", "ScriptFunction", "ScriptModule", "TracerWarning", "annotate", "export", "ignore", "interface",
    "is_scripting", "is_tracing", "isinstance", "script", "script_if_tracing", "script_method", "trace", "trace_module",
    "unused",
]  # fmt: skip


class Error(RuntimeError):
    """The error of compiled code: never raised."""


class TracerWarning(Warning):
    """The warning of a compiler that follows a call: never given."""


class ScriptFunction:
    """The class of compiled functions: there are none."""

    def __init__(self):
        raise TypeError("there are no compiled functions here")


def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """The function, class or module itself."""
    return obj


def trace(func, example_inputs=None, *args, **kwargs):
    """The function or module itself."""
    return func


def trace_module(mod, inputs, *args, **kwargs):
    """The module itself."""
    return mod


def _itself(fn):
    """The function or class itself."""
    return fn


script_method = script_if_tracing = unused = export = interface = _overload = _overload_method = _itself


def ignore(drop=False, **kwargs):
    """A decorator, with or without arguments, that gives the function itself."""
    return drop if callable(drop) else _itself


def is_scripting():
    """False: this is Python."""
    return False


def is_tracing():
    """False: this is Python."""
    return False


def annotate(the_type, the_value):
    """The value."""
    return the_value


def Attribute(value, type):
    """The value."""
    return value


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


def __getattr__(name):
    if name == "ScriptModule":
        from wisp.nn import Module

        class ScriptModule(Module):
            """The class of compiled modules: here, modules like others."""

        globals()[name] = ScriptModule
        return ScriptModule
    from wisp._missing import MissingName

    raise MissingName(__name__, name)
