"""Functions of neural networks: operators of the table whose home is here, and some written in Python."""

from wisp import _C
from wisp.nn import _functions

globals().update(_C._functional)
globals().update({_name: getattr(_functions, _name) for _name in _functions.__all__})
__all__ = sorted({*_C._functional, *_functions.__all__})


def __getattr__(name):
    from wisp._missing import MissingName

    raise MissingName(__name__, name)
