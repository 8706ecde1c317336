"""What scripts ask before they use an accelerator: there is none. wisp computes on the CPU."""

__all__ = [
    "current_accelerator", "current_device_index", "current_stream", "device_count", "device_index", "empty_cache",
    "is_available", "max_memory_allocated", "memory_allocated", "memory_stats", "reset_peak_memory_stats",
    "set_device_index", "set_stream", "synchronize",
]  # fmt: skip


def is_available():
    """False."""
    return False


def device_count():
    """0."""
    return 0


def current_accelerator(check_available=False):
    """None: there is no accelerator."""


def _unavailable(*args, **kwargs):
    """Fails: there is no accelerator."""
    raise RuntimeError("Cannot access accelerator device when none is available.")


current_device_index = set_device_index = current_stream = set_stream = synchronize = empty_cache = _unavailable
memory_allocated = max_memory_allocated = memory_reserved = max_memory_reserved = memory_stats = _unavailable
reset_peak_memory_stats = reset_accumulated_memory_stats = get_memory_info = get_device_capability = _unavailable


class device_index:
    """A with block on an accelerator; only None, which is none, can be entered."""

    def __init__(self, device, /):
        self.idx = device

    def __enter__(self):
        if self.idx is not None:
            _unavailable()

    def __exit__(self, *exc):
        return False
