"""Lists whose length is only known when the model runs: what a loop adds to becomes a sequence of ONNX."""

from dataclasses import replace

import wisp
from wisp.onnx._export.values import ELEMENTS, Items, Ref, Unsupported, dim_in


def unified(one, other):
    """Sizes that hold for both."""
    if one is None or other is None or len(one) != len(other):
        return None
    return tuple(a if a == b else None for a, b in zip(one, other, strict=True))


def _is_tensor(value):
    return isinstance(value, Ref) and not value.number and not value.sequence


def begun(g, lists, may_grow=True):
    """What lists are before a branch or loop that was about to add to them, if they may grow: [(list, sequence)].

    Those of a graph further out are left to the branch or loop of that graph.
    """
    found, rest, known = [], [], [id(values) for values, _ in lists]
    for values, item in g.grown:
        if values.depth < g.depth:
            rest.append((values, item))
        elif may_grow and id(values) not in known and _is_tensor(item) and all(map(_is_tensor, values)):
            known.append(id(values))
            found.append((values, _sequence_of(g, values, item)))
    g.grown = rest
    return found


def _sequence_of(g, values, item):
    g.need_opset(14, "a list whose length may differ from call to call")
    if values.sequence is not None:
        return values.sequence
    if not values:
        made = g.op("SequenceEmpty", dtype=item.dtype, sizes=item.sizes)
        g.nodes[-1].attribute.append(_dtype_attribute(item.dtype))
        return replace(made, sequence=True)
    return of_tensors(g, values)


def of_tensors(g, values):
    """A list of tensors as a sequence."""
    if not values or not all(map(_is_tensor, values)) or len({value.dtype for value in values}) > 1:
        raise Unsupported("an index into a list has to be the same in all calls, unless it is one of tensors")
    sizes = values[0].sizes
    for value in values:
        sizes = unified(sizes, value.sizes)
    return replace(g.op("SequenceConstruct", *values, sizes=sizes), sequence=True)


def _dtype_attribute(dtype):
    from wisp.onnx._package import onnx

    return onnx.helper.make_attribute("dtype", int(ELEMENTS[dtype]))


class Growing:
    """Lists while an inner graph adds to them: sequences, and afterwards what they were."""

    def __init__(self, g, lists, params):
        self.g, self.lists, self.params = g, [values for values, _ in lists], params

    def __enter__(self):
        self.before = [(list(values), values.sequence, values.depth) for values in self.lists]
        for values, param in zip(self.lists, self.params, strict=True):
            values[:], values.sequence, values.depth = [], param, self.g.depth

    def __exit__(self, *_):
        self.results = [values.sequence for values in self.lists]
        for values, (items, sequence, depth) in zip(self.lists, self.before, strict=True):
            values[:], values.sequence, values.depth = items, sequence, depth


def grow(lists, results):
    """Lists are sequences from now on."""
    for (values, _), sequence in zip(lists, results, strict=True):
        values[:], values.sequence = [], sequence


# --- what is done with such lists


def insert(g, values, item):
    if not _is_tensor(item) or item.dtype != values.sequence.dtype:
        raise Unsupported("a list whose length may differ from call to call has tensors of one dtype")
    sizes = unified(values.sequence.sizes, item.sizes)
    values.sequence = replace(g.op("SequenceInsert", values.sequence, item, sizes=sizes), sequence=True)


def length(g, values):
    made = g.op("SequenceLength", values.sequence, dtype=wisp.int64, sizes=())
    return replace(made, number=True)


def item(g, sequence, index):
    return g.op("SequenceAt", sequence, g.number(index, wisp.int64), sizes=sequence.sizes)


def parts(g, x, dim, size=None):
    """A list of parts of a tensor: of so many elements each, or of one, without the dimension."""
    made = Items([], g.depth)
    sizes = x.sizes[:dim] + (() if size is None else (None,)) + x.sizes[dim + 1 :]
    length = None if size is None else g.number(size, wisp.int64)
    whole = g.op("SplitToSequence", x, length, axis=dim, keepdims=0 if size is None else None, sizes=sizes)
    made.sequence = replace(whole, sequence=True)
    return made


def joined(g, name, values, dim=0, *rest):
    """stack() and cat() of such a list."""
    if name not in ("stack", "cat") or isinstance(dim, Ref):
        raise Unsupported("lists whose length may differ from call to call")
    sizes, new = values.sequence.sizes, name == "stack"
    if sizes is None:
        raise Unsupported("the number of dimensions of a tensor is not known")
    dim = dim_in(dim, len(sizes) + new)
    sizes = (*sizes[:dim], None, *sizes[dim + 1 - new :])
    return g.op("ConcatFromSequence", values.sequence, axis=dim, new_axis=int(new), sizes=sizes)
