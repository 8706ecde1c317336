"""What running scripts ask of Python: classes for the values they return."""

from collections import namedtuple
from functools import lru_cache

# Named tuples of the program that scripts were compiled from, by name and fields: results are of these classes.
_known = {}


# Enums of that program, by name. Their members are tuples in scripts; no named tuple has such fields.
_enums = {}
ENUM_FIELDS = ("_name_", "_value_")


def know_enum(cls):
    """Results of scripts that are members of enums with this name will be members of this class."""
    known = _enums.setdefault(cls.__name__, [])
    if cls not in known:
        known.insert(0, cls)


def _member(name, items):
    """The member of an enum; a tuple of its name and value if no such enum is known here."""
    for cls in _enums.get(name, ()):
        found = cls.__members__.get(items[0])
        if found is not None and found.value == items[1]:
            return found
    return _made(name, ("name", "value"))(*items)


def know_named_tuple(cls):
    """Results of scripts that are named tuples like this one will be of this class."""
    _known[cls.__name__, tuple(cls._fields)] = cls


@lru_cache(256)
def _made(name, fields):
    return namedtuple(name, fields)


def named_tuple(name, fields, items):
    """A named tuple of these items, or the member of an enum that they stand for."""
    if fields == ENUM_FIELDS:
        return _member(name, items)
    cls = _known.get((name, fields)) or _made(name, fields)
    return cls(*items)


def wrap_object(bare):
    """The Python object that stands for an object of a script."""
    from wisp.jit._module import ScriptObject, wrap_module

    return wrap_module(bare) if bare.is_module else ScriptObject(bare)
