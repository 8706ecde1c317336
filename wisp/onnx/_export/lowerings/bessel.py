"""Bessel functions and Airy's, in float64.

They are integrals of smooth functions over a period, or of ones that vanish at both ends. Sums over equal steps give
these to all digits, and are products with constant tables here; large numbers have series in 1 / x.
"""

import math

import wisp
from wisp.onnx._export.formula import Formula, in_double, polynomial, weighted

_EULER = 0.57721566490153286

# --- J and Y: 1 / n times the sum of cos(order * t - x sin(t)) over n steps of a whole turn

_LARGE = 25.0  # from here on by series
_STEPS = 128
_ORDERS = 32  # how many J of higher order make up Y
_TURN = [2 * math.pi * k / _STEPS for k in range(_STEPS // 4 + 1)]
_SINES = [math.sin(t) for t in _TURN]
_SHARE = [(2 if k in (0, _STEPS // 4) else 4) / _STEPS for k in range(_STEPS // 4 + 1)]  # of what each quarter repeats


def _even_order(order):
    return [share * math.cos(order * t) for share, t in zip(_SHARE, _TURN, strict=True)]


def _odd_order(order):
    return [share * math.sin(order * t) for share, t in zip(_SHARE, _TURN, strict=True)]


def _combined(tables, factors):
    return [math.fsum(f * v for f, v in zip(factors, row, strict=True)) for row in zip(*tables, strict=True)]


_Y0_REST = _combined([_even_order(2 * k) for k in range(1, _ORDERS)], [2 * (-1) ** k / k for k in range(1, _ORDERS)])
_Y1_REST = _combined(
    [_odd_order(2 * k + 1) for k in range(1, _ORDERS)],
    [(-1) ** k * (2 * k + 1) / (k * (k + 1)) for k in range(1, _ORDERS)],
)


def _cosines(x, weights):
    return weighted(x, _SINES, weights, Formula.cos)


def _sines(x, weights):
    return weighted(x, _SINES, weights, Formula.sin)


def _hankel(order):
    """Coefficients of the series in 1 / x of Bessel functions, all of them positive for order 0."""
    found = [1.0]
    for k in range(1, 26):
        found.append(found[-1] * (4 * order * order - (2 * k - 1) ** 2) / (8 * k))
    return found


def _wave(x, order, turned):
    """J, or Y if turned, of large numbers: a wave whose size and phase are series."""
    series, inverse = _hankel(order), 1 / x
    square = inverse * inverse
    even = polynomial(square, [(-1) ** k * c for k, c in enumerate(series[0:22:2])])
    odd = polynomial(square, [(-1) ** k * c for k, c in enumerate(series[1:22:2])]) * inverse
    angle = x - (math.pi / 4 + order * math.pi / 2)
    sine, cosine = angle.sin(), angle.cos()
    found = sine * even + cosine * odd if turned else cosine * even - sine * odd
    return found * (2 / math.pi * inverse).sqrt()


def _bessel_j0(x):
    size = abs(x)
    return (size < _LARGE).choose(_cosines(size.at_most(_LARGE), _even_order(0)), _wave(size, 0, False))


def _j1_of_small(x):
    found = _sines(x.at_most(_LARGE), _odd_order(1))
    return (x < 1e-3).choose(x / 2 * (1 - x * x / 8), found)


def _bessel_j1(x):
    size = abs(x)
    found = (size < _LARGE).choose(_j1_of_small(size), _wave(size, 1, False))
    return (x < 0).choose(-found, found)


def _where_positive(x, found):
    """Y and K are infinite at 0 and NaN left of it; `found` has the right sign there."""
    return (x < 0).choose(math.nan, found)


def _bessel_y0(x):
    near = x.at_most(_LARGE)
    log = (x / 2).log() + _EULER
    small = (log * _cosines(near, _even_order(0)) - _cosines(near, _Y0_REST)) * (2 / math.pi)
    return _where_positive(x, (x < _LARGE).choose(small, _wave(x, 0, True)))


def _bessel_y1(x):
    near = x.at_most(_LARGE)
    log = (x / 2).log() + (_EULER - 1)
    parts = log * _j1_of_small(near) - _cosines(near, _even_order(0)) / x - _sines(near, _Y1_REST)
    small = parts * (2 / math.pi)
    small = x.equals(0).choose(-math.inf, small)
    return _where_positive(x, (x < _LARGE).choose(small, _wave(x, 1, True)))


# --- I: 1 / n times the sum of exp(x cos(t)) cos(order * t)

_I_STEPS = 64
_I_LARGE = 20.0
_I_TURN = [2 * math.pi * k / _I_STEPS for k in range(_I_STEPS // 2 + 1)]
_I_SHARE = [(1 if k in (0, _I_STEPS // 2) else 2) / _I_STEPS for k in range(_I_STEPS // 2 + 1)]


def _scaled_i(order):
    """I times exp(-|x|)."""

    def found(x):
        size = abs(x)
        weights = [share * math.cos(order * t) for share, t in zip(_I_SHARE, _I_TURN, strict=True)]
        small = weighted(size.at_most(_I_LARGE), [math.cos(t) - 1 for t in _I_TURN], weights, Formula.exp)
        if order:
            small = (size < 1e-3).choose(size / 2 * (1 + size * size / 8) * (-size).exp(), small)
        series = polynomial(1 / size, [(-1) ** k * c for k, c in enumerate(_hankel(order))])
        made = (size <= _I_LARGE).choose(small, series / (size * (2 * math.pi)).sqrt())
        made = size.equals(math.inf).choose(0.0, made)
        return (x < 0).choose(-made, made) if order else made

    return found


def _plain_i(order):
    def found(x):
        half = (abs(x) / 2).exp()  # in two steps, as the whole may overflow before the product does
        made = _scaled_i(order)(x) * half * half
        return abs(x).equals(math.inf).choose(x if order else abs(x), made)

    return found


# --- K: the integral of exp(-x cosh(t)) cosh(order * t) over t > 0

_K_STEP, _K_COUNT = 0.1, 46


def _scaled_k_of_large(order, x):
    """K times exp(x), for x from 1 on."""
    turn = [_K_STEP * k for k in range(_K_COUNT)]
    weights = [_K_STEP * math.cosh(order * t) * (0.5 if t == 0 else 1) for t in turn]
    small = weighted(x.at_most(_I_LARGE), [1 - math.cosh(t) for t in turn], weights, Formula.exp)
    series = polynomial(1 / x, _hankel(order)) * (math.pi / 2 / x).sqrt()
    return (x < _I_LARGE).choose(small, series)


def _k_of_small(order, x):
    """The power series, for x < 1: a logarithm times that of I, and the same with sums of 1 / k."""
    count, square = 14, x * x / 4
    plain = [1 / (math.factorial(k) * math.factorial(k + order)) for k in range(count)]
    sums = [math.fsum(1 / i for i in range(1, k + 1)) for k in range(count + 1)]
    shift = -(x / 2).log() - _EULER
    if order == 0:
        return shift * polynomial(square, plain) + polynomial(square, [c * s for c, s in zip(plain, sums)])
    rest = polynomial(square, [c * (sums[k] + 0.5 / (k + 1)) for k, c in enumerate(plain)])
    return 1 / x - x / 2 * (shift * polynomial(square, plain) + rest)


def _k(order, scaled):
    def found(x):
        large, small = _scaled_k_of_large(order, x), _k_of_small(order, x)
        made = (x < 1).choose(small * x.exp(), large) if scaled else (x < 1).choose(small, large * (-x).exp())
        made = x.equals(0).choose(math.inf, x.equals(math.inf).choose(0.0, made))
        return _where_positive(x, made)

    return found


def _spherical_j0(x):
    found = x.equals(0).choose(1.0, x.sin() / x)
    return abs(x).equals(math.inf).choose(0.0, found)


# --- Airy

_CENTRES = range(-9, 3)
_AI, _AI_SLOPE = 0.35502805388781724, -0.2588194037928068  # at 0
_TERMS = 30


def _taylor(centre, value, slope):
    """Coefficients of a solution of y'' = x y around a place."""
    found = [value, slope]
    for n in range(_TERMS - 2):
        before = found[n - 1] if n else 0.0
        found.append((centre * found[n] + before) / ((n + 1) * (n + 2)))
    return found


# Value and derivative at the integers from -9 to 2.
_KNOWN = [
    (-0.022133721547341404, -0.97566398092633159), (-0.052705050356386203, 0.93556093819830655),
    (0.18428083525050564, -0.77100816841012655), (-0.32914517362982311, 0.34593548728134289),
    (0.35076100902411432, 0.32719281855444314), (-0.070265532949289515, -0.79062857536858138),
    (-0.37881429367765807, 0.31458376921659881), (0.22740742820168558, 0.61825902074169104),
    (0.53556088329235212, -0.010160567116645209), (_AI, _AI_SLOPE), (0.13529241631288142, -0.15914744129679321),
    (0.034924130423274379, -0.053090384433653632),
]  # fmt: skip


def _airy_near(x):
    """Taylor's series around the nearest integer, whose coefficients are a row of a table."""
    g = x.g
    x = x.is_nan().choose(0.0, x)
    centre = x.function("Round").at_least(_CENTRES[0]).at_most(_CENTRES[-1])
    table = wisp.tensor([_taylor(c, *known) for c, known in zip(_CENTRES, _KNOWN, strict=True)], dtype=wisp.float64)
    rows = g.op("Gather", table, (centre - _CENTRES[0]).cast(wisp.int64).ref, axis=0)
    powers = Formula(g, g.unsqueeze((x - centre).ref, [-1])) ** Formula(g, g.constant(wisp.arange(_TERMS).double()))
    terms = g.op("Mul", rows, powers.ref)
    terms.sizes = (*x.ref.sizes, _TERMS)
    return Formula(g, g.reduce("ReduceSum", terms, [-1]))


def _airy_wave(x):
    """Far to the left: a wave whose size and phase are series in 1 / zeta."""
    size = -x
    root = size.sqrt()
    zeta = size * root * (2 / 3)
    terms = [1.0]
    for k in range(1, 20):
        terms.append(terms[-1] * (6 * k - 5) * (6 * k - 1) / (72 * k))
    inverse = 1 / zeta
    square = inverse * inverse
    even = polynomial(square, [(-1) ** k * c for k, c in enumerate(terms[0::2])])
    odd = polynomial(square, [(-1) ** k * c for k, c in enumerate(terms[1::2])]) * inverse
    angle = zeta - math.pi / 4
    return (angle.cos() * even + angle.sin() * odd) / (root * math.pi).sqrt()


def _airy(x):
    zeta = x * x.sqrt() * (2 / 3)
    right = (x / 3).sqrt() / math.pi * _scaled_k_of_large(1 / 3, zeta) * (-zeta).exp()
    right = (x > 106).choose(0.0, right)
    found = (x <= 2.5).choose(_airy_near(x), right)
    found = (x < -9.5).choose(_airy_wave(x), found)
    return (x * 0).equals(0).choose(found, math.nan)


LOWERINGS = {
    "i0": in_double(_plain_i(0)), "i0e": in_double(_scaled_i(0)), "i1": in_double(_plain_i(1)),
    "i1e": in_double(_scaled_i(1)), "special_bessel_j0": in_double(_bessel_j0),
    "special_bessel_j1": in_double(_bessel_j1), "special_bessel_y0": in_double(_bessel_y0),
    "special_bessel_y1": in_double(_bessel_y1), "special_modified_bessel_k0": in_double(_k(0, False)),
    "special_modified_bessel_k1": in_double(_k(1, False)), "special_scaled_modified_bessel_k0": in_double(_k(0, True)),
    "special_scaled_modified_bessel_k1": in_double(_k(1, True)), "special_spherical_bessel_j0": in_double(_spherical_j0),
    "special_airy_ai": in_double(_airy),
}  # fmt: skip
