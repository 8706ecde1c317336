"""What programs find as torch._logging: what PyTorch's compiler is to tell. There is nothing to be told."""

__all__ = ["set_logs"]


def set_logs(**what):
    """Does nothing."""


def __getattr__(name):
    from wisp._missing import MissingName

    raise MissingName("torch._logging", name)
