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
    for wrong, error in ((-1, ValueError), (1.5, TypeError), (None, TypeError), (1 << 70, ValueError)):
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
