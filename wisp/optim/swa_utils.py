"""Averages of a model's weights over its training."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any

from wisp import _C
from wisp._C import Tensor
from wisp.nn.modules.module import Module
from wisp.optim._cyclic import per_group
from wisp.optim._schedules import LRScheduler
from wisp.optim.optimizer import Optimizer

__all__ = [
    "SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn",
    "update_bn",
]  # fmt: skip


def _checked_decay(decay):
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")
    return decay


def get_ema_avg_fn(decay: float = 0.999) -> Callable[[Tensor, Tensor, Any], Tensor]:
    """For AveragedModel: averages that forget, ``decay * average + (1 - decay) * current``."""
    _checked_decay(decay)

    def average(averaged: Tensor, current: Tensor, num_averaged: Any) -> Tensor:
        with _C.no_grad():
            return decay * averaged + (1 - decay) * current

    return average


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[[list[Tensor], list[Tensor], Any], None]:
    """The same for a list of parameters, in place."""
    _checked_decay(decay)

    def average(averaged: list[Tensor], current: list[Tensor], num_averaged: Any) -> None:
        with _C.no_grad():
            for old, new in zip(averaged, current):
                if old.is_floating_point() or old.is_complex():
                    old.lerp_(new, 1 - decay)
                else:
                    old.copy_(old * decay + new * (1 - decay))

    return average


def get_swa_avg_fn() -> Callable[[Tensor, Tensor, Any], Tensor]:
    """For AveragedModel: the plain average of all updates."""

    def average(averaged: Tensor, current: Tensor, num_averaged: Any) -> Tensor:
        with _C.no_grad():
            return averaged + (current - averaged) / (num_averaged + 1)

    return average


def get_swa_multi_avg_fn() -> Callable[[list[Tensor], list[Tensor], Any], None]:
    """The same for a list of parameters, in place."""

    def average(averaged: list[Tensor], current: list[Tensor], num_averaged: Any) -> None:
        share = 1 / (int(num_averaged) + 1)
        with _C.no_grad():
            for old, new in zip(averaged, current):
                if old.is_floating_point() or old.is_complex():
                    old.lerp_(new, share)
                else:
                    old.copy_(old + (new - old) * share)

    return average


class AveragedModel(Module):
    """A copy of a model whose parameters are averages over the calls of update_parameters().

    Args:
        model: what to average.
        device: where to keep the averages.
        avg_fn: gives a new average from (average, current, number of updates so far); the plain mean unless given.
        multi_avg_fn: the same for lists of parameters, in place.
        use_buffers: average buffers too instead of copying them.
    """

    def __init__(self, model: Module, device: Any = None,
                 avg_fn: Callable[[Tensor, Tensor, Any], Tensor] | None = None,
                 multi_avg_fn: Callable[[list[Tensor], list[Tensor], Any], None] | None = None,
                 use_buffers: bool = False) -> None:  # fmt: skip
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", _C.tensor(0, dtype=_C.int64, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Takes the present parameters of the model into the averages."""

        def averaged_of(module):
            return chain(module.parameters(), module.buffers()) if self.use_buffers else module.parameters()

        averaged = [p.detach() for p in averaged_of(self.module)]
        current = [p.detach().to(average.device) for p, average in zip(averaged_of(model), averaged)]
        if self.n_averaged == 0:
            for average, new in zip(averaged, current):
                average.copy_(new)
        elif self.avg_fn is not None:
            for average, new in zip(averaged, current):
                average.copy_(self.avg_fn(average, new, self.n_averaged))
        else:
            (self.multi_avg_fn or get_swa_multi_avg_fn())(averaged, current, self.n_averaged)
        if not self.use_buffers:
            for mine, given in zip(self.module.buffers(), model.buffers()):
                mine.detach().copy_(given.detach())
        self.n_averaged += 1


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Computes the running means and variances of batch norms anew, from one pass over some data.

    Args:
        loader: gives the batches; of lists and tuples the first item is what the model is called with.
        model: the model, say an AveragedModel.
        device: where to bring the batches first.
    """
    from wisp.nn.modules.batchnorm import _BatchNorm

    norms = {module: module.momentum for module in model.modules() if isinstance(module, _BatchNorm)}
    if not norms:
        return
    was_training = model.training
    for module in norms:
        module.reset_running_stats()
        module.momentum = None  # plain averages
    model.train()
    with _C.no_grad():
        for batch in loader:
            batch = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(batch if device is None else batch.to(device))
    for module, momentum in norms.items():
        module.momentum = momentum
    model.train(was_training)


_ANNEAL = {"cos": lambda t: (1 - math.cos(math.pi * t)) / 2, "linear": lambda t: t}


class SWALR(LRScheduler):
    """Brings learning rates to a constant within some epochs.

    Args:
        optimizer: whose learning rates to set.
        swa_lr: the constant, for all groups or a list for each.
        anneal_epochs: how many epochs it takes.
        anneal_strategy: "cos" or "linear".
        last_epoch: where to go on from.
    """

    def __init__(self, optimizer: Optimizer, swa_lr: float | list[float], anneal_epochs: int = 10,
                 anneal_strategy: str = "cos", last_epoch: int = -1) -> None:  # fmt: skip
        for group, lr in zip(optimizer.param_groups, per_group(swa_lr, optimizer, "swa_lr")):
            group["swa_lr"] = lr
        if anneal_strategy not in _ANNEAL:
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy, self.anneal_epochs = anneal_strategy, anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _part(self, step):
        """How much of the way has been gone after this many steps."""
        return _ANNEAL[self._anneal_strategy](max(0, min(1, step / max(1, self.anneal_epochs))))

    def get_lr(self) -> list[float]:
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._part(step - 1), self._part(step)
        rates = []
        for group in self.optimizer.param_groups:
            end = group["swa_lr"]
            start = end if before == 1 else (group["lr"] - before * end) / (1 - before)  # undoes the last step
            rates.append(end * now + start * (1 - now))
        return rates
