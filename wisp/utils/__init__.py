"""Things around tensors and modules."""

_SUBMODULES = (
    "_pytree",
    "checkpoint",
    "collect_env",
    "data",
    "dlpack",
    "flop_counter",
    "hooks",
    "model_zoo",
    "safetensors",
    "tensorboard",
)


def __getattr__(name):
    if name in _SUBMODULES:
        from importlib import import_module

        return import_module(f"wisp.utils.{name}")
    raise AttributeError(f"module 'wisp.utils' has no attribute '{name}'")
