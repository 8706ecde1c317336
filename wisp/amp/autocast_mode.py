"""autocast(), and the settings behind it. Only the CPU has an effect; what is said of other devices is remembered."""

import functools
import threading
import warnings

from wisp import _C

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]

_OTHER_DEVICES = ("cuda", "xpu", "mps", "hpu", "mtia", "xla", "ipu", "privateuseone")
_CPU_DTYPES = (_C.bfloat16, _C.float16)


class _Settings(threading.local):
    """Of a thread: how deep autocast() is nested, and what other devices are set to."""

    def __init__(self):
        self.nesting = 0
        self.enabled = {}
        self.dtypes = {}


_settings = _Settings()


def _known(device_type):
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if device_type != "cpu" and device_type not in _OTHER_DEVICES:
        raise RuntimeError(f"Expected one of cpu, {', '.join(_OTHER_DEVICES)} as device type, got: {device_type}")
    return device_type


def is_autocast_available(device_type):
    """Whether autocast can be asked for on such a device."""
    return _known(device_type) == "cpu"


def is_autocast_enabled(device_type="cuda"):
    """Whether autocast is on for a device type."""
    return _C._autocast()[0] if _known(device_type) == "cpu" else _settings.enabled.get(device_type, False)


def set_autocast_enabled(device_type, enabled=None):
    """Switches autocast on or off."""
    if enabled is None:  # the old form, without a device
        device_type, enabled = "cuda", device_type
    if _known(device_type) == "cpu":
        _, dtype, keeps = _C._autocast()
        _C._set_autocast(enabled, dtype, keeps)
    else:
        _settings.enabled[device_type] = bool(enabled)


def get_autocast_dtype(device_type):
    """The dtype that autocast casts to."""
    return _C._autocast()[1] if _known(device_type) == "cpu" else _settings.dtypes.get(device_type, _C.float16)


def set_autocast_dtype(device_type, dtype):
    """Sets the dtype that autocast casts to."""
    if _known(device_type) == "cpu":
        enabled, _, keeps = _C._autocast()
        _C._set_autocast(enabled, dtype, keeps)
    else:
        _settings.dtypes[device_type] = dtype


def is_autocast_cache_enabled():
    """Whether casts of parameters are kept for the next use."""
    return _C._autocast()[2]


def set_autocast_cache_enabled(enabled):
    """Whether casts of parameters are to be kept for the next use."""
    on, dtype, _ = _C._autocast()
    _C._set_autocast(on, dtype, enabled)


def clear_autocast_cache():
    """Forgets the casts of parameters that are kept."""
    _C._forget_casts()


def autocast_increment_nesting():
    """Counts one more autocast() around."""
    _settings.nesting += 1
    return _settings.nesting


def autocast_decrement_nesting():
    """Counts one less."""
    _settings.nesting -= 1
    return _settings.nesting


def is_autocast_cpu_enabled():
    """is_autocast_enabled("cpu")"""
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled):
    """set_autocast_enabled("cpu", enabled)"""
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype():
    """get_autocast_dtype("cpu")"""
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype):
    """set_autocast_dtype("cpu", dtype)"""
    set_autocast_dtype("cpu", dtype)


class autocast:
    """Inside, products and convolutions of float32 tensors are computed in ``dtype``, losses and decompositions of
    narrower ones in float32; everything else in the dtype of its arguments. A context manager and a decorator.

    Parameters are cast once per context, unless ``cache_enabled`` is False. Gradients arrive in the dtype of the
    parameters.

    >>> import wisp
    >>> x = wisp.ones(2, 2)
    >>> with wisp.autocast("cpu", dtype=wisp.bfloat16):
    ...     (x @ x).dtype, (x + x).dtype
    (wisp.bfloat16, wisp.float32)
    """

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        self.device = _known(device_type)
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self._enabled = bool(enabled) and self._possible(device_type)
        self._cache_enabled = is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        self._before = []

    def _possible(self, device_type):
        if device_type != "cpu":
            name = device_type.upper()
            warnings.warn(f"{name} is not available. Disabling autocast.", UserWarning, stacklevel=3)
            return False
        if self.fast_dtype not in _CPU_DTYPES:
            warnings.warn(
                "In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
                "CPU Autocast only supports dtypes of bfloat16, float16 currently.",
                UserWarning, stacklevel=3,
            )  # fmt: skip
            return False
        return True

    def __enter__(self):
        self._before.append((is_autocast_enabled(self.device), get_autocast_dtype(self.device),
                             is_autocast_cache_enabled()))  # fmt: skip
        if self._enabled or self.device != "cpu":
            set_autocast_dtype(self.device, self.fast_dtype)
        set_autocast_enabled(self.device, self._enabled)
        set_autocast_cache_enabled(self._cache_enabled)
        autocast_increment_nesting()
        return self

    def __exit__(self, *exc):
        if autocast_decrement_nesting() == 0:
            clear_autocast_cache()
        enabled, dtype, keeps = self._before.pop()
        set_autocast_dtype(self.device, dtype)
        set_autocast_enabled(self.device, enabled)
        set_autocast_cache_enabled(keeps)
        return False

    def __call__(self, func):
        @functools.wraps(func)
        def wrapper(*args, **kwargs):
            with self:
                return func(*args, **kwargs)

        return wrapper


def _cast(value, device_type, dtype):
    if isinstance(value, _C.Tensor):
        fits = value.is_floating_point() and value.device.type == device_type and value.dtype is not _C.float64
        return value.to(dtype) if fits else value
    if isinstance(value, dict):
        return {_cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        cast = [_cast(v, device_type, dtype) for v in value]
        return type(value)(*cast) if hasattr(value, "_fields") else type(value)(cast)
    return value


def custom_fwd(fwd=None, *, device_type, cast_inputs=None):
    """Decorates ``forward`` of an autograd.Function: with ``cast_inputs``, it gets its tensors in that dtype and runs
    without autocast; otherwise with the autocast around it, which ``backward`` then has too."""
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
    _known(device_type)

    @functools.wraps(fwd)
    def decorated(*args, **kwargs):
        ctx = args[0]
        ctx._dtype = get_autocast_dtype(device_type)
        on = is_autocast_enabled(device_type)
        if cast_inputs is None:
            ctx._fwd_used_autocast = on
            return fwd(*args, **kwargs)
        ctx._fwd_used_autocast = False
        if not on:
            return fwd(*args, **kwargs)
        with autocast(device_type=device_type, enabled=False):
            return fwd(*_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))

    return decorated


def custom_bwd(bwd=None, *, device_type):
    """Decorates ``backward`` of an autograd.Function whose ``forward`` has custom_fwd: it runs with the same autocast."""
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)
    _known(device_type)

    @functools.wraps(bwd)
    def decorated(*args, **kwargs):
        ctx = args[0]
        with autocast(device_type=device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return bwd(*args, **kwargs)

    return decorated
