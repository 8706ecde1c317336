"""Finding the operation that produced a NaN in backward()."""

from __future__ import annotations

import traceback

from wisp import _C


def _format_stack():
    """The user's stack at a recorded call."""
    import wisp

    library = wisp.__path__[0]
    frames = [f for f in traceback.extract_stack() if not f.filename.startswith(library)]
    return "".join(traceback.format_list(frames))


class set_detect_anomaly:
    """Turns anomaly detection on or off, at once or for a with block."""

    def __init__(self, mode: bool, check_nan: bool = True):
        self.previous = _C._get_anomaly()
        _C._set_anomaly(mode, check_nan)

    def __enter__(self):
        return None

    def __exit__(self, *exc):
        _C._set_anomaly(*self.previous)


class detect_anomaly(set_detect_anomaly):
    """A with block in which backward() fails where a NaN first appears, naming the forward line that caused it."""

    def __init__(self, check_nan: bool = True):
        self.previous = _C._get_anomaly()
        self.check_nan = check_nan

    def __enter__(self):
        _C._set_anomaly(True, self.check_nan)
        return None
