"""Learning rates that go up and down."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import FunctionType

from wisp.optim._compound_schedules import _per_group
from wisp.optim._schedules import LRScheduler, checked_optimizer, set_lr
from wisp.optim.optimizer import Optimizer

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing takes time
    from typing import Any

__all__ = ["CyclicLR"]


class CyclicLR(LRScheduler):
    """Rates that go up from ``base_lr`` to ``max_lr`` and down again, over and over; stepped after every batch.

    Args:
        optimizer: whose learning rates to set.
        base_lr, max_lr: the ends, for all groups or lists for each.
        step_size_up, step_size_down: the steps from one end to the other and back; the same if the second is None.
        mode: "triangular"; "triangular2" halves the height with every cycle, "exp_range" scales it by gamma^step.
        gamma: for that.
        scale_fn: instead of a mode, a function that gives the height relative to max_lr - base_lr.
        scale_mode: whether that is a function of the number of cycles ("cycle") or steps ("iterations").
        cycle_momentum, base_momentum, max_momentum: whether to move the momentum the other way, and between what.
        last_epoch: where to go on from.
    """

    def __init__(self, optimizer: Optimizer, base_lr: float | list[float], max_lr: float | list[float],
                 step_size_up: int = 2000, step_size_down: int | None = None, mode: str = "triangular",
                 gamma: float = 1.0, scale_fn: Callable[[float], float] | None = None, scale_mode: str = "cycle",
                 cycle_momentum: bool = True, base_momentum: float = 0.8, max_momentum: float = 0.9,
                 last_epoch: int = -1) -> None:  # fmt: skip
        self.optimizer = checked_optimizer(optimizer)
        base_lrs = _per_group(base_lr, optimizer, "base_lr")
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups):
                set_lr(group, lr)
        self.max_lrs = _per_group(max_lr, optimizer, "max_lr")
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode, self.gamma, self._scale_fn_custom = mode, gamma, scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._start_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def _start_momentum(self, base_momentum, max_momentum, last_epoch):
        if "momentum" not in self.optimizer.defaults and "betas" not in self.optimizer.defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in self.optimizer.defaults
        self.base_momentums = _per_group(base_momentum, self.optimizer, "base_momentum")
        self.max_momentums = _per_group(max_momentum, self.optimizer, "max_momentum")
        if last_epoch != -1:
            return
        for group, low, high in zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums):
            self._set_momentum(group, high)
            group["max_momentum"], group["base_momentum"] = high, low

    def _set_momentum(self, group, value):
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value

    def scale_fn(self, x: float) -> float:
        """The height of a cycle or step, relative to max_lr - base_lr."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        return {"triangular": 1.0, "triangular2": 2.0 ** (1 - x)}.get(self.mode, self.gamma**x)

    def get_lr(self) -> list[float]:
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group, low, high in zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums):
                self._set_momentum(group, high - (high - low) * height * scale)
        return [low + (high - low) * height * scale for low, high in zip(self.base_lrs, self.max_lrs)]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer; of a scale_fn only what a callable object holds, never a function itself."""
        state = super().state_dict()
        custom = state["_scale_fn_custom"]
        keep = custom is not None and not isinstance(custom, FunctionType)
        state["_scale_fn_custom"] = dict(custom.__dict__) if keep else None
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        state = dict(state_dict)
        custom = state.pop("_scale_fn_custom")
        super().load_state_dict(state)
        if custom is not None:
            self._scale_fn_custom.__dict__.update(custom)
