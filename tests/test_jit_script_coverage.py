"""Every ordinary layer, loss and model can be compiled; results, gradients and buffers are those of Python."""

from copy import deepcopy

import pytest

import wisp
from wisp import models, nn
from wisp.jit import script

VECTOR, IMAGES = (3, 8), {1: (2, 4, 8), 2: (2, 4, 8, 8), 3: (2, 4, 6, 6, 6)}
CASES = {}


def case(name, make, *inputs):
    """A module, and its inputs: shapes of random numbers, or functions that make them."""
    assert name not in CASES
    CASES[name] = (make, inputs)


def whole(high, *shape):
    return lambda: wisp.randint(0, high, shape)


def positive(*shape):
    return lambda: wisp.rand(*shape) + 0.1


for _name in ("AlphaDropout", "CELU", "Dropout", "ELU", "FeatureAlphaDropout", "Flatten", "GELU", "GLU", "Hardshrink",
              "Hardsigmoid", "Hardswish", "Hardtanh", "Identity", "LeakyReLU", "LogSigmoid", "Mish", "PReLU", "RReLU", "ReLU",
              "ReLU6", "SELU", "SiLU", "Sigmoid", "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink"):  # fmt: skip
    case(_name, getattr(nn, _name), VECTOR)
for _name in ("Softmax", "Softmin", "LogSoftmax"):
    case(_name, lambda n=_name: getattr(nn, n)(dim=1), VECTOR)
case("ReLU in place", lambda: nn.Sequential(nn.Linear(8, 8), nn.ReLU(inplace=True)), VECTOR)
case("Threshold", lambda: nn.Threshold(0.1, 2.0), VECTOR)
case("Softmax2d", nn.Softmax2d, IMAGES[2])
case("Linear", lambda: nn.Linear(8, 3), VECTOR)
case("Linear without bias", lambda: nn.Linear(8, 3, bias=False), VECTOR)
case("Bilinear", lambda: nn.Bilinear(8, 8, 3), VECTOR, VECTOR)
case("LayerNorm", lambda: nn.LayerNorm(8), VECTOR)
case("RMSNorm", lambda: nn.RMSNorm(8), VECTOR)
case("GroupNorm", lambda: nn.GroupNorm(2, 4), IMAGES[2])
case("LocalResponseNorm", lambda: nn.LocalResponseNorm(2), IMAGES[2])
case("CrossMapLRN2d", lambda: nn.CrossMapLRN2d(2), IMAGES[2])
case("SyncBatchNorm", lambda: nn.SyncBatchNorm(4), IMAGES[2])

for _d, _image in IMAGES.items():

    def layer(name, *args, d=_d, **settings):
        return lambda: getattr(nn, name.format(d))(*args, **settings)

    for _settings in ({}, {"stride": 2, "padding": 1}, {"padding": "same"}, {"padding": 1, "padding_mode": "reflect"},
                      {"groups": 2, "bias": False}):  # fmt: skip
        case(f"Conv{_d}d {_settings}", layer("Conv{}d", 4, 6, 3, **_settings), _image)
    for _settings in ({}, {"momentum": None}, {"affine": False}, {"track_running_stats": False}):
        case(f"BatchNorm{_d}d {_settings}", layer("BatchNorm{}d", 4, **_settings), _image)
    case(f"ConvTranspose{_d}d", layer("ConvTranspose{}d", 4, 6, 3, stride=2), _image)
    case(f"InstanceNorm{_d}d", layer("InstanceNorm{}d", 4), _image)
    case(f"InstanceNorm{_d}d that tracks", layer("InstanceNorm{}d", 4, affine=True, track_running_stats=True), _image)
    for _name in ("MaxPool{}d", "AvgPool{}d", "AdaptiveAvgPool{}d", "AdaptiveMaxPool{}d", "ReflectionPad{}d",
                  "ReplicationPad{}d", "ZeroPad{}d", "CircularPad{}d"):  # fmt: skip
        case(_name.format(_d), layer(_name, 2), _image)
    case(f"MaxPool{_d}d with indices", layer("MaxPool{}d", 2, return_indices=True), _image)
    case(f"AdaptiveAvgPool{_d}d to one", layer("AdaptiveAvgPool{}d", 1), _image)
    case(f"LPPool{_d}d", layer("LPPool{}d", 2.0, 2), _image)
    case(f"ConstantPad{_d}d", layer("ConstantPad{}d", 1, 2.5), _image)
    case(f"Dropout{_d}d", layer("Dropout{}d"), _image)
    case(f"MaxUnpool{_d}d", layer("MaxUnpool{}d", 2), (1, 1, *[2] * _d),
         lambda d=_d: (wisp.arange(2**d) * 2).reshape(1, 1, *[2] * d))  # fmt: skip
    if _d > 1:
        case(f"FractionalMaxPool{_d}d", layer("FractionalMaxPool{}d", 2, output_size=3), _image)

for _mode in ("nearest", "bilinear", "bicubic", "area", "nearest-exact"):
    case(f"Upsample {_mode}", lambda m=_mode: nn.Upsample(scale_factor=2, mode=m), IMAGES[2])
case("Upsample to a size", lambda: nn.Upsample(size=5), IMAGES[1])
case("UpsamplingNearest2d", lambda: nn.UpsamplingNearest2d(scale_factor=2), IMAGES[2])
case("UpsamplingBilinear2d", lambda: nn.UpsamplingBilinear2d(scale_factor=2), IMAGES[2])
for _name in ("PixelShuffle", "PixelUnshuffle", "ChannelShuffle"):
    case(_name, lambda n=_name: getattr(nn, n)(2), IMAGES[2])
case("Fold", lambda: nn.Fold((4, 4), (2, 2)), (1, 12, 9))
case("Unfold", lambda: nn.Unfold((2, 2)), IMAGES[2])
case("Unflatten", lambda: nn.Unflatten(1, (2, 2)), IMAGES[2])
case("CosineSimilarity", nn.CosineSimilarity, VECTOR, VECTOR)
case("PairwiseDistance", nn.PairwiseDistance, VECTOR, VECTOR)

case("Embedding", lambda: nn.Embedding(10, 4), whole(10, 3, 2))
case("Embedding with norms", lambda: nn.Embedding(10, 4, padding_idx=1, max_norm=1.0), whole(10, 3, 2))
for _mode in ("sum", "mean", "max"):
    case(f"EmbeddingBag {_mode}", lambda m=_mode: nn.EmbeddingBag(10, 4, mode=m), whole(10, 3, 2))

for _name in ("RNN", "LSTM", "GRU"):
    for _settings in ({}, {"num_layers": 2, "bidirectional": True, "batch_first": True}, {"bias": False}):
        case(f"{_name} {_settings}", lambda n=_name, s=_settings: getattr(nn, n)(8, 6, **s), (5, 2, 8))
    case(f"{_name} of one sequence", lambda n=_name: getattr(nn, n)(8, 6), (5, 8))
    case(f"{_name}Cell", lambda n=_name: getattr(nn, n + "Cell")(8, 6), VECTOR)
case("LSTM with a state", lambda: nn.LSTM(8, 6), (5, 2, 8), lambda: (wisp.randn(1, 2, 6), wisp.randn(1, 2, 6)))
case("LSTM with projections", lambda: nn.LSTM(8, 6, proj_size=3), (5, 2, 8))
case("GRU with a state", lambda: nn.GRU(8, 6), (5, 2, 8), (1, 2, 6))
case("LSTMCell with a state", lambda: nn.LSTMCell(8, 6), (2, 8), lambda: (wisp.randn(2, 6), wisp.randn(2, 6)))

SEQUENCE = (5, 2, 8)
case("MultiheadAttention", lambda: nn.MultiheadAttention(8, 2), SEQUENCE, SEQUENCE, SEQUENCE)
case(
    "MultiheadAttention batch first",
    lambda: nn.MultiheadAttention(8, 2, batch_first=True, dropout=0.1),
    *[SEQUENCE] * 3,
)
case(
    "MultiheadAttention with more keys",
    lambda: nn.MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True),
    *[SEQUENCE] * 3,
)
case(
    "MultiheadAttention of widths", lambda: nn.MultiheadAttention(8, 2, kdim=6, vdim=5), SEQUENCE, (5, 2, 6), (5, 2, 5)
)
case("MultiheadAttention masked", lambda: nn.MultiheadAttention(8, 2), *[SEQUENCE] * 3, lambda: None, lambda: True,
     lambda: wisp.ones(5, 5).triu(1).bool())  # fmt: skip
for _settings in ({}, {"batch_first": True, "norm_first": True, "activation": "gelu"}):
    case(
        f"TransformerEncoderLayer {_settings}", lambda s=_settings: nn.TransformerEncoderLayer(8, 2, 16, **s), SEQUENCE
    )
    case(
        f"TransformerDecoderLayer {_settings}",
        lambda s=_settings: nn.TransformerDecoderLayer(8, 2, 16, **s),
        SEQUENCE,
        SEQUENCE,
    )
case(
    "TransformerEncoder",
    lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2, norm=nn.LayerNorm(8)),
    SEQUENCE,
)
case("TransformerDecoder", lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16), 2), SEQUENCE, SEQUENCE)
case("Transformer", lambda: nn.Transformer(8, 2, 1, 1, 16), SEQUENCE, (4, 2, 8))

for _name in ("BCEWithLogitsLoss", "HingeEmbeddingLoss", "HuberLoss", "L1Loss", "MSELoss", "MultiLabelSoftMarginLoss",
              "PoissonNLLLoss", "SmoothL1Loss", "SoftMarginLoss"):  # fmt: skip
    for _reduction in ("mean", "sum", "none"):
        case(f"{_name} {_reduction}", lambda n=_name, r=_reduction: getattr(nn, n)(reduction=r), VECTOR, VECTOR)
case("KLDivLoss", lambda: nn.KLDivLoss(reduction="batchmean"), VECTOR, positive(*VECTOR))
case("BCELoss", nn.BCELoss, lambda: wisp.rand(*VECTOR), lambda: wisp.rand(*VECTOR))
case("CrossEntropyLoss", lambda: nn.CrossEntropyLoss(weight=wisp.rand(8), label_smoothing=0.1), VECTOR, whole(8, 3))
case("NLLLoss", nn.NLLLoss, VECTOR, whole(8, 3))
case("MultiMarginLoss", nn.MultiMarginLoss, VECTOR, whole(8, 3))
case("MultiLabelMarginLoss", nn.MultiLabelMarginLoss, (3, 4), lambda: wisp.tensor([[3, 0, -1, 1]] * 3))
case("GaussianNLLLoss", nn.GaussianNLLLoss, VECTOR, VECTOR, positive(*VECTOR))
case("TripletMarginLoss", nn.TripletMarginLoss, VECTOR, VECTOR, VECTOR)
case("TripletMarginWithDistanceLoss", nn.TripletMarginWithDistanceLoss, VECTOR, VECTOR, VECTOR)
case("CosineEmbeddingLoss", nn.CosineEmbeddingLoss, VECTOR, VECTOR, lambda: wisp.ones(3))
case("MarginRankingLoss", nn.MarginRankingLoss, (3,), (3,), lambda: wisp.ones(3))
case("CTCLoss", nn.CTCLoss, lambda: wisp.randn(10, 2, 5).log_softmax(2), lambda: wisp.randint(1, 5, (2, 3)),
     lambda: wisp.tensor([10, 10]), lambda: wisp.tensor([3, 3]))  # fmt: skip
case(
    "AdaptiveLogSoftmaxWithLoss",
    lambda: nn.AdaptiveLogSoftmaxWithLoss(8, 10, [4, 7]),
    VECTOR,
    lambda: wisp.tensor([1, 5, 9]),
)

# Models as small as their classes allow (that of VGG and AlexNet do not).
PHOTO = (2, 3, 64, 64)
for _name in ("mobilenet_v3_small", "squeezenet1_1"):
    case(f"models.{_name}", lambda n=_name: getattr(models, n)(num_classes=5), PHOTO)
case("models.ResNet", lambda: models.ResNet(models.resnet.BasicBlock, [1, 1, 1, 1], num_classes=5), PHOTO)
case(
    "models.ResNet with bottlenecks",
    lambda: models.ResNet(models.resnet.Bottleneck, [1, 1, 1, 1], num_classes=5),
    PHOTO,
)
case("models.DenseNet", lambda: models.DenseNet(4, (2, 2, 2, 2), 8, num_classes=5), PHOTO)
case("models.MobileNetV2", lambda: models.MobileNetV2(num_classes=5, width_mult=0.25), PHOTO)
case("models.GoogLeNet", lambda: models.googlenet(num_classes=5, init_weights=False), PHOTO)
case("models.VisionTransformer", lambda: models.VisionTransformer(32, 16, 2, 2, 16, 32), (2, 3, 32, 32))
case("models.GPT", lambda: models.GPT(models.GPTConfig(vocab_size=50, block_size=16, n_layer=2, n_head=2, n_embd=16)),
     whole(50, 2, 8), whole(50, 2, 8))  # fmt: skip
case("models.LSTMLanguageModel", lambda: models.LSTMLanguageModel(50, 8, 8), whole(50, 5, 2))


def tensors(value):
    """All tensors of a result or argument."""
    if isinstance(value, wisp.Tensor):
        return [value]
    return [t for item in value for t in tensors(item)] if isinstance(value, (tuple, list)) else []


def make_inputs(inputs):
    made = [wisp.randn(*i) if isinstance(i, tuple) else i() for i in inputs]
    for tensor in tensors(made):
        if tensor.is_floating_point():
            tensor.requires_grad_()
    return made


def close(a, b):
    return wisp.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True)


def compare(module, inputs):
    """Both forms on equal inputs, with equal random numbers."""
    plain, twin = deepcopy(module), deepcopy(inputs)
    compiled = script(module)
    results = []
    for called, given in ((plain, twin), (compiled, inputs)):
        wisp.manual_seed(1)
        found = tensors(called(*given))
        results.append(found)
        roots = [t for t in found if t.requires_grad]
        if roots:
            sum(t.sum() for t in roots).backward()
    assert len(results[0]) == len(results[1])
    assert all(map(close, *results))
    pairs = [
        *zip(plain.parameters(), module.parameters(), strict=True),
        *zip(tensors(twin), tensors(inputs), strict=True),
    ]
    for own, other in pairs:
        assert (own.grad is None) == (other.grad is None)
        assert own.grad is None or close(own.grad, other.grad)
    assert all(map(close, plain.buffers(), module.buffers()))
    return compiled


@pytest.mark.parametrize("name", CASES)
def test_module(name):
    make, inputs = CASES[name]
    wisp.manual_seed(0)
    with wisp.no_grad():
        module = make()
    compare(module, make_inputs(inputs))


@pytest.mark.parametrize(
    "name", ["BatchNorm2d {}", "Dropout", "LSTM {}", "MultiheadAttention", "TransformerEncoder", "models.ResNet"]
)
def test_module_in_evaluation(name):
    make, inputs = CASES[name]
    wisp.manual_seed(0)
    compare(make().eval(), make_inputs(inputs))
