"""Calling a module with other parameters than its own."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any

from wisp._C import Tensor
from wisp.nn.modules.module import Module
from wisp.nn.parameter import Parameter

__all__ = ["functional_call"]


def _tied(module):
    """The names of each parameter and buffer, of which some have several."""
    names = {}
    for members in (module.named_parameters(remove_duplicate=False), module.named_buffers(remove_duplicate=False)):
        for name, tensor in members:
            names.setdefault(id(tensor), []).append(name)
    return [group for group in names.values() if len(group) > 1]


def _untied(module, tensors):
    """The tensors, also under the other names of what they replace."""
    found = dict(tensors)
    for names in _tied(module):
        given = [name for name in names if name in tensors]
        if len({id(tensors[name]) for name in given}) > 1:
            raise ValueError(f"functional_call got multiple values for keys {sorted(names)}, which are tied. "
                             "Consider using tie_weights=False")  # fmt: skip
        found |= {name: tensors[given[0]] for name in names if given}
    return found


def _check_strict(module, tensors):
    own = {name for name, _ in module.named_parameters(remove_duplicate=False)}
    own |= {name for name, _ in module.named_buffers(remove_duplicate=False)}
    problems = []
    for what, names in (("Unexpected", tensors.keys() - own), ("Missing", own - tensors.keys())):
        if names:
            problems.append(f"{what} key(s): {', '.join(map(repr, sorted(names)))}.")
    if problems:
        raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:\n\t" + "\n\t".join(problems))


_NOTHING = object()


@contextmanager
def _replaced(module, tensors, given):
    """While this lasts, the module and those below it have these tensors in place of their own, or besides them.

    What the module replaces meanwhile, say ``self.count = self.count + 1``, goes into ``given``.
    """
    places = []
    try:
        for name, tensor in tensors.items():
            path, _, leaf = name.rpartition(".")
            held = _place(module.get_submodule(path), leaf, name, tensor)
            places.append((name, held, leaf, held.get(leaf, _NOTHING)))
            held[leaf] = tensor
        yield
    finally:
        for name, held, leaf, own in reversed(places):
            left = held.get(leaf, _NOTHING)
            if name in given and left is not _NOTHING and left is not given[name]:
                given[name] = left
            if own is _NOTHING:
                del held[leaf]
            else:
                held[leaf] = own


def _place(owner, leaf, name, tensor):
    """The dict that a tensor of this name belongs in."""
    if leaf in owner._buffers:
        return owner._buffers
    if leaf in owner._parameters:
        return owner._parameters
    if not hasattr(owner, leaf):
        return owner._parameters if isinstance(tensor, Parameter) else owner.__dict__
    if not isinstance(owner.__dict__.get(leaf), Tensor):
        raise TypeError(f"{name} is neither a parameter nor a buffer")
    return owner.__dict__


def functional_call(module: Module, parameters_and_buffers: dict[str, Tensor], args: Any = None,
                    kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False) -> Any:  # fmt: skip
    """Calls a module with other parameters and buffers in place of its own.

    Args:
        module: what to call.
        parameters_and_buffers: the tensors, by dotted name; those left out stay as they are. A member that forward()
            replaces is replaced here, not in the module.
        args, kwargs: what to call it with; args may be a single argument.
        tie_weights: whether a tensor replaces a shared parameter under all its names.
        strict: whether all parameters and buffers have to be given, and nothing else.

    >>> layer = wisp.nn.Linear(1, 1)
    >>> weights = {"weight": wisp.tensor([[2.0]]), "bias": wisp.tensor([1.0])}
    >>> wisp.nn.utils.stateless.functional_call(layer, weights, wisp.tensor([3.0]))
    tensor([7.])
    """
    tensors = _untied(module, parameters_and_buffers) if tie_weights else dict(parameters_and_buffers)
    if strict:
        _check_strict(module, tensors)
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(module, tensors, parameters_and_buffers):
        return module(*args, **(kwargs or {}))
