"""Scripts of classes, and of functions that call functions."""

import io
from typing import NamedTuple

import pytest

import wisp
from wisp import Tensor, nn
from wisp.jit import script, trace


@script
class Counter:
    def __init__(self, start: int, name: str = "c"):
        self.value = start
        self.name = name
        self.seen: list[int] = []

    def add(self, n: int) -> int:
        self.value += n
        self.seen.append(n)
        return self.value

    @property
    def double(self) -> int:
        return self.value * 2

    def __len__(self) -> int:
        return len(self.seen)

    def __add__(self, other: int) -> int:
        return self.value + other


def with_class(n: int):
    counter = Counter(10)
    for i in range(n):
        counter.add(i)
    counter.name = "other"
    return counter.value, counter.seen, counter.double, len(counter), counter.name, counter + 5


def make(n: int) -> Counter:
    return Counter(n, "made")


def through_functions(n: int):
    counter = make(n)
    change(counter)
    return counter.value, counter.name


def change(counter: Counter):
    counter.add(100)


def test_classes():
    assert script(with_class)(3) == with_class(3)
    assert script(through_functions)(1) == (101, "made")


class Pair(NamedTuple):
    x: Tensor
    y: Tensor | None = None

    def total(self):
        return self.x.sum()


def pairs(x, p: Pair) -> tuple[Pair, Tensor]:
    q = Pair(x)
    y = p.y
    if y is None:
        y = q.total()
    return Pair(p.x + x, y), p.total()


def test_named_tuples_go_in_and_out():
    compiled = script(pairs)
    result, total = compiled(wisp.ones(2), Pair(wisp.ones(2)))
    assert isinstance(result, Pair)
    assert result.y.item() == total.item() == 2
    result, _ = compiled(wisp.ones(2), Pair(wisp.ones(2), wisp.zeros(1)))
    assert result.y.item() == 0


# --- functions that call functions


def leaf(x, scale: float = 2.0, *, shift: float = 0.0):
    return x * scale + shift


scripted_leaf = script(leaf)
traced = trace(lambda x, y: x.tanh() + y, (wisp.ones(2), wisp.ones(2)))


def calls(x):
    return leaf(x), leaf(x, 3.0), leaf(x, shift=1.0), scripted_leaf(x, scale=4.0), traced(x, x)


def test_calls_of_functions():
    x = wisp.arange(2.0)
    compiled = script(calls)
    assert all(map(wisp.equal, compiled(x), calls(x)))
    assert str(compiled.graph).count("prim::CallFunction") == 5


class UsesCompiled(nn.Module):
    def __init__(self):
        super().__init__()
        self.scripted, self.traced = (
            script(nn.Linear(2, 2)),
            trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU()), wisp.ones(1, 2)),
        )

    def forward(self, x):
        return self.traced(self.scripted(x)) + self.scripted.bias


def test_compiled_submodules():
    module = UsesCompiled()
    compiled, x = script(module), wisp.randn(3, 2)
    assert wisp.equal(compiled(x), module(x))
    compiled(wisp.ones(1, 2)).sum().backward()
    assert module.scripted.weight.grad is not None


def factorial(n: int) -> int:
    if n <= 1:
        return 1
    return n * factorial(n - 1)


def test_recursion():
    assert script(factorial)(10) == factorial(10)


SIZE, NAMES = 3, ("a", "b")


def closures(x):
    total = 0

    def inner(y, k: int = 2):
        return y * k + SIZE

    for name in NAMES:
        total += len(name)
    square = lambda y: y * y
    return inner(x), inner(x, k=5), square(x) + total


def test_closures_and_globals():
    assert all(map(wisp.equal, script(closures)(wisp.ones(1)), closures(wisp.ones(1))))


def gradients_off(x):
    with wisp.no_grad():
        y = x * 2
    return y, x * 3


def test_no_grad():
    x = wisp.ones(1, requires_grad=True)
    y, z = script(gradients_off)(x)
    assert not y.requires_grad
    assert z.requires_grad
    assert wisp.is_grad_enabled()


def test_printing(capsys):
    script(prints)(wisp.ones(2), 3)
    got = capsys.readouterr().out
    prints(wisp.ones(2), 3)
    assert got == capsys.readouterr().out


def prints(x, n: int):
    print("x:", x, n, n / 2, [1, 2], "end")
    print(f"{x.sum().item():.1f}")


def test_a_script_of_a_script_is_itself():
    assert script(scripted_leaf) is scripted_leaf
    module = script(nn.ReLU())
    assert script(module) is module


def test_keyword_and_default_arguments():
    compiled = script(leaf)
    x = wisp.ones(1)
    assert compiled(x).item() == 2
    assert compiled(x, shift=3.0).item() == 5
    assert compiled(x=x, scale=0.5).item() == 0.5
    with pytest.raises(RuntimeError, match="unexpected keyword argument 'nothing'"):
        compiled(x, nothing=1)


@script
class Amount:
    def __init__(self, value: float, notes: list[str]):
        self.value = value
        self.notes = notes

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return self.value

    def __bool__(self) -> bool:
        return self.value != 0


def test_objects_of_python_as_arguments():
    def f(a: Amount, more: list[Amount]) -> tuple[float, int, str]:
        return a.value + sum([m.value for m in more]), len(more), a.notes[0]

    args = Amount(1.5, ["x"]), [Amount(2.0, []), Amount(3.0, [])]
    assert script(f)(*args) == f(*args) == (6.5, 2, "x")


def test_objects_that_lack_something_are_refused():
    def f(a: Amount):
        return a.value

    broken = Amount(1.0, [])
    broken.notes = 3
    with pytest.raises(TypeError, match="attribute 'notes' of a Amount"):
        script(f)(broken)
    del broken.notes
    with pytest.raises(AttributeError, match="notes"):
        script(f)(broken)
    with pytest.raises(RuntimeError, match="Expected a value of type"):
        script(f)(Counter(1))


def test_casts_of_objects():
    def f(a: Amount) -> tuple[int, float, bool, str]:
        return int(a), float(a), bool(a), "yes" if a else "no"

    for value in (2.5, 0.0):
        assert script(f)(Amount(value, [])) == f(Amount(value, []))


class Defined(wisp.jit.ScriptModule):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(wisp.full((2,), 3.0))
        self.define("""
            def forward(self, x: Tensor, n: int = 2) -> Tensor:
                return self.weight * x + n
        """)


def test_methods_from_a_text():
    module = Defined()
    assert module(wisp.ones(2)).tolist() == [5, 5]
    assert module(wisp.ones(2), 4).tolist() == [7, 7]
    module.define("def other(self):\n    return 1")
    assert module.other() == 1 and module(wisp.ones(2)).tolist() == [5, 5]


class _Fields(NamedTuple):
    x: int
    y: int


class Swapped(_Fields):
    def __new__(cls, x, y):
        return super().__new__(cls, y, x)


def test_named_tuples_that_make_themselves_are_refused():
    def f(x: int):
        return Swapped(x, 1).x

    with pytest.raises(wisp.jit.FrontendError, match="__new__ of its own"):
        script(f)


@script
class Scale:
    def __init__(self, factor: float):
        self.factor = factor
        self.counter = Counter(1)

    def apply(self, x: Tensor) -> Tensor:
        self.counter.add(1)
        return x * self.factor


class KeepsObjects(nn.Module):
    maybe: Counter | None

    def __init__(self):
        super().__init__()
        self.scale = Scale(3.0)
        self.maybe = Counter(7)

    def forward(self, x):
        maybe = self.maybe
        assert maybe is not None
        return self.scale.apply(x) + maybe.value


def test_modules_keep_objects_of_compiled_classes():
    compiled = script(KeepsObjects())
    for _ in range(2):
        assert compiled(wisp.ones(2)).tolist() == [10, 10]
    assert compiled.scale.factor == 3 and compiled.scale.counter.value == 3
    loaded = wisp.jit.load(io.BytesIO(compiled.save_to_buffer()))
    assert loaded(wisp.ones(2)).tolist() == [10, 10] and loaded.scale.counter.value == 4
