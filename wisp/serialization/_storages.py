"""Which data is written for tensors, some of which may share memory.

A tensor that shares with no other is written as it is seen: an entry of its shape, in row-major order. Of tensors that
share, the memory they reach is written once, and they are views of it again when loaded.
"""

from wisp import _C


def plan(tensors):
    """For triples (tensor, name, number): pairs (number, (place, blobs)).

    ``place`` is what the node of the tensor says of its data, ``blobs`` the {name: tensor} to be written for it.
    """
    groups = {}
    for item in tensors:
        groups.setdefault(item[0]._storage_id() if item[0].numel() else id(item[0]), []).append(item)
    for group in groups.values():
        tensor, name, number = group[0]
        if len(group) == 1 and _reach(tensor) >= tensor.numel():
            yield number, _alone(tensor, name)
        else:
            yield from _together(group)


def _reach(tensor):
    """How many elements of memory lie between the first and the last element."""
    return 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride())) if tensor.numel() else 0


def _alone(tensor, name):
    place = {"tensor": name}
    if not tensor.is_contiguous() and _reach(tensor) == tensor.numel():  # dense, in another order
        place["order"] = list(tensor.stride())
    if tensor.dtype is not _C.complex128:
        return place, {name: tensor}
    place.update(dtype="complex128", shape=list(tensor.shape))  # the format has none: pairs of float64
    return place, {name: _C._functions["view_as_real"](tensor.detach().contiguous())}


def _together(group):
    first = min(_begin(tensor) for tensor, _, _ in group)
    first -= first % max(tensor.element_size() for tensor, _, _ in group)
    last = max(_begin(tensor) + _reach(tensor) * tensor.element_size() for tensor, _, _ in group)
    data, name = _owner(group, first, last)
    blobs = {name: data}
    for tensor, _, number in group:
        offset = (_begin(tensor) - first) // tensor.element_size()
        place = {"tensor": name, "dtype": str(tensor.dtype).rpartition(".")[2], "shape": list(tensor.shape),
                 "stride": list(tensor.stride()), "offset": offset}  # fmt: skip
        yield number, (place, blobs)


def _begin(tensor):
    return tensor.storage_offset() * tensor.element_size()


def _owner(group, first, last):
    """The entry for shared memory: one of the tensors if it is all of it, so that other readers see it; else bytes."""
    for tensor, name, _ in group:
        whole = _begin(tensor) == first and tensor.numel() * tensor.element_size() == last - first
        if whole and tensor.is_contiguous() and tensor.dtype is not _C.complex128:
            return tensor, name
    tensor, name, _ = group[0]
    data = tensor.detach()._storage_bytes()
    data = data[first : min(last, len(data))]
    same = all(other.dtype is tensor.dtype for other, _, _ in group) and tensor.dtype is not _C.complex128
    return (data.view(tensor.dtype) if same and len(data) % tensor.element_size() == 0 else data), name
