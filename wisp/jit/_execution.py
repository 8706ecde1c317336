"""How compiled functions are run."""

from contextlib import contextmanager

from wisp._C import _jit
from wisp.jit._views import inlined

# Of PyTorch's fusers: whether they fuse what runs on a CPU.
_FUSERS = {"none": False, "fuser0": True, "fuser1": True, "fuser2": False, "fuser3": True}
_strategy = [("STATIC", 2), ("DYNAMIC", 10)]


@contextmanager
def _running(**changed):
    before = _jit.execution()
    _jit.execution(*(dict(zip(("optimized", "fuses"), before, strict=True)) | changed).values())
    try:
        yield
    finally:
        _jit.execution(*before)


def optimized_execution(should_optimize):
    """A context manager: whether compiled functions that are called inside, on this thread, may do more than run their graph
    node by node, in order.

    Results are the same up to rounding. (The graphs themselves are changed by ``freeze()`` only.)

    >>> f = wisp.jit.trace(lambda x: (x * 2).tanh().exp(), wisp.ones(2))
    >>> with wisp.jit.optimized_execution(False):
    ...     f(wisp.zeros(2))
    tensor([1., 1.])
    """
    return _running(optimized=bool(should_optimize))


def fuser(name):
    """A context manager: with ``"none"``, compiled functions that are called inside, on this thread, run every kernel by itself.

    There is one fuser, so of PyTorch's names "fuser0", "fuser1" and "fuser3" all mean it, and "fuser2", which is for GPUs, none.
    """
    if name not in _FUSERS:
        raise ValueError(f"unrecognized fuser option (name: {name}): expected one of {', '.join(_FUSERS)}")
    return _running(fuses=_FUSERS[name])


def set_fusion_strategy(strategy):
    """Takes PyTorch's pairs ``("STATIC" or "DYNAMIC", depth)``, and gives those before.

    There they bound how often a function is compiled anew for other sizes. Here none ever is, because plans serve all sizes, so
    there is nothing for them to change.
    """
    global _strategy
    pairs = [(kind, depth) for kind, depth in strategy]
    for kind, depth in pairs:
        if kind not in ("STATIC", "DYNAMIC"):
            raise ValueError(f"FusionBehavior only supported 'STATIC' or 'DYNAMIC', got: {kind}")
        if not isinstance(depth, int):
            raise TypeError(f"set_fusion_strategy(): a depth must be an int, got {type(depth).__name__}")
    before, _strategy = _strategy, pairs
    return before


def enable_onednn_fusion(enabled):
    """Whether compiled functions that this thread calls join kernels, until it is said again.

    There is one fuser, which has convolutions and what follows them done by oneDNN in one step, so this is what ``fuser()`` switches.
    """
    optimized, _ = _jit.execution()
    _jit.execution(optimized, bool(enabled))


def onednn_fusion_enabled():
    """Whether compiled functions that this thread calls join kernels: unless switched off, they do."""
    return all(_jit.execution())


@contextmanager
def strict_fusion():
    """In scripts, a context in which every call on tensors has to be one that is made in one step with others: pointwise
    calls, and products, ``cat``, ``chunk`` and ``split`` between them. Others are an error of compilation. In Python it means nothing.

    >>> @wisp.jit.script
    ... def f(x):
    ...     with wisp.jit.strict_fusion():
    ...         return wisp.tanh(x * 2 + 1)
    >>> f(wisp.zeros(1))
    tensor([0.7616])
    """
    yield


def last_executed_optimized_graph():
    """The graph of the compiled function that Python called last, with the functions that it calls in the place of the calls.

    >>> f = wisp.jit.trace(lambda x: x * 2, wisp.ones(2))
    >>> f(wisp.ones(1))
    tensor([2.])
    >>> "aten::mul" in str(wisp.jit.last_executed_optimized_graph())
    True
    """
    function = _jit.last_called()
    if function is None:
        raise RuntimeError("no compiled function has been called, or the one that was called last is gone")
    return inlined(function.graph)
