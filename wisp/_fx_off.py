"""What programs find as torch.fx while wisp traces no programs: wrap(), with which they mark functions at import."""

__all__ = ["wrap"]


def wrap(fn_or_name):
    """The function, or its name, itself: it marks what is not to be traced."""
    return fn_or_name


def __getattr__(name):
    from wisp._missing import MissingName

    raise MissingName("torch.fx", name)
