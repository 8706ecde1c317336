"""Functions of numbers, lists and other plain Python values, of which some are only known when the model runs."""

import wisp
from wisp.onnx._export import sequences
from wisp.onnx._export.values import Items, Ref, Unsupported, dim_in, is_sequence

_ARITHMETIC = {"add": "Add", "sub": "Sub", "mul": "Mul", "max": "Max", "min": "Min"}
_COMPARED = {"lt": "Less", "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual"}
_FUNCTIONS = {
    "sqrt": "Sqrt", "exp": "Exp", "log": "Log", "sin": "Sin", "cos": "Cos", "tan": "Tan", "tanh": "Tanh",
    "sinh": "Sinh",
    "cosh": "Cosh", "asin": "Asin", "acos": "Acos", "atan": "Atan", "erf": "Erf",
}  # fmt: skip


def _number(ref):
    ref.number, ref.sizes = True, ()
    return ref


def _common(g, a, b):
    """Two numbers as values of one dtype."""
    dtypes = [x.dtype if isinstance(x, Ref) else wisp.float32 if isinstance(x, float) else wisp.int64 for x in (a, b)]
    dtype = wisp.promote_types(*dtypes)
    return g.number(a, dtype), g.number(b, dtype)


def _binary(kind):
    return lambda g, a, b: _number(g.op(kind, *_common(g, a, b)))


def _equal(g, a, b):
    if not isinstance(a, (list, tuple)):
        return _number(g.op("Equal", *_common(g, a, b)))
    same = len(a) == len(b)
    for one, other in zip(a, b) if same else ():
        known = not isinstance(one, Ref) and not isinstance(other, Ref)
        same = _both_true(g, same, one == other if known else _equal(g, one, other))
    return same


def _both_true(g, a, b):
    if isinstance(a, Ref) and isinstance(b, Ref):
        return _both("And")(g, a, b)
    known, other = (b, a) if isinstance(a, Ref) else (a, b)
    return other if known else False


def _not_equal(g, a, b):
    same = _equal(g, a, b)
    return _number(g.op("Not", same)) if isinstance(same, Ref) else not same


def _divided(g, a, b):
    dtype = next((x.dtype for x in (a, b) if isinstance(x, Ref) and x.dtype.is_floating_point), wisp.float32)
    return _number(g.op("Div", g.number(a, dtype), g.number(b, dtype)))


def _floor_divided(g, a, b):
    a, b = _common(g, a, b)
    if a.dtype.is_floating_point:
        return _number(g.op("Floor", g.op("Div", a, b)))
    return _number(g.op("Div", g.op("Sub", a, g.op("Mod", a, b)), b))


def _remainder(g, a, b):
    a, b = _common(g, a, b)
    if a.dtype.is_floating_point:
        return _number(g.op("Sub", a, g.op("Mul", g.op("Floor", g.op("Div", a, b)), b)))
    return _number(g.op("Mod", a, b))


def _power(g, a, b):
    a, b = (g.number(x, wisp.float32) for x in (a, b))
    return _number(g.op("Pow", a, b))


def _unary(kind):
    return lambda g, a: _number(g.op(kind, a))


def _function(kind):
    return lambda g, a: _number(g.op(kind, g.number(a, a.dtype if a.is_float else wisp.float32)))


def _rounded(kind):
    return lambda g, a: _number(g.cast(g.op(kind, a), wisp.int64))


def _as(dtype):
    """A number or a tensor with one element as a number of Python."""

    def convert(g, a):
        if not isinstance(a, Ref):
            return {wisp.int64: int, wisp.float32: float, wisp.bool: bool}[dtype](a)
        wanted = a.dtype if dtype == wisp.float32 and a.is_float else dtype
        made = g.cast(a, wanted)
        if a.sizes != ():
            made = g.reshape(made, [])
        return _number(Ref(made.name, wanted, (), depth=g.depth))

    return convert


def _item(g, tensor):
    dtype = wisp.bool if tensor.dtype == wisp.bool else wisp.float32 if tensor.is_float else wisp.int64
    return _as(dtype)(g, tensor)


def _both(kind):
    return lambda g, a, b: _number(g.op(kind, g.number(a, wisp.bool), g.number(b, wisp.bool)))


def _range_length(g, start, stop, step):
    """How many numbers range() gives: (stop - start + step - 1) // step for a positive step."""
    if isinstance(step, Ref):
        raise Unsupported("the step of a range has to be the same in all calls")
    span = BUILTINS["sub.int"](g, stop, start) if step > 0 else BUILTINS["sub.int"](g, start, stop)
    count = _floor_divided(g, BUILTINS["add.int"](g, span, abs(step) - 1), abs(step))
    return BUILTINS["max.int"](g, count, 0)


def _derived_index(g, index, start, step):
    return BUILTINS["add.int"](g, start, BUILTINS["mul.int"](g, index, step))


# --- tensors asked about themselves


def _size(g, tensor, dim):
    if isinstance(dim, Ref):
        raise Unsupported("which dimension is asked for has to be the same in all calls")
    return g.size(tensor, dim_in(dim, tensor.rank))


def _numel(g, tensor):
    sizes = g.sizes(tensor)
    if any(isinstance(size, Ref) for size in sizes):
        return _number(g.op("Size", tensor))
    return wisp.Size(sizes).numel()


def _known_dtype(tensor):
    if tensor.dtype is None:
        raise Unsupported("the dtype of a tensor is not known")
    return tensor.dtype


def _tensor(g, data, dtype, device, requires_grad):
    if isinstance(data, list):
        items = [_tensor(g, item, dtype, device, requires_grad) for item in data]
        kinds = [item.dtype for item in items]
        wanted = dtype or next((k for k in kinds if k.is_floating_point), kinds[0])
        parts = [g.unsqueeze(g.cast(item, wanted), [0]) for item in items]
        sizes = None if parts[0].sizes is None else (len(parts), *parts[0].sizes[1:])
        return g.op("Concat", *parts, axis=0, sizes=sizes)
    if isinstance(data, Ref):
        made = g.cast(data, dtype or (wisp.float32 if data.is_float else data.dtype))
        return Ref(made.name, made.dtype, made.sizes, depth=g.depth)
    return g.constant(wisp.tensor(data, dtype=dtype))


def _without_leading_ones(g, value, places):
    """A value to be written into a tensor that has fewer dimensions."""
    surplus = value.rank - places.rank
    return g.squeeze(value, list(range(surplus))) if surplus > 0 else value


# --- lists


def _items(values):
    if isinstance(values, Ref) or is_sequence(values):
        raise Unsupported("lists whose length may differ from call to call")
    return values


def _length(g, values):
    return sequences.length(g, values) if is_sequence(values) else len(_items(values))


def _append(g, values, item):
    if isinstance(values, Items) and values.depth < g.depth:
        g.grown.append((values, item))
    elif is_sequence(values):
        return sequences.insert(g, values, item)
    return _changed(list.append)(g, values, item)


def _item_of(g, values, index):
    if is_sequence(values):
        return sequences.item(g, values.sequence, index)
    if not isinstance(index, Ref):
        return _items(values)[index]
    if all(isinstance(value, int) or (isinstance(value, Ref) and value.number) for value in _items(values)):
        return _number(g.op("Gather", g.ints(values), g.cast(index, wisp.int64), axis=0))
    return sequences.item(g, sequences.of_tensors(g, values), index)


def _slice_of(g, values, *bounds):
    if any(isinstance(bound, Ref) for bound in bounds):
        raise Unsupported("the part that is taken of a list has to be the same in all calls")
    return Items(_items(values)[slice(*bounds)], g.depth)


def _changed(change):
    """A function that changes a list or dict, which has to be one of the graph that nodes are added to."""

    def lower(g, values, *args):
        if getattr(values, "depth", 0) < g.depth:
            raise Unsupported("it changes, in a branch or loop, a list from outside of it")
        return change(_items(values), *args)

    return lower


def _is(g, a, b):
    return a is b or (a is None and b is None)


BUILTINS = {
    **{f"{name}.{kind}": _binary(op) for name, op in _ARITHMETIC.items() for kind in ("int", "float", "Scalar")},
    **{f"{name}.{kind}": _binary(op) for name, op in _COMPARED.items() for kind in ("int", "float", "Scalar", "any")},
    **{f"eq.{kind}": _equal for kind in ("int", "float", "Scalar", "any")},
    **{f"ne.{kind}": _not_equal for kind in ("int", "float", "any")},
    **{f"div.{kind}": _divided for kind in ("int", "float", "Scalar")},
    **{f"floordiv.{kind}": _floor_divided for kind in ("int", "float", "Scalar")},
    **{f"remainder.{kind}": _remainder for kind in ("int", "float", "Scalar")},
    **{f"pow.{kind}": _power for kind in ("int", "float", "Scalar")},
    **{f"neg.{kind}": _unary("Neg") for kind in ("int", "float", "Scalar")},
    **{f"abs.{kind}": _unary("Abs") for kind in ("int", "float", "Scalar")},
    **{f"{name}.float": _function(op) for name, op in _FUNCTIONS.items()},
    "floor.float": _rounded("Floor"), "ceil.float": _rounded("Ceil"),
    **{f"Int.{kind}": _as(wisp.int64) for kind in ("float", "bool", "Scalar", "Tensor")},
    **{f"Float.{kind}": _as(wisp.float32) for kind in ("int", "bool", "Scalar", "Tensor")},
    **{f"Bool.{kind}": _as(wisp.bool) for kind in ("int", "float", "Scalar", "Tensor")},
    "Scalar.any": lambda g, a: a, "item": _item,
    "__not__": _unary("Not"), "__and__.bool": _both("And"), "__or__.bool": _both("Or"), "__xor__.bool": _both("Xor"),
    "__range_length": _range_length, "__derive_index": _derived_index,
    "size": lambda g, tensor: g.sizes(tensor), "size.int": _size, "dim": lambda g, tensor: tensor.rank, "numel": _numel,
    "len.Tensor": lambda g, tensor: g.size(tensor, 0),
    "dtype": lambda g, tensor: _known_dtype(tensor), "device": lambda g, tensor: wisp.device("cpu"),
    "is_floating_point": lambda g, tensor: _known_dtype(tensor).is_floating_point,
    "is_complex": lambda g, tensor: _known_dtype(tensor).is_complex, "is_cpu": lambda g, tensor: True,
    "is_signed": lambda g, tensor: _known_dtype(tensor).is_signed, "requires_grad": lambda g, tensor: False,
    "tensor": _tensor, "tensor.like": lambda g, value, like: g.number(value, like.dtype),
    "len.t": _length, "__getitem__.t": _item_of, "append.t": _append,
    "list.t": lambda g, values: Items(_items(values), g.depth),
    "add.t": lambda g, a, b: Items([*_items(a), *_items(b)], g.depth),
    "slice.t": _slice_of,
    "reversed.t": lambda g, values: Items(_items(values)[::-1], g.depth),
    "mul.t": lambda g, values, times: Items(_items(values) * times, g.depth),
    "extend.t": _changed(list.extend), "insert.t": _changed(list.insert), "pop.t": _changed(list.pop),
    "__delitem__.t": _changed(list.__delitem__),
    "_set_item.t": _changed(list.__setitem__),
    "__getitem__.dict": lambda g, table, key: table[key],
    "_set_item.dict": _changed(dict.__setitem__),
    "__contains__.dict": lambda g, table, key: key in table,
    "len.dict": lambda g, table: len(table), "keys.dict": lambda g, table: list(table),
    "values.dict": lambda g, table: list(table.values()), "items.dict": lambda g, table: list(table.items()),
    "_without_leading_ones": _without_leading_ones, "__is__": _is, "__isnot__": lambda g, a, b: not _is(g, a, b),
    "prod.int": lambda g, values: _folded(g, "mul.int", values), "sum.int": lambda g,
    values: _folded(g, "add.int", values),
}  # fmt: skip
# Those that have to be done here even if everything is known, because they change a list or look at what it is.
ALWAYS = {
    "append.t", "extend.t", "insert.t", "pop.t", "__delitem__.t", "_set_item.t", "_set_item.dict", "__is__", "__isnot__", "list.t",
    "__getitem__.t", "__getitem__.dict", "keys.dict", "values.dict", "items.dict", "len.dict", "len.t", "add.t",
    "slice.t",
    "__contains__.dict", "tensor",
}  # fmt: skip
# Those that give nothing back.
SILENT = {"append.t", "extend.t", "insert.t", "__delitem__.t", "_set_item.t", "_set_item.dict"}


def _folded(g, name, values):
    found = values[0]
    for value in values[1:]:
        found = BUILTINS[name](g, found, value)
    return found
