"""Exporting every module of wisp.nn."""

import inspect

import pytest

onnx = pytest.importorskip("onnx")

import wisp
from tests.onnx_exports import check, check_other_sizes
from wisp import nn
from wisp.onnx._export import OLDEST_OPSET

R = wisp.randn
LINE, IMAGE, VOLUME = (2, 4, 8), (2, 4, 8, 8), (2, 4, 6, 6, 6)
SHAPES = {1: LINE, 2: IMAGE, 3: VOLUME}


def classes(*shape):
    return wisp.randint(0, 4, shape)


def signs(*shape):
    return wisp.rand(*shape).round() * 2 - 1


# What has no forward of its own, or another module for it.
BASES = {
    "Module", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict", "Container", "RNNBase", "RNNCellBase",
    "DataParallel",
}  # fmt: skip
SEQUENCE, STEP = R(5, 2, 8), R(2, 8)
# name: (arguments of the module, arguments of its call); all others take none, and rows
CASES = {
    **{f"{kind}{n}d": ((2,), (R(SHAPES[n]),)) for n in SHAPES for kind in (
        "AdaptiveAvgPool", "AdaptiveMaxPool", "AvgPool", "MaxPool", "CircularPad", "ReflectionPad", "ReplicationPad",
        "ZeroPad")},
    **{f"{kind}{n}d": ((4,), (R(SHAPES[n]),)) for n in SHAPES for kind in ("BatchNorm", "InstanceNorm")},
    **{f"{kind}{n}d": ((4, 2, 3), (R(SHAPES[n]),)) for n in SHAPES for kind in ("Conv", "ConvTranspose")},
    **{f"LazyConv{kind}{n}d": ((2, 3), (R(SHAPES[n]),)) for n in SHAPES for kind in ("", "Transpose")},
    **{f"Lazy{kind}Norm{n}d": ((), (R(SHAPES[n]),)) for n in SHAPES for kind in ("Batch", "Instance")},
    **{f"ConstantPad{n}d": ((1, 2.0), (R(SHAPES[n]),)) for n in SHAPES},
    **{f"LPPool{n}d": ((2, 2), (R(SHAPES[n]),)) for n in SHAPES},
    **{f"Dropout{n}d": ((), (R(SHAPES[n]),)) for n in SHAPES},
    **{name: ((8, 4), (SEQUENCE,)) for name in ("RNN", "GRU", "LSTM")},
    **{name: ((8, 4), (STEP,)) for name in ("RNNCell", "GRUCell", "LSTMCell")},
    **{name: ((), (R(3), R(3))) for name in ("L1Loss", "MSELoss", "SmoothL1Loss", "HuberLoss")},
    **{name: ((), (R(3), signs(3))) for name in ("HingeEmbeddingLoss", "SoftMarginLoss")},
    **{name: ((), (R(3, 4), classes(3))) for name in ("CrossEntropyLoss", "NLLLoss", "MultiMarginLoss")},
    **{name: ((), (R(3, 4),) * 3) for name in ("TripletMarginLoss", "TripletMarginWithDistanceLoss")},
    **{name: ((), (R(3, 4), R(3, 4))) for name in ("CosineSimilarity", "PairwiseDistance")},
    **{name: ((1,), (R(3, 4),)) for name in ("Softmax", "LogSoftmax", "Softmin")},
    **{name: ((8,), (R(2, 3, 4, 4),)) for name in ("Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d")},
    "AdaptiveLogSoftmaxWithLoss": ((8, 10, [2, 5]), (R(3, 8), wisp.tensor([0, 3, 9]))),
    "BCELoss": ((), (wisp.rand(3), wisp.rand(3))), "BCEWithLogitsLoss": ((), (R(3), wisp.rand(3))),
    "Bilinear": ((3, 4, 5), (R(2, 3), R(2, 4))), "ChannelShuffle": ((2,), (R(IMAGE),)),
    "CTCLoss": ((), (R(6, 2, 5).log_softmax(2), classes(2, 3) + 1, wisp.tensor([6, 5]), wisp.tensor([3, 2]))),
    "CosineEmbeddingLoss": ((), (R(3, 4), R(3, 4), signs(3))), "CrossMapLRN2d": ((2,), (R(IMAGE),)),
    "Embedding": ((5, 3), (classes(2, 3),)), "EmbeddingBag": ((5, 3), (classes(2, 3),)),
    "FeatureAlphaDropout": ((), (R(IMAGE),)), "Fold": (((4, 5), (2, 2)), (R(2, 12, 12),)),
    "GaussianNLLLoss": ((), (R(3, 4), R(3, 4), wisp.rand(3, 4) + 0.1)), "GroupNorm": ((2, 4), (R(LINE),)),
    "KLDivLoss": ((), (R(3, 4), wisp.rand(3, 4))), "LayerNorm": ((4,), (R(3, 4),)), "Linear": ((4, 3), (R(3, 4),)),
    "LazyLinear": ((3,), (R(3, 4),)), "LinearCrossEntropyLoss": ((4, 5), (R(3, 4), classes(3))),
    "LocalResponseNorm": ((2,), (R(IMAGE),)), "MarginRankingLoss": ((), (R(3), R(3), signs(3))),
    "MaxUnpool1d": ((2,), (R(1, 1, 4), wisp.tensor([[[0, 3, 5, 6]]]))),
    "MaxUnpool2d": ((2,), (R(1, 1, 2, 2), wisp.tensor([[[[0, 3], [9, 14]]]]))),
    "MaxUnpool3d": ((2,), (R(1, 1, 1, 1, 1), wisp.tensor([[[[[3]]]]]))),
    "MultiLabelMarginLoss": ((), (R(2, 4), wisp.tensor([[1, 0, -1, 2], [3, -1, 0, 0]]))),
    "MultiLabelSoftMarginLoss": ((), (R(2, 4), wisp.rand(2, 4).round())),
    "MultiheadAttention": ((8, 2), (SEQUENCE,) * 3), "NLLLoss2d": ((), (R(2, 4, 3, 3), classes(2, 3, 3))),
    "PixelShuffle": ((2,), (R(IMAGE),)), "PixelUnshuffle": ((2,), (R(IMAGE),)),
    "PoissonNLLLoss": ((), (R(3), wisp.rand(3))), "RMSNorm": ((4,), (R(3, 4),)),
    "Sequential": ((nn.Linear(4, 3), nn.ReLU()), (R(3, 4),)), "Softmax2d": ((), (R(IMAGE),)),
    "SyncBatchNorm": ((4,), (R(LINE),)), "Threshold": ((0.1, 2.0), (R(3, 4),)),
    "Transformer": ((8, 2, 1, 1, 16), (SEQUENCE, R(4, 2, 8))), "TransformerEncoderLayer": ((8, 2, 16), (SEQUENCE,)),
    "TransformerDecoderLayer": ((8, 2, 16), (R(4, 2, 8), SEQUENCE)),
    "TransformerEncoder": ((nn.TransformerEncoderLayer(8, 2, 16), 1), (SEQUENCE,)),
    "TransformerDecoder": ((nn.TransformerDecoderLayer(8, 2, 16), 1), (R(4, 2, 8), SEQUENCE)),
    "Unflatten": ((1, (2, 2)), (R(3, 4),)), "Unfold": (((2, 2),), (R(IMAGE),)),
}  # fmt: skip
RANDOM = {"FractionalMaxPool2d": R(IMAGE), "FractionalMaxPool3d": R(VOLUME)}
ALL = {name for name, kind in vars(nn).items() if inspect.isclass(kind) and issubclass(kind, nn.Module)}


def made(name):
    """A module, and arguments for it."""
    given, args = CASES.get(name, ((), (R(3, 4),)))
    module = getattr(nn, name)(*given)
    module(*args)  # lazy ones find out what they are
    return module.eval(), args


@pytest.mark.parametrize("name", sorted(ALL - BASES - set(RANDOM)))
def test_module(name):
    module, args = made(name)
    exported = wisp.onnx.export(module, args)
    check(exported, module, args, tolerance=1e-4)
    check_other_sizes(exported, module, args, tolerance=1e-4)


NEEDS = {"EmbeddingBag": 16, "Fold": 18, "MultiLabelMarginLoss": 16}  # the oldest version, where it is not 13


@pytest.mark.parametrize("name", sorted(ALL - BASES - set(RANDOM)))
def test_oldest_and_newest_version(name):
    module, args = made(name)
    for opset in (NEEDS.get(name, OLDEST_OPSET), onnx.defs.onnx_opset_version()):
        exported = wisp.onnx.export(module, args, dynamic_axes={}, opset_version=opset)
        assert exported.opset_import[0].version == opset
        check(exported, module, args, tolerance=1e-4)


@pytest.mark.parametrize("name", RANDOM)
def test_random_module(name):
    """Windows lie elsewhere each time: given places make it comparable."""
    x, dims = RANDOM[name], int(name[-2])
    samples = wisp.rand(2, 4, dims)
    module = getattr(nn, name)(2, output_size=3, return_indices=True, _random_samples=samples)
    exported = wisp.onnx.export(module, x)
    check(exported, module, (x,))
