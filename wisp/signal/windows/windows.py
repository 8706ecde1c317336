"""Window functions of M points. They differ in what they make of M places along a line."""

from math import pi

import wisp

__all__ = ["bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming",
           "hann", "kaiser", "nuttall"]  # fmt: skip


def _window(name, M, sym, dtype, layout, device, requires_grad, values):
    """The window that ``values(places, span)`` gives: places are 0 to M - 1, the span is their period.

    Numbers are computed in float64 and rounded at the end. A window of one point is 1.
    """
    dtype = dtype or wisp.get_default_dtype()
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout not in (None, wisp.strided):
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if dtype not in (wisp.float32, wisp.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    places = wisp.arange(M, dtype=wisp.float64, device=device)
    made = values(places, M - 1 if sym else M) if M > 1 else wisp.ones_like(places)
    return made.to(dtype).requires_grad_(requires_grad)


def _positive(what, value):
    if value <= 0:
        raise ValueError(f"{what} must be positive, got: {value} instead.")


def exponential(M, *, center=None, tau=1.0, sym=True, dtype=None, layout=wisp.strided, device=None,
                requires_grad=False):  # fmt: skip
    """``exp(-|n - center| / tau)``; only periodic windows may choose their centre.

    >>> wisp.signal.windows.exponential(3)
    tensor([0.3679, 1.0000, 0.3679])
    """
    _positive("Tau", tau)
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")

    def values(places, span):
        return (-(places - (span / 2 if center is None else center)).abs() / tau).exp()

    return _window("exponential", M, sym, dtype, layout, device, requires_grad, values)


def cosine(M, *, sym=True, dtype=None, layout=wisp.strided, device=None, requires_grad=False):
    """Half a period of a sine.

    >>> wisp.signal.windows.cosine(3)
    tensor([0.5000, 1.0000, 0.5000])
    """

    def values(places, span):
        return ((places + 0.5) * (pi / (span + 1))).sin()

    return _window("cosine", M, sym, dtype, layout, device, requires_grad, values)


def gaussian(M, *, std=1.0, sym=True, dtype=None, layout=wisp.strided, device=None, requires_grad=False):
    """``exp(-(n / std)**2 / 2)`` around the centre.

    >>> wisp.signal.windows.gaussian(3)
    tensor([0.6065, 1.0000, 0.6065])
    """
    _positive("Standard deviation", std)

    def values(places, span):
        return (-0.5 * ((places - span / 2) / std) ** 2).exp()

    return _window("gaussian", M, sym, dtype, layout, device, requires_grad, values)


def kaiser(M, *, beta=12.0, sym=True, dtype=None, layout=wisp.strided, device=None, requires_grad=False):
    """``i0(beta * sqrt(1 - x**2)) / i0(beta)`` for x from -1 to 1.

    >>> wisp.signal.windows.kaiser(3, beta=1.0)
    tensor([0.7898, 1.0000, 0.7898])
    """
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")

    def values(places, span):
        root = (1 - (2 * places / span - 1) ** 2).clamp(min=0).sqrt()
        return wisp.i0(beta * root) / wisp.i0(wisp.tensor(beta, dtype=wisp.float64))

    return _window("kaiser", M, sym, dtype, layout, device, requires_grad, values)


def bartlett(M, *, sym=True, dtype=None, layout=wisp.strided, device=None, requires_grad=False):
    """A triangle.

    >>> wisp.signal.windows.bartlett(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """

    def values(places, span):
        return 1 - (2 * places / span - 1).abs()

    return _window("bartlett", M, sym, dtype, layout, device, requires_grad, values)


def general_cosine(M, *, a, sym=True, dtype=None, layout=wisp.strided, device=None, requires_grad=False):
    """``a[0] - a[1] * cos(x) + a[2] * cos(2 * x) - ...`` over one period.

    >>> wisp.signal.windows.general_cosine(3, a=[0.5, 0.5])
    tensor([0., 1., 0.])
    """
    if not isinstance(a, (list, tuple)):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")

    def values(places, span):
        angles = places * (2 * pi / span)
        return sum((-1) ** k * factor * (k * angles).cos() for k, factor in enumerate(a))

    return _window("general_cosine", M, sym, dtype, layout, device, requires_grad, values)


def general_hamming(M, *, alpha=0.54, sym=True, dtype=None, layout=wisp.strided, device=None, requires_grad=False):
    """``alpha - (1 - alpha) * cos(x)`` over one period.

    >>> wisp.signal.windows.general_hamming(3, alpha=0.5)
    tensor([0., 1., 0.])
    """
    return general_cosine(M, a=[alpha, 1 - alpha], sym=sym, dtype=dtype, layout=layout, device=device,
                          requires_grad=requires_grad)  # fmt: skip


def hamming(M, *, sym=True, dtype=None, layout=wisp.strided, device=None, requires_grad=False):
    """``0.54 - 0.46 * cos(x)`` over one period.

    >>> wisp.signal.windows.hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """
    return general_hamming(M, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def hann(M, *, sym=True, dtype=None, layout=wisp.strided, device=None, requires_grad=False):
    """``0.5 - 0.5 * cos(x)`` over one period.

    >>> wisp.signal.windows.hann(3)
    tensor([0., 1., 0.])
    """
    return general_hamming(M, alpha=0.5, sym=sym, dtype=dtype, layout=layout, device=device,
                           requires_grad=requires_grad)  # fmt: skip


def blackman(M, *, sym=True, dtype=None, layout=wisp.strided, device=None, requires_grad=False):
    """``0.42 - 0.5 * cos(x) + 0.08 * cos(2 * x)`` over one period.

    >>> wisp.signal.windows.blackman(1)
    tensor([1.])
    """
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, dtype=dtype, layout=layout, device=device,
                          requires_grad=requires_grad)  # fmt: skip


def nuttall(M, *, sym=True, dtype=None, layout=wisp.strided, device=None, requires_grad=False):
    """Nuttall's minimal sum of four cosines.

    >>> wisp.signal.windows.nuttall(1)
    tensor([1.])
    """
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, dtype=dtype, layout=layout,
                          device=device, requires_grad=requires_grad)  # fmt: skip
