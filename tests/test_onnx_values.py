"""Values of ONNX operators, family by family, computed by hand."""

import math

import pytest

onnx = pytest.importorskip("onnx")

import numpy as np
from onnx import TensorProto, defs

from tests.onnx_models import f32, i64, run


def image(*rows):
    """One image of one channel."""
    return f32([[[list(row) for row in rows]]])


NINE = image((1, 2, 3), (4, 5, 6), (7, 8, 9))
COUNT = np.arange(6, dtype=np.float32).reshape(2, 3)

CASES = {
    # --- math
    "old broadcasting at an axis": (
        "Add", [np.zeros((2, 3), np.float32), f32(1, 2)], {"opset": 6, "broadcast": 1, "axis": 0}, [[1, 1, 1], [2, 2,
        2]],
    ),
    "integers are divided towards zero": ("Div", [i64(7, -7), i64(2, 2)], {}, [3, -3]),
    "power of the type of its base": ("Pow", [i64(2, 3), f32(0.5, 2)], {}, [1, 9]),
    "remainder with the sign of the divisor": ("Mod", [i64(-7, 7), i64(3, -3)], {}, [2, -2]),
    "remainder with the sign of the dividend": ("Mod", [f32(-7, 7), f32(3, -3)], {"fmod": 1}, [-1, 1]),
    "shift to the left drops bits": (
        "BitShift", [np.array([200, 3], np.uint8), np.array([1, 2], np.uint8)], {"direction": "LEFT"}, [144, 12],
    ),
    "round to even": ("Round", [f32(0.5, 1.5, 2.5, -0.5)], {}, [0, 2, 2, 0]),
    "clip where the bounds are exchanged": ("Clip", [f32(1, 2, 3), f32(5), f32(2)], {}, [2, 2, 2]),
    "gemm": ("Gemm", [f32([[1, 2]]), f32([[3], [4]]), f32([10])], {"alpha": 2.0, "beta": 0.5}, [[27]]),
    "einsum": ("Einsum", [COUNT, COUNT], {"equation": "ij , kj -> ik"}, [[5, 14], [14, 50]]),
    "cumsum without the element, backwards": (
        "CumSum", [f32(1, 2, 3), np.array(0)], {"exclusive": 1, "reverse": 1}, [5, 3, 0],
    ),
    "mean of several": ("Mean", [f32(1), f32(2), f32(6)], {}, 3),
    "only negative infinity": ("IsInf", [f32(math.inf, -math.inf, 1)], {"detect_positive": 0}, [False, True, False]),
    # --- activations
    "softmax of rows before version 13": (
        "Softmax", [np.zeros((1, 2, 2), np.float32)], {"opset": 11, "axis": 1}, [[[0.25] * 2] * 2],
    ),
    "softmax along an axis": (
        "Softmax", [np.zeros((1, 2, 2), np.float32)], {"opset": 13, "axis": 1}, [[[0.5] * 2] * 2],
    ),
    "hardmax takes the first": ("Hardmax", [f32([[1, 3, 3]])], {}, [[0, 1, 0]]),
    "prelu of channels before version 7": (
        "PRelu", [-np.ones((1, 2, 2), np.float32), f32(1, 2)], {"opset": 6}, [[[-1, -1], [-2, -2]]],
    ),
    "selu of other constants": ("Selu", [f32(-math.log(2), 3)], {"alpha": 2.0, "gamma": 3.0}, [-3, 9]),
    "shrink": ("Shrink", [f32(-2, 0.5, 2)], {"lambd": 1.0, "bias": 0.25}, [-1.75, 0, 1.75]),
    "hard sigmoid": ("HardSigmoid", [f32(-9, 0, 9)], {}, [0, 0.5, 1]),
    # --- shapes
    "reshape copies a size": ("Reshape", [COUNT, i64(0, -1, 1)], {}, [[[0], [1], [2]], [[3], [4], [5]]]),
    "reshape by an attribute": ("Reshape", [COUNT], {"opset": 1, "shape": [6]}, [0, 1, 2, 3, 4, 5]),
    "flatten": ("Flatten", [np.zeros((2, 3, 2), np.float32)], {"axis": 2}, [[0] * 2] * 6),
    "squeeze by an attribute": ("Squeeze", [f32([[1]])], {"opset": 11, "axes": [-1]}, [1]),
    "slice backwards": ("Slice", [COUNT, i64(-1), i64(-9), i64(1), i64(-2)], {}, [[2, 0], [5, 3]]),
    "slice by attributes": ("Slice", [COUNT], {"opset": 1, "starts": [1], "ends": [99], "axes": [1]}, [[1, 2], [4, 5]]),
    "tile along an axis": ("Tile", [f32(1, 2), np.array(2), np.array(0)], {"opset": 1}, [1, 2, 1, 2]),
    "pad reflects": ("Pad", [f32(1, 2, 3), i64(2, 1)], {"mode": "reflect"}, [3, 2, 1, 2, 3, 2]),
    "pad repeats the edge and crops": ("Pad", [f32(1, 2, 3), i64(2, -1)], {"mode": "edge"}, [1, 1, 1, 2]),
    "pad wraps": ("Pad", [f32(1, 2, 3), i64(1, 2)], {"mode": "wrap"}, [3, 1, 2, 3, 1, 2]),
    "pad along an axis": ("Pad", [f32([[1]]), i64(0, 1), f32(9), i64(-1)], {}, [[1, 9]]),
    "pad by attributes": ("Pad", [f32([1])], {"opset": 2, "pads": [0, 1], "value": 4.0}, [1, 4]),
    "depth to space": ("DepthToSpace", [f32([[[[i]] for i in range(4)]])], {"blocksize": 2}, [[[[0, 1], [2, 3]]]]),
    "space to depth": ("SpaceToDepth", [image((0, 1), (2, 3))], {"blocksize": 2}, [[[[i]] for i in range(4)]]),
    "center crop and pad": ("CenterCropPad", [COUNT, i64(3, 1)], {}, [[1], [4], [0]]),
    "reversed sequences": ("ReverseSequence", [COUNT.T.copy(), i64(2, 3)], {}, [[1, 5], [0, 4], [2, 3]]),
    "upper triangle": ("Trilu", [np.ones((2, 2), np.float32), np.array(1)], {}, [[0, 1], [0, 0]]),
    "part of a shape": ("Shape", [np.zeros((2, 3, 4))], {"start": -2, "end": 9}, [3, 4]),
    "expand in both directions": ("Expand", [f32([[1], [2]]), i64(2, 1, 1)], {}, [[[1], [2]]] * 2),
    # --- constants and types
    "range": ("Range", [f32(1), f32(2), f32(0.25)], {}, [1, 1.25, 1.5, 1.75]),
    "range of nothing": ("Range", [np.array(1), np.array(1), np.array(1)], {}, []),
    "eye beside the diagonal": ("EyeLike", [COUNT], {"k": 1, "dtype": TensorProto.INT32}, [[0, 1, 0], [0, 0, 1]]),
    "cast keeps the low bits": ("Cast", [i64(-1, 65537)], {"to": TensorProto.UINT16}, [65535, 1]),
    "cast to strings": ("Cast", [f32(0.1, 2)], {"to": TensorProto.STRING}, ["0.1", "2.0"]),
    "cast from strings": ("Cast", [np.array(["1e3", "-INF"], object)], {"to": TensorProto.FLOAT}, [1000, -math.inf]),
    "cast to float8 saturates": ("Cast", [f32(1e6, -1.06)], {"to": TensorProto.FLOAT8E4M3FN}, [448, -1.0]),
    "cast to float8 with infinity": (
        "Cast", [f32(1e6, 0.3)], {"to": TensorProto.FLOAT8E5M2, "saturate": 0}, [math.inf, 0.3125],
    ),
    "cast by the name of a type": ("Cast", [f32(1.9)], {"opset": 1, "to": "INT32"}, 1),
    # --- indexing
    "gather of a negative index": ("Gather", [COUNT, i64([-1, 0])], {"axis": 1}, [[[2, 0]], [[5, 3]]]),
    "gather elements": ("GatherElements", [COUNT, i64([2, 0], [0, -1])], {"axis": 1}, [[2, 0], [3, 5]]),
    "gather nd of batches": ("GatherND", [COUNT, i64([1], [2])], {"batch_dims": 1}, [1, 5]),
    "scatter elements adds": (
        "ScatterElements", [f32(1, 2, 3), i64(1, 1), f32(10, 20)], {"reduction": "add"}, [1, 32, 3],
    ),
    "scatter nd takes the largest": (
        "ScatterND", [COUNT, i64([0], [0]), f32([[9, 0, 1], [1, 7, 0]])], {"reduction": "max"}, [[9, 7, 2], [3, 4, 5]],
    ),
    "one hot": ("OneHot", [i64(1, -1, 9), np.array(3), f32(2, 5)], {}, [[2, 5, 2], [2, 2, 5], [2, 2, 2]]),
    "compress": ("Compress", [COUNT, np.array([False, True])], {"axis": 1}, [[1], [4]]),
    "last of the largest": ("ArgMax", [f32(1, 3, 3)], {"keepdims": 0, "select_last_index": 1}, 2),
    "where of strings": (
        "Where", [np.array([True, False]), np.array(["a", "b"], object), np.array(["c"], object)], {}, ["a", "c"],
    ),
    # --- reductions
    "reduction by an attribute": ("ReduceMax", [COUNT], {"opset": 11, "axes": [0], "keepdims": 0}, [3, 4, 5]),
    "reduction over no axes": ("ReduceSumSquare", [COUNT], {"noop_with_empty_axes": 1}, [[0, 1, 4], [9, 16, 25]]),
    "largest of nothing": ("ReduceMax", [np.zeros((2, 0), np.float32), i64(1)], {}, [[-math.inf]] * 2),
    "mean of integers": ("ReduceMean", [i64(-3, -4)], {}, [-3]),
    "product of several axes": ("ReduceProd", [COUNT + 1, i64(0, 1)], {"keepdims": 0}, 720),
    # --- convolution and pooling
    "convolution with padding on one side": (
        "Conv", [NINE, np.ones((1, 1, 2, 2), np.float32)], {"pads": [1, 1, 0, 0]},
        [[[[1, 3, 5], [5, 12, 16], [11, 24, 28]]]],
    ),
    "convolution of the same size": (
        "Conv", [NINE, np.ones((1, 1, 2, 2), np.float32)], {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
        [[[[12, 9], [15, 9]]]],
    ),
    "transposed convolution": (
        "ConvTranspose", [image((1, 2)), np.ones((1, 1, 1, 2), np.float32), f32([10])], {"strides": [1, 2],
        "output_padding": [0, 1]}, [[[[11, 11, 12, 12, 10]]]],
    ),
    "transposed convolution of a wanted size": (
        "ConvTranspose", [image((1, 2)), np.ones((1, 1, 1, 3), np.float32)], {"strides": [1, 2], "output_shape": [1,
        4]}, [[[[1, 3, 2, 2]]]],
    ),
    "deformed convolution": (
        "DeformConv", [NINE, np.ones((1, 1, 1, 1), np.float32), np.full((1, 2, 3, 3), 0.5, np.float32)], {},
        [[[[3, 4, 2.25], [6, 7, 3.75], [3.75, 4.25, 2.25]]]],
    ),
    "blocks to an image": (
        "Col2Im", [np.ones((1, 4, 4), np.float32), i64(3, 3), i64(2, 2)], {}, [[[[1, 2, 1], [2, 4, 2], [1, 2, 1]]]],
    ),
    "average without the padding": (
        "AveragePool", [NINE], {"kernel_shape": [2, 2], "pads": [1, 1, 0, 0], "strides": [2, 2]},
        [[[[1, 2.5], [5.5, 7]]]],
    ),
    "average with the padding": (
        "AveragePool", [NINE], {"kernel_shape": [2, 2], "pads": [1, 1, 0, 0], "strides": [2, 2],
        "count_include_pad": 1}, [[[[0.25, 1.25], [2.75, 7]]]],
    ),
    "average of windows with gaps": ("AveragePool", [NINE], {"kernel_shape": [2, 2], "dilations": [2, 2]}, [[[[5]]]]),
    "last window of ceil mode": (
        "MaxPool", [NINE], {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1}, [[[[5, 6], [8, 9]]]],
    ),
    "largest bytes": (
        "MaxPool", [np.array([[[3, 1, 2]]], np.uint8)], {"kernel_shape": [2], "pads": [1, 0]}, [[[3, 3, 2]]],
    ),
    "norms of windows": ("LpPool", [f32([[[3, 4, 0]]])], {"kernel_shape": [2]}, [[[5, 4]]]),
    "norm of everything": ("GlobalLpPool", [f32([[[3, 4]]])], {"p": 1}, [[[7]]]),
    "unpooling": (
        "MaxUnpool", [image((5, 6)), np.array([[[[1, 6]]]])], {"kernel_shape": [2, 2], "strides": [2, 2]},
        [[[[0, 5, 0, 0], [0, 0, 6, 0]]]],
    ),
    # --- normalisation and losses
    "layer normalisation": ("LayerNormalization", [f32([[1, 3]]), f32(2, 2), f32(1, 1)], {"epsilon": 0.0}, [[-1, 3]]),
    "root mean square": (
        "RMSNormalization", [f32([[3, 4]]), f32(1, 2)], {"opset": 23, "epsilon": 0.0}, [[3 / 12.5**0.5,
        8 / 12.5**0.5]],
    ),
    "groups with scales of their own": (
        "GroupNormalization", [f32([[[1], [3], [0], [4]]]), f32(1, 2), f32(0, 1)], {"opset": 18, "num_groups": 2,
        "epsilon": 0.0}, [[[-1], [1], [-1], [3]]],
    ),
    "instances": ("InstanceNormalization", [f32([[[1, 3]]]), f32([2]), f32([1])], {"epsilon": 0.0}, [[[-1, 3]]]),
    "response of neighbouring channels": (
        "LRN", [f32([[[1], [2], [3]]])], {"size": 2, "alpha": 2.0, "beta": 1.0, "bias": 1.0}, [[[1 / 6], [2 / 14],
        [3 / 10]]],
    ),
    "a norm of zero": ("LpNormalization", [f32([[3, 4], [0, 0]])], {}, [[0.6, 0.8], [0, 0]]),
    "likelihood of targets": (
        "NegativeLogLikelihoodLoss", [f32([[-1, -2], [-3, -4]]), i64(1, 0), f32(1, 3)], {}, 9 / 4,
    ),
    "cross entropy without a target": (
        "SoftmaxCrossEntropyLoss", [f32([[0, 0], [5, 5]]), i64(1, 7)], {"ignore_index": 7, "reduction": "sum"},
        math.log(2),
    ),
    # --- quantised
    "quantise": ("QuantizeLinear", [f32(-1, 0.5, 1.5, 999), f32(0.5), np.array(2, np.uint8)], {}, [0, 3, 5, 255]),
    "quantise blocks to 4 bits": (
        "QuantizeLinear", [f32([[1, 2, 3, 4]]), f32([[1, 2]])], {"axis": 1, "block_size": 2,
        "output_dtype": TensorProto.INT4}, [[1, 2, 2, 2]],
    ),
    "dequantise along an axis": (
        "DequantizeLinear", [np.array([[1, 2], [3, 4]], np.int8), f32(1, 10), np.array([0, 1], np.int8)], {"axis": 0},
        [[1, 2], [20, 30]],
    ),
    "product of quantised numbers": (
        "MatMulInteger", [np.array([[5, 6]], np.uint8), np.array([[1], [2]], np.uint8), np.array(4, np.uint8)], {},
        [[5]],
    ),
    "quantised product": (
        "QLinearMatMul", [np.array([[5, 6]], np.uint8), f32(0.5), np.array(4, np.uint8), np.array([[1], [2]],
        np.uint8), f32(2), np.array(0, np.uint8), f32(0.5), np.array(7, np.uint8)], {}, [[17]],
    ),
    "quantised convolution": (
        "QLinearConv", [np.array([[[1, 2, 3]]], np.uint8), f32(1), np.array(1, np.uint8), np.array([[[2, 2]]],
        np.uint8), f32(0.5), np.array(0, np.uint8), f32(1), np.array(10, np.uint8), np.array([4], np.int32)], {},
        [[[13, 15]]],
    ),
    # --- images
    "resize to the nearest below": (
        "Resize", [image((1, 2)), None, f32(1, 1, 1, 2)], {"nearest_mode": "floor",
        "coordinate_transformation_mode": "asymmetric"}, [[[[1, 1, 2, 2]]]],
    ),
    "resize linearly": ("Resize", [image((0, 4)), None, None, i64(1, 1, 1, 4)], {"mode": "linear"}, [[[[0, 1, 3, 4]]]]),
    "resize with corners kept": (
        "Resize", [image((0, 3)), None, None, i64(4)], {"mode": "linear", "axes": [3],
        "coordinate_transformation_mode": "align_corners"}, [[[[0, 1, 2, 3]]]],
    ),
    "shrink with all pixels": (
        "Resize", [image((0, 4, 8, 12)), None, f32(1, 1, 1, 0.5)], {"mode": "linear", "antialias": 1,
        "exclude_outside": 1}, [[[[20 / 7, 64 / 7]]]],
    ),
    "crop and resize": (
        "Resize", [image((1, 2, 3)), f32(0, 0, 0, 0.5, 1, 1, 1, 1.5), None, i64(1, 1, 1, 3)], {"mode": "linear",
        "coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 9.0}, [[[[2, 3, 9]]]],
    ),
    "keep the ratio": (
        "Resize", [np.zeros((4, 2), np.float32), None, None, i64(8, 3)], {"keep_aspect_ratio_policy": "not_larger"},
        [[0] * 3] * 6,
    ),
    "upsample": ("Upsample", [image((1, 2))], {"opset": 7, "scales": [1.0, 1.0, 2.0, 1.0]}, [[[[1, 2], [1, 2]]]]),
    "sample a grid": ("GridSample", [image((1, 3)), f32([[[[0, 0], [-0.5, 0]]]])], {}, [[[[2, 1]]]]),
    "regions by their mean": (
        "RoiAlign", [NINE, f32([[0, 0, 2, 2]]), i64(0)], {"coordinate_transformation_mode": "output_half_pixel",
        "sampling_ratio": 1}, [[[[5]]]],
    ),
    "regions by their largest": ("MaxRoiPool", [NINE, f32([[0, 0, 0, 2, 2]])], {"pooled_shape": [1, 2]}, [[[[8, 9]]]]),
    "boxes that do not overlap": (
        "NonMaxSuppression", [f32([[[0, 0, 2, 2], [0, 0, 2, 1.9], [5, 5, 6, 6]]]), f32([[[0.5, 0.9, 0.3]]]), i64(9),
        f32([0.5]), f32([0.2])], {}, [[0, 0, 1], [0, 0, 2]],
    ),
    # --- signals
    "transform of one frequency": ("DFT", [f32([[[1], [0], [-1], [0]]])], {"onesided": 1}, [[[0, 0], [2, 0], [0, 0]]]),
    "inverse transform by an attribute": (
        "DFT", [f32([[[2, 0], [0, 0]]])], {"opset": 17, "inverse": 1}, [[[1, 0], [1, 0]]],
    ),
    "transforms of pieces": (
        "STFT", [f32([[[1], [2], [3]]]), np.array(1), f32(1, 1)], {}, [[[[3, 0], [-1, 0]], [[5, 0], [-1, 0]]]],
    ),
    "window": ("HannWindow", [np.array(4)], {}, [0, 0.5, 1, 0.5]),
    "mel filters": (
        "MelWeightMatrix", [np.array(1), np.array(16), np.array(8), f32(0), f32(4)], {}, [[0], [0.5], [1], [2 / 3],
        [1 / 3], [0], [0], [0], [0]],
    ),
    # --- attention
    "attention to one key": (
        "Attention", [f32([[[[1]]]]), f32([[[[0], [0]]]]), f32([[[[2], [4]]]])], {"opset": 23}, [[[[3]]]],
    ),
    "causal attention": (
        "Attention", [np.zeros((1, 1, 2, 1), np.float32), np.zeros((1, 1, 2, 1), np.float32), f32([[[[2], [4]]]])],
        {"opset": 23, "is_causal": 1}, [[[[2], [3]]]],
    ),
    "attention to nothing": (
        "Attention", [f32([[[[1]]]]), f32([[[[1]]]]), f32([[[[5]]]]), np.array([[False]])], {"opset": 23}, [[[[0]]]],
    ),
    "turned features": (
        "RotaryEmbedding", [f32([[[[1, 2]]]]), f32([[[0]]]), f32([[[1]]])], {"opset": 23}, [[[[-2, 1]]]],
    ),
    # --- strings
    "joined": (
        "StringConcat", [np.array([["a"], ["b"]], object), np.array(["c", ""], object)], {}, [["ac", "a"], ["bc",
        "b"]],
    ),
    "matched": ("RegexFullMatch", [np.array(["ab", "abc"], object)], {"pattern": "a."}, [True, False]),
    "without stop words": (
        "StringNormalizer", [np.array(["The", "Café"], object)], {"stopwords": ["the"],
        "case_change_action": "UPPER"}, ["CAFE"],
    ),
    "all words left out": ("StringNormalizer", [np.array([["a"]], object)], {"stopwords": ["a"]}, [[""]]),
    "words equal": ("Equal", [np.array(["a", "b"], object), np.array(["b"], object)], {}, [False, True]),
    "counted n-grams": (
        "TfIdfVectorizer", [i64(1, 2, 1, 2)], {"mode": "TFIDF", "min_gram_length": 1, "max_gram_length": 2,
        "max_skip_count": 1, "ngram_counts": [0, 1], "ngram_indexes": [0, 1], "pool_int64s": [1, 1, 1],
        "weights": [1.0, 10.0]}, [2, 10],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=list(CASES))
def test_values(case):
    op_type, inputs, settings, wanted = CASES[case]
    if settings.get("opset", 21) > defs.onnx_opset_version():
        pytest.skip("needs a newer package onnx")
    result = run(op_type, *inputs, **settings)
    wanted = np.array(wanted, dtype=object if result.dtype == object else None)
    assert result.shape == wanted.shape
    if result.dtype == object:
        assert result.tolist() == wanted.tolist()
    else:
        np.testing.assert_allclose(result.astype(np.float64), wanted, rtol=1e-5, atol=1e-6)
