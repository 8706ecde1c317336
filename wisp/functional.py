"""Functions whose arguments or results take more forms than a table entry has."""

from wisp import _C
from wisp._C import Size, Tensor

__all__ = ["broadcast_shapes", "cond", "einsum", "gradient", "histogramdd", "lu", "segment_reduce", "tensordot", "unique",
           "unique_consecutive", "unravel_index"]  # fmt: skip

_op = _C._functions
_einsum = _op["einsum"]
_tensordot = _op["tensordot"]


def einsum(*args):
    """Products of the operands summed over all subscripts that the output does not name.

    Subscripts are letters of an equation, or lists of integers after each operand:

    >>> wisp.einsum('ij,jk->ik', wisp.ones(2, 3), wisp.ones(3, 1))
    tensor([[3.],
            [3.]])
    >>> wisp.einsum(wisp.ones(2, 3), [0, 1], wisp.ones(3, 1), [1, 2], [0, 2])
    tensor([[3.],
            [3.]])
    """
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, "
            "or at least one operand and its subscripts list"
        )
    if not isinstance(args[0], Tensor):
        return _einsum(*args)
    operands, sublists = args[: len(args) // 2 * 2 : 2], args[1::2]
    equation = ",".join(map(_letters, sublists))
    if len(args) % 2:
        equation += "->" + _letters(args[-1])
    return _einsum(equation, *operands)


def _letters(subscripts):
    """A list of integers and Ellipsis as the letters of an equation: 0 to 25 are capitals."""
    letters = ""
    for subscript in subscripts:
        if subscript is Ellipsis:
            letters += "..."
        elif 0 <= subscript < 52:
            letters += chr(ord("A") + subscript if subscript < 26 else ord("a") + subscript - 26)
        else:
            raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
    return letters


def tensordot(a, b, dims=2, out=None):
    """Products of ``a`` and ``b`` summed over pairs of dimensions.

    ``dims`` is two lists of dimensions, or a number n: the last n of ``a`` and the first n of ``b``.

    >>> wisp.tensordot(wisp.ones(2, 3), wisp.ones(3, 2), dims=([1], [0]))
    tensor([[3., 3.],
            [3., 3.]])
    """
    if isinstance(dims, Tensor):
        dims = dims.tolist() if dims.numel() > 1 else dims.item()
    if isinstance(dims, (list, tuple)):
        dims_a, dims_b = dims
        dims_a, dims_b = ([d] if isinstance(d, int) else list(d) for d in (dims_a, dims_b))
    else:
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims_a, dims_b = list(range(-dims, 0)), list(range(dims))
    return _tensordot(a, b, dims_a, dims_b) if out is None else _tensordot(a, b, dims_a, dims_b, out=out)


def lu(A, pivot=True, get_infos=False, out=None):
    """``linalg.lu_factor`` by an older name: LU and pivots, and LAPACK's codes if ``get_infos``. Never fails.

    >>> wisp.lu(wisp.tensor([[2., 2.], [1., 2.]]))[0]
    tensor([[2.0000, 2.0000],
            [0.5000, 1.0000]])
    """
    factors = _C._linalg["lu_factor_ex"](A, pivot=pivot)
    factors = factors if get_infos else tuple(factors[:2])
    if out is None:
        return factors
    if not isinstance(out, (tuple, list)):
        raise TypeError(f"argument 'out' must be tuple of Tensors, not {type(out).__name__}")
    if len(out) != len(factors):
        raise TypeError(f"expected tuple of {len(factors)} elements but got {len(out)}")
    for target, factor in zip(out, factors):
        target.resize_as_(factor).copy_(factor)
    return out


# --- distinct elements


def _chosen(results, return_inverse, return_counts):
    """The first result, with the others that were asked for."""
    values, inverse, counts = results
    if not (return_inverse or return_counts):
        return values
    return (values,) + ((inverse,) if return_inverse else ()) + ((counts,) if return_counts else ())


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The distinct elements, or slices along ``dim``, in order.

    Args:
        sorted: they always are.
        return_inverse: also where each element of the input is among them.
        return_counts: also how often each occurs.

    >>> wisp.unique(wisp.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    if dim is None:
        results = _op["_unique2"](input, sorted, return_inverse, return_counts)
    else:
        results = _op["_unique_dim"](input, dim, sorted, return_inverse, return_counts)
    return _chosen(results, return_inverse, return_counts)


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """The first of each run of equal elements, or slices along ``dim``.

    >>> wisp.unique_consecutive(wisp.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    results = _op["_unique_consecutive"](input, return_inverse, return_counts, dim)
    return _chosen(results, return_inverse, return_counts)


# --- histograms of points


def histogramdd(input, bins, *, range=None, weight=None, density=False):
    """Counts points, the rows of the last dimension, in the cells of a grid.

    Args:
        bins: how many intervals each coordinate has, as one number or a list, or a list of their edges.
        range: the ends of the coordinates, (low, high, low, high, ...); those of the points if left out.
        weight: what each point counts for.
        density: divide by the total and by the size of the cell.

    >>> wisp.histogramdd(wisp.tensor([[0., 1.], [1., 0.], [2., 2.]]), bins=2).hist
    tensor([[0., 1.],
            [1., 1.]])
    """
    from wisp.return_types import histogramdd as result_type

    if input.dim() < 2:
        raise RuntimeError("histogramdd: input tensor should have at least 2 dimensions")
    count = input.shape[-1]
    bins = [bins] * count if isinstance(bins, int) else list(bins)
    if len(bins) != count:
        raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
    given = bool(bins) and isinstance(bins[0], Tensor)
    edges = bins if given else _even_edges(input, bins, range)
    points = input.detach().reshape(-1, count)
    weight = None if weight is None else weight.reshape(-1)
    hist = _op["_histogramdd"](points, edges, 0 if given else 2, weight)
    if density:
        hist = hist / hist.sum()
        for axis, edge in enumerate(edges):
            shape = [1] * count
            shape[axis] = -1
            hist = hist / edge.diff().reshape(shape)
    return result_type((hist, tuple(edges)))


def _even_edges(input, bins, limits):
    """Edges of intervals of equal length, for each coordinate."""
    if limits is not None and len(limits) != 2 * len(bins):
        raise RuntimeError(
            f"histogramdd: for a {len(bins)}-dimensional histogram range should have {2 * len(bins)} elements, "
            f"but got {len(limits)}"
        )
    edges = []
    for axis, n in enumerate(bins):
        if n <= 0:
            raise RuntimeError(f"histogramdd(): bins must be > 0, but got {n} for dimension {axis}")
        if limits is not None:
            low, high = limits[2 * axis : 2 * axis + 2]
        elif input.numel() == 0:
            low, high = 0.0, 1.0
        else:
            low, high = (x.item() for x in input.detach()[..., axis].aminmax())
        if low > high:
            raise RuntimeError(f"histogramdd: dimension {axis}'s range [{low}, {high}] is not increasing")
        if not abs(low) + abs(high) < float("inf"):
            raise RuntimeError(f"histogramdd: dimension {axis}'s range [{low}, {high}] is not finite")
        if low == high:
            low, high = low - 0.5, high + 0.5
        edges.append(_op["linspace"](low, high, n + 1, dtype=input.dtype))
    return edges


# --- derivatives of samples


def gradient(input, *, spacing=None, dim=None, edge_order=1):
    """Derivatives of a function of which the elements are samples, by central differences.

    Args:
        spacing: the distance between samples, one number for all dimensions or a list; or a list of tensors that
            hold the coordinates of the samples.
        dim: the dimensions to differentiate by; all if left out.
        edge_order: 1 or 2, the order of the one-sided differences at both ends.

    >>> wisp.gradient(wisp.tensor([1., 4., 9.]))
    (tensor([3., 4., 5.]),)
    """
    if edge_order not in (1, 2):
        raise RuntimeError("gradient only supports edge_order=1 and edge_order=2.")
    if input.dtype is _C.uint8:
        raise RuntimeError("gradient does not support uint8 input.")
    dims = _gradient_dims(input, dim)
    for d in dims:
        if input.shape[d] < edge_order + 1:
            raise RuntimeError("gradient expected each dimension size to be at least edge_order+1")
    if spacing is None or not isinstance(spacing, (list, tuple)):
        if isinstance(spacing, Tensor):
            raise TypeError("gradient(): spacing must be a number, or a list of numbers or tensors, not a Tensor")
        spacing = [1 if spacing is None else spacing] * len(dims)
    elif len(spacing) != len(dims):
        raise RuntimeError(
            "gradient expected spacing to be unspecified, a scalar, or a list of length equal to the number of "
            f"dimensions ({len(dims)}), but got a list of length {len(spacing)}"
        )
    return tuple(
        (_derivative if isinstance(step, Tensor) else _even_derivative)(input, step, d, edge_order)
        for step, d in zip(spacing, dims)
    )


def _gradient_dims(input, dim):
    n = input.dim()
    if dim is None:
        return list(range(n))
    dims = []
    for d in (dim,) if isinstance(dim, int) else dim:
        if not -n <= d < n:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})")
        if d % n in dims:
            raise RuntimeError(f"dim {d % n} appears multiple times in the list of dims")
        dims.append(d % n)
    return dims


def _even_derivative(t, step, dim, edge_order):
    """Along one dimension of samples at equal distances."""
    n = t.shape[dim]

    def at(i):
        return t.narrow(dim, i % n, 1)

    middle = (t.narrow(dim, 2, n - 2) - t.narrow(dim, 0, n - 2)) / (2 * step)
    if edge_order == 1:
        first, last = (at(1) - at(0)) / step, (at(-1) - at(-2)) / step
    else:
        first = (-1.5 * at(0) + 2 * at(1) - 0.5 * at(2)) / step
        last = (1.5 * at(-1) - 2 * at(-2) + 0.5 * at(-3)) / step
    return _op["cat"]([first, middle, last], dim)


def _derivative(t, spacing, dim, edge_order):
    """Along one dimension, from the distances a and b to the neighbours before and after."""
    n = t.shape[dim]
    shape = [1] * t.dim()
    shape[dim] = -1
    steps = spacing.diff().reshape(shape)

    def part(x, start, length):
        return x.narrow(dim, start, length)

    slopes = (part(t, 1, n - 1) - part(t, 0, n - 1)) / steps
    a, b = part(steps, 0, n - 2), part(steps, 1, n - 2)
    before, after = part(slopes, 0, n - 2), part(slopes, 1, n - 2)
    middle = (before * b + after * a) / (a + b)
    first, last = part(slopes, 0, 1), part(slopes, n - 2, 1)
    if edge_order == 2:
        h, k = part(steps, 0, 1), part(steps, 1, 1)
        first = first - h * (part(slopes, 1, 1) - first) / (h + k)
        h, k = part(steps, n - 2, 1), part(steps, n - 3, 1)
        last = last + h * (last - part(slopes, n - 3, 1)) / (h + k)
    return _op["cat"]([first, middle, last], dim)


# --- segments


def segment_reduce(data, reduce, *, lengths=None, indices=None, offsets=None, axis=0, unsafe=False, initial=None):
    """Reduces consecutive segments along an axis: "sum", "mean", "max", "min" or "prod".

    Segments are given by their lengths, or by the offsets of their starts and the end of the last. Leading dimensions
    of ``lengths`` are those of ``data``. An empty segment gives ``initial``.

    >>> wisp.segment_reduce(wisp.tensor([1., 2., 3.]), "sum", lengths=wisp.tensor([1, 2]))
    tensor([1., 5.])
    """
    names = {"sum": 0.0, "mean": float("nan"), "max": -float("inf"), "min": float("inf"), "prod": 1.0}
    names["amax"], names["amin"] = names["max"], names["min"]
    if reduce not in names:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if lengths is None:
        if offsets is None:
            raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
        lengths = offsets.diff()
    axis %= data.dim()
    if not unsafe and (lengths.min() < 0 if lengths.numel() else False):
        raise RuntimeError("lengths contains negative value!")
    if not unsafe and (lengths.sum(-1) != data.shape[axis]).any():
        raise RuntimeError(
            "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when !unsafe."
        )
    start = names[reduce] if initial is None else initial
    rows = data.reshape(-1, *data.shape[axis:])
    parts = []
    for row, sizes in zip(rows, lengths.reshape(-1, lengths.shape[-1]).tolist()):
        parts.append(_op["stack"]([_reduced(piece, reduce, start, initial) for piece in row.split(sizes)]))
    return _op["stack"](parts).reshape(*data.shape[:axis], lengths.shape[-1], *data.shape[axis + 1 :])


def _reduced(piece, reduce, start, initial):
    empty = piece.shape[0] == 0
    if empty:
        return piece.new_full(piece.shape[1:], start)
    if reduce in ("sum", "prod"):
        total = piece.sum(0) if reduce == "sum" else piece.prod(0)
        return total if initial is None else (total + initial if reduce == "sum" else total * initial)
    if reduce == "mean":
        return piece.mean(0) if initial is None else (piece.sum(0) + initial) / piece.shape[0]
    best = piece.amax(0) if reduce in ("max", "amax") else piece.amin(0)
    if initial is None:
        return best
    return best.clamp(min=initial) if reduce in ("max", "amax") else best.clamp(max=initial)


# --- shapes and indices


def broadcast_shapes(*shapes):
    """The shape that all these shapes broadcast to.

    >>> wisp.broadcast_shapes((2, 1), (3,))
    wisp.Size([2, 3])
    """
    result = []
    for index, shape in enumerate(shapes):
        shape = [shape] if isinstance(shape, int) else list(shape)
        result = [1] * (len(shape) - len(result)) + result
        for back in range(1, len(shape) + 1):
            size = shape[-back]
            if size < 0:
                raise ValueError("Attempting to broadcast a dimension with negative length!")
            if size != 1 and result[-back] not in (1, size):
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {size} at {-back}! Mismatching argument at index "
                    f"{index} had {tuple(shape)}; but expected shape should be broadcastable to {result}"
                )
            result[-back] = size if result[-back] == 1 else result[-back]
    return Size(result)


def cond(pred, true_fn, false_fn, operands=()):
    """What `true_fn(*operands)` gives if `pred` holds, else what `false_fn(*operands)` gives. Only one of them is called.

    >>> wisp.cond(wisp.tensor(3.0) > 2, wisp.sin, wisp.cos, (wisp.zeros(2),))
    tensor([0., 0.])
    """
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise RuntimeError(f"cond(): pred must be a bool or a tensor of one element, got one of shape {pred.shape}")
    return (true_fn if pred else false_fn)(*operands)


def unravel_index(indices, shape):
    """The coordinates of elements given by their number in a tensor of that shape.

    >>> wisp.unravel_index(wisp.tensor([4, 5]), (2, 3))
    (tensor([1, 1]), tensor([1, 2]))
    """
    if not isinstance(indices, Tensor):
        raise TypeError(f"expected 'indices' to be an integer Tensor, but got {type(indices)}")
    if indices.is_floating_point() or indices.is_complex() or indices.dtype is _C.bool:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, (int, list, tuple)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    sizes = [shape] if isinstance(shape, int) else list(shape)
    for size in sizes:
        if not isinstance(size, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(size)}")
    if any(size < 0 for size in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {tuple(sizes)}")
    indices = indices.to(_C.int64)
    coordinates, step = [], 1
    for size in reversed(sizes):
        coordinates.append(indices.div(step, rounding_mode="floor") % size)
        step *= size
    return tuple(reversed(coordinates))


# Operators that programs look for here too.
_OPERATORS = (
    "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_tensors", "cartesian_prod", "cdist",
    "chain_matmul", "istft", "meshgrid", "norm", "split", "stft",
)  # fmt: skip


def __getattr__(name):
    if name in _OPERATORS:
        return _op[name]
    from wisp._missing import MissingName

    raise MissingName(__name__, name)
