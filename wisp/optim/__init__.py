"""Optimizers, and schedules of their learning rates."""

from wisp.optim import lr_scheduler
from wisp.optim.algorithms import SGD, Adadelta, Adagrad, Adam, Adamax, AdamW, RMSprop
from wisp.optim.optimizer import Optimizer

__all__ = ["SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "Optimizer", "RMSprop", "lr_scheduler"]
