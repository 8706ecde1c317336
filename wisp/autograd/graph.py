"""The graph that backward() walks: its nodes, and hooks on several places of it at once."""

from collections import namedtuple
from contextlib import contextmanager
from threading import Lock
from weakref import WeakKeyDictionary

from wisp import _C
from wisp._C import Node, Tensor

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


class GradientEdge(namedtuple("GradientEdge", ("node", "output_nr"))):
    """A place in the graph: output ``output_nr`` of ``node``. It can stand for the tensor in backward() and grad()."""

    __slots__ = ()


def get_gradient_edge(tensor):
    """Where the gradient of a tensor arrives in the graph; for a leaf, its AccumulateGrad node."""
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    if tensor.grad_fn is not None:
        return GradientEdge(tensor.grad_fn, tensor.output_nr)
    with _C.enable_grad():
        return GradientEdge(tensor.view(tensor.shape).grad_fn.next_functions[0][0], 0)


def increment_version(tensor):
    """Tells autograd that a tensor (or each of several) was written by something it cannot see."""
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        _C._increment_version(t)


class _Handles:
    """Removes several hooks at once."""

    def __init__(self, handles):
        self.handles = handles

    def remove(self):
        for handle in self.handles:
            handle.remove()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


def register_multi_grad_hook(tensors, fn, *, mode="all"):
    """Calls ``fn`` when the gradients of several tensors are known.

    With ``mode="all"``, ``fn(grads)`` runs once in a backward: when all gradients are there, or at its end if it does
    not compute all of them, with None for those. With ``mode="any"``, ``fn(grad)`` runs once, at the first of them.
    Returns a handle with remove().
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    collector = _Collector(len(tensors), fn, mode == "any")
    return _Handles([t.register_hook(collector.hook(i)) for i, t in enumerate(tensors)])


class _Collector:
    """The gradients of one backward, as they arrive."""

    def __init__(self, count, fn, first_only):
        self.count, self.fn, self.first_only = count, fn, first_only
        self.lock, self.grads = Lock(), None

    def hook(self, index):
        return lambda grad: self.arrived(index, grad)

    def arrived(self, index, grad):
        with self.lock:
            if self.grads is None:
                self.grads, self.called = {}, False
                _C._queue_callback(self.finished)
            self.grads[index] = grad
        if self.first_only:
            self.call(grad)
        elif len(self.grads) == self.count:
            self.call([self.grads[i] for i in range(self.count)])

    def finished(self):
        grads, self.grads = self.grads, None
        self.call([grads.get(i) for i in range(self.count)])

    def call(self, argument):
        with self.lock:
            due, self.called = not self.called, True
        if due:
            self.fn(argument)


class saved_tensors_hooks:
    """Inside the context, what is saved for backward passes through two functions.

    ``pack_hook(tensor)`` runs when a tensor is saved and may return anything; ``unpack_hook(packed)`` runs whenever
    backward needs it and has to return a tensor of the same shape and dtype and with the same contents. The innermost
    context counts. ``pack_hook`` must not write into the tensor it is given.
    """

    def __init__(self, pack_hook, unpack_hook):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self):
        _C._push_saved_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *exc):
        _C._pop_saved_hooks()


class save_on_cpu(saved_tensors_hooks):
    """Keeps saved tensors on the CPU until backward needs them on their device. ``pin_memory`` means nothing here."""

    def __init__(self, pin_memory=False, device_type="cuda"):
        super().__init__(lambda tensor: (tensor.device, tensor.cpu()), lambda packed: packed[1].to(packed[0]))


@contextmanager
def disable_saved_tensors_hooks(error_message):
    """Inside the context, ``saved_tensors_hooks`` fail with ``error_message``."""
    before = _C._forbid_saved_hooks(error_message)
    try:
        yield
    finally:
        _C._forbid_saved_hooks(before)


class _Key:
    """Held by a graph node in place of a tensor, which goes when the node lets go of it."""


class _SavedCopies:
    """What allow_mutation_on_saved_tensors() gives: copies of saved tensors, valid until it is left or cleared."""

    def __init__(self):
        self.copies = WeakKeyDictionary()

    def clear(self):
        """Lets go of the copies: backward through what was recorded so far is an error from now on."""
        self.copies.clear()

    def pack(self, tensor):
        key = _Key()
        self.copies[key] = tensor.clone()
        return key

    def unpack(self, key):
        if key not in self.copies:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"
                " in which the graph was originally recorded."
            )
        return self.copies[key]


@contextmanager
def allow_mutation_on_saved_tensors():
    """Inside the context, tensors that were saved for backward may be written in place: what was saved is a copy.

    Backward has to run inside the context too. It gives an object whose ``clear()`` frees all copies.
    """
    copies = _SavedCopies()
    with saved_tensors_hooks(copies.pack, copies.unpack):
        try:
            yield copies
        finally:
            copies.clear()
