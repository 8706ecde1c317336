"""How much memory tensors use.

Blocks up to 32 KiB come from free lists. Larger ones are kept after use and handed out again, because fresh pages cost
more than most computations; what is kept is bounded (a quarter of the machine's memory unless set_cache_limit() says
otherwise), and the oldest blocks are given back to the system first. All numbers are bytes.
"""

from wisp import _C

__all__ = ["current", "empty_cache", "peak", "reset_peak", "set_cache_limit", "snapshot", "stats"]


def current():
    """Bytes in use by tensors and the graph now."""
    return _C._memory_stats()["current"]


def peak():
    """The highest current() since the start or the last reset_peak().

    >>> wisp.memory.reset_peak()
    >>> x = wisp.zeros(1000, 1000)
    >>> wisp.memory.peak() >= 4_000_000
    True
    """
    return _C._memory_stats()["peak"]


def reset_peak():
    """Starts peak() anew from what is in use now."""
    _C._memory_reset_peak()


def empty_cache():
    """Gives everything that is only kept for reuse back to the system."""
    _C._memory_empty_cache()


def set_cache_limit(bytes):
    """How much may be kept for reuse; 0 keeps nothing."""
    _C._memory_set_cache_limit(bytes)


def stats():
    """A dict: ``current``, ``peak``, ``cached`` (kept for reuse), ``cache_limit``, ``reserved`` (taken from the system)."""
    return _C._memory_stats()


def snapshot():
    """A list of dicts, one per size of block: ``size``, and how many blocks are ``in_use`` and ``cached``."""
    return _C._memory_snapshot()
