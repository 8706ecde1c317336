"""Which calls lazy evaluation puts off, and how many plans it makes for them."""

import itertools

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


@pytest.mark.usefixtures("one_thread", "nothing_learnt")
def test_calls_that_gain_nothing_run_at_once_after_a_while():
    x = wisp.randn(1 << 16)
    found = put_off(lambda: x * 2, 400)
    # Once in a while it is looked at again, unless by then the block has turned out to be faster with nothing put off.
    assert all(found[:8]) and sum(found[8:]) <= 2
    again = [i for i, was in enumerate(found) if was and i >= 8]
    assert not found[8] and all(later - i > 256 for i, later in itertools.pairwise(again))


@pytest.mark.usefixtures("one_thread", "nothing_learnt")
def test_what_is_learnt_belongs_to_a_place():
    x, larger = wisp.randn(1 << 16), wisp.randn(1 << 18)

    def double(x):
        return x * 2

    assert not any(put_off(lambda: double(x), 20)[8:])
    assert not any(put_off(lambda: double(larger), 8)) and all(put_off(lambda: x * 2, 8))


def test_a_bound_of_the_programs_own_is_kept_to():
    x = wisp.randn(1 << 16)
    for _ in range(30):
        with wisp.lazy(least=1 << 15):
            assert pending(x * 2)


@pytest.mark.usefixtures("joining_gains")
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
