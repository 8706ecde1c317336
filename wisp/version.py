"""Which wisp this is."""

__version__ = "0.1.0"
cuda = None
hip = None
debug = False

_WISP, _TORCH = __version__, "2.13.0"  # and the PyTorch whose interface it has

STANDS_IN = "wisp stands in for torch here and does not have it; docs/status.md says what is missing"


def as_torch():
    """The version that programs written for torch are told: that of the interface."""
    from wisp.torch_version import TorchVersion

    return TorchVersion(f"{_TORCH}+wisp.{_WISP}")
