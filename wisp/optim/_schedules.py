"""Schedules of learning rates. Most compute a rate from the last one, so that several can be combined."""

import math
import warnings
from bisect import bisect_right
from collections import Counter

from wisp._C import Tensor
from wisp.optim.optimizer import Optimizer

__all__ = [
    "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "ExponentialLR", "LRScheduler", "LambdaLR",
    "LinearLR", "MultiStepLR", "MultiplicativeLR", "PolynomialLR", "StepLR",
]  # fmt: skip

EPOCH_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler."
)


def set_lr(group, lr):
    """A learning rate that is a tensor is changed in place: others may hold it."""
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(lr.item() if isinstance(lr, Tensor) else lr)
    else:
        group["lr"] = lr


def copied(value):
    return value.clone() if isinstance(value, Tensor) else value


def checked_optimizer(optimizer):
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
    return optimizer


class LRScheduler:
    """The base of schedules: subclasses define get_lr(), the rates of all groups for ``last_epoch``.

    Args:
        optimizer: whose learning rates to set.
        last_epoch: where to go on from; -1 starts anew, from the learning rates the groups have.
    """

    _is_initial = False

    def __init__(self, optimizer, last_epoch=-1):
        self.optimizer = checked_optimizer(optimizer)
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(f"param 'initial_lr' is not specified in param_groups[{i}] when resuming an optimizer")
        self.base_lrs = [copied(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self):
        """Sets the rates of the first epoch."""
        self._step_count = 0
        self._is_initial = True
        self.step()
        self._is_initial = False

    def state_dict(self):
        """Everything but the optimizer, as a dict."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict):
        """Takes what state_dict() gave."""
        self.__dict__.update(state_dict)

    def get_last_lr(self):
        """The rates of all groups, as last set."""
        return self._last_lr

    def get_lr(self):
        """The rates of all groups for ``last_epoch``."""
        raise NotImplementedError

    def step(self, epoch=None):
        """Goes to the next epoch, or to a given one, and sets the rates."""
        self._check_order()
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_WARNING, UserWarning, stacklevel=2)
        self._go_to(epoch)

    def _go_to(self, epoch):
        """Sets the rates of an epoch; None means the next one."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        closed = getattr(self, "_get_closed_form_lr", None) if epoch is not None else None
        for group, lr in zip(self.optimizer.param_groups, closed() if closed else self.get_lr()):
            set_lr(group, lr)
        self._note_rates()

    def _note_rates(self):
        self._last_lr = [copied(group["lr"]) for group in self.optimizer.param_groups]

    def _check_order(self):
        if self._step_count == 1 and not getattr(self.optimizer, "_opt_called", False):
            warnings.warn("Detected call of `lr_scheduler.step()` before `optimizer.step()`. You should call them in the opposite "
                          "order: `optimizer.step()` before `lr_scheduler.step()`. Failure to do this will result in skipping "
                          "the first value of the learning rate schedule.", UserWarning, stacklevel=3)  # fmt: skip

    def _rates(self):
        return [group["lr"] for group in self.optimizer.param_groups]

    def _scaled(self, factor):
        return [lr * factor for lr in self._rates()]


# --- by functions


class _ByFunction(LRScheduler):
    """Schedules by functions of the epoch, one for all groups or one for each."""

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        groups = len(checked_optimizer(optimizer).param_groups)
        given = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * groups
        if len(given) != groups:
            raise ValueError(f"Expected {groups} lr_lambdas, but got {len(given)}")
        self.lr_lambdas = given
        super().__init__(optimizer, last_epoch)

    def state_dict(self):
        """Everything but the optimizer and the functions; of functions that are objects, their attributes."""
        state = {name: value for name, value in self.__dict__.items() if name not in ("optimizer", "lr_lambdas")}
        state["lr_lambdas"] = [None if hasattr(f, "__code__") else dict(f.__dict__) for f in self.lr_lambdas]
        return state

    def load_state_dict(self, state_dict):
        """Takes what state_dict() gave."""
        state = dict(state_dict)
        for function, attributes in zip(self.lr_lambdas, state.pop("lr_lambdas")):
            if attributes is not None:
                function.__dict__.update(attributes)
        self.__dict__.update(state)


class LambdaLR(_ByFunction):
    """The initial rate times ``lr_lambda(epoch)``."""

    def get_lr(self):
        return [base * factor(self.last_epoch) for factor, base in zip(self.lr_lambdas, self.base_lrs)]


class MultiplicativeLR(_ByFunction):
    """The last rate times ``lr_lambda(epoch)``."""

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        for function in lr_lambda if isinstance(lr_lambda, (list, tuple)) else [lr_lambda]:
            if not callable(function):
                raise TypeError(f"lr_lambda should be a function, but got {type(function).__name__}")
        super().__init__(optimizer, lr_lambda, last_epoch)

    def get_lr(self):
        if self._is_initial:
            return self._rates()
        return [lr * factor(self.last_epoch) for factor, lr in zip(self.lr_lambdas, self._rates())]


# --- by steps


class StepLR(LRScheduler):
    """Multiplies the rates by ``gamma`` every ``step_size`` epochs."""

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        due = self.last_epoch != 0 and self.last_epoch % self.step_size == 0
        return self._scaled(self.gamma) if due else self._rates()

    def _get_closed_form_lr(self):
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Multiplies the rates by ``gamma`` at every epoch in ``milestones``."""

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1):
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self.last_epoch not in self.milestones:
            return self._rates()
        return self._scaled(self.gamma ** self.milestones[self.last_epoch])

    def _get_closed_form_lr(self):
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """Multiplies the rates by ``factor`` until epoch ``total_iters``."""

    def __init__(self, optimizer, factor=1.0 / 3, total_iters=5, last_epoch=-1):
        if not 0 <= factor <= 1.0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self.last_epoch == 0:
            return self._scaled(self.factor)
        return self._rates() if self.last_epoch != self.total_iters else self._scaled(1.0 / self.factor)

    def _get_closed_form_lr(self):
        factor = self.factor if self.last_epoch < self.total_iters else 1
        return [base * factor for base in self.base_lrs]


# --- by curves


class LinearLR(LRScheduler):
    """A factor of the rates goes from ``start_factor`` to ``end_factor`` in ``total_iters`` epochs."""

    def __init__(self, optimizer, start_factor=1.0 / 3, end_factor=1.0, total_iters=5, last_epoch=-1):
        if not 0 < start_factor <= 1.0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if not 0 <= end_factor <= 1.0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self.last_epoch == 0:
            return self._scaled(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._rates()
        rise = self.end_factor - self.start_factor
        return self._scaled(1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise))

    def _get_closed_form_lr(self):
        part = min(self.total_iters, self.last_epoch) / self.total_iters
        factor = self.start_factor + (self.end_factor - self.start_factor) * part
        return [base * factor for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Multiplies the rates by ``gamma`` every epoch."""

    def __init__(self, optimizer, gamma, last_epoch=-1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return self._rates() if self._is_initial else self._scaled(self.gamma)

    def _get_closed_form_lr(self):
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """The rates fall to zero in ``total_iters`` epochs, as a polynomial of degree ``power``."""

    def __init__(self, optimizer, total_iters=5, power=1.0, last_epoch=-1):
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._rates()
        left, before = (1.0 - epoch / self.total_iters for epoch in (self.last_epoch, self.last_epoch - 1))
        return self._scaled((left / before) ** self.power)

    def _get_closed_form_lr(self):
        left = (1.0 - min(self.total_iters, self.last_epoch) / self.total_iters) ** self.power
        return [base * left for base in self.base_lrs]


def _cosine(start, end, part):
    """Between two numbers along half a wave."""
    return end + (start - end) * (1 + math.cos(math.pi * part)) / 2


class CosineAnnealingLR(LRScheduler):
    """The rates go down to ``eta_min`` in ``T_max`` epochs, along a cosine, and up again in as many."""

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        epoch, low = self.last_epoch, self.eta_min
        if epoch == 0 or self._is_initial:
            return self._rates()
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # at the bottom: there is nothing to multiply
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [lr + (base - low) * rise for base, lr in zip(self.base_lrs, self._rates())]
        now, before = (1 + math.cos(math.pi * e / self.T_max) for e in (epoch, epoch - 1))
        return [now / before * (lr - low) + low for lr in self._rates()]

    def _get_closed_form_lr(self):
        return [_cosine(base, self.eta_min, self.last_epoch / self.T_max) for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """The rates go down to ``eta_min`` along a cosine in ``T_0`` epochs, then start again, ``T_mult`` times as slowly."""

    def __init__(self, optimizer, T_0, T_mult=1, eta_min=0.0, last_epoch=-1):
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        self.T_0, self.T_i, self.T_mult, self.eta_min, self.T_cur = T_0, T_0, T_mult, eta_min, last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return [_cosine(base, self.eta_min, self.T_cur / self.T_i) for base in self.base_lrs]

    def step(self, epoch=None):
        """Goes to the next epoch, or to a given one, which may be a fraction."""
        if epoch is None and (self._is_initial or self.last_epoch < 0):
            epoch = self.last_epoch + 1
        if epoch is not None and epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        self._step_count += 1
        if epoch is None:
            epoch, self.T_cur = self.last_epoch + 1, self.T_cur + 1
            if self.T_cur >= self.T_i:
                self.T_cur, self.T_i = self.T_cur % self.T_i, self.T_i * self.T_mult
        else:
            self._find_cycle(epoch)
        self.last_epoch = math.floor(epoch)
        for group, lr in zip(self.optimizer.param_groups, self.get_lr()):
            set_lr(group, lr)
        self._note_rates()

    def _find_cycle(self, epoch):
        """Which cycle an epoch is in, and where in it."""
        self.T_i, self.T_cur = self.T_0, epoch
        if epoch < self.T_0:
            return
        if self.T_mult == 1:
            self.T_cur = epoch % self.T_0
            return
        n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
        self.T_cur = epoch - self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
        self.T_i = self.T_0 * self.T_mult**n
