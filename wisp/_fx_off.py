"""What programs find as torch.fx while wisp has no symbolic traces: wrap(), with which they mark functions at import, and
classes, which they ask values whether they are."""

__all__ = ["Graph", "GraphModule", "Node", "Proxy", "Tracer", "wrap"]

__path__ = []  # torch.fx.experimental is this module too


class _Absent:
    def __new__(cls, *args, **kwargs):
        raise TypeError(f"torch.fx.{cls.__name__}: there are no symbolic traces while wisp stands in for torch")


class Proxy(_Absent):
    """What stands for values in a symbolic trace. There are none here: nothing is one."""


class Tracer(_Absent):
    """What makes symbolic traces."""


class Node(_Absent):
    """A step of a symbolic trace. There are none here: nothing is one."""


class Graph(_Absent):
    """A symbolic trace. There are none here: nothing is one."""


class GraphModule(_Absent):
    """A module that runs a symbolic trace. There are none here: nothing is one."""


def wrap(fn_or_name):
    """The function, or its name, itself: it marks what is not to be traced."""
    return fn_or_name


def __getattr__(name):
    from wisp._missing import MissingName

    raise MissingName("torch.fx", name)
