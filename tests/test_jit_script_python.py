"""Python that scripts did not know before: the same results as Python's own."""

# ruff: noqa: F507, F811, PYI036, UP031

import enum
import warnings
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest

import wisp
from wisp import Tensor
from wisp.jit import script


def same(function, *args):
    result = script(function)(*args)
    assert result == function(*args)
    return result


def test_percent():
    def f(n: int, x: float, s: str):
        a = "%d|%5d|%-5d|%05d|%+d|% d|%x|%X|%#x|%o|%i%%" % (n, n, n, n, n, n, n, n, n, n, n)
        b = "%f|%.2f|%8.3f|%-8.1f|%e|%g|%08.2f|%d" % (x, x, x, x, x, x, x, x)
        c = "%s|%5s|%-5s|%r|%.2s|{%s}" % (s, s, s, s, s, s)
        return a, b, c, "one %s" % n, "none", "%s %s" % (n, x), "%c" % n

    same(f, 77, -2.71828, "abc")


def test_percent_that_does_not_fit_is_told():
    def few(n: int):
        return "%d %d" % (n,)

    def many(n: int):
        return "%d" % (n, n)

    def text(s: str):
        return "%d" % s

    def unknown(n: int):
        return "%(n)d" % n

    for function, message in ((few, "not enough"), (many, "not all arguments"), (unknown, "cannot be compiled")):
        with pytest.raises((wisp.jit.CompileError, wisp.jit.FrontendError), match=message) as caught:
            script(function)
        assert "<--- HERE" in str(caught.value)
    with pytest.raises(Exception, match="HERE|int"):
        script(text)("x")


def test_two_stars_in_a_dict():
    def f(a: dict[str, int], n: int):
        b = {"x": n, **a, "y": 2}
        c = {**a}
        c["new"] = 1
        return b, c, a

    same(f, {"x": 9, "z": 3}, 5)


def test_comprehensions_with_several_for():
    def f(n: int, names: list[str]):
        a = [i * 10 + j for i in range(n) for j in range(i)]
        b = [i + j for i in range(n) if i > 0 for j in range(n) if j != i]
        c = {s + str(i): i for s in names for i in range(2)}
        d = [k for pair in [(1, 2), (3, 4)] for k in pair]
        e = [t for k in (1, 2) for t in range(k)]
        return a, b, c, d, e

    same(f, 4, ["a", "b"])


class Point(NamedTuple):
    x: int
    y: float = 1.5


def test_replace_of_named_tuples():
    def f(n: int, p: Point):
        q = Point(n)._replace(y=2.5)
        r = p._replace(x=n, y=0.5)
        return q.x, q.y, r.x, r.y, p.x

    same(f, 3, Point(1, 2.0))
    with pytest.raises(wisp.jit.CompileError, match="needs the fields x, y"):
        script(_replaces_wrongly)


def _replaces_wrongly(p: Point):
    return p._replace(z=1)


TEXTS = [
    "",
    "banana split",
    "Banana Split",
    "a\tbc\td\n\te",
    "under_score1",
    "1st",
    "x,y,z",
    " a  b c ",
    "a\r\nb\nc",
    "é\tß",
]


@pytest.mark.parametrize("text", TEXTS)
def test_methods_of_strings(text):
    def f(s: str):
        a = s.istitle(), s.isidentifier(), s.isprintable(), s.expandtabs(), s.expandtabs(4), s.expandtabs(0)
        b = s.rsplit(), s.rsplit(None, 1), s.rsplit(","), s.rsplit(",", 1), s.rsplit("a", 2), s.split(None, 1)
        c = s.rpartition("a"), s.partition("a"), s.splitlines(), s.splitlines(True), s.splitlines(False)
        d = (
            s.find("a", 2),
            s.find("a", 1, 3),
            s.rfind("a", 0, -2),
            s.count("a", 2),
            s.startswith("a", 1),
            s.endswith("a", 0, 4),
        )
        return a, b, c, d

    same(f, text)


def test_index_in_a_part_of_a_string():
    def f(s: str):
        return s.index("a", 2), s.rindex("a", 0, 4)

    same(f, "banana")
    with pytest.raises(ValueError, match="substring not found"):
        script(f)("ba")


def test_popitem():
    def f(d: dict[str, int]):
        last = d.popitem()
        d["new"] = 5
        return last, d, d.popitem()

    assert script(f)({"a": 1, "b": 2}) == (("b", 2), {"a": 1}, ("new", 5))
    with pytest.raises(KeyError, match="empty"):
        script(f)({})


def test_starred_rest_of_different_types():
    def f(t: tuple[int, float, str, int]):
        a, *b = t
        *c, d = t
        return a, b, c, d

    assert script(f)((1, 2.0, "x", 3)) == (1, (2.0, "x", 3), (1, 2.0, "x"), 3)


@script
class Counting:
    def __init__(self, n: int):
        self.n = n

    def __enter__(self):
        self.n += 1
        return self.n

    def __exit__(self, kind: Any, value: Any, trace: Any):
        self.n += 10


def test_with_objects_of_classes():
    def f(leave: bool):
        c, d = Counting(1), Counting(100)
        with c as first, d:
            if leave:
                return c.n, first, d.n
            first += 1
        return c.n, first, d.n

    assert script(f)(False) == (12, 3, 111)
    assert script(f)(True) == (2, 2, 101)


def test_blocks_that_are_left():
    def f(x: wisp.Tensor, n: int):
        total = 0
        for i in range(n):
            with wisp.no_grad():
                if i == 1:
                    continue
                if i == 3:
                    break
                y = x * 2
                total += 1
                if i == 5:
                    return total, y.requires_grad, wisp.is_grad_enabled()
        return total, (x * 2).requires_grad, wisp.is_grad_enabled()

    x = wisp.ones(1, requires_grad=True)
    assert script(f)(x, 2) == f(x, 2) == (1, True, True)
    assert script(f)(x, 9) == f(x, 9) == (2, True, True)


def test_unwrap_optional():
    def f(x: int | None):
        return wisp.jit._unwrap_optional(x) + 1

    assert script(f)(3) == 4
    with pytest.raises(AssertionError, match="Unwrapping null optional"):
        script(f)(None)


class Color(enum.Enum):
    RED = 1
    GREEN = 2


def test_names_and_values_of_enums():
    def f(c: Color):
        other = Color.GREEN
        return c.name, c.value, other.name, c == other, c is other

    for member in Color:
        assert script(f)(member) == f(member)


def test_unions_are_told_apart():
    def f(x: int | str | list[int]):
        if isinstance(x, int):
            return x + 1
        elif isinstance(x, str):
            return len(x)
        else:
            return x[0] + len(x)

    def g(x: wisp.Tensor | list[wisp.Tensor] | None):
        if x is None:
            return wisp.zeros(1)
        if isinstance(x, wisp.Tensor):
            x = [x]
        return wisp.stack(x).sum(0)

    for value in (1, "abc", [7, 8]):
        same(f, value)
    compiled = script(g)
    for value in (None, wisp.ones(1), [wisp.ones(1), wisp.ones(1)]):
        assert wisp.equal(compiled(value), g(value))


@wisp.jit._overload
def twice(x: int) -> int: ...


@wisp.jit._overload
def twice(x: str) -> str: ...


def twice(x):
    if isinstance(x, int):
        return x * 2
    else:
        return x + "!"


def test_overloads():
    def f(n: int, s: str):
        return twice(n), twice(s)

    same(f, 4, "a")


@script
@dataclass
class Box:
    n: int
    scale: float = 2.0
    items: list[int] = field(default_factory=list)

    def total(self) -> float:
        return self.n * self.scale


def test_dataclasses():
    def f(n: int):
        a, b, c = Box(n), Box(n, scale=2.0), Box(n, 3.0, [1])
        a.items.append(4)
        return a.items, b.items, c.items, a.total(), c.total(), Box(1) == Box(1), b == c, b != c

    same(f, 3)


def test_slice_objects():
    def f(x: list[int], s: str, a: int, b: int):
        ends = slice(a, b)
        return x[ends], x[slice(b)], x[slice(None, None, 2)], s[slice(a, None)], x[slice(a, b, 1)]

    same(f, [1, 2, 3, 4, 5], "hello", 1, 3)

    def of_tensor(x, a: int):
        return x[slice(a, None), slice(0, 2)].sum(), x[..., slice(a)].sum()

    compiled, x = script(of_tensor), wisp.arange(12.0).view(3, 4)
    assert compiled(x, 1) == of_tensor(x, 1)


def test_a_range_is_a_list_of_ints():
    def f(x: list[int]):
        return x[1:]

    assert script(f)(range(4)) == [1, 2, 3]


def test_dict_from_a_dict_and_names():
    def f():
        return dict({"a": 1, "b": 2}, c=3), dict([("a", 1)], b=2)

    same(f)


def test_ordered_dict():
    def f(x: OrderedDict[str, int]):
        made = OrderedDict([("a", 1)])
        made["b"] = 2
        return list(made.keys()), x["k"]

    same(f, OrderedDict(k=3))


def test_tensors_in_lists_are_compared_by_value():
    def f(x: list[Tensor], y: Tensor):
        found = x.count(y), x.index(y), y in x, x == [y, y], x != [y, y]
        x.remove(y)
        return found, len(x)

    def items():
        return [wisp.tensor(1), wisp.tensor(4), wisp.tensor(4)]

    assert script(f)(items(), wisp.tensor(4)) == f(items(), wisp.tensor(4))
    with pytest.raises(RuntimeError, match="ambiguous"):
        script(f)([wisp.ones(2)], wisp.zeros(2))


def test_min_and_max_of_any_list():
    def f(a: list[bool], b: list[str], c: list[tuple[int, str]], d: list[int], e: list[int]):
        return min(a), max(a), min(b), max(c), min(d, e), max(d, e)

    same(f, [True, False], ["b", "a"], [(1, "x"), (1, "y")], [1, 3], [1, 2])

    def empty(a: list[str]):
        return max(a)

    with pytest.raises(ValueError, match="empty sequence"):
        script(empty)([])


def test_sorting_unlike_items_is_an_error():
    def f(x: list[Any]):
        x.sort()
        return x

    assert script(f)([(2, "b"), (1, "a")]) == [(1, "a"), (2, "b")]
    for items in ([(1, 2), ("foo", "bar")], [1, "a"], [[1], 2], [(1, (2,)), (1, 2)]):
        with pytest.raises(TypeError, match="same type"):
            script(f)(items)


def test_grad_mode_after_an_error():
    @script
    def f(x, y):
        with wisp.no_grad():
            return wisp.mm(x, y)

    with pytest.raises(RuntimeError):
        f(wisp.ones(2, 3), wisp.ones(2, 3))
    assert wisp.is_grad_enabled()


def test_warnings_warn():
    @script
    def f(x, name: str):
        if bool(x.sum() > 1):
            warnings.warn(f"{name} is large")
        return x

    with pytest.warns(UserWarning, match="x is large"):
        f(wisp.ones(3), "x")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f(wisp.zeros(3), "x")
        with pytest.raises(UserWarning, match="y is large"):
            f(wisp.ones(3), "y")


def test_texts_over_several_lines_keep_their_spaces():
    def f():
        first = """
    four spaces
none """
        return (
            first,
            """ a
              b""",
        )

    same(f)


def test_comments_further_left():
    def f(x: int):
        y = x + 1
        # not where one would put it
        return y  # fmt: skip

    same(f, 2)


def test_min_and_max_of_numbers_known_later():
    def f():
        return min(wisp.tensor(7).item(), 3.14), max(2, wisp.tensor(2.5).item()), min(True, 3), max(1, 2.5)

    same(f)


def test_tuples_joined():
    def f(a: tuple[int, int], b: tuple[float]):
        return a + b, a + (1, "x"), b + a + a

    same(f, (1, 2), (3.0,))


def test_any_and_all_of_what_counts_as_true():
    def f(a: list[int], b: list[float], c: list[str], d: list[list[int]]):
        return any(a), all(a), any(b), all(b), any(c), all(c), any(d), all(d)

    same(f, [0, 2], [0.0], ["", "x"], [[], []])


def test_device_by_name():
    def f(x):
        return x.to(device=wisp.device(type="cpu", index=0)).device.type

    same(f, wisp.ones(1))


def test_comments_for_type_checkers():
    def f(x: Tensor):
        y = x * 2  # type: ignore
        return y + 1  # type: ignore[operator]

    assert script(f)(wisp.ones(())) == 3
