"""Fourier transforms, windows and mel filters. Transforms are computed in double precision."""

import math

import wisp
from wisp.onnx.ops._common import of_type, positive


def _dft_of_attribute(node, x, length=None):
    return _dft(node, x, length, wisp.tensor(node["axis"]))


def _dft(node, x, length=None, axis=None):
    """A transform of numbers whose real and imaginary parts lie along the last axis."""
    axis = positive(-2 if axis is None else int(axis.item()), x.ndim)
    n = None if length is None else int(length.item())
    signal = _as_complex(x)
    if not node["inverse"]:
        spectrum = wisp.fft.fft(signal, n, axis)
        if node["onesided"]:
            spectrum = spectrum.narrow(axis, 0, spectrum.shape[axis] // 2 + 1)
        return wisp.view_as_real(spectrum).to(x.dtype)
    if node["onesided"]:
        return wisp.fft.irfft(signal, n, axis).unsqueeze(-1).to(x.dtype)
    return wisp.view_as_real(wisp.fft.ifft(signal, n, axis)).to(x.dtype)


def _as_complex(x):
    """Complex numbers from a last axis with real parts, and imaginary ones if its size is 2."""
    if x.shape[-1] not in (1, 2):
        raise ValueError(f"the last axis holds real and imaginary parts, but its size is {x.shape[-1]}")
    parts = x.to(wisp.float64).unbind(-1)
    return wisp.complex(parts[0], parts[1] if len(parts) == 2 else wisp.zeros_like(parts[0]))


def _stft(node, x, step, window=None, length=None):
    """Transforms of overlapping pieces of signals of shape (batch, time, parts)."""
    if length is not None:
        n = int(length.item())
    else:
        n = x.shape[1] if window is None else len(window)
    pieces = _as_complex(x).unfold(1, n, int(step.item()))
    spectrum = wisp.fft.fft(pieces if window is None else pieces * window.to(wisp.float64), dim=-1)
    if node["onesided"]:
        spectrum = spectrum[..., : n // 2 + 1]
    return wisp.view_as_real(spectrum).to(x.dtype)


def _window(*weights):
    """A window that is a sum of cosines."""

    def run(node, size):
        n = int(size.item())
        angle = wisp.arange(n, dtype=wisp.float64) * (2 * math.pi / max(n if node["periodic"] else n - 1, 1))
        values = sum(weight * wisp.cos(k * angle) for k, weight in enumerate(weights))
        return of_type(values, node["output_datatype"])

    return run


def _mel_weights(node, bins, length, rate, lower, upper):
    """Triangular filters whose corners lie at equal distances on the mel scale."""
    bins, length, rate = int(bins.item()), int(length.item()), int(rate.item())
    low, high = (2595 * math.log10(1 + edge.item() / 700) for edge in (lower, upper))
    mels = low + wisp.arange(bins + 2, dtype=wisp.float64) * ((high - low) / (bins + 2))
    hertz = 700 * (10 ** (mels / 2595) - 1)
    left, center, right = wisp.floor((length + 1) * hertz / rate).unfold(0, bins, 1)
    j = wisp.arange(length // 2 + 1, dtype=wisp.float64).unsqueeze(1)
    rising = wisp.where(center > left, (j - left) / (center - left), 1.0)
    falling = (right - j) / (right - center)
    weights = wisp.where((j >= left) & (j <= center), rising, 0.0)
    weights = wisp.where((j >= center) & (j < right), falling, weights)
    return of_type(weights, node["output_datatype"])


OPERATORS = {
    "BlackmanWindow": [(17, _window(0.42, -0.5, 0.08))],
    "DFT": [(17, _dft_of_attribute), (20, _dft)],
    "HammingWindow": [(17, _window(25 / 46, -21 / 46))],
    "HannWindow": [(17, _window(0.5, -0.5))],
    "MelWeightMatrix": [(17, _mel_weights)],
    "STFT": [(17, _stft)],
}
