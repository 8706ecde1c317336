"""What programs find as torch._dynamo: hints to a compiler of bytecode, which wisp has none of. Plans of wisp.compile do not
depend on sizes or addresses, so there is nothing to be told."""

import contextlib
import sys

from wisp._dynamo_off import config, exc, utils
from wisp._dynamo_off.utils import is_compile_supported
from wisp._lazy import _explained, compile
from wisp.compiler import (
    allow_in_graph,
    assume_constant_result,
    disable,
    is_compiling,
    list_backends,
    lookup_backend,
    register_backend,
    reset,
    set_stance,
    substitute_in_graph,
)
from wisp.nn._compiled import OptimizedModule

__all__ = [
    "OptimizedModule", "TransformGetItemToIndex", "allow_in_graph", "assume_constant_result", "config", "disable",
    "disallow_in_graph", "error_on_graph_break", "exc", "explain", "forbid_in_graph", "graph_break",
    "is_compile_supported", "is_compiling", "is_dynamo_supported", "is_inductor_supported", "list_backends",
    "lookup_backend", "mark_dynamic", "mark_static", "mark_static_address", "maybe_mark_dynamic", "nonstrict_trace",
    "optimize", "optimize_assert", "register_backend", "reset", "reset_code_caches", "run", "set_stance", "skip_frame",
    "substitute_in_graph", "utils",
]  # fmt: skip

# Modules of torch._dynamo that are this one too, for programs that find them without importing them.
eval_frame = decorators = external_utils = backends = sys.modules[__name__]


def mark_static_address(t, guard=False):
    """Does nothing."""


def mark_dynamic(t, index, *, hint_override=None, min=None, max=None, specialize_on=None):
    """Does nothing."""


def mark_static(t, index=None):
    """Does nothing."""


maybe_mark_dynamic = mark_static
disallow_in_graph = forbid_in_graph = nonstrict_trace = allow_in_graph
reset_code_caches = reset


def graph_break(msg=""):
    """Ends nothing, but for a function that was compiled with ``fullgraph=True``: there it is an error."""
    from wisp._lazy import _refuse_break

    _refuse_break(msg)


def skip_frame(msg=""):
    """Does nothing."""


@contextlib.contextmanager
def error_on_graph_break(error_on_graph_break):
    """Changes nothing: that is up to ``fullgraph``."""
    yield


def optimize(
    backend="inductor", *, nopython=False, guard_export_fn=None, guard_fail_fn=None, disable=False, dynamic=None
):
    """A decorator: wisp.compile with these arguments."""
    return compile(fullgraph=nopython, dynamic=dynamic, backend=backend, disable=disable)


def optimize_assert(backend, **kwargs):
    """A decorator: wisp.compile with ``fullgraph=True``."""
    return compile(fullgraph=True, backend=backend)


def run(fn=None):
    """The function itself."""
    return allow_in_graph if fn is None else fn


def explain(f, *args, **kwargs):
    """``explain(f)(*args)`` makes the call with all kernels collected, and tells what ``wisp.compile(f).explain`` tells."""
    return _explained(f, *args, **kwargs) if args or kwargs else lambda *args, **kwargs: _explained(f, *args, **kwargs)


class TransformGetItemToIndex(contextlib.nullcontext):
    """A context in which vmapped functions may index by tensors. They may do so anywhere."""


def is_dynamo_supported():
    """True: wisp.compile works wherever wisp does."""
    return True


is_inductor_supported = is_dynamo_supported


def __getattr__(name):
    from wisp._missing import MissingName

    raise MissingName("torch._dynamo", name)
