"""Things around tensors and modules."""

_SUBMODULES = ("data", "dlpack", "hooks", "safetensors")


def __getattr__(name):
    if name in _SUBMODULES:
        from importlib import import_module

        return import_module(f"wisp.utils.{name}")
    raise AttributeError(f"module 'wisp.utils' has no attribute '{name}'")
