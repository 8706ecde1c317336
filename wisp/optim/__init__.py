"""Optimizers, and schedules of their learning rates."""

from wisp.optim import lr_scheduler
from wisp.optim.algorithms import SGD, Adadelta, Adagrad, Adam, Adamax, AdamW, RMSprop
from wisp.optim.lbfgs import LBFGS
from wisp.optim.optimizer import Optimizer
from wisp.optim.variants import ASGD, Adafactor, Muon, NAdam, RAdam, Rprop, SparseAdam

__all__ = [
    "ASGD", "LBFGS", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Muon", "NAdam",
    "Optimizer", "RAdam", "RMSprop", "Rprop", "SparseAdam", "lr_scheduler",
]  # fmt: skip


def __getattr__(name):
    if name == "swa_utils":  # imported on first use
        from importlib import import_module

        return import_module("wisp.optim.swa_utils")
    from wisp._missing import MissingName

    raise MissingName(__name__, name)
