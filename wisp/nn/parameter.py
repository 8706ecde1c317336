"""Parameters and buffers: tensors that belong to modules."""

from wisp import _C
from wisp._C import Tensor
from wisp._tensor_str import tensor_str

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "is_lazy"]


class Parameter(Tensor):
    """A tensor that a Module counts among its parameters when it is assigned as an attribute.

    Args:
        data: its values; the memory is shared.
        requires_grad: whether it is to be trained.
    """

    __torch_function__ = _C._disabled_torch_function_impl  # results are plain tensors

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


# --- tensors of modules that learn their shape from the first input


def is_lazy(param):
    """Whether a parameter or buffer has no shape yet."""
    return isinstance(param, UninitializedTensorMixin)


def _refused(name):
    def method(self=None, *args, **kwargs):
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {name}. This error happens when you are using a "
            "`LazyModule` or explicitly manipulating `wisp.nn.parameter.UninitializedParameter` objects. When using "
            "LazyModules Call `forward` with a dummy batch to initialize the parameters before calling wisp functions"
        )

    return method


# Methods that make sense without a shape.
_ALLOWED = {"is_complex", "is_floating_point", "requires_grad_", "share_memory_"}
# How Python's operators and functions reach a tensor.
_OPERATORS = {name for name in dir(Tensor) if name[:2] == "__" and name not in dir(object)} - {
    "__deepcopy__", "__del__", "__dict__", "__module__", "__setstate__",
}  # fmt: skip


class UninitializedTensorMixin:
    """What parameters and buffers without a shape have in common: few uses, and materialize()."""

    cls_to_become: type

    def materialize(self, shape, device=None, dtype=None):
        """Gives it a shape, and memory that is not initialised; from then on it is like any other.

        Args:
            shape: its sizes.
            device, dtype: those it was created with if left out.
        """
        data = self.data
        self.data = _C._functions["empty"](shape, device=device or data.device, dtype=dtype or data.dtype)
        self.__class__ = self.cls_to_become

    @property
    def shape(self):
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call "
            "`forward` to initialize the parameters before accessing their attributes."
        )

    def share_memory_(self):
        raise RuntimeError("Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize "
                           "the parameters before calling `module.share_memory()`.")  # fmt: skip

    def __getattribute__(self, name):
        if name[0] != "_" and name not in _ALLOWED and callable(getattr(Tensor, name, None)):
            return _refused(name)
        return super().__getattribute__(name)

    def __repr__(self):
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol):
        return type(self), (self.requires_grad, None, self.data.dtype)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, None, self.data.dtype)
        return memo[id(self)]

    locals().update({name: _refused(name) for name in _OPERATORS})


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape is not known yet. Modules that infer it from their first input call materialize().

    Args:
        requires_grad: whether it is to be trained.
        device, dtype: of the parameter it becomes.
    """

    cls_to_become = Parameter

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        return _C._make_subclass(cls, _C._functions["empty"](0, device=device, dtype=dtype), requires_grad)


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape is not known yet. Modules that infer it from their first input call materialize().

    Args:
        requires_grad: whether it has a gradient.
        device, dtype: of the tensor it becomes.
        persistent: whether it is part of the module's state_dict().
    """

    cls_to_become = Tensor

    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True):
        made = _C._make_subclass(cls, _C._functions["empty"](0, device=device, dtype=dtype), requires_grad)
        made.persistent, made._is_buffer = persistent, True
        return made
