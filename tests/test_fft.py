"""Fourier transforms as a whole: accuracy, threads, instruction sets, and what their derivatives are."""

import numpy as np
import pytest

import wisp
from tests import fresh

# By vectors, by odd factors, by convolution, as columns and rows (from 65,536 complex64 numbers on).
LENGTHS = (1, 2, 7, 64, 96, 100, 97, 1000, 1024, 1536, 4802, 10007, 1 << 16, 3 << 15, 65537, 1 << 18)


def noise(*shape, seed=0):
    rng = np.random.RandomState(seed)
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


def error(got, want):
    return np.linalg.norm(got.numpy() - want) / np.linalg.norm(want)


@pytest.mark.parametrize("n", LENGTHS)
def test_float32_is_as_accurate_as_it_can_be(n):
    """Compared with transforms in double: the error grows like the number of steps, not of elements."""
    x = noise(n).astype("complex64")
    # A convolution is three transforms of twice the length.
    bound = 3e-8 * (3 + np.log2(n)) * (4 if n in (97, 10007, 65537) else 1)
    assert error(wisp.fft.fft(wisp.from_numpy(x)), np.fft.fft(x.astype("complex128"))) < bound
    real = x.real.copy()
    assert error(wisp.fft.rfft(wisp.from_numpy(real)), np.fft.rfft(real.astype("float64"))) < bound


@pytest.mark.parametrize("n", LENGTHS)
def test_back_and_forth(n):
    x = wisp.from_numpy(noise(2, n))
    assert wisp.allclose(wisp.fft.ifft(wisp.fft.fft(x)), x, rtol=0, atol=1e-13)
    assert wisp.allclose(wisp.fft.irfft(wisp.fft.rfft(x.real), n), x.real, rtol=0, atol=1e-13)


@pytest.mark.parametrize("shape", [(3, 1 << 16), (200, 1024), (300, 90), (40, 37, 30)])
def test_threads_change_nothing(shape):
    x = wisp.from_numpy(noise(*shape).astype("complex64"))
    before = wisp.get_num_threads()
    try:
        results = []
        for threads in (1, 2, 3):
            wisp.set_num_threads(threads)
            results.append(wisp.fft.fftn(x))
    finally:
        wisp.set_num_threads(before)
    assert wisp.equal(results[0], results[1])
    assert wisp.equal(results[0], results[2])


def test_instruction_sets_agree(monkeypatch):
    code = """if True:
        import wisp
        x = wisp.sin(wisp.arange(7 * 1200, dtype=wisp.float64)).reshape(7, 1200)
        total = 0
        for n in (5, 64, 90, 59, 128, 1000, 1200):
            for dim in (0, 1):
                y = wisp.fft.rfft(x, n=n, dim=dim)
                total += float((y.abs() * wisp.arange(y.numel(), dtype=wisp.float64).reshape(y.shape)).sum())
                total += float((wisp.fft.irfft(y, dim=dim, n=n) ** 2).sum())
        print(f"{total:.6e}")
    """
    results = set()
    for isa in ("baseline", "avx2", ""):
        monkeypatch.setenv("WISP_ISA", isa)
        results.add(fresh.python(code))
    assert len(results) == 1


def test_more_plans_than_are_kept():
    for n in range(1, 400):
        x = wisp.ones(n, dtype=wisp.complex64)
        assert abs(wisp.fft.fft(x)[0].item() - n) < 1e-3


def test_imaginary_parts_of_the_ends_are_ignored():
    x = wisp.tensor([1 + 5j, 2 + 1j, 3 + 7j])
    y = wisp.tensor([1 + 0j, 2 + 1j, 3 + 0j])
    assert wisp.equal(wisp.fft.irfft(x), wisp.fft.irfft(y))
    assert wisp.equal(wisp.fft.irfft(x[:2], 3), wisp.fft.irfft(y[:2], 3))


def test_gradients_have_the_names_of_their_kernels():
    real, half = wisp.randn(4, requires_grad=True), wisp.randn(3, dtype=wisp.complex64, requires_grad=True)
    assert type(wisp.fft.rfft(real).grad_fn).__name__ == "FftR2CBackward0"
    assert type(wisp.fft.irfft(half).grad_fn).__name__ == "FftC2RBackward0"
    assert type(wisp.fft.fft(half).grad_fn).__name__ == "FftC2CBackward0"


def test_istft_undoes_stft():
    signal = wisp.randn(3, 1000, dtype=wisp.float64, generator=wisp.Generator().manual_seed(1))
    window = wisp.sin(wisp.linspace(0.1, 3, 64, dtype=wisp.float64))
    for options in ({}, {"normalized": True}, {"onesided": False}, {"hop_length": 20}):
        spectrum = wisp.stft(signal, 64, window=window, return_complex=True, **options)
        back = wisp.istft(spectrum, 64, window=window, length=1000, **options)
        assert wisp.allclose(back, signal, atol=1e-12)


def test_a_signal_shorter_than_asked_for_is_filled_up():
    spectrum = wisp.stft(wisp.ones(16), 4, window=wisp.ones(4), return_complex=True)
    with pytest.warns(UserWarning, match="shorter than the length parameter"):
        assert wisp.istft(spectrum, 4, window=wisp.ones(4), length=30)[-8:].sum() == 0
