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


def _collected(f, what, compiled, whole=False):
    """The function, with its kernels collected while it runs. Of a compiled one they run at its end, or, where trials
    have shown that to be faster, as they are called."""
    collected = functools.update_wrapper(_C._Collected(f, what, compiled, whole), f)
    if compiled:
        collected._torchdynamo_orig_callable = f  # by this name programs find it
    return collected


def _reduced(collected):
    """For copies and files: its name, if that is the name of a decorated function, which cannot be found otherwise."""
    name, found = getattr(collected, "__qualname__", ""), sys.modules.get(getattr(collected, "__module__", None))
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is collected:
        return name
    made_of = collected._function, collected._what, collected._is_compiled, collected._is_whole
    return _C._Collected, made_of, collected.__dict__


class _Explanation:
    """What ``explain()`` found out: printed, it is a report; the numbers are attributes."""

    def __init__(self, before, after, lines, reads, kept, recorded):
        for name, count in after.items():
            setattr(self, name, count - before[name])
        self.lines, self.reads, self.kept, self.recorded = lines, reads, kept, recorded

    def __str__(self):
        return "\n".join([self._head(), *self.lines, *self._read_lines(), self.kept, self.recorded])

    __repr__ = __str__

    def _head(self):
        if not self.kernels:
            return f"nothing was put off: calls on fewer than {_WORTHWHILE:,} elements, and those that cannot wait, run at once"
        head = (
            f"{_counted(self.kernels, 'call')} put off, {self.fused} of them joined in {_counted(self.groups, 'group')}"
        )
        dropped = f", {self.dropped} never made" if self.dropped else ""
        return f"{head}{dropped}; {_counted(self.plans, 'new plan')}"

    @property
    def graph_break_count(self):
        """How many lines looked at what a tensor holds: after each of them there is another graph."""
        return len(self.reads)

    @property
    def graph_count(self):
        """One, and one more after each break."""
        return 1 + self.graph_break_count

    @property
    def op_count(self):
        """How many calls were put off."""
        return self.kernels

    @property
    def break_reasons(self):
        """The lines that looked at what a tensor holds."""
        return self.reads

    def _read_lines(self):
        return [f"  what a tensor holds was looked at: {read}" for read in self.reads]


def _counted(count, what):
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _kept(times):
    """Which way such calls go, and why."""
    if times is None:
        return "way: not settled yet, calls are made both ways and the faster way is kept"
    collected, plain, as_it_is = times
    way = "called as it is" if as_it_is else "collected"
    return f"way: {way} ({collected / 1e3:.1f} us collected, {plain / 1e3:.1f} us as it is)"


def _recorded(found):
    """Whether such calls are made without Python, and why."""
    if found is None:
        return "without Python: not yet, short functions are recorded for that after some hundreds of calls"
    if isinstance(found, str):
        return f"without Python: no, {found}"
    plain, recorded, without = found
    if max(plain, recorded) == _NEVER:
        return "without Python: recorded, calls are made with and without it and the faster way is kept"
    answer = "yes" if without else "recorded, but Python is faster"
    return f"without Python: {answer} ({recorded / 1e3:.2f} us without, {plain / 1e3:.2f} us with it)"


class _Reads:
    """Where a program looks at what tensors hold."""

    def __init__(self):
        self.places = []

    def __call__(self, what):
        frame = sys._getframe(1)
        while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] == __name__.split(".")[0]:
            frame = frame.f_back
        place = f"{what} at {frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}"
        if place not in self.places:
            self.places.append(place)


def _explain(f, args, kwargs):
    """Calls the function with its kernels collected and tells what was put off, what was joined, which plans were new, and
    how the compiled function makes such calls."""
    _C._lazy_run()
    before, reads = _C._lazy_counts(), _Reads()
    _C._lazy_report(True)
    outer = _C._watch_reads(None if f._is_whole else reads)
    try:
        f._collected(*args, **kwargs)
        _C._lazy_run()
    finally:
        _C._watch_reads(outer)
        after, lines = _C._lazy_counts(), _C._lazy_report(False)
    found = _kept(f._times(*args, **kwargs)), _recorded(f._recorded(*args, **kwargs))
    return _Explanation(before, after, lines, reads.places, *found)


def _explained(f, *args, **kwargs):
    """The same of any function, with calls on few elements put off too."""
    return _explain(_C._Collected(f, _collecting(_extent(_ALL), 0), True), args, kwargs)


def _refuse_read(what):
    """Called when a function that was compiled with ``fullgraph=True`` looks at what a tensor holds: a branch by that would
    end the graph. An assertion does not."""
    if what == "bool()" and not _is_assertion(sys._getframe(1)):
        raise _unsupported(
            "Data-dependent branching: a tensor decides which way a function goes that was compiled with fullgraph=True"
        )


def _refuse_break(message):
    """The same for a break that a program asks for."""
    watcher = _C._watch_reads(None)
    _C._watch_reads(watcher)
    if watcher is _refuse_read:
        raise _unsupported(
            f"Call to `torch._dynamo.graph_break()` in a function compiled with fullgraph=True. {message}"
        )


def _is_assertion(frame):
    import dis

    ahead = [i for i in dis.get_instructions(frame.f_code) if i.offset > frame.f_lasti and i.opname != "NOT_TAKEN"][:2]
    return any(i.opname == "LOAD_ASSERTION_ERROR" or i.argval is AssertionError for i in ahead)


def _unsupported(text):
    from wisp._dynamo_off import exc

    return exc.Unsupported(text)


_NEVER = 2**63 - 1
_MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")


def compile(model=None, *, fullgraph=False, dynamic=None, backend="inductor", mode=None, options=None, disable=False):
    """The function or module, with pointwise calls fused. Nothing is compiled and nothing has to warm up.

    It takes PyTorch's arguments. With ``fullgraph=True``, a branch by what a tensor holds is an error, as it is there; all
    else is met by any program, since calls are recorded as they happen. Sizes are never part of a plan, as with
    ``dynamic=True``. ``backend``, ``mode`` and ``options`` choose nothing: there is one way. ``compile(f).explain(*args)``
    prints what was put off and joined.

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
    if options is not None and not isinstance(options, dict):
        raise TypeError(f"compile(): options must be a dict, got {type(options).__name__}")
    if not (backend is None or callable(backend)):
        _check_backend(backend)
    if disable or isinstance(model, type):  # what a class makes is of that class
        return model
    import wisp

    if isinstance(model, wisp.nn.Module):
        return _compiled_module(model, fullgraph)
    if type(model) is _C._Collected and model._is_compiled:
        model = model._function
    return _collected(model, _LARGE, True, bool(fullgraph))


def _check_backend(name):
    if not isinstance(name, str):
        raise TypeError(f"compile(): backend must be a string or a function, got {type(name).__name__}")
    if name != "inductor":
        from wisp.compiler import lookup_backend

        lookup_backend(name)


def _compiled_module(module, fullgraph):
    from wisp.nn._compiled import OptimizedModule

    return OptimizedModule(module, (_LARGE, True, bool(fullgraph)))
