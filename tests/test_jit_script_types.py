"""Types that are known when the program runs, comments that give types, and names that a program has for itself."""

from typing import Any, List, Optional  # noqa: UP035

import pytest

import wisp
from wisp import Tensor
from wisp.jit import script
from wisp.jit.annotations import BroadcastingList2, BroadcastingList3


def kind_of(x: Any) -> str:
    if isinstance(x, bool):
        return "bool"
    if isinstance(x, int):
        return f"int {x + 1}"
    if isinstance(x, str):
        return "str " + x.upper()
    if isinstance(x, (float, complex)):
        return "number"
    if isinstance(x, Tensor):
        return f"Tensor {x.dim()}"
    if isinstance(x, (list, tuple, dict)):
        return "items"
    return "None" if x is None else "?"


@pytest.mark.parametrize("value", [True, 3, "a", 1.5, 2j, wisp.ones(2), [1], (1, "a"), {"a": 1}, None])
def test_isinstance_of_any(value):
    compiled = script(kind_of)
    assert compiled(value) == kind_of(value)
    assert "isinstance(x, bool)" in compiled.code


def test_isinstance_of_unions():
    def f(x: int | float, y: int | str) -> int:  # noqa: PYI041
        if isinstance(x, float):
            return 1
        if not isinstance(y, int):
            return 2
        return y

    compiled = script(f)
    for args in ((1.0, 5), (1, "a"), (1, 5)):
        assert compiled(*args) == f(*args)


def test_isinstance_of_any_says_what_it_cannot_tell():
    def f(x: Any):
        return isinstance(x, List)  # noqa: UP006

    with pytest.raises(
        wisp.jit.CompileError, match=r"(?s)List without a contained type: .* types of its items.*<--- HERE"
    ):
        script(f)


def test_a_comment_for_every_parameter():
    def f(x,  # type: Tensor
          n=2,  # type: int
          name=None,  # type: Optional[str]
          ):  # fmt: skip
        # type: (...) -> Dict[str, Tensor]
        sizes = []  # type: List[int]
        sizes.append(n)
        return {"x" if name is None else name: x * sizes[0]}

    compiled = script(f)
    assert compiled(wisp.ones(1))["x"].item() == 2
    assert compiled(wisp.ones(1), 3, "y")["y"].item() == 3


def test_a_function_that_calls_itself():
    @script
    def fib(n: int) -> int:
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    assert fib(10) == 55


def test_a_class_that_names_itself():
    @script
    class Bag:
        def __init__(self, name: str):
            self.name = name
            self.items: list[int] = []
            self.newest: int | None = None

        def put(self, item: int) -> "Bag":
            self.items.append(item)
            self.newest = item
            return self

        def __add__(self, other: "Bag") -> "Bag":
            both = Bag(self.name + other.name)
            both.items = self.items + other.items
            return both

        def __contains__(self, item: int) -> bool:
            return item in self.items

        def __str__(self) -> str:
            return f"{self.name}{self.items}"

    @script
    def f(n: int):
        bag = Bag("a").put(n) + Bag("b").put(3)
        assert bag.newest is None
        newest = bag.put(7).newest
        return str(bag), f"<{bag}>", 3 in bag, 4 not in bag, newest

    assert f(1) == ("ab[1, 3, 7]", "<ab[1, 3, 7]>", True, True, 7)


def test_isinstance_of_containers():
    def kind(x: Any) -> str:
        if isinstance(x, list[int]):
            return "ints" + str(sum(x))
        if isinstance(x, (list[str], list[Tensor])):
            return "names or tensors"
        if isinstance(x, dict[str, list[int]]):
            return "dict" + str(len(x["a"]))
        if isinstance(x, tuple[int, str]):
            return "pair" + x[1]
        if isinstance(x, tuple[dict[str, tuple[int, int]], str | None]):
            return "nested"
        if isinstance(x, int | None):
            return "maybe"
        return "other"

    compiled = script(kind)
    cases = {
        "ints3": [1, 2], "names or tensors": ["a"], "dict1": {"a": [1]}, "pairb": (1, "b"),
        "nested": ({"k": (1, 2)}, None), "maybe": None, "other": (1.0, "b"),
    }  # fmt: skip
    for expected, value in cases.items():
        assert compiled(value) == expected
    assert compiled([wisp.ones(1)]) == "names or tensors"
    assert compiled([[1], [2]]) == "other"


def test_classes_of_the_calling_function_in_annotations():
    @script
    class Leaf:
        def __init__(self, x: int):
            self.x = x

    @script
    class Tree:
        def __init__(self):
            self.left: Optional[Leaf] = None  # noqa: UP045

        def add(self, x: int):
            self.left = Leaf(x)

    def f(x: int) -> int:
        tree = Tree()
        tree.add(x)
        left = tree.left
        assert left is not None
        return left.x

    assert script(f)(3) == 3


def pads(x: wisp.Tensor, size: BroadcastingList2[int], scale: BroadcastingList3[float] | None = None):
    total = size[0] + 10 * size[1]
    return x * total if scale is None else x * scale[2] * total


def calls_pads(x: wisp.Tensor, n: int):
    return pads(x, n, 2.0) + pads(x, [n, 3], scale=[1.0, 1.0, 5.0])


def test_one_number_stands_for_a_list():
    x = wisp.ones(1)
    assert script(calls_pads)(x, 2).item() == 44 + 160
    compiled = script(pads)
    assert compiled(x, 2).item() == 22 and compiled(x, [2, 3]).item() == 32
    assert compiled(x, size=2, scale=3.0).item() == 66 and compiled(x, (1, 2), [1.0, 2.0, 3.0]).item() == 63
    with pytest.raises(RuntimeError, match="Expected a value of type"):
        compiled(x, "2")


def test_the_graph_for_arguments():
    def inner(x):
        return x + 1

    def outer(x):
        return inner(x) * 2

    text = str(script(outer).graph_for(wisp.ones(2)))
    assert "aten::add" in text and "CallFunction" not in text
    assert "aten::linear" in str(script(wisp.nn.Linear(2, 2)).graph_for(wisp.ones(1, 2)))


def test_variables_declared_as_a_union_in_branches():
    def f(x: int) -> str:
        if x % 2 == 1:
            y: str | int = "bar"
        else:
            y: str | int = x
        if isinstance(y, str):
            return y
        return "baz"

    assert [script(f)(n) for n in (1, 2)] == [f(n) for n in (1, 2)] == ["bar", "baz"]


def test_isinstance_of_a_union_that_overlaps():
    def f(x: list[int] | int) -> int:
        if wisp.jit.isinstance(x, int | float | str):
            return x + 1
        return 100

    assert script(f)(1) == 2 and script(f)([1]) == 100

    @script
    def g(x: int) -> str:
        if wisp.jit.isinstance(x, (str | float, list[str], str)):
            return x + "foo"
        return "bar"

    assert g(1) == "bar"
