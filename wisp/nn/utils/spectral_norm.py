"""Spectral normalisation by a hook, as it was before parametrizations."""

from __future__ import annotations

from typing import Any

from wisp import _C
from wisp._C import Tensor
from wisp.nn.modules.module import Module
from wisp.nn.parameter import Parameter
from wisp.nn.utils import _norms

__all__ = ["SpectralNorm", "remove_spectral_norm", "spectral_norm"]

_normalize = _C._functional["normalize"]


class SpectralNorm:
    """A hook that computes a weight from name_orig, and improves the singular vectors name_u and name_v."""

    _version = 1

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        _norms.check_iterations(n_power_iterations)
        self.name, self.n_power_iterations, self.dim, self.eps = name, n_power_iterations, dim, eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        return _norms.as_matrix(weight, self.dim)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        weight, u, v = (getattr(module, self.name + end) for end in ("_orig", "_u", "_v"))
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with _C.no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(_normalize(matrix.t().mv(u), dim=0, eps=self.eps))
                    u.copy_(_normalize(matrix.mv(v), dim=0, eps=self.eps))
        return weight / u.clone().dot(matrix.mv(v.clone()))

    @staticmethod
    def apply(module: Module, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        """Replaces a weight by what it is computed from."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, SpectralNorm) and hook.name == name:
                raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        made = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        rows, columns = made.reshape_weight_to_matrix(weight).shape
        u, v = (_normalize(weight.new_empty(size).normal_(), dim=0, eps=eps) for size in (rows, columns))
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        setattr(module, name, weight.detach())
        module.register_buffer(name + "_u", u.detach())
        module.register_buffer(name + "_v", v.detach())
        module.register_forward_pre_hook(made)
        return made

    def remove(self, module: Module) -> None:
        """Makes the weight a parameter again."""
        with _C.no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for end in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + end)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))


def spectral_norm(module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
                  dim: int | None = None) -> Module:  # fmt: skip
    """Divides a weight by its largest singular value; parametrizations.spectral_norm() is the newer form."""
    SpectralNorm.apply(module, name, n_power_iterations, _norms.default_dim(module, dim), eps)
    return module


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Undoes spectral_norm()."""
    return _norms.remove_hook(module, SpectralNorm, name, "spectral_norm")
