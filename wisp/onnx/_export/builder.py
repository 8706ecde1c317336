"""Nodes of an ONNX graph, and the constants that they read."""

from contextlib import contextmanager

import wisp
from wisp.onnx._export.values import ELEMENTS, Ref, Unsupported, dim_in
from wisp.onnx._package import onnx

_COMPARISONS = {
    "Equal",
    "Less",
    "LessOrEqual",
    "Greater",
    "GreaterOrEqual",
    "And",
    "Or",
    "Xor",
    "Not",
    "IsNaN",
    "IsInf",
}
_POINTWISE = {
    *_COMPARISONS, "Add", "Sub", "Mul", "Div", "Pow", "Mod", "Max", "Min", "Where", "Neg", "Abs", "Sign", "Floor",
    "Ceil",
    "Round", "Sqrt", "Reciprocal", "Exp", "Log", "Sigmoid", "Tanh", "Erf", "Softplus", "Relu", "Clip", "Cast",
    "Identity",
    "Softmax", "LogSoftmax", "Dropout", "CumSum",
}  # fmt: skip
_NOT_CHOSEN = wisp.bool, wisp.int16  # dtypes of which not all runtimes have Where
_INDICES = {"Shape", "Size", "NonZero", "ArgMax", "ArgMin"}


class Builder:
    """Collects nodes. `op()` adds one; the other methods are small programs that many operators need."""

    def __init__(self, opset, names):
        self.opset, self.names = opset, set(names)
        self.nodes, self.initializers = [], {}
        self.dense = set()  # names of tensors that lie in memory in order
        self.results = []  # what is known of the results of the operator being lowered: [(dtype, sizes)]
        self.place = None
        self.asked = True  # whether sizes that may differ are wanted, or only tried because nobody spoke of them
        self.grown = []  # lists from outside that an inner graph was about to change: [(list, item)]
        self._shapes = [{}]  # of tensors whose shape has been asked for, by scope
        self._constants = {}
        self._count = 0

    # --- names and scopes

    def fresh(self, stem):
        """A name that nothing else has."""
        name = stem
        while name in self.names:
            self._count += 1
            name = f"{stem}_{self._count}"
        self.names.add(name)
        return name

    @property
    def depth(self):
        """How many graphs are around the one that nodes are added to."""
        return len(self._shapes) - 1

    @contextmanager
    def scope(self):
        """Nodes that are added belong to an inner graph: gives the list of them."""
        outer, self.nodes = self.nodes, []
        self._shapes.append({})
        try:
            yield self.nodes
        finally:
            self.nodes = outer
            self._shapes.pop()

    def mark(self):
        """Where the graph stands, for rewind()."""
        return len(self.nodes), dict(self._shapes[-1])

    def rewind(self, mark):
        """Removes the nodes that were added since."""
        del self.nodes[mark[0] :]
        self._shapes[-1] = dict(mark[1])

    # --- constants

    def constant(self, tensor, name=None):
        """A tensor as a constant of the graph."""
        tensor = tensor.detach()
        if tensor.dtype not in ELEMENTS:
            raise Unsupported(f"tensors of {tensor.dtype} do not exist in ONNX")
        key = None
        if name is None and tensor.numel() <= 64:
            key = tensor.dtype, tuple(tensor.shape), repr(tensor.tolist())
            if key in self._constants:
                return self._constants[key]
        made = Ref(self.fresh(name or "constant"), tensor.dtype, tuple(tensor.shape), constant=tensor)
        self.initializers[made.name] = wisp.view_as_real(tensor) if tensor.is_complex() else tensor
        if key:
            self._constants[key] = made
        return made

    def parameter(self, tensor, name):
        """A tensor of the model: one whose value is not looked at."""
        made = self.constant(tensor, name)
        made.constant = None
        if tensor.is_contiguous() and not tensor.storage_offset():
            self.dense.add(made.name)
        return made

    def ints(self, values):
        """A list of integers, some of them perhaps computed, as a tensor of one dimension."""
        if isinstance(values, Ref):
            return values
        if all(not isinstance(value, Ref) for value in values):
            return self.constant(wisp.tensor([int(value) for value in values], dtype=wisp.int64))
        parts = [self.unsqueeze(value, [0]) if isinstance(value, Ref) else self.ints([value]) for value in values]
        return parts[0] if len(parts) == 1 else self.op("Concat", *parts, axis=0, dtype=wisp.int64)

    def number(self, value, dtype):
        """A number as a tensor without dimensions."""
        if isinstance(value, Ref):
            return self.cast(value, dtype)
        return self.constant(wisp.tensor(value, dtype=dtype))

    def tensor(self, value, dtype=None):
        """Anything that can stand for a tensor."""
        if not isinstance(value, Ref):
            value = self.number(value, dtype or wisp.tensor(value).dtype)
        return value if dtype is None else self.cast(value, dtype)

    # --- nodes

    def op(self, kind, *inputs, outputs=1, dtype=None, sizes=None, **attributes):
        """Adds a node. Integers and lists of them among the inputs become constants, None an input left out."""
        if kind == "Where" and inputs[1].dtype in _NOT_CHOSEN:
            chosen = [self.cast(value, wisp.int32) for value in inputs[1:]]
            return self.cast(self.op(kind, inputs[0], *chosen, sizes=sizes), inputs[1].dtype)
        given = [self._input(value) for value in inputs]
        while given and given[-1] is None:
            given.pop()
        names = [self.fresh(kind.lower()) for _ in range(outputs)]
        attributes = {name: value for name, value in attributes.items() if value is not None}
        node = onnx.helper.make_node(kind, [value.name if value else "" for value in given], names, **attributes)
        node.name = self.fresh(f"{kind}_node")
        if self.place:
            node.doc_string = self.place
        self.nodes.append(node)
        if dtype is None:
            dtype = self._dtype(kind, given)
        if sizes is None and kind in _POINTWISE:
            sizes = _broadcast(value.sizes for value in given if value)
        made = tuple(Ref(name, dtype, sizes, depth=self.depth) for name in names)
        return made[0] if outputs == 1 else made

    def _input(self, value):
        if value is None or isinstance(value, Ref):
            return value
        if isinstance(value, wisp.Tensor):
            return self.constant(value)
        return self.ints(value) if isinstance(value, (list, tuple)) else self.number(value, wisp.int64)

    @staticmethod
    def _dtype(kind, given):
        if kind in _COMPARISONS:
            return wisp.bool
        if kind in _INDICES:
            return wisp.int64
        values = given[1:] if kind == "Where" else given
        return values[0].dtype if values and values[0] else None

    # --- small programs

    def cast(self, value, dtype):
        """A value as one of another dtype."""
        if value.dtype == dtype:
            return value
        if dtype not in ELEMENTS or dtype.is_complex or value.dtype.is_complex:
            raise Unsupported(f"tensors of {value.dtype} as tensors of {dtype}")
        if value.constant is not None:
            made = self.constant(value.constant.to(dtype))
        else:
            made = self.op("Cast", value, to=int(ELEMENTS[dtype]), dtype=dtype, sizes=value.sizes)
        return Ref(made.name, dtype, made.sizes, value.number, made.constant)

    def shape(self, value):
        """The sizes of a tensor as a tensor."""
        if value.sizes is not None and None not in value.sizes:
            return self.ints(value.sizes)
        for scope in self._shapes:
            if value.name in scope:
                return scope[value.name]
        made = self._shapes[-1][value.name] = self.op("Shape", value)
        made.sizes = None if value.sizes is None else (len(value.sizes),)
        return made

    def size(self, value, dim):
        """A size: an int if it is known, else a value of the graph."""
        known = value.sizes is not None and value.sizes[dim] is not None
        return value.sizes[dim] if known else self._picked(value, dim)

    def _picked(self, value, dim):
        made = self.op("Gather", self.shape(value), self.number(dim_in(dim, value.rank), wisp.int64), axis=0)
        made.number, made.sizes = True, ()
        return made

    def sizes(self, value):
        """All sizes as a list."""
        return [self.size(value, dim) for dim in range(value.rank)]

    def unsqueeze(self, value, dims):
        sizes = None
        if value.sizes is not None:
            rank = len(value.sizes) + len(dims)
            kept, new = iter(value.sizes), {dim_in(dim, rank) for dim in dims}
            sizes = tuple(1 if dim in new else next(kept) for dim in range(rank))
        return self.op("Unsqueeze", value, list(dims), sizes=sizes)

    def squeeze(self, value, dims):
        sizes = None
        if value.sizes is not None:
            gone = {dim_in(dim, len(value.sizes)) for dim in dims}
            sizes = tuple(size for dim, size in enumerate(value.sizes) if dim not in gone)
        return self.op("Squeeze", value, list(dims), sizes=sizes)

    def reshape(self, value, sizes):
        known = None if isinstance(sizes, Ref) else tuple(s if isinstance(s, int) and s >= 0 else None for s in sizes)
        return self.op(
            "Reshape", value, sizes, allowzero=1 if self.opset >= 14 and _has_zero(sizes) else None, sizes=known
        )

    def transpose(self, value, order):
        order = [dim_in(dim, value.rank) for dim in order]
        if order == list(range(value.rank)):
            return value
        return self.op("Transpose", value, perm=order, sizes=tuple(value.sizes[dim] for dim in order))

    def swap(self, value, first=-1, second=-2):
        """A tensor with two dimensions exchanged."""
        order = list(range(value.rank))
        order[first], order[second] = order[second], order[first]
        return self.transpose(value, order)

    def expand(self, value, sizes):
        return self.op("Expand", value, sizes)

    def slice(self, value, starts, ends, axes, steps=None):
        return self.op("Slice", value, starts, ends, list(axes), None if steps is None else list(steps))

    def reduce(self, kind, value, dims=None, keepdim=False):
        """A reduction over dimensions, all of them if there are none."""
        if value.sizes == ():
            dims = None
        dims = None if not dims else [dim_in(dim, value.rank) for dim in dims]
        sizes = _reduced_sizes(value.sizes, dims, keepdim)
        if self.opset >= 18 or kind == "ReduceSum":
            return self.op(kind, value, dims, keepdims=int(keepdim), sizes=sizes)
        return self.op(kind, value, axes=dims, keepdims=int(keepdim), sizes=sizes)

    def need_opset(self, version, what):
        if self.opset < version:
            raise Unsupported(f"{what} needs opset_version {version} or newer")


def _broadcast(shapes):
    """The sizes of a result of tensors of these sizes, as far as they are known."""
    found = []
    for sizes in shapes:
        if sizes is None:
            return None
        found = [1] * (len(sizes) - len(found)) + found
        for i, size in enumerate(reversed(sizes), 1):
            if size != 1:
                found[-i] = size if found[-i] == 1 or size is not None else found[-i]
    return tuple(found)


def _reduced_sizes(sizes, dims, keepdim):
    if sizes is None:
        return None
    gone = range(len(sizes)) if dims is None else dims
    return tuple(1 if dim in gone else size for dim, size in enumerate(sizes) if keepdim or dim not in gone)


def _has_zero(sizes):
    return not isinstance(sizes, Ref) and 0 in [size for size in sizes if not isinstance(size, Ref)]
