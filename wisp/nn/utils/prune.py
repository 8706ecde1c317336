"""Pruning: parameters multiplied by masks of zeros and ones."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from wisp import _C
from wisp._C import Tensor
from wisp.nn.modules.module import Module
from wisp.nn.utils.convert_parameters import parameters_to_vector

__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer",
    "RandomStructured", "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity", "is_pruned",
    "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove",
]  # fmt: skip

_ones_like, _zeros_like, _topk, _norm = (_C._functions[n] for n in ("ones_like", "zeros_like", "topk", "norm"))


# --- how much


def _check_amount(amount):
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    fits = amount >= 0 if isinstance(amount, numbers.Integral) else 0.0 <= amount <= 1.0
    if not fits:
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _count(amount, size):
    """How many of ``size`` things an amount is: itself, or that fraction of them."""
    count = amount if isinstance(amount, numbers.Integral) else round(amount * size)
    if count > size:
        raise ValueError(f"amount={count} should be smaller than the number of parameters to prune={size}")
    return count


def _check_dim(tensor, dim):
    if dim >= tensor.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {tensor.shape}")


def _check_structured(tensor):
    if tensor.dim() <= 1:
        raise ValueError("Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
                         f"{tensor.shape} with {tensor.dim()} dims")  # fmt: skip


# --- methods


def _methods(module, name):
    """The pruning hooks of a module for this tensor, by number."""
    return [(key, hook) for key, hook in module._forward_pre_hooks.items()
            if isinstance(hook, BasePruningMethod) and hook._tensor_name == name]  # fmt: skip


class BasePruningMethod(ABC):
    """The base of pruning methods: hooks that compute a tensor from name_orig and name_mask before every forward().

    Subclasses define ``PRUNING_TYPE`` ("unstructured", "structured" or "global") and compute_mask().
    """

    _tensor_name: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask for a tensor, given the one it has already."""

    def apply_mask(self, module: Module) -> Tensor:
        """The tensor with its mask applied."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        mask, original = (getattr(module, self._tensor_name + end) for end in ("_mask", "_orig"))
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None,
              **kwargs: Any) -> BasePruningMethod:  # fmt: skip
        """Prunes a tensor of a module; on top of what was pruned before, if anything.

        Args:
            module: the module that has it.
            name: its name.
            args, kwargs: for the constructor of the method.
            importance_scores: what to decide by, in place of the tensor itself.
        """
        method = cls(*args, **kwargs)
        method._tensor_name = name
        before = _methods(module, name)
        if len(before) > 1:
            raise AssertionError(f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. Use a "
                                 "PruningContainer.")  # fmt: skip
        original = getattr(module, name)
        scores = original if importance_scores is None else importance_scores
        if scores.shape != original.shape:
            raise AssertionError(f"importance_scores should have the same shape as parameter {name} of {module}, got "
                                 f"{scores.shape} vs {original.shape}")  # fmt: skip
        if before:
            key, old = before[0]
            del module._forward_pre_hooks[key]
            mask, whole = getattr(module, name + "_mask"), PruningContainer(old)
            whole.add_pruning_method(method)
            method = whole
        else:
            mask = _ones_like(original)
            delattr(module, name)
            module.register_parameter(name + "_orig", original)
        new_mask = method.compute_mask(scores, default_mask=mask)
        module.register_buffer(name + "_mask", new_mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """A pruned tensor, without touching any module."""
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as tensor t, got {scores.shape} vs {t.shape}"
            )
        mask = _ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask=mask)

    def remove(self, module: Module) -> None:
        """Makes the tensor a parameter again, with what was pruned at zero."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        weight = self.apply_mask(module)
        delattr(module, name)
        original = module._parameters.pop(name + "_orig")
        original.data = weight.detach()
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several methods that prune the same tensor, one after the other."""

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple = ()
        methods = args[0] if len(args) == 1 and isinstance(args[0], Iterable) else args
        for i, method in enumerate(methods):
            if i == 0:
                self._tensor_name = method._tensor_name
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod | None) -> None:
        """Adds a method, which prunes what the others have left."""
        if method is None:
            return
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if self._tensor_name != method._tensor_name:
            raise ValueError(f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to "
                             f"PruningContainer {self}. Found '{method._tensor_name}'")  # fmt: skip
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self):
        return iter(self._pruning_methods)

    def __getitem__(self, idx: int) -> BasePruningMethod:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask of the last method, computed on what is not yet pruned, together with what was."""
        method, mask = self._pruning_methods[-1], default_mask.clone()
        chosen = self._left(method, mask)
        mask[chosen] = method.compute_mask(t[chosen], default_mask=mask[chosen]).to(mask.dtype)
        return mask

    @staticmethod
    def _left(method, mask):
        """What a method has to look at: elements or whole slices that are not pruned, or everything."""
        if method.PRUNING_TYPE == "unstructured":
            return mask == 1
        if method.PRUNING_TYPE == "global":
            return (slice(None),) * mask.dim()
        if method.PRUNING_TYPE != "structured":
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        if not hasattr(method, "dim"):
            raise AttributeError(
                'Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.'
            )
        ndim = mask.dim()
        dim = method.dim + ndim if method.dim < 0 else method.dim
        if not 0 <= dim < ndim:
            raise IndexError(f"Index is out of bounds for tensor with dimensions {ndim}")
        kept = mask.sum([d for d in range(ndim) if d != dim]) != 0
        return (slice(None),) * dim + (kept,)


class Identity(BasePruningMethod):
    """Prunes nothing."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask

    @classmethod
    def apply(cls, module: Module, name: str) -> BasePruningMethod:
        return super().apply(module, name)


class _WithAmount(BasePruningMethod):
    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: float) -> None:
        _check_amount(amount)
        self.amount = amount


def _without(mask, index):
    """A mask with these places, counted one after the other, pruned too."""
    found = mask.clone()
    found.view(-1)[index] = 0
    return found


class RandomUnstructured(_WithAmount):
    """Prunes elements at random.

    Args:
        amount: how many, or which fraction of them.
    """

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = _count(self.amount, t.numel())
        if count == 0:
            return default_mask.clone()
        draws = t.new_empty(t.numel(), dtype=_C.float32).uniform_()
        return _without(default_mask, _topk(draws, count)[1])

    @classmethod
    def apply(cls, module: Module, name: str, amount: float) -> BasePruningMethod:
        return super().apply(module, name, amount=amount)


class L1Unstructured(_WithAmount):
    """Prunes the elements closest to zero.

    Args:
        amount: how many, or which fraction of them.
    """

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = _count(self.amount, t.numel())
        if count == 0:
            return default_mask.clone()
        return _without(default_mask, _topk(t.abs().reshape(-1), count, largest=False)[1])

    @classmethod
    def apply(
        cls, module: Module, name: str, amount: float, importance_scores: Tensor | None = None
    ) -> BasePruningMethod:
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class _Structured(BasePruningMethod):
    """Prunes whole slices along a dimension: those with the lowest scores."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        _check_amount(amount)
        self.amount, self.dim = amount, dim

    def _scores(self, t):
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        _check_structured(t)
        _check_dim(t, self.dim)
        size = t.shape[self.dim]
        count = _count(self.amount, size)
        if count == 0:
            return default_mask
        kept = _topk(self._scores(t), size - count)[1]
        mask = _zeros_like(default_mask).index_fill_(self.dim, kept, 1)
        return mask * default_mask


class RandomStructured(_Structured):
    """Prunes slices at random.

    Args:
        amount: how many, or which fraction of them.
        dim: the dimension along which they lie.
    """

    def _scores(self, t):
        return t.new_empty(t.shape[self.dim], dtype=_C.float32).uniform_()

    @classmethod
    def apply(cls, module: Module, name: str, amount: float, dim: int = -1) -> BasePruningMethod:
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(_Structured):
    """Prunes the slices with the smallest norms.

    Args:
        amount: how many, or which fraction of them.
        n: the order of the norm.
        dim: the dimension along which they lie.
    """

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _scores(self, t):
        return _norm(t, p=self.n, dim=[d for d in range(t.dim()) if d != self.dim % t.dim()])

    @classmethod
    def apply(cls, module: Module, name: str, amount: float, n: Any, dim: int,
              importance_scores: Tensor | None = None) -> BasePruningMethod:  # fmt: skip
        return super().apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)


class CustomFromMask(BasePruningMethod):
    """Prunes by a given mask."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)

    @classmethod
    def apply(cls, module: Module, name: str, mask: Tensor) -> BasePruningMethod:
        return super().apply(module, name, mask=mask)


# --- functions


def identity(module: Module, name: str) -> Module:
    """Prepares a tensor for pruning with a mask of ones."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """Prunes elements at random: so many, or that fraction of them."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: float, importance_scores: Tensor | None = None) -> Module:
    """Prunes the elements closest to zero: so many, or that fraction of them.

    >>> layer = wisp.nn.utils.prune.l1_unstructured(wisp.nn.Linear(2, 3), "weight", amount=2)
    >>> layer.weight_mask.sum()
    tensor(4.)
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """Prunes slices along a dimension at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module: Module, name: str, amount: float, n: Any, dim: int,
                  importance_scores: Tensor | None = None) -> Module:  # fmt: skip
    """Prunes the slices along a dimension that have the smallest norms of order n."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prunes what is zero in a mask."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters: Iterable[tuple[Module, str]], pruning_method: type[BasePruningMethod],
                        importance_scores: dict | None = None, **kwargs: Any) -> None:  # fmt: skip
    """Prunes several tensors as if they were one.

    Args:
        parameters: pairs of a module and the name of its tensor.
        pruning_method: an unstructured method.
        importance_scores: what to decide by in place of some of the tensors, by pair.
        kwargs: for the constructor of the method.
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    importance_scores = {} if importance_scores is None else importance_scores
    if not isinstance(importance_scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    parameters = list(parameters)
    tensors = [getattr(module, name) for module, name in parameters]
    scores = parameters_to_vector([importance_scores.get(pair, t) for pair, t in zip(parameters, tensors)])
    masks = [getattr(module, name + "_mask", _ones_like(t)) for (module, name), t in zip(parameters, tensors)]
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError('Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
                        f"{pruning_method} of type {method.PRUNING_TYPE}")  # fmt: skip
    whole = PruningContainer()
    whole._tensor_name = method._tensor_name = "temp"
    whole.add_pruning_method(method)
    mask, start = whole.compute_mask(scores, parameters_to_vector(masks)), 0
    for (module, name), tensor in zip(parameters, tensors):
        custom_from_mask(module, name, mask[start : start + tensor.numel()].view_as(tensor))
        start += tensor.numel()


def remove(module: Module, name: str) -> Module:
    """Makes a pruned tensor a parameter again, with what was pruned at zero."""
    for key, method in _methods(module, name):
        method.remove(module)
        del module._forward_pre_hooks[key]
        return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Module) -> bool:
    """Whether anything of a module, or of those below it, is pruned."""
    return any(isinstance(hook, BasePruningMethod)
               for m in module.modules() for hook in m.__dict__.get("_forward_pre_hooks", {}).values())  # fmt: skip
