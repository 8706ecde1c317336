"""The extension `fft` of the array API standard."""

from wisp import fft as _fft


def _line(name):
    operator = getattr(_fft, name)

    def function(x, /, *, n=None, axis=-1, norm="backward"):
        return operator(x, n=n, dim=axis, norm=norm)

    return function


def _volume(name):
    operator = getattr(_fft, name)

    def function(x, /, *, s=None, axes=None, norm="backward"):
        return operator(x, s=s, dim=axes, norm=norm)

    return function


def _frequencies(name):
    operator = getattr(_fft, name)

    def function(n, /, *, d=1.0, dtype=None, device=None):
        return operator(n, d, dtype=dtype, device=device)

    return function


def _shift(name):
    operator = getattr(_fft, name)

    def function(x, /, *, axes=None):
        return operator(x, dim=axes) if x.ndim else x.clone()

    return function


_FORMS = {
    _line: ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"),
    _volume: ("fftn", "ifftn", "rfftn", "irfftn"),
    _frequencies: ("fftfreq", "rfftfreq"),
    _shift: ("fftshift", "ifftshift"),
}
__all__ = [name for names in _FORMS.values() for name in names]

for _make, _names in _FORMS.items():
    for _name in _names:
        _function = globals()[_name] = _make(_name)
        _function.__name__ = _function.__qualname__ = _name
        _function.__doc__ = f"`wisp.fft.{_name}`."
