"""Scripts: texts that are read and written, places in lists, and what errors of Python become."""

from enum import Enum

import pytest

import wisp
from wisp import Tensor, nn
from wisp.jit import CompileError, script


def in_base(text: str, base: int) -> int:
    return int(text, base) + int(text, base=base)


@pytest.mark.parametrize(
    ("text", "base"),
    [("ff", 16), ("0xFF", 16), ("0b11", 0), ("-0o17", 8), ("z", 36), ("12", 2), ("010", 0), ("1_000", 10), ("", 10),
     ("_1", 10), ("0x", 16), ("00", 0), ("5", 1), ("+7", 10), ("--7", 10), (" 0x1f ", 0)],
)  # fmt: skip
def test_integers_in_any_base(text, base):
    try:
        expected = in_base(text, base)
    except ValueError as error:
        with pytest.raises(ValueError, match=r"invalid literal|base must be") as caught:
            script(in_base)(text, base)
        assert str(caught.value).startswith(str(error)[:24])
    else:
        assert script(in_base)(text, base) == expected


def test_numbers_with_underscores():
    def read(a: str, b: str):
        return int(a), float(b)

    assert script(read)("1_000", "1_0.5") == (1000, 10.5)


def places(xs: list[int], start: int) -> list[int]:
    return [xs.index(3, start), xs.index(3, start, 9), xs.index(3), (1, 2, 3).index(3, 1)]


def test_places_from_somewhere_on():
    for start in (0, 1, -2):
        assert script(places)([3, 1, 3, 2], start) == places([3, 1, 3, 2], start)
    with pytest.raises(ValueError, match="3 is not in list"):
        script(places)([3, 1, 3, 2], 3)


def percent(pattern: str, a: int, b: float, c: str) -> str:
    return pattern % (a, b, c)


@pytest.mark.parametrize(
    "pattern", ["%d|%5.2f|%s", "%05d|%-8g|%10s|", "%x %e %r", "%d%%%s%s", "%i %+.1f %.2s", "%c%f%s", "%-6d|% G|%3c",
                "%#o %s %a", "%6.3d %s %s", "%ld %s %s"]
)  # fmt: skip
def test_formats_that_are_not_constant(pattern):
    if pattern.startswith("%6.3d"):
        with pytest.raises(ValueError, match="Precision"):
            script(percent)(pattern, 65, 2.5, "abc"[:1])
        return
    assert script(percent)(pattern, 65, 2.5, "a") == percent(pattern, 65, 2.5, "a")


@pytest.mark.parametrize(
    ("pattern", "message"),
    [("%d %d", "not all arguments"), ("%d %s %d", "a real number is required"), ("%", "incomplete format"),
     ("%q %s %s", "unsupported format character"), ("%s %s %s %s", "not enough arguments")],
)  # fmt: skip
def test_formats_that_do_not_fit(pattern, message):
    with pytest.raises((ValueError, TypeError), match=message):
        script(percent)(pattern, 65, 2.5, "abc")


def test_tensors_of_one_element_in_texts():
    def shown(x: Tensor):
        return f"{x} {x!s} {x:.2f}", "{}".format(x)  # noqa: UP032

    x = wisp.tensor(1.5)
    assert script(shown)(x) == shown(x) == ("1.5 tensor(1.5000) 1.50", "1.5")


def test_empty_lists_as_indices():
    def none(x: Tensor):
        places: list[int] = []
        return x[places, :], x[[]]

    x = wisp.arange(6).reshape(2, 3)
    assert [y.shape for y in script(none)(x)] == [y.shape for y in none(x)] == [(0, 3), (0, 3)]


def test_lists_of_complex_numbers():
    def listed(x: Tensor) -> list[complex]:
        found: list[complex] = x.tolist()
        return found

    assert script(listed)(wisp.tensor([1 + 2j, 3j])) == [1 + 2j, 3j]


def test_history_that_is_forgotten_in_place():
    def product(x: Tensor, w: Tensor):
        y = x @ w
        y.detach_()
        return y + 1

    assert not script(product)(wisp.ones(2, 2), wisp.ones(2, 2, requires_grad=True)).requires_grad


def test_einsum_with_lists():
    def product(x: Tensor):
        return wisp.einsum(x, [0, 1], x, [1, 2], [0, 2]), wisp.einsum(x, [0, 1], x, [1, 2])

    x = wisp.rand(3, 3)
    assert all(map(wisp.equal, script(product)(x), product(x)))


class Colour(Enum):
    RED = 1


class Light(Enum):
    RED = 1


def test_members_of_different_enums_are_never_equal():
    @script
    def same(x: Colour):
        return x == Light.RED, x != Light.RED, x is Light.RED, x == Colour.RED

    assert same(Colour.RED) == (False, True, False, True)


@pytest.mark.parametrize(
    ("source", "message"),
    [("def f(): return [i for i in range(1.5)]", "'float' object cannot be interpreted as an integer"),
     ("def f(): return [i for i in range(1, 2, 0)]", "must not be zero"),
     ("def f(): return [i for i in zip()]", "zip expected at least 1"),
     ("def f(x): return x.resize_(2)", "Use reshape")],
)  # fmt: skip
def test_what_python_refuses_is_shown_with_its_place(source, message):
    with pytest.raises(CompileError, match=message) as caught:
        wisp.jit.CompilationUnit(source)
    assert "~ <--- HERE" in str(caught.value)


def test_a_method_without_self():
    class Wrong(nn.Module):
        def one():
            return 1

        def forward(self, x):
            return x + self.one()

    with pytest.raises(CompileError, match="needs a parameter for its object: self"):
        script(Wrong())


def test_members_that_are_none():
    class Absent(nn.Module):
        def __init__(self):
            super().__init__()
            self.down = None
            self.layer = nn.Linear(2, 2, bias=False)
            self.register_module("part", None)
            self.register_buffer("kept", None)

        def forward(self, x):
            return self.layer(x if self.down is None and self.part is None else x + 1)

    import io

    file = io.BytesIO()
    compiled = script(Absent())
    wisp.jit.save(compiled, file)
    for module in (compiled, wisp.jit.load(io.BytesIO(file.getvalue()))):
        assert (module.down, module.part, module.kept, module.layer.bias) == (None,) * 4
        assert list(module.state_dict()) == ["layer.weight"]


def test_declared_attributes_are_their_values_in_init():
    class Old(wisp.jit.ScriptModule):
        def __init__(self):
            super().__init__()
            self.factor = wisp.jit.Attribute(0.5, float)
            self.counts = wisp.jit.Attribute({}, dict[str, int])
            assert 0 < self.factor < 1

        @wisp.jit.script_method
        def forward(self):
            self.counts["calls"] = 1
            return self.factor, self.counts

    assert Old()() == (0.5, {"calls": 1})


def test_a_state_is_set_as_it_was_got():
    class Kept(nn.Module):
        def __init__(self):
            super().__init__()
            self.values = wisp.ones(2)

        @wisp.jit.export
        def __getstate__(self):
            return (self.values, self.training)

        @wisp.jit.export
        def __setstate__(self, state):
            self.values, self.training = state[0], state[1]

        def forward(self, x):
            return x + self.values

    assert script(Kept())(wisp.ones(2)).tolist() == [2, 2]


def test_operators_on_their_own():
    from wisp.nn import functional

    x = wisp.tensor([[-1.0, 2.0]])
    for operator, arguments in ((functional.relu, (x,)), (functional.gelu, (x,)), (functional.softmax, (x, 1)),
                                (functional.leaky_relu, (x, 0.5)),
                                (functional.layer_norm, (x, [2]))):  # fmt: skip
        compiled = script(operator)
        assert wisp.equal(compiled(*arguments), operator(*arguments))
        assert compiled(*arguments).dtype == operator(*arguments).dtype and "_operator" not in compiled.code
    with pytest.raises(TypeError, match="write a function that calls it"):
        script(wisp.add)
