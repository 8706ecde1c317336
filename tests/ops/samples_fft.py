"""Samples of Fourier transforms. Lengths: powers of two, odd, prime, beyond a vector, beyond the largest radix."""

from tests.ops.sampling import COMPLEX, A, Dtype, E, I, S, T, errors, samples

REAL = ("float32", "float64")
ANY = REAL + COMPLEX + ("int64", "bool")
NORMS = ("backward", "ortho", "forward")


def lines(*shapes):
    yield S(T(6))
    yield S(T(2, 5), 4)
    yield S(T(2, 3), 5)
    yield S(T(3, 2), None, 0)
    yield S(T(1))
    for norm in NORMS:
        yield S(T(2, 4), dim=-1, norm=norm)
        yield S(T(5), n=4, norm=norm)


def long_lines():
    """Every way a transform is run: by vectors, by rows, by convolution, side by side."""
    for n in (8, 16, 30, 64, 59, 77, 128, 106, 240, 1009, 4096):
        yield S(T(n), _grad=False, _tol=5e-5)
    yield S(T(9, 24), _grad=False)
    yield S(T(24, 9), dim=0, _grad=False)
    yield S(T(10, 15), _grad=False)
    yield S(T(3, 33, 10), dim=1, _grad=False)
    yield S(T(2, 0, 3), dim=-1, _grad=False, _ref=_without_lines)


def _without_lines(torch, x, dim):
    raise NotImplementedError("MKL refuses what has no lines")


@samples("fft_fft", "fft_ifft", dtypes=ANY, call="fft")
def complex_lines():
    yield from lines()
    yield from long_lines()


@samples("fft_rfft", "fft_ihfft", dtypes=REAL + ("int64", "bool"), call="fft")
def real_lines():
    yield from lines()
    yield from long_lines()


@samples("fft_irfft", "fft_hfft", dtypes=ANY, call="fft")
def lines_to_real():
    yield S(T(4))
    yield S(T(2, 5), 4)
    yield S(T(2, 3), 5)
    yield S(T(2, 3), 7)
    yield S(T(3, 2), None, 0)
    yield S(T(1), 1)
    for norm in NORMS:
        yield S(T(2, 4), dim=-1, norm=norm)
        yield S(T(3), n=5, norm=norm)
    for n in (9, 17, 16, 65, 60, 121, 505, 2049):
        yield S(T(n), _grad=False, _tol=5e-5)
        yield S(T(n), 2 * n - 1, _grad=False, _tol=5e-5)
    yield S(T(9, 13), _grad=False)
    yield S(T(13, 9), dim=0, _grad=False)
    yield S(T(13, 9), 25, 0, _grad=False)
    yield S(T(10, 8), 15, _grad=False)
    yield S(T(3, 17, 10), dim=1, _grad=False)


def planes():
    yield S(T(2, 3))
    yield S(T(2, 3), (3, 2))
    yield S(T(2, 3), (-1, 4))
    yield S(T(2, 2, 3), None, (0, 2))
    yield S(T(3, 4), None, (1, 0), "ortho")
    for norm in NORMS:
        yield S(T(2, 4), norm=norm)


@samples("fft_fft2", "fft_ifft2", dtypes=ANY, call="fft")
def complex_planes():
    yield from planes()
    yield S(T(16, 40), _grad=False)


@samples("fft_rfft2", "fft_ihfft2", dtypes=REAL + ("int64",), call="fft")
def real_planes():
    yield from planes()
    yield S(T(16, 40), _grad=False)


@samples("fft_irfft2", "fft_hfft2", dtypes=ANY, call="fft")
def planes_to_real():
    yield from planes()
    yield S(T(16, 21), _grad=False)


def volumes():
    yield S(T(2, 2, 3))
    yield S(T(2, 3), dim=(0,))
    yield S(T(2, 2, 3), (2, 4))
    yield S(T(4), norm="ortho")


@samples("fft_fftn", "fft_ifftn", dtypes=ANY, call="fft")
def complex_volumes():
    yield from volumes()
    yield S(T())
    yield S(T(2, 3), dim=())


@samples("fft_rfftn", "fft_ihfftn", dtypes=REAL + ("int64",), call="fft")
def real_volumes():
    yield from volumes()


@samples("fft_irfftn", "fft_hfftn", dtypes=ANY, call="fft")
def volumes_to_real():
    yield from volumes()


@samples("fft_fftfreq", "fft_rfftfreq", call="fft", dtypes=("float32",))
def frequencies():
    yield S(1)
    yield S(5)
    yield S(6, 0.5)
    yield S(4, d=2.0, dtype=Dtype("float64"))
    yield S(4, dtype=Dtype("float16"))


@samples("fft_fftshift", "fft_ifftshift", call="fft", dtypes=ANY)
def shifts():
    yield S(T(5))
    yield S(T(2, 4))
    yield S(T(3, 4), 0)
    yield S(T(3, 4), (0, 1))
    yield S(T(3, 4), dim=-1)


@samples("stft", dtypes=REAL + COMPLEX)
def short_time():
    yield S(T(10), 4, return_complex=True)
    yield S(T(2, 6), 4, 1, return_complex=True, _grad=False)
    yield S(T(12), 4, 2, return_complex=False)
    yield S(T(10), 4, center=False, return_complex=True)
    yield S(T(10), 4, 2, window=T(4), return_complex=True)
    yield S(T(10), 4, 2, 3, window=T(3), return_complex=True, normalized=True)
    yield S(T(10), 5, 2, 3, return_complex=True)
    yield S(T(10), 4, onesided=False, return_complex=True)
    yield S(T(10), 6, 2, 3, center=False, return_complex=True, align_to_window=True)
    yield S(T(10), 6, 2, 3, center=False, return_complex=True, align_to_window=False)
    for mode in ("constant", "replicate", "circular"):
        yield S(T(8), 4, pad_mode=mode, return_complex=True, _dtypes=REAL)


@samples("istft", dtypes=COMPLEX)
def inverse_short_time():
    window = A([0.5, 1.0, 1.5, 1.0], dtype="float64", grad=False)
    yield S(T(3, 4), 4)
    yield S(T(2, 3, 2), 4, 2)
    yield S(T(3, 4), 4, 1, center=False)
    yield S(T(3, 4), 4, 2, window=window)
    yield S(T(3, 4), 4, 2, 3, length=5)
    yield S(T(3, 4), 4, length=2, normalized=True)
    yield S(T(4, 3), 4, onesided=False)
    yield S(T(4, 3), 4, onesided=False, return_complex=True)
    yield S(T(3, 3), 5, 2, onesided=True)


@errors("fft_fft", "fft_rfft", "fft_irfft", "fft_hfft", "fft_ihfft", "fft_ifft")
def bad_lines():
    yield E(RuntimeError, r"Invalid number of data points \(0\) specified", T(4), 0)
    yield E(RuntimeError, r"Invalid number of data points \(-3\) specified", T(4), -3)
    yield E(RuntimeError, 'Invalid normalization mode: "sideways"', T(4), norm="sideways")
    yield E(IndexError, "Dimension out of range", T(2, 3), dim=2)
    yield E(IndexError, "Dimension specified as -1 but tensor has no dimensions", T())
    yield E(RuntimeError, "Unsupported dtype Half", T(4), _dtypes=("float16",))
    yield E(RuntimeError, "Unsupported dtype BFloat16", T(4), _dtypes=("bfloat16",))


@errors("fft_rfft", "fft_ihfft")
def bad_real_lines():
    yield E(RuntimeError, "expects a real input tensor, but got ComplexFloat", T(4), _dtypes=("complex64",))


@errors("fft_fftn", "fft_rfftn", "fft_irfftn", "fft_hfftn", "fft_ihfftn", "fft_ifftn")
def bad_volumes():
    yield E(RuntimeError, "dim and shape arguments must have the same length", T(2, 3), (2,), (0, 1))
    yield E(RuntimeError, "Got shape with 3 values but input tensor only has 2 dimensions", T(2, 3), (2, 2, 2))
    yield E(RuntimeError, "FFT dims must be unique", T(2, 3), None, (0, 0))
    yield E(RuntimeError, r"Invalid number of data points \(0\)", T(2, 3), (2, 0))


@errors("fft_rfftn", "fft_irfftn", "fft_hfftn", "fft_ihfftn")
def no_axis():
    yield E(RuntimeError, "must transform at least one axis", T(2, 3), None, ())


@errors("fft_fftfreq", "fft_rfftfreq")
def bad_frequencies():
    yield E(RuntimeError, "requires a floating point or complex dtype", 4, dtype=Dtype("int64"))


@errors("stft")
def bad_short_time():
    yield E(RuntimeError, "requires the return_complex parameter", T(10), 4)
    yield E(RuntimeError, "expected 0 < n_fft < 10, but got n_fft=11", T(10), 11, center=False, return_complex=True)
    yield E(RuntimeError, "expected hop_length > 0", T(10), 4, 0, return_complex=True)
    yield E(RuntimeError, "expected 0 < win_length <= n_fft", T(10), 4, 1, 5, return_complex=True)
    yield E(RuntimeError, "expected a 1D window tensor", T(10), 4, window=T(3), return_complex=True)
    yield E(RuntimeError, "expected a 1D or 2D tensor", T(2, 2, 10), 4, return_complex=True)
    yield E(RuntimeError, "expected a tensor of floating point or complex values", I(10), 4, return_complex=True)
    yield E(RuntimeError, "should only be set when center = false", T(10), 4, return_complex=True, align_to_window=True)


@errors("istft")
def bad_inverse_short_time():
    yield E(RuntimeError, "requires a complex-valued input", T(3, 4), 4, _dtypes=("float32",))
    yield E(RuntimeError, "n_fft / 2 \\+ 1 when onesided=True, but got 3", T(3, 4), 8, _dtypes=("complex64",))
    yield E(RuntimeError, "expected 0 < hop_length <= win_length", T(3, 4), 4, 5, _dtypes=("complex64",))
    yield E(RuntimeError, "Invalid window shape", T(3, 4), 4, window=T(3), _dtypes=("complex64",))
    yield E(
        RuntimeError, "window overlap add min", T(3, 4), 4, window=A([0.0] * 4, dtype="float32"), _dtypes=("complex64",)
    )
