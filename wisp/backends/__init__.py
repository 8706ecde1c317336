"""Switches of libraries that scripts turn; wisp has its own kernels, so most are only remembered."""

_SUBMODULES = ("cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp")


def __getattr__(name):
    if name in _SUBMODULES:
        from importlib import import_module

        return import_module(f"wisp.backends.{name}")
    raise AttributeError(f"module 'wisp.backends' has no attribute '{name}'")


def __dir__():
    return sorted({*globals(), *_SUBMODULES})
