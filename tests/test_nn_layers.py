"""Layers, functions and initialisers: values and gradients as in PyTorch."""

import doctest
import importlib
import math
import random
import re
import warnings

import pytest

import wisp
from tests import oracle
from tests.oracle import assert_close
from wisp import nn

F = nn.functional


def numbers(key, *shape):
    """The same numbers for the same key, in nested lists."""
    rng = random.Random(key)

    def build(sizes):
        return [build(sizes[1:]) for _ in range(sizes[0])] if sizes else round(rng.uniform(-2, 2), 3)

    return build(list(shape))


def plain(value):
    """Tensors as lists, everything else as it is."""
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    return value.tolist() if hasattr(value, "tolist") else value


def fill(lib, module):
    """Gives all parameters known values."""
    with lib.no_grad():
        for name, param in module.named_parameters():
            param.copy_(lib.tensor(numbers(name, *param.shape)))
    return module


def outcome(lib, module, *args):
    """The text, state, result and gradients of a module."""
    fill(lib, module)
    inputs = [
        lib.tensor(a, requires_grad=True) if isinstance(a, list) and is_float(a) else tensor(lib, a) for a in args
    ]
    result = module(*inputs)
    weights = lib.tensor(numbers("w", *result.shape))
    (result * weights).sum().backward()
    grads = [x.grad for x in inputs if x.is_floating_point() and x.requires_grad]
    grads += [p.grad for p in module.parameters()]
    return [re.sub(r"\btorch\b", "wisp", repr(module)), list(module.state_dict()), plain(result), plain(grads)]


def tensor(lib, values):
    return lib.tensor(values)


def is_float(values):
    while isinstance(values, list):
        values = values[0]
    return isinstance(values, float)


def Joined(lib, cell):
    """A cell whose state is a pair, with plain arguments and one result."""

    class Joined(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = cell

        def forward(self, x, h, c):
            return lib.cat(self.cell(x, (h, c)), 1)

    return Joined()


X = numbers("x", 3, 4)
Y = numbers("y", 3, 4)


def running_statistics(lib):
    """What batches leave behind, with a fixed momentum and as a plain average."""
    found = []
    for momentum in (0.3, None):
        layer = lib.nn.BatchNorm1d(4, momentum=momentum)
        for batch in (X, Y):
            layer(lib.tensor(batch))
        found.append([plain(value) for value in layer.state_dict().values()])
        found.append(plain(layer.eval()(lib.tensor(X)).detach()))
    return found


def linear_layers(lib):
    layers = lib.nn
    return {
        "Linear": outcome(lib, layers.Linear(4, 2), X),
        "Linear without bias": outcome(lib, layers.Linear(4, 2, bias=False), X),
        "Linear of a vector": outcome(lib, layers.Linear(4, 2), X[0]),
        "Linear of 3 dimensions": outcome(lib, layers.Linear(4, 2), [X, Y]),
        "Bilinear": outcome(lib, layers.Bilinear(4, 4, 2), X, Y),
        "Identity": outcome(lib, layers.Identity(1, a=2), X),
        "Flatten": outcome(lib, layers.Flatten(), [X, Y]),
        "Flatten all": outcome(lib, layers.Flatten(0, 1), [X, Y]),
        "Unflatten": outcome(lib, layers.Unflatten(1, (2, -1)), X),
        "LayerNorm": outcome(lib, layers.LayerNorm(4), X),
        "LayerNorm of two": outcome(lib, layers.LayerNorm((3, 4), eps=0.1), [X, Y]),
        "LayerNorm plain": outcome(lib, layers.LayerNorm([4], elementwise_affine=False), X),
        "LayerNorm without bias": outcome(lib, layers.LayerNorm(4, bias=False), X),
        "RMSNorm": outcome(lib, layers.RMSNorm(4, eps=0.01), X),
        "RMSNorm plain": outcome(lib, layers.RMSNorm((3, 4), elementwise_affine=False), [X, Y]),
        "GroupNorm": outcome(lib, layers.GroupNorm(1, 4), X),
        "GroupNorm of images": outcome(lib, layers.GroupNorm(3, 3, affine=False), [X, Y]),
        "BatchNorm1d": outcome(lib, layers.BatchNorm1d(4), X),
        "BatchNorm1d of 3 dimensions": outcome(lib, layers.BatchNorm1d(3, affine=False), [X, Y]),
        "BatchNorm1d in evaluation": outcome(lib, layers.BatchNorm1d(4, bias=False).eval(), X),
        "BatchNorm2d": outcome(lib, layers.BatchNorm2d(2, track_running_stats=False), [[X, Y], [Y, X]]),
        "InstanceNorm1d": outcome(lib, layers.InstanceNorm1d(3, affine=True), [X, Y]),
        "InstanceNorm1d of one": outcome(lib, layers.InstanceNorm1d(3), X),
        "running statistics": running_statistics(lib),
        "RNNCell": outcome(lib, layers.RNNCell(4, 2), X, numbers("h", 3, 2)),
        "RNNCell relu": outcome(lib, layers.RNNCell(4, 2, bias=False, nonlinearity="relu"), X[0]),
        "LSTMCell": outcome(lib, Joined(lib, layers.LSTMCell(4, 2)), X, numbers("h", 3, 2), numbers("c", 3, 2)),
        "GRUCell": outcome(lib, layers.GRUCell(4, 2), X, numbers("h", 3, 2)),
        "GRUCell from nothing": outcome(lib, layers.GRUCell(4, 2), X),
        "Embedding": outcome(lib, layers.Embedding(5, 2), [[0, 4], [2, 2]]),
        "Embedding with padding": outcome(lib, layers.Embedding(5, 2, padding_idx=-3), [[0, 4], [2, 2]]),
        "Embedding by frequency": outcome(lib, layers.Embedding(5, 2, scale_grad_by_freq=True), [[0, 4], [2, 2]]),
        "Embedding of one": outcome(lib, layers.Embedding(5, 2, max_norm=1.0, norm_type=1.0), [1, 3, 1]),
        "CosineSimilarity": outcome(lib, layers.CosineSimilarity(dim=0), X, Y),
        "PairwiseDistance": outcome(lib, layers.PairwiseDistance(p=1.0, keepdim=True), X, Y),
        "Sequential": outcome(lib, layers.Sequential(layers.Linear(4, 3), layers.Tanh(), layers.Linear(3, 1)), X),
    }


ACTIVATIONS = {
    "CELU": [(), (0.5,)], "ELU": [(), (2.0,)], "GELU": [(), ("tanh",)], "GLU": [(), (1,)], "Hardshrink": [(), (1.0,)],
    "Hardsigmoid": [()], "Hardswish": [()], "Hardtanh": [(), (-0.5, 1.5)], "LeakyReLU": [(), (0.3,)], "LogSigmoid": [()],
    "LogSoftmax": [(1,), (0,)], "Mish": [()], "PReLU": [(), (4,)], "RReLU": [()], "ReLU": [()], "ReLU6": [()], "SELU": [()],
    "SiLU": [()], "Sigmoid": [()], "Softmax": [(1,), (-2,)], "Softmin": [(1,)], "Softplus": [(), (2.0, 1.0)],
    "Softshrink": [(), (1.0,)], "Softsign": [()], "Tanh": [()], "Tanhshrink": [()], "Threshold": [(0.5, 7.0)],
}  # fmt: skip


def activations(lib):
    found = {}
    for name, settings in ACTIVATIONS.items():
        for args in settings:
            found[f"{name}{args}"] = outcome(lib, getattr(lib.nn, name)(*args).eval(), X)
    found["Softmax2d"] = outcome(lib, lib.nn.Softmax2d(), [X, Y])
    for name in ("CELU", "ELU", "Hardswish", "Hardtanh", "LeakyReLU", "Mish", "ReLU", "ReLU6", "SELU", "SiLU"):
        x = lib.tensor(X)
        module = getattr(lib.nn, name)(inplace=True)
        found[f"{name} in place"] = [repr(module), module(x) is x, x.tolist()]
    return found


P, Q = [[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]], [[0.6, 0.2, 0.2], [0.3, 0.3, 0.4]]
SIGNS = [[1.0, -1.0, 1.0, 1.0], [-1.0, 1.0, 1.0, -1.0], [1.0, 1.0, -1.0, -1.0]]
LOSSES = {
    "L1Loss": ({}, X, Y),
    "MSELoss": ({}, X, Y),
    "SmoothL1Loss": ({"beta": 0.5}, X, Y),
    "HuberLoss": ({"delta": 0.7}, X, Y),
    "BCELoss": ({}, P, Q),
    "BCEWithLogitsLoss": ({}, X, [[0.5, 0.1, 1.0, 0.0]] * 3),
    "NLLLoss": ({"ignore_index": 1}, X, [3, 1, 0]),
    "CrossEntropyLoss": ({"label_smoothing": 0.1}, X, [3, 1, 0]),
    "KLDivLoss": ({}, X, [[0.1, 0.2, 0.3, 0.4]] * 3),
    "PoissonNLLLoss": ({"full": True}, X, [[1.0, 2.0, 0.0, 5.0]] * 3),
    "GaussianNLLLoss": ({"full": True}, X, Y, [[0.5, 1.0, 2.0, 0.1]] * 3),
    "SoftMarginLoss": ({}, X, SIGNS),
    "MultiMarginLoss": ({"p": 2, "margin": 0.5}, X, [3, 1, 0]),
    "MultiLabelSoftMarginLoss": ({}, X, [[1.0, 0.0, 0.0, 1.0]] * 3),
    "MarginRankingLoss": ({"margin": 0.3}, X, Y, SIGNS),
    "HingeEmbeddingLoss": ({"margin": 0.8}, X, SIGNS),
    "CosineEmbeddingLoss": ({"margin": 0.1}, X, Y, [1.0, -1.0, 1.0]),
    "TripletMarginLoss": ({"swap": True}, X, Y, numbers("z", 3, 4)),
}


def losses(lib):
    found = {}
    for name, (settings, input, *rest) in LOSSES.items():
        for reduction in ("mean", "sum", "none"):
            module = getattr(lib.nn, name)(**settings, reduction=reduction)
            x = lib.tensor(input, requires_grad=True)
            result = module(x, *(lib.tensor(value) for value in rest))
            result.sum().backward()
            found[f"{name} {reduction}"] = [repr(module), plain(result), plain(x.grad)]
    return found


def functions(lib):
    f, x, y = lib.nn.functional, lib.tensor(X), lib.tensor(Y)
    return {
        "normalize": plain([f.normalize(x), f.normalize(x, p=1, dim=0), f.normalize(lib.zeros(1, 2))]),
        "cosine_similarity": plain([f.cosine_similarity(x, y), f.cosine_similarity(x, y[0], dim=-1)]),
        "pairwise_distance": plain(f.pairwise_distance(x, y)),
        "one_hot": plain([f.one_hot(lib.tensor([[0, 2], [1, 1]])), f.one_hot(lib.tensor(1), 3)]),
        "softmax": plain([f.softmax(x, 0), f.log_softmax(x, 1, dtype=lib.float64), f.softmin(x, -1)]),
        "dropout": plain([f.dropout(x, 0.5, training=False), f.dropout(x, 1.0), f.dropout(x, 0.0)]),
        "embedding": plain(f.embedding(lib.tensor([2, 0]), x)),
        "bilinear": plain(f.bilinear(x, y, lib.tensor([X + [X[0]]]))),
    }


GAINS = (("linear",), ("conv2d",), ("sigmoid",), ("tanh",), ("relu",), ("leaky_relu",), ("leaky_relu", 0.2), ("selu",))


def initialisers(lib):
    init = lib.nn.init
    return {
        "gains": [init.calculate_gain(*args) for args in GAINS],
        "eye": plain([init.eye_(lib.empty(2, 3)), init.eye_(lib.empty(3, 2))]),
        "dirac": plain([init.dirac_(lib.empty(2, 3, 3)), init.dirac_(lib.empty(4, 2, 2, 3), groups=2)]),
        "constant": plain([init.constant_(lib.empty(2), 3.5), init.ones_(lib.empty(1)), init.zeros_(lib.empty(1))]),
        "fans": [list(init._calculate_fan_in_and_fan_out(lib.empty(2, 3, 4, 5))), init._calculate_correct_fan(lib.empty(2, 3), "fan_out")],
    }  # fmt: skip


PARTS = (linear_layers, activations, losses, functions, initialisers)
ORACLES = {"nn_layers": lambda lib: {part.__name__: part(lib) for part in PARTS}}


@pytest.mark.filterwarnings("ignore:reduction")
@pytest.mark.parametrize("part", PARTS, ids=lambda f: f.__name__)
def test_like_pytorch(part):
    assert_close(part(wisp), oracle.answers("nn_layers", ORACLES["nn_layers"])[part.__name__], part.__name__)


@pytest.mark.filterwarnings("ignore:reduction")
@pytest.mark.skipif(not oracle.HAS_TORCH, reason="compares PyTorch with its recorded answers")
def test_recorded_answers_are_current():
    assert_close(oracle.recorded("nn_layers"), oracle.answers("nn_layers", ORACLES["nn_layers"]), "recorded")


# --- what is random


def test_dropout_keeps_the_mean_and_scales():
    x = wisp.ones(20000, requires_grad=True)
    y = F.dropout(x, 0.25)
    assert set(y.tolist()) == {0.0, 4 / 3} or {round(v, 5) for v in set(y.tolist())} == {0.0, 1.33333}
    assert abs(y.mean().item() - 1) < 0.05
    y.sum().backward()
    assert wisp.equal(x.grad, y.detach())
    layer = nn.Dropout(0.5)
    assert layer.eval()(x) is x
    z = wisp.ones(100)
    assert nn.Dropout(0.5, inplace=True)(z) is z
    with pytest.raises(ValueError, match="dropout probability has to be between 0 and 1, but got 2"):
        F.dropout(x, 2)


def test_channel_dropout_drops_channels():
    x = wisp.ones(50, 40, 2, 3)
    y = nn.Dropout2d(0.5)(x)
    sums = y.sum((2, 3)).reshape(-1).tolist()
    assert set(sums) == {0.0, 12.0}
    assert abs(y.mean().item() - 1) < 0.1
    assert nn.Dropout1d()(wisp.ones(4, 5)).shape == (4, 5)
    with pytest.raises(RuntimeError, match="dimensions"):
        F.dropout1d(wisp.ones(4))
    with pytest.raises(RuntimeError, match="dimensions"):
        F.dropout1d(x)


@pytest.mark.parametrize("dtypes", [("int32", "int64"), ("int64", "int32")])
def test_bags_of_mixed_dtypes(dtypes):
    places, offsets = (getattr(wisp, name) for name in dtypes)
    table = wisp.arange(6.0).reshape(3, 2)
    bags = F.embedding_bag(wisp.tensor([0, 2, 1], dtype=places), table, wisp.tensor([0, 2], dtype=offsets), mode="sum")
    assert bags.tolist() == [[4.0, 6.0], [2.0, 3.0]]


def test_alpha_dropout_keeps_mean_and_variance():
    x = wisp.randn(40000)
    y = F.alpha_dropout(x, 0.3, training=True)
    assert abs(y.mean().item()) < 0.05
    assert abs(y.std().item() - 1) < 0.05
    assert F.alpha_dropout(x, 0.3) is x
    assert F.feature_alpha_dropout(wisp.randn(4, 5, 6), 0.5, training=True).shape == (4, 5, 6)


def test_gumbel_softmax_samples():
    logits = wisp.tensor([[0.0, 1.0, 2.0]]).expand(4000, 3)
    hard = F.gumbel_softmax(logits, hard=True)
    assert hard.sum(1).eq(1).all()
    frequencies = hard.mean(0)
    assert (frequencies - logits[0].softmax(0)).abs().max() < 0.05
    assert F.gumbel_softmax(logits, tau=0.5).sum(1).sub(1).abs().max() < 1e-5


@pytest.mark.parametrize(("name", "args", "std"), [
    ("uniform_", (-3.0, 3.0), math.sqrt(3)), ("normal_", (0.0, 2.0), 2.0), ("xavier_uniform_", (2.0,), 2 * math.sqrt(2 / 500)),
    ("xavier_normal_", (), math.sqrt(2 / 500)), ("kaiming_uniform_", (), math.sqrt(2 / 300)),
    ("kaiming_normal_", (0, "fan_out", "relu"), math.sqrt(2 / 200)), ("trunc_normal_", (), 0.8796),
])  # fmt: skip
def test_random_initialisers_have_their_spread(name, args, std):
    t = nn.Parameter(wisp.empty(200, 300))
    assert getattr(nn.init, name)(t, *args) is t
    assert t.requires_grad
    assert t.grad_fn is None
    assert abs(t.mean().item()) < 0.02 * std + 0.01 * std
    assert abs(t.std().item() / std - 1) < 0.02
    again = getattr(nn.init, name)(wisp.empty(200, 300), *args, generator=wisp.Generator().manual_seed(1))
    assert wisp.equal(
        again, getattr(nn.init, name)(wisp.empty(200, 300), *args, generator=wisp.Generator().manual_seed(1))
    )


def test_other_initialisers():
    t = nn.init.trunc_normal_(wisp.empty(1000), 1.0, 2.0, a=0.0, b=1.5)
    assert t.min() >= 0
    assert t.max() <= 1.5
    s = nn.init.sparse_(wisp.empty(10, 4), 0.3)
    assert s.eq(0).sum(0).tolist() == [3] * 4
    with pytest.raises(ValueError, match="fewer than 2 dimensions"):
        nn.init.xavier_uniform_(wisp.empty(3))
    with pytest.raises(ValueError, match="Unsupported nonlinearity swish"):
        nn.init.calculate_gain("swish")
    with pytest.warns(UserWarning, match="zero-element"):
        nn.init.kaiming_uniform_(wisp.empty(0, 2))
    with pytest.warns(FutureWarning, match=r"`nn.init.uniform` is now deprecated in favor of `nn.init.uniform_`"):
        nn.init.uniform(wisp.empty(2))


def test_layers_start_like_pytorchs():
    """The bounds of the distributions of initial weights."""
    weight = nn.Linear(100, 200).weight
    assert weight.abs().max() <= 0.1
    assert abs(weight.std().item() - 0.1 / math.sqrt(3)) < 0.001
    assert nn.Embedding(100, 50, padding_idx=3).weight[3].abs().sum() == 0
    assert nn.LayerNorm(3).weight.tolist() == [1, 1, 1]


def test_embedding_checks_its_input():
    table = nn.Embedding(3, 2)
    with pytest.raises(RuntimeError, match="Long, Int"):
        table(wisp.ones(2))
    with pytest.raises(IndexError):
        table(wisp.tensor([3]))
    frozen = nn.Embedding.from_pretrained(wisp.ones(2, 2))
    assert not frozen.weight.requires_grad
    assert frozen(wisp.tensor(1)).tolist() == [1, 1]


def test_softmax_without_dim_warns():
    with pytest.warns(UserWarning, match="Implicit dimension choice for softmax has been deprecated"):
        assert F.softmax(wisp.ones(2, 4)).tolist() == [[0.25] * 4] * 2
    with pytest.warns(UserWarning, match="Implicit dimension choice for log_softmax"):
        nn.LogSoftmax()(wisp.ones(2, 2))


def test_old_arguments_of_losses():
    with pytest.warns(UserWarning, match="please use reduction='sum' instead"):
        assert nn.MSELoss(size_average=False).reduction == "sum"
    with pytest.warns(UserWarning, match="reduction='none'"):
        assert nn.L1Loss(reduce=False).reduction == "none"


@pytest.mark.parametrize("name", ["module", "container", "linear", "sparse", "loss"])
def test_examples_in_docstrings(name):
    module = importlib.import_module(f"wisp.nn.modules.{name}")
    result = doctest.testmod(module, extraglobs={"wisp": wisp})
    assert result.attempted > 0
    assert result.failed == 0


# --- nn.utils


def with_gradients():
    params = [nn.Parameter(wisp.ones(2)), nn.Parameter(wisp.ones(1, 2)), nn.Parameter(wisp.ones(3))]
    params[0].grad, params[1].grad = wisp.tensor([3.0, 0.0]), wisp.tensor([[0.0, -4.0]])
    return params


def test_gradients_are_clipped():
    params = with_gradients()
    assert nn.utils.clip_grad_norm_(params, 1.0).item() == 5.0
    assert abs(nn.utils.get_total_norm([p.grad for p in params[:2]]).item() - 1) < 1e-5
    params = with_gradients()
    assert nn.utils.clip_grad_norm_(iter(params), 10.0, norm_type=math.inf).item() == 4.0
    assert params[0].grad.tolist() == [3, 0]
    nn.utils.clip_grad_value_(params, 2)
    assert params[1].grad.tolist() == [[0, -2]]
    params[0].grad.fill_(math.nan)
    with pytest.raises(RuntimeError, match="non-finite"):
        nn.utils.clip_grad_norm_(params, 1.0, error_if_nonfinite=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert nn.utils.clip_grad_norm_([nn.Parameter(wisp.ones(1))], 1.0).item() == 0


def test_parameters_as_vector():
    net = nn.Linear(2, 3)
    vector = nn.utils.parameters_to_vector(net.parameters())
    assert vector.shape == (9,)
    nn.utils.vector_to_parameters(wisp.arange(9.0), net.parameters())
    assert net.weight.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert net.bias.tolist() == [6, 7, 8]
    assert net.weight.requires_grad


def test_an_empty_batch_leaves_running_statistics_alone():
    layer = nn.BatchNorm1d(2)
    assert layer(wisp.ones(0, 2)).shape == (0, 2)
    assert layer.running_mean.tolist() == [0, 0] and layer.running_var.tolist() == [1, 1]


def test_variances_of_gaussian_nll_loss_may_be_shared_along_any_one_dimension():
    x, y = wisp.ones(4, 3), wisp.zeros(4, 3)
    for size in ((4, 3), (1, 3), (4, 1), (4,)):
        assert nn.functional.gaussian_nll_loss(x, y, wisp.ones(size)).item() == 0.5
    for size in ((3,), (1, 1), (1,)):
        with pytest.raises(ValueError, match="incorrect size"):
            nn.functional.gaussian_nll_loss(x, y, wisp.ones(size))


def test_attention_of_empty_batches():
    """No sequences, with and without masks and gradients."""
    layer = wisp.nn.MultiheadAttention(4, 2)
    x = wisp.rand(3, 0, 4, requires_grad=True)
    for masks in ({}, {"key_padding_mask": wisp.zeros(0, 3, dtype=wisp.bool)}, {"attn_mask": wisp.zeros(3, 3)},
                  {"attn_mask": wisp.zeros(0, 3, 3)}):  # fmt: skip
        for need_weights in (True, False):
            result, _ = layer(x, x, x, need_weights=need_weights, **masks)
            assert result.shape == (3, 0, 4)
            result.sum().backward()
    assert wisp.nn.TransformerEncoderLayer(4, 2, batch_first=True)(wisp.rand(0, 3, 4)).shape == (0, 3, 4)
    assert wisp.nn.TransformerDecoderLayer(4, 2)(x, wisp.rand(5, 0, 4)).shape == (3, 0, 4)


def test_corners_of_hardswish():
    """Where it bends, the gradient is that of the straight side."""
    x = wisp.tensor([-3.0, 3.0, 0.0], requires_grad=True)
    wisp.nn.functional.hardswish(x).sum().backward()
    assert x.grad.tolist() == [0.0, 1.0, 0.5]


def test_norms_to_clip_by_may_be_named():
    x = wisp.ones(3, requires_grad=True)
    x.grad = wisp.tensor([1.0, -5.0, 2.0])
    assert wisp.nn.utils.clip_grad_norm_([x], 1.0, norm_type="inf") == 5
    assert x.grad.tolist() == pytest.approx([0.2, -1.0, 0.4])


def test_an_empty_batch_gives_parameters_of_norms_no_gradient():
    for dtype in (wisp.float32, wisp.float64):
        norm = wisp.nn.BatchNorm2d(3, dtype=dtype)
        norm(wisp.rand(0, 3, 2, 2, dtype=dtype, requires_grad=True)).sum().backward()
        assert norm.weight.grad.tolist() == norm.bias.grad.tolist() == [0.0] * 3


def test_arguments_that_make_no_sense():
    from wisp.nn import functional as F

    with pytest.raises(ValueError, match="more than 1 value per group"):
        F.group_norm(wisp.rand(1, 4, 1), 4)
    with pytest.raises(RuntimeError, match="eps must be non-negative"):
        F.cosine_similarity(wisp.rand(1, 3), wisp.rand(1, 3), eps=-1.0)
    for bounds in ((0.1, float("inf")), (float("nan"), 0.3)):
        with pytest.raises(RuntimeError, match="must be finite"):
            F.rrelu(wisp.rand(3), *bounds)
