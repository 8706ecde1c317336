"""Lazy evaluation and compile(): the program stays as it is written, its kernels run later and together.

See docs/lazy.md.
"""

import functools
import sys

from wisp import _C

__all__ = ["compile", "lazy"]

# Below so many elements a call takes no longer than putting it off.
_WORTHWHILE = 1 << 15


def _collecting(extent, least=None):
    """What ``_C._lazy_collect`` takes and gives: one number. Without a bound of the program's own, it is learnt what gains."""
    if least is None:
        return (_WORTHWHILE * 2 + 1) * 4 + extent
    if not isinstance(least, int) or isinstance(least, bool):
        raise TypeError(f"lazy(): least must be an int, got {type(least).__name__}")
    if not 0 <= least < 1 << 59:
        raise ValueError(f"lazy(): least must be a number of elements, got {least}")
    return least * 2 * 4 + extent


_NOTHING, _LARGE, _ALL, _ENDLESS = map(_collecting, range(4))


def _extent(collecting):
    return collecting % 4


class lazy:
    """Puts off what operators compute until somebody looks at a result; then runs it, fused where that is faster.

    Use it as a context manager (``with wisp.lazy():``), as a decorator, or for the rest of the program by
    ``wisp.lazy.enable()``. Shapes, dtypes, errors about them and gradients are as ever; only the numbers come later:
    when they are printed, converted, tested, used by an optimiser, at the end of ``backward()``, or when a lot is pending.

    Calls whose results have fewer than 32,768 elements run at once, since that takes no longer than putting them off,
    unless they read something that is pending; so do calls at places of the program where putting them off has gained
    nothing before. With ``least``, everything on so many elements is put off: ``least=0`` puts off all calls.

    >>> x = wisp.ones(3)
    >>> with wisp.lazy(least=0):
    ...     y = (x * 2 + 1).tanh()
    >>> y
    tensor([0.9951, 0.9951, 0.9951])
    """

    def __init__(self, least=None):
        self._what = _collecting(_extent(_ALL), least)
        self._outer = []

    def __enter__(self):
        self._outer.append(_C._lazy_collect(self._what))
        return self

    def __exit__(self, *error):
        _C._lazy_collect(self._outer.pop())

    def __call__(self, f):
        return _collected(f, self._what, False)

    @staticmethod
    def enable(least=None):
        """From now on calls on this thread are evaluated lazily, as by ``lazy(least)``."""
        _C._lazy_collect(_collecting(_extent(_ENDLESS), least))

    @staticmethod
    def disable():
        """Ends what ``enable()`` began. What is pending stays so until it is needed."""
        _C._lazy_collect(_NOTHING)

    @staticmethod
    def is_enabled():
        """Whether calls on this thread are evaluated lazily."""
        outer = _C._lazy_collect(_NOTHING)
        _C._lazy_collect(outer)
        return _extent(outer) >= _extent(_ALL)

    @staticmethod
    def run():
        """Computes everything that is pending."""
        _C._lazy_run()

    @staticmethod
    def counts():
        """A dict: how many kernels were put off, fused, dropped because nobody wanted their results, and how many
        plans had to be made (a plan is made once for a sequence of kernels, whatever the sizes)."""
        return _C._lazy_counts()


def _collected(f, what, compiled):
    """The function, with its kernels collected while it runs. Of a compiled one they run at its end, or, where trials
    have shown that to be faster, as they are called."""
    return functools.update_wrapper(_C._Collected(f, what, compiled), f)


def _reduced(collected):
    """For copies and files: its name, if that is the name of a decorated function, which cannot be found otherwise."""
    name, found = getattr(collected, "__qualname__", ""), sys.modules.get(getattr(collected, "__module__", None))
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is collected:
        return name
    return _C._Collected, (collected._function, collected._what, collected._is_compiled), collected.__dict__


class _Explanation:
    """What ``explain()`` found out: printed, it is a report; the numbers are attributes."""

    def __init__(self, before, after, lines, kept, recorded):
        for name, count in after.items():
            setattr(self, name, count - before[name])
        self.lines, self.kept, self.recorded = lines, kept, recorded

    def __str__(self):
        head = (
            f"{self.kernels} kernels recorded, run {self.runs} times; {self.fused} of them fused into {self.groups} "
            f"groups, {self.dropped} dropped; {self.plans} new plans"
        )
        return "\n".join([head, *self.lines, self.kept, self.recorded])

    __repr__ = __str__


def _kept(times):
    """Which way such calls go, and why."""
    if times is None:
        return "not settled yet: calls are made both ways, and the faster way is kept"
    collected, plain, as_it_is = times
    way = "called as it is" if as_it_is else "collected"
    return f"{way}: {collected / 1e3:.1f} us collected, {plain / 1e3:.1f} us as it is"


def _recorded(found):
    """Whether such calls are made without Python, and why."""
    if found is None:
        return "not recorded: short functions are, after some hundreds of calls as they are"
    if isinstance(found, str):
        return f"not recorded: {found}"
    plain, recorded, without = found
    if max(plain, recorded) == _NEVER:
        return "recorded: calls are made with and without Python, and the faster way is kept"
    way = "recorded, and made without Python" if without else "recorded, but made by Python"
    return f"{way}: {recorded / 1e3:.2f} us without, {plain / 1e3:.2f} us with it"


def _explain(f, args, kwargs):
    """Calls the function with its kernels collected and tells what was recorded, what was fused, which plans were new, and
    how the compiled function makes such calls."""
    _C._lazy_run()
    before = _C._lazy_counts()
    _C._lazy_report(True)
    try:
        f._collected(*args, **kwargs)
        _C._lazy_run()
    finally:
        after, lines = _C._lazy_counts(), _C._lazy_report(False)
    return _Explanation(before, after, lines, _kept(f._times(*args, **kwargs)), _recorded(f._recorded(*args, **kwargs)))


_NEVER = 2**63 - 1
_MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")


def compile(model=None, *, fullgraph=False, dynamic=None, backend="inductor", mode=None, options=None, disable=False):
    """The function or module, with large pointwise calls fused. Nothing is compiled and nothing has to warm up.

    It takes PyTorch's arguments. ``fullgraph`` is met by any program: calls are recorded as they happen, so there are no
    parts that could be left out. Sizes are never part of a plan, as with ``dynamic=True``. ``backend``, ``mode`` and
    ``options`` choose nothing: there is one way. ``compile(f).explain(*args)`` prints what was recorded and fused.

    >>> f = wisp.compile(lambda x: (x * 2 + 1).tanh().exp())
    >>> f(wisp.zeros(2))
    tensor([2.1418, 2.1418])
    """
    if model is None:
        return functools.partial(
            compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options, disable=disable
        )
    if mode is not None and mode not in _MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}")
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if not callable(model):
        raise RuntimeError(f"compile() expects a function or a module, got {type(model).__name__}")
    if disable:
        return model
    import wisp

    if isinstance(model, wisp.nn.Module):
        return _compiled_module(model)
    return _collected(model, _LARGE, True)


def _compiled_module(module):
    from wisp.nn._compiled import OptimizedModule

    return OptimizedModule(module)
