"""Errors of scripts, while they are compiled and while they run: what is wrong, and where."""

import pytest

import wisp
from wisp import Tensor, nn
from wisp.jit import script


def error_of(compile_or_call, *args, kind=RuntimeError):
    with pytest.raises(kind) as caught:
        compile_or_call(*args)
    return str(caught.value)


def undefined(x):
    y = x + inpu  # noqa: F821
    return y


def test_the_place_is_underlined():
    text = error_of(script, undefined)
    assert text.startswith("name 'inpu' is not defined (undefined value inpu)\n")
    lines = text.splitlines()
    assert lines[2].startswith(f'  File "{__file__}", line ')
    assert lines[2].endswith(", in undefined")
    assert lines[3] == "    y = x + inpu  # noqa: F821"
    assert lines[4] == "            ~~~~ <--- HERE"


def outer(x):
    return middle(x, 1)


def middle(x, n: int):
    return x.foo + n


def test_the_calls_that_lead_to_an_error_are_shown():
    text = error_of(script, outer)
    assert "'Tensor' object has no attribute or method 'foo'" in text
    assert text.index("return middle(x, 1)") < text.index("return x.foo + n")
    assert "in outer" in text
    assert "in middle" in text


class Deep(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x):
        return self.inner(x)


class Inner(nn.Module):
    def forward(self, x):
        return self.absent(x)


def test_errors_in_submodules():
    text = error_of(script, Deep())
    assert "Module 'Inner' has no attribute 'absent'" in text
    assert "in Deep.forward" in text
    assert "in Inner.forward" in text


def uses_try(x):
    try:
        return x
    except ValueError:
        return x + 1


def uses_yield(x):
    yield x


def uses_set(x):
    return {1, 2}


def uses_global(x):
    global counter  # noqa: PLW0602
    return x


def uses_star(x, *more):
    return x


def uses_with(x):
    with open("file") as f:
        return f


UNSUPPORTED = [
    (uses_try, "try ... except", "Test the condition with if"), (uses_yield, "yield", "Collect the values in a list"),
    (uses_set, "a set", "Use a list"), (uses_global, "global", "Pass the value as an argument"),
    (uses_star, "\\* and \\*\\* parameters of compiled functions", "Name the parameters"),
]  # fmt: skip


@pytest.mark.parametrize(("fn", "what", "instead"), UNSUPPORTED, ids=lambda v: getattr(v, "__name__", None))
def test_unsupported_python_says_what_to_write_instead(fn, what, instead):
    with pytest.raises(wisp.jit.FrontendError, match=f"{what} cannot be compiled.*{instead}") as caught:
        script(fn)
    assert "<--- HERE" in str(caught.value)


def one_branch(x, n: int):
    if n > 0:
        y = x
    return y


def two_types(x, n: int):
    if n > 0:
        return x
    return n


def optional_used(x: Tensor | None):
    return x + 1


def optional_method(x: Tensor | None):
    return x.sum()


def wrong_argument(x):
    return wisp.add(x, "text")


def list_of_tensors(n: int):
    xs = []
    xs.append(n)
    return xs


def mixed_list(x):
    return [1, "a"]


def changes_type(n: int):
    y = 1
    for _ in range(n):
        y = "a"
    return y


def untyped_list(x: list):
    return x


def to_list(x):
    return x.tolist()


def too_many(x):
    return two_arguments(x, x, x)


def two_arguments(x, y):
    return x


def wrong_declaration(x) -> int:
    return x.shape


def wrong_type_given(x):
    return takes_int(1.5)


def takes_int(n: int):
    return n


WRONG = [
    (one_branch, "'y' is not defined on every way to here"), (two_types, "Tensor and a value of type int in different branches"),
    (optional_used, "test `is not None`"), (optional_method, "'sum' of an Optional\\[Tensor\\] cannot be read"),
    (wrong_argument, "add\\(\\) cannot be called with \\(Tensor, str\\)"), (list_of_tensors, "List\\[int\\] = \\[\\]"),
    (mixed_list, "need one type, and are int and str"), (changes_type, "previously had type int but is now being assigned to a value of type str"),
    (untyped_list, "Attempted to use List without a contained type"), (to_list, "tolist\\(\\) needs to know its type"),
    (too_many, "Expected at most 2 arguments but found 3"), (wrong_declaration, "declared to return int, but what it returns is actually of type List"),
    (wrong_type_given, "Expected a value of type 'int' for argument 'n' but instead found type 'float'"),
]  # fmt: skip


@pytest.mark.parametrize(("fn", "message"), WRONG, ids=lambda v: getattr(v, "__name__", None))
def test_faults_found_while_compiling(fn, message):
    with pytest.raises(wisp.jit.CompileError, match=message) as caught:
        script(fn)
    assert "<--- HERE" in str(caught.value)


# --- while running


def fails(x, w):
    if x.sum() > 0:
        return inner(x, w)
    return x


def inner(x, w):
    y = x * 2
    return w.mv(y)


def test_errors_while_running_show_the_program():
    text = error_of(script(fails), wisp.ones(111), wisp.ones(3, 4))
    assert text.index("return inner(x, w)") < text.index("return w.mv(y)")
    assert "           ~~~~~~~ <--- HERE" in text


def raises(n: int):
    if n == 0:
        raise ValueError(f"n is {n}")
    if n == 1:
        raise NotImplementedError
    assert n < 5, f"too large: {n}"
    return [1, 2][n]


def test_errors_that_programs_raise():
    compiled = script(raises)
    assert "n is 0" in error_of(compiled, 0, kind=ValueError)
    error_of(compiled, 1, kind=NotImplementedError)
    assert "too large: 7" in error_of(compiled, 7, kind=AssertionError)
    assert "list index out of range" in error_of(compiled, 3, kind=IndexError)


def arithmetic(a: int, b: int):
    return a // b


def lookup(d: dict[str, int], key: str):
    return d[key]


def number(x):
    return int(x)


def test_kinds_of_errors_are_those_of_python():
    assert "zero" in error_of(script(arithmetic), 1, 0, kind=ZeroDivisionError)
    error_of(script(lookup), {"a": 1}, "b", kind=KeyError)
    error_of(script(number), wisp.ones(2), kind=RuntimeError)
    error_of(script(takes_int), 1.5, kind=(TypeError, RuntimeError))
    assert script(arithmetic)(-(2**63), -1) == -(2**63)  # integers wrap


def test_what_cannot_be_compiled():
    with pytest.raises(TypeError, match="cannot be compiled"):
        script(3)
    with pytest.raises(TypeError, match="compile an instance"):
        script(nn.Linear)
    namespace = {}
    exec("def no_source(x):\n    return x", namespace)  # noqa: S102
    with pytest.raises(OSError, match="Can't get source"):
        script(namespace["no_source"])
