"""Parameters as functions of others: module.weight is computed anew, by modules, whenever it is read."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from wisp import _C
from wisp._C import Tensor
from wisp.nn.modules.container import ModuleDict, ModuleList
from wisp.nn.modules.module import Module
from wisp.nn.parameter import Parameter

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
    "transfer_parametrizations_and_params", "type_before_parametrizations",
]  # fmt: skip


# --- the cache

_depth = 0  # of nested cached()
_values: dict = {}  # (id of a module, name of a tensor): its value


@contextmanager
def cached() -> Iterator[None]:
    """While this lasts, a parametrized tensor is computed when it is first read, and then remembered."""
    global _depth
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1
        if _depth == 0:
            _values.clear()


# --- one parametrized tensor


def _register(module, name, tensor):
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _as_original(tensor, like):
    """A tensor from right_inverse() as what is kept of it: a parameter if it stands for one."""
    return Parameter(tensor, requires_grad=like.requires_grad) if isinstance(like, Parameter) else tensor


class ParametrizationList(ModuleList):
    """The modules a tensor is computed by, one after the other, and what it is computed from.

    That is ``original``, or ``original0``, ``original1``, ... if the first of them takes several tensors.

    Args:
        modules: the parametrizations.
        original: the parameter or buffer they replace.
        unsafe: whether they may change its dtype or shape.
    """

    def __init__(self, modules: Sequence[Module], original: Tensor | Parameter, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        new = self._initial(original)
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            self._keep_one(original, new)
        else:
            self._keep_several(original, new)
        if not unsafe:
            self._check_result(shape, dtype)

    def _initial(self, original):
        new = original
        with _C.no_grad():
            for module in reversed(self):
                if not hasattr(module, "right_inverse"):
                    continue
                try:
                    new = module.right_inverse(new)
                except NotImplementedError:
                    pass
        if not isinstance(new, (Tensor, Sequence)):
            raise ValueError("'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                             f"Got {type(new).__name__}")  # fmt: skip
        return new

    def _keep_one(self, original, new):
        for what in ("dtype", "device"):
            before, after = getattr(original, what), getattr(new, what)
            if before != after:
                raise ValueError(f"When `right_inverse` outputs one tensor, it may not change the {what}.\n"
                                 f"original.{what}: {before}\nright_inverse(original).{what}: {after}")  # fmt: skip
        if new is not original:  # the same object goes on: optimizers hold it
            original.data = new.detach()
        _register(self, "original", original)

    def _keep_several(self, original, new):
        for i, tensor in enumerate(new):
            if not isinstance(tensor, Tensor):
                raise ValueError("'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                                 f"Got element {i} of the sequence with type {type(tensor).__name__}.")  # fmt: skip
            _register(self, f"original{i}", _as_original(tensor, original))

    def _check_result(self, shape, dtype):
        found = self()
        if not isinstance(found, Tensor):
            raise ValueError(f"A parametrization must return a tensor. Got {type(found).__name__}.")
        for what, before, after in (("dtype", dtype, found.dtype), ("shape", shape, found.shape)):
            if before != after:
                raise ValueError(f"Registering a parametrization may not change the {what} of the tensor, unless `unsafe` flag "
                                 f"is enabled.\nunparametrized {what}: {before}\nparametrized {what}: {after}")  # fmt: skip

    def right_inverse(self, value: Tensor) -> None:
        """Sets what the tensor is computed from such that it gets this value."""
        with _C.no_grad():
            for module in reversed(self):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            if self.is_tensor:
                if not isinstance(value, Tensor):
                    raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
                if value.dtype != self.original.dtype:
                    raise ValueError(f"The tensor returned by `right_inverse` has dtype {value.dtype} "
                                     f"while `original` has dtype {self.original.dtype}")  # fmt: skip
                self.original.data = value.detach()
            else:
                self._set_several(value)

    def _set_several(self, values):
        if not isinstance(values, Sequence):
            raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(values).__name__}.")
        if len(values) != self.ntensors:
            raise ValueError(f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. "
                             f"Got a sequence of length {len(values)}.")  # fmt: skip
        for i, value in enumerate(values):
            original = getattr(self, f"original{i}")
            if not isinstance(value, Tensor):
                raise ValueError(f"`right_inverse` must return a sequence of tensors. Got element {i} of type "
                                 f"{type(value).__name__}")  # fmt: skip
            if original.dtype != value.dtype:
                raise ValueError(f"Tensor {i} returned by `right_inverse` has dtype {value.dtype} "
                                 f"while `original{i}` has dtype {original.dtype}")  # fmt: skip
            original.data = value.detach()

    def forward(self) -> Tensor:
        if self.is_tensor:
            value = self[0](self.original)
        else:
            value = self[0](*(getattr(self, f"original{i}") for i in range(self.ntensors)))
        for module in list(self)[1:]:
            value = module(value)
        return value


# --- the module that has it


def _parametrized_class(module):
    """Gives a module a class of its own, below the one it had, to put properties on."""
    base = type(module)

    def __getstate__(self):
        raise RuntimeError("Serialization of parametrized modules is only supported through state_dict().")

    def __deepcopy__(self, memo):
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        made.__setstate__(copy.deepcopy(Module.__getstate__(self), memo))
        return made

    members = {"__getstate__": __getstate__, "__module__": base.__module__}
    if not hasattr(base, "__deepcopy__"):
        members["__deepcopy__"] = __deepcopy__
    module.__class__ = type(f"Parametrized{base.__name__}", (base,), members)


def _inject_property(module, name):
    def read(self):
        if _depth == 0:
            return self.parametrizations[name]()
        key = id(self), name
        if key not in _values:
            _values[key] = self.parametrizations[name]()
        return _values[key]

    def write(self, value):
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(read, write))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Makes a parameter or buffer of a module the result of another module.

    Args:
        module: the module that has it.
        tensor_name: its name.
        parametrization: called with what is kept of the tensor. If it has a method ``right_inverse``, that gives what
            to keep for a value assigned to the tensor; it may be several tensors.
        unsafe: whether it may change dtype and shape.

    >>> class Symmetric(wisp.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).mT
    >>> layer = wisp.nn.utils.parametrize.register_parametrization(wisp.nn.Linear(3, 3), "weight", Symmetric())
    >>> wisp.equal(layer.weight, layer.weight.mT)
    True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        _add_to_parametrized(module, tensor_name, parametrization, unsafe)
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        found = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _parametrized_class(module)
            module.parametrizations = ModuleDict()
        _inject_property(module, tensor_name)
        module.parametrizations[tensor_name] = found
    else:
        raise ValueError(f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
                         f"'{tensor_name}'")  # fmt: skip
    return module


def _add_to_parametrized(module, name, parametrization, unsafe):
    if unsafe and not module.parametrizations[name].unsafe:
        module.parametrizations[name].unsafe = True
    if not unsafe:
        _check_keeps(parametrization, getattr(module, name))
    held = module.parametrizations[name]
    held.append(parametrization)
    held.unsafe |= unsafe


def _check_keeps(parametrization, value):
    """Refuses a parametrization on top of others that changes dtype or shape."""
    found = parametrization(value)
    if not isinstance(found, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(found).__name__}.")
    for what in ("dtype", "shape"):
        before, after = getattr(value, what), getattr(found, what)
        if before != after:
            raise ValueError(f"Registering a parametrization may not change the {what} of the tensor, unless the `unsafe` flag "
                             f"is enabled.\nmodule.weight.{what}: {before}\nparametrization(module.weight).{what}: {after}")  # fmt: skip
    if not hasattr(parametrization, "right_inverse"):
        return
    kept = parametrization.right_inverse(found)
    if not isinstance(kept, Tensor):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(kept).__name__}")
    for what in ("dtype", "shape"):
        before, after = getattr(found, what), getattr(kept, what)
        if before != after:
            raise ValueError(f"The {what} of the tensor returned by right_inverse must match the {what} of the parametrized "
                             f"tensor: {before}, got {after}")  # fmt: skip


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module has any parametrized tensors, or one of this name."""
    held = module.__dict__.get("parametrizations")
    if not isinstance(held, ModuleDict):
        return False
    return len(held) > 0 if tensor_name is None else tensor_name in held


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Makes a parametrized tensor a plain one again.

    Args:
        module: the module that has it.
        tensor_name: its name.
        leave_parametrized: whether it keeps the value it has now, or gets back the original.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    held = module.parametrizations[tensor_name]
    if not leave_parametrized and not held.is_tensor:
        raise ValueError("Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
                         "sequence of tensors.")  # fmt: skip
    if leave_parametrized:
        with _C.no_grad():
            value = getattr(module, tensor_name).detach()
        if held.is_tensor:
            original = held.original
            original.data = value.clone()
        else:
            original = _as_original(value.clone(), held.original0)
    else:
        original = held.original
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class a module had before anything of it was parametrized."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Gives a module the parametrizations of another and what they compute from; all of them, or those of one tensor."""
    if not is_parametrized(from_module):
        return to_module
    for name in list(from_module.parametrizations) if tensor_name is None else [tensor_name]:
        source = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(source.original if source.is_tensor else source.original0))
        for parametrization in source:
            register_parametrization(to_module, name, parametrization)
        target = to_module.parametrizations[name]
        kept = ["original"] if source.is_tensor else [f"original{i}" for i in range(source.ntensors)]
        for original in kept:
            if hasattr(target, original):
                setattr(target, original, getattr(source, original))
    return to_module
