"""Not there: wisp computes on the CPU. The switches scripts turn are remembered and change nothing."""

import sys

from wisp.backends._switches import Flags

enabled = True
benchmark = False
benchmark_limit = None
deterministic = False
allow_tf32 = True


def is_available():
    """False."""
    return False


def version():
    """None."""
    return


def is_acceptable(tensor):
    """False."""
    return False


def flags(enabled=None, benchmark=None, benchmark_limit=None, deterministic=None, allow_tf32=None):
    """Sets switches for a with block."""
    values = {"enabled": enabled, "benchmark": benchmark, "benchmark_limit": benchmark_limit,
              "deterministic": deterministic, "allow_tf32": allow_tf32}  # fmt: skip
    return Flags(sys.modules[__name__], values)
