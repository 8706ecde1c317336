"""Samples of Bessel functions, orthogonal polynomials, incomplete gamma functions, and of the modules masked and
signal.windows."""

import numpy as np

from tests.ops.sampling import FLOAT, A, B, Dtype, E, S, T, errors, samples

INF, NAN = np.inf, np.nan
WIDE = ("float32", "float64", "int64", "bool")
REAL = ("float32", "float64")
BESSEL = ["airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_bessel_i0", "modified_bessel_i1",
          "modified_bessel_k0", "modified_bessel_k1", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1",
          "spherical_bessel_j0"]  # fmt: skip
KINDS = [f"{shift}chebyshev_polynomial_{kind}" for shift in ("", "shifted_") for kind in "tuvw"]
POLYNOMIALS = KINDS + ["hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l",
                       "legendre_polynomial_p"]  # fmt: skip


@samples(*(f"special_{name}" for name in BESSEL), dtypes=WIDE, call="special")
def bessel():
    yield S(T(2, 3, low=0.1, high=3), _grad=False)
    # PyTorch's are exact to 8 digits only.
    for low, high in ((0.01, 1), (1, 10), (10, 60), (-15, 0)):
        yield S(T(12, low=low, high=high), _dtypes=("float32",), _grad=False)
    yield S(A([0.0, -0.0, INF, -INF, NAN, -1.0]), _dtypes=REAL, _grad=False)


EXACT = {  # at these places, to 17 digits
    "airy_ai": (
        [-20.0, -9.25, -2.5, 0.3, 2.5, 7.0],
        [
            -0.1764061270779847,
            0.2052398087603554,
            -0.11232506769296609,
            0.2788064819550049,
            0.01572592338047049,
            7.492128863997167e-07,
        ],
    ),
    "bessel_j0": ([0.5, 3.0, 30.0], [0.9384698072408129, -0.26005195490193345, -0.08636798358104021]),
    "bessel_y1": ([0.5, 3.0, 30.0], [-1.471472392670243, 0.3246744247918, 0.08442557066174723]),
    "modified_bessel_k0": ([0.5, 1.0, 30.0], [0.9244190712276659, 0.42102443824070834, 2.1324774964630563e-14]),
    "scaled_modified_bessel_k1": ([0.5, 3.0, 3000.0], [2.731009708211786, 0.8065634801287869, 0.02288514080883742]),
}


for _name, (_places, _values) in EXACT.items():
    samples(f"special_{_name}_exact", dtypes=("float64",), call=lambda lib, x, name=_name: getattr(lib.special, name)(x),
            ref=lambda lib, x, values=_values: lib.tensor(values, dtype=lib.float64))(
        lambda places=_places: iter([S(A(places), _grad=False)])
    )  # fmt: skip


@samples(*(f"special_{name}" for name in POLYNOMIALS), dtypes=WIDE, call="special")
def polynomials():
    for n in (-1, 0, 1, 2, 5, 12):
        yield S(T(2, 3, low=-1.2, high=1.2), n, _grad=False)
    yield S(A([0.0, 1.0, -1.0, 0.5, 2.0]), 3, _dtypes=REAL, _grad=False)
    yield S(A([0.0, 1.0, -1.0, 0.5]), 20, _dtypes=REAL, _grad=False)
    yield S(T(3), A([0, 1, 4], "int64"), _dtypes=REAL, _grad=False)
    yield S(0.5, A([0.0, 1.0, 4.0]), _dtypes=REAL, _grad=False)
    yield S(T(2, 1), T(3, low=0, high=6, grad=False), _dtypes=REAL, _grad=False)


def _second(x, a):
    """Derivatives by the first argument do not exist."""
    return S(A(a, grad=False), x)


@samples("igamma", "igammac", dtypes=FLOAT)
def igamma():
    yield _second(T(4, low=0.2, high=4), [0.3, 1.0, 2.5, 6.0])
    yield _second(T(2, 1, low=0.2, high=4), [0.5, 3.0])
    yield S(A([0, 0, INF, INF, 1, 1, -1, NAN]), A([0, 1, INF, 1, INF, -1, 1, 1]), _dtypes=REAL, _grad=False)


PLACES = (A([0.5, 30.0, 120.0, 1e-3, 1e5, 1e-6]), A([20.0, 33.0, 90.0, 0.5, 100300.0, 1e-3]))
LOWER = [
    0.9999999997460371,
    0.7226986290685928,
    0.0014594602498948287,
    0.9994399333435292,
    0.8286363112512076,
    0.9999936684798586,
]
UPPER = [
    2.539628589470865e-10,
    0.27730137093140717,
    0.9985405397501051,
    0.0005600666564707498,
    0.17136368874879235,
    6.33152014144515e-06,
]


@samples("igamma_exact", dtypes=("float64",), call=lambda lib, a, x: lib.stack([lib.igamma(a, x), lib.igammac(a, x)]),
         ref=lambda lib, a, x: lib.tensor([LOWER, UPPER], dtype=lib.float64))  # fmt: skip
def igamma_exact():
    yield S(*PLACES, _grad=False)


@samples("special_gammainc", "special_gammaincc", dtypes=FLOAT, call="special")
def gammainc():
    yield _second(T(4, low=0.2, high=4), [0.3, 1.0, 2.5, 6.0])


@samples("_standard_gamma_grad", dtypes=REAL, ref=lambda lib, a, x: lib._standard_gamma_grad(a, x))
def standard_gamma_grad():
    # PyTorch's own is a fit that agrees to three digits.
    yield S(A([0.5, 1.0, 4.0, 20.0]), A([0.2, 1.0, 3.0, 18.0]), _dtypes=("float32",), _tol=2e-3, _grad=False)


@samples("logaddexp_of_complex", dtypes=("complex64", "complex128"), call=lambda lib, a, b: lib.logaddexp(a, b))
def complex_logaddexp():
    yield S(T(4), T(4))
    yield S(A([-INF, 1.0]), A([-INF, -INF]), _grad=False)


@samples("logsumexp_of_complex", dtypes=("complex64", "complex128"), call=lambda lib, *args: lib.logsumexp(*args))
def complex_logsumexp():
    yield S(T(2, 3), 1)
    yield S(T(2, 3), (0, 1), True)


@samples("silu_of_complex", dtypes=("complex64", "complex128"), call=lambda lib, x: lib.nn.functional.silu(x))
def complex_silu():
    yield S(T(3))


# --- wisp.masked

MASKS = (None, A([[True, False, True], [True, True, False]], "bool"), A([True, False, True], "bool"),
         A([[True, False, True], [False, False, False]], "bool"))  # fmt: skip


def _masked(*args, masks=MASKS, _grad=True, **kwargs):
    for mask in masks:  # nothing left of a row: no derivative there
        yield S(T(2, 3), *args, mask=mask, _grad=_grad and mask is not MASKS[3] and mask is not MASKS[2], **kwargs)


@samples("masked_sum", "masked_prod", dtypes=REAL + ("int64", "int32", "complex64"), call="masked")
def masked_sums():
    yield from _masked()
    yield from _masked(1)
    yield from _masked((0, 1), keepdim=True)
    yield from _masked(0, dtype=Dtype("float64"), _grad=False)


@samples("masked_mean", dtypes=REAL + ("complex64",), call="masked")
def masked_means():
    yield from _masked()
    yield from _masked(1, masks=MASKS[:1])
    yield from _masked(1, masks=MASKS[3:], _grad=False)
    yield from _masked((0, 1), keepdim=True)


@samples("masked_amax", "masked_amin", dtypes=REAL + ("int64", "uint8"), call="masked")
def masked_extremes():
    yield from _masked()
    yield from _masked(1)
    yield from _masked((0, 1), keepdim=True)


@samples("masked_argmax", "masked_argmin", dtypes=REAL + ("int64",), call="masked")
def masked_places():
    yield from _masked()
    yield from _masked(1)
    yield from _masked(0, keepdim=True)


@samples("masked_cumsum", "masked_cumprod", dtypes=REAL + ("int64", "complex64"), call="masked")
def masked_scans():
    yield from _masked(1)
    yield from _masked(0, dtype=Dtype("float64"), _grad=False)


@samples("masked_median", dtypes=REAL, call="masked")
def masked_median():
    yield from _masked(_grad=False)
    yield from _masked(0, keepdim=True, _grad=False)


@samples("masked_logsumexp", dtypes=REAL, call="masked")
def masked_logsumexp():
    yield from _masked(masks=MASKS[:2])
    yield from _masked(1, masks=MASKS[:1])
    yield from _masked(1, masks=MASKS[3:], _grad=False)


@samples("masked_logaddexp", dtypes=REAL, call="masked")
def masked_logaddexp():
    yield S(T(2, 3), T(2, 3))
    yield S(T(2, 3), T(2, 3), input_mask=B(3), other_mask=B(2, 3), _grad=False)


@samples("masked_norm", dtypes=REAL, call="masked")
def masked_norm():
    for ord in (2.0, 1.0, 3.0, 0.0, INF, -INF):
        yield from _masked(ord, 1, _grad=False)
    yield from _masked(2.0, masks=MASKS[:1])


@samples("masked_normalize", dtypes=REAL, call="masked")
def masked_normalize():
    yield from _masked(2.0, 1, masks=MASKS[:1])
    yield from _masked(2.0, 1, eps=0.5, _grad=False)


@samples("masked_var", "masked_std", dtypes=REAL + ("int64", "complex64"), call="masked")
def masked_var():
    yield from _masked(1, False, masks=MASKS[:1])
    yield from _masked(1, True, masks=MASKS[3:], _grad=False)
    yield from _masked(None, correction=1, keepdim=True, masks=MASKS[:2], _grad=False)


@samples("masked_softmax", "masked_log_softmax", "masked_softmin", dtypes=REAL, call="masked")
def masked_softmax():
    yield from _masked(1, masks=MASKS[:1])
    yield from _masked(1, masks=MASKS[3:], _grad=False)
    yield from _masked(0, dtype=Dtype("float64"), masks=MASKS[:1], _grad=False)


# --- wisp.signal.windows


@samples(
    *(f"signal.windows_{name}" for name in ("bartlett", "blackman", "cosine", "exponential", "gaussian",
                                            "general_hamming", "hamming", "hann", "kaiser", "nuttall")),
    dtypes=("float32",),
    call="signal.windows",
)  # fmt: skip
def signal_windows():
    for n in (0, 1, 2, 5):
        yield S(n)
        yield S(n, sym=False)
    yield S(6, dtype=Dtype("float64"))


@samples("signal.windows_general_cosine", dtypes=("float32",), call="signal.windows")
def general_cosine():
    yield S(5, a=[0.5, 0.3])
    yield S(5, a=(0.5, 0.3, 0.1), sym=False)


@errors("igamma")
def bad_igamma():
    yield E(NotImplementedError, "not implemented", T(2), T(2), _dtypes=("int64",))


@errors("signal.windows_hann")
def bad_hann():
    yield E(ValueError, "non-negative window length", -1)
    yield E(ValueError, "float32 or float64", 3, dtype=Dtype("int64"))


@errors("signal.windows_exponential")
def bad_exponential():
    yield E(ValueError, "Tau must be positive", 3, tau=-1.0)
    yield E(ValueError, "Center must be None", 3, center=1.0)


@errors("masked_amax")
def bad_amax():
    yield E(NotImplementedError, "identity of amax", T(2), mask=B(2), _dtypes=("bool",))
    yield E(IndexError, "Dimension out of range", T(2), 3)
    yield E(RuntimeError, "appears multiple times", T(2), (0, 0))
