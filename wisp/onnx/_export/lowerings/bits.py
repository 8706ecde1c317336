"""Bits of integers, and how floating point numbers are made."""

import wisp
from wisp.onnx._export.formula import Formula
from wisp.onnx._export.inner import loop
from wisp.onnx._export.lowerings.arithmetic import result_dtype, together
from wisp.onnx._package import onnx

# --- shifts


def _unsigned(g, x):
    """The bits of an integer of 64 bits as one without a sign, which is all that ONNX shifts."""
    return g.op("Cast", x, to=onnx.TensorProto.UINT64, dtype=wisp.int64, sizes=x.sizes)


def _shift(g, x, count, direction):
    found = g.op("BitShift", _unsigned(g, x), _unsigned(g, count), direction=direction)
    return g.op("Cast", found, to=onnx.TensorProto.INT64, dtype=wisp.int64)


def _shifted(direction):
    def lower(g, a, b):
        dtype = result_dtype(g, a, b)
        a, b = (g.cast(x, wisp.int64) for x in together(g, a, b, dtype=dtype))
        bits = 8 * wisp.tensor([], dtype=dtype).element_size()
        fits = g.op(
            "And", g.op("GreaterOrEqual", b, g.number(0, wisp.int64)), g.op("Less", b, g.number(bits, wisp.int64))
        )
        count = g.op("Where", fits, b, g.number(0, wisp.int64))
        x, rest = Formula(g, a), 0
        if direction == "LEFT":
            found = x * Formula(g, _shift(g, g.number(1, wisp.int64), count, direction))
        else:  # the bits of a negative number are those of -1 - x turned over
            minus = x < 0
            rest = minus.choose(x * 0 - 1, 0)
            moved = Formula(g, _shift(g, minus.choose(-1 - x, x).ref, count, direction))
            found = minus.choose(-1 - moved, moved)
        return g.cast(Formula(g, fits).choose(found, rest).ref, dtype)

    return lower


# --- divisors


def gcd(g, a, b):
    """Euclid's algorithm, until all elements have arrived."""
    dtype = result_dtype(g, a, b)
    a, b = together(g, a, b, dtype=dtype)
    a, b = (g.op("Abs", g.cast(x, wisp.int64)) for x in (a, b))
    zeros = g.op("Mul", g.op("Add", a, b), g.number(0, wisp.int64))
    a, b = (g.op("Add", x, zeros) for x in (a, b))

    def step(_, a, b):
        done = g.op("Equal", b, g.number(0, wisp.int64))
        rest = g.op("Mod", a, g.op("Where", done, g.number(1, wisp.int64), b))
        return [g.op("Where", done, a, b), g.op("Where", done, b, rest)]

    def goes_on(_, b):
        most = g.reduce("ReduceMax", b)
        return g.op("Greater", most, g.number(0, wisp.int64))

    return g.cast(loop(g, None, [a, b], step, goes_on)[0], dtype)


def _lcm(g, a, b):
    dtype = result_dtype(g, a, b)
    a, b = (g.cast(x, wisp.int64) for x in together(g, a, b, dtype=dtype))
    common = g.cast(gcd(g, a, b), wisp.int64)
    divisor = g.op("Where", g.op("Equal", common, g.number(0, wisp.int64)), g.number(1, wisp.int64), common)
    return g.cast(g.op("Abs", g.op("Mul", g.op("Div", a, divisor), b)), dtype)


# --- exponents

_SMALLEST = {  # the exponents of the smallest normal number, and how many bits follow the first
    wisp.float32: (-126, 23), wisp.float64: (-1022, 52), wisp.float16: (-14, 10), wisp.bfloat16: (-126, 7),
}  # fmt: skip


def _power_of_two(exponent):
    """2 to a whole number, in two steps, as the smallest numbers are beyond the range of a single one."""
    half = (exponent / 2).floor()
    two = Formula(exponent.g, exponent.g.number(2, wisp.float64))
    return two**half * two ** (exponent - half)


def _exponent(size):
    """The exponent of a positive number: the largest whole one with 2**e <= size."""
    found = (size.log() / 0.6931471805599453).floor()
    power = _power_of_two(found)
    found = (power > size).choose(found - 1, found)
    return (power * 2 <= size).choose(found + 1, found)


def _frexp(g, x):
    """A number as a mantissa from 1/2 to 1 times a power of two."""
    wide = Formula(g, g.cast(x, wisp.float64))
    plain = (abs(wide) * 0).equals(0) & ~wide.equals(0)
    exponent = plain.choose(_exponent(plain.choose(abs(wide), 1)) + 1, 0)
    mantissa = wide / _power_of_two(exponent)
    return g.cast(plain.choose(mantissa, wide).ref, x.dtype), g.cast(exponent.ref, wisp.int32)


def _nextafter(g, a, b):
    """The neighbour of a number in the direction of another: one unit of its last place away."""
    dtype = result_dtype(g, a, b)
    a, b = (Formula(g, g.cast(x, wisp.float64)) for x in together(g, a, b, dtype=dtype))
    lowest, digits = _SMALLEST[dtype]
    size = abs(a)
    plain = (size * 0).equals(0) & (size > 0)
    exponent = _exponent(plain.choose(size, 1)).at_least(lowest)
    exponent = plain.choose(exponent, float(lowest))
    inwards = (a > b).choose(a, -a) > 0
    edge = inwards & size.equals(_power_of_two(exponent)) & (exponent > lowest)
    unit = _power_of_two(edge.choose(exponent - 1, exponent) - digits)
    moved = a + (a < b).choose(unit, -unit)
    largest = float(wisp.finfo(dtype).max)
    from_infinity = (a > 0).choose(Formula(g, g.number(largest, wisp.float64)), -largest)
    moved = (abs(a) > largest).choose(from_infinity, moved)
    found = a.equals(b).choose(b, moved)
    found = a.is_nan().choose(a, b.is_nan().choose(b, found))
    return g.cast(found.ref, dtype)


LOWERINGS = {
    "bitwise_left_shift": _shifted("LEFT"), "bitwise_right_shift": _shifted("RIGHT"), "gcd": gcd, "lcm": _lcm,
    "frexp": _frexp, "nextafter": _nextafter, "conj_physical": lambda g, x: g.op("Identity", x, sizes=x.sizes),
}  # fmt: skip
