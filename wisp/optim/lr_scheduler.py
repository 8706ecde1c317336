"""Schedules of learning rates."""

from wisp.optim import _compound_schedules, _schedules
from wisp.optim._compound_schedules import *  # noqa: F403
from wisp.optim._schedules import *  # noqa: F403

__all__ = sorted([*_schedules.__all__, *_compound_schedules.__all__])
