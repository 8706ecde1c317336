"""Functions compiled from a text."""

import __future__

import inspect
import linecache
import math
import sys
import textwrap
import typing
from itertools import count

import wisp
from wisp.jit._script.errors import FrontendError

_units = count()


def functions_in(text, frames_up=0):
    """The Python functions that a text defines; the text is their source, in error messages too. They see the names of
    the function that called the compiler, or of one that stands `frames_up` calls around that."""
    text = textwrap.dedent(text)
    file = f"<compilation unit {next(_units)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names = {name: getattr(typing, name) for name in typing.__all__}
    names |= {"torch": wisp, "wisp": wisp, "math": math, "Tensor": wisp.Tensor, "Generator": wisp.Generator}
    names |= names_around(frames_up) | {"__name__": "__wisp_unit__"}
    try:
        code = compile(text, file, "exec", __future__.annotations.compiler_flag)
    except SyntaxError as error:
        raise FrontendError(f"SyntaxError: {error.msg} (line {error.lineno})") from None
    exec(code, names)  # noqa: S102 (that is what it is for)
    return [fn for fn in names.values() if inspect.isfunction(fn) and fn.__code__.co_filename == file]


def names_around(frames_up=0):
    """The names where the compiler was called: global ones, and local ones before them."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("wisp.jit"):
        frame = frame.f_back
    for _ in range(frames_up):
        frame = frame.f_back or frame
    return {**frame.f_globals, **frame.f_locals}


_WRITTEN = {"Scalar": "Union[bool, int, float, complex]", "int[]": "List[int]", "float[]": "List[float]",
            "Tensor[]": "List[Tensor]", "Dtype": "wisp.dtype", "Device": "wisp.device",
            **{name: name for name in ("Tensor", "int", "float", "bool", "str")}}  # fmt: skip


def function_of_operator(operator, entry):
    """A function that calls an operator of the table, with the parameters that its entry has."""
    unknown = [p.type for p in entry.params if p.type not in _WRITTEN]
    if unknown:
        raise TypeError(f"the operator '{entry.base}' cannot be compiled on its own: write a function that calls it")
    given, called = [], []
    for param in entry.params:
        kind = f"Optional[{_WRITTEN[param.type]}]" if param.optional else _WRITTEN[param.type]
        given += ["*"] if param.keyword_only and "*" not in given else []
        given.append(f"{param.name}: {kind}" + ("" if param.default is None else f" = {param.default}"))
        called.append(f"{param.name}={param.name}" if param.keyword_only else param.name)
    (made,) = functions_in(f"def {entry.base}({', '.join(given)}):\n    return _operator({', '.join(called)})\n")
    made.__globals__["_operator"] = operator
    return made


class CompilationUnit:
    """Functions compiled from a text, as attributes.

    >>> unit = wisp.jit.CompilationUnit("def twice(x):\\n    return x * 2")
    >>> unit.twice(wisp.ones(1)).item()
    2.0
    """

    def __init__(self, lang=None, _frames_up=0):
        if lang is not None:
            self.define(lang, _frames_up=_frames_up)

    def define(self, lang, rcb=None, _frames_up=0):
        """Compiles more functions."""
        from wisp.jit._script import script_function

        for fn in functions_in(lang, _frames_up):
            setattr(self, fn.__name__, script_function(fn))
