"""Weight normalisation by a hook, as it was before parametrizations."""

from __future__ import annotations

import warnings
from typing import Any

from wisp._C import Tensor
from wisp.nn.modules.module import Module
from wisp.nn.parameter import Parameter
from wisp.nn.utils import _norms

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]


class WeightNorm:
    """A hook that computes a weight from its norms (name_g) and directions (name_v) before every forward()."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name, self.dim = name, -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Tensor:
        size, direction = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return _norms.weight_norm_of(direction, size, self.dim)

    @staticmethod
    def apply(module: Module, name: str, dim: int | None) -> WeightNorm:
        """Replaces a weight by norms and directions."""
        warnings.warn("`wisp.nn.utils.weight_norm` is deprecated in favor of `wisp.nn.utils.parametrizations.weight_norm`.",
                      FutureWarning, stacklevel=3)  # fmt: skip
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, WeightNorm) and hook.name == name:
                raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
        made = WeightNorm(name, dim)
        weight = getattr(module, name)
        delattr(module, name)
        module.register_parameter(name + "_g", Parameter(_norms.norm_except(weight, made.dim).detach()))
        module.register_parameter(name + "_v", Parameter(weight.detach()))
        setattr(module, name, made.compute_weight(module))
        module.register_forward_pre_hook(made)
        return made

    def remove(self, module: Module) -> None:
        """Makes the weight a parameter again."""
        weight = self.compute_weight(module)
        for name in (self.name, self.name + "_g", self.name + "_v"):
            delattr(module, name)
        setattr(module, self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Separates the norms of a weight from its directions; parametrizations.weight_norm() is the newer form."""
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Undoes weight_norm()."""
    return _norms.remove_hook(module, WeightNorm, name, "weight_norm")
