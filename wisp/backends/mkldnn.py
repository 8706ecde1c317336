"""Not used: wisp has its own kernels. The switches are remembered and change nothing."""

import sys

from wisp.backends._switches import Flags

enabled = True
deterministic = False
allow_tf32 = True


def is_available():
    """False."""
    return False


def flags(enabled=None, deterministic=None, allow_tf32=None):
    """Sets switches for a with block."""
    values = {"enabled": enabled, "deterministic": deterministic, "allow_tf32": allow_tf32}
    return Flags(sys.modules[__name__], values)
