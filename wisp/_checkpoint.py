"""The state of a training run in one file, and the way back to it."""

import os
import re
import time
import warnings
from contextlib import suppress

from wisp.serialization import FileError, load, save

_NAME = re.compile(r"(\d{6,})-step-(-?\d+)\.safetensors")
_FORGOTTEN = 3600  # seconds after which a file half written belongs to a process that was killed


class Checkpoint:
    """Saves everything a training run needs to go on as if it had not stopped, and restores it.

    The states of the parts given, and those of the random number generators of wisp, of Python and, if it is in use, of
    NumPy, are written to one file per call, atomically; the last ones are kept. After restore() training continues with
    the same bits.

    Args:
        folder: where the files are; it is made if need be.
        model, optimizer, scheduler, loader: parts of the run, or None.
        keep: how many files to keep, the newest ones; None keeps all.
        parts: further objects with ``state_dict()`` and ``load_state_dict()``, by name.

    >>> import tempfile
    >>> model = wisp.nn.Linear(2, 1)
    >>> checkpoint = wisp.Checkpoint(tempfile.mkdtemp(), model=model, keep=2)
    >>> checkpoint.restore() is None
    True
    >>> path = checkpoint.save(10, best=0.5)
    >>> checkpoint.restore()
    10
    >>> checkpoint.extra
    {'best': 0.5}

    Attributes:
        extra: what was given to save() besides the step, after restore().
    """

    def __init__(self, folder, model=None, optimizer=None, scheduler=None, loader=None, keep=3, **parts):
        if keep is not None and keep < 1:
            raise ValueError(f"Checkpoint: keep must be at least 1, or None for all, got {keep}")
        parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler, "loader": loader, **parts}
        self.folder, self.keep, self.extra = os.fspath(folder), keep, {}
        self.parts = {name: part for name, part in parts.items() if part is not None}
        for name, part in self.parts.items():
            if not (hasattr(part, "state_dict") and hasattr(part, "load_state_dict")):
                raise TypeError(f"Checkpoint: {name} has no state_dict() and load_state_dict(): {type(part).__name__}")

    # --- saving

    def save(self, step, **extra):
        """Writes a file of the present state; returns its path.

        Args:
            step: the number of steps (or epochs) done.
            extra: whatever else is to be found again in ``extra``: plain data or tensors.
        """
        os.makedirs(self.folder, exist_ok=True)
        self._clean_up()
        state = {"step": int(step), "extra": extra, "random": _random_states()}
        state["parts"] = {name: part.state_dict() for name, part in self.parts.items()}
        number = max([number for number, _, _ in self._files()], default=0) + 1
        path = os.path.join(self.folder, f"{number:06d}-step-{int(step)}.safetensors")
        save(state, path)
        for _, _, old in self._files()[: -self.keep] if self.keep else ():
            with suppress(FileNotFoundError):  # removed by another process
                os.unlink(old)
        return path

    def _clean_up(self):
        """Removes what killed processes have left half written."""
        for entry in os.scandir(self.folder):
            half = re.fullmatch(rf"\.{_NAME.pattern}\.\d+\.\w+\.tmp", entry.name)
            if half and entry.stat().st_mtime < time.time() - _FORGOTTEN:
                os.unlink(entry.path)

    # --- what is there

    def _files(self):
        """(number, step, path) of all files, oldest first."""
        names = os.listdir(self.folder) if os.path.isdir(self.folder) else ()
        found = [match for match in map(_NAME.fullmatch, names) if match]
        return sorted((int(m[1]), int(m[2]), os.path.join(self.folder, m[0])) for m in found)

    @property
    def latest(self):
        """The path of the newest file; None if there is none."""
        files = self._files()
        return files[-1][2] if files else None

    @property
    def steps(self):
        """The steps of which there are files, oldest first."""
        return [step for _, step, _ in self._files()]

    # --- restoring

    def restore(self, step=None):
        """Brings all parts back to the state of the newest file that is whole; returns its step, or None if there is
        no file at all.

        Args:
            step: the step to go back to, if not the newest.
        """
        path, state = self._newest_whole(step)
        if path is None:
            return None
        missing = self.parts.keys() - state["parts"].keys()
        if missing:
            raise ValueError(
                f"Checkpoint: {path} has no state of {', '.join(sorted(missing))}, only of {', '.join(state['parts'])}"
            )
        for name, part in self.parts.items():
            part.load_state_dict(state["parts"][name])
        _set_random_states(state["random"])
        self.extra = state["extra"]
        return state["step"]

    def _newest_whole(self, step):
        """The path and the contents of the newest file that can be read; of a certain step, unless that is None."""
        files = [path for _, its_step, path in self._files() if step in (None, its_step)]
        if not files and step is not None:
            raise ValueError(f"Checkpoint: there is no file of step {step} in {self.folder}, only of {self.steps}")
        failure = None
        for path in reversed(files):
            try:
                return path, load(path, mmap=False)
            except FileNotFoundError:  # another process has removed it, and written a newer one
                return self._newest_whole(step)
            except (FileError, EOFError) as error:
                failure = error
                warnings.warn(f"Checkpoint: {path} is damaged and left out: {error}", stacklevel=3)
        if failure is not None:
            raise failure
        return None, None

    def __repr__(self):
        return f"Checkpoint({self.folder!r}, {', '.join(self.parts)}, keep={self.keep}): steps {self.steps}"


Checkpoint.__module__ = "wisp"


def _random_states():
    import random
    import sys

    from wisp.random import get_rng_state

    states = {"wisp": get_rng_state(), "python": random.getstate()}
    if "numpy" in sys.modules:
        import numpy as np

        states["numpy"] = np.random.get_state()
    return states


def _set_random_states(states):
    import random

    from wisp.random import set_rng_state

    set_rng_state(states["wisp"])
    random.setstate(states["python"])
    if "numpy" in states:
        import numpy as np

        np.random.set_state(states["numpy"])
