"""Exporting complex numbers, as pairs, and Fourier transforms."""

import pytest

onnx = pytest.importorskip("onnx")

import wisp
from tests.onnx_exports import check, export_and_check, size_names
from wisp import nn

R = wisp.randn
pair = wisp.view_as_real


def spectrum(x):
    return pair(wisp.fft.fft(x))


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("opset", [17, 20])
def test_transforms(norm, opset):
    def forward_and_back(x):
        half, whole = wisp.fft.rfft(x, norm=norm), wisp.fft.fft2(x, norm=norm)
        back = wisp.fft.ifft2(whole, norm=norm), wisp.fft.irfft(half, n=x.shape[-1], norm=norm)
        return pair(half), pair(whole), pair(back[0]), back[1], wisp.fft.irfft(half, norm=norm)

    export_and_check(forward_and_back, R(3, 4, 6), opset_version=opset, tolerance=1e-4)


@pytest.mark.parametrize("length", [5, 8])
def test_odd_and_even_lengths(length):
    export_and_check(lambda x: wisp.fft.irfft(wisp.fft.rfft(x), n=length), R(2, length), tolerance=1e-4)
    export_and_check(lambda x: wisp.fft.irfftn(wisp.fft.rfftn(x), s=(3, length)), R(3, length), tolerance=1e-4)
    export_and_check(lambda x: pair(wisp.fft.rfft(x, n=length + 2)), R(2, length), tolerance=1e-4)
    export_and_check(lambda x: wisp.fft.hfft(wisp.fft.ihfft(x), n=length), R(2, length), tolerance=1e-4)


def test_sizes_stay_open():
    assert size_names(export_and_check(spectrum, R(3, 4), tolerance=1e-4)) == [["x_dim_0", "x_dim_1"]]


def test_transforms_of_windows():
    window = wisp.hann_window(8)

    def loudness(x):
        return wisp.stft(x, 8, 4, window=window, return_complex=True).abs()

    export_and_check(loudness, R(2, 32), tolerance=1e-4)


def arithmetic(x, y):
    a, b = wisp.view_as_complex(x), wisp.view_as_complex(y)
    found = a * b - 2 * a, a / b, (a + 1.5).conj() / 3, -a * (1 + 2j), a.sum(0), a.mean(), a @ b.t()
    return [pair(z) for z in found], a.real * b.imag, a.abs(), a.angle()


def test_arithmetic():
    export_and_check(arithmetic, R(3, 4, 2), R(3, 4, 2), tolerance=1e-4)


def moves(x):
    a = wisp.view_as_complex(x)
    found = a.t(), a[1], a[:, 1:3], a.reshape(-1), a.unsqueeze(-1), wisp.cat([a, a], -1), wisp.stack([a, a]), a.flip(-1)
    return [pair(z) for z in found], pair(wisp.complex(x[..., 0], x[..., 1])), pair(a.permute(1, 0).roll(1, -1))


def test_moves():
    export_and_check(moves, R(3, 4, 2))


class Spectral(nn.Module):
    """A layer that multiplies in the space of frequencies."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(wisp.randn(2, 3, 5, dtype=wisp.complex64))

    def forward(self, x):
        return wisp.fft.irfft(wisp.einsum("bif,iof->bof", wisp.fft.rfft(x), self.weight), n=8)


def test_complex_parameters():
    model = export_and_check(Spectral(), R(4, 2, 8), tolerance=1e-4)
    assert size_names(model)[0][:2] == ["x_dim_0", ""]


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: wisp.fft.fft(x).mul_(2).real, "writes complex"),
        (lambda x: wisp.fft.fft(x).real.mul_(2), "view"),
        (lambda x: wisp.fft.fft(x).tan().real, "tan"),
    ],
)
def test_what_is_refused(function, reason):
    with pytest.raises(wisp.onnx.UnsupportedOperatorError, match=reason):
        wisp.onnx.export(function, R(4))


COMPLEX = wisp.complex64
EDGES = {
    "an argument": (lambda x: x.real + x.abs(), [wisp.randn(3, 4, dtype=COMPLEX)]),
    "a result": (wisp.fft.fft, [R(3, 8)]),
    "as it came": (lambda x: (x, x), [wisp.randn(3, dtype=COMPLEX)]),
    "a product": (lambda x, w: x @ w, [wisp.randn(3, 4, dtype=COMPLEX), wisp.randn(4, 2, dtype=COMPLEX)]),
    "a number of Python": (lambda x: x * 2j + 1, [R(3)]),
    "of double precision": (lambda x: x.conj() - 1j, [wisp.randn(3, dtype=wisp.complex128)]),
    "a constant": (lambda x: (x, wisp.tensor([1j, 2]) * 1), [R(2)]),
}


@pytest.mark.parametrize("name", EDGES)
def test_complex_arguments_and_results_are_pairs(name):
    function, args = EDGES[name]
    model = wisp.onnx.export(function, tuple(args))

    def of_pairs(*given):
        found = function(
            *[wisp.view_as_complex(x) if own.is_complex() else x for x, own in zip(given, args, strict=True)]
        )
        found = found if isinstance(found, tuple) else (found,)
        return tuple(pair(x) if x.is_complex() else x for x in found)

    check(model, of_pairs, [pair(x) if x.is_complex() else x for x in args], tolerance=1e-4)


def test_transforms_need_a_version():
    with pytest.raises(wisp.onnx.UnsupportedOperatorError, match="opset_version 17"):
        wisp.onnx.export(spectrum, R(4), opset_version=16)
