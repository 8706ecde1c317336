"""Exporting random numbers: others than wisp's, of the same distributions."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

import wisp
from tests.onnx_exports import arrays
from wisp.nn import functional as F

COUNT = 20000
NAMES = {
    "exponential": lambda x: wisp.zeros_like(x).exponential_(2.0), "geometric": lambda x: x.clone().geometric_(0.3),
    "log_normal": lambda x: x.clone().log_normal_(0.5, 0.5), "uniform": lambda x: wisp.zeros_like(x).uniform_(-1, 3),
    "normal": lambda x: wisp.normal(x, 2.0), "normal of tensors": lambda x: wisp.normal(x, x),
    "random": lambda x: wisp.zeros_like(x).random_(2, 9), "poisson": wisp.poisson,
    "large poisson": lambda x: wisp.poisson(x * 30),
    "binomial": lambda x: wisp.binomial(wisp.ones_like(x) * 7, x / 4), "gamma": wisp._standard_gamma,
    "small gamma": lambda x: wisp._standard_gamma(x / 4), "bernoulli": lambda x: wisp.bernoulli(x / 4),
    "bernoulli of tensor": lambda x: wisp.zeros_like(x).bernoulli_(x / 4),
    "alpha dropout": lambda x: F.alpha_dropout(x, 0.3, True), "gumbel": lambda x: F.gumbel_softmax(x.reshape(-1, 4)),
    "dirichlet": lambda x: wisp._sample_dirichlet(x.reshape(-1, 4)),
}  # fmt: skip


def drawn(function, x):
    """Two draws."""
    exported = wisp.onnx.export(function, x, dynamic_axes={})
    onnx.checker.check_model(exported, full_check=True)
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(exported.SerializeToString(), providers=["CPUExecutionProvider"])
    return [session.run(None, arrays(exported, (x,)))[0] for _ in range(2)]


@pytest.mark.parametrize("name", NAMES)
def test_distributions(name):
    """Mean and spread agree as far as they can."""
    function, x = NAMES[name], wisp.full((COUNT,), 1.5)
    (got, again), want = drawn(function, x), function(x).numpy()
    assert got.shape == want.shape and got.dtype == want.dtype
    assert not np.array_equal(got, again)
    assert abs(got.mean() - want.mean()) < 8 * want.std() / np.sqrt(want.size) + 1e-6
    assert abs(got.std() / want.std() - 1) < 0.1


def test_cauchy():
    found, _ = drawn(lambda x: x.clone().cauchy_(1.0, 2.0), wisp.zeros(COUNT))
    assert abs(np.median(found) - 1) < 0.15
    assert abs(np.subtract(*np.percentile(found, [75, 25])) - 4) < 0.4


def test_permutations():
    found, _ = drawn(lambda x: wisp.randperm(x.shape[0]) + x.long(), wisp.zeros(50))
    assert sorted(found) == list(range(50))


def test_samples_without_replacement():
    weights = wisp.tensor([0.0, 1.0, 2.0, 5.0]).expand(COUNT // 4, 4).contiguous()
    found, _ = drawn(lambda x: wisp.multinomial(x, 3), weights)
    assert all(len(set(row)) == 3 for row in found[:100])
    assert not (found == 0).any()
    assert abs((found[:, 0] == 3).mean() - 5 / 8) < 0.03


def test_attention_with_dropout():
    x = wisp.ones(1, 1, 300, 4)
    exported = wisp.onnx.export(lambda x: F.scaled_dot_product_attention(x, x, x, dropout_p=0.3), x)
    assert [node.op_type for node in exported.graph.node].count("Dropout") == 1


def test_random_numbers_are_not_constants():
    exported = wisp.onnx.export(lambda x: x + wisp.zeros(3).uniform_() + wisp.zeros(3).exponential_(), wisp.ones(3))
    assert sum(node.op_type == "RandomUniformLike" for node in exported.graph.node) == 2
