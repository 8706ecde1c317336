"""Functions compiled from a text."""

import inspect
import linecache
import textwrap
import typing
from itertools import count

import wisp

_units = count()


def functions_in(text):
    """The Python functions that a text defines; the text is their source, in error messages too."""
    text = textwrap.dedent(text)
    file = f"<compilation unit {next(_units)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names = {name: getattr(typing, name) for name in typing.__all__}
    names |= {"torch": wisp, "wisp": wisp, "Tensor": wisp.Tensor, "__name__": "__wisp_unit__"}
    exec(compile(text, file, "exec"), names)  # noqa: S102 (that is what it is for)
    return [fn for fn in names.values() if inspect.isfunction(fn) and fn.__code__.co_filename == file]


class CompilationUnit:
    """Functions compiled from a text, as attributes.

    >>> unit = wisp.jit.CompilationUnit("def twice(x):\\n    return x * 2")
    >>> unit.twice(wisp.ones(1)).item()
    2.0
    """

    def __init__(self, lang=None, _frames_up=0):
        if lang is not None:
            self.define(lang)

    def define(self, lang, rcb=None, _frames_up=0):
        """Compiles more functions."""
        from wisp.jit._script import script_function

        for fn in functions_in(lang):
            setattr(self, fn.__name__, script_function(fn))
