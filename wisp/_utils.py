"""What pickles of tensors made by PyTorch call when they are loaded (with ``torch`` resolved to wisp), and what programs
that exchange gradients call."""

from wisp import _C
from wisp.serialization import _torch_names as names

_rebuild_tensor = _rebuild_tensor_v2 = names.at_once(names.rebuild_tensor)
_rebuild_tensor_v3 = names.at_once(names.rebuild_tensor_of_dtype)
_rebuild_parameter = _rebuild_parameter_with_state = names.rebuild_parameter


def _flatten_dense_tensors(tensors):
    """All elements of some tensors, in order, as one vector."""
    return _C._functions["cat"]([t.contiguous().view(-1) for t in tensors])


def _unflatten_dense_tensors(flat, tensors):
    """The parts of such a vector, in the shapes of the tensors."""
    parts = flat.split([t.numel() for t in tensors])
    return tuple(part.view_as(t) for part, t in zip(parts, tensors))
