"""What scripts ask before they use a GPU: there is none. wisp computes on the CPU.

Questions are answered (``is_available()`` is False, counts and sizes are 0), housekeeping does nothing, and whatever
needs a device fails with advice.
"""

from wisp import _C
from wisp._C import OutOfMemoryError

__all__ = [
    "OutOfMemoryError", "current_device", "device", "device_count", "empty_cache", "get_device_capability",
    "get_device_name", "get_device_properties", "get_rng_state_all", "is_available", "is_bf16_supported",
    "is_initialized", "manual_seed", "manual_seed_all", "max_memory_allocated", "memory_allocated", "seed", "seed_all",
    "set_device", "set_rng_state_all", "synchronize",
]  # fmt: skip


def is_available():
    """False."""
    return False


def is_initialized():
    """False."""
    return False


def is_bf16_supported(including_emulation=True):
    """False: there is no device. (bfloat16 tensors on the CPU are supported.)"""
    return False


def device_count():
    """0."""
    return 0


# --- nothing to seed, free or measure


def manual_seed(seed):
    """Does nothing: wisp.manual_seed() seeds the CPU's stream."""


def manual_seed_all(seed):
    """Does nothing: wisp.manual_seed() seeds the CPU's stream."""


def seed():
    """Does nothing."""


def seed_all():
    """Does nothing."""


def get_rng_state_all():
    """An empty list: one state per device."""
    return []


def set_rng_state_all(new_states):
    """Does nothing with the states of no devices."""
    if list(new_states):
        _unavailable()


def empty_cache():
    """Does nothing: see wisp.memory.empty_cache()."""


def ipc_collect():
    """Does nothing."""


def memory_allocated(device=None):
    """0: see wisp.memory.current()."""
    return 0


def max_memory_allocated(device=None):
    """0: see wisp.memory.peak()."""
    return 0


def memory_reserved(device=None):
    """0."""
    return 0


def max_memory_reserved(device=None):
    """0."""
    return 0


def memory_stats(device=None):
    """An empty dict: see wisp.memory.stats()."""
    return {}


def reset_peak_memory_stats(device=None):
    """Does nothing: see wisp.memory.reset_peak()."""


def reset_max_memory_allocated(device=None):
    """Does nothing: see wisp.memory.reset_peak()."""


# --- what needs a device


def _unavailable(*args, **kwargs):
    """Fails: there is no device."""
    _C._usable_device("cuda")  # says so, and what to do


init = synchronize = current_device = set_device = get_device_name = get_device_capability = _unavailable
get_device_properties = current_stream = default_stream = mem_get_info = memory_summary = _unavailable
get_rng_state = set_rng_state = _unavailable


class device:
    """A with block on a device; only device -1 or None, which is none, can be entered."""

    def __init__(self, device):
        self.device = device

    def __enter__(self):
        if self.device is not None and self.device != -1:
            _unavailable()

    def __exit__(self, *exc):
        return False


class Stream:
    """Fails: there is no device."""

    def __init__(self, *args, **kwargs):
        _unavailable()


CUDAGraph = Event = graph = Stream


class StreamContext:
    """A with block on a stream; only None, which is none, can be entered."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        if self.stream is not None:
            _unavailable()

    def __exit__(self, *exc):
        return False


stream = StreamContext


def __getattr__(name):
    if name == "amp":
        from importlib import import_module

        return import_module("wisp.cuda.amp")
    raise AttributeError(f"module 'wisp.cuda' has no attribute '{name}'")
