"""Numbers of a program that is being traced, which remember how they were computed: sizes, and what follows from them."""

import math
import operator
import sys

from wisp._C import Tensor, _jit


def _binary(name, function, swapped=False):
    def method(self, other):
        if isinstance(other, Tensor):  # whose own operator takes the number as it is
            return NotImplemented
        a, b = (other, self) if swapped else (self, other)
        result = function(plain_number(a), plain_number(b))
        recorder = _jit.current_recorder()
        if recorder is None or type(other) not in _KINDS or type(result) not in (int, float):
            return result
        kind = "float" if float in (_KINDS[type(a)], _KINDS[type(b)]) else "int"
        if kind == "float":
            a, b = (_as_float(recorder, number) for number in (a, b))
        return recorder.number(f"{name}.{kind}", (a, b), result)

    return method


def _as_float(recorder, number):
    if type(number) is TracedInt:
        return recorder.number("Float.int", (number,), float(plain_number(number)))
    return float(number) if type(number) is int else number


def _rounded(name, function):
    def method(self):
        recorder, result = _jit.current_recorder(), function(plain_number(self))
        return result if recorder is None else recorder.number(f"{name}.float", (self,), result)

    return method


def plain_number(number):
    """The number itself, which no trace knows."""
    return _KINDS[type(number)].__pos__(number) if type(number) in _KINDS else number


def _read(what, function):
    """A method by which the program learns what the number is, which a trace cannot follow."""

    def method(self, *others):
        if _jit.current_recorder() is not None and not _asked_by_us():
            from wisp.jit._trace import warn_read

            warn_read(what)
        return function(*map(plain_number, (self, *others)))

    return method


def _asked_by_us():
    return sys._getframe(2).f_globals.get("__name__", "").partition(".")[0] == "wisp"


def _unary(name, function):
    def method(self):
        recorder, kind, result = _jit.current_recorder(), _KINDS[type(self)], function(plain_number(self))
        return result if recorder is None else recorder.number(f"{name}.{kind.__name__}", (self,), result)

    return method


def _power(swapped):
    power = _binary("pow", operator.pow, swapped)

    def method(self, other, modulus=None):
        a, b = map(plain_number, (other, self) if swapped else (self, other))
        if modulus is not None or type(a) is not int or type(b) is not int or b < 0:
            return pow(a, b, modulus) if modulus is not None else power(self, other)
        recorder = _jit.current_recorder()  # a graph's power of ints is a float
        if recorder is None or a**b >> 53:
            return a**b
        inputs = (other, self) if swapped else (self, other)
        return recorder.number("Int.float", (recorder.number("pow.int", inputs, float(a**b)),), a**b)

    return method


def _itself(self):
    return self


class _Traced:
    """Arithmetic that is recorded. Everything else is done on the number as it is."""

    __neg__ = _unary("neg", operator.neg)
    __abs__ = _unary("abs", abs)
    __pow__, __rpow__ = _power(swapped=False), _power(swapped=True)
    __pos__ = _itself
    __bool__ = _read("bool()", bool)
    __int__ = _read("int()", int)
    __float__ = _read("float()", float)

    def __hash__(self):
        return hash(plain_number(self))

    def __divmod__(self, other):
        return self // other, self % other

    def __rdivmod__(self, other):
        return other // self, other % self

    def __reduce__(self):
        return _KINDS[type(self)], (plain_number(self),)


for _name, _function, _builtin in (
    ("add", operator.add, "add"),
    ("sub", operator.sub, "sub"),
    ("mul", operator.mul, "mul"),
    ("truediv", operator.truediv, "div"),
    ("floordiv", operator.floordiv, "floordiv"),
    ("mod", operator.mod, "remainder"),
):
    setattr(_Traced, f"__{_name}__", _binary(_builtin, _function))
    setattr(_Traced, f"__r{_name}__", _binary(_builtin, _function, swapped=True))


for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(_Traced, f"__{_name}__", _read("bool()", getattr(operator, _name)))


class TracedInt(_Traced, int):
    """An int of a traced program."""

    __floor__ = __ceil__ = __trunc__ = _itself
    __invert__ = _unary("bitwise_not", operator.invert)

    def __round__(self, digits=None):
        return self if digits is None else round(plain_number(self), digits)


for _name in ("lshift", "rshift", "and", "or", "xor"):
    _function = getattr(operator, f"__{_name}__")
    setattr(TracedInt, f"__{_name}__", _binary(f"__{_name}__", _function))
    setattr(TracedInt, f"__r{_name}__", _binary(f"__{_name}__", _function, swapped=True))


class TracedFloat(_Traced, float):
    """A float of a traced program."""

    __floor__ = _rounded("floor", math.floor)
    __ceil__ = _rounded("ceil", math.ceil)
    __trunc__ = _rounded("trunc", math.trunc)
    __round__ = _read("round()", round)


_KINDS = {int: int, float: float, TracedInt: int, TracedFloat: float}
