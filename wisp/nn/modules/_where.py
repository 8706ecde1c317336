"""Which module an error comes from: `encoder.layers.3.fc1`, and what it was given.

Modules do not know their names, so nothing is kept while all goes well. When an exception leaves the outermost module
call, its traceback has every call on the way, and the names are looked up then.
"""

import os
import sys
from contextlib import suppress
from itertools import pairwise

from wisp._C import Tensor

_PACKAGE = os.path.dirname(os.path.abspath(sys.modules["wisp"].__file__)) + os.sep
_START = "in module "


def add_path(error):
    """Notes where an exception comes from; to be called by Module.__call__ alone, while handling it."""
    with suppress(Exception):  # a repr() that fails must not hide the error itself
        outermost = sys._getframe(1)
        if not _is_called_by_module(outermost) and not _is_noted(error):
            _add_note(error, _describe(_frames(error.__traceback__)))


def _is_called_by_module(frame):
    code, frame = frame.f_code, frame.f_back
    while frame is not None:
        if frame.f_code is code:
            return True
        frame = frame.f_back
    return False


def _is_noted(error):
    notes = getattr(error, "__notes__", None) or str(error).split("\n")
    return any(note.startswith(_START) for note in notes)


def _add_note(error, note):
    if hasattr(error, "add_note"):
        error.add_note(note)
    elif len(error.args) == 1 and isinstance(error.args[0], str) and not isinstance(error, KeyError):  # Python 3.10
        error.args = (f"{error.args[0]}\n{note}",)


def _frames(traceback):
    """Pairs (frame, line) from the outermost call to where the exception was raised."""
    found = [(traceback.tb_frame.f_back, getattr(traceback.tb_frame.f_back, "f_lineno", None))]
    while traceback is not None:
        found.append((traceback.tb_frame, traceback.tb_lineno))
        traceback = traceback.tb_next
    return found


def _is_module_call(frame):
    """Whether a frame is that of Module.__call__, or of what a subclass has in its place (lazy modules do)."""
    return frame is not None and frame.f_code.co_name == "__call__" and hasattr(frame.f_locals.get("self"), "_modules")


def _describe(frames):
    calls = [i for i, (frame, _) in enumerate(frames) if _is_module_call(frame)]
    modules = [frames[i][0].f_locals["self"] for i in calls]
    path, module, given = _path(modules), modules[-1], frames[calls[-1]][0].f_locals
    text = _START + (f"{path} of {type(modules[0]).__name__}: " if path else "") + _short(module)
    text += f"\n  given {_given(given.get('args', ()), given.get('kwargs', {}))}"
    line = _last_line_outside(frames[: calls[-1]])
    return f"{text}\n  called at {line}" if line else text


def _path(modules):
    """The dotted name of the last module, seen from the first; modules that are nobody's children go by their class."""
    names = []
    for outer, inner in pairwise(modules):
        if inner is outer:
            continue
        name = next((name for name, module in outer.named_modules(remove_duplicate=False) if module is inner), None)
        names.append(f"({type(inner).__name__})" if name is None else name)
    return ".".join(names)


def _short(module):
    """A module on one line."""
    text = repr(module)
    return text if "\n" not in text else f"{type(module).__name__}(...)"


def _given(args, kwargs):
    shown = [_value(value) for value in args] + [f"{name}={_value(value)}" for name, value in kwargs.items()]
    return ", ".join(shown[:6] + ["..."] * (len(shown) > 6)) or "nothing"


def _value(value):
    if isinstance(value, Tensor):
        return f"a tensor {list(value.shape)} of {str(value.dtype).rpartition('.')[2]}"
    if isinstance(value, (tuple, list)) and any(isinstance(item, Tensor) for item in value):
        return f"a {type(value).__name__} of ({_given(value, {})})"
    return repr(value) if value is None or isinstance(value, (bool, int, float)) else f"a {type(value).__name__}"


def _last_line_outside(frames):
    """The last line of the user's own code, before the module was called."""
    for frame, line in reversed(frames):
        if frame is not None and not frame.f_code.co_filename.startswith(_PACKAGE):
            return f"{frame.f_code.co_filename}:{line} in {frame.f_code.co_name}"
    return None
