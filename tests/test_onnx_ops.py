"""Operators of ONNX that give several results, have random ones or other types, and gradients through operators."""

import pytest

onnx = pytest.importorskip("onnx")

import numpy as np
from onnx import TensorProto, defs, helper

import wisp
import wisp.onnx
from tests.onnx_models import f32, i64, run

# --- operators of several outputs


def several(op_type, *inputs, outputs, **settings):
    return [r.tolist() for r in run(op_type, *inputs, outputs=outputs, **settings)]


def test_top_k_of_equal_elements():
    assert several("TopK", f32(1, 3, 3, 2), i64(2), outputs=2) == [[3, 3], [1, 2]]
    assert several("TopK", f32(1, 3, 3, 2), i64(2), outputs=2, largest=0) == [[1, 2], [0, 3]]
    assert several("TopK", f32(1, 3), outputs=2, opset=1, k=1) == [[3], [1]]


def test_unique():
    values = f32(2, 1, 1, 3, 2)
    assert several("Unique", values, outputs=4) == [[1, 2, 3], [1, 0, 3], [1, 0, 0, 2, 1], [2, 2, 1]]
    assert several("Unique", values, outputs=4, sorted=0) == [[2, 1, 3], [0, 1, 3], [0, 1, 1, 2, 0], [2, 2, 1]]
    words = np.array(["b", "a", "b"], object)
    assert run("Unique", words).tolist() == ["a", "b"]


def test_indices_of_maxima():
    x = np.arange(8, dtype=np.float32).reshape(1, 2, 2, 2)
    _, indices = run("MaxPool", x, outputs=2, kernel_shape=[1, 2])
    assert indices.tolist() == [[[[1], [3]], [[5], [7]]]]
    _, indices = run("MaxPool", x, outputs=2, kernel_shape=[1, 2], storage_order=1)
    assert indices.tolist() == [[[[2], [3]], [[6], [7]]]]


@pytest.mark.parametrize(
    ("opset", "settings", "inputs", "wanted"),
    [
        (1, {"split": [1, 2]}, [], [[0], [1, 2]]),
        (11, {}, [], None),
        (13, {}, [i64(2, 1)], [[0, 1], [2]]),
        (18, {"num_outputs": 2}, [], [[0, 1], [2]]),
    ],
)
def test_split(opset, settings, inputs, wanted):
    if wanted is None:
        assert several("Split", f32(0, 1), outputs=2, opset=opset) == [[0], [1]]
    else:
        assert several("Split", f32(0, 1, 2), *inputs, outputs=2, opset=opset, **settings) == wanted


def test_dynamic_quantisation():
    y, scale, zero = run("DynamicQuantizeLinear", f32(-1, 0, 4.1), outputs=3)
    assert y.tolist() == [0, 50, 255] and zero == 50 and scale == np.float32(5.1 / 255)


def test_split_strings():
    parts, counts = run("StringSplit", np.array(["a b", "c"], object), outputs=2)
    assert parts.tolist() == [["a", "b"], ["c", ""]] and counts.tolist() == [2, 1]


def test_batch_statistics_are_outputs():
    x = f32([[0], [2]])
    y, mean, var = run(
        "BatchNormalization", x, f32([1]), f32([0]), f32([10]), f32([5]), outputs=3, training_mode=1, epsilon=0.0
    )
    assert y.tolist() == [[-1], [1]]
    np.testing.assert_allclose([mean, var], [[9.1], [4.6]], rtol=1e-6)


def test_layer_statistics_are_outputs():
    y, mean, inverse = run("LayerNormalization", f32([[1, 3]]), f32(1, 1), outputs=3, epsilon=0.0)
    assert y.tolist() == [[-1, 1]] and mean.tolist() == [[2]] and inverse.tolist() == [[1]]


# --- recurrent networks: with all weights 1, biases 0 and identity-like activations the values can be followed


def recurrent(op_type, gates, *rest, directions=1, outputs=2, **settings):
    weights = np.ones((directions, gates, 1), np.float32)
    return run(op_type, f32([[[1]], [[2]]]), weights, weights, *rest, hidden_size=1, outputs=outputs, **settings)


def test_rnn():
    y, last = recurrent("RNN", 1, activations=["Relu"])
    assert y.ravel().tolist() == [1, 3] and last.ravel().tolist() == [3]
    y, last = recurrent("RNN", 1, activations=["Relu"], direction="reverse")
    assert y.ravel().tolist() == [3, 2] and last.ravel().tolist() == [3]
    y, last = recurrent("RNN", 1, activations=["Relu"] * 2, direction="bidirectional", directions=2)
    assert y.ravel().tolist() == [1, 3, 3, 2] and last.ravel().tolist() == [3, 3]
    y, _ = recurrent("RNN", 1, activations=["Affine"], activation_alpha=[2.0], activation_beta=[1.0], clip=2.5)
    assert y.ravel().tolist() == [3, 6]


def test_sequences_of_different_lengths():
    x = f32([[[1], [1]], [[2], [2]]])
    weights = np.ones((1, 1, 1), np.float32)
    for direction, wanted, end in (("forward", [1, 1, 3, 0], [3, 1]), ("reverse", [3, 1, 2, 0], [3, 1])):
        y, last = run(
            "RNN", x, weights, weights, None, np.array([2, 1], np.int32), outputs=2, hidden_size=1, direction=direction,
            activations=["Relu"],
        )  # fmt: skip
        assert y.ravel().tolist() == wanted and last.ravel().tolist() == end


@pytest.mark.parametrize(("linear", "wanted"), [(0, [4.5, 5.375]), (1, [4, 4.5])])
def test_gru(linear, wanted):
    """Gates of 0.5: each state is half the new one and half the old one."""
    half = {"activation_alpha": [0.0, 1.0], "activation_beta": [0.5, 0.0], "activations": ["Affine", "Affine"]}
    bias = f32([[0, 0, 0, 0, 0, 2]])
    y, last = recurrent("GRU", 3, bias, None, f32([[[4]]]), linear_before_reset=linear, **half)
    assert y.ravel().tolist() == wanted and last.ravel().tolist() == wanted[1:]


def test_lstm():
    half = {"activation_alpha": [0.0, 1.0, 1.0], "activation_beta": [0.5, 0.0, 0.0], "activations": ["Affine"] * 3}
    y, h, c = recurrent("LSTM", 4, outputs=3, **half)
    assert y.ravel().tolist() == [0.25, 0.6875] and h.ravel().tolist() == [0.6875] and c.ravel().tolist() == [1.375]
    peepholes = f32([[0, 2, 0]])
    y, _, _ = recurrent("LSTM", 4, None, None, None, None, peepholes, outputs=3, activations=["Relu", "Relu", "Relu"])
    assert y.ravel()[0] == 3  # c = 1, o = 1 + 2 c


def test_layout_with_the_batch_first():
    weights = np.ones((1, 1, 1), np.float32)
    y, last = run("RNN", f32([[[1], [2]]]), weights, weights, outputs=2, hidden_size=1, layout=1, activations=["Relu"])
    assert y.shape == (1, 2, 1, 1) and last.shape == (1, 1, 1) and y.ravel().tolist() == [1, 3]


# --- random numbers


def test_random_numbers():
    assert run("RandomUniform", shape=[1000], low=2.0, high=3.0, seed=1.0).mean() == pytest.approx(2.5, abs=0.05)
    normal = run("RandomNormalLike", np.zeros(4000), mean=5.0, scale=2.0, seed=1.0)
    assert normal.dtype == np.float64 and normal.std() == pytest.approx(2, rel=0.1)
    np.testing.assert_array_equal(normal, run("RandomNormalLike", np.zeros(4000), mean=5.0, scale=2.0, seed=1.0))
    drawn = run("Multinomial", f32([[0, -99, 0]]), sample_size=100, dtype=TensorProto.INT64)
    assert drawn.shape == (1, 100) and set(drawn.ravel().tolist()) == {0, 2}
    coins = run("Bernoulli", f32(0, 1), dtype=TensorProto.BOOL)
    assert coins.tolist() == [False, True] and coins.dtype == bool


# --- types that wisp does not have


def test_unsigned_integers_wrap():
    top = np.array([2**32 - 1], np.uint32)
    assert run("Add", top, np.array([2], np.uint32)).tolist() == [1]
    assert run("BitwiseNot", np.array([1], np.uint16)).tolist() == [65534]
    big = np.array([2**63, 5], np.uint64)
    assert run("Mul", big, np.array([3], np.uint64)).tolist() == [2**63, 15]
    assert run("Cast", big, to=TensorProto.DOUBLE).tolist() == [2.0**63, 5]
    with pytest.raises(RuntimeError, match=r"numbers from 2\*\*63 on"):
        run("Less", big, big)


def test_small_types_can_be_moved():
    import ml_dtypes

    x = np.array([[-8, 7], [1, 2]], ml_dtypes.int4)
    assert run("Transpose", x).tolist() == [[-8, 1], [7, 2]]
    assert run("Transpose", x).dtype == x.dtype
    bits = run("BitCast", f32(1.0), opset=26, to=TensorProto.UINT32) if defs.onnx_opset_version() >= 26 else 1065353216
    assert bits == 0x3F800000


# --- optimisers


def optimizer(op_type, *states, step, **settings):
    values = [f32(0.5), np.array(step), f32([1.0]), f32([2.0]), *(f32([s]) for s in states)]
    results = run(op_type, *values, opset=1, outputs=1 + len(states), domain="ai.onnx.preview.training", **settings)
    return [r.item() for r in results]


def test_steps_of_optimisers():
    assert optimizer("Momentum", 1.0, step=1, alpha=0.5, beta=2.0, mode="standard", norm_coefficient=0.0) == [
        -1.25,
        4.5,
    ]
    assert optimizer("Momentum", 1.0, step=0, alpha=0.5, beta=9.0, mode="nesterov", norm_coefficient=0.0) == [
        -0.625,
        2.5,
    ]
    assert optimizer("Adagrad", 5.0, step=1, epsilon=0.0, decay_factor=1.0) == pytest.approx([1 - 0.25 * 2 / 3, 9])
    x, mean, square = optimizer("Adam", 0.0, 0.0, step=0, alpha=0.5, beta=0.75, epsilon=0.0)
    assert (x, mean, square) == (0.5, 1, 1)


# --- gradients


@pytest.mark.parametrize(
    ("op_type", "shapes", "settings"),
    [
        ("Conv", [(1, 2, 4, 4), (2, 2, 2, 2), (2,)], {"pads": [1, 0, 0, 1], "strides": [2, 1]}),
        ("ConvTranspose", [(1, 2, 3, 3), (2, 1, 2, 2)], {"pads": [0, 1, 1, 0], "strides": [2, 2]}),
        ("DeformConv", [(1, 2, 3, 3), (1, 2, 2, 2), (1, 8, 2, 2)], {}),
        ("AveragePool", [(1, 1, 4, 4)], {"kernel_shape": [2, 2], "dilations": [2, 2], "pads": [1, 1, 0, 0]}),
        ("MaxPool", [(1, 1, 5)], {"kernel_shape": [2], "pads": [1, 0]}),
        ("Resize", [(1, 1, 3, 3), None, None, i64(1, 1, 5, 2)], {"mode": "cubic"}),
        ("RoiAlign", [(1, 2, 4, 4), np.array([[0.0, 0, 3, 3]]), i64(0)], {"output_height": 2, "output_width": 2}),
        ("LSTM", [(3, 2, 2), (1, 8, 2), (1, 8, 2), (1, 16)], {"hidden_size": 2}),
        ("GRU", [(3, 2, 2), (2, 6, 2), (2, 6, 2)], {"hidden_size": 2, "direction": "bidirectional"}),
        ("Attention", [(1, 2, 3, 4), (1, 2, 3, 4), (1, 2, 3, 4)], {"opset": 23, "is_causal": 1}),
        ("LayerNormalization", [(2, 3), (3,), (3,)], {}),
        ("GridSample", [(1, 1, 3, 3), (1, 2, 2, 2)], {}),
        ("ScatterND", [(3, 2), i64([2], [0]), (2, 2)], {}),
        ("Pad", [(2, 3), i64(1, 1, 1, 1)], {"mode": "reflect"}),
        ("STFT", [(1, 6, 1), np.array(2), (4,)], {}),
        ("Einsum", [(2, 3), (3, 2)], {"equation": "ij,ji->"}),
        ("LRN", [(1, 3, 2, 2)], {"size": 3, "alpha": 0.5}),
        ("GatherElements", [(2, 3), i64([2, 0], [1, 1])], {"axis": 1}),
    ],
)
def test_gradients(op_type, shapes, settings):
    opset = settings.pop("opset", 21)
    if opset > defs.onnx_opset_version():
        pytest.skip("needs a newer package onnx")
    wisp.manual_seed(0)
    names = [f"x{i}" if s is not None else "" for i, s in enumerate(shapes)]
    made = helper.make_node(op_type, names, ["y"], **settings)
    graph = helper.make_graph(
        [made], "g", [onnx.ValueInfoProto(name=n) for n in names if n], [onnx.ValueInfoProto(name="y")]
    )
    built = wisp.onnx.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])).graph
    values = {n: s if isinstance(s, tuple) else wisp.tensor(s) for n, s in zip(names, shapes) if n}
    learnt = {
        n: wisp.randn(s, dtype=wisp.float64, requires_grad=True) for n, s in values.items() if isinstance(s, tuple)
    }

    def function(*tensors):
        return built.run({**values, **dict(zip(learnt, tensors))})[0]

    assert wisp.autograd.gradcheck(function, tuple(learnt.values()))
