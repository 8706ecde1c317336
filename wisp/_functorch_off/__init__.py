"""What programs find as torch._functorch: settings of how gradients of compiled graphs are made, kept and without effect."""

from wisp._functorch_off import config

__all__ = ["config"]


def __getattr__(name):
    from wisp._missing import MissingName

    raise MissingName("torch._functorch", name)
