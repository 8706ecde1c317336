"""Exporting operators whose results follow from sizes and numbers that are only known when the model runs."""

import pytest

onnx = pytest.importorskip("onnx")

import wisp
from tests.onnx_exports import export_and_check, has_runtime, run_in_runtime, size_names
from wisp.nn import functional as F

R = wisp.randn
CASES = {
    "numel": lambda x: x.numel() * x,
    "numel of a size": lambda x: x.shape.numel() + x,
    "number first": lambda x: x.size(1) * x - x.size(0) / x,
    "scalar_tensor": lambda x: wisp.scalar_tensor(x.size(0)) + wisp.scalar_tensor(x.size(1), dtype=wisp.int64),
    "where": lambda x: wisp.where(x > 0),
    "nonzero": lambda x: (x > 0).nonzero(as_tuple=True),
    "chunk": lambda x: x.chunk(2, 1),
    "diagonal": lambda x: x.diagonal(),
    "diagonal above": lambda x: x.diagonal(1),
    "diagonal below": lambda x: x.diagonal(-2, 1, 0),
    "eye": lambda x: wisp.eye(x.size(0), x.size(1)) + wisp.eye(x.size(0), x.size(1), dtype=wisp.int64),
    "eye of one size": lambda x: wisp.eye(x.size(1)),
    "linspace": lambda x: wisp.linspace(-1, x.size(1), x.size(0)),
    "linspace of one": lambda x: wisp.linspace(x.size(1), 1, 1),
    "repeat_interleave": lambda x: x.repeat_interleave(3, 1),
    "repeat_interleave of all": lambda x: x.repeat_interleave(2),
    "unfold": lambda x: x.unfold(1, x.size(0), x.size(0) - 1),
}


@pytest.mark.parametrize("name", CASES)
def test_any_size(name):
    model = export_and_check(CASES[name], R(3, 6), others=[(R(4, 8),), (R(2, 4),)])
    assert size_names(model) == [["x_dim_0", "x_dim_1"]]


def test_diagonals_of_batches():
    export_and_check(lambda x: x.diagonal(1, 0, 2), R(3, 5, 4), others=[(R(6, 2, 3),)])


@pytest.mark.parametrize("window", [(2, 2, 0), (3, 2, 1), (2, 3, 1), (4, 3, 2)])
@pytest.mark.parametrize("settings", [None, {}, {"count_include_pad": False}, {"divisor_override": 3}])
def test_pooling_with_partly_filled_windows(window, settings):
    def pool(x):
        if settings is None:
            return F.max_pool2d(x, *window, ceil_mode=True)
        return F.avg_pool2d(x, *window, ceil_mode=True, **settings)

    others = [(R(1, 2, height, width),) for height, width in ((5, 6), (7, 9), (10, 11), (4, 13))]
    export_and_check(pool, R(2, 2, 8, 9), others=others, dynamic_axes={"x": [0, 2, 3]})
    export_and_check(pool, R(2, 2, 8, 9), dynamic_axes={})


def test_pixels_of_any_number_of_channels():
    export_and_check(
        lambda x: F.pixel_unshuffle(x, 2), R(2, 3, 4, 6), others=[(R(1, 4, 8, 2),)], dynamic_axes={"x": [0, 1, 2, 3]}
    )


@pytest.mark.parametrize("squeezed", [lambda x: x.squeeze(), lambda x: x.squeeze(0), lambda x: x.squeeze((0, 1))])
def test_sizes_of_one_that_may_be_others(squeezed):
    """The file tells the number of dimensions of the example, which runtimes do not insist on."""
    model = export_and_check(squeezed, R(2, 1, 3), others=[(R(4, 1, 3),)], dynamic_axes={"x": [0]})
    one = R(1, 1, 3)
    if has_runtime(20):
        assert run_in_runtime(model, {"x": one.numpy()})[0].shape == squeezed(one).shape


def test_squeezed_numbers_of_dimensions_are_used():
    export_and_check(lambda x: x.squeeze().t() + 1, R(2, 1, 3), others=[(R(4, 1, 3),)], dynamic_axes={"x": [0]})


def test_the_first_dimension_of_three():
    export_and_check(lambda x: wisp.cross(x, x + 1), R(5, 3, 2, 3))
    with pytest.raises(wisp.onnx.UnsupportedOperatorError, match="first of size 3"):
        wisp.onnx.export(lambda x: wisp.cross(x, x + 1), (R(5, 3),), dynamic_axes={"x": [0]})


# --- tensors in the place of numbers


def cut(x, n):
    return x[: n[0], n], x[n[0]], wisp.zeros(n[0], 2), x.expand(n[1], 2, *x.shape), F.pad(x, [n[0], n[1]])


def test_tensors_as_numbers():
    n, other = wisp.tensor([1, 2]), wisp.tensor([3, 4])
    export_and_check(cut, R(5, 6), n, others=[(R(5, 6), other)], dynamic_axes={})
    export_and_check(lambda x, n: x[:n, 0], R(5, 6), n[1:], others=[(R(5, 6), other[:1])], dynamic_axes={})


def test_traces_with_tensors_as_numbers():
    traced = wisp.jit.trace(lambda x, n: x.expand(n, 2), (R(1, 2), wisp.tensor([3])))
    assert traced(R(1, 2), wisp.tensor([5])).shape == (5, 2)
    traced = wisp.jit.trace(lambda x: x.numel() * x, R(2, 3))
    assert traced(wisp.ones(5))[0] == 5


def test_counts_of_other_dtypes():
    export_and_check(lambda x, k: x.topk(k), R(3, 5), wisp.tensor(2, dtype=wisp.int32), dynamic_axes={})


def test_elu_in_double_precision():
    export_and_check(lambda x: F.celu(x) + F.elu(x, 0.5), R(3, 5).double())


def test_names_of_the_first_outputs_only():
    model = export_and_check(lambda x: (x + 1, x + 2, x + 3), R(2), output_names=["output_1"])
    names = [value.name for value in model.graph.output]
    assert names[0] == "output_1" and len(set(names)) == 3


def test_arguments_without_a_rule_are_named():
    """What a rule cannot do is listed like everything else, and sizes stay those of the example."""
    model = export_and_check(lambda x: x.as_strided((x.size(0), 2), (1, 1)), R(5, 2))
    assert size_names(model)[0][0] == ""


def test_the_default_dtype_of_the_moment():
    @wisp.jit.script
    def divided(x, y):
        return x.t() / y.t()

    x = wisp.arange(6).reshape(2, 3)
    export_and_check(divided, x, x + 1)
    wisp.set_default_dtype(wisp.float64)
    try:
        export_and_check(divided, x, x + 1)
    finally:
        wisp.set_default_dtype(wisp.float32)


@pytest.mark.parametrize("dims", [1, ([2, 0], [0, 1]), ([1], [2])])
def test_tensordot_of_any_size(dims):
    x, y = R(4, 5, 3), R(3, 4, 5)
    export_and_check(lambda x, y: wisp.tensordot(x, y, dims), x, y, dynamic_axes={"x": [0, 1, 2], "y": [0, 1, 2]})
    export_and_check(lambda x, y: wisp.tensordot(x, y, dims), x, y, dynamic_axes={})
