"""The incomplete gamma functions P and Q, in float64, by the series and fractions of the kernels."""

import math

import wisp
from wisp.onnx._export.formula import Formula, in_double, polynomial
from wisp.onnx._export.inner import loop
from wisp.onnx._export.lowerings.special import erfc, lgamma, log1p, stirling

_EPSILON = 2.0**-53
_MOST = 4096  # terms; the series of larger numbers is another one
# Of eta / (x / a - 1) in powers of eta, where eta**2 / 2 = x / a - 1 - log(x / a).
_UNIFORM = [
    1.0, -0.3333333333333333, 0.08333333333333333, -0.014814814814814815, 0.0011574074074074073,
    0.0003527336860670194, -0.0001787551440329218, 3.919263178522438e-05, -2.185448510679992e-06,
    -1.85406221071516e-06, 8.296711340953087e-07, -1.7665952736826078e-07, 6.707853543401498e-09,
    1.0261809784240309e-08, -4.382036018453353e-09, 9.14769958223679e-10, -2.5514193994946248e-11,
    -5.830772132550426e-11, 2.4361948020667415e-11, -5.0276692801141755e-12, 1.1004392031956135e-13,
    3.371763262400985e-13, -1.392388722418162e-13, 2.8534893807047445e-14, -5.139111834242572e-16,
    -1.9752288294349442e-15, 8.099521156704561e-16,
]  # fmt: skip


def _log1p_minus(x):
    """log(1 + x) - x without cancellation near 0: the series of atanh(x / (2 + x))."""
    r = x / (x + 2)
    square = r * r
    series = r * square * polynomial(square, [1 / k for k in range(3, 39, 2)]) * 2 - x * r
    return (abs(x) > 0.5).choose(log1p(x) - x, series)


def _prefix(a, x):
    """x**a exp(-x) / gamma(a + 1); of large a by Stirling's formula, in which the large terms cancel."""
    small = (a * x.log() - x - lgamma(a + 1)).exp()
    large = (a * _log1p_minus((x - a) / a) - stirling(a)).exp() / (a * (2 * math.pi)).sqrt()
    return (a < 12).choose(small, large)


def _any(g, condition):
    most = g.reduce("ReduceMax", g.cast(condition.ref, wisp.int32))
    return g.op("Greater", most, g.number(0, wisp.int32))


def _p_series(a, x):
    """P by its power series, divided by the prefix."""
    g, ones = a.g, (a + x) * 0 + 1

    def step(index, term, total):
        n = Formula(g, g.cast(index, wisp.float64)) + 1
        term = Formula(g, term) * (x / (a + n))
        return [term.ref, (Formula(g, total) + term).ref]

    def goes_on(term, total):
        return _any(g, Formula(g, term) > Formula(g, total) * (_EPSILON / 4))

    return Formula(g, loop(g, _MOST, [ones.ref, ones.ref], step, goes_on)[1])


def _q_fraction(a, x):
    """Q by its continued fraction, for x above a, times gamma(a) exp(x) x**-a."""
    g = a.g
    b = x + 1 - a
    d = 1 / b
    start = [b, d * 0 + _EPSILON**-2, d, d, d * 0 + 2]

    def step(index, *carried):
        b, c, d, h, _ = (Formula(g, ref) for ref in carried)
        n = Formula(g, g.cast(index, wisp.float64)) + 1
        factor = n * (a - n)
        b = b + 2
        d = 1 / (factor * d + b)
        c = b + factor / c
        change = c * d
        return [part.ref for part in (b, c, d, h * change, change)]

    def goes_on(*carried):
        return _any(g, abs(Formula(g, carried[4]) - 1) > _EPSILON)

    return Formula(g, loop(g, _MOST, [part.ref for part in start], step, goes_on)[3])


def _uniform(a, x, lower):
    """Temme's expansion for large a and x near a."""
    mu = (x - a) / a
    half_square = -_log1p_minus(mu)
    root = (half_square * 2).sqrt()
    eta = (mu < 0).choose(-root, root)
    beta = [None] * 26
    beta[25], beta[24] = eta * 0 + _UNIFORM[26], eta * 0 + _UNIFORM[25]
    for m in range(24, 0, -1):
        beta[m - 1] = beta[m + 1] * float(m + 1) / a + _UNIFORM[m]
    total = beta[25]
    for coefficient in reversed(beta[:25]):
        total = total * eta + coefficient
    rest = total / (beta[1] / a + 1) * (-a * half_square).exp() / (a * (2 * math.pi)).sqrt()
    z = (a * half_square).sqrt()
    z = (mu < 0).choose(-z, z)
    return erfc(-z) / 2 - rest if lower else erfc(z) / 2 + rest


def _regularized(lower):
    """P if lower, else Q. What a form is not made for is replaced by numbers that it converges for."""

    def found(a, x):
        plain = (a > 0) & (x > 0) & (a < math.inf) & (x < math.inf)
        central = (a > 25) & (abs(x - a) < a * 0.3)
        by_series = (x <= 1) | (x <= a)
        series_a, series_x = _kept(plain & by_series & ~central, a, x)
        fraction_a, fraction_x = _kept(plain & ~by_series & ~central, a, x, 2.0)
        p = _prefix(series_a, series_x) * _p_series(series_a, series_x)
        q = _prefix(fraction_a, fraction_x) * fraction_a * _q_fraction(fraction_a, fraction_x)
        made = by_series.choose(p if lower else 1 - p, 1 - q if lower else q)
        made = central.choose(_uniform(*_kept(plain & central, a, x), lower), made)
        return _at_edges(a, x, made, lower)

    return found


def _kept(where, a, x, other=1.0):
    return where.choose(a, 1.0), where.choose(x, other)


def _at_edges(a, x, found, lower):
    """P is 0 at x = 0 and 1 at infinity; a large a turns that round."""
    none, all_ = (0.0, 1.0) if lower else (1.0, 0.0)
    found = x.equals(math.inf).choose(all_, x.equals(0).choose(none, found))
    found = a.equals(math.inf).choose(none, a.equals(0).choose(all_, found))
    nothing = (a.equals(math.inf) & x.equals(math.inf)) | (a.equals(0) & x.equals(0))
    return (nothing | ~((a >= 0) & (x >= 0))).choose(math.nan, found)


LOWERINGS = {"igamma": in_double(_regularized(True)), "igammac": in_double(_regularized(False))}
