"""Short-time Fourier transforms, back: frames added up where they overlap."""

import wisp
from wisp.onnx._export.lowerings import complex as complex_numbers
from wisp.onnx._export.lowerings.shapes import LOWERINGS as SHAPES
from wisp.onnx._export.lowerings.shapes import pad_constant, unfold
from wisp.onnx._export.values import Unsupported

_END = 2**63 - 1


def _padded(g, x, pad):
    made = pad_constant(g, x, pad)
    made.sizes = (None,) * x.rank
    return made


def _whole_window(g, window, length, n_fft, dtype):
    """The window in the middle of a frame."""
    if window is None:
        before = (n_fft - length) // 2
        return g.constant(wisp.nn.functional.pad(wisp.ones(length, dtype=dtype), (before, n_fft - length - before)))
    before = (n_fft - length) // 2
    return _padded(g, g.cast(window, dtype), [before, n_fft - length - before])


def _overlapped(g, frames, n_fft, hop):
    """(..., frame, number) as a signal: blocks as long as a step, shifted by their place in the frame."""
    blocks = -(-n_fft // hop)
    front = frames.rank - 2
    if blocks * hop > n_fft:
        frames = _padded(g, frames, [0, blocks * hop - n_fft])
    total = None
    for i in range(blocks):
        part = g.slice(frames, [i * hop], [(i + 1) * hop], [front + 1])
        part.sizes = (None,) * (front + 2)
        part = _padded(g, part, [0, 0, i, blocks - 1 - i])
        total = part if total is None else g.op("Add", total, part)
    return g.op("Reshape", total, [*[0] * front, -1], sizes=(None,) * (front + 1))


def _stft(g, x, n_fft, hop=None, win_length=None, window=None, center=True, pad_mode="reflect", normalized=False,
          onesided=None, return_complex=None, align_to_window=None):  # fmt: skip
    if complex_numbers.is_complex(x) or (window is not None and complex_numbers.is_complex(window)):
        raise Unsupported("short-time Fourier transforms of complex numbers")
    hop, win_length, rank = hop or n_fft // 4, win_length or n_fft, x.rank
    if center:
        x = SHAPES["pad"](g, x, [n_fft // 2] * 2, pad_mode)
    elif align_to_window:
        before = (n_fft - win_length) // 2
        x = _padded(g, x, [before, n_fft - win_length - before])
    x.sizes = (None,) * rank
    frames = unfold(g, x, -1, n_fft, hop)
    frames.sizes = (*(None,) * rank, n_fft)
    if window is not None or win_length < n_fft:
        frames = g.op("Mul", frames, _whole_window(g, window, win_length, n_fft, x.dtype), sizes=frames.sizes)
    found = complex_numbers.LOWERINGS["_fft_r2c"](g, frames, [-1], 1 if normalized else 0, onesided is not False)
    found.sizes = (None,) * (rank + 1)
    found = complex_numbers.LOWERINGS["transpose"](g, found, -2, -1)
    return found if return_complex else complex_numbers.pairs(found)


def _istft(g, x, n_fft, hop=None, win_length=None, window=None, center=True, normalized=False, onesided=None,
           length=None, return_complex=False):  # fmt: skip
    if return_complex:
        raise Unsupported("a signal of complex numbers")
    hop, win_length = hop or n_fft // 4, win_length or n_fft
    bins = n_fft // 2 + 1
    turned = complex_numbers.LOWERINGS["transpose"](g, x, -2, -1)
    turned.sizes = (*x.sizes[:-2], x.sizes[-1], x.sizes[-2])
    half = complex_numbers.LOWERINGS["slice"](g, turned, -1, 0, bins, 1)
    half.sizes = (*turned.sizes[:-1], bins)
    frames = complex_numbers.LOWERINGS["_fft_c2r"](g, half, [-1], 1 if normalized else 2, n_fft)
    frames.sizes = (*turned.sizes[:-1], n_fft)
    shape = _whole_window(g, window, win_length, n_fft, frames.dtype)
    frames = g.op("Mul", frames, shape, sizes=frames.sizes)
    squares = g.expand(g.op("Mul", shape, shape), [g.size(x, -1), n_fft])  # each frame was windowed twice
    squares.sizes = (x.sizes[-1], n_fft)
    signal, envelope = (_overlapped(g, part, n_fft, hop) for part in (frames, squares))
    return _cut(g, signal, envelope, n_fft, hop, n_fft // 2 if center else 0, length)


def _cut(g, signal, envelope, n_fft, hop, start, length):
    """The part that was asked for; what is missing at the end is 0."""
    surplus = -(-n_fft // hop) * hop - n_fft
    behind = surplus + (start if length is None else 0)
    end = -behind if behind else _END
    signal, envelope = (_slice(g, part, start, end) for part in (signal, envelope))
    if length is None:
        return g.op("Div", signal, envelope)
    signal, envelope = (_slice(g, part, 0, length) for part in (signal, envelope))
    found = g.op("Div", signal, envelope)
    return _slice(g, _padded(g, found, [0, length]), 0, length)


def _slice(g, x, start, end):
    made = g.slice(x, [start], [end], [x.rank - 1])
    made.sizes = (None,) * x.rank
    return made


LOWERINGS = {"stft": _stft}
COMPLEX = {"stft": _stft, "istft": _istft}
