"""Variable: what tensors with gradients were called once."""

import warnings

from wisp._C import Tensor


class _VariableMeta(type):
    def __instancecheck__(cls, obj):
        return isinstance(obj, Tensor)

    def __call__(cls, data=None, requires_grad=False, volatile=None, _grad_fn=None, name=None):
        if volatile:
            warnings.warn(
                "volatile was removed and now has no effect. Use `with wisp.no_grad():` instead.", stacklevel=2
            )
        return (Tensor() if data is None else data.detach()).requires_grad_(requires_grad)


class Variable(metaclass=_VariableMeta):
    """``Variable(data, requires_grad=False)`` is a tensor on the same memory; every tensor is a Variable."""
