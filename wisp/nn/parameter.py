"""Parameters and buffers: tensors that belong to modules."""

from wisp import _C
from wisp._C import Tensor
from wisp._tensor_str import tensor_str

__all__ = ["Buffer", "Parameter"]


class Parameter(Tensor):
    """A tensor that a Module counts among its parameters when it is assigned as an attribute.

    Args:
        data: its values; the memory is shared.
        requires_grad: whether it is to be trained.
    """

    def __new__(cls, data=None, requires_grad=True):
        return _C._make_subclass(cls, Tensor() if data is None else data, requires_grad)

    def __repr__(self):
        if type(self) is Parameter:
            return "Parameter containing:\n" + tensor_str(self, "tensor")
        return f"Parameter containing:\nParameter({tensor_str(self)})"

    def __deepcopy__(self, memo):
        """A copy without the gradient: that belongs to the training of the original."""
        if id(self) not in memo:
            memo[id(self)] = made = type(self)(self.data.clone(), self.requires_grad)
            state = self._attributes()
            if state:
                from copy import deepcopy

                made.__setstate__(deepcopy(state, memo))
        return memo[id(self)]


class _BufferMeta(type(Tensor)):
    def __instancecheck__(cls, obj):
        return isinstance(obj, Tensor) and getattr(obj, "_is_buffer", False)


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that a Module counts among its buffers when it is assigned as an attribute.

    Args:
        data: its values; the memory is shared.
        persistent: whether it is part of the module's state_dict().
    """

    def __new__(cls, data=None, *, persistent=True):
        made = (Tensor() if data is None else data).detach().requires_grad_(data is not None and data.requires_grad)
        made.persistent, made._is_buffer = persistent, True
        return made
