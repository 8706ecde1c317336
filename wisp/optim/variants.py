"""More optimizers of the family of Adam and gradient descent, and those for matrices."""

from __future__ import annotations

from wisp import _C
from wisp._C import Tensor
from wisp.optim import _updates
from wisp.optim.algorithms import (
    _by_operators,
    _check,
    _check_betas,
    _check_lr,
    _count_and,
    _fused_update,
    _number,
    _settings,
)
from wisp.optim.optimizer import Optimizer

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing takes time
    from typing import Any

__all__ = ["ASGD", "Adafactor", "Muon", "NAdam", "RAdam", "Rprop", "SparseAdam"]

_zeros_like, _full_like = (_C._functions[name] for name in ("zeros_like", "full_like"))


def _refuse(wrong, name, rule, value):
    """Refuses a setting, in the words of the younger optimizers."""
    if wrong:
        raise ValueError(f"{name} should be {rule} but is: {value}")


class NAdam(Optimizer):
    """Adam with Nesterov's momentum.

    Args:
        params: parameters, or groups of them.
        lr: the learning rate.
        betas: how slowly the two means forget.
        eps: added to the divisor.
        weight_decay: how much of the parameter is added to its gradient.
        momentum_decay: how fast the momentum approaches its final value.
        decoupled_weight_decay: shrink parameters directly instead, as AdamW does.
        maximize: go uphill.
        foreach, capturable: accepted and ignored.
        differentiable: record the step, to differentiate through it.
    """

    def __init__(self, params: Any, lr: float | Tensor = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0, momentum_decay: float = 4e-3,
                 decoupled_weight_decay: bool = False, *, foreach: bool | None = None, maximize: bool = False,
                 capturable: bool = False, differentiable: bool = False) -> None:  # fmt: skip
        _check_lr(lr)
        _check("epsilon value", eps)
        _check_betas(betas)
        _check("weight_decay value", weight_decay)
        _check("momentum_decay value", momentum_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "differentiable": differentiable,
        })  # fmt: skip

    def _first_state(self, param, group):
        return {**_count_and(param, "exp_avg", "exp_avg_sq"), "mu_product": _C.tensor(1.0)}

    def _update(self, group, params):
        settings = _settings(group, "lr", "betas", "weight_decay", "eps", "decoupled_weight_decay")
        (decay,) = _settings(group, "momentum_decay")
        columns = self._columns(group, params, "step", "exp_avg", "exp_avg_sq", "mu_product")
        if not group["differentiable"]:
            return _fused_update(*columns, "nadam", [*settings, group["maximize"], decay])
        for step, tensors in _by_operators(group, columns):
            _updates.nadam(*tensors, step, *settings, decay)


class RAdam(Optimizer):
    """Adam that divides by the mean square only as far as that is known well enough; arguments as of NAdam."""

    def __init__(self, params: Any, lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0, decoupled_weight_decay: bool = False, *,
                 foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
                 differentiable: bool = False) -> None:  # fmt: skip
        _check_lr(lr)
        _check("epsilon value", eps)
        _check_betas(betas)
        _check("weight_decay value", weight_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "decoupled_weight_decay": decoupled_weight_decay, "differentiable": differentiable,
        })  # fmt: skip

    def _first_state(self, param, group):
        return _count_and(param, "exp_avg", "exp_avg_sq")

    def _update(self, group, params):
        settings = _settings(group, "lr", "betas", "weight_decay", "eps", "decoupled_weight_decay")
        columns = self._columns(group, params, "step", "exp_avg", "exp_avg_sq", None)
        if not group["differentiable"]:
            return _fused_update(*columns, "radam", [*settings, group["maximize"]])
        for step, (*tensors, _) in _by_operators(group, columns):
            _updates.radam(*tensors, step, *settings)


class ASGD(Optimizer):
    """Gradient descent that also keeps the average of the parameters, as state "ax".

    Args:
        params: parameters, or groups of them.
        lr: the learning rate.
        lambd: how fast the learning rate and the parameters decay.
        alpha: the power by which the learning rate goes down.
        t0: the step from which on parameters are averaged.
        weight_decay: how much of the parameter is added to its gradient.
        foreach, capturable: accepted and ignored.
        maximize: go uphill.
        differentiable: record the step, to differentiate through it.
    """

    def __init__(self, params: Any, lr: float | Tensor = 1e-2, lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6,
                 weight_decay: float = 0, foreach: bool | None = None, maximize: bool = False,
                 differentiable: bool = False, capturable: bool = False) -> None:  # fmt: skip
        _check_lr(lr)
        _check("weight_decay value", weight_decay)
        super().__init__(params, {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        })  # fmt: skip

    def _first_state(self, param, group):
        rate = _C.tensor(float(_number(group["lr"])))
        return {**_count_and(param, "ax"), "eta": rate, "mu": _C.tensor(1.0)}

    def _update(self, group, params):
        columns = self._columns(group, params, "step", "ax", "eta", "mu")
        if not group["differentiable"]:
            settings = _settings(group, "lr", "lambd", "alpha", "t0", "weight_decay")
            return _fused_update(*columns, "asgd", [*settings, group["maximize"]])
        lr, lambd = _number(group["lr"]), group["lambd"]
        for step, (*tensors, rate, share) in _by_operators(group, columns):
            _updates.asgd(*tensors, rate.item(), share.item(), lambd, group["weight_decay"])
            rate.fill_(lr / (1 + lambd * lr * step) ** group["alpha"])
            share.fill_(1 / max(1, step - group["t0"]))


class Rprop(Optimizer):
    """Resilient backpropagation: only the signs of gradients count, and every element has a step size of its own.

    Args:
        params: parameters, or groups of them.
        lr: the first step size.
        etas: the factors by which step sizes shrink when the sign changes, and grow when it does not.
        step_sizes: the smallest and largest step size.
        foreach, capturable: accepted and ignored.
        maximize: go uphill.
        differentiable: record the step, to differentiate through it.
    """

    def __init__(self, params: Any, lr: float | Tensor = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
                 step_sizes: tuple[float, float] = (1e-6, 50), *, capturable: bool = False, foreach: bool | None = None,
                 maximize: bool = False, differentiable: bool = False) -> None:  # fmt: skip
        _check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "capturable": capturable,
        })  # fmt: skip

    def _first_state(self, param, group):
        lr = _number(group["lr"])
        first = complex(lr, lr) if param.is_complex() else lr
        return {**_count_and(param, "prev"), "step_size": _full_like(param.grad, first)}

    def _update(self, group, params):
        columns = self._columns(group, params, "step", "prev", "step_size", None)
        settings = *group["etas"], *group["step_sizes"]
        if not group["differentiable"]:
            return _fused_update(*columns, "rprop", [*settings, group["maximize"]])
        for _, (*tensors, _) in _by_operators(group, columns):
            _updates.rprop(*tensors, *settings)


class Adafactor(Optimizer):
    """Adafactor: as Adam, but of mean squares of matrices it keeps those of rows and columns only.

    Args:
        params: parameters, or groups of them.
        lr: the learning rate, relative to the size of the parameters.
        beta2_decay: the power by which the mean squares forget less and less.
        eps: the smallest divisor (None: by dtype), and the smallest size of a parameter.
        d: the largest root mean square of an update before lr.
        weight_decay: how much parameters shrink.
        foreach: accepted and ignored.
        maximize: go uphill.
    """

    def __init__(self, params: Any, lr: float | Tensor = 1e-2, beta2_decay: float = -0.8,
                 eps: tuple[float | None, float] = (None, 1e-3), d: float = 1.0, weight_decay: float = 0.0, *,
                 foreach: bool | None = None, maximize: bool = False) -> None:  # fmt: skip
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        _refuse(lr < 0, "Learning rate", ">= 0", lr)
        _refuse(beta2_decay > 0, "beta2_decay", "<= 0", beta2_decay)
        _refuse(eps[0] is not None and eps[0] < 0, "epsilon1", ">= 0", eps[0])
        _refuse(eps[1] < 0, "epsilon2", ">= 0", eps[1])
        _refuse(d < 1, "Clipping threshold d", ">= 1", d)
        _refuse(weight_decay < 0, "weight_decay", ">= 0", weight_decay)
        super().__init__(params, {
            "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize,
        })  # fmt: skip

    def _first_state(self, param, group):
        return self._start(param.grad)

    @staticmethod
    def _start(grad):
        if grad.dim() < 2:
            return {"step": _C.tensor(0.0), "variance": _zeros_like(grad)}
        *lead, rows, columns = grad.shape
        return {"step": _C.tensor(0.0), "row_var": grad.new_zeros((*lead, rows, 1)),
                "col_var": grad.new_zeros((*lead, 1, columns))}  # fmt: skip

    def _update(self, group, params):
        if any(param.is_complex() for param in params):
            raise RuntimeError("Adafactor does not support complex parameters")
        smallest, smallest_size = group["eps"]
        smallest = -1 if smallest is None else smallest  # by dtype
        settings = (_number(group[name]) for name in ("d", "weight_decay", "maximize"))
        numbers = [_number(group["lr"]), group["beta2_decay"], smallest, smallest_size, *settings]
        vectors = self._columns(group, [p for p in params if p.dim() < 2], "step", "variance", None)
        vectors[-1] = [params[0].new_empty(0)] * len(vectors[0])
        matrices = self._columns(group, [p for p in params if p.dim() >= 2], "step", "row_var", "col_var")
        columns = (a + b for a, b in zip(vectors, matrices))
        _fused_update(*columns, [], "adafactor", numbers)


class Muon(Optimizer):
    """Muon: momentum whose matrix is made nearly orthogonal before each step; for matrices only.

    Args:
        params: parameters, or groups of them, of two dimensions each.
        lr: the learning rate.
        weight_decay: how much parameters shrink.
        momentum: how slowly the momentum forgets.
        nesterov: use the momentum of the next step.
        ns_coefficients: of the polynomial that is iterated.
        eps: the smallest norm to divide by.
        ns_steps: the number of iterations.
        adjust_lr_fn: how the learning rate depends on the shape: "original" or "match_rms_adamw".
    """

    def __init__(self, params: Any, lr: float = 1e-3, weight_decay: float = 0.1, momentum: float = 0.95,
                 nesterov: bool = True, ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
                 eps: float = 1e-7, ns_steps: int = 5, adjust_lr_fn: str | None = None) -> None:  # fmt: skip
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        _refuse(lr < 0, "Learning rate", ">= 0", lr)
        _refuse(momentum < 0, "momentum", ">= 0", momentum)
        _refuse(weight_decay < 0, "weight decay", ">= 0", weight_decay)
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        super().__init__(params, {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
            "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn,
        })  # fmt: skip
        for group in self.param_groups:
            for param in group["params"]:
                if param.dim() != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters whereas we found a parameter with size: {param.size()}"
                    )

    def _complete(self, param, group):
        self.state[param]["momentum_buffer"] = _zeros_like(param.grad)

    def _update(self, group, params):
        if group["ns_steps"] >= 100:
            raise ValueError("Number of steps must be less than 100 for computational efficiency")
        if len(group["ns_coefficients"]) != 3:
            raise ValueError("Coefficients must be a tuple of exactly 3 values")
        if any(param.is_complex() for param in params):
            raise RuntimeError("Muon does not support complex parameters")
        settings = (_number(group[name]) for name in ("lr", "weight_decay", "momentum", "nesterov"))
        iteration = *group["ns_coefficients"], group["ns_steps"], group["eps"]
        numbers = [*settings, *iteration, group["adjust_lr_fn"] == "match_rms_adamw"]
        _fused_update(*self._columns(group, params, None, "momentum_buffer", None, None), "muon", numbers)


class SparseAdam(Optimizer):
    """Adam for sparse gradients, of which there are none here: a dense gradient is an error, as it is in PyTorch.

    Args:
        params: parameters, or groups of them.
        lr: the learning rate.
        betas: how slowly the two means forget.
        eps: added to the divisor.
        maximize: go uphill.
    """

    def __init__(self, params: Any, lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, maximize: bool = False) -> None:  # fmt: skip
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not lr > 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not eps > 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        _check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        indices = [i for group in self.param_groups for i, p in enumerate(group["params"]) if p.is_complex()]
        if indices:
            raise ValueError(f"Complex params at indices {indices}: SparseAdam does not support complex parameters")

    def _update(self, group, params):
        raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
