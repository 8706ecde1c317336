"""Settings of the process that wisp accepts for scripts written for more than one kind of machine."""

from importlib import import_module

from wisp import _C

_state = {"deterministic": False, "warn_only": False, "interop_threads": 1, "matmul_precision": "highest",
          "warn_always": False}  # fmt: skip


def get_default_device():
    """Where new tensors live unless a call says so."""
    return _C._get_default_device()


def set_default_device(device):
    """Where new tensors live from now on: "cpu" (or None), or "meta" for shapes without values."""
    _C._set_default_device(device)


def get_device_module(device=None):
    """The module of a kind of device, ``wisp.cpu`` if none is named."""
    name = "cpu" if device is None else _C.device(device).type
    if name not in ("cpu", "cuda"):
        raise RuntimeError(f"Device '{name}' does not have a corresponding module registered as 'wisp.{name}'.")
    return import_module(f"wisp.{name}")


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Accepted: all of wisp's algorithms are deterministic, for any number of threads."""
    _state["deterministic"], _state["warn_only"] = bool(mode), bool(mode and warn_only)


def are_deterministic_algorithms_enabled():
    """What use_deterministic_algorithms() was last given."""
    return _state["deterministic"]


def is_deterministic_algorithms_warn_only_enabled():
    """Whether use_deterministic_algorithms() was last called with ``warn_only=True``."""
    return _state["warn_only"]


_DEBUG_MODES = ("default", "warn", "error")


def set_deterministic_debug_mode(debug_mode):
    """use_deterministic_algorithms() by name or number: "default" (0), "warn" (1) or "error" (2)."""
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if debug_mode in _DEBUG_MODES:
        debug_mode = _DEBUG_MODES.index(debug_mode)
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(
            f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, 0, 1 or 2, got {debug_mode}"
        )
    use_deterministic_algorithms(debug_mode > 0, warn_only=debug_mode == 1)


def get_deterministic_debug_mode():
    """What set_deterministic_debug_mode() was last given, as a number."""
    return (1 if _state["warn_only"] else 2) if _state["deterministic"] else 0


def get_num_interop_threads():
    """How many operators may run side by side: one, each on several threads."""
    return _state["interop_threads"]


def set_num_interop_threads(num):
    """Accepted and remembered; operators run one after the other."""
    if not isinstance(num, int) or num <= 0:
        raise RuntimeError(f"expected a positive number of threads, got {num!r}")
    _state["interop_threads"] = num


def get_float32_matmul_precision():
    """What set_float32_matmul_precision() was last given."""
    return _state["matmul_precision"]


def set_float32_matmul_precision(precision):
    """Accepted: products of float32 matrices are always computed in float32 or better."""
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(f"precision must be one of 'highest', 'high' or 'medium', got {precision!r}")
    _state["matmul_precision"] = precision


def set_flush_denormal(mode):
    """False: wisp computes with denormal numbers and cannot be told not to."""
    return False


def set_warn_always(b):
    """Accepted and remembered: Python's warning filters decide how often a warning is shown."""
    if not isinstance(b, bool):
        raise TypeError(f"set_warn_always(): expected a bool, got {type(b).__name__}")
    _state["warn_always"] = b


def is_warn_always_enabled():
    """What set_warn_always() was last given."""
    return _state["warn_always"]
