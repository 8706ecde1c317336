"""Arguments of Python's own functions and methods in scripts: those that are understood are meant, others are errors."""

import math
from typing import List  # noqa: UP035

import pytest

import wisp
from wisp import Tensor


def _both(fn, *arguments):
    """The result in Python, which that of the script has to be."""
    expected = fn(*arguments)
    assert wisp.jit.script(fn)(*arguments) == expected
    return expected


def test_extremes_by_key_and_default():
    def by_key(xs: List[str]):  # noqa: UP006
        return max(xs, key=len), min(xs, key=len), max("aa", "b", "cc", key=len), min(3, 1, 2, key=lambda v: -v)

    def by_default(xs: List[int]):  # noqa: UP006
        return min(xs, default=7), max(xs, default=-1), max(xs, key=lambda v: v % 5, default=0)

    def of_nothing(xs: List[int]):  # noqa: UP006
        return max(xs, key=lambda v: -v)

    assert _both(by_key, ["aa", "b", "cc", "d"]) == ("aa", "b", "aa", 3)
    assert _both(by_default, []) == (7, -1, 0)
    assert _both(by_default, [6, 9, 3]) == (3, 9, 9)
    with pytest.raises(ValueError, match="empty sequence"):
        wisp.jit.script(of_nothing)([])


def test_zip_strict():
    def pairs(a: List[int], b: List[int], strict: bool):  # noqa: UP006
        return [x * y for x, y in zip(a, b, strict=strict)]

    _both(pairs, [1, 2], [3, 4], True)
    _both(pairs, [1, 2], [3], False)
    with pytest.raises(ValueError, match=r"zip\(\) argument 2"):
        wisp.jit.script(pairs)([1, 2], [3], True)


def test_methods_of_texts_by_keyword():
    def parts(x: str):
        return x.split(maxsplit=1), x.split(sep="b"), x.rsplit(maxsplit=1), x.split(" ", maxsplit=1)

    _both(parts, "a b c")


def test_arguments_that_scripts_do_not_know_are_errors():
    programs = (
        "def f(s: List[int]): return sorted(s, foo=3)",
        "def f(s: List[int]): return [i for i, x in enumerate(s, begin=3)]",
        "def f(s: List[int]): return len(s, s)",
        "def f(x: int): return pow(x, 2, 5)",
        "def f(s: List[int]): return any(s, s)",
        "def f(s: List[int]): return isinstance(s)",
        "def f(s: str): return s.split(foo=1)",
        "def f(s: List[int]): return s.pop(0, 1)",
        "def f(s: str): return s.find()",
    )
    for program in programs:
        with pytest.raises(wisp.jit.CompileError, match=r"argument|expected 2") as caught:
            wisp.jit.CompilationUnit(program)
        assert "<--- HERE" in str(caught.value)


def test_starred_names_take_what_lists_have():
    def ends(xs: List[int]):  # noqa: UP006
        first, *middle, last = xs
        return first, middle, last

    def rows(x: Tensor):
        head, *rest = x
        return int(head), len(rest)

    assert _both(ends, [1, 2, 3, 4]) == (1, [2, 3], 4)
    assert _both(ends, [1, 2]) == (1, [], 2)
    assert _both(rows, wisp.tensor([5, 6, 7])) == (5, 2)
    with pytest.raises(ValueError, match=r"not enough values to unpack \(expected at least 2, got 1\)"):
        wisp.jit.script(ends)([1])


def test_tensors_on_both_sides_of_an_ellipsis():
    def picked(x: Tensor, i: Tensor):
        return x[i, ..., i], x[i, ..., 0], x[i, ..., None], x[i, ..., 1:], x[i, ...], x[0, ..., i]

    def written(x: Tensor, i: Tensor):
        x = x.clone()
        x[i, ..., i] = 0.5
        x[i, ..., 1] += 1
        return x

    x, i = wisp.arange(24.0).reshape(2, 3, 4), wisp.tensor([0, 1])
    for fn in (picked, written):
        for found, expected in zip(wisp.jit.script(fn)(x, i), fn(x, i), strict=True):
            assert found.equal(expected)
    with pytest.raises(IndexError):
        wisp.jit.script(picked)(wisp.ones(2), i)


def test_an_empty_list_for_a_parameter_is_of_its_type():
    def filled(xs: "List[int] | None" = None):  # noqa: UP006
        if xs is None:
            xs = []
        xs.append(5)
        return xs

    assert _both(filled) == [5]
    assert wisp.jit.script(filled)([1]) == [1, 5]


def test_constants_that_a_function_refuses_are_errors_only_where_they_are_reached():
    def root(n: int):
        return math.sqrt(-1.0) if n < 0 else math.sqrt(4.0)

    compiled = wisp.jit.script(root)
    assert compiled(1) == 2.0
    with pytest.raises(ValueError, match="math domain error"):
        compiled(-1)


def test_questions_about_dtypes():
    def asked(x: Tensor, y: Tensor, n: float):
        return (
            wisp.result_type(x, y),
            wisp.result_type(x, n),
            wisp.result_type(2, y),
            wisp.promote_types(x.dtype, wisp.float16),
            wisp.can_cast(y.dtype, x.dtype),
            wisp.can_cast(wisp.int32, x.dtype),
        )

    for x in (wisp.ones(2), wisp.ones(2, dtype=wisp.int64)):
        _both(asked, x, wisp.ones(2, dtype=wisp.float64), 2.5)
    with pytest.raises(wisp.jit.CompileError, match="result_type"):
        wisp.jit.CompilationUnit("def f(x): return wisp.result_type(x, 'a')")
