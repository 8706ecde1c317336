"""Values of type Any and of a Union: what they remember, and what is refused."""

import enum
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pytest

import wisp
from wisp import Tensor, nn


class Shade(enum.Enum):
    DARK = 1
    LIGHT = 2


class Word(enum.Enum):
    NO = "n"


class Point(NamedTuple):
    x: int
    y: int


class Size(NamedTuple):
    x: int
    y: int


class Spot(NamedTuple):
    at: Point
    shade: Shade


def unchanged(x: Any) -> Any:
    return x


def kind(x: Any) -> str:
    if isinstance(x, Shade):
        return "shade" + x.name
    if isinstance(x, Word):
        return "word" + x.value
    if isinstance(x, Point):
        return "point" + str(x.x)
    if isinstance(x, Size):
        return "size" + str(x.y)
    return "other"


NAMED = pytest.mark.parametrize(
    "value",
    [
        Shade.LIGHT,
        Word.NO,
        Point(1, 2),
        Size(1, 2),
        Spot(Point(1, 2), Shade.DARK),
        (1, 2),
        (1, Shade.DARK),
        {"a": 1},
        [Point(1, 2)],
        {"a": Shade.DARK},
        [[Size(1, 2)]],
        (1, [Point(1, 2)]),
        {"a": [(Point(1, 2), 1.5)]},
    ],
)


@NAMED
def test_members_and_named_tuples_stay_what_they_are(value):
    found = wisp.jit.script(unchanged)(value)
    assert type(found) is type(value)
    assert found == value
    if isinstance(value, Spot):
        assert type(found.at) is Point


@NAMED
def test_isinstance_tells_them_apart(value):
    assert wisp.jit.script(kind)(value) == kind(value)


class Odd(tuple):
    _fields = ("a", "b", "c")


def test_tuples_whose_fields_do_not_fit():
    assert wisp.jit.script(unchanged)(Odd((1, 2))) == (1, 2)


class Chooses(nn.Module):
    def forward(self, x: Tensor, k: int) -> Any:
        if k == 0:
            return Shade.DARK
        if k == 1:
            return Size(k, 2)
        known: Any = Point(k, 3)
        if isinstance(known, Size):
            return x
        return known


def _loaded(module):
    file = io.BytesIO()
    wisp.jit.save(module, file)
    file.seek(0)
    return wisp.jit.load(file)


@pytest.mark.parametrize("how", [lambda m: m, _loaded, wisp.jit.freeze])
def test_those_that_scripts_make_keep_their_names(how):
    compiled, module = how(wisp.jit.script(Chooses()).eval()), Chooses()
    for k in range(3):
        found, expected = compiled(wisp.ones(1), k), module(wisp.ones(1), k)
        assert type(found) is type(expected)
        assert found == expected


# --- unions


def length(x: float | str | list[int]) -> int:
    if isinstance(x, float):
        return int(x)
    return len(x) if isinstance(x, str) else x[0]


def named_union(x: Point | Shade | None) -> str:
    if x is None:
        return "none"
    return x.name if isinstance(x, Shade) else str(x.y)


def settings(x: wisp.dtype | wisp.device | wisp.memory_format | dict[str, int]) -> str:
    return "known"


@pytest.mark.parametrize("value", [2.5, "four", [3, 4]])
def test_arguments_that_a_union_names(value):
    assert wisp.jit.script(length)(value) == length(value)


@pytest.mark.parametrize("value", [Point(1, 2), Shade.DARK, None])
def test_unions_of_named_types(value):
    assert wisp.jit.script(named_union)(value) == named_union(value)


@pytest.mark.parametrize("value", [wisp.float32, wisp.device("cpu"), wisp.channels_last, {"a": 1}, {}])
def test_unions_of_settings(value):
    assert wisp.jit.script(settings)(value) == "known"


@pytest.mark.parametrize("value", [2, True, None, ["a"], (1,), {}, Point(1, 2)])
def test_other_arguments_are_refused(value):
    with pytest.raises(RuntimeError, match=r"length\(\) Expected a member of Union\[float, str, List\[int\]\]"):
        wisp.jit.script(length)(value)
    with pytest.raises(RuntimeError, match=r"Expected a member of Union\[Point, Shade, None\]"):
        wisp.jit.script(named_union)(Size(1, 2))


def gives_a_list(x: list[str]) -> int:
    return length(x)


def gives_an_optional(x: str | None) -> int:
    return length(x)


@pytest.mark.parametrize("fn", [gives_a_list, gives_an_optional])
def test_calls_with_values_that_a_union_does_not_name_do_not_compile(fn):
    with pytest.raises(wisp.jit.CompileError, match=r"Union\[float, str, List\[int\]\]"):
        wisp.jit.script(fn)


# --- classes that only say what can be done


def abstract(x: list[int], y: tuple[int, int], z: dict[str, int]):
    answers = [isinstance(x, Iterable), isinstance(x, Sequence), isinstance(x, Mapping)]
    answers += [isinstance(y, Sequence), isinstance(y, (Mapping, tuple)), isinstance(z, Mapping)]
    return answers + [isinstance(z, Sequence)]


def test_abstract_classes():
    arguments = [1], (1, 2), {"a": 1}
    assert wisp.jit.script(abstract)(*arguments) == abstract(*arguments)


# --- attributes


class Collects(nn.Module):
    def __init__(self):
        super().__init__()
        self.names: list[str] = []
        self.counts: dict[str, int] = {}

    def forward(self, name: str) -> int:
        self.names.append(name)
        self.counts[name] = len(self.names)
        return self.counts[name]


def test_empty_containers_that_init_annotates():
    compiled = wisp.jit.script(Collects())
    assert [compiled("a"), compiled("b")] == [1, 2]
    assert (compiled.names, compiled.counts) == (["a", "b"], {"a": 1, "b": 2})


def test_enums_need_no_compilation():
    assert wisp.jit.script(Shade) is Shade


def test_named_tuples_in_lists_and_dicts_that_become_any():
    shown = []

    @wisp.jit.ignore
    def show(x: Any):
        shown.append(repr(x))

    def program(n: int) -> Any:
        points = [Point(i, 1) for i in range(n)]
        show(points)
        points.append(Point(7, 7))
        maybe: list[Point | None] = [points[0], None]
        held = {"a": maybe, "b": maybe}
        show((held, [[Shade.LIGHT]], 3))
        x: Any = points
        assert wisp.jit.isinstance(x, list[Point])
        if n > 1:
            return points
        return {"shade": Shade.DARK, "other": Shade.LIGHT}

    compiled = wisp.jit.script(program)
    for n in (1, 2):
        results = []
        for fn in (program, compiled):
            shown.clear()
            results.append((repr(fn(n)), list(shown)))
        assert results[0] == results[1]


def test_a_parameter_behind_a_union():
    def program(x: Tensor | list[Tensor], n: int | str, y: int | None = None):
        if isinstance(x, list):
            x = wisp.stack(x).sum(0)
        if isinstance(n, int) and y is not None:
            x = x + n * y
        return x

    compiled = wisp.jit.script(program)
    assert compiled([wisp.ones(1)] * 2, 3, 2).item() == 8.0
    assert compiled(wisp.ones(1), "a").item() == 1.0
