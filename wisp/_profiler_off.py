"""What programs find as torch.profiler and torch.autograd.profiler while wisp has no profiler: labels for parts of a program,
which nobody reads, and the words that a recording would be ordered with. Ordering one is an error."""

import enum
from contextlib import ContextDecorator

__all__ = [
    "ProfilerAction", "ProfilerActivity", "kineto_available", "profile", "record_function", "schedule", "supported_activities",
]  # fmt: skip


class ProfilerActivity(enum.Enum):
    """Where something could be recorded."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(enum.Enum):
    """What a profiler does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class record_function(ContextDecorator):
    """A label for what is done inside: a context, or a decorator."""

    def __init__(self, name, args=None):
        self.name, self.args = name, args

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass


def schedule(*, wait, warmup, active, repeat=0, skip_first=0, skip_first_wait=0):
    """The function from the number of a step to what a profiler does in it."""

    def action(step):
        step -= skip_first
        if skip_first_wait and step >= 0:
            step += wait
        round_length = wait + warmup + active
        if step < 0 or (repeat and step >= repeat * round_length):
            return ProfilerAction.NONE
        place = step % round_length
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD_AND_SAVE if place == round_length - 1 else ProfilerAction.RECORD

    return action


class profile:
    """What would record a program. There is nothing that does."""

    def __init__(self, *args, **kwargs):
        raise RuntimeError("there is no profiler while wisp stands in for torch")


emit_itt = emit_nvtx = profile


def tensorboard_trace_handler(dir_name, worker_name=None, use_gzip=False):
    """What would write a recording for TensorBoard: there are none to write."""
    return lambda profiler: None


class EventList(list):
    """What a profiler would have recorded."""


def supported_activities():
    """None: nothing can be recorded."""
    return set()


def kineto_available():
    """False: nothing can be recorded."""
    return False


def __getattr__(name):
    from wisp._missing import MissingName

    raise MissingName("torch.profiler", name)
