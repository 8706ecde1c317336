"""Exporting layers and networks."""

import pytest

onnx = pytest.importorskip("onnx")

import wisp
from tests.onnx_exports import export_and_check, size_names
from wisp import models, nn

R = wisp.randn
IMAGE, ROWS, LINE, VOLUME = (2, 4, 6, 8), (3, 8), (2, 4, 9), (2, 4, 4, 6, 4)
LAYERS = {
    ROWS: [
        nn.Linear(8, 3), nn.Linear(8, 3, bias=False), nn.Identity(), nn.LayerNorm(8), nn.RMSNorm(8), nn.BatchNorm1d(8),
        nn.Dropout(), nn.AlphaDropout(), nn.Flatten(), nn.Unflatten(1, (2, 4)), nn.PReLU(), nn.PReLU(8),
        *(getattr(nn, name)() for name in (
            "ReLU", "ReLU6", "ELU", "SELU", "CELU", "GELU", "SiLU", "Mish", "Sigmoid", "Tanh", "Softplus", "Softsign",
            "LogSigmoid", "Hardtanh", "Hardsigmoid", "Hardswish", "Hardshrink", "Softshrink", "Tanhshrink", "LeakyReLU",
            "RReLU", "GLU")),
        nn.Threshold(0.1, 2.0), nn.GELU("tanh"), nn.Softmax(1), nn.LogSoftmax(1), nn.Softmin(1),
    ],
    LINE: [
        nn.Conv1d(4, 6, 3, padding=1), nn.ConvTranspose1d(4, 2, 3, stride=2), nn.MaxPool1d(2), nn.AvgPool1d(2),
        nn.AdaptiveAvgPool1d(4), nn.AdaptiveMaxPool1d(3), nn.AdaptiveMaxPool1d(4), nn.InstanceNorm1d(4, affine=True),
        nn.GroupNorm(2, 4), nn.ConstantPad1d((1, 2), 3.0), nn.ReflectionPad1d(2), nn.ReplicationPad1d(2),
        nn.CircularPad1d(2), nn.ZeroPad1d(1), nn.Upsample(scale_factor=2), nn.LPPool1d(2, 3), nn.Softmax2d(),
        nn.Dropout1d(),
    ],
    IMAGE: [
        nn.Conv2d(4, 6, 3, stride=2, groups=2), nn.Conv2d(4, 6, 3, padding="same", dilation=2),
        nn.Conv2d(4, 2, 3, padding=1, padding_mode="reflect"), nn.ConvTranspose2d(4, 2, 3, output_padding=1, stride=2),
        nn.BatchNorm2d(4), nn.BatchNorm2d(4, affine=False), nn.InstanceNorm2d(4), nn.GroupNorm(4, 4),
        nn.MaxPool2d(3, 2, 1, ceil_mode=True), nn.AvgPool2d(2), nn.AvgPool2d(3, 2, 1, count_include_pad=False),
        nn.AdaptiveAvgPool2d(1), nn.AdaptiveAvgPool2d((4, 3)), nn.AdaptiveMaxPool2d((3, 2)), nn.PixelShuffle(2),
        nn.PixelUnshuffle(2), nn.ChannelShuffle(2), nn.Upsample(scale_factor=2, mode="bilinear"),
        nn.Upsample(size=(9, 5), mode="bicubic"), nn.Upsample(size=(9, 5), mode="bilinear", align_corners=True),
        nn.UpsamplingNearest2d(size=(5, 9)), nn.ZeroPad2d((1, 2, 3, 0)), nn.ReflectionPad2d(1), nn.Unfold(2),
        nn.LocalResponseNorm(2), nn.Dropout2d(), nn.FeatureAlphaDropout(),
    ],
    VOLUME: [
        nn.Conv3d(4, 2, 2), nn.ConvTranspose3d(4, 2, 2), nn.MaxPool3d(2), nn.AvgPool3d(2), nn.BatchNorm3d(4),
        nn.AdaptiveAvgPool3d(1), nn.Upsample(scale_factor=2, mode="trilinear"), nn.ConstantPad3d(1, 0.5),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("layer", "shape"), [(layer, shape) for shape, layers in LAYERS.items() for layer in layers], ids=repr
)
def test_layers_with_any_batch(layer, shape):
    model = export_and_check(layer, R(shape), others=[(R(5, *shape[1:]),)], tolerance=1e-4, input_names=["x"])
    assert size_names(model)[0][0] == "x_dim_0"


LOSSES = [
    nn.L1Loss(), nn.MSELoss(), nn.SmoothL1Loss(), nn.HuberLoss(), nn.BCEWithLogitsLoss(),
    nn.KLDivLoss(reduction="batchmean"),
    nn.PoissonNLLLoss(), nn.SoftMarginLoss(), nn.HingeEmbeddingLoss(),
]  # fmt: skip


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_losses_of_pairs(loss):
    export_and_check(loss, R(3, 4), wisp.rand(3, 4))


@pytest.mark.parametrize(
    "loss",
    [nn.CrossEntropyLoss(), nn.CrossEntropyLoss(label_smoothing=0.1), nn.NLLLoss(), nn.MultiMarginLoss()],
    ids=repr,
)
def test_losses_of_classes(loss):
    export_and_check(loss, R(3, 4), wisp.tensor([0, 3, 1]))


def test_losses_of_three():
    export_and_check(nn.TripletMarginLoss(), R(3, 4), R(3, 4), R(3, 4))
    export_and_check(nn.CosineEmbeddingLoss(), R(3, 4), R(3, 4), wisp.tensor([1, -1, 1]))
    export_and_check(nn.GaussianNLLLoss(), R(3, 4), R(3, 4), wisp.rand(3, 4) + 0.1)


ANY_SEQUENCE = {"input_names": ["x"], "tolerance": 1e-4}


@pytest.mark.parametrize(
    "layer",
    [
        nn.LSTM(3, 4), nn.LSTM(3, 4, 2, bidirectional=True), nn.GRU(3, 4, bias=False), nn.GRU(3, 4, 2),
        nn.RNN(3, 4), nn.RNN(3, 4, nonlinearity="relu", bidirectional=True),
    ],
    ids=repr,
)  # fmt: skip
def test_recurrent_layers(layer):
    export_and_check(layer, R(5, 2, 3), others=[(R(3, 4, 3),)], **ANY_SEQUENCE)


@pytest.mark.parametrize("cell", [nn.LSTMCell(3, 4), nn.GRUCell(3, 4), nn.RNNCell(3, 4)], ids=repr)
def test_cells(cell):
    export_and_check(cell, R(2, 3), others=[(R(5, 3),)])


def test_batch_first_and_states():
    layer = nn.LSTM(3, 4, batch_first=True)
    model = export_and_check(layer, R(2, 5, 3), (R(1, 2, 4), R(1, 2, 4)))
    steps, batch = "input_dim_1", "input_dim_0"
    assert size_names(model) == [[batch, steps, ""], *[["", batch, ""]] * 2]


def test_embeddings_and_pairs():
    export_and_check(nn.Embedding(5, 3, padding_idx=0), wisp.tensor([[1, 0], [4, 2]]))
    export_and_check(nn.Bilinear(3, 4, 2), R(5, 3), R(5, 4))
    export_and_check(nn.CosineSimilarity(), R(5, 3), R(5, 3))
    export_and_check(nn.PairwiseDistance(), R(5, 3), R(5, 3))


def test_transformers():
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    export_and_check(layer, R(2, 5, 8), others=[(R(3, 4, 8),)], **ANY_SEQUENCE)
    whole = nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
    model = export_and_check(whole, R(2, 5, 8), R(2, 4, 8), others=[(R(3, 2, 8), R(3, 6, 8))], tolerance=1e-4)
    assert size_names(model) == [["src_dim_0", "src_dim_1", ""], ["src_dim_0", "tgt_dim_1", ""]]


def test_attention():
    layer = nn.MultiheadAttention(8, 2, batch_first=True)
    export_and_check(layer, R(2, 5, 8), R(2, 3, 8), R(2, 3, 8), tolerance=1e-4)
    mask = wisp.ones(5, 5).tril() == 0
    export_and_check(layer, *([R(2, 5, 8)] * 3), kwargs={"attn_mask": mask, "need_weights": False}, tolerance=1e-4)


@pytest.mark.parametrize("name", ["resnet18", "squeezenet1_1", "mobilenet_v2", "mobilenet_v3_small"])
def test_networks(name):
    model = export_and_check(getattr(models, name)(), R(1, 3, 32, 32), tolerance=1e-3)
    assert size_names(model)[0] == [
        "x_dim_0",
        "",
        *(["", ""] if name.startswith("squeeze") else ["x_dim_2", "x_dim_3"]),
    ]
    assert len(model.graph.node) < 200


def test_small_networks():
    options = {"tolerance": 1e-3}
    vision = models.VisionTransformer(
        image_size=16, patch_size=4, num_layers=2, num_heads=2, hidden_dim=8, mlp_dim=16, num_classes=5
    )
    export_and_check(vision, R(1, 3, 16, 16), others=[(R(3, 3, 16, 16),)], **options)
    dense = models.DenseNet(growth_rate=4, block_config=(2, 2), num_init_features=8, num_classes=5)
    export_and_check(dense, R(1, 3, 32, 32), others=[(R(3, 3, 32, 32),)], **options)


def test_language_models():
    any_text = {"input_names": ["x"], "tolerance": 1e-4}
    gpt = models.GPT(models.GPTConfig(block_size=16, vocab_size=20, n_layer=2, n_head=2, n_embd=16))
    export_and_check(gpt, wisp.randint(0, 20, (2, 5)), others=[(wisp.randint(0, 20, (3, 7)),)], **any_text)
    lstm = models.LSTMLanguageModel(20, 8, 8)
    export_and_check(lstm, wisp.randint(0, 20, (5, 2)), others=[(wisp.randint(0, 20, (3, 4)),)], **any_text)
