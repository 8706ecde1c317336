"""Finding the operation that produced a NaN in backward()."""

from wisp import _C

__all__ = ["detect_anomaly", "set_detect_anomaly"]


def _format_stack():
    """The user's stack at a recorded call."""
    import traceback

    import wisp

    library = wisp.__path__[0]
    frames = [frame for frame in traceback.extract_stack() if not frame.filename.startswith(library)]
    return "".join(traceback.format_list(frames))


class set_detect_anomaly:
    """Turns anomaly detection on or off: at once, and for a with block only if used as one."""

    def __init__(self, mode, check_nan=True):
        self.previous = _C._get_anomaly()
        _C._set_anomaly(mode, check_nan)

    def __enter__(self):
        pass

    def __exit__(self, *exc):
        _C._set_anomaly(*self.previous)


class detect_anomaly:
    """A with block in which backward() fails where a NaN first appears, naming the forward call that caused it.

    Operations inside the block note where in the program they were called, which takes time: use it to find errors.
    With ``check_nan=False`` nothing is checked, but errors in backward still name the forward call.
    """

    def __init__(self, check_nan=True):
        self.check_nan = check_nan

    def __enter__(self):
        self.previous = _C._get_anomaly()
        _C._set_anomaly(True, self.check_nan)

    def __exit__(self, *exc):
        _C._set_anomaly(*self.previous)
