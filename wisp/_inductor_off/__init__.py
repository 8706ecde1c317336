"""What programs find as torch._inductor, which compiles the graphs of PyTorch: settings, which are kept and change nothing."""

from wisp._inductor_off import config
from wisp._lazy import _MODES
from wisp.compiler import cudagraph_mark_step_begin

__all__ = ["config", "cudagraph_mark_step_begin", "list_mode_options", "list_options"]


def list_options():
    """The names of settings, and so of what ``options`` of ``compile()`` may hold."""
    return config._names()


def list_mode_options(mode=None, dynamic=None):
    """The options that a mode stands for: none, whichever it is."""
    return {} if mode is not None else {mode: {} for mode in _MODES}


def __getattr__(name):
    from wisp._missing import MissingName

    raise MissingName("torch._inductor", name)
