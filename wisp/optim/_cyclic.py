"""Learning rates that go up and down."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import FunctionType

from wisp.optim._schedules import LRScheduler, checked_optimizer, copied, set_lr
from wisp.optim.optimizer import Optimizer

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing takes time
    from typing import Any

__all__ = ["CyclicLR", "OneCycleLR"]


def per_group(value, optimizer, name):
    """One value for each group, given as a list or as one for all; tensors are copied, whatever their owner does to them."""
    if not isinstance(value, (list, tuple)):
        return [copied(value) for _ in optimizer.param_groups]
    if len(value) != len(optimizer.param_groups):
        raise ValueError(f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, "
                         f"param_groups has {len(optimizer.param_groups)}.")  # fmt: skip
    return [copied(v) for v in value]


class _WithMomentum(LRScheduler):
    """Schedules that may cycle the momentum too, the other way round."""

    def _start_momentum(self, base_momentum, max_momentum, last_epoch):
        if "momentum" not in self.optimizer.defaults and "betas" not in self.optimizer.defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in self.optimizer.defaults
        lowest = per_group(base_momentum, self.optimizer, "base_momentum")
        highest = per_group(max_momentum, self.optimizer, "max_momentum")
        if last_epoch == -1:
            for group, low, high in zip(self.optimizer.param_groups, lowest, highest):
                self._set_momentum(group, high)
                group["max_momentum"], group["base_momentum"] = high, low
        return lowest, highest

    def _set_momentum(self, group, value):
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


class CyclicLR(_WithMomentum):
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
        base_lrs = per_group(base_lr, optimizer, "base_lr")
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups):
                set_lr(group, lr)
        self.max_lrs = per_group(max_lr, optimizer, "max_lr")
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode, self.gamma, self._scale_fn_custom = mode, gamma, scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = self._start_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

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


def _anneal_cos(start, end, part):
    return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)


def _anneal_linear(start, end, part):
    return (end - start) * part + start


_ANNEAL = {"cos": _anneal_cos, "linear": _anneal_linear}


class OneCycleLR(_WithMomentum):
    """One cycle for the whole training: the rates go up to ``max_lr``, then down far below where they began.

    It is stepped after every batch, and momentum, if it is cycled, goes the other way.

    Args:
        optimizer: whose learning rates to set.
        max_lr: the highest rate, for all groups or a list for each.
        total_steps: how many steps there will be; or epochs and steps_per_epoch.
        pct_start: the part of the cycle in which rates go up.
        anneal_strategy: "cos" or "linear".
        cycle_momentum, base_momentum, max_momentum: whether and between what to cycle the momentum.
        div_factor: max_lr divided by this is the first rate,
        final_div_factor: and that divided by this the last.
        three_phase: whether to go down to the first rate first, as fast as it went up.
        last_epoch: where to go on from.
    """

    def __init__(self, optimizer, max_lr, total_steps=None, epochs=None, steps_per_epoch=None, pct_start=0.3,
                 anneal_strategy="cos", cycle_momentum=True, base_momentum=0.85, max_momentum=0.95, div_factor=25.0,
                 final_div_factor=1e4, three_phase=False, last_epoch=-1):  # fmt: skip
        self.optimizer = checked_optimizer(optimizer)
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in _ANNEAL:
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type, self.cycle_momentum = anneal_strategy, cycle_momentum
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        if last_epoch == -1:
            self._start_rates(per_group(max_lr, optimizer, "max_lr"), div_factor, final_div_factor)
        if cycle_momentum:
            self._start_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def _start_rates(self, max_lrs, div_factor, final_div_factor):
        for group, highest in zip(self.optimizer.param_groups, max_lrs):
            group["initial_lr"], group["max_lr"] = highest / div_factor, highest
            group["min_lr"] = group["initial_lr"] / final_div_factor

    def get_lr(self):
        if self.last_epoch > self.total_steps:
            raise ValueError(
                f"Tried to step {self.last_epoch} times. The specified number of total steps is {self.total_steps}"
            )
        start = 0.0
        for phase in self._schedule_phases:
            if self.last_epoch <= phase["end_step"] or phase is self._schedule_phases[-1]:
                part = (self.last_epoch - start) / (phase["end_step"] - start)
                break
            start = phase["end_step"]
        anneal = _ANNEAL[self._anneal_func_type]
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(anneal(group[phase["start_lr"]], group[phase["end_lr"]], part))
            if self.cycle_momentum:
                self._set_momentum(group, anneal(group[phase["start_momentum"]], group[phase["end_momentum"]], part))
        return rates


def _total_steps(total_steps, epochs, steps_per_epoch):
    if total_steps is not None:
        given = {"total_steps": total_steps}
    elif epochs is not None and steps_per_epoch is not None:
        given = {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
    else:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    for name, value in given.items():
        if value <= 0 or not isinstance(value, int):
            raise ValueError(f"Expected positive integer {name}, but got {value}")
    return math.prod(given.values())


def _phases(total_steps, pct_start, three_phase):
    """Where each phase ends, and the names of the settings it goes from and to."""
    up, last = float(pct_start * total_steps) - 1, total_steps - 1
    if three_phase:
        rows = [(up, "initial_lr", "max_lr", "max_momentum", "base_momentum"),
                (float(2 * pct_start * total_steps) - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
                (last, "initial_lr", "min_lr", "max_momentum", "max_momentum")]  # fmt: skip
    else:
        rows = [(up, "initial_lr", "max_lr", "max_momentum", "base_momentum"),
                (last, "max_lr", "min_lr", "base_momentum", "max_momentum")]  # fmt: skip
    return [dict(zip(("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum"), row)) for row in rows]
