"""Which calls lazy evaluation puts off, and how many plans it makes for them."""

import pytest

import wisp
from tests.lazy_runs import counts_of, pending
from wisp import nn


def test_calls_on_few_elements_run_at_once_unless_they_read_what_is_pending():
    small, large = wisp.ones(10), wisp.ones(100_000)
    with wisp.lazy():
        assert not pending(small * 2, small.sum(), (small @ small).exp())
        y = large * 2
        total = y.sum()
        assert pending(y, total, total * 3) == 3
        assert not pending(small * 2)
        small.add_(1)  # nobody waits to read it, but that is not known
        assert pending(small, y) == 2
    assert total.item() == 200_000 and small.tolist() == [2] * 10


def test_writes_do_not_overtake_what_reads():
    large, row = wisp.ones(100, 1000), wisp.ones(1000)
    with wisp.lazy():
        y = large + row
        row.mul_(5)
        row[0] = 7
    assert wisp.equal(y, wisp.full((100, 1000), 2.0)) and row[:2].tolist() == [7, 5]


def test_least_elements():
    x = wisp.ones(50)
    with wisp.lazy(least=50):
        assert pending(x + 1) and not pending(x[1:] + 1)
        with wisp.lazy(least=51):
            assert not pending(x + 1)
        assert pending(x + 1)
    assert not wisp.lazy.is_enabled() and not pending(x + 1)
    for wrong, error in ((-1, ValueError), (1.5, TypeError), ("1", TypeError), (1 << 70, ValueError)):
        with pytest.raises(error, match="least must be"):
            wisp.lazy(least=wrong)


def test_one_plan_for_all_lengths_of_an_encoder_layer():
    layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)

    def step(n):
        layer.zero_grad()
        with wisp.lazy(least=0):
            layer(wisp.ones(2, n, 32)).sum().backward()

    step(11)
    _, counts = counts_of(lambda: [step(n) for n in range(2, 70)])
    assert counts["plans"] == 0 and counts["runs"] >= 50


def test_plans_made_by_coincidence_serve_only_then():
    def f(n, m):
        with wisp.lazy(least=0):
            a, b = wisp.ones(n) * 2, wisp.ones(m) * 3
            a, b = a + 1, b + 1
        return a, b

    for n, m in ((6, 6), (6, 5), (7, 7), (1, 5), (6, 5)):
        a, b = f(n, m)
        assert a.tolist() == [3] * n and b.tolist() == [4] * m


def test_one_plan_for_all_lengths():
    def f(n):
        with wisp.lazy(least=0):
            h = wisp.zeros(4, n)
            for k in range(3):
                h = (h * 0.5 + k).tanh()
        return h.sum().item()

    f(7)
    _, counts = counts_of(lambda: [f(n) for n in range(8, 58)])
    assert counts["plans"] == 0 and counts["runs"] >= 50


# --- Lengths on both sides of the bound from which calls are put off


def stepping(module, loss):
    """A training step, but for the optimiser."""

    def step(n):
        module.zero_grad()
        loss(n).backward()

    return step


def encoder(dropout):
    layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=dropout, batch_first=True)
    return stepping(layer, lambda n: layer(wisp.ones(16, n, 32)).sum())


def recurrent():
    layer = nn.LSTM(8, 16, batch_first=True)
    return stepping(layer, lambda n: layer(wisp.ones(64, n, 8))[0].tanh().mul(2).sum())


def packed():
    layer, utils = nn.LSTM(8, 16, batch_first=True), nn.utils.rnn

    def loss(n):
        sequences = utils.pack_padded_sequence(wisp.ones(64, n, 8), [n] * 62 + [n // 2 + 1, 1], batch_first=True)
        padded, _ = utils.pad_packed_sequence(layer(sequences)[0], batch_first=True)
        return (padded * 2 + 1).tanh().sum()

    return stepping(layer, loss)


def images():
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 4, 3), nn.GELU(),
                        nn.AdaptiveAvgPool2d(1), nn.Flatten())  # fmt: skip
    target = wisp.tensor([1, 2])
    return stepping(net, lambda n: nn.functional.cross_entropy(net(wisp.ones(2, 3, n // 2 + 8, n // 2 + 8)), target))


def language_model():
    words, places, head = nn.Embedding(32, 32), nn.Parameter(wisp.randn(128, 32)), nn.Linear(32, 32)
    blocks = nn.ModuleList(nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True) for _ in range(1))
    parameters = [*words.parameters(), places, *head.parameters(), *blocks.parameters()]
    optimiser = wisp.optim.AdamW(parameters)

    def step(n):
        text = wisp.zeros(16, n + 1, dtype=wisp.int64)
        x = words(text[:, :-1]) + places[:n]
        for block in blocks:
            x = block(x, src_mask=nn.Transformer.generate_square_subsequent_mask(n), is_causal=True)
        loss = nn.functional.cross_entropy(head(x).reshape(-1, 32), text[:, 1:].reshape(-1))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

    return step


# Name -> what makes a step, and how many different pieces of it have kernels that may be joined.
STEPS = {"encoder": (lambda: encoder(0.0), 1), "dropout": (lambda: encoder(0.1), 4), "LSTM": (recurrent, 2),
         "packed": (packed, 2), "images": (images, 1), "language model": (language_model, 1)}  # fmt: skip


@pytest.mark.parametrize("name", STEPS)
def test_plans_for_50_lengths(name):
    make, most = STEPS[name]
    step = wisp.lazy(least=1 << 15)(make())  # without what is learnt from times

    def run(n):
        step(n)
        wisp.lazy.run()

    _, counts = counts_of(lambda: [run(n) for n in range(2, 102, 2)])
    assert counts["plans"] <= most and counts["kernels"] > 50


def test_what_is_joined_with_nothing_needs_no_plan():
    def f(n):
        with wisp.lazy(least=0):
            x = wisp.ones(n, n) @ wisp.ones(n, n)
            return (x * 2).softmax(0) @ x.cumsum(0)

    y, counts = counts_of(lambda: f(12).tolist())
    assert (counts["plans"], counts["fused"]) == (0, 0) and counts["kernels"] >= 6 and len(y) == 12


def test_kernels_between_those_that_are_joined():
    """Products that have nothing to do with them do not keep pointwise kernels apart."""

    def f():
        with wisp.lazy(least=0):
            x, y = wisp.ones(8, 8), wisp.full((8, 8), 2.0)
            a = x * 3
            b = y @ y
            a = a + 1
            c = b @ y
            return (a - 2) * 5, b, c

    results, counts = counts_of(f)
    assert counts["fused"] == 4 and [r[0, 0].item() for r in results] == [10, 32, 512]


# --- What is learnt


def put_off(f, times):
    """Of so many calls under lazy(), which had their result put off."""
    found = []
    for _ in range(times):
        with wisp.lazy():
            y = f()
        found.append(pending(y))
        wisp.lazy.run()
    return found


def test_calls_that_gain_nothing_run_at_once_after_a_while():
    x = wisp.randn(1 << 16)
    found = put_off(lambda: x * 2, 400)
    assert all(found[:8]) and not any(found[8:264])
    assert found[264] and not any(found[265:])  # once in a while it is looked at again


def test_what_is_learnt_belongs_to_a_place_and_a_size():
    x, larger = wisp.randn(1 << 16), wisp.randn(1 << 18)

    def double(x):
        return x * 2

    assert not any(put_off(lambda: double(x), 20)[8:])
    assert all(put_off(lambda: double(larger), 8)) and all(put_off(lambda: x * 2, 8))


def test_a_bound_of_the_programs_own_is_kept_to():
    x = wisp.randn(1 << 16)
    for _ in range(30):
        with wisp.lazy(least=1 << 15):
            assert pending(x * 2)


def test_calls_between_those_that_gain_do_not_part_them():
    x, w = wisp.randn(1 << 22), wisp.randn(256, 256)

    def f():
        h = x * 2
        p = w @ w
        return (h + 1) * x - 1, p

    def run():
        with wisp.lazy():
            made = f()
        wisp.lazy.run()
        return made

    for _ in range(30):
        got = run()
    assert all(wisp.equal(a, b) for a, b in zip(got, f(), strict=True))
    _, counts = counts_of(run)
    assert counts["fused"] == counts["kernels"] == 4  # the product runs at once by now
