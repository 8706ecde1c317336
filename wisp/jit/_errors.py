"""What running scripts raise: Python's exceptions, each of which is a wisp.jit.Error besides."""

from functools import cache


class Error(RuntimeError):
    """Raised where compiling a program fails, or running it: the message shows the lines that led there.

    What a script raises when it runs is also an exception of Python's own class:

    >>> @wisp.jit.script
    ... def first(x: List[int]) -> int:
    ...     return x[0]
    >>> try:
    ...     first([])
    ... except IndexError as error:
    ...     print(isinstance(error, wisp.jit.Error))
    True
    """

    __str__ = BaseException.__str__  # KeyError's own shows the lines in one

    def __reduce__(self):
        return _plain(type(self)), self.args, self.__dict__ or None


Error.__module__ = "wisp.jit"


def _plain(kind):
    """The class of an exception without what script_class() added: other processes know that."""
    return kind.__bases__[1] if len(kind.__bases__) == 2 and kind.__bases__[0] is Error else kind


@cache
def script_class(kind):
    """The class of the exceptions that scripts raise for `kind`."""
    if kind is RuntimeError:
        return Error
    if not issubclass(kind, Exception) or issubclass(kind, Error):
        return kind
    try:
        return type(kind.__name__, (Error, kind), {"__module__": kind.__module__})
    except TypeError:  # its objects have a form of their own
        return kind
