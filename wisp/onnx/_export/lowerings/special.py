"""The error function, the normal distribution, gamma functions and zeta: computed in float64, as the kernels do.

Nodes for them do not exist, and of the error function no runtime has one of float64.
"""

import math

import wisp
from wisp.onnx._export.formula import Formula, in_double, polynomial
from wisp.onnx._export.inner import loop
from wisp.onnx._export.lowerings.arithmetic import result_dtype

# erf(x) / x - 1 in powers of x**2, for |x| <= 3/4.
# erfc(x) exp(x**2) (x + c), for larger x, in powers of (x - c) / (x + c), after the first two terms.
# erfinv(x) / x - 1 in powers of w - 4, where w = -log(1 - x**2), and for w >= 8 in those of sqrt(w) - 4.375.
_ERF = [
    0.12837916709551259, -0.37612638903183715, 0.11283791670952632, -0.026866170644436818,
    0.0052239776155163717, -8.5483261950988407e-4, 1.2055289823090542e-4, -1.4924202686123974e-5,
    1.6430780496040892e-6, -1.5940872045220253e-7, 1.1475361080288421e-8,
]  # fmt: skip
_ERFCX = [
    0.035386551699542475, 0.74838045435195377, -0.50672605079595545, 0.29545160867367715, -0.14490421519237795,
    0.057186273764335972, -0.016385111269090053, 0.0022582528222006844, 6.1414367160483364e-4,
    -4.224831297728881e-4, 5.9263016051497606e-5, 3.2045831437344749e-5, -1.4101330132463516e-5,
    -1.3461631898088723e-6, 2.058185534866745e-6, -8.6777649656364092e-8, -2.7591679787137866e-7,
    3.9493439370462233e-8, 2.9962260701645397e-8, -7.9817848345660903e-9,
]  # fmt: skip
_INVERSE_NEAR = [
    0.85877911242697347, 0.22835468533769024, -0.0072210599518378916, -2.0397201750289349e-4,
    1.1887778912811167e-4, -1.5515141179723893e-5, 4.8654244136932587e-7, 1.7724372458529635e-7,
    -3.3436458648883734e-8, 1.8500520914115184e-9, 2.909948364518588e-10, -7.1763647029903909e-11,
    5.241841116939604e-12, 4.6597135358196605e-13, -1.5381204132912293e-13, 1.3769865614233136e-14,
    6.6747642033705098e-16, -3.2717168919714282e-16, 3.4978524886985979e-17, 5.3159116951671426e-19,
    -6.96772186045619e-19, 9.86529030494297e-20, -3.578002425149655e-22, -2.1150126075437281e-21,
    2.2453189078664641e-22, 1.9994069280881401e-23, -4.0202266725025332e-24, -7.1658491216604128e-26,
    2.68337087690477e-26,
]  # fmt: skip
_INVERSE_FAR = [
    3.2184807076529158, 1.0101295523879747, 5.034976081924067e-4, -5.1109082040900122e-4, 1.7645686894106306e-4,
    -5.0733784891842083e-5, 1.5140506393903854e-5, -5.8865287525770831e-6, 3.0884508017922561e-6,
    -1.7482651871875751e-6, 8.8597537583932971e-7, -3.6145440602021369e-7, 1.0262351660938038e-7,
    -8.4792846197858963e-9, -1.0665645400390785e-8, 7.5033446189522812e-9, -2.6771544806266337e-9,
    4.1016157665840396e-10, 1.2057351047841979e-10, -9.4203408089573551e-11, 3.0211972859505505e-11,
    -6.4260612902575363e-12, -5.6325056525928264e-13, 1.333159053042694e-12, -3.3418861112061415e-13,
    -4.5048012313030994e-14, 1.9725087731729244e-14,
]  # fmt: skip


def log1p(x):
    """log(1 + x), also of small numbers."""
    sum_ = x + 1
    return sum_.equals(1).choose(x, sum_.log() * x / (sum_ - 1))


# --- the normal distribution


def _erfcx_of_large(x):
    centre = 3.828125
    t = (x - centre) / (x + centre)
    return (t * polynomial(t, _ERFCX) - t + 1.0932725406451944) / (x + centre)


def erfc(x):
    size = abs(x)
    small = 1 - x - x * polynomial(x * x, _ERF)
    large = _erfcx_of_large(size.at_most(30)) * (-(x * x)).exp()
    return (size < 0.75).choose(small, (x < 0).choose(2 - large, large))


def erfcx(x):
    """erfc(x) exp(x**2)"""
    size = abs(x)
    power = (x * x).exp()
    small = power * (1 - size - size * polynomial(x * x, _ERF))
    found = (size < 0.75).choose(small, _erfcx_of_large(size))
    found = (size * 0).equals(0).choose(found, 0)
    found = (x < 0).choose(2 * power - found, found)
    return x.is_nan().choose(x, found)


def log_ndtr(x):
    """The logarithm of the normal distribution function."""
    z = x * math.sqrt(0.5)
    return (x < -1).choose((erfcx(-z) / 2).log() - z * z, log1p(-erfc(z) / 2))


def erfinv(x):
    size = abs(x)
    w = -((1 - size) * (1 + size)).log()
    tail = (w < 8).choose(polynomial(w - 4, _INVERSE_NEAR), polynomial(w.sqrt() - 4.375, _INVERSE_FAR))
    found = size * tail + size
    found = (size > 1).choose(math.nan, size.equals(1).choose(math.inf, found))
    return (x < 0).choose(-found, found)


def _ndtri(p):
    """Where the lower tail has probability p: Newton's method on the logarithm, for the smaller one of the tails."""
    g, tail = p.g, p.at_most(1 - p)
    wanted = tail.log()
    start = (tail > 0.1).choose(erfinv(2 * tail - 1) * math.sqrt(2), -(-2 * wanted).sqrt())

    def step(_, x):
        x = Formula(g, x)
        slope = math.sqrt(2 / math.pi) / erfcx(x * -math.sqrt(0.5))
        return [(x - (log_ndtr(x) - wanted) / slope).ref]

    found = Formula(g, loop(g, 8, [start.ref], step)[0])
    found = tail.equals(0).choose(-math.inf, (tail < 0).choose(math.nan, found))
    return (p > 0.5).choose(-found, found)


# --- gamma functions

_SHIFT = 10  # from so much on, series in 1 / x are exact; smaller numbers are moved up


_B = [1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798]
_STIRLING = [b / (2 * k * (2 * k - 1)) for k, b in enumerate(_B, 1)]
_DIGAMMA = [b / (2 * k) for k, b in enumerate(_B, 1)]


def stirling(x):
    """What log(gamma(x)) is more than (x - 1/2) log(x) - x + log(2 pi) / 2, for x from 10 on."""
    inverse = 1 / x
    return polynomial(inverse * inverse, _STIRLING) * inverse


def _lgamma_of_positive(x):
    low = x < _SHIFT
    product = x
    for k in range(1, _SHIFT):
        product = product * (x + k)
    moved = low.choose(x + _SHIFT, x)
    found = (moved - 0.5) * moved.log() - moved + (stirling(moved) + math.log(2 * math.pi) / 2)
    found = low.choose(found - product.log(), found)
    return (x * 0).equals(0).choose(found, x)


def _from_nearest(x):
    """How far a number is from the nearest integer."""
    return x - x.function("Round")


def lgamma(x):
    """log(|gamma(x)|); left of 0 by reflection."""
    found = _lgamma_of_positive((x < 0).choose(1 - x, x))
    sine = abs((_from_nearest(x) * math.pi).sin())
    reflected = math.log(math.pi) - sine.log() - found
    reflected = x.equals(-math.inf).choose(math.inf, reflected)
    return (x < 0).choose(reflected, found)


def digamma(x):
    y = (x < 0).choose(1 - x, x)
    low = y < _SHIFT
    steps = 1 / y
    for k in range(1, _SHIFT):
        steps = steps + 1 / (y + k)
    moved = low.choose(y + _SHIFT, y)
    square = 1 / (moved * moved)
    found = moved.log() - 0.5 / moved - square * polynomial(square, _DIGAMMA)
    found = low.choose(found - steps, found)
    angle = _from_nearest(x) * math.pi
    reflected = found - math.pi * angle.cos() / angle.sin()
    reflected = angle.equals(0).choose(math.nan, reflected)
    return (x < 0).choose(reflected, found)


# --- Hurwitz's zeta function: the sum of (q + k)**-s, by Euler and Maclaurin

_PLAIN = 24  # so many terms are added one by one
_MACLAURIN = [b / math.factorial(2 * k) for k, b in enumerate(_B, 1)]


def zeta(s, q):
    g = s.g
    at = q.at_least(-1e6) + s * 0
    zeros = at * 0

    def step(_, at, total):
        at, total = Formula(g, at), Formula(g, total)
        low = at < _PLAIN
        return [low.choose(at + 1, at).ref, low.choose(total + at ** (-s), total).ref]

    def is_low(at, _):
        return g.op("Less", g.reduce("ReduceMin", at), g.number(_PLAIN, wisp.float64))

    at, total = (Formula(g, ref) for ref in loop(g, None, [at.ref, zeros.ref], step, is_low))
    last = at ** (-s)
    total = total + last * at / (s - 1) + last / 2
    factor, power = s, last / at
    for k, coefficient in enumerate(_MACLAURIN):
        total = total + factor * power * coefficient
        factor = factor * (s + (2 * k + 1)) * (s + (2 * k + 2))
        power = power / (at * at)
    pole = (q <= 0) & q.equals(q.floor())
    total = pole.choose(math.inf, ((q <= 0) & ~s.equals(s.floor())).choose(math.nan, total))
    total = (s < 1).choose(math.nan, s.equals(1).choose(math.inf, total))
    return q.is_nan().choose(q, s.is_nan().choose(s, total))


def _polygamma(g, n, x):
    dtype = result_dtype(g, x)
    wide = Formula(g, g.cast(x, wisp.float64))
    if n == 0:
        return g.cast(digamma(wide).ref, dtype)
    found = zeta(Formula(g, g.number(n + 1, wisp.float64)), wide)
    return g.cast((found * float((-1) ** (n + 1) * math.factorial(n))).ref, dtype)


LOWERINGS = {
    "erfcx": in_double(erfcx), "log_ndtr": in_double(log_ndtr), "erfinv": in_double(erfinv),
    "ndtri": in_double(_ndtri), "lgamma": in_double(lgamma), "digamma": in_double(digamma), "zeta": in_double(zeta),
    "polygamma": _polygamma,
}  # fmt: skip
