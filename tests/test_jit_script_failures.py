"""What goes wrong in scripts is told in the words that programs for PyTorch look for, with classes that they catch."""

import pickle
from typing import List, Optional, Tuple  # noqa: UP035 (bare ones are what is tested)

import pytest

import wisp
from wisp import Tensor, nn
from wisp.jit import CompilationUnit, script


class Misfit(ValueError):
    pass


def first(x: list[int]) -> int:
    return x[0]


def look(x: dict[str, int]) -> int:
    return x["key"]


def halve(n: int) -> int:
    return n // 0


def refuse(n: int) -> int:
    assert n > 0, "positive ones only"
    return n


@pytest.mark.parametrize(
    ("fn", "arg", "kind"),
    [(first, [], IndexError), (look, {}, KeyError), (halve, 1, ZeroDivisionError), (refuse, 0, AssertionError)],
)
def test_errors_of_running_scripts_are_both_pythons_and_the_compilers(fn, arg, kind):
    with pytest.raises(kind) as caught:
        script(fn)(arg)
    error = caught.value
    assert isinstance(error, (wisp.jit.Error, RuntimeError)) and type(error).__name__ == kind.__name__
    assert f"in {fn.__name__}\n" in str(error)  # lines, also of a KeyError
    assert type(pickle.loads(pickle.dumps(error))) is kind


def test_errors_of_operators_and_of_the_compiler_are_caught_as_one_class():
    with pytest.raises(wisp.jit.Error, match="non-singleton"):
        script(lambda x, y: x + y)(wisp.ones(2), wisp.ones(3))
    with pytest.raises(wisp.jit.Error, match="undefined value nobody"):
        CompilationUnit("def f(x):\n    return nobody(x)")


def test_a_class_of_the_programs_own_is_named():
    def f():
        raise Misfit("three sleeves")

    with pytest.raises(wisp.jit.Error, match=r"Misfit: three sleeves"):
        script(f)()


def test_units_see_the_names_around():
    offset = 3

    def helper(x):
        return x * 2

    unit = CompilationUnit("def f(x):\n    return helper(x) + offset")
    assert unit.f(wisp.ones(1)).item() == 5
    assert offset == 3

    def inner():
        return CompilationUnit("def g(x):\n    return helper(x)", _frames_up=1)

    assert inner().g(wisp.ones(1)).item() == 2


def test_units_that_do_not_parse():
    with pytest.raises(wisp.jit.FrontendError, match="SyntaxError.*line 2"):
        CompilationUnit("def f(x):\n    return [x")


def test_comments_that_name_parameters_only():
    unit = CompilationUnit("def f(n, x):\n    # type: (int, str)\n    return x * n")
    assert unit.f(2, "ab") == "abab"


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.count = "none"

    def forward(self, x):
        return x


def bare_list(x: List) -> int:  # noqa: UP006
    return 1


def bare_optional(x: Optional) -> int:
    return 1


def bare_tuple(x: Tuple) -> int:  # noqa: UP006
    return 1


def unknown_name(x: "Nobody"):  # noqa: F821
    return x


def some_paths(x) -> Tensor:
    if bool(x.sum() > 0):
        return x


def no_function(x):
    return x(1)


def no_iterable(n: int):
    total = 0
    for i in n:
        total += i
    return total


def no_tuple(x):
    a, *b = x.size(0)
    return a, b


def few_values(x):
    a, b, c = (x, x)
    return a + b + c


def annotated(x):
    y: int = "a"
    return y


def many_bits():
    return 1 << 3, 0xFFFFFFFFFFFFFFFFFF


def no_range():
    for _ in range():
        pass


def prints(x):
    print(x, end="")


def other_module(x):
    return PLAIN(x)


PLAIN = Plain()


@pytest.mark.parametrize(
    ("fn", "words"),
    [
        (bare_list, "Attempted to use List without a contained type"),
        (bare_optional, "Attempted to use Optional without a contained type"),
        (bare_tuple, "Attempted to use Tuple without a contained type"),
        (unknown_name, "Unknown type name 'Nobody'"),
        (some_paths, "does not return along all paths"),
        (no_function, "cannot call a value"),
        (no_iterable, "'int' object is not iterable"),
        (no_tuple, "cannot be used as a tuple"),
        (few_values, "need 3 values .* found only 2"),
        (annotated, "annotated with type int but is being assigned to"),
        (many_bits, "out of range"),
        (no_range, "range expected at least 1 arguments, got 0"),
        (prints, "print doesn't accept any keyword arguments"),
        (other_module, "Cannot call a ScriptModule that is not a submodule of the caller"),
    ],
)
def test_words(fn, words):
    with pytest.raises(wisp.jit.Error, match=words) as caught:
        script(fn)
    assert "<--- HERE" in str(caught.value)


def test_words_about_attributes():
    class Writes(Plain):
        def forward(self, x):
            self.count = x
            return x

    class Invents(Plain):
        def forward(self, x):
            self.other = x
            return x

    with pytest.raises(RuntimeError, match="Wrong type for attribute assignment"):
        script(Writes())
    with pytest.raises(RuntimeError, match="Tried to set nonexistent attribute"):
        script(Invents())
