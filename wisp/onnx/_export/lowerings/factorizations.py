"""Factorisations of matrices and what follows from them: loops that take one column or row in each round.

They follow the algorithms of LAPACK, so that pivots and signs are the same. Nodes raise no errors: what cannot be
factorised gives numbers that are infinite or NaN.
"""

import wisp
from wisp.onnx._export.formula import Formula
from wisp.onnx._export.inner import loop
from wisp.onnx._export.lowerings.creation import counted, filled
from wisp.onnx._export.values import Ref, Unsupported

_INT = wisp.int64

# --- parts of matrices


def grid(g, x):
    """The numbers of the rows, as a column, and of the columns, as a row."""
    rows, columns = counted(g, g.size(x, -2)), counted(g, g.size(x, -1))
    return Formula(g, g.unsqueeze(rows, [1])), Formula(g, g.unsqueeze(columns, [0]))


def smaller(g, x):
    """The smaller one of the sizes of matrices."""
    sizes = g.size(x, -2), g.size(x, -1)
    if not any(isinstance(size, Ref) for size in sizes):
        return min(sizes)
    made = g.op("Min", *(g.number(size, _INT) for size in sizes))
    made.number = True
    return made


def _known(size):
    return None if isinstance(size, Ref) else size


def row(x, k):
    g, ref = x.g, x.ref
    found = g.op("Gather", ref, g.unsqueeze(k, [0]), axis=ref.rank - 2, sizes=(*ref.sizes[:-2], 1, ref.sizes[-1]))
    return Formula(g, found)


def column(x, k):
    g, ref = x.g, x.ref
    found = g.op("Gather", ref, g.unsqueeze(k, [0]), axis=ref.rank - 1, sizes=(*ref.sizes[:-1], 1))
    return Formula(g, found)


def product(a, b):
    g, rank = a.g, max(a.ref.rank, b.ref.rank)
    front = (None,) * (rank - 2)
    if a.ref.sizes[:-2] == b.ref.sizes[:-2]:
        front = a.ref.sizes[:-2]
    sizes = (*front, a.ref.sizes[-2], b.ref.sizes[-1])
    return Formula(g, g.op("MatMul", a.ref, b.ref, sizes=sizes))


def turned(x):
    """The transposes of matrices."""
    return Formula(x.g, x.g.swap(x.ref))


def identity_like(x, rows=-2):
    """Identities, as many as there are matrices, of the size that a dimension has."""
    g = x.g
    numbers = counted(g, g.size(x.ref, rows))
    made = g.cast(g.op("Equal", g.unsqueeze(numbers, [1]), g.unsqueeze(numbers, [0])), x.ref.dtype)
    size = x.ref.sizes[rows]
    batch = g.sizes(x.ref)[:-2]
    wide = g.expand(made, [*batch, g.size(x.ref, rows), g.size(x.ref, rows)]) if batch else made
    wide.sizes = (*x.ref.sizes[:-2], size, size)
    return Formula(g, wide)


def _reduced(x, kind, dims, keepdim=True):
    return Formula(x.g, x.g.reduce(kind, x.ref, dims, keepdim))


def diagonal_of(x):
    """The main diagonals of matrices, as far as they go."""
    rows, columns = grid(x.g, x.ref)
    return _reduced(rows.equals(columns).choose(x, 0), "ReduceSum", [-2 if _is_wide(x) else -1], False)


def _is_wide(x):
    """Whether columns are left over: then the sums of the first rows are taken."""
    height, width = x.ref.sizes[-2:]
    if height is None or width is None:
        return False
    return height > width


# --- L U


def lu(g, a, pivot=True):
    """(L and U in one matrix, row exchanges counted from 1, number of the first pivot that is 0)"""
    rows, columns = grid(g, a)
    steps = smaller(g, a)
    numbers, batch = Formula(g, counted(g, steps)), g.sizes(a)[:-2]
    pivots = g.expand((numbers + 1).ref, [*batch, steps]) if batch else (numbers + 1).ref
    pivots.sizes = (*a.sizes[:-2], _known(steps))
    info = filled(g, [*batch, 1], 0, _INT)
    info.sizes = (*a.sizes[:-2], 1)

    def step(k, x, pivots, info):
        x, pivots, info, at = (Formula(g, ref) for ref in (x, pivots, info, k))
        if pivot:
            best = _largest(x, rows, k)
            x = _exchanged(x, rows, at, best)
            pivots = numbers.equals(at).choose(Formula(g, g.squeeze(best.ref, [-1])) + 1, pivots)
        top = row(x, k)
        divisor = column(top, k)
        is_zero = divisor.equals(0)
        factor = (rows > at).choose(column(x, k) / is_zero.choose(1, divisor), 0)
        x = x - factor * (columns > at).choose(top, 0)
        x = (columns.equals(at) & (rows > at)).choose(factor, x)
        is_first = info.equals(0) & Formula(g, g.squeeze(is_zero.ref, [-1]))
        return [x.ref, pivots.ref, is_first.choose(at + 1, info).ref]

    x, pivots, info = loop(g, steps, [a, pivots, info], step)
    return x, pivots, g.squeeze(info, [-1])


def _largest(x, rows, k):
    """The row, from the k-th on, with the largest element in column k."""
    g, size = x.g, abs(column(x, k))
    size = (rows >= Formula(g, k)).choose(size, -1)
    sizes = (*x.ref.sizes[:-2], 1, 1)
    return Formula(g, g.op("ArgMax", size.ref, axis=x.ref.rank - 2, keepdims=1, sizes=sizes))


def _exchanged(x, rows, one, other):
    """Matrices with two rows exchanged."""
    g = x.g
    order = rows.equals(one).choose(other, rows.equals(other).choose(one, rows))
    wide = g.expand(order.ref, g.shape(x.ref))
    return Formula(g, g.op("GatherElements", x.ref, wide, axis=x.ref.rank - 2, sizes=x.ref.sizes))


def _permutation(g, pivots, size, dtype):
    """The matrices P of exchanges: P L U is what was factorised."""
    start = identity_like(Formula(g, _square(g, pivots, size, dtype)))
    rows, _ = grid(g, start.ref)

    def step(k, x):
        other = column(Formula(g, pivots), k) - 1
        other = Formula(g, g.unsqueeze(other.ref, [-1]))
        return [_exchanged(Formula(g, x), rows, Formula(g, k), other).ref]

    exchanged = loop(g, g.size(pivots, -1), [start.ref], step)[0]
    return turned(Formula(g, exchanged))


def _square(g, pivots, size, dtype):
    """Something with the sizes of the matrices that pivots belong to."""
    made = filled(g, [*g.sizes(pivots)[:-1], size, size], 0, dtype)
    made.sizes = (*pivots.sizes[:-1], _known(size), _known(size))
    return made


def _lower_unit(x):
    """L: what is below the diagonal, ones on it, as many columns as there are steps."""
    g = x.g
    rows, columns = grid(g, x.ref)
    found = (rows > columns).choose(x, rows.equals(columns).cast(x.ref.dtype))
    return _cut(found, -1, smaller(g, x.ref))


def _upper(x):
    rows, columns = grid(x.g, x.ref)
    return _cut((rows <= columns).choose(x, 0), -2, smaller(x.g, x.ref))


def _cut(x, dim, size):
    """The first rows or columns."""
    g, ref = x.g, x.ref
    if not isinstance(size, Ref) and ref.sizes[dim] == size:
        return x
    found = g.slice(ref, [0], g.ints([size]), [ref.rank + dim])
    found.sizes = tuple(_known(size) if d == ref.rank + dim else own for d, own in enumerate(ref.sizes))
    return Formula(g, found)


def _lu_factor(g, a, pivot=True, check_errors=False):
    found, pivots, info = lu(g, a, pivot)
    return found, g.cast(pivots, wisp.int32), g.cast(info, wisp.int32)


def _lu_unpack(g, data, pivots, unpack_data=True, unpack_pivots=True):
    nothing = g.constant(wisp.empty(0, dtype=data.dtype))
    x = Formula(g, data)
    p = _permutation(g, g.cast(pivots, _INT), g.size(data, -2), data.dtype).ref if unpack_pivots else nothing
    return (p, _lower_unit(x).ref, _upper(x).ref) if unpack_data else (p, nothing, nothing)


def _slogdet(g, a):
    x, pivots, _ = lu(g, a)
    diagonal = diagonal_of(Formula(g, x))
    numbers = Formula(g, counted(g, g.size(a, -1))) + 1
    exchanged = (~Formula(g, pivots).equals(numbers)).choose(-1.0 * _ones(diagonal), 1.0)
    sign = _reduced(diagonal.function("Sign") * exchanged, "ReduceProd", [-1], False)
    size = _reduced(abs(diagonal).log(), "ReduceSum", [-1], False)
    return sign.ref, size.ref, x, g.cast(pivots, wisp.int32)


def _ones(x):
    return x * 0 + 1


# --- equations


def triangular(a, b, upper, unit=False):
    """X of A X = B, one row after the other."""
    g, size = a.g, a.g.size(a.ref, -1)
    rows, columns = grid(g, a.ref)
    beside = (columns > rows if upper else columns < rows).choose(a, 0)
    last = g.op("Sub", g.number(size, _INT), g.number(1, _INT))
    start = b * 0 + column(a, g.number(0, _INT)) * 0
    b = b + start

    def step(k, x):
        at = g.op("Sub", last, k) if upper else k
        found = row(b, at) - product(row(beside, at), Formula(g, x))
        found = found if unit else found / column(row(a, at), at)
        return [rows.equals(Formula(g, at)).choose(found, Formula(g, x)).ref]

    return Formula(g, loop(g, size, [start.ref], step)[0])


def _solve_triangular(g, a, b, upper, left=True, unitriangular=False):
    a, b = Formula(g, a), Formula(g, b)
    if left:
        return triangular(a, b, upper, unitriangular).ref
    return turned(triangular(turned(a), turned(b), not upper, unitriangular)).ref


def _solved(factors, permutation, b, adjoint):
    """X of A X = B, or with the transpose of A, where A is P L U."""
    if not adjoint:
        below = triangular(factors, product(turned(permutation), b), False, True)
        return triangular(factors, below, True)
    above = triangular(turned(factors), b, False)
    return product(permutation, triangular(turned(factors), above, True, True))


def _lu_solve(g, data, pivots, b, left=True, adjoint=False):
    factors = Formula(g, data)
    permutation = _permutation(g, g.cast(pivots, _INT), g.size(data, -1), data.dtype)
    if left:
        return _solved(factors, permutation, Formula(g, b), adjoint).ref
    return turned(_solved(factors, permutation, turned(Formula(g, b)), not adjoint)).ref


def _is_vector(a, b):
    return b.rank == 1 or (b.rank == a.rank - 1 and b.sizes == a.sizes[:-1])


def _solve(g, a, b, left=True):
    data, pivots, info = lu(g, a)
    vector = _is_vector(a, b)
    b = g.unsqueeze(b, [-1]) if vector else b
    found = _lu_solve(g, data, pivots, b, left or vector)
    found = g.squeeze(found, [-1]) if vector else found
    return found, data, g.cast(pivots, wisp.int32), g.cast(info, wisp.int32)


def _inverse(g, a, check_errors=False):
    data, pivots, info = lu(g, a)
    found = _lu_solve(g, data, pivots, identity_like(Formula(g, a)).ref)
    return found, g.cast(info, wisp.int32)


# --- Cholesky


def _cholesky(g, a, upper=False, check_errors=False):
    x = turned(Formula(g, a)) if upper else Formula(g, a)
    rows, columns = grid(g, a)
    info = filled(g, [*g.sizes(a)[:-2], 1, 1], 0, _INT)
    info.sizes = (*a.sizes[:-2], 1, 1)

    def step(k, found, info):
        found, info, at = Formula(g, found), Formula(g, info), Formula(g, k)
        rest = column(x, k) - product(found, turned(row(found, k)))
        square = row(rest, k)
        made = (rows >= at).choose(rest / square.sqrt(), 0)
        is_first = info.equals(0) & ~(square > 0)
        return [columns.equals(at).choose(made, found).ref, is_first.choose(at + 1, info).ref]

    start = filled(g, g.shape(a), 0, a.dtype)
    start.sizes = a.sizes
    found, info = loop(g, g.size(a, -1), [start, info], step)
    info = g.cast(g.squeeze(info, [-2, -1]), wisp.int32)
    return g.swap(found) if upper else found, info


def _cholesky_solve(g, b, factor, upper=False):
    lower = turned(Formula(g, factor)) if upper else Formula(g, factor)
    return triangular(turned(lower), triangular(lower, Formula(g, b), False), True).ref


def _cholesky_inverse(g, factor, upper=False):
    return _cholesky_solve(g, identity_like(Formula(g, factor)).ref, factor, upper)


# --- Q R by reflections


def reflections(g, a):
    """(R, and below it the vectors of reflections; their factors)"""
    rows, columns = grid(g, a)
    steps = smaller(g, a)
    numbers, factors = Formula(g, counted(g, steps)), filled(g, [*g.sizes(a)[:-2], steps], 0, a.dtype)
    factors.sizes = (*a.sizes[:-2], _known(steps))

    def step(k, x, factors):
        x, factors, at = Formula(g, x), Formula(g, factors), Formula(g, k)
        own = column(x, k)
        first, rest = row(own, k), (rows > at).choose(own, 0)
        below = _reduced(rest * rest, "ReduceSum", [-2])
        length = (first * first + below).sqrt()
        is_done = below.equals(0)
        end = is_done.choose(first, (first >= 0).choose(-length, length))
        factor = is_done.choose(0, (end - first) / is_done.choose(1, end))
        vector = rest / is_done.choose(1, first - end) + rows.equals(at).cast(a.dtype)
        changed = x - factor * product(vector, product(turned(vector), x))
        x = (columns > at).choose(changed, x)
        stored = (rows > at).choose(vector, rows.equals(at).choose(end, own))
        x = columns.equals(at).choose(stored, x)
        factors = numbers.equals(at).choose(Formula(g, g.squeeze(factor.ref, [-1])), factors)
        return [x.ref, factors.ref]

    return loop(g, steps, [a, factors], step)


def _reflected(g, vectors, factors, x, forwards):
    """Matrices after reflections, the last one first unless forwards."""
    vectors, rows = Formula(g, vectors), grid(g, vectors)[0]
    last = g.op("Sub", g.number(g.size(factors, -1), _INT), g.number(1, _INT))

    def step(index, x):
        k = index if forwards else g.op("Sub", last, index)
        x, at = Formula(g, x), Formula(g, k)
        vector = (rows > at).choose(column(vectors, k), rows.equals(at).cast(x.ref.dtype))
        factor = Formula(g, g.unsqueeze(column(Formula(g, factors), k).ref, [-1]))
        return [(x - factor * product(vector, product(turned(vector), x))).ref]

    return Formula(g, loop(g, g.size(factors, -1), [x.ref], step)[0])


def _householder_product(g, vectors, factors):
    whole = identity_like(Formula(g, vectors))
    return _reflected(g, vectors, factors, _cut(whole, -1, g.size(vectors, -1)), False).ref


def _ormqr(g, vectors, factors, other, left=True, transpose=False):
    other = Formula(g, other)
    if left:
        return _reflected(g, vectors, factors, other, transpose).ref
    return turned(_reflected(g, vectors, factors, turned(other), not transpose)).ref


def qr(g, a, mode="reduced"):
    x, factors = reflections(g, a)
    if mode == "complete":
        upper = (grid(g, x)[0] <= grid(g, x)[1]).choose(Formula(g, x), 0)
        return _reflected(g, x, factors, identity_like(Formula(g, x)), False).ref, upper.ref
    upper = _upper(Formula(g, x)).ref
    if mode == "r":
        return g.constant(wisp.empty(0, dtype=a.dtype)), upper
    start = _cut(identity_like(Formula(g, x)), -1, smaller(g, a))
    return _reflected(g, x, factors, start, False).ref, upper


# --- exponentials

_TERMS = {wisp.float32: 12, wisp.float64: 20}  # of the series, of matrices whose norm is at most 1/2


def _matrix_exp(g, a):
    """The series of a matrix that was halved until it is small, and as many squares."""
    if a.dtype not in _TERMS:
        raise Unsupported(f"exponentials of matrices of {a.dtype}")
    x = Formula(g, a)
    norm = _reduced(_reduced(abs(x), "ReduceSum", [-2]), "ReduceMax", [-1])
    halvings = (norm.log() / 0.6931471805599453).function("Ceil") + 1
    halvings = (norm > 0.5).choose(halvings, 0)
    x = x * (Formula(g, g.number(0.5, a.dtype)) ** halvings)
    one = identity_like(x)

    def term(index, total):
        k = _TERMS[a.dtype] - Formula(g, g.cast(index, a.dtype))
        return [(one + product(x, Formula(g, total)) / k).ref]

    def square(index, found):
        found, k = Formula(g, found), Formula(g, g.cast(index, a.dtype))
        return [(k < halvings).choose(product(found, found), found).ref]

    found = loop(g, _TERMS[a.dtype], [one.ref], term)
    most = g.cast(g.reduce("ReduceMax", halvings.ref), _INT)
    return loop(g, most, found, square)[0]


LOWERINGS = {
    "linalg_lu_factor_ex": _lu_factor, "_lu_unpack": _lu_unpack, "_linalg_slogdet": _slogdet,
    "linalg_solve_triangular": _solve_triangular, "linalg_lu_solve": _lu_solve, "_linalg_solve_ex": _solve,
    "linalg_inv_ex": _inverse, "linalg_cholesky_ex": _cholesky, "cholesky_solve": _cholesky_solve,
    "cholesky_inverse": _cholesky_inverse, "geqrf": lambda g, a: tuple(reflections(g, a)),
    "linalg_householder_product": _householder_product, "ormqr": _ormqr, "linalg_qr": qr,
    "linalg_matrix_exp": _matrix_exp, "_linalg_check_errors": lambda g, info, name: g.op("Identity", info),
}  # fmt: skip
