"""Random numbers: ONNX has its own generators, whose numbers are others."""

import wisp
from wisp.onnx._export.lowerings.creation import filled


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
    g.need_opset(15, "bernoulli")
    if p is None or not isinstance(p, float):
        return g.op("Bernoulli", x)
    return g.cast(g.op("Bernoulli", filled(g, g.shape(x), p, wisp.float32)), x.dtype)


def _multinomial(g, x, count, replacement=False, *_):
    from wisp.onnx._export.values import Unsupported

    if not replacement and count > 1:
        raise Unsupported("ONNX draws samples with replacement only")
    rows = x if x.rank == 2 else g.unsqueeze(x, [0])
    found = g.op("Multinomial", g.op("Log", rows), sample_size=count, dtype=None)
    found = g.cast(g.op("Identity", _as_int32(found)), wisp.int64)
    return found if x.rank == 2 else g.squeeze(found, [0])


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
}  # fmt: skip
