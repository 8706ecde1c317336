"""Formulas: values of a graph with the operators of Python, for lowerings that are mostly arithmetic."""

import wisp


class Formula:
    """A tensor of the graph under construction. Numbers take its dtype."""

    __slots__ = ("g", "ref")

    def __init__(self, g, ref):
        self.g, self.ref = g, ref

    def _other(self, other):
        return other.ref if isinstance(other, Formula) else self.g.number(other, self.ref.dtype)

    def _new(self, kind, *inputs, **settings):
        return Formula(self.g, self.g.op(kind, *inputs, **settings))

    def _with(self, kind, other):
        return self._new(kind, self.ref, self._other(other))

    def _after(self, kind, other):
        return self._new(kind, self._other(other), self.ref)

    def __add__(self, other):
        return self._with("Add", other)

    def __sub__(self, other):
        return self._with("Sub", other)

    def __mul__(self, other):
        return self._with("Mul", other)

    def __truediv__(self, other):
        return self._with("Div", other)

    def __pow__(self, other):
        return self._with("Pow", other)

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other):
        return self._after("Sub", other)

    def __rtruediv__(self, other):
        return self._after("Div", other)

    def __neg__(self):
        return self._new("Neg", self.ref)

    def __abs__(self):
        return self._new("Abs", self.ref)

    def __lt__(self, other):
        return self._with("Less", other)

    def __le__(self, other):
        return self._with("LessOrEqual", other)

    def __gt__(self, other):
        return self._with("Greater", other)

    def __ge__(self, other):
        return self._with("GreaterOrEqual", other)

    def equals(self, other):
        return self._with("Equal", other)

    def __and__(self, other):
        return self._with("And", other)

    def __or__(self, other):
        return self._with("Or", other)

    def __invert__(self):
        return self._new("Not", self.ref)

    def function(self, kind):
        """A node of this tensor alone."""
        return self._new(kind, self.ref)

    def exp(self):
        return self.function("Exp")

    def log(self):
        return self.function("Log")

    def sqrt(self):
        return self.function("Sqrt")

    def sin(self):
        return self.function("Sin")

    def cos(self):
        return self.function("Cos")

    def floor(self):
        return self.function("Floor")

    def is_nan(self):
        return self.function("IsNaN")

    def at_least(self, other):
        return self._with("Max", other)

    def at_most(self, other):
        return self._with("Min", other)

    def choose(self, one, other):
        """One value where this is true, another one elsewhere; at most one of them is a number."""
        known = one if isinstance(one, Formula) else other
        return Formula(self.g, self.g.op("Where", self.ref, known._other(one), known._other(other)))

    def cast(self, dtype):
        return Formula(self.g, self.g.cast(self.ref, dtype))


def polynomial(x, coefficients):
    """The sum of coefficients, the constant one first, times powers of x."""
    *rest, found = coefficients
    found = x * found + rest.pop()
    for coefficient in reversed(rest):
        found = found * x + coefficient
    return found


def weighted(x, points, weights, function):
    """The sum of weights times a function of x times points: a table with one more dimension, and a product."""
    g = x.g
    table = Formula(g, g.unsqueeze(x.ref, [-1])) * Formula(g, g.constant(wisp.tensor(points, dtype=wisp.float64)))
    found = g.op("MatMul", function(table).ref, wisp.tensor(weights, dtype=wisp.float64), sizes=x.ref.sizes)
    return Formula(g, found)


def in_double(function):
    """A lowering by a function of formulas that is computed in float64 and given in the dtype of the result."""

    def lower(g, *args):
        dtype = g.results[0][0] or next(a.dtype for a in args if hasattr(a, "dtype"))
        found = function(*(Formula(g, g.cast(g.tensor(a, wisp.float64), wisp.float64)) for a in args))
        return g.cast(found.ref, dtype)

    return lower
