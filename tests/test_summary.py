"""summary: what networks consist of, by numbers counted by hand or published."""

import pytest

import wisp
from wisp import models, nn


def by_path(s):
    return {layer.path: layer for layer in s.layers}


def test_a_small_network_counted_by_hand():
    model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 16, 10))
    s = wisp.summary(model, (2, 3, 4, 4))
    assert [layer.path for layer in s.layers] == ["", "0", "1", "2", "3"]
    assert [layer.kind for layer in s.layers] == ["Sequential", "Conv2d", "ReLU", "Flatten", "Linear"]
    assert [layer.output_shape for layer in s.layers] == [(2, 10), (2, 8, 4, 4), (2, 8, 4, 4), (2, 128), (2, 10)]
    assert [layer.parameters for layer in s.layers] == [224 + 1290, 224, 0, 0, 1290]
    assert [layer.multiply_adds for layer in s.layers] == [6912 + 2560, 2 * 8 * 16 * 27, 0, 0, 2 * 10 * 128]
    assert s.parameters == s.trainable_parameters == 1514 and s.multiply_adds == 9472
    assert s.parameter_bytes == 4 * 1514 and s.input_bytes == 4 * 96 and s.buffer_bytes == 0
    assert s.activation_bytes == 4 * (256 + 256 + 20)  # Flatten is a view
    assert s.total_bytes == s.parameter_bytes + s.input_bytes + s.activation_bytes
    assert s.unused == []


@pytest.mark.parametrize(
    ("name", "size", "published"),
    [
        ("resnet18", 224, 1.814e9),
        ("squeezenet1_1", 224, 0.349e9),
        ("mobilenet_v2", 224, 0.301e9),
        ("mobilenet_v3_small", 224, 0.057e9),
    ],
)
def test_published_numbers_of_multiply_adds(name, size, published):
    assert wisp.summary(models.get_model(name), (1, 3, size, size)).multiply_adds == pytest.approx(published, rel=0.02)


def test_ways_to_give_the_input():
    model = nn.Linear(3, 2)
    sizes = [wisp.summary(model, wisp.zeros(5, 3)), wisp.summary(model, (5, 3)), wisp.summary(model, input_size=(5, 3)),
             wisp.summary(model, input_size=[(5, 3)]), wisp.summary(model, input=wisp.zeros(5, 3))]  # fmt: skip
    assert {s.layers[0].output_shape for s in sizes} == {(5, 2)}
    assert {s.input_bytes for s in sizes} == {60}
    assert wisp.summary(nn.Embedding(4, 2), (3,), dtype=wisp.int64).layers[0].output_shape == (3, 2)
    assert wisp.summary(nn.Linear(3, 2).double(), (1, 3), dtype=wisp.float64).parameter_bytes == 64
    assert wisp.summary(nn.Bilinear(3, 4, 2), (5, 3), (5, 4)).multiply_adds == 5 * 2 * 3 * 5


def test_nothing_is_changed():
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.Dropout())
    model[0].eval()
    before = wisp.get_rng_state()
    state = {name: value.clone() for name, value in model.state_dict().items()}
    wisp.summary(model, (4, 2))
    assert wisp.equal(before, wisp.get_rng_state())
    assert [m.training for m in model.modules()] == [True, False, True, True]
    assert all(wisp.equal(value, state[name]) for name, value in model.state_dict().items())
    assert model(wisp.zeros(4, 2)).shape == (4, 2)
    assert not model._hooked and not model[0]._hooked
    with pytest.raises(RuntimeError):
        wisp.summary(model, (4, 3))
    model(wisp.zeros(4, 2))
    assert model.training and not model[0]._hooked


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Linear(4, 4, bias=False)
        self.two = self.one
        self.block = nn.Sequential(nn.Tanh(), self.one)

    def forward(self, x):
        return self.block(self.two(self.one(x)))


def test_shared_modules_count_once():
    s = wisp.summary(Shared(), (1, 4))
    assert s.parameters == 16
    assert [(layer.path, layer.calls, layer.is_shared) for layer in s.layers] == [
        ("", 1, False), ("one", 2, False), ("block", 1, False), ("block.0", 1, False), ("block.1", 1, True),
    ]  # fmt: skip
    assert s.multiply_adds == 3 * 16
    assert "(2 calls)" in str(s) and "shared" in str(s)


class Recursive(nn.Module):
    """Applies itself to its own result."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x, times=3):
        x = self.layer(x)
        return self(x, times - 1) if times > 1 else x


def test_recursive_modules():
    s = wisp.summary(Recursive(), (1, 2))
    assert [(layer.name, layer.kind) for layer in s.layers][:3] == [
        ("", "Recursive"),
        ("layer", "Linear"),
        ("itself", "Recursive"),
    ]
    assert s.parameters == 6 and s.multiply_adds == 3 * 4


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = nn.ModuleList([nn.Linear(2, 2) for _ in range(2)])
        self.aux = nn.Sequential(nn.Linear(2, 1))
        self.scale = nn.Parameter(wisp.ones(1))

    def forward(self, x):
        for step in self.steps:
            x = step(x)
        return {"out": x * self.scale, "more": [x]}


def test_lists_and_what_is_not_called():
    s = wisp.summary(Branches(), (3, 2))
    assert [layer.path for layer in s.layers] == ["", "steps.0", "steps.1", "aux.0"]
    assert s.unused == ["aux.0"]
    assert s.layers[0].output_shapes == [(3, 2), (3, 2)]
    assert "not called" in str(s) and "[3, 2], ..." in str(s)


def test_parameters_that_are_not_trained():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    model[0].requires_grad_(False)
    s = wisp.summary(model, (1, 2))
    assert (s.parameters, s.trainable_parameters) == (9, 3)
    assert "Parameters: 9, 3 of them trainable" in str(s)
    assert s.layers[1].trainable_parameters == 0


@pytest.mark.parametrize(
    ("layer", "inputs", "count"),
    [
        (nn.Conv1d(4, 6, 3, groups=2), [(2, 4, 10)], 2 * 6 * 8 * 2 * 3),
        (nn.ConvTranspose2d(4, 6, 3, stride=2), [(1, 4, 5, 5)], 4 * 25 * 6 * 9),
        (nn.RNN(3, 5), [(7, 2, 3)], 14 * 5 * (3 + 5)),
        (nn.LSTM(3, 5, 2, bidirectional=True), [(7, 2, 3)], 14 * 2 * 4 * 5 * ((3 + 5) + (10 + 5))),
        (nn.LSTM(3, 5, proj_size=2), [(7, 2, 3)], 14 * (4 * 5 * (3 + 2) + 5 * 2)),
        (nn.GRU(3, 5, batch_first=True), [(2, 7, 3)], 14 * 3 * 5 * 8),
        (nn.LSTMCell(3, 5), [(2, 3)], 2 * 4 * 5 * 8),
        (nn.MultiheadAttention(8, 2), [(5, 3, 8)] * 3, 15 * 4 * 64 + 2 * 15 * 5 * 8),
        (nn.MultiheadAttention(8, 2, batch_first=True, kdim=4, vdim=6), [(3, 5, 8), (3, 7, 4), (3, 7, 6)],
         2 * 15 * 64 + 21 * 8 * 10 + 2 * 15 * 7 * 8),
        (nn.BatchNorm2d(3), [(2, 3, 4, 4)], 0),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else "",
)  # fmt: skip
def test_multiply_adds_of_layers(layer, inputs, count):
    assert wisp.summary(layer, *inputs).multiply_adds == count


class Odd(nn.Linear):
    """A known layer that gives something else."""

    def forward(self, x):
        return None if x.dim() == 1 else {"out": super().forward(x)}


def test_packed_sequences_and_odd_results():
    packed = nn.utils.rnn.pack_padded_sequence(wisp.zeros(4, 2, 3), [4, 2])
    assert wisp.summary(nn.GRU(3, 5), packed).multiply_adds == 6 * 3 * 5 * 8
    assert wisp.summary(Odd(3, 2), (4, 3)).multiply_adds == 4 * 6
    assert wisp.summary(Odd(3, 2), (3,)).multiply_adds == 0


def test_attention_is_one_layer():
    s = wisp.summary(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (3, 5, 8))
    assert "self_attn" in by_path(s) and "self_attn.out_proj" not in by_path(s)
    assert s.unused == []
    assert s.multiply_adds == (15 * 4 * 64 + 2 * 15 * 5 * 8) + 2 * 15 * 8 * 16


def test_lazy_modules_and_modules_without_parameters():
    assert wisp.summary(nn.Sequential(nn.LazyLinear(3)), (2, 5)).parameters == 18
    s = wisp.summary(nn.ReLU(), (2, 5))
    assert s.parameters == 0 and s.multiply_adds == 0


def test_the_table():
    model = nn.Sequential(nn.Sequential(nn.Linear(4, 3), nn.ReLU()), nn.Linear(3, 1000))
    s = wisp.summary(model, (2, 4))
    assert str(s).splitlines()[:8] == [
        "Layer             Output shape  Parameters  Multiply-adds",
        "---------------------------------------------------------",
        "Sequential        [2, 1000]          4,015          6,024",
        "├─ 0: Sequential  [2, 3]                15             24",
        "│  ├─ 0: Linear   [2, 3]                15             24",
        "│  └─ 1: ReLU     [2, 3]                 0              0",
        "└─ 1: Linear      [2, 1000]          4,000          6,000",
        "---------------------------------------------------------",
    ]
    assert str(s) == repr(s)
    assert "0: Linear" not in str(wisp.summary(model, (2, 4), depth=1))
    assert "KiB of parameters" in str(s)
