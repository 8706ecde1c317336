"""Ways to write a program that scripts understand: names, branches, special methods, texts and annotations."""

import cmath
import math
import warnings
from typing import Any

import pytest

import wisp
from wisp import Tensor, nn


def _same(fn, *arguments):
    compiled = wisp.jit.script(fn)
    found, expected = compiled(*arguments), fn(*arguments)
    assert type(found) is type(expected)
    assert found == expected


# --- methods and modules


class Renamed(nn.Module):
    def double(self, x):
        return 2 * x

    forward = double


class Sized(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList([nn.Linear(2, 2), nn.ReLU()])

    def __len__(self) -> int:
        return 7

    def __getitem__(self, i: int) -> int:
        return 10 * i

    def __contains__(self, i: int) -> bool:
        return i == 5

    def forward(self, i: int):
        return len(self), self[i], i in self


class Named(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Linear(2, 2), nn.ReLU())

    def forward(self, x):
        for name, module in self.named_modules():
            if name == "first.0":
                x = module(x)
        return x


class Defaults(nn.Module):
    def forward(self, x, factor: float = 3.0, name: str = "y"):
        return x * factor + len(name)


class Caller(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x) + self.inner(x, name="four")


class Scale:
    def __init__(self, factor):
        self.factor = factor

    def apply(self, x, offset: int = 1):
        return x * self.factor + offset

    def change(self, x):
        self.factor = 2
        return x


class Holder(nn.Module):
    __constants__ = ("method",)

    def __init__(self, method):
        super().__init__()
        self.scale, self.method = Scale(3), method

    def forward(self, x):
        return self.scale.apply(x) if self.method == "apply" else self.scale.change(x)


def test_methods_of_python_objects_that_modules_hold():
    assert wisp.jit.script(Holder("apply"))(wisp.ones(2)).tolist() == [4, 4]
    with pytest.raises(wisp.jit.CompileError, match="'Scale' cannot be used as a value"):
        wisp.jit.script(Holder("change"))


def test_forward_may_have_another_name():
    assert wisp.jit.script(Renamed())(wisp.ones(2)).tolist() == [2, 2]


def test_special_methods_that_modules_define():
    assert wisp.jit.script(Sized())(5) == Sized()(5)


def test_loops_over_named_modules():
    module, x = Named(), wisp.randn(3, 2)
    assert wisp.jit.script(module)(x).equal(module.first[0](x))


def test_defaults_of_compiled_modules_in_other_scripts():
    module = Caller(Defaults())
    compiled = Caller(wisp.jit.script(Defaults()))
    assert wisp.jit.script(compiled)(wisp.ones(2)).equal(module(wisp.ones(2)))


# --- statements


def leaves(x: int | None, stop: bool) -> int:
    if stop:
        return 0
    elif x is None:
        return -1
    return x + 1


def leaves_a_loop(x: int | None, stop: bool) -> int:
    while True:
        if stop or x is None:
            break
        return x + 1
    return 0


def repeated(n: int):
    x = [1, 2]
    same = x
    x *= n
    return x, same


def either(flag: bool) -> Any:
    return 1 if flag else "one"


@pytest.mark.parametrize("x", [None, 4])
@pytest.mark.parametrize("stop", [True, False])
def test_after_an_elif_that_leaves_its_condition_is_known(x, stop):
    _same(leaves, x, stop)
    _same(leaves_a_loop, x, stop)


def test_lists_multiplied_in_place():
    _same(repeated, 3)


@pytest.mark.parametrize("flag", [True, False])
def test_conditional_expressions_of_any(flag):
    _same(either, flag)


@wisp.jit.script
class Tally:
    def __init__(self, n: int):
        self.n = n

    def __iadd__(self, other: int):
        self.n += other
        return self

    def __lshift__(self, other: int) -> int:
        return self.n << other


def tally(n: int):
    t = Tally(n)
    t += 4
    return t.n, t << 1


def test_operators_of_objects():
    _same(tally, 3)


def wrong_default(x, n: int = "three"):
    return x * n


def test_defaults_of_another_type_are_refused():
    with pytest.raises(wisp.jit.CompileError, match="Expected a default value of type int for the parameter 'n'"):
        wisp.jit.script(wrong_default)


def test_warnings_point_at_the_caller():
    compiled = wisp.jit.script(_warns)
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        compiled(wisp.ones(1))
    assert [(str(w.message), w.filename) for w in noted] == [("careful", __file__)]


def _warns(x):
    warnings.warn("careful")
    return x


def compared(x, n: int, f: float, b: bool):
    return n < x, n <= x, f > x, f >= x, b == x, 1 != x


def counted(limit):
    i = 0
    while i < limit:
        i += 2
    return i


def test_numbers_compared_with_tensors():
    arguments = wisp.tensor([0, 1, 2]), 1, 1.5, True
    for found, expected in zip(wisp.jit.script(compared)(*arguments), compared(*arguments)):
        assert found.equal(expected)
    assert wisp.jit.script(counted)(wisp.tensor(5)) == 6


# --- functions, texts and annotations


def numbers(x: float, y: float):
    return math.remainder(x, y), math.remainder(-x, y)


def complex_numbers(z: complex):
    return cmath.exp(z), cmath.phase(z)


def texts(n: int, s: str):
    return f"{s} {n}", "%c%c" % ("a", 98)  # noqa: UP031


def longs(x: wisp.LongTensor) -> Tensor:
    return x + 1


def test_more_of_math():
    _same(numbers, 7.5, 2.0)
    _same(complex_numbers, 1 + 2j)


def test_texts_with_names():
    _same(texts, 3, "x")


def test_legacy_classes_of_tensors_are_annotations():
    assert wisp.jit.script(longs)(wisp.tensor([1, 2])).tolist() == [2, 3]
