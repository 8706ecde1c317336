"""Exporting special functions: as exact as wisp's own over their whole range, and right at its ends."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

import wisp
from tests.onnx_exports import arrays, has_runtime, results, run_in_runtime
from wisp import special

INF, NAN = np.inf, np.nan
POSITIVE = [*np.linspace(0.01, 60, 700), *np.geomspace(1e-6, 600, 100)]
ALL = [*POSITIVE, *(-np.array(POSITIVE)), 0.0]
EDGES = [INF, -INF, NAN, 0.0]
UNIT = [*np.linspace(-0.999, 0.999, 400), *np.geomspace(1e-8, 0.1, 40)]

# name: (function, places, largest error relative to the larger one of the result and 1)
FUNCTIONS = {
    "erfcx": (special.erfcx, [*np.linspace(-20, 60, 800), *EDGES], 1e-13),
    "log_ndtr": (special.log_ndtr, [*np.linspace(-40, 10, 800), INF, NAN], 1e-13),
    "erfinv": (wisp.erfinv, [*UNIT, 1.0, -1.0, 2.0, NAN], 1e-13),
    "ndtri": (special.ndtri, [*np.linspace(0, 1, 500), *np.geomspace(1e-30, 0.1, 40), 2.0, -1.0, NAN], 1e-12),
    "lgamma": (wisp.lgamma, [*np.linspace(-20, 40, 801), *np.geomspace(1e-8, 1e8, 80), INF, NAN], 1e-12),
    "digamma": (wisp.digamma, [*np.linspace(-20, 40, 777), *np.geomspace(1e-4, 1e8, 80), INF, NAN], 1e-11),
    "polygamma": (lambda x: wisp.polygamma(3, x), [*np.linspace(0.1, 40, 400), -0.5, -1.5], 1e-12),
    "i0": (wisp.i0, [*ALL, *EDGES], 1e-12),
    "i0e": (special.i0e, [*ALL, *EDGES], 1e-13),
    "i1": (special.i1, [*ALL, *EDGES], 1e-12),
    "i1e": (special.i1e, [*ALL, *EDGES], 1e-13),
    "bessel_j0": (special.bessel_j0, [*ALL, NAN], 1e-12),
    "bessel_j1": (special.bessel_j1, [*ALL, NAN], 1e-12),
    "bessel_y0": (special.bessel_y0, [*POSITIVE, 0.0, -1.0, NAN], 1e-12),
    "bessel_y1": (special.bessel_y1, [*POSITIVE, 0.0, -1.0, NAN], 1e-12),
    "modified_bessel_k0": (special.modified_bessel_k0, [*POSITIVE, 0.0, INF, -1.0, NAN], 1e-12),
    "modified_bessel_k1": (special.modified_bessel_k1, [*POSITIVE, 0.0, INF, -1.0, NAN], 1e-12),
    "scaled_modified_bessel_k0": (special.scaled_modified_bessel_k0, [*POSITIVE, 0.0, INF, -1.0, NAN], 1e-12),
    "scaled_modified_bessel_k1": (special.scaled_modified_bessel_k1, [*POSITIVE, 0.0, INF, -1.0, NAN], 1e-12),
    "spherical_bessel_j0": (special.spherical_bessel_j0, [*ALL, *EDGES], 1e-13),
    "airy_ai": (special.airy_ai, [*np.linspace(-30, 20, 700), 105.0, 107.0, NAN], 1e-12),
}


def errors(function, tensors):
    """The results of onnxruntime and of wisp, and how far they are apart, 0 where both are the same."""
    exported = wisp.onnx.export(function, tensors)
    (got,) = run_in_runtime(exported, arrays(exported, tensors))
    (want,) = results(function, tensors)
    assert got.dtype == want.dtype
    got, want = got.astype(np.float64), want.astype(np.float64)
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    with np.errstate(invalid="ignore"):
        return np.where(same, 0, np.abs(got - want) / np.maximum(np.abs(want), 1))


needs_runtime = pytest.mark.skipif(not has_runtime(20), reason="onnxruntime is not installed")


@needs_runtime
@pytest.mark.parametrize("name", FUNCTIONS)
def test_whole_range(name):
    function, places, largest = FUNCTIONS[name]
    for dtype, limit in ((wisp.float64, largest), (wisp.float32, 2e-7)):
        found = errors(function, (wisp.tensor(places, dtype=dtype),))
        assert np.nanmax(found) < limit and not np.isnan(found).any(), places[int(np.argmax(found))]


@needs_runtime
def test_incomplete_gamma_functions():
    random = np.random.RandomState(0)
    a = np.exp(random.uniform(-8, 6, 800))
    x = a * np.exp(random.normal(0, 1, 800))
    a = wisp.tensor([*a, 0, 0, INF, INF, 1, 1, -1, NAN, 1e5], dtype=wisp.float64)
    x = wisp.tensor([*x, 0, 1, INF, 1, INF, -1, 1, 1, 100300.0], dtype=wisp.float64)
    for function in (wisp.igamma, wisp.igammac):
        assert errors(function, (a, x)).max() < 1e-11


@needs_runtime
def test_zeta():
    s, q = np.meshgrid(np.linspace(1.1, 30, 30), [*np.linspace(0.1, 40, 40), -0.5, -2.0])
    tensors = wisp.tensor(s.reshape(-1)), wisp.tensor(q.reshape(-1))
    assert errors(special.zeta, tensors).max() < 1e-11
    whole = wisp.tensor([2.0, 3.0, 4.0, 0.5, 1.0]).double(), wisp.tensor([-1.5, -0.5, -2.5, 1.0, 1.0]).double()
    assert errors(special.zeta, whole).max() < 1e-11


@needs_runtime
@pytest.mark.parametrize("name", ["chebyshev_polynomial_t", "hermite_polynomial_he", "legendre_polynomial_p"])
def test_polynomials(name):
    function, x = getattr(special, name), wisp.linspace(-1.5, 1.5, 301, dtype=wisp.float64)
    for degree in (0, 1, 7, 15):
        assert errors(lambda x, n=degree: function(x, n), (x,)).max() < 1e-11
    degrees = wisp.arange(301) % 9 - 1
    assert errors(function, (x, degrees)).max() < 1e-11


@needs_runtime
def test_neighbours_are_the_next_numbers():
    values = [0.0, 1.0, -1.0, 2.0, 3.3, -1e-40, 1e-45, 3e38, 1e-38, INF, -INF, NAN, 5.0]
    a, b = np.meshgrid(np.array(values, np.float32), np.array(values, np.float32))
    tensors = wisp.tensor(a.reshape(-1)), wisp.tensor(b.reshape(-1))
    exported = wisp.onnx.export(wisp.nextafter, tensors)
    (got,) = run_in_runtime(exported, arrays(exported, tensors))
    np.testing.assert_array_equal(got, np.nextafter(a, b).reshape(-1))


@needs_runtime
def test_parts_of_numbers():
    x = wisp.tensor([0.0, 1.0, -8.0, 3e38, 1e-40, 0.1, -INF, NAN])
    exported = wisp.onnx.export(wisp.frexp, x)
    mantissa, exponent = run_in_runtime(exported, arrays(exported, (x,)))
    np.testing.assert_array_equal(mantissa, np.frexp(x.numpy())[0])
    np.testing.assert_array_equal(exponent[:-2], np.frexp(x.numpy())[1][:-2])


@needs_runtime
@pytest.mark.parametrize("dtype", [wisp.int64, wisp.int32, wisp.int8, wisp.uint8], ids=str)
def test_shifts(dtype):
    x = wisp.tensor([0, 1, 5, 100, -1 if dtype.is_signed else 200, -100 if dtype.is_signed else 255], dtype=dtype)
    bits = 8 * x.element_size()
    counts = wisp.tensor([0, 1, 3, bits - 1, bits, bits + 5], dtype=dtype)
    for function in (wisp.bitwise_left_shift, wisp.bitwise_right_shift):
        exported = wisp.onnx.export(function, (x.unsqueeze(1), counts))
        feeds = arrays(exported, (x.unsqueeze(1), counts))
        np.testing.assert_array_equal(run_in_runtime(exported, feeds)[0], function(x.unsqueeze(1), counts).numpy())
