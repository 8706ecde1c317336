"""Functions of neural networks: operators of the table whose home is here, and some written in Python."""

from wisp import _C
from wisp.nn import _functions

_in_python = {name: getattr(_functions, name) for name in _functions.__all__}
globals().update(_C._functional)
globals().update(_in_python)
__all__ = sorted({*_C._functional, *_in_python})  # noqa: PLE0605


def __getattr__(name):
    from wisp._missing import MissingName

    raise MissingName(__name__, name)
