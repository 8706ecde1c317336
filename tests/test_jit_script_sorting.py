"""Sorting in scripts by what the program compares with, generators, and which graph ran last."""

import pytest

import wisp
from wisp.jit import script


class Card:
    def __init__(self, x: int, suit: str):
        self.x = x
        self.suit = suit

    def __lt__(self, other: "Card") -> bool:
        return self.x < other.x


class Plain:
    def __init__(self, x: int):
        self.x = x


def by_class(xs: list[int], reverse: bool) -> tuple[list[int], list[str]]:
    cards = [Card(x % 3, str(x)) for x in xs]
    other = sorted(cards, reverse=reverse)
    cards.sort(reverse=reverse)
    return [c.x for c in other], [c.suit for c in cards]


def by_key(xs: list[tuple[int, str]]) -> list[tuple[int, str]]:
    xs.sort(key=lambda p: -p[0], reverse=True)
    return xs + sorted(xs, key=lambda p: p[1])


def by_length(xs: list[str]) -> list[str]:
    return sorted(xs, key=len)


def by_tensor(xs: list[float]) -> list[float]:
    ts = [wisp.tensor(x) for x in xs]
    ts.sort(reverse=True)
    return [float(t) for t in ts] + [float(t) for t in sorted(ts)]


def by_parts(xs: list[int]) -> list[int]:
    pairs = [(x % 2, Card(x, "a")) for x in xs]
    pairs.sort()
    return [p[1].x for p in pairs]


@pytest.mark.parametrize("xs", [[], [4], [5, 3, 8, 1, 9, 2, 7, 7, 0, 6, 4]])
def test_sorting_as_python_does(xs):
    assert script(by_parts)(xs) == by_parts(xs)
    assert script(by_tensor)(list(map(float, xs))) == by_tensor(list(map(float, xs)))
    assert script(by_length)(["a" * x + str(i) for i, x in enumerate(xs)]) == by_length(
        ["a" * x + str(i) for i, x in enumerate(xs)]
    )
    for reverse in (False, True):
        assert script(by_class)(xs, reverse) == by_class(xs, reverse)
    items = [(x % 3, str(x)) for x in xs]
    assert script(by_key)(list(items)) == by_key(list(items))


def test_sorting_what_has_no_order_is_an_error():
    def objects(x: int):
        xs = [Plain(x)]
        xs.sort()
        return xs[0].x

    def dicts(x: int):
        return sorted([{x: x}])

    with pytest.raises(RuntimeError, match="must define a __lt__ method") as info:
        script(objects)
    assert "xs.sort()\n" in str(info.value) and "~~~~~~~~~ <--- HERE" in str(info.value)
    with pytest.raises(RuntimeError, match="cannot be sorted"):
        script(dicts)


def test_seeds_in_scripts():
    @script
    def f(seed: int):
        wisp.manual_seed(seed)
        first = wisp.rand(3)
        own = wisp.Generator()
        own.manual_seed(seed + 1)
        return first, wisp.rand(3, generator=own), wisp.rand(3), own.initial_seed()

    first, own, second, seed = f(5)
    wisp.manual_seed(5)
    assert wisp.equal(first, wisp.rand(3)) and wisp.equal(second, wisp.rand(3)) and seed == 6
    assert wisp.equal(own, wisp.rand(3, generator=wisp.Generator().manual_seed(6)))


def test_integers_as_flags():
    @script
    def flag(x: bool) -> bool:
        return not x

    assert flag(0) is True and flag(3) is False
    with pytest.raises(RuntimeError, match="bool"):
        flag(1.0)


def test_fusion_is_switched():
    assert wisp.jit.onednn_fusion_enabled()
    wisp.jit.enable_onednn_fusion(False)
    try:
        assert not wisp.jit.onednn_fusion_enabled()
        with wisp.jit.fuser("fuser1"):
            assert wisp.jit.onednn_fusion_enabled()
    finally:
        wisp.jit.enable_onednn_fusion(True)
    with wisp.jit.optimized_execution(False):
        assert not wisp.jit.onednn_fusion_enabled()


def test_traced_modules_have_classes_of_their_own():
    net = wisp.nn.Sequential(wisp.nn.Linear(2, 2), wisp.nn.ReLU())
    traced = wisp.jit.trace(net, wisp.ones(1, 2))
    assert type(traced) is wisp.jit.TopLevelTracedModule and type(traced[0]) is wisp.jit.TracedModule
    assert repr(traced).startswith("Sequential(")
    assert wisp.equal(traced.__deepcopy__({})(wisp.ones(1, 2)), net(wisp.ones(1, 2)))
