"""The modules math and cmath."""

import ast
import cmath
import math

from wisp.jit._script import types as T
from wisp.jit._script import written

_MATH_FLOAT = ("sqrt", "exp", "expm1", "exp2", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh",
               "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "gamma", "lgamma", "degrees", "radians", "fabs",
               "floor", "ceil", "trunc", "isnan", "isinf", "isfinite", "modf", "frexp")  # fmt: skip
_MATH_TWO = ("atan2", "hypot", "copysign", "fmod")
_WRITTEN = ("comb", "perm", "isqrt", "lcm", "isclose")
_COMPLEX = (
    "sqrt",
    "exp",
    "log10",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
)


class Maths:
    """Functions of numbers."""

    def math_function(self, name, arguments, keywords, node):
        if name in _MATH_FLOAT:
            return self.builtin(f"{name}.float", self.as_number(self._plain_number(arguments[0]), T.FLOAT))
        values = [self._plain_number(a) for a in arguments]
        if name == "log":
            reals = [self.as_number(v, T.FLOAT) for v in values]
            return self.builtin("log.float" if len(reals) == 1 else "log_base.float", *reals)
        if name in _MATH_TWO:
            return self.builtin(f"{name}.float", *(self.as_number(v, T.FLOAT) for v in values))
        if name == "remainder":
            return self.builtin("_nearest_remainder", *(self.as_number(v, T.FLOAT) for v in values))
        if name == "pow":
            return self.builtin("pow.float", *(self.as_number(v, T.FLOAT) for v in values))
        if name == "ldexp":
            return self.builtin("ldexp.float", self.as_number(values[0], T.FLOAT), values[1])
        if name in _WRITTEN:
            return self.call_library(getattr(written, name), values, keywords)
        if name in ("gcd", "factorial"):
            return self.builtin(f"{name}.int", *values)
        if name == "prod":
            value = self.function_list(arguments, {}, node)
            return self.builtin("prod", value)
        return self.fail(f"math.{name}() cannot be called in a script")

    def _plain_number(self, value):
        return self.builtin("Float", value) if self.type_of(value) == T.TENSOR else value

    def cmath_function(self, name, arguments, node):
        """One of complex numbers. Those about their parts are real."""
        if name == "rect":
            return self.call_library(written.rect, arguments, {})
        values = [self.as_number(self._plain_number(a), T.COMPLEX) for a in arguments]
        if name == "log" and len(values) == 2:
            return self.binary(ast.Div(), *(self.builtin("log.complex", v) for v in values), node)
        return self.builtin(f"{name}.complex", *values)


MATH = {getattr(math, name): name for name in (*_MATH_FLOAT, *_MATH_TWO, *_WRITTEN, "log", "pow", "ldexp", "gcd", "factorial", "prod", "remainder")
        if hasattr(math, name)}  # fmt: skip
CMATH = {
    getattr(cmath, name): name for name in (*_COMPLEX, "log", "phase", "polar", "rect", "isnan", "isinf", "isfinite")
}
