"""Eigenvalues of symmetric matrices, and singular values: by Jacobi's rotations.

A round turns pairs of rows or columns that have none in common, all at once; after some rounds, all pairs had their
turn. Vectors may have other signs than those of LAPACK.
"""

import wisp
from wisp.onnx._export.formula import Formula
from wisp.onnx._export.inner import loop
from wisp.onnx._export.lowerings.factorizations import (
    diagonal_of,
    grid,
    identity_like,
    product,
    qr,
    turned,
)
from wisp.onnx._export.values import Ref

_SWEEPS = 10  # over all pairs; the error is squared in each of the last ones


def _rounds(size):
    """Who turns with whom: as in a tournament, the first stays and the others move on."""
    players = [*range(size), *([None] if size % 2 else [])]
    found = []
    for _ in range(len(players) - 1):
        half = len(players) // 2
        pairs = zip(players[:half], reversed(players[half:]), strict=True)
        found.append([tuple(sorted(pair)) for pair in pairs if None not in pair])
        players = [players[0], players[-1], *players[1:-1]]
    return found


class _Pairs:
    """The pairs of the round that a loop is in, and the rotations that belong to them."""

    def __init__(self, g, index, size):
        self.g, self.size = g, size
        rounds = wisp.tensor(_rounds(size))
        turn = g.op("Mod", index, g.number(len(rounds), wisp.int64))
        pairs = g.op("Gather", rounds, turn, axis=0, sizes=tuple(rounds.shape[1:]))
        self.one, self.other = (
            Formula(g, g.op("Gather", pairs, g.number(i, wisp.int64), axis=1, sizes=pairs.sizes[:1])) for i in (0, 1)
        )

    def rotation(self, first, second, mixed):
        """Matrices that make the elements `mixed` vanish, of which `first` and `second` are on the diagonal."""
        is_done = mixed.equals(0)
        slope = (second - first) / (is_done.choose(1, mixed) * 2)
        root = (slope * slope + 1).sqrt()
        tangent = is_done.choose(0, (slope >= 0).choose(1 / (slope + root), 1 / (slope - root)))
        cosine = 1 / (tangent * tangent + 1).sqrt()
        return self._matrices(cosine, tangent * cosine)

    def _matrices(self, cosine, sine):
        g, size, batch = self.g, self.size, self.g.sizes(cosine.ref)[:-1]
        one, other = self.one, self.other
        places = [one * size + one, other * size + other, one * size + other, other * size + one]
        places = g.op("Concat", *(place.ref for place in places), axis=0)
        values = g.op("Concat", *(v.ref for v in (cosine, cosine, sine, -sine)), axis=cosine.ref.rank - 1)
        eye = wisp.eye(size, dtype=cosine.ref.dtype).reshape(-1)
        flat = g.expand(eye, [*batch, size * size])
        made = g.op("ScatterElements", flat, g.expand(places, g.op("Shape", values)), values, axis=len(batch))
        found = g.reshape(made, [*batch, size, size])
        found.sizes = (*cosine.ref.sizes[:-1], size, size)
        return Formula(g, found)

    def columns(self, x, which):
        g, ref = self.g, x.ref
        sizes = (*ref.sizes[:-1], *which.ref.sizes)
        return Formula(g, g.op("Gather", ref, which.ref, axis=ref.rank - 1, sizes=sizes))


def _sum(x, dim):
    return Formula(x.g, x.g.reduce("ReduceSum", x.ref, [dim]))


def _ordered(values, vectors, largest):
    """Values in order, and the columns that belong to them."""
    g, rank = values.g, values.ref.rank
    count = values.ref.sizes[-1]
    found, order = g.op("TopK", values.ref, [count], outputs=2, axis=rank - 1, largest=int(largest), sorted=1)
    found.sizes = values.ref.sizes
    order.dtype, order.sizes = wisp.int64, values.ref.sizes
    column = g.unsqueeze(order, [-2])
    moved = [
        g.op("GatherElements", x.ref, g.expand(column, g.shape(x.ref)), axis=rank, sizes=x.ref.sizes) for x in vectors
    ]
    return Formula(g, found), [Formula(g, x) for x in moved]


# --- symmetric matrices


def symmetric(a, uplo="L"):
    """The matrices of which one half is given."""
    rows, columns = grid(a.g, a.ref)
    return (rows >= columns if uplo.upper() == "L" else rows <= columns).choose(a, turned(a))


def _eigh(g, a, uplo="L", compute_v=True):
    size = a.fixed(-1)
    x = symmetric(Formula(g, a), uplo)
    vectors = identity_like(x)

    def step(index, x, vectors):
        x, vectors = Formula(g, x), Formula(g, vectors)
        pairs = _Pairs(g, index, size)
        flat = Formula(g, g.reshape(x.ref, [*g.sizes(x.ref)[:-2], size * size]))
        one, other = pairs.one, pairs.other
        parts = [pairs.columns(flat, i * size + j) for i, j in ((one, one), (other, other), (one, other))]
        rotation = pairs.rotation(*parts)
        turned_once = product(turned(rotation), product(x, rotation))
        return [turned_once.ref, product(vectors, rotation).ref]

    if size > 1:
        rounds = _SWEEPS * len(_rounds(size))
        x, vectors = (Formula(g, ref) for ref in loop(g, rounds, [x.ref, vectors.ref], step))
    values, (vectors,) = _ordered(diagonal_of(x), [vectors], False)
    return values.ref, vectors.ref


# --- singular values


def _orthogonal_columns(a):
    """(A V, V) where the columns of the first are orthogonal to each other."""
    g, size = a.g, a.ref.fixed(-1)
    vectors = Formula(g, g.constant(wisp.eye(size, dtype=a.ref.dtype)))
    batch = g.sizes(a.ref)[:-2]
    wide = g.expand(vectors.ref, [*batch, size, size]) if batch else vectors.ref
    wide.sizes = (*a.ref.sizes[:-2], size, size)

    def step(index, x, vectors):
        x, vectors = Formula(g, x), Formula(g, vectors)
        pairs = _Pairs(g, index, size)
        one, other = pairs.columns(x, pairs.one), pairs.columns(x, pairs.other)
        rotation = pairs.rotation(_sum(one * one, -2), _sum(other * other, -2), _sum(one * other, -2))
        return [product(x, rotation).ref, product(vectors, rotation).ref]

    if size == 1:
        return a, Formula(g, wide)
    rounds = _SWEEPS * len(_rounds(size))
    return tuple(Formula(g, ref) for ref in loop(g, rounds, [a.ref, wide], step))


def _tall_svd(a, full, with_vectors):
    """(U, S, V) of matrices that are not wider than high."""
    g = a.g
    x, vectors = _orthogonal_columns(a)
    squares = _sum(x * x, -2)
    values, (x, vectors) = _ordered(squares.sqrt(), [x, vectors], True)
    if not with_vectors:
        return None, values, None
    q, r = (Formula(g, ref) for ref in qr(g, x.ref, "complete" if full else "reduced"))
    sign = (diagonal_of(r) < 0).choose(values * 0 - 1, 1)
    extra = a.ref.fixed(-2) - a.ref.fixed(-1) if full else 0
    if extra:
        ones = g.expand(wisp.ones(1, dtype=a.ref.dtype), [*g.sizes(a.ref)[:-2], extra])
        sign = Formula(g, g.op("Concat", sign.ref, ones, axis=sign.ref.rank - 1))
        sign.ref.sizes = (*a.ref.sizes[:-2], a.ref.fixed(-2))
    return q * Formula(g, g.unsqueeze(sign.ref, [-2])), values, vectors


def _svd(a, full=False, with_vectors=True):
    """(U, S, V)"""
    if a.ref.fixed(-2) >= a.ref.fixed(-1):
        return _tall_svd(a, full, with_vectors)
    right, values, left = _tall_svd(turned(a), full, with_vectors)
    return left, values, right


def _svd_kernel(g, a, full=False, compute_uv=True):
    left, values, right = _svd(Formula(g, a), full, compute_uv)
    if compute_uv:
        return left.ref, values.ref, turned(right).ref
    nothing = g.constant(wisp.empty(0, dtype=a.dtype))
    return nothing, values.ref, nothing


def _cut_off(g, a, values, atol, rtol):
    """Below which singular values count as 0."""
    default = max(a.fixed(-2), a.fixed(-1)) * wisp.finfo(a.dtype).eps
    largest = Formula(g, g.slice(values.ref, [0], [1], [values.ref.rank - 1]))
    largest.ref.sizes = (*values.ref.sizes[:-1], 1)
    atol = 0.0 if atol is None else atol
    if rtol is None and isinstance(atol, Ref):
        absolute = Formula(g, _column(g, atol, a.dtype))
        return absolute.at_least((absolute > 0).choose(0, largest * default))
    rtol = rtol if rtol is not None else 0.0 if atol > 0 else default
    absolute, relative = (Formula(g, _column(g, tolerance, a.dtype)) for tolerance in (atol, rtol))
    return absolute.at_least(relative * largest)


def _column(g, value, dtype):
    """A number, or one for each matrix."""
    if isinstance(value, Ref) and not value.number and value.rank:
        return g.unsqueeze(g.cast(value, dtype), [-1])
    return g.number(value, dtype)


def _pinv(g, a, atol=None, rtol=None, hermitian=False):
    x = Formula(g, a)
    left, values, right = _svd(symmetric(x) if hermitian else x)
    is_kept = values > _cut_off(g, a, values, atol, rtol)
    inverse = is_kept.choose(1 / is_kept.choose(values, 1), 0)
    return product(right * Formula(g, g.unsqueeze(inverse.ref, [-2])), turned(left)).ref


def _lstsq(g, a, b, rcond=None, driver=None):
    """The shortest solution; residuals where there are more equations than unknowns."""
    x, driver = Formula(g, a), driver or "gelsy"
    vector = b.rank == a.rank - 1
    b = Formula(g, g.unsqueeze(b, [-1]) if vector else b)
    left, values, right = _svd(x)
    is_kept = values > _cut_off(g, a, values, None, rcond)
    inverse = is_kept.choose(1 / is_kept.choose(values, 1), 0)
    found = product(right * Formula(g, g.unsqueeze(inverse.ref, [-2])), product(turned(left), b))
    nothing = g.constant(wisp.empty(0, dtype=a.dtype))
    gap = product(x, found) - b
    residuals = _sum(gap * gap, -2).ref if a.fixed(-2) > a.fixed(-1) and driver != "gelsy" else nothing
    rank = g.reduce("ReduceSum", g.cast(is_kept.ref, wisp.int64), [-1])
    rank = g.constant(wisp.empty(0, dtype=wisp.int64)) if driver == "gels" else rank
    found = g.squeeze(found.ref, [-1]) if vector else found.ref
    return found, residuals, rank, values.ref if driver in ("gelsd", "gelss") else nothing


LOWERINGS = {"_linalg_eigh": _eigh, "_linalg_svd": _svd_kernel, "linalg_pinv": _pinv, "linalg_lstsq": _lstsq}
