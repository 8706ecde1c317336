"""What programs find as torch._dynamo: hints to a compiler of bytecode, which wisp has none of. Plans of wisp.compile do not
depend on sizes or addresses, so there is nothing to be told."""

from wisp.compiler import allow_in_graph, disable, is_compiling, list_backends, reset

__all__ = [
    "allow_in_graph", "disable", "is_compile_supported", "is_compiling", "list_backends", "mark_dynamic", "mark_static", "mark_static_address",
    "maybe_mark_dynamic", "reset",
]  # fmt: skip

__path__ = []  # torch._dynamo.utils is this module too


def mark_static_address(t, guard=False):
    """Does nothing."""


def mark_dynamic(t, index, *, hint_override=None, min=None, max=None, specialize_on=None):
    """Does nothing."""


def mark_static(t, index=None):
    """Does nothing."""


maybe_mark_dynamic = mark_static


def is_compile_supported(device_type):
    """False: there is no compiler of bytecode for any device."""
    return False


def __getattr__(name):
    from wisp._missing import MissingName

    raise MissingName("torch._dynamo", name)
