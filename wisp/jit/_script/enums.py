"""Members of an Enum: named tuples of their name and their value, which Python sees as members again.

Members that are numbers or texts themselves (those of an IntEnum) are just that.
"""

import enum
from dataclasses import replace

from wisp.jit import _host
from wisp.jit._script import types as T
from wisp.jit._script.values import Const, Tuple

FIELDS = _host.ENUM_FIELDS


def is_member(obj):
    return isinstance(obj, enum.Enum) and not isinstance(obj, (int, float, str, complex))


def is_enum(kind):
    """Whether a type is that of members."""
    return kind is not None and kind.fields == FIELDS


def is_plain_enum(kind):
    """Whether it is that of members which are numbers or texts."""
    return isinstance(kind.host, type) and issubclass(kind.host, enum.Enum) and not is_enum(kind)


def type_of_enum(cls, type_of_value):
    """The type of the members of a class, whose values have to be of one type; None if they are not."""
    kinds = {type_of_value(member.value) for member in cls}
    if len(kinds) != 1 or None in kinds:
        return None
    kind = kinds.pop()
    if not is_member(next(iter(cls))):
        return replace(kind, host=cls)
    _host.know_enum(cls)
    return T.named_tuple_of(cls.__name__, FIELDS, (T.STR, kind), cls)


def unfolded(value):
    """A member as the tuple that it is, an enum as the list of its members; other values as they are."""
    obj = value.obj if isinstance(value, Const) else None
    if isinstance(obj, enum.EnumMeta):
        return Const(list(obj))
    if is_member(obj):
        return Tuple([Const(obj.name), Const(obj.value)], type(obj).__name__, FIELDS, type(obj))
    return value


def field_of(kind, name):
    """The field of the tuple that holds an attribute of a member; other names as they are."""
    return f"_{name}_" if is_enum(kind) and name in ("name", "value") else name
