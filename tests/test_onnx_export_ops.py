"""Exporting single operators: every one that has samples, on some of them."""

import itertools

import pytest

onnx = pytest.importorskip("onnx")

import wisp
from tests.onnx_exports import check, check_other_sizes, tensors_in, with_tensors
from tests.ops.sampling import load_all, resolve

SAMPLES = load_all()
PER_OPERATOR = 3
# Operators without a form in ONNX, or with one that nobody wrote yet.
UNSUPPORTED = {
    "_as_strided", "_fractional_max_pool2d", "_fractional_max_pool3d", "_fused_update", "_histogramdd", "_row_order",
    "_standard_gamma_grad", "_unique_consecutive", "adaptive_max_pool2d", "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d_with_indices", "as_strided", "as_strided_", "as_strided_copy", "as_strided_scatter",
    "bincount", "bitwise_left_shift", "bitwise_right_shift", "bucketize", "cholesky", "cholesky_inverse",
    "cholesky_solve", "conj_physical", "ctc_loss", "cummax", "cummin", "cumprod", "diagonal_scatter", "digamma",
    "embedding_bag", "erfcx", "erfinv",
    "fill_diagonal_", "fill_diagonal_of_product", "fractional_max_pool2d", "fractional_max_pool3d", "frexp",
    "gammaln", "gcd", "geqrf", "histc", "histogram", "histogramdd", "i0", "i0e", "i1", "i1e", "igamma",
    "igamma_exact", "igammac", "inverse", "isin", "lcm", "lgamma", "linalg_cholesky", "linalg_cholesky_ex",
    "linalg_cond", "linalg_eigh", "linalg_eigvalsh", "linalg_householder_product", "linalg_inv", "linalg_inv_ex",
    "linalg_ldl_factor", "linalg_ldl_factor_ex", "linalg_ldl_solve", "linalg_lstsq", "linalg_lu", "linalg_lu_factor",
    "linalg_lu_factor_ex", "linalg_lu_solve", "linalg_matrix_exp", "linalg_matrix_rank", "linalg_pinv", "linalg_qr",
    "linalg_slogdet", "linalg_solve", "linalg_solve_ex", "linalg_solve_triangular", "linalg_svd", "linalg_svdvals",
    "linalg_tensorinv", "linalg_tensorsolve", "log_ndtr", "logcumsumexp", "logdet", "lu_solve", "lu_unpack",
    "masked_cumprod", "matrix_exp", "mode", "multigammaln", "multilabel_margin_loss", "mvlgamma", "nanmedian",
    "native_group_norm", "native_layer_norm", "ndtri", "nextafter", "nonzero_static", "nuclear_norm", "orgqr",
    "ormqr", "pinverse", "polygamma", "psi", "qr", "searchsorted", "slice_inverse", "slogdet", "special_airy_ai",
    "special_airy_ai_exact", "special_bessel_j0", "special_bessel_j0_exact", "special_bessel_j1", "special_bessel_y0",
    "special_bessel_y1", "special_bessel_y1_exact", "special_chebyshev_polynomial_t",
    "special_chebyshev_polynomial_u", "special_chebyshev_polynomial_v", "special_chebyshev_polynomial_w",
    "special_gammainc", "special_gammaincc", "special_hermite_polynomial_h", "special_hermite_polynomial_he",
    "special_laguerre_polynomial_l", "special_legendre_polynomial_p", "special_modified_bessel_i0",
    "special_modified_bessel_i1", "special_modified_bessel_k0", "special_modified_bessel_k0_exact",
    "special_modified_bessel_k1", "special_scaled_modified_bessel_k0", "special_scaled_modified_bessel_k1",
    "special_scaled_modified_bessel_k1_exact", "special_shifted_chebyshev_polynomial_t",
    "special_shifted_chebyshev_polynomial_u", "special_shifted_chebyshev_polynomial_v",
    "special_shifted_chebyshev_polynomial_w", "special_spherical_bessel_j0", "svd", "triangular_solve",
    "unique_consecutive", "zeta",
}  # fmt: skip
# Samples that are left out, and why.
LEFT_OUT = {
    "batch_norm": "training, in which running statistics are results too",
    "dropout": "random", "alpha_dropout": "random",
}  # fmt: skip


def is_plain(values):
    """Without what runtimes treat in different ways: infinite values and NaN, tensors without elements."""
    return all(not t.is_complex() and t.numel() and bool(t.isfinite().all()) for t in tensors_in(values))


def calls(name):
    """(function of tensors, tensors, tolerance) of samples that can be exported."""
    entry = SAMPLES[name]
    for i, sample in enumerate(entry.make()):
        dtypes = sample.dtypes or entry.dtypes
        dtype = "float32" if "float32" in dtypes else dtypes[0]
        args, kwargs, _ = sample.build(wisp, dtype, f"{name}/{i}/{dtype}")
        tensors = tuple(tensors_in([args, kwargs]))

        def call(*given, args=args, kwargs=kwargs):
            args, kwargs = with_tensors([args, kwargs], iter([t.clone() for t in given]))
            return resolve(wisp, entry.call, name)(*args, **kwargs)

        if tensors and is_plain(tensors):
            result = call(*tensors)
            if tensors_in([result]) and is_plain([result]):
                yield call, tensors, max(sample.tol or 0, 1e-4)


def exported_calls(name):
    """Samples with what they are exported as; those that cannot be are left out."""
    for call, tensors, tolerance in calls(name):
        try:
            yield wisp.onnx.export(call, tensors), call, tensors, tolerance
        except wisp.onnx.UnsupportedOperatorError:
            continue


@pytest.mark.parametrize("name", sorted(set(SAMPLES) - UNSUPPORTED - set(LEFT_OUT)))
def test_operator(name):
    if not any(True for _ in calls(name)):
        pytest.skip("no sample has real tensors as arguments and results")
    found = list(itertools.islice(exported_calls(name), PER_OPERATOR))
    assert found, "no sample can be exported"
    for exported, call, tensors, tolerance in found:
        check(exported, call, tensors, tolerance=tolerance)
    exported, call, tensors, tolerance = found[0]
    check_other_sizes(exported, call, tensors, tolerance=tolerance, most=1)


@pytest.mark.parametrize("name", sorted(UNSUPPORTED))
def test_unsupported(name):
    assert not any(True for _ in exported_calls(name)), f"{name} can be exported: take it off the list"
