"""Limits on gradients."""

import warnings

from wisp import _C
from wisp._C import Tensor

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]

_norm = _C._linalg["vector_norm"]
_stack = _C._functions["stack"]


def _gradients(parameters):
    """The gradients there are, of one parameter or several."""
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return [p.grad for p in parameters if p.grad is not None]


def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The norm of several tensors as if they were one vector.

    Args:
        tensors: a tensor or an iterable of them.
        norm_type: the order of the norm; may be inf.
        error_if_nonfinite: fail if the norm is nan or infinite.
        foreach: accepted and ignored.
    """
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not tensors:
        return _C.tensor(0.0)
    norm_type = float(norm_type)  # "inf" is one too
    norms = [_norm(t, norm_type) for t in tensors]
    total = _norm(_stack(norms), norm_type)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
                           "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
                           "`error_if_nonfinite=False`")  # fmt: skip
    return total


def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Scales gradients by ``max_norm / total_norm`` if that makes them smaller."""
    factor = (max_norm / (total_norm + 1e-6)).clamp(max=1.0)
    with _C.no_grad():
        for grad in _gradients(parameters):
            grad.mul_(factor)


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scales gradients such that their norm, as of one vector, is at most ``max_norm``; returns what it was.

    Args:
        parameters: a tensor or an iterable of them.
        max_norm: the limit.
        norm_type: the order of the norm; may be inf.
        error_if_nonfinite: fail if the norm is nan or infinite.
        foreach: accepted and ignored.
    """
    used_up = not isinstance(parameters, (Tensor, list, tuple))
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    if used_up and not parameters:
        warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=2)
    with _C.no_grad():
        total = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite)
        clip_grads_with_norm_(parameters, max_norm, total)
    return total


def clip_grad_norm(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The old name of clip_grad_norm_()."""
    warnings.warn("`wisp.nn.utils.clip_grad_norm` is now deprecated in favor of `wisp.nn.utils.clip_grad_norm_`.",
                  FutureWarning, stacklevel=2)  # fmt: skip
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(parameters, clip_value, foreach=None):
    """Limits every element of every gradient to [-clip_value, clip_value]."""
    limit = float(clip_value)
    with _C.no_grad():
        for grad in _gradients(parameters):
            grad.clamp_(-limit, limit)
