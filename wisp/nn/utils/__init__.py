"""Helpers for modules and their training: clipping gradients, parametrizations, pruning, packed sequences."""

from wisp.nn.utils.clip_grad import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from wisp.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters

# Not on first use: these functions have the names of their modules, and importing those would hide them.
from wisp.nn.utils.spectral_norm import remove_spectral_norm, spectral_norm
from wisp.nn.utils.weight_norm import remove_weight_norm, weight_norm

# Imported on first use: names of functions and where they are, and modules.
_FUNCTIONS = {
    "convert_conv2d_weight_memory_format": "memory_format", "convert_conv3d_weight_memory_format": "memory_format",
    "fuse_conv_bn_eval": "fusion", "fuse_conv_bn_weights": "fusion", "fuse_linear_bn_eval": "fusion",
    "fuse_linear_bn_weights": "fusion", "skip_init": "init",
}  # fmt: skip
_SUBMODULES = (
    "clip_grad", "convert_parameters", "fusion", "init", "memory_format", "parametrizations", "parametrize", "prune",
    "rnn", "stateless",
)  # fmt: skip

__all__ = [  # noqa: PLE0604
    "clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm",
    "parameters_to_vector", "remove_spectral_norm", "remove_weight_norm", "spectral_norm", "vector_to_parameters",
    "weight_norm", *_FUNCTIONS,
]  # fmt: skip


def __getattr__(name):
    from importlib import import_module

    if name in _FUNCTIONS:
        found = getattr(import_module(f"{__name__}.{_FUNCTIONS[name]}"), name)
        globals()[name] = found
        return found
    if name in _SUBMODULES:
        return import_module(f"{__name__}.{name}")
    from wisp._missing import MissingName

    raise MissingName(__name__, name)


def __dir__():
    return sorted({*globals(), *_FUNCTIONS, *_SUBMODULES})
