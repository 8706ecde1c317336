"""Schedules that combine others, or look at results."""

import math
import warnings
from bisect import bisect_right

from wisp.optim._schedules import EPOCH_WARNING, LRScheduler, checked_optimizer, set_lr

__all__ = ["ChainedScheduler", "ReduceLROnPlateau", "SequentialLR"]


class _OfSeveral(LRScheduler):
    """A schedule made of others, of the same optimizer."""

    def _take(self, schedulers, optimizer):
        if not schedulers:
            raise ValueError(f"{type(self).__name__} expects at least one scheduler, but got no scheduler.")
        optimizer = optimizer or schedulers[0].optimizer
        for i, scheduler in enumerate(schedulers):
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(f"{type(self).__name__} does not support `ReduceLROnPlateau` scheduler as it requires additional "
                                 f"kwargs to be specified when calling `step`, but got one at index {i} in the given "
                                 "schedulers sequence.")  # fmt: skip
            if scheduler.optimizer is not optimizer:
                raise ValueError(f"{type(self).__name__} expects all schedulers to belong to the same optimizer, but the one at "
                                 f"index {i} has another.")  # fmt: skip
        self._schedulers, self.optimizer = list(schedulers), optimizer

    def state_dict(self):
        """Everything but the optimizer, with the states of the schedules."""
        state = {name: value for name, value in self.__dict__.items() if name not in ("optimizer", "_schedulers")}
        return {**state, "_schedulers": [scheduler.state_dict() for scheduler in self._schedulers]}

    def load_state_dict(self, state_dict):
        """Takes what state_dict() gave."""
        self.__dict__.update({name: value for name, value in state_dict.items() if name != "_schedulers"})
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"]):
            scheduler.load_state_dict(state)


class ChainedScheduler(_OfSeveral):
    """Several schedules at once, each changing what the one before it has set."""

    def __init__(self, schedulers, optimizer=None):
        self._take(schedulers, optimizer)
        self._note_rates()

    def step(self):
        """One step of every schedule."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._note_rates()


class SequentialLR(_OfSeveral):
    """Schedules one after the other: the next one begins at every epoch in ``milestones``, with an epoch 0 of its own."""

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1):
        self._take(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError("Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                             f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones "
                             f"to be equal to {len(milestones)}")  # fmt: skip
        self._milestones, self.last_epoch = milestones, last_epoch + 1
        # All schedules have set their first rate when they were made; only the first one should have.
        for group in optimizer.param_groups:
            set_lr(group, group["initial_lr"])
        _take_back(self._schedulers)
        first = self._schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def step(self):
        """One step of the schedule whose turn it is."""
        self.last_epoch += 1
        i = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[i]
        if i > 0 and self._milestones[i - 1] == self.last_epoch:
            scheduler._go_to(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


def _take_back(schedulers):
    """Makes schedules, and those inside them, forget their first step."""
    for scheduler in schedulers:
        if hasattr(scheduler, "_schedulers"):
            _take_back(scheduler._schedulers)
        else:
            scheduler.last_epoch -= 1


class ReduceLROnPlateau(LRScheduler):
    """Multiplies the rates by ``factor`` when a result has not improved for ``patience`` epochs.

    Args:
        optimizer: whose learning rates to set.
        mode: "min" if smaller results are better, else "max".
        factor: less than 1.
        patience: how many epochs without improvement are allowed.
        threshold, threshold_mode: how much counts as an improvement; a fraction ("rel") or a number ("abs").
        cooldown: how many epochs to wait after a reduction.
        min_lr: a lower limit, for all groups or a list for each.
        eps: reductions by less are not made.
    """

    def __init__(self, optimizer, mode="min", factor=0.1, patience=10, threshold=1e-4, threshold_mode="rel", cooldown=0,
                 min_lr=0, eps=1e-8):  # fmt: skip
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        self.optimizer = checked_optimizer(optimizer)
        self.min_lrs = list(min_lr) if isinstance(min_lr, (list, tuple)) else [min_lr] * len(optimizer.param_groups)
        if len(self.min_lrs) != len(optimizer.param_groups):
            raise ValueError(f"expected {len(optimizer.param_groups)} min_lrs, got {len(min_lr)}")
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.factor, self.patience, self.cooldown, self.eps, self.last_epoch = factor, patience, cooldown, eps, 0
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self._note_rates()
        self._reset()

    def _reset(self):
        self.best = self.mode_worse = math.inf if self.mode == "min" else -math.inf
        self.cooldown_counter = self.num_bad_epochs = 0

    @property
    def in_cooldown(self):
        """Whether a reduction was made not long ago."""
        return self.cooldown_counter > 0

    def step(self, metrics, epoch=None):
        """Takes the result of an epoch."""
        if epoch is not None:
            warnings.warn(EPOCH_WARNING, UserWarning, stacklevel=2)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        result = float(metrics)
        if self._is_better(result):
            self.best, self.num_bad_epochs = result, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._note_rates()

    def _is_better(self, result):
        sign = 1 if self.mode == "min" else -1
        if self.threshold_mode == "rel":
            return sign * result < sign * self.best * (1 - sign * self.threshold)
        return sign * result < sign * self.best - self.threshold

    def _reduce(self):
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(f"The number of param groups in the `optimizer` ({len(groups)}) differs from when "
                                   f"`ReduceLROnPlateau` was initialized ({len(self.min_lrs)}), usually due to a new param group "
                                   "being added to the optimizer. Please modify the `min_lrs` field to match the length of the "
                                   "`optimizer` param groups.")  # fmt: skip
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, low in zip(groups, self.min_lrs):
            old = float(group["lr"])
            new = max(old * self.factor, low)
            if old - new > self.eps:
                set_lr(group, new)
