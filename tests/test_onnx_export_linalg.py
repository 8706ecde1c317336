"""Exporting factorisations of matrices, with more than a few rows."""

import pytest

onnx = pytest.importorskip("onnx")

import wisp
from tests.onnx_exports import check, export_and_check, size_names
from wisp import linalg

R = wisp.randn
SIZE = 13


@pytest.fixture(autouse=True)
def _seed():
    wisp.manual_seed(3)


def positive(x):
    return x @ x.mT + wisp.eye(x.shape[-1])


def restored(u, s, vh):
    return (u * s.unsqueeze(-2)) @ vh


FUNCTIONS = {
    "inv": linalg.inv, "det": linalg.slogdet, "lu": linalg.lu, "lu_factor": linalg.lu_factor, "qr": linalg.qr,
    "complete qr": lambda x: linalg.qr(x, "complete"), "exp": lambda x: linalg.matrix_exp(x / 4),
    "large exp": lambda x: linalg.matrix_exp(x * 0.9), "cholesky": lambda x: linalg.cholesky(positive(x)),
    "eigenvalues": lambda x: linalg.eigvalsh(positive(x)), "svdvals": linalg.svdvals,
    "svd": lambda x: restored(*linalg.svd(x, full_matrices=False)), "pinv": lambda x: linalg.pinv(x[..., :5]),
    "rank": lambda x: linalg.matrix_rank(x[..., :3] @ x[..., :3, :]), "norm": lambda x: linalg.matrix_norm(x, "nuc"),
    "cond": lambda x: linalg.cond(positive(x)),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_any_batch(name):
    function = FUNCTIONS[name]
    x = R(2, SIZE, SIZE) + 3 * wisp.eye(SIZE)
    model = wisp.onnx.export(function, x)
    assert size_names(model)[0][0]
    check(model, function, (x,), tolerance=2e-4)
    check(model, function, (R(4, SIZE, SIZE) + 3 * wisp.eye(SIZE),), tolerance=2e-4)


@pytest.mark.parametrize("name", ["det", "exp", "qr"])
def test_any_size(name):
    function = FUNCTIONS[name]
    model = wisp.onnx.export(function, R(2, 5, 5))
    assert all(size_names(model)[0])
    for size in (1, 2, 9):
        check(model, function, (R(3, size, size) + wisp.eye(size),), tolerance=2e-4)


@pytest.mark.parametrize("left", [True, False])
def test_equations(left):
    def solved(a, b):
        data, pivots = linalg.lu_factor(a)
        triangle = linalg.solve_triangular(a.triu(), b, upper=True, left=left)
        return linalg.solve(a, b, left=left), linalg.lu_solve(data, pivots, b, left=left), triangle

    model = export_and_check(solved, R(2, 6, 6) + 4 * wisp.eye(6), R(2, 6, 6), tolerance=1e-4)
    assert size_names(model)[0][0]


def test_vectors_are_orthogonal():
    def products(x):
        values, vectors = linalg.eigh(positive(x))
        u, _, vh = linalg.svd(x)
        return vectors.mT @ vectors, (vectors * values) @ vectors.mT, u.mT @ u, vh @ vh.mT

    export_and_check(products, R(SIZE, SIZE), tolerance=1e-4)


@pytest.mark.parametrize("shape", [(7, 4), (4, 7)])
def test_complete_vectors(shape):
    def products(x):
        u, _, vh = linalg.svd(x)
        return u.mT @ u, vh @ vh.mT

    export_and_check(products, R(shape), tolerance=1e-4)


def test_matrices_without_full_rank():
    flat = R(6, 2) @ R(2, 6)
    export_and_check(linalg.svdvals, flat, tolerance=1e-4)
    export_and_check(lambda x: linalg.pinv(x, rtol=1e-3), flat, tolerance=1e-3)
    export_and_check(lambda x: linalg.svd(x)[0].mT @ linalg.svd(x)[0], flat, tolerance=1e-4)
    export_and_check(lambda x: linalg.lu_factor_ex(x)[2], wisp.zeros(3, 3))
    export_and_check(lambda x: linalg.inv_ex(x)[1], wisp.tensor([[1.0, 0, 0], [0, 0, 0], [0, 0, 1]]))
    export_and_check(lambda x: linalg.cholesky_ex(x)[1], wisp.tensor([[1.0, 0.0], [0.0, -1.0]]))


def test_reflections():
    def products(x, y):
        data, factors = wisp.geqrf(x)
        turned = [wisp.ormqr(data, factors, y, left, back) for left in (True, False) for back in (False, True)]
        return linalg.householder_product(data, factors), *turned

    model = wisp.onnx.export(products, (R(7, 4), R(7, 7)))
    check(model, products, (R(7, 4), R(7, 7)), tolerance=1e-4)


@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd"])
@pytest.mark.parametrize("shape", [(7, 3), (3, 7)])
def test_least_squares(driver, shape):
    model = wisp.onnx.export(lambda a, b: tuple(linalg.lstsq(a, b, driver=driver)), (R(shape), R(shape[0], 2)))
    check(model, lambda a, b: tuple(linalg.lstsq(a, b, driver=driver)), (R(shape), R(shape[0], 2)), tolerance=1e-3)
