"""Functions of neural networks: operators of the table whose home is here, and some written in Python."""

from wisp import _C
from wisp.nn import _attention, _criteria, _functions, _images

_in_python = {name: getattr(m, name) for m in (_functions, _images, _attention, _criteria) for name in m.__all__}
globals().update(_C._functional)
globals().update(_in_python)
__all__ = sorted(name for name in {*_C._functional, *_in_python} if name[0] != "_")  # noqa: PLE0605


def __getattr__(name):
    from wisp._missing import MissingName

    raise MissingName(__name__, name)
