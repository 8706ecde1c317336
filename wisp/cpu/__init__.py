"""The CPU as a device among others: there is one, and what was asked of it is done when the call returns."""

__all__ = ["current_device", "device_count", "is_available", "is_initialized", "set_device", "synchronize"]


def is_available():
    """True."""
    return True


def is_initialized():
    """True."""
    return True


def device_count():
    """1."""
    return 1


def current_device():
    """The name of the one device, "cpu"."""
    return "cpu"


def set_device(device):
    """Does nothing."""


def synchronize(device=None):
    """Does nothing: there is nothing to wait for."""


def __getattr__(name):
    if name == "amp":
        from importlib import import_module

        return import_module("wisp.cpu.amp")
    raise AttributeError(f"module 'wisp.cpu' has no attribute '{name}'")
