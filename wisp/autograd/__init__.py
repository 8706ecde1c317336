"""Automatic differentiation: gradients, custom functions, modes, checks."""

from __future__ import annotations

from wisp import _C
from wisp._C import enable_grad, inference_mode, no_grad, set_grad_enabled

from .function import Function, FunctionCtx
from .gradcheck import gradcheck, gradgradcheck

__all__ = ["Function", "FunctionCtx", "Variable", "backward", "enable_grad", "grad", "gradcheck", "gradgradcheck",
           "inference_mode", "no_grad", "set_grad_enabled"]


def _as_tuple(x):
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
    """Adds to the .grad of the leaves the given tensors depend on."""
    if grad_variables is not None:
        if grad_tensors is not None:
            raise RuntimeError("`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`.")
        grad_tensors = grad_variables
    if inputs is not None and len(_as_tuple(inputs)) == 0:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    tensors = _as_tuple(tensors)
    grads = _as_tuple(grad_tensors) if grad_tensors is not None else ()
    keep = create_graph if retain_graph is None else retain_graph
    _C._run_backward(tensors, grads, keep, create_graph, () if inputs is None else _as_tuple(inputs), True)


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True, allow_unused=None,
         is_grads_batched=False, materialize_grads=False):
    """The gradients of the (weighted) sum of ``outputs`` with respect to ``inputs``."""
    outputs, inputs = _as_tuple(outputs), _as_tuple(inputs)
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.")
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    if not inputs:
        raise ValueError("grad requires non-empty inputs.")
    grads = _as_tuple(grad_outputs) if grad_outputs is not None else ()
    if grads and len(grads) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(grads)} gradients")
    keep = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        return _batched_grad(outputs, inputs, grads, create_graph, allow_unused, materialize_grads)
    result = _C._run_backward(outputs, grads, keep, create_graph, inputs, False)
    return _checked(result, inputs, allow_unused, materialize_grads)


def _checked(result, inputs, allow_unused, materialize_grads):
    if materialize_grads:
        return tuple(g if g is not None else x.new_zeros(x.shape) for g, x in zip(result, inputs))
    if not allow_unused and any(g is None for g in result):
        raise RuntimeError("One of the differentiated Tensors appears to not have been used in the graph. Set "
                           "allow_unused=True if this is the desired behavior.")
    return result


def _batched_grad(outputs, inputs, grads, create_graph, allow_unused, materialize_grads):
    """One backward per slice of the gradients' first dimension."""
    import wisp

    sizes = {g.shape[0] for g in grads if g is not None}
    if len(sizes) != 1:
        raise RuntimeError("is_grads_batched=True needs gradients with a common first dimension")
    rows = []
    for i in range(sizes.pop()):
        row = tuple(None if g is None else g[i] for g in grads)
        rows.append(_C._run_backward(outputs, row, True, create_graph, inputs, False))
    columns = [None if any(g is None for g in column) else wisp.stack(list(column)) for column in zip(*rows)]
    return _checked(tuple(columns), inputs, allow_unused, materialize_grads)


def Variable(data=None, requires_grad=False, volatile=None):
    """The tensor itself, as in the days when variables were a class of their own."""
    out = data.detach() if data.requires_grad != requires_grad or data.grad_fn is not None else data
    return out.requires_grad_(requires_grad)


_SUBMODULES = ("anomaly_mode", "grad_mode")
_HOME_OF = {"detect_anomaly": "anomaly_mode", "set_detect_anomaly": "anomaly_mode"}


def __getattr__(name):
    from importlib import import_module

    if name in _SUBMODULES:
        return import_module(f"wisp.autograd.{name}")
    if name in _HOME_OF:
        return getattr(import_module(f"wisp.autograd.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module 'wisp.autograd' has no attribute '{name}'")
