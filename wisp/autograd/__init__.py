"""Automatic differentiation: gradients, custom functions, modes, checks."""

import warnings

from wisp import _C
from wisp._C import enable_grad, inference_mode, no_grad, set_grad_enabled

from .function import Function, FunctionCtx
from .gradcheck import gradcheck, gradgradcheck
from .variable import Variable

__all__ = [
    "Function", "FunctionCtx", "Variable", "backward", "detect_anomaly", "enable_grad", "grad", "gradcheck",
    "gradgradcheck", "inference_mode", "no_grad", "set_detect_anomaly", "set_grad_enabled",
    "set_multithreading_enabled",
]  # fmt: skip


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
    """Adds to the ``.grad`` of leaves the gradients of the (weighted) sum of ``tensors``.

    Args:
        tensors: a tensor, a GradientEdge, or a sequence of these.
        grad_tensors: the weight of each, of its shape; None (for a scalar) means 1.
        retain_graph: keep what the graph saved, so that backward can run again (default: ``create_graph``).
        create_graph: record the computation of the gradients, so that they can be differentiated.
        inputs: only add to the gradients of these tensors.
    """
    if grad_variables is not None:
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise RuntimeError("`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please "
                               "only use `grad_tensors`.")  # fmt: skip
        grad_tensors = grad_variables
    wanted = () if inputs is None else _as_tuple(inputs)
    if inputs is not None and not wanted:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    tensors = _as_tuple(tensors)
    grads = _weights(tensors, grad_tensors)
    keep = create_graph if retain_graph is None else retain_graph
    _C._run_backward(tensors, grads, keep, create_graph, wanted, True)


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True, allow_unused=None,
         is_grads_batched=False, materialize_grads=False):  # fmt: skip
    """The gradients of the (weighted) sum of ``outputs`` with respect to ``inputs``, as a tuple.

    Args:
        outputs, inputs: a tensor, a GradientEdge, or a sequence of these.
        grad_outputs: the weight of each output, of its shape; None (for a scalar) means 1.
        retain_graph: keep what the graph saved, so that backward can run again (default: ``create_graph``).
        create_graph: record the computation of the gradients, so that they can be differentiated.
        allow_unused: give None for inputs that no output depends on, instead of an error.
        is_grads_batched: ``grad_outputs`` have a further first dimension; one gradient is computed for each row.
        materialize_grads: give zeros for inputs that no output depends on.
    """
    if not only_inputs:
        warnings.warn("only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for "
                      "other parts of the graph, please use wisp.autograd.backward.", FutureWarning, stacklevel=2)  # fmt: skip
    outputs, inputs = _as_tuple(outputs), _as_tuple(inputs)
    if not inputs:
        raise ValueError("grad requires non-empty inputs.")
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
                         "allow_unused=False.")  # fmt: skip
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    grads = _weights(outputs, grad_outputs)
    keep = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        result = _batched(outputs, inputs, grads, keep, create_graph)
    else:
        result = _C._run_backward(outputs, grads, keep, create_graph, inputs, False)
    if materialize_grads:
        return tuple(_zero_gradient(x, create_graph) if g is None else g for g, x in zip(result, inputs))
    if not allow_unused and any(g is None for g in result):
        raise RuntimeError("One of the differentiated Tensors appears to not have been used in the graph. Set "
                           "allow_unused=True if this is the desired behavior.")  # fmt: skip
    return result


def _as_tuple(x):
    """One tensor (or place in the graph) or any iterable of them, say ``net.parameters()``, as a tuple."""
    return (x,) if isinstance(x, _C.Tensor) or hasattr(x, "_fields") or not hasattr(x, "__iter__") else tuple(x)


def _zero_gradient(x, create_graph):
    """For an input that nothing depends on; if others can be differentiated again, it can."""
    if not isinstance(x, _C.Tensor):
        raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
    return _C._functions["zeros_like"](x, requires_grad=create_graph)


def _weights(outputs, grads):
    grads = () if grads is None else _as_tuple(grads)
    if grads and len(grads) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(grads)} gradients")
    return grads


def _batched(outputs, inputs, grads, keep, create_graph):
    """One backward for all rows of the gradients at once."""
    from wisp.func import vmap

    sizes = {g.shape[0] for g in grads if g is not None}
    if len(sizes) != 1:
        raise RuntimeError("is_grads_batched=True needs gradients with a common first dimension")
    present = []

    def backward(*rows):
        found = _C._run_backward(outputs, rows, keep, create_graph, inputs, False)
        present.extend(g is not None for g in found)
        return tuple(g for g in found if g is not None)

    in_dims = tuple(None if g is None else 0 for g in grads)
    results = iter(vmap(backward, in_dims)(*grads))
    return tuple(next(results) if there else None for there in present)


_SUBMODULES = ("anomaly_mode", "forward_ad", "functional", "grad_mode", "graph")
_HOME_OF = {
    "detect_anomaly": "anomaly_mode", "set_detect_anomaly": "anomaly_mode", "set_multithreading_enabled": "grad_mode",
}  # fmt: skip


def __getattr__(name):
    from importlib import import_module

    if name in _SUBMODULES:
        return import_module(f"wisp.autograd.{name}")
    if name in _HOME_OF:
        return getattr(import_module(f"wisp.autograd.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module 'wisp.autograd' has no attribute '{name}'")
