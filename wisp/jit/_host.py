"""What running scripts ask of Python: classes for the values they return."""

from collections import namedtuple
from functools import lru_cache

# Named tuples of the program that scripts were compiled from, by name and fields: results are of these classes.
_known = {}


def know_named_tuple(cls):
    """Results of scripts that are named tuples like this one will be of this class."""
    _known[cls.__name__, tuple(cls._fields)] = cls


@lru_cache(256)
def _made(name, fields):
    return namedtuple(name, fields)


def named_tuple(name, fields, items):
    """A named tuple of these items."""
    cls = _known.get((name, fields)) or _made(name, fields)
    return cls(*items)


def wrap_object(bare):
    """The Python object that stands for an object of a script."""
    from wisp.jit._module import ScriptObject, wrap_module

    return wrap_module(bare) if bare.is_module else ScriptObject(bare)
