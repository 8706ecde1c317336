"""Blocks of scripts: loops with an else, `with` that an error leaves, and comprehensions that choose."""

# ruff: noqa: PYI036

from typing import Any

import pytest

import wisp
from wisp import Tensor, nn
from wisp.jit import script


def loops_with_else(n: int, items: list[int]) -> list[int]:
    seen: list[int] = []
    i = 0
    while i < n:
        if i == 3:
            break
        i += 1
    else:
        seen.append(100)
    for item in items:
        for other in items:
            if other > item:
                break
        else:
            seen.append(item)
            continue
        if item == 7:
            break
    else:
        seen.append(200)
    return seen


@pytest.mark.parametrize("n", [0, 2, 3, 10])
@pytest.mark.parametrize("items", [[], [1], [1, 2, 3], [7, 8], [5, 7, 9, 2]])
def test_what_follows_a_loop_runs_unless_a_break_left_it(n, items):
    assert script(loops_with_else)(n, items) == loops_with_else(n, items)


def finds(items: tuple[int, int, int], n: int) -> str:
    found = "there"
    for item in items:
        if item == n:
            break
        if item < 0:
            return "negative"
    else:
        found = "absent"
    return found


@pytest.mark.parametrize("n", [1, 3, 9])
@pytest.mark.parametrize("items", [(1, 2, 3), (4, -1, 3)])
def test_unrolled_loops_with_else(items, n):
    assert script(finds)(items, n) == finds(items, n)


@script
class Log:
    def __init__(self, events: list[str], name: str, fails: bool = False):
        self.events = events
        self.name = name
        self.fails = fails

    def __enter__(self):
        self.events.append("enter " + self.name)
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any):
        print("exit", self.name, kind is not None)
        if self.fails:
            raise KeyError(self.name)


def nested(x, fails: bool, inner_fails: bool):
    events: list[str] = []
    with Log(events, "outer"), wisp.no_grad(), Log(events, "inner", inner_fails):
        if fails:
            raise ValueError("positive")
        x = x * 2
    return x, events


def test_an_error_leaves_the_blocks_it_passes(capsys):
    compiled = script(nested)
    with pytest.raises(ValueError, match="positive"):
        compiled(wisp.ones(2), True, False)
    assert capsys.readouterr().out == "exit inner True\nexit outer True\n"
    assert wisp.is_grad_enabled()
    _, events = compiled(wisp.ones(2), False, False)
    assert events == ["enter outer", "enter inner"]
    assert capsys.readouterr().out == "exit inner False\nexit outer False\n"


def test_an_error_of_leaving_replaces_the_first(capsys):
    compiled = script(nested)
    for fails in (True, False):
        with pytest.raises(KeyError, match="inner"):
            compiled(wisp.ones(2), fails, True)
        assert capsys.readouterr().out == f"exit inner {fails}\nexit outer True\n"
    assert wisp.is_grad_enabled()


def calls_nested(x):
    with Log([""], "caller"):
        return nested(x, True, False)


def test_blocks_of_callers_are_left_too(capsys):
    with pytest.raises(ValueError, match="positive"):
        script(calls_nested)(wisp.ones(2))
    assert capsys.readouterr().out == "exit inner True\nexit outer True\nexit caller True\n"


class Chosen(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])

    def forward(self, x, n: int):
        return wisp.stack([layer(x) for i, layer in enumerate(self.layers) if i < n])


def chosen_pairs(items: tuple[int, int, int], n: int):
    return [x * 2 for x in items if x > n], {x: x + 1 for x in items if x > n}


def test_comprehensions_that_choose_among_known_items():
    module, x = Chosen(), wisp.randn(2)
    for n in (1, 2, 3):
        assert wisp.equal(script(module)(x, n), module(x, n))
        assert script(chosen_pairs)((1, 2, 3), n) == chosen_pairs((1, 2, 3), n)


def test_hash():
    def f(text: str, n: int, x: float):
        return hash(text) == hash(text + ""), hash(n), hash(x), hash((n, text)) == hash((n, text)), hash(True)

    assert script(f)("word", -1, 4.0) == (True, hash(-1), hash(4.0), True, 1)


def into(x: Tensor, y: Tensor):
    total = wisp.empty(2, 2)
    wisp.add(x, y, out=total)
    values, places = wisp.empty(2), wisp.empty(2, dtype=wisp.int64)
    wisp.max(x, dim=1, out=(values, places))
    return wisp.mm(x, total, out=total), total, values, places


def test_out_is_written():
    x, y = wisp.tensor([[1.0, 3.0], [2.0, 0.0]]), wisp.ones(2, 2)
    for got, expected in zip(script(into)(x, y), into(x, y)):
        assert wisp.equal(got, expected)


def test_out_of_another_shape_or_dtype_is_refused():
    @script
    def f(x: Tensor, out: Tensor):
        return wisp.add(x, x, out=out)

    with pytest.raises(RuntimeError, match="scripts do not resize it"):
        f(wisp.ones(2), wisp.empty(0))
    with pytest.raises(RuntimeError, match="can't be cast"):
        f(wisp.ones(2), wisp.empty(2, dtype=wisp.int64))
    with pytest.raises(RuntimeError, match="automatic differentiation"):
        f(wisp.ones(2, requires_grad=True), wisp.empty(2))


class Fixed(nn.Module):
    __constants__ = ("factor",)

    def __init__(self):
        super().__init__()
        self.factor, self.free = 3, 4

    def forward(self, x):
        return x * self.factor * self.free


def test_constants_of_compiled_modules_cannot_be_assigned():
    compiled = script(Fixed())
    compiled.free = 5
    with pytest.raises(AttributeError, match="Cannot mutate the constant 'factor'.* 3 "):
        compiled.factor = 7
    assert compiled(wisp.ones(())).item() == 15
