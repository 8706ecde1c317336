"""Views, joins and other operators that move elements."""

import itertools
import math

import wisp
from wisp.onnx._export import sequences
from wisp.onnx._export.inner import branch
from wisp.onnx._export.lowerings.arithmetic import common_dtype
from wisp.onnx._export.lowerings.creation import counted
from wisp.onnx._export.numbers import BUILTINS
from wisp.onnx._export.values import ELEMENTS, Ref, Unsupported, dim_in, is_static

_END = 2**63 - 1


def identity(g, x, *_):
    return g.op("Identity", x, sizes=x.sizes)


def _copied(g, x, *args):
    """A tensor of its own, which lies in memory as the other does if nothing else is asked for."""
    made = identity(g, x)
    if x.name in g.dense and not any(arg not in (None, wisp.preserve_format, wisp.contiguous_format) for arg in args):
        g.dense.add(made.name)
    return made


def _contiguous(g, x, *args):
    if args and args[0] not in (None, wisp.contiguous_format):
        return identity(g, x)
    made = identity(g, x)
    g.dense.add(made.name)
    return made


def _cast(g, x, *args):
    dtype = g.results[0][0] or next((arg for arg in args if isinstance(arg, wisp.dtype)), x.dtype)
    return g.cast(x, dtype)


def _copy(g, x, source, non_blocking=False):
    source = g.cast(source, x.dtype)
    if source.sizes == x.sizes and source.sizes is not None and None not in source.sizes:
        return source
    return g.expand(source, g.shape(x))


def _view_of_bits(g, x, dtype):
    if x.dtype.itemsize != dtype.itemsize:
        raise Unsupported("bits of numbers of another size")
    g.need_opset(26, "bits as numbers of another dtype")
    return g.op("BitCast", x, to=int(ELEMENTS[dtype]), dtype=dtype, sizes=x.sizes)


def _reshape(g, x, sizes):
    sizes = _with_kept_sizes(g, x, sizes)
    return g.reshape(x, sizes)


def _with_kept_sizes(g, x, sizes):
    """One size that is not known can be left to the runtime."""
    open_sizes = [i for i, size in enumerate(sizes) if isinstance(size, Ref)]
    if len(open_sizes) == 1 and -1 not in [size for size in sizes if not isinstance(size, Ref)] and 0 not in sizes:
        return [-1 if i == open_sizes[0] else size for i, size in enumerate(sizes)]
    return sizes


def _flatten(g, x, start=0, end=-1):
    if x.rank == 0:
        return g.reshape(x, [1])
    start, end = dim_in(start, x.rank), dim_in(end, x.rank)
    if start == 1 and end == x.rank - 1 and x.rank > 1:
        return g.op("Flatten", x, axis=1)
    sizes = g.sizes(x)
    merged = sizes[start : end + 1]
    known = all(isinstance(size, int) for size in merged)
    middle = wisp.Size(merged).numel() if known else -1
    return g.reshape(x, [*sizes[:start], middle, *sizes[end + 1 :]])


def _unflatten(g, x, dim, sizes):
    dim, own = dim_in(dim, x.rank), g.sizes(x)
    return g.reshape(x, [*own[:dim], *sizes, *own[dim + 1 :]])


def _expand(g, x, sizes):
    front = len(sizes) - x.rank
    wanted = []
    for i, size in enumerate(sizes):
        keep = not isinstance(size, Ref) and size == -1
        wanted.append(g.size(x, i - front) if keep else size)
    made = g.expand(x, wanted)
    made.sizes = tuple(None if isinstance(size, Ref) else size for size in wanted)
    return made


def _expand_as(g, x, other):
    surplus = x.rank - other.rank
    return g.expand(g.squeeze(x, list(range(surplus))) if surplus > 0 else x, g.shape(other))


def _squeeze(g, x):
    if None in x.sizes:  # as many as there are then
        return g.op("Squeeze", x)
    return _squeeze_dims(g, x, list(range(x.rank)))


def _squeeze_dims(g, x, dims):
    dims = [dims] if isinstance(dims, int) else dims
    dims = sorted({dim_in(dim, x.rank) for dim in dims if x.rank})
    unknown = [dim for dim in dims if x.size(dim) is None]
    if len(unknown) > 1:
        raise Unsupported("which dimensions have the size 1 has to be the same in all calls")
    gone = [dim for dim in dims if x.size(dim) == 1]
    if unknown:
        return _squeezed_if(g, x, gone, unknown[0])
    return g.squeeze(x, gone) if gone else identity(g, x)


def _squeezed_if(g, x, gone, dim):
    """Without dimensions of size 1, and without another one if its size is 1 then."""
    is_one = g.op("Equal", g.size(x, dim), g.number(1, wisp.int64))
    return branch(g, is_one, lambda: g.squeeze(x, sorted([*gone, dim])), lambda: g.squeeze(x, gone) if gone else x)


def _unsqueeze(g, x, dim):
    return g.unsqueeze(x, [dim_in(dim, x.rank + 1)])


def _transpose(g, x, first=0, second=1):
    return g.swap(x, first, second) if x.rank > 1 else identity(g, x)


def _permute(g, x, order):
    return g.transpose(x, order) if list(order) != list(range(x.rank)) else identity(g, x)


def _movedim(g, x, source, destination):
    source, destination = ([v] if isinstance(v, int) else v for v in (source, destination))
    source = [dim_in(dim, x.rank) for dim in source]
    places = dict(zip((dim_in(dim, x.rank) for dim in destination), source, strict=True))
    rest = iter(dim for dim in range(x.rank) if dim not in source)
    return _permute(g, x, [places[i] if i in places else next(rest) for i in range(x.rank)])


def _select(g, x, dim, index):
    if not isinstance(index, Ref):
        index = g.number(index, wisp.int64)
    return g.op("Gather", x, index, axis=dim_in(dim, x.rank))


def _slice(g, x, dim=0, start=None, end=None, step=1):
    return g.slice(
        x, [start or 0 if not isinstance(start, Ref) else start], [_END if end is None else end], [dim], [step]
    )


def _narrow(g, x, dim, start, length):
    from wisp.onnx._export.numbers import BUILTINS

    static = not isinstance(start, Ref) and not isinstance(length, Ref)
    if static and start < 0:
        start = BUILTINS["add.int"](g, start, g.size(x, dim)) if x.size(dim) is None else start + x.size(dim)
        static = not isinstance(start, Ref)
    end = start + length if static else BUILTINS["add.int"](g, start, length)
    return g.slice(x, [start], [end], [dim])


# --- joins


def cat(g, tensors, dim=0):
    tensors = [t for t in tensors if t.sizes != (0,)] or tensors[:1]
    dtype = g.results[0][0] or common_dtype(*tensors)
    return g.op("Concat", *(g.cast(t, dtype) for t in tensors), axis=dim_in(dim, tensors[0].rank))


def _stack(g, tensors, dim=0):
    dim = dim_in(dim, tensors[0].rank + 1)
    dtype = g.results[0][0] or common_dtype(*tensors)
    return g.op("Concat", *(g.unsqueeze(g.cast(t, dtype), [dim]) for t in tensors), axis=dim)


# --- splits


def split(g, x, lengths, dim=0):
    """Pieces of these lengths."""
    if len(lengths) == 1:
        return [identity(g, x)]
    if any(isinstance(length, Ref) for length in lengths) or sum(lengths):
        made = g.op("Split", x, lengths, outputs=len(lengths), axis=dim_in(dim, x.rank))
        return list(made)
    raise Unsupported("pieces without elements")


def _split(g, x, size, dim=0):
    if isinstance(size, Ref):
        raise Unsupported("the number of pieces has to be the same in all calls")
    whole = x.size(dim)
    if whole is None:
        return sequences.parts(g, x, dim_in(dim, x.rank), size)
    if not whole:
        return [identity(g, x)]
    return split(g, x, [min(size, whole - at) for at in range(0, whole, size)], dim)


def _chunk(g, x, chunks, dim=0):
    if isinstance(chunks, Ref):
        raise Unsupported("the number of pieces has to be the same in all calls")
    if x.size(dim) is None:
        return _chunks_of_any(g, x, chunks, dim_in(dim, x.rank))
    return _split(g, x, max(-(-x.size(dim) // chunks), 1), dim)


def _chunks_of_any(g, x, chunks, dim):
    """As many pieces as are asked for; who takes others out of them is told so."""
    length = BUILTINS["floordiv.int"](g, BUILTINS["add.int"](g, g.size(x, dim), chunks - 1), chunks)
    bounds = [g.ints([BUILTINS["mul.int"](g, length, i)]) for i in range(chunks)] + [g.ints([_END])]
    return [g.slice(x, start, end, [dim]) for start, end in itertools.pairwise(bounds)]


def _cut_at_values(g, x, places, dim=0):
    """Pieces between places that are computed; how many there are has to be known."""
    if not places.rank:
        raise Unsupported("into how many pieces a tensor is cut has to be the same in all calls")
    count = places.fixed(0)
    bounds = [g.slice(places, [i], [i + 1], [0]) for i in range(count)]
    starts, ends = [g.ints([0]), *bounds], [*bounds, g.ints([_END])]
    dim = dim_in(dim, x.rank)
    pieces = [g.slice(x, start, end, [dim]) for start, end in zip(starts, ends, strict=True)]
    for piece in pieces:
        piece.sizes = tuple(None if d == dim else size for d, size in enumerate(x.sizes))
    return pieces


def _unbind(g, x, dim=0):
    if x.size(dim) is None:
        return sequences.parts(g, x, dim_in(dim, x.rank))
    return [_select(g, x, dim, i) for i in range(x.fixed(dim))]


# --- moving elements


def flip(g, x, dims):
    if not dims or not x.rank:
        return identity(g, x)
    count = len(dims)
    return g.slice(x, [-1] * count, [-_END] * count, [dim_in(dim, x.rank) for dim in dims], [-1] * count)


def _roll(g, x, shifts, dims=()):
    if not dims:
        flat = g.reshape(x, [-1])
        flat.sizes = (None if None in x.sizes else math.prod(x.sizes),)
        return g.reshape(_roll(g, flat, shifts, [0]), g.sizes(x))
    for shift, dim in zip(shifts, dims, strict=True):
        dim = dim_in(dim, x.rank)
        if x.size(dim) == 0:
            return identity(g, x)
        cut = g.size(x, dim) if x.size(dim) is None else -shift % x.size(dim)
        if isinstance(cut, Ref):
            cut = g.op("Mod", g.number(-shift, wisp.int64), cut)
        parts = g.slice(x, [cut], [_END], [dim]), g.slice(x, [0], [cut], [dim])
        x = g.op("Concat", *parts, axis=dim, sizes=x.sizes)
    return identity(g, x)


def _repeat(g, x, repeats):
    front = len(repeats) - x.rank
    if front:
        x = g.unsqueeze(x, list(range(front)))
    return g.op("Tile", x, repeats) if repeats else identity(g, x)


def _triangle(upper):
    def lower(g, x, diagonal=0):
        if g.opset < 14:
            return _masked_triangle(g, x, diagonal, upper)
        small = x.dtype in (wisp.bool, wisp.uint8, wisp.int8, wisp.int16)
        wide = g.cast(x, wisp.int64) if small else x
        return g.cast(g.op("Trilu", wide, g.number(diagonal, wisp.int64), upper=upper), x.dtype)

    return lower


def _masked_triangle(g, x, diagonal, upper):
    """As long as there was no node for it."""
    rows, columns = (counted(g, g.size(x, dim)) for dim in (-2, -1))
    last = g.op("Add", g.unsqueeze(rows, [1]), g.number(diagonal, wisp.int64))
    kind = "GreaterOrEqual" if upper else "LessOrEqual"
    return g.op("Where", g.op(kind, g.unsqueeze(columns, [0]), last), x, g.number(0, x.dtype), dtype=x.dtype)


# --- padding


def _pads(pad, rank):
    """Sizes from the last dimension on, two for each, as ONNX wants them: all starts, then all ends."""
    starts, ends = [0] * rank, [0] * rank
    for i in range(len(pad) // 2):
        starts[rank - 1 - i], ends[rank - 1 - i] = pad[2 * i], pad[2 * i + 1]
    return [*starts, *ends]


def pad_constant(g, x, pad, value=0):
    if x.dtype != wisp.bool:
        return g.op("Pad", x, _pads(pad, x.rank), g.number(value, x.dtype), mode="constant")
    return g.cast(g.op("Pad", g.cast(x, wisp.int32), _pads(pad, x.rank), g.number(value, wisp.int32)), wisp.bool)


def _pad(g, x, pad, mode="constant", value=None):
    if mode == "constant":
        return pad_constant(g, x, pad, 0 if value is None else value)
    if mode == "circular" and min(pad) >= 0:
        return _wrapped(g, x, pad)
    if any(size < 0 for size in pad):
        return _cropped(g, x, pad, mode)
    if x.dtype not in (wisp.float32, wisp.float64):
        raise Unsupported(f"padding with mode {mode!r} of tensors of {x.dtype}")
    return g.op("Pad", x, _pads(pad, x.rank), mode={"reflect": "reflect", "replicate": "edge"}[mode])


def _cropped(g, x, pad, mode):
    """Where sizes are negative, elements are cut off: before going round, else of what was padded."""
    dims = [x.rank - 1 - i for i in range(len(pad) // 2)]
    starts = [max(-before, 0) for before in pad[::2]]
    ends = [after if after < 0 else _END for after in pad[1::2]]
    rest = [max(size, 0) for size in pad]
    if mode != "circular":
        return g.slice(_pad(g, x, rest, mode), starts, ends, dims)
    cut = g.slice(x, starts, ends, dims)
    cut.sizes = tuple(None if dim in dims else size for dim, size in enumerate(x.sizes))
    return _pad(g, cut, rest, mode)


def _wrapped(g, x, pad):
    for i in range(len(pad) // 2):
        dim = x.rank - 1 - i
        before, after = pad[2 * i], pad[2 * i + 1]
        parts = [g.slice(x, [-before], [_END], [dim])] if before else []
        parts.append(x)
        parts += [g.slice(x, [0], [after], [dim])] if after else []
        rank = x.rank
        x = g.op("Concat", *parts, axis=dim) if len(parts) > 1 else x
        x.sizes = (None,) * rank
    return identity(g, x)


# --- diagonals, windows


def diagonal_indices(x, offset, dim1, dim2):
    """Where the elements of a diagonal lie, in a matrix flattened."""
    rows, columns = x.fixed(dim1), x.fixed(dim2)
    count = max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)
    return [(i + max(-offset, 0)) * columns + i + max(offset, 0) for i in range(count)], columns


def matrices_last(g, x, dim1, dim2):
    """The tensor with two dimensions moved to the end and merged."""
    dim1, dim2 = dim_in(dim1, x.rank), dim_in(dim2, x.rank)
    rest = [dim for dim in range(x.rank) if dim not in (dim1, dim2)]
    moved = g.transpose(x, [*rest, dim1, dim2])
    return g.reshape(moved, [*(g.size(x, dim) for dim in rest), x.fixed(dim1) * x.fixed(dim2)]), rest


def _diagonal_of_any(g, x, offset, dim1, dim2):
    """By the places in both dimensions, which are computed when the model runs."""
    dims = dim_in(dim1, x.rank), dim_in(dim2, x.rank)
    rest = [dim for dim in range(x.rank) if dim not in dims]
    begins = max(-offset, 0), max(offset, 0)
    room = [BUILTINS["sub.int"](g, g.size(x, dim), begin) for dim, begin in zip(dims, begins, strict=True)]
    count = BUILTINS["max.int"](g, BUILTINS["min.int"](g, *room), 0)
    along = g.reshape(counted(g, count), [-1, 1])
    places = g.op("Concat", *(g.op("Add", along, g.number(begin, wisp.int64)) for begin in begins), axis=1)
    found = g.op("GatherND", g.transpose(x, [*dims, *rest]), places)
    found.sizes = (None, *(x.size(dim) for dim in rest))
    return g.transpose(found, [*range(1, x.rank - 1), 0])


def diagonal(g, x, offset=0, dim1=0, dim2=1):
    if x.size(dim1) is None or x.size(dim2) is None:
        return _diagonal_of_any(g, x, offset, dim1, dim2)
    flat, rest = matrices_last(g, x, dim1, dim2)
    places, _ = diagonal_indices(x, offset, dim1, dim2)
    return g.op("Gather", flat, wisp.tensor(places, dtype=wisp.int64), axis=len(rest))


def _diag_embed(g, x, offset=0, dim1=-2, dim2=-1):
    if x.dtype in (wisp.bool, wisp.int8, wisp.uint8, wisp.int16):  # of which there are no products
        return g.cast(_diag_embed(g, g.cast(x, wisp.int32), offset, dim1, dim2), x.dtype)
    rank, length = x.rank + 1, x.fixed(-1)
    dim1, dim2 = dim_in(dim1, rank), dim_in(dim2, rank)
    size = length + abs(offset)
    eye = wisp.zeros(length, size, size, dtype=x.dtype)
    for i in range(length):
        eye[i, i + max(-offset, 0), i + max(offset, 0)] = 1
    flat = eye.reshape(length, size * size)
    batch = [g.size(x, dim) for dim in range(x.rank - 1)]
    made = g.reshape(g.op("MatMul", g.unsqueeze(x, [-2]), flat), [*batch, size, size])
    order, rest = [], iter(range(rank - 2))
    for dim in range(rank):
        order.append(rank - 2 if dim == dim1 else rank - 1 if dim == dim2 else next(rest))
    return g.transpose(made, order)


def unfold(g, x, dimension, size, step):
    dimension = dim_in(dimension, x.rank)
    if not x.rank:
        return g.reshape(x, [1])
    if not isinstance(size, Ref) and not size:
        raise Unsupported("windows without elements")
    starts = _window_starts(g, x, dimension, size, step)
    places = g.op("Add", g.unsqueeze(starts, [1]), counted(g, size))
    found = g.op("Gather", x, places, axis=dimension)
    known = None if isinstance(size, Ref) else size
    found.sizes = (*x.sizes[:dimension], starts.size(0), known, *x.sizes[dimension + 1 :])
    order = [dim for dim in range(x.rank + 1) if dim != dimension + 1]
    return g.transpose(found, [*order, dimension + 1])


def _window_starts(g, x, dimension, size, step):
    if is_static([x.size(dimension), size, step]) and x.size(dimension) is not None:
        return g.constant(wisp.arange(0, x.size(dimension) - size + 1, step))
    end = BUILTINS["add.int"](g, BUILTINS["sub.int"](g, g.size(x, dimension), size), 1)
    return g.op("Range", g.number(0, wisp.int64), end, g.number(step, wisp.int64), sizes=(None,))


def _block_diag(g, tensors):
    """Matrices along a diagonal: each is padded to a row of blocks."""
    matrices = [g.reshape(t, [1] * (2 - t.rank) + g.sizes(t)) if t.rank < 2 else t for t in tensors]
    dtype = g.results[0][0] or common_dtype(*tensors)
    widths = [m.fixed(1) for m in matrices]
    rows = [pad_constant(g, g.cast(m, dtype), [sum(widths[:i]), sum(widths[i + 1 :])]) for i, m in enumerate(matrices)]
    return g.op("Concat", *rows, axis=0)


LOWERINGS = {
    "view.dtype": _view_of_bits,
    "block_diag": _block_diag,
    **dict.fromkeys(("clone", "alias"), _copied), "contiguous": _contiguous,
    **dict.fromkeys(("detach", "positive", "restride"), identity),
    **dict.fromkeys(("alias_copy", "detach_copy"), identity),
    **dict.fromkeys(("_to_copy", "to"), _cast), "copy": _copy,
    **dict.fromkeys(("view", "reshape", "_reshape_copy", "view_copy"), _reshape),
    "view_as": lambda g, x, other: g.reshape(x, g.sizes(other)),
    "reshape_as": lambda g, x, other: g.reshape(x, g.sizes(other)), "ravel": lambda g, x: g.reshape(x, [-1]),
    "flatten": _flatten, "unflatten": _unflatten,
    **dict.fromkeys(("expand", "broadcast_to", "expand_copy"), _expand),
    "expand_as": _expand_as,
    **dict.fromkeys(("squeeze", "squeeze_copy"), _squeeze),
    **dict.fromkeys(("squeeze.dim", "squeeze.dims", "squeeze_copy.dim", "squeeze_copy.dims"), _squeeze_dims),
    **dict.fromkeys(("unsqueeze", "unsqueeze_copy"), _unsqueeze),
    **dict.fromkeys(("transpose", "t", "transpose_copy", "t_copy"), _transpose),
    **dict.fromkeys(("permute", "permute_copy"), _permute), **dict.fromkeys(("movedim", "movedim.list"), _movedim),
    "adjoint": lambda g, x: g.swap(x) if x.rank > 1 else identity(g, x),
    **dict.fromkeys(("select", "select_copy"), _select),
    **dict.fromkeys(("slice", "slice_copy"), _slice), **dict.fromkeys(("narrow", "narrow_copy"), _narrow),
    **dict.fromkeys(("diagonal", "diagonal_copy"), diagonal), "diag_embed": _diag_embed,
    **dict.fromkeys(("unfold", "unfold_copy"), unfold), "cat": cat, "stack": _stack,
    **dict.fromkeys(("split.sizes", "split_with_sizes", "split_with_sizes_copy"), split),
    **dict.fromkeys(("split", "split_copy"), _split), "chunk": _chunk, "tensor_split.tensor": _cut_at_values,
    **dict.fromkeys(("unbind", "unbind_copy"), _unbind),
    "flip": flip, "roll": _roll, "repeat": _repeat, "tril": _triangle(0), "triu": _triangle(1),
    "constant_pad_nd": pad_constant, "pad": _pad,
    **dict.fromkeys((f"_{kind}_pad{n}d" for kind in ("reflection", "replication") for n in (1, 2, 3)),
                    lambda g, x, pad, mode: _pad(g, x, pad, mode)),
    "_circular_pad": lambda g, x, pad, mode: _wrapped(g, x, pad),
}  # fmt: skip
