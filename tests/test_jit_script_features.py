"""More of Python in scripts: the same results as Python's own."""

import cmath

import pytest

import wisp
from wisp import Tensor, nn
from wisp.jit import script


@wisp.jit.interface
class Stage(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass


class Plus(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + 1


class Times(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 10


class Switching(nn.Module):
    stage: Stage

    def __init__(self):
        super().__init__()
        self.a, self.b = Plus(), Times()
        self.stage = self.a

    def forward(self, x: Tensor, k: int) -> Tensor:
        if k > 0:
            self.stage = self.b
        else:
            self.stage = self.a
        return self.stage(x)


def test_scripts_exchange_submodules_that_are_known_by_an_interface():
    compiled, x = script(Switching()), wisp.ones(1)
    assert [compiled(x, k).item() for k in (0, 1, 0)] == [2, 10, 2]
    compiled(x, 1)
    assert compiled.stage(x).item() == 10


class Containers(nn.Module):
    def __init__(self):
        super().__init__()
        self.by_name = nn.ModuleDict({"plus": Plus(), "times": Times()})
        self.by_number = nn.ModuleList([Plus(), Times()])

    def forward(self, x: Tensor, name: str, i: int) -> Tensor:
        one: Stage = self.by_name[name]
        other: Stage = self.by_number[i]
        return one.forward(x) + other.forward(x)


def test_containers_of_modules_are_indexed_with_an_interface():
    compiled, x = script(Containers()), wisp.ones(1)
    assert compiled(x, "times", 0).item() == 12 and compiled(x, "plus", -1).item() == 12
    with pytest.raises(KeyError, match="nobody"):
        compiled(x, "nobody", 0)
    with pytest.raises(IndexError):
        compiled(x, "plus", 2)


def test_constant_indices_of_containers_are_checked():
    class Bad(Containers):
        def forward(self, x: Tensor) -> Tensor:
            return self.by_number[-11](x)

    class Worse(Containers):
        def forward(self, x: Tensor) -> Tensor:
            return self.by_name["blah"](x)

    with pytest.raises(RuntimeError, match="Index -11 out of range"):
        script(Bad())
    with pytest.raises(RuntimeError, match="Key Error, blah"):
        script(Worse())


@script
class Box:
    def __init__(self):
        self._size = 1
        self.inner = wisp.jit.annotate(int | None, None)

    @property
    def size(self) -> int:
        return self._size

    @size.setter
    def size(self, value: int):
        self._size = value * 2

    @wisp.jit.unused
    def talk(self, **anything):
        return anything

    def __delitem__(self, n: int):
        self._size -= n

    def fill(self, n: int):
        self.inner = n

    @classmethod
    def of(cls, n: int):
        made = cls()
        made.size = n
        return made


def boxes(n: int):
    box = Box()
    box.size = n
    del box[1]
    box.fill(4)
    return box.size, box.inner, box.of(7).size, Box.of(8).size


def test_setters_class_methods_and_items_of_objects():
    assert script(boxes)(5) == boxes(5) == (9, 4, 14, 16)


def test_setters_of_modules():
    class Doubling(nn.Module):
        def __init__(self):
            super().__init__()
            self.kept = 1

        @property
        def value(self) -> int:
            return self.kept

        @value.setter
        def value(self, n: int):
            self.kept = 2 * n

        def forward(self, n: int) -> int:
            self.value = n
            return self.value

    assert script(Doubling())(3) == 6


def takes(x: list[int], d: dict[int, str]) -> int:
    x.append(1)
    d[3] = "a"
    return len(x) + len(d)


def empty_ones():
    numbers: list[int] = list()  # noqa: C408
    names: dict[str, int] = dict()  # noqa: C408
    names["a"] = 1
    numbers.append(2)
    return takes([], {}), numbers, names, takes(list(), dict())  # noqa: C408


def test_empty_lists_and_dicts_are_of_the_type_that_is_wanted():
    assert script(empty_ones)() == empty_ones()


@pytest.mark.parametrize("z", [1 + 2j, -0.5 + 0j, 3 - 4j])
def test_cmath(z):
    def f(z: complex):
        a = cmath.sqrt(z), cmath.exp(z), cmath.log(z), cmath.log10(z), cmath.sin(z), cmath.cos(z), cmath.tan(z)
        b = cmath.asin(z), cmath.acos(z), cmath.atan(z), cmath.sinh(z), cmath.cosh(z), cmath.tanh(z)
        c = cmath.asinh(z), cmath.acosh(z), cmath.atanh(z), cmath.log(z, 2), sum([z, z])
        return a, b, c, cmath.phase(z), cmath.polar(z), cmath.isnan(z), cmath.isinf(z), cmath.isfinite(z)

    def flat(value):
        return [x for item in value for x in flat(item)] if isinstance(value, tuple) else [value]

    assert flat(script(f)(z)) == pytest.approx(flat(f(z)))


def test_futures_of_a_wider_type():
    def add(x: int) -> int:
        return x + 1

    def any_future(x: int) -> wisp.jit.Future[object]:
        return wisp.jit.fork(add, x)

    @script
    def f(x: int):
        return wisp.jit.wait(any_future(x))

    assert f(1) == 2


def test_attributes_of_named_tuples_with_a_default():
    from typing import NamedTuple

    class Pair(NamedTuple):
        x: int
        y: int

    def f(p: Pair):
        return getattr(p, "x", 7), getattr(p, "z", 7), hasattr(p, "y"), hasattr(p, "w")

    assert script(f)(Pair(1, 2)) == (1, 7, True, False)


def test_annotations_whose_names_are_gone():
    def make():
        kind = int

        class Adds:
            def __init__(self, n: kind):
                self.n = n

            def add(self, m: kind) -> kind:
                return self.n + m

        return Adds

    made = script(make())

    @script
    def f(n: int):
        return made(n).add(2)

    assert f(3) == 5


def test_lists_and_dicts_of_tensors_are_compared():
    def f(x):
        a = [x, x + 1]
        a.reverse()
        return a == [wisp.tensor(2), wisp.tensor(1)], a != [x, x], {"a": x} == {"a": wisp.tensor(1)}, [[x]] == [[x + 1]]

    assert script(f)(wisp.tensor(1)) == (True, True, True, False)


def test_tensors_of_one_element_are_numbers_for_parameters():
    @script
    def f(n: int, x: float):
        return n * 2, x * 2

    assert f(wisp.tensor(3), wisp.tensor(0.5)) == (6, 1.0)
    for n, x in ((wisp.tensor([1, 2]), 1.0), (wisp.tensor(1.5), 1.0), (1, wisp.ones(2))):
        with pytest.raises(RuntimeError, match="Expected a value of type"):
            f(n, x)


def test_operators_by_their_full_name():
    def f(x):
        return wisp.ops.aten.relu(x) + wisp.ops.aten.add.Tensor(x, x)

    x = wisp.tensor([-1.0, 2.0])
    assert script(f)(x).tolist() == f(x).tolist()


def test_hash_and_items_of_tensors():
    def f(x):
        y = x
        return hash(x) == hash(y), x.__getitem__(1)

    same, item = script(f)(wisp.tensor([1.0, 2.0]))
    assert same and item.item() == 2


class Marked(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(1, 1)

    @wisp.jit.ignore
    def describe(self):
        return f"{type(self.fc).__name__} of {self.fc.weight.numel()}"

    @wisp.jit.export
    def __len__(self):
        return 10

    def forward(self, x):
        return x


def test_methods_that_stay_python_are_there():
    compiled = script(nn.Sequential(Marked()))
    assert compiled[0].describe().endswith("of 1") and len(compiled[0]) == 10


class Stands(nn.Module):
    def __prepare_scriptable__(self):
        return Plus()

    def forward(self, x):
        return [x for x in (1, 2)]  # no script can do this


def test_modules_may_give_others_to_be_compiled():
    net = nn.Sequential(Stands(), Stands())
    assert script(net)(wisp.ones(1)).item() == 3
    assert isinstance(net[0], Stands)


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Marked()
        self.scale = nn.Parameter(wisp.full((1,), 3.0))

    def forward(self, x):
        return self.part(x) * self.scale


class Around(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner.part(x) + self.inner(x) + self.inner.scale + self.inner.part.fc.weight[0]


def test_parts_of_compiled_modules():
    inner = Inner()
    x = wisp.ones(1)
    expected = Around(inner)(x)
    assert script(Around(script(inner)))(x).equal(expected)


def test_initial_values_of_dataclasses():
    from dataclasses import InitVar, dataclass

    @dataclass
    class Point:
        x: float
        y: float
        times: InitVar[float]
        length: float = 0.0

        def __post_init__(self, times: float):
            self.length = (self.x + self.y) * times

    def f(x: float):
        return Point(x, 2.0, 3.0).length

    assert script(f)(1.0) == f(1.0) == 9.0
