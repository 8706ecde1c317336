"""Random numbers: ONNX has its own generators, whose numbers are others."""

import math

import wisp
from wisp.onnx._export.formula import Formula
from wisp.onnx._export.inner import loop
from wisp.onnx._export.lowerings.creation import filled
from wisp.onnx._export.values import Ref, Unsupported


def _of_sizes(kind):
    def lower(g, sizes, *args):
        like = filled(g, sizes, 0, g.results[0][0] or wisp.get_default_dtype())
        return g.op(kind, like, dtype=None)

    return lower


def _like(kind):
    return lambda g, x, *args: _random(g, kind, x)


def _random(g, kind, like, **settings):
    dtype = g.results[0][0] or like.dtype
    made = g.op(kind, g.cast(like, dtype), **settings)
    made.dtype = dtype
    return made


def _uniform(g, x, low=0, high=1, *_):
    return _random(g, "RandomUniformLike", x, low=float(low), high=float(high))


def _normal(g, x, mean=0, std=1, *_):
    return _random(g, "RandomNormalLike", x, mean=float(mean), scale=float(std))


def _integers(g, low, high, sizes):
    like = filled(g, sizes, 0, wisp.float32)
    found = g.op("Floor", g.op("RandomUniformLike", like, low=float(low), high=float(high)))
    return g.cast(found, g.results[0][0] or wisp.int64)


def _bernoulli(g, x, p=None, *_):
    """1 with a probability, which the node of that name takes for the one of 0 in some runtimes."""
    p = x if p is None or not isinstance(p, (int, float)) else filled(g, g.shape(x), p, wisp.float32)
    wide = p if p.dtype == wisp.float64 else g.cast(p, wisp.float32)
    return g.cast((_drawn(g, wide, wide.dtype) < Formula(g, wide)).ref, x.dtype)


def _drawn(g, like, dtype=wisp.float32):
    """Numbers from 0 to 1, without 1, as many as a tensor has."""
    return Formula(g, g.op("RandomUniformLike", g.cast(like, dtype), low=0.0, high=1.0, sizes=like.sizes))


def _waits(g, like, dtype=wisp.float32):
    """How long one waits for what happens once in a unit of time."""
    return -(1 - _drawn(g, like, dtype)).log()


def _distributed(formula):
    """A distribution as a function of uniform numbers, or of what else `formula` draws."""

    def lower(g, x, *args):
        args = [arg for arg in args if isinstance(arg, (int, float))]
        found = formula(g, g.cast(x, wisp.float32 if x.dtype != wisp.float64 else x.dtype), *args)
        return g.cast(found.ref, x.dtype)

    return lower


def _cauchy(g, x, median=0.0, sigma=1.0):
    return ((_drawn(g, x, x.dtype) - 0.5) * math.pi).function("Tan") * sigma + median


def _geometric(g, x, p):
    return (_waits(g, x, x.dtype) / -math.log1p(-p)).function("Ceil").at_least(1)


def _log_normal(g, x, mean=1.0, std=2.0):
    return Formula(g, _normal(g, x, mean, std)).exp()


def _normal_of_tensors(g, mean, std=1, *_):
    """Means and deviations, of which one may be a number."""
    tensors = [part for part in (mean, std) if isinstance(part, Ref)]
    mean, std = (Formula(g, g.tensor(part, tensors[0].dtype)) for part in (mean, std))
    both = mean + std * 0
    return (mean + std * Formula(g, g.op("RandomNormalLike", both.ref, sizes=both.ref.sizes))).ref


def _random_from(g, x, low, high=None, *_):
    if high is None:
        raise Unsupported("integers without an upper limit")
    drawn = _drawn(g, x, wisp.float64) * float(high - low) + float(low)
    return g.cast(drawn.floor().ref, x.dtype)


def _permutation(g, count, *args):
    like = filled(g, [count], 0, wisp.float32)
    like.sizes = (None if isinstance(count, Ref) else count,)
    places = g.op("TopK", _drawn(g, like).ref, [count], outputs=2, axis=0)[1]
    places.dtype = wisp.int64
    dtype = next((arg for arg in args if isinstance(arg, wisp.dtype)), None) or g.results[0][0] or wisp.int64
    return g.cast(places, dtype)


def _multinomial(g, x, count, replacement=False, *_):
    if not replacement and count > 1:
        return _without_replacement(g, x, count)
    rows = x if x.rank == 2 else g.unsqueeze(x, [0])
    found = g.op("Multinomial", g.op("Log", rows), sample_size=count, dtype=None)
    found = g.cast(g.op("Identity", _as_int32(found)), wisp.int64)
    return found if x.rank == 2 else g.squeeze(found, [0])


def _without_replacement(g, x, count):
    """What comes first, if each comes as often as its weight says."""
    hurry = Formula(g, x) / _waits(g, x, x.dtype)
    places = g.op("TopK", hurry.ref, [count], outputs=2, axis=x.rank - 1)[1]
    places.dtype = wisp.int64
    return places


# --- by counting, or by trying again


def _poisson(g, rate, *_):
    """How many events come within a time: waits are added up until it is over everywhere."""
    limit = Formula(g, g.cast(rate, wisp.float32))
    zeros = (limit * 0).ref

    def step(_, passed, count):
        passed = Formula(g, passed) + _waits(g, passed)
        return [passed.ref, (passed <= limit).choose(Formula(g, count) + 1, Formula(g, count)).ref]

    def goes_on(passed, _):
        return _any(g, Formula(g, passed) <= limit)

    return g.cast(loop(g, None, [zeros, zeros], step, goes_on)[1], rate.dtype)


def _binomial(g, count, prob, *_):
    """How many of so many tries are successful."""
    prob, count_of = Formula(g, prob), Formula(g, g.cast(count, prob.dtype))
    start = prob * 0 + count_of * 0

    def step(index, total):
        tried = Formula(g, g.cast(index, prob.ref.dtype)) < count_of
        won = tried & (_drawn(g, total, prob.ref.dtype) < prob)
        return [(Formula(g, total) + won.cast(prob.ref.dtype)).ref]

    rounds = g.cast(g.reduce("ReduceMax", count_of.ref), wisp.int64)
    return loop(g, rounds, [start.ref], step)[0]


def _any(g, condition):
    most = g.reduce("ReduceMax", g.cast(condition.ref, wisp.int32))
    return g.op("Greater", most, g.number(0, wisp.int32))


def _gamma(g, shape, *_):
    """By Marsaglia and Tsang: cubes of normal numbers, drawn again until they are accepted.

    Shapes below 1 are those of one more, times a power of a uniform number.
    """
    dtype, own = shape.dtype, Formula(g, g.cast(shape, wisp.float64))
    small = own < 1
    d = small.choose(own + 1, own) - 1 / 3
    scale = 1 / (d * 9).sqrt()

    def step(_, found):
        x = Formula(g, g.op("RandomNormalLike", found, sizes=found.sizes))
        cube = (x * scale + 1) * (x * scale + 1) * (x * scale + 1)
        log = cube.at_least(1e-300).log()
        accepted = (cube > 0) & (-_waits(g, found, wisp.float64) < x * x / 2 + d - d * cube + d * log)
        found = Formula(g, found)
        return [(accepted & (found < 0)).choose(d * cube, found).ref]

    def goes_on(found):
        return _any(g, Formula(g, found) < 0)

    found = Formula(g, loop(g, None, [(own * 0 - 1).ref], step, goes_on)[0])
    boost = (-_waits(g, shape, wisp.float64) / own).exp()
    return g.cast(small.choose(found * boost, found).ref, dtype)


def _as_int32(ref):
    ref.dtype = wisp.int32
    return ref


LOWERINGS = {
    "rand": _of_sizes("RandomUniformLike"), "randn": _of_sizes("RandomNormalLike"),
    "rand_like": _like("RandomUniformLike"),
    "randn_like": _like("RandomNormalLike"), "uniform": _uniform, "normal": _normal,
    "randint": lambda g, high, sizes, *_: _integers(g, 0, high, sizes),
    "randint.low": lambda g, low, high, sizes, *_: _integers(g, low, high, sizes),
    "randint_like": lambda g, x, high, *_: _integers(g, 0, high, g.shape(x)),
    "randint_like.low": lambda g, x, low, high, *_: _integers(g, low, high, g.shape(x)),
    "bernoulli": lambda g, x, *_: _bernoulli(g, x), "bernoulli.p": _bernoulli, "multinomial": _multinomial,
    "bernoulli.tensor": lambda g, x, p, *_: g.cast(_bernoulli(g, p), x.dtype), "normal.tensors": _normal_of_tensors,
    "randperm": _permutation, "random.from": _random_from, "random.to": lambda g, x, high, *_: _random_from(g, x, 0, high),
    "exponential": _distributed(lambda g, x, rate=1.0: _waits(g, x, x.dtype) / rate), "cauchy": _distributed(_cauchy),
    "geometric": _distributed(_geometric), "log_normal": _distributed(_log_normal), "poisson": _poisson,
    "binomial": _binomial, "_standard_gamma": _gamma,
}  # fmt: skip
