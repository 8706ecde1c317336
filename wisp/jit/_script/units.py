"""Functions compiled from a text."""

import inspect
import linecache
from itertools import count

import wisp

_units = count()


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

        file = f"<compilation unit {next(_units)}>"
        linecache.cache[file] = (len(lang), None, lang.splitlines(keepends=True), file)
        names = {"torch": wisp, "wisp": wisp, "Tensor": wisp.Tensor, "__name__": "__wisp_unit__"}
        exec(compile(lang, file, "exec"), names)  # noqa: S102 (that is what it is for)
        for name, fn in names.items():
            if inspect.isfunction(fn) and fn.__code__.co_filename == file:
                setattr(self, name, script_function(fn))
