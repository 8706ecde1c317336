"""Linear algebra beyond what samples say: large matrices, threads, failures, gauge, iterative methods."""

import pytest

import wisp
from wisp import linalg

DTYPES = [wisp.float32, wisp.float64, wisp.complex64, wisp.complex128]


def tolerance(dtype):
    return 2e-3 if dtype in (wisp.float32, wisp.complex64) else 1e-9


def close(a, b, dtype):
    assert wisp.allclose(a, b, rtol=tolerance(dtype), atol=tolerance(dtype))


def random_matrix(rows, cols, dtype, seed=0):
    wisp.manual_seed(seed)
    return wisp.randn(rows, cols, dtype=dtype)


# --- every size: tiny matrices are done by hand, large ones in pieces

SIZES = [(1, 1), (5, 5), (12, 12), (13, 13), (40, 40), (300, 300), (12, 5), (5, 12), (320, 290), (290, 320)]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("rows, cols", SIZES)
def test_factors_multiply_to_the_matrix(rows, cols, dtype):
    a = random_matrix(rows, cols, dtype)
    P, L, U = linalg.lu(a)
    close(P @ L @ U, a, dtype)
    Q, R = linalg.qr(a)
    close(Q @ R, a, dtype)
    close(Q.mH @ Q, wisp.eye(min(rows, cols), dtype=dtype), dtype)
    full, _ = linalg.qr(a, "complete")
    close(full.mH @ full, wisp.eye(rows, dtype=dtype), dtype)
    gram = a @ a.mH / cols + wisp.eye(rows, dtype=dtype)
    lower, upper = linalg.cholesky(gram), linalg.cholesky(gram, upper=True)
    close(lower @ lower.mH, gram, dtype)
    close(upper, lower.mH, dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("n", [1, 7, 12, 13, 300])
def test_equations(n, dtype):
    a = random_matrix(n, n, dtype) + 2 * n**0.5 * wisp.eye(n, dtype=dtype)
    b = random_matrix(n, 3, dtype, seed=1)
    LU, pivots = linalg.lu_factor(a)
    close(a @ linalg.solve(a, b), b, dtype)
    close(linalg.solve(a, b.mH, left=False) @ a, b.mH, dtype)
    close(a @ linalg.inv(a), wisp.eye(n, dtype=dtype), dtype)
    close(a.mH @ linalg.lu_solve(LU, pivots, b, adjoint=True), b, dtype)
    close(linalg.lu_solve(LU, pivots, b.mH, left=False, adjoint=True) @ a.mH, b.mH, dtype)


@pytest.mark.parametrize("seed", range(3))
def test_extreme_numbers_do_not_overflow_in_tiny_qr(seed):
    for scale in (1e-200, 1e200):
        a = random_matrix(4, 3, wisp.float64, seed) * scale
        Q, R = linalg.qr(a)
        assert wisp.allclose((Q @ R) / scale, a / scale)


def test_threads_do_not_change_large_results():
    a = random_matrix(300, 300, wisp.float32)
    batch = wisp.randn(50, 20, 20)
    answers = []
    for count in (1, 2):
        wisp.set_num_threads(count)
        answers.append([linalg.inv(a), linalg.qr(a).Q, linalg.lu_factor(a).LU, linalg.cholesky(a @ a.T + 300 * wisp.eye(300)),
                        linalg.inv(batch), linalg.svd(batch).U, linalg.eigh(batch).eigenvectors])  # fmt: skip
    for one, two in zip(*answers):
        assert wisp.equal(one, two)


# --- failures


def test_singular_matrices_raise_their_own_error():
    assert issubclass(linalg.LinAlgError, RuntimeError)
    with pytest.raises(linalg.LinAlgError, match="linalg.inv: The diagonal element 2 is zero"):
        linalg.inv(wisp.tensor([[1.0, 0.0], [0.0, 0.0]]))
    with pytest.raises(linalg.LinAlgError, match=r"linalg.cholesky: \(Batch element 1\): .* order 1"):
        linalg.cholesky(wisp.stack([wisp.eye(2), -wisp.eye(2)]))
    with pytest.raises(linalg.LinAlgError, match="cholesky"):
        linalg.cholesky(wisp.eye(300) - 2 * wisp.diag(wisp.arange(300) == 290).float())
    info = linalg.cholesky_ex(wisp.eye(300) - 2 * wisp.diag(wisp.arange(300) == 290).float()).info
    assert info.item() == 291
    large = wisp.eye(300)
    large[280, 280] = 0
    assert linalg.lu_factor_ex(large).info.item() == 281


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_not_finite_has_no_spectrum(value):
    a = wisp.eye(3)
    a[2, 1] = value
    for function in (linalg.svd, linalg.svdvals, linalg.eigh, linalg.eigvalsh, linalg.eig, linalg.eigvals):
        with pytest.raises(RuntimeError):
            function(a)


def test_pivots_are_checked():
    LU = wisp.eye(2)
    for bad in (0, 3, -1):
        pivots = wisp.tensor([1, bad], dtype=wisp.int32)
        with pytest.raises(RuntimeError):
            linalg.lu_solve(LU, pivots, wisp.ones(2, 1))
        with pytest.raises(RuntimeError):
            wisp.lu_unpack(LU, pivots)
    with pytest.raises(RuntimeError):
        linalg.ldl_solve(LU, wisp.tensor([1, 7], dtype=wisp.int32), wisp.ones(2, 1))


# --- derivatives


def test_losses_that_see_the_phase_of_vectors_are_refused():
    a = wisp.randn(3, 3, dtype=wisp.complex128)
    hermitian = (a + a.mH).requires_grad_()
    with pytest.raises(RuntimeError, match="ill-defined"):
        linalg.eigh(hermitian).eigenvectors.imag.sum().backward()
    with pytest.raises(RuntimeError, match="ill-defined"):
        linalg.svd(a.requires_grad_()).U.imag.sum().backward()


def test_qr_says_what_it_cannot_differentiate():
    a = wisp.randn(3, 2, requires_grad=True)
    with pytest.raises(RuntimeError, match="not differentiable when mode='complete'"):
        linalg.qr(a, "complete").R.sum().backward()
    with pytest.raises(RuntimeError, match="mode='r'"):
        linalg.qr(a, "r").R.sum().backward()


def test_a_singular_determinant_has_cofactors_as_its_gradient():
    a = wisp.tensor([[1.0, 2.0], [2.0, 4.0]], requires_grad=True)
    wisp.det(a).backward()
    assert wisp.allclose(a.grad, wisp.tensor([[4.0, -2.0], [-2.0, 1.0]]))


# --- older names, iterative methods, initial values


def test_lu_by_its_old_name():
    a = random_matrix(3, 3, wisp.float64)
    LU, pivots = wisp.lu(a)
    assert wisp.equal(LU, a.lu()[0]) and pivots.dtype == wisp.int32
    LU, pivots, info = wisp.lu(wisp.zeros(2, 2), get_infos=True)
    assert info.item() == 1


def test_low_rank():
    wisp.manual_seed(0)
    for shape in ((20, 8), (8, 20), (3, 20, 8)):
        a = wisp.randn(*shape[:-1], 3, dtype=wisp.float64) @ wisp.randn(*shape[:-2], 3, shape[-1], dtype=wisp.float64)
        U, S, V = wisp.svd_lowrank(a, q=4)
        close(U @ wisp.diag_embed(S) @ V.mT, a, wisp.float64)
        U, S, V = wisp.pca_lowrank(a, q=4)
        close(U @ wisp.diag_embed(S) @ V.mT, a - a.mean(-2, keepdim=True), wisp.float64)
    with pytest.raises(ValueError, match="q"):
        wisp.pca_lowrank(wisp.ones(3, 2), q=5)


def test_lobpcg():
    wisp.manual_seed(0)
    a = wisp.diag(wisp.arange(1.0, 31.0, dtype=wisp.float64))
    values, vectors = wisp.lobpcg(a, k=2)
    close(values, wisp.tensor([30.0, 29.0], dtype=wisp.float64), wisp.float32)
    assert (a @ vectors - vectors * values).norm() < 1e-3
    values, _ = wisp.lobpcg(a, k=3, largest=False)
    close(values, wisp.tensor([1.0, 2.0, 3.0], dtype=wisp.float64), wisp.float32)
    b = 2 * wisp.eye(30, dtype=wisp.float64)
    close(wisp.lobpcg(a.expand(2, 30, 30), k=1, B=b)[0], wisp.full((2, 1), 15.0, dtype=wisp.float64), wisp.float32)


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (4, 2, 3)])
def test_orthogonal_initial_values(shape):
    w = wisp.nn.init.orthogonal_(wisp.empty(shape), gain=2).reshape(shape[0], -1)
    gram = w @ w.T if w.shape[0] <= w.shape[1] else w.T @ w
    assert wisp.allclose(gram, 4 * wisp.eye(gram.shape[0]), atol=1e-5)
    with pytest.raises(ValueError, match="2 or more"):
        wisp.nn.init.orthogonal_(wisp.empty(3))
