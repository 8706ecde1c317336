"""What programs find as torch.fx while wisp has no symbolic traces: wrap(), with which they mark functions at import, and
Proxy, which they ask values whether they are."""

__all__ = ["Proxy", "wrap"]


class Proxy:
    """What stands for values in a symbolic trace. There are none here: nothing is one."""

    def __new__(cls, *args, **kwargs):
        raise TypeError("torch.fx.Proxy: there are no symbolic traces while wisp stands in for torch")


def wrap(fn_or_name):
    """The function, or its name, itself: it marks what is not to be traced."""
    return fn_or_name


def __getattr__(name):
    from wisp._missing import MissingName

    raise MissingName("torch.fx", name)
