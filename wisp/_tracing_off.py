"""What libraries find as torch._subclasses and torch.fx.experimental.proxy_tensor: they ask whether a tensor is one without
values that stands for another while PyTorch traces. Nothing is traced so here."""

__all__ = ["FakeTensor", "FakeTensorMode", "get_proxy_mode", "is_fake"]

__path__ = []  # torch._subclasses.fake_tensor is this module too


class _Absent:
    def __new__(cls, *args, **kwargs):
        raise TypeError(
            f"{cls.__name__}: there are no fake tensors while wisp stands in for torch; see the device 'meta'"
        )


class FakeTensor(_Absent):
    """A tensor without values that says where it would live. There are none here: nothing is one."""


class FakeTensorMode(_Absent):
    """What makes such tensors."""


def is_fake(x):
    """False: nothing is."""
    return False


def get_proxy_mode():
    """None: nobody is tracing."""


def __getattr__(name):
    from wisp._missing import MissingName

    raise MissingName(__name__, name)
