"""Writes into tensors: ONNX has none, so that later reads take the value that was written, also through views."""

from dataclasses import replace

from wisp.onnx._export.lowerings import LOWERINGS, TABLE, renamed
from wisp.onnx._export.values import Ref, Unsupported, dim_in, leaves

_RESHAPED = {
    "view", "reshape", "_reshape_copy", "unsqueeze", "squeeze", "squeeze.dim", "squeeze.dims", "flatten", "unflatten",
    "view_as", "reshape_as", "ravel",
}  # fmt: skip
_SAME = {"alias", "detach", "contiguous", "to", "positive", "conj", "real"}
_VIEWS = {*_RESHAPED, *_SAME, "select", "slice", "narrow", "transpose", "t", "permute", "diagonal"}
# Composites that may give views which cannot be followed back; of other operators the table says so.
_UNFOLLOWED = {
    "expand_as", "broadcast_to", "broadcast_tensors", "movedim", "movedim.list", "adjoint", "chunk", "meshgrid",
    "linalg_diagonal", "tensor_split", "tensor_split.indices", "hsplit", "hsplit.indices", "vsplit", "vsplit.indices",
    "dsplit", "dsplit.indices", "atleast_1d", "atleast_2d", "atleast_3d",
}  # fmt: skip


class Writes:
    """Which tensors share memory, and what was written last."""

    def __init__(self, g):
        self.g = g
        self._newest, self._views, self._children = {}, {}, {}

    def adopt(self, outer):
        """Begins with what is known outside of an inner graph."""
        self._newest, self._views = dict(outer._newest), dict(outer._views)
        self._children = {source: list(views) for source, views in outer._children.items()}

    def newest(self, value):
        """A value as it is now."""
        if isinstance(value, Ref):
            return self._newest.get(value, value)
        if not self._newest:
            return value
        if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
            found = [self.newest(item) for item in value]
            if isinstance(value, tuple):
                return tuple(found)
            value[:] = found  # the same list, which may be changed later
        return value

    def note_view(self, name, source, args, results, walker):
        """Remembers that a result shares memory with an argument."""
        if not isinstance(source, Ref) or not results:
            return
        if name in _VIEWS and (name != "to" or results[0].dtype == source.dtype):
            forward = _replay(walker, name, args, results[0])
            self._views[results[0]] = source, forward, _inverse(name, args)
            self._children.setdefault(source, []).append(results[0])
        elif name in _UNFOLLOWED or TABLE[name]["view"]:
            self._note_unfollowed(source, results)

    def note_complex_view(self, name, source, results):
        """Where complex numbers are looked at, or looked at as such, nothing may be written afterwards."""
        if name in _VIEWS or name in _UNFOLLOWED or TABLE[name]["view"]:
            self._note_unfollowed(source, results)

    def _note_unfollowed(self, source, results):
        for result in leaves(results):
            self._views[result] = source, None, None
            self._children.setdefault(source, []).append(result)

    def write(self, target, value):
        """`target` holds `value` from now on, and so do its views and the tensor that it is a view of."""
        if not isinstance(target, Ref):
            raise Unsupported("it writes into what is not a tensor")
        self._check_depth(target)
        self._newest[target] = value
        self._refresh(target, None)
        self._write_back(target, value)

    def _check_depth(self, target):
        if target.depth < self.g.depth:
            raise Unsupported("it writes, in a branch or loop, into a tensor from outside of it")

    def _write_back(self, target, value):
        if target not in self._views:
            return
        source, _, inverse = self._views[target]
        if inverse is None:
            raise Unsupported("it writes through a view that ONNX cannot follow")
        self._check_depth(source)
        whole = inverse(self.g, self.newest(source), value)
        now = self.newest(source)
        whole = replace(whole, dtype=now.dtype, sizes=now.sizes, constant=None)
        self._newest[source] = whole
        self._refresh(source, target)
        self._write_back(source, whole)

    def _refresh(self, source, but):
        for view in self._children.get(source, ()):
            if view is but:
                continue
            forward = self._views[view][1]
            if forward is None:
                raise Unsupported("it writes into a tensor of which there are views that ONNX cannot follow")
            self._newest[view] = forward(self.newest(source))
            self._refresh(view, None)


def _replay(walker, name, args, view):
    """The view, made again of the newest value."""

    def forward(source):
        made = LOWERINGS[name](walker.g, source, *args[1:]) if name in LOWERINGS else renamed(walker.g, name, [source])
        old = args[0]
        return replace(made, dtype=old.dtype, sizes=view.sizes if made.sizes is None else made.sizes)

    return forward


def _inverse(name, args):
    """(g, whole, part) -> the whole with the part written into it."""
    if name in _SAME:
        return lambda g, whole, part: part
    if name in _RESHAPED:
        return lambda g, whole, part: g.reshape(part, g.sizes(whole))
    if name in ("transpose", "t"):
        return lambda g, whole, part: g.swap(part, *(args[1:] if len(args) > 1 else (0, 1)))
    if name == "permute":
        order = args[1]
        return lambda g, whole, part: g.transpose(part, _inverted(order, whole.rank))
    return lambda g, whole, part: _scattered(g, name, whole, part, *args[1:])


def _inverted(order, rank):
    places = [dim_in(dim, rank) for dim in order]
    return [places.index(dim) for dim in range(rank)]


def _scattered(g, name, whole, part, *args):
    if name == "diagonal":
        return LOWERINGS["diagonal_scatter"](g, whole, part, *args)
    if name == "select":
        return LOWERINGS["select_scatter"](g, whole, part, *args)
    if name == "narrow":
        dim, start, length = args
        if isinstance(start, Ref) or isinstance(length, Ref):
            raise Unsupported("it writes into a part whose place may differ from call to call")
        args = dim, start, start + length, 1
    return LOWERINGS["slice_scatter"](g, whole, part, *args)
