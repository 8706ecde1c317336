"""wisp: tensors and automatic differentiation on the CPU, with PyTorch's names.

Importing wisp loads the native core and little else: submodules and rarely used functions are imported when first
used. Operators (``wisp.add`` ...) come from the core's table; their names hide some of Python's own in this file.
"""

from math import e, inf, nan, pi

from wisp import _waiting

with _waiting.briefly():
    from wisp import _C
from wisp._C import *

_C._set_library_folder(__path__[0] + "/")
globals().update(_C._functions)
del FunctionCtx, HookHandle, Node  # noqa: F821  (they live in wisp.autograd)
del einsum, tensordot  # noqa: F821  (wisp.functional has them, with more forms of arguments)
del from_dlpack  # noqa: F821  (wisp._basics has it, with more arguments)

from wisp import _tensor
from wisp.version import __version__

newaxis = None

# Imported on first use, by `wisp.name`.
_SUBMODULES = (
    "__config__", "_utils", "accelerator", "amp", "array_api", "autograd", "backends", "compiler", "cpu", "cuda", "distributed",
    "distributions", "fft", "func", "functional", "futures", "hub", "jit", "library", "linalg", "masked", "memory", "models",
    "multiprocessing", "nn", "onnx", "optim", "overrides", "random", "return_types", "serialization", "signal", "special",
    "storage", "testing", "torch_version", "types", "utils", "version",
)  # fmt: skip
# Where names live that are imported on first use too.
_HOMES = {
    "amp": ("GradScaler",),
    "amp.autocast_mode": (
        "autocast", "autocast_decrement_nesting", "autocast_increment_nesting", "clear_autocast_cache",
        "get_autocast_cpu_dtype", "get_autocast_dtype", "is_autocast_cache_enabled", "is_autocast_cpu_enabled",
        "is_autocast_enabled", "set_autocast_cache_enabled", "set_autocast_cpu_dtype", "set_autocast_cpu_enabled",
        "set_autocast_dtype", "set_autocast_enabled",
    ),
    "_basics": (
        "_assert", "_check", "_check_index", "_check_not_implemented", "_check_type", "_check_value", "addmv_",
        "as_strided_", "asarray", "clamp_max_", "clamp_min_", "detach_", "fill_", "from_dlpack", "from_file", "gcd_", "get_device",
        "index_put_", "is_complex", "is_conj", "is_distributed", "is_floating_point", "is_inference", "is_neg",
        "is_nonzero", "is_same_size", "is_signed", "is_storage", "is_tensor", "lcm_", "ldexp_", "numel", "resize_as_",
        "resolve_conj", "resolve_neg", "scalar_tensor", "to_dlpack", "typename", "xlogy_",
    ),
    "_checkpoint": ("Checkpoint",),
    "_lazy": ("compile", "lazy"),
    "_legacy": (
        "BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "ComplexDoubleTensor", "ComplexFloatTensor",
        "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor", "LongTensor", "ShortTensor", "set_default_tensor_type",
    ),
    "_lowrank": ("lobpcg", "pca_lowrank", "svd_lowrank"),
    "_ops": ("ops",),
    "_numbered": (
        "alpha_dropout_", "batch_norm", "binary_cross_entropy_with_logits", "cosine_embedding_loss", "dropout_",
        "feature_alpha_dropout", "feature_alpha_dropout_", "feature_dropout", "feature_dropout_", "frobenius_norm",
        "hinge_embedding_loss", "instance_norm", "kl_div", "margin_ranking_loss", "norm_except_dim",
        "poisson_nll_loss", "triplet_margin_loss",
    ),
    "_settings": (
        "are_deterministic_algorithms_enabled", "get_default_device", "get_deterministic_debug_mode", "get_device_module",
        "get_float32_matmul_precision", "get_num_interop_threads", "is_deterministic_algorithms_warn_only_enabled",
        "set_default_device", "set_deterministic_debug_mode", "set_float32_matmul_precision", "set_flush_denormal",
        "is_warn_always_enabled", "set_num_interop_threads", "set_warn_always", "use_deterministic_algorithms",
    ),
    "_storage": ("TypedStorage", "UntypedStorage"),
    "_summary": ("summary",),
    "_tensor_str": ("get_printoptions", "printoptions", "set_printoptions"),
    "_type_info": ("finfo", "iinfo"),
    "func": ("vmap",),
    "futures": ("Future",),
    "functional": (
        "broadcast_shapes", "cond", "einsum", "gradient", "histogramdd", "lu", "segment_reduce", "tensordot", "unique",
        "unique_consecutive", "unravel_index",
    ),
    "cuda": ("Event", "Stream"),
    "jit": ("ScriptFunction", "ScriptModule"),
    "random": ("get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"),
    "serialization": ("load", "save"),
}  # fmt: skip
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

# `from wisp import *` leaves Python's own types alone.
__all__ = [name for name in (*globals(), *_HOME_OF) if name[0] != "_" and name not in ("bool", "float", "int")]


def __getattr__(name):
    from importlib import import_module

    if name in _SUBMODULES:
        return import_module(f"wisp.{name}")
    home = "_foreach" if name.startswith("_foreach_") else _HOME_OF.get(name)
    if home is not None and hasattr(module := import_module(f"wisp.{home}"), name):
        value = globals()[name] = getattr(module, name)
        return value
    from wisp._missing import MissingName

    raise MissingName(__name__, name)


def __dir__():
    return sorted({*globals(), *_SUBMODULES, *_HOME_OF})
