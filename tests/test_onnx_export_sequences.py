"""Exporting networks of sequences: packed ones, projections, losses that align, signals and their frames."""

import pytest

onnx = pytest.importorskip("onnx")

import wisp
from tests.onnx_exports import check, export_and_check, size_names
from wisp import nn
from wisp.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

pytestmark = pytest.mark.filterwarnings("ignore::wisp.jit.TracerWarning")
R = wisp.randn
LAYERS = [
    nn.LSTM(3, 4), nn.LSTM(3, 4, 2, bidirectional=True), nn.GRU(3, 4, bidirectional=True, bias=False),
    nn.RNN(3, 4, nonlinearity="relu"), nn.LSTM(3, 4, 2, proj_size=2, bidirectional=True),
]  # fmt: skip


class Packed(nn.Module):
    def __init__(self, layer, batch_first=False, enforce_sorted=True):
        super().__init__()
        self.layer, self.batch_first, self.enforce_sorted = layer, batch_first, enforce_sorted

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, self.batch_first, self.enforce_sorted)
        out, state = self.layer(packed)
        return *pad_packed_sequence(out, self.batch_first, padding_value=0.5), state


@pytest.mark.parametrize("layer", LAYERS, ids=repr)
def test_packed_sequences(layer):
    net = Packed(layer).eval()
    model = wisp.onnx.export(net, (R(6, 3, 3), wisp.tensor([5, 3, 2])))
    assert size_names(model) == [["x_dim_0", "x_dim_1", ""], ["x_dim_1"]]
    for steps, lengths in ((6, [5, 3, 2]), (8, [8, 8, 3, 2, 1]), (8, [4, 3])):
        check(model, net, (R(steps, len(lengths), 3), wisp.tensor(lengths)))


def test_packed_sequences_in_any_order():
    net = Packed(nn.GRU(3, 4), batch_first=True, enforce_sorted=False).eval()
    model = wisp.onnx.export(net, (R(3, 6, 3), wisp.tensor([2, 6, 3])))
    check(model, net, (R(4, 7, 3), wisp.tensor([2, 6, 3, 6])))


@pytest.mark.parametrize("batch_first", [True, False])
def test_projections(batch_first):
    layer = nn.LSTM(3, 5, 2, proj_size=2, bidirectional=True, batch_first=batch_first)
    model = export_and_check(layer, R(4, 4, 3), others=[(R(2, 7, 3),)])
    assert all(size_names(model)[0][:2])
    export_and_check(nn.LSTM(3, 5, proj_size=2, bias=False), R(4, 2, 3), (R(1, 2, 2), R(1, 2, 5)))
    export_and_check(nn.LSTM(3, 5, proj_size=2), R(4, 3))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("together", [True, False])
def test_alignment_loss(reduction, together):
    loss = nn.CTCLoss(reduction=reduction, zero_infinity=True)
    targets = wisp.tensor([3, 3, 1, 2, 1, 4]) if together else wisp.tensor([[3, 3, 1], [2, 1, 0], [4, 0, 0]])
    lengths = wisp.tensor([9, 8, 1]), wisp.tensor([3, 2, 1])
    probs = R(9, 3, 5).log_softmax(2)
    model = wisp.onnx.export(loss, (probs, targets, *lengths))
    check(model, loss, (probs, targets, *lengths), tolerance=1e-4)
    check(model, loss, (probs, targets, wisp.tensor([2, 5, 9]), lengths[1]), tolerance=1e-4)


@pytest.mark.parametrize(
    ("n", "hop", "length", "options"),
    [(16, 4, 16, {}), (16, 5, 12, {"length": 60}), (16, 8, 16, {"normalized": True}), (15, 4, 15, {}),
     (16, 4, 16, {"length": 75}), (16, 4, 16, {"onesided": False})],
)  # fmt: skip
def test_signals_there_and_back(n, hop, length, options):
    window = wisp.hann_window(length) + 0.1
    shared = {key: options[key] for key in ("normalized", "onesided") if key in options}

    def doubled(x):
        frames = wisp.stft(x, n, hop, length, window, return_complex=True, **shared)
        return wisp.istft(frames * 2, n, hop, length, window, **options)

    with pytest.warns(UserWarning, match="padded") if options.get("length") == 75 else _silence():
        model = export_and_check(doubled, R(2, 64), tolerance=1e-4)
        export_and_check(doubled, R(64), tolerance=1e-4)
    assert size_names(model) == [["x_dim_0", "x_dim_1"]]


class _silence:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


def test_frames_of_any_length():
    def frames(x):
        return x.unfold(1, 4, 2), wisp.stft(x, 8, 4, center=False, return_complex=True).abs()

    model = export_and_check(frames, R(2, 21), tolerance=1e-4)
    assert size_names(model) == [["x_dim_0", "x_dim_1"]]
