"""Recurrent networks, transformers, packed sequences: values and gradients as in PyTorch."""

import copy
import doctest
import importlib
import warnings

import pytest

import wisp
from tests import oracle
from tests.oracle import assert_close
from tests.test_nn_layers import fill, numbers, plain
from wisp import nn

rnn = nn.utils.rnn

RECURRENT = [
    ((3, 2), {}), ((3, 2, 2), {"bidirectional": True}), ((3, 2), {"batch_first": True, "bias": False}),
]  # fmt: skip


def outcome(lib, module, run):
    """The text, state, results and gradients of a module."""
    fill(lib, module)
    results = run(module)
    sum((r * lib.tensor(numbers(i, *r.shape))).sum() for i, r in enumerate(results)).backward()
    return [repr(module), list(module.state_dict()), plain(results), plain([p.grad for p in module.parameters()])]


def flat(result):
    """The tensors of a result, packed sequences without their numbers of members."""
    if isinstance(result, tuple) and hasattr(result, "batch_sizes"):
        return [result.data]
    if isinstance(result, (tuple, list)):
        return [t for part in result for t in flat(part)]
    return [result]


def recurrent(lib):
    found, x = {}, lib.tensor(numbers("x", 4, 5, 3))
    members = [x[0, :2], x[1, :4], x[2, :3]]
    pack = lib.nn.utils.rnn.pack_sequence
    for kind in ("RNN", "LSTM", "GRU"):
        make = getattr(lib.nn, kind)
        for args, settings in RECURRENT:
            name = f"{kind} {args} {settings}"
            found[name] = outcome(lib, make(*args, **settings), lambda m: flat(m(x)))
            found[name + " single"] = outcome(lib, make(*args, **settings), lambda m: flat(m(x[0])))
            packed = pack(members, enforce_sorted=False)
            found[name + " packed"] = outcome(lib, make(*args, **settings), lambda m, p=packed: flat(m(p)))
    found["projected"] = outcome(lib, lib.nn.LSTM(3, 4, proj_size=2, bidirectional=True), lambda m: flat(m(x)))
    found["relu"] = outcome(lib, lib.nn.RNN(3, 4, nonlinearity="relu"), lambda m: flat(m(x)))
    return found


def padding(lib):
    utils, x = lib.nn.utils.rnn, lib.tensor(numbers("x", 3, 4, 2))
    packed = utils.pack_padded_sequence(x, [1, 3, 2, 3], enforce_sorted=False)
    return {
        "packed": plain(list(packed)),
        "batch first": plain(list(utils.pack_padded_sequence(x, [4, 2, 1], batch_first=True))),
        "padded": plain(utils.pad_packed_sequence(packed, batch_first=True, padding_value=9.0, total_length=5)),
        "unpacked": plain(utils.unpack_sequence(packed)),
        "left": plain(utils.pad_sequence([x[0], x[1, :2]], True, 7.0, "left")),
        "inverse": plain(utils.invert_permutation(lib.tensor([2, 0, 1]))),
    }


def transformers(lib):
    src, tgt = (lib.tensor(numbers(n, k, 3, 4), dtype=lib.float64) for n, k in (("s", 4), ("t", 2)))  # large weights
    late = lib.tensor([[False, False, False, True]] * 3)
    found = {}
    for settings in ({}, {"norm_first": True}, {"activation": "gelu", "bias": False}):
        make = lib.nn.Transformer
        mask = make.generate_square_subsequent_mask(2)
        found[str(settings)] = outcome(
            lib, make(4, 2, 1, 1, 6, dropout=0.0, dtype=lib.float64, **settings),
            lambda m, mask=mask: [m(src, tgt, tgt_mask=mask, src_key_padding_mask=late, memory_key_padding_mask=late)],
        )  # fmt: skip
    encoder = lib.nn.TransformerEncoder(
        lib.nn.TransformerEncoderLayer(4, 2, 6, batch_first=True), 2, lib.nn.LayerNorm(4)
    )
    x, ends = lib.tensor(numbers("x", 2, 3, 4)), lib.tensor([[False, False, True], [False, False, False]])
    with lib.no_grad():
        found["without padding"] = plain(fill(lib, encoder).eval()(x, src_key_padding_mask=ends))
    found["mask"] = plain(lib.nn.Transformer.generate_square_subsequent_mask(3))
    return found


def adaptive(lib):
    x, target = lib.tensor(numbers("x", 4, 4)), lib.tensor([0, 5, 3, 2])
    layer = lib.nn.AdaptiveLogSoftmaxWithLoss(4, 7, [2, 4], div_value=2.0, head_bias=True)
    found = {"loss": outcome(lib, layer, lambda m: flat(m(x, target)))}
    found["others"] = plain([layer.log_prob(x), layer.predict(x), layer(x[0], target[0])])
    return found


PARTS = (recurrent, padding, transformers, adaptive)
ORACLES = {"sequences": lambda lib: {part.__name__: part(lib) for part in PARTS}}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", PARTS, ids=lambda f: f.__name__)
def test_like_pytorch(part):
    assert_close(part(wisp), oracle.answers("sequences", ORACLES["sequences"])[part.__name__], part.__name__)


@pytest.mark.parametrize(("make", "error", "message"), [
    (lambda: nn.LSTM(3, 4, dropout=2), ValueError, "dropout should be a number in range"),
    (lambda: nn.LSTM(3, 0), ValueError, "hidden_size must be greater than zero"),
    (lambda: nn.LSTM(3, 4.0), TypeError, "hidden_size should be of type int"),
    (lambda: nn.LSTM(3, 4, proj_size=4), ValueError, "proj_size has to be smaller"),
    (lambda: nn.GRU(3, 4, proj_size=2), ValueError, "only supported for LSTM"),
    (lambda: nn.RNN(3, 4, nonlinearity="x"), ValueError, "Unknown nonlinearity 'x'"),
    (lambda: nn.RNNBase("X", 3, 4), ValueError, "Unrecognized RNN mode: X"),
    (lambda: nn.LSTM(3, 4)(wisp.ones(2, 5, 4)), RuntimeError, "Expected 3, got 4"),
    (lambda: nn.GRU(3, 4)(wisp.ones(2, 5, 3), wisp.ones(1, 4, 4)), RuntimeError, r"Expected hidden size \(1, 5, 4\)"),
    (lambda: nn.GRU(3, 4)(wisp.ones(5, 3), wisp.ones(1, 4, 4)), RuntimeError, "For unbatched 2-D input"),
    (lambda: nn.GRU(3, 4)(wisp.ones(3)), ValueError, "Expected input to be 2D or 3D, got 1D"),
    (lambda: nn.GRU(3, 4)(wisp.ones(2, 5, 3).double()), ValueError, "does not match weight dtype"),
    (lambda: rnn.pack_padded_sequence(wisp.ones(3, 2), [1, 2]), RuntimeError, "sorted in decreasing order"),
    (lambda: rnn.pack_padded_sequence(wisp.ones(3, 2), [2, 0]), RuntimeError, "greater than 0"),
    (lambda: rnn.pack_padded_sequence(wisp.ones(3, 2), [4, 2]), RuntimeError, "at most 3"),
    (lambda: rnn.pad_sequence([]), RuntimeError, "empty list"),
    (lambda: nn.Transformer(4, 2, 1, 1, 4)(wisp.ones(2, 3, 4), wisp.ones(2, 2, 4)), RuntimeError, "batch number"),
    (lambda: nn.TransformerEncoderLayer(4, 2, activation="x"), RuntimeError, "should be relu/gelu, not x"),
    (lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 5, [3, 2]), ValueError, "cutoffs should be"),
])  # fmt: skip
def test_refusals(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_dropout_between_layers_only():
    x, net = wisp.ones(3, 2, 4), nn.LSTM(4, 4, 2, dropout=1.0)
    bare = copy.deepcopy(net)
    bare.weight_ih_l1.data.zero_()  # the second layer sees nothing
    assert wisp.allclose(net(x)[0], bare.eval()(x)[0])
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        nn.LSTM(4, 4, dropout=0.5)
    assert "num_layers greater than 1" in str(seen[0].message)


def test_threads_change_nothing():
    x, net = wisp.randn(7, 5, 40), nn.LSTM(40, 100)
    threads = wisp.get_num_threads()
    results = []
    for count in (1, 3):
        wisp.set_num_threads(count)
        out = net(x)[0]
        results.append([out, *wisp.autograd.grad(out.sum(), list(net.parameters()))])
    wisp.set_num_threads(threads)
    assert all(wisp.equal(a, b) for a, b in zip(*results))


def unequal_sequences(net, x):
    """Results and all gradients of a network on sequences of which every third is shorter by one."""
    lengths = [max(1, x.shape[0] - i // 3) for i in range(x.shape[1])]
    x = x.clone().requires_grad_()
    out, state = net(rnn.pack_padded_sequence(x, lengths))
    results = [out.data, *flat(state)]
    return [*results, *wisp.autograd.grad(sum((r * r).sum() for r in results), [x, *net.parameters()])]


@pytest.mark.parametrize("make", [nn.RNN, nn.GRU, nn.LSTM])
@pytest.mark.parametrize("hidden, batch", [(33, 20), (100, 47)])
def test_members_of_a_batch_are_shared_out(make, hidden, batch):
    """Threads take members of the batch, or, if they are more than that, units: as in float64, and the same either way."""
    net, x = make(30, hidden, 2, bidirectional=True), wisp.randn(9, batch, 30)
    threads, results = wisp.get_num_threads(), []
    for count in (1, 2, 5):
        wisp.set_num_threads(count)
        results.append(unequal_sequences(net, x))
    wisp.set_num_threads(threads)
    for one, two, five, exact in zip(*results, unequal_sequences(net.double(), x.double()), strict=True):
        assert one.equal(two) and one.equal(five)
        assert (one - exact).abs().max() < 2e-5 * max(1, exact.abs().max())


@pytest.mark.parametrize("make", [nn.RNN, nn.GRU, nn.LSTM])
@pytest.mark.parametrize("hidden", [7, 200, 333])
def test_a_single_row(make, hidden):
    """Its products are made unit by unit, on one thread or several: as in float64, and the same however many there are."""
    with wisp.no_grad():
        layer, x = make(50, hidden), wisp.randn(1, 1, 50)
        state = wisp.randn(1, 1, hidden)
        state = (state, wisp.randn(1, 1, hidden)) if make is nn.LSTM else state
        threads, results = wisp.get_num_threads(), []
        for count in (1, 2, 3):
            wisp.set_num_threads(count)
            results.append(flat(layer(x, state)))
        wisp.set_num_threads(threads)
        wide = tuple(s.double() for s in state) if make is nn.LSTM else state.double()
        for one, two, three, exact in zip(*results, flat(layer.double()(x.double(), wide)), strict=True):
            assert one.equal(two) and one.equal(three)
            assert (one - exact).abs().max() < 1e-6


@pytest.mark.parametrize("dtype", [wisp.float32, wisp.bfloat16])
@pytest.mark.parametrize("sizes", [[1, 0], [1, 1, 0, 0], [3, 0], [9, 4, 0]], ids=str)
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_steps_that_nobody_takes_part_in(kind, sizes, dtype):
    model = getattr(nn, kind)(6, 7, bidirectional=True).to(dtype)
    x, results = wisp.randn(sum(sizes), 6, dtype=dtype), []
    for given in (sizes, [size for size in sizes if size]):
        model.zero_grad()
        leaf = x.clone().requires_grad_()
        out = model(nn.utils.rnn.PackedSequence(leaf, wisp.tensor(given)))[0].data
        out.sum().backward()
        results.append([out.detach(), leaf.grad, *(p.grad.clone() for p in model.parameters())])
    for a, b in zip(*results, strict=True):
        wisp.testing.assert_close(a, b)


def test_large_states_of_half_precision():
    net, x = nn.GRU(40, 70), wisp.randn(6, 3, 40)
    exact = net(x)[0]
    for dtype, bound in ((wisp.bfloat16, 0.05), (wisp.float16, 0.01)):
        got = copy.deepcopy(net).to(dtype)(x.to(dtype))[0]
        assert got.dtype == dtype
        assert (got.float() - exact).abs().max() < bound


@pytest.mark.parametrize(
    "name", ["modules.rnn", "modules.transformer", "modules.adaptive", "modules.utils", "utils.rnn"]
)
def test_examples_in_docstrings(name):
    result = doctest.testmod(importlib.import_module(f"wisp.nn.{name}"), extraglobs={"wisp": wisp})
    assert result.attempted > 0
    assert result.failed == 0
