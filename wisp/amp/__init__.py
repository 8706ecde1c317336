"""Training in mixed precision: gradients of small numbers are scaled so that they do not vanish."""

from wisp.amp.grad_scaler import GradScaler

__all__ = ["GradScaler"]


def __getattr__(name):
    from wisp._missing import MissingName

    raise MissingName(__name__, name)
