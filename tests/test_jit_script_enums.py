"""Members of enums in compiled functions and modules."""

import enum
import io
import textwrap

import pytest

import wisp
from tests import fresh
from wisp import Tensor, nn


class Shade(enum.Enum):
    DARK = 1
    LIGHT = 2

    def is_dark(self) -> bool:
        return self == Shade.DARK


class Word(enum.Enum):
    NO = "n"
    YES = "y"


class Count(enum.IntEnum):
    ONE = 1
    TWO = 2


SHADES = [Shade.LIGHT, Shade.DARK]


def brightness(x, shade: Shade, least: float = 0.5):
    if shade == Shade.LIGHT:
        return x * 2
    if shade != Shade.DARK or least > 1:
        return x * 3
    return x


def same(shade: Shade) -> Shade:
    return shade


def darker(shade: Shade, dark: bool):
    return Shade.DARK if dark else shade


def default(shade: Shade = Shade.LIGHT):
    return shade


def identity(shade: Shade):
    return shade is Shade.DARK, shade is not Shade.DARK, shade == Shade.LIGHT, shade != Shade.LIGHT


def parts(shade: Shade, word: Word):
    return shade.name, shade.value + 1, word.name, word.value + "!", Word.YES.value


def everything(shade: Shade):
    found = [shade]
    for each in Shade:
        if each != shade:
            found.append(each)
    return found, [each.value for each in Word], [each.name for each in Shade], list(Shade), len(Shade)


def member_of(shade: Shade, shades: list[Shade]):
    return shade in shades, shade in [Shade.DARK], shade in SHADES, shades[0] == shade


def optional(shade: Shade | None) -> Shade | None:
    if shade is None:
        return Shade.LIGHT
    return None if shade == Shade.LIGHT else shade


def containers(shade: Shade) -> tuple[dict[str, Shade], tuple[Shade, Word]]:
    return {shade.name: shade}, (shade, Word.NO)


def asks(shade: Shade):
    return shade.is_dark()


def counts(count: Count):
    return count + 1, count == Count.TWO, count.name, count.value, Count.ONE


CASES = [
    (same, (Shade.DARK,)), (darker, (Shade.LIGHT, True)), (darker, (Shade.LIGHT, False)), (default, ()), (default, (Shade.DARK,)),
    *((function, (shade,)) for function in (identity, everything, containers, asks) for shade in Shade),
    (parts, (Shade.DARK, Word.YES)), (parts, (Shade.LIGHT, Word.NO)), (member_of, (Shade.DARK, [Shade.LIGHT])),
    (member_of, (Shade.LIGHT, [Shade.LIGHT, Shade.DARK])), *((optional, (shade,)) for shade in (None, *Shade)),
    *((counts, (count,)) for count in Count),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0].__name__}{c[1]}")
def test_results_are_those_of_python(case):
    function, arguments = case
    assert wisp.jit.script(function)(*arguments) == function(*arguments)
    assert type(wisp.jit.script(function)(*arguments)) is type(function(*arguments))


def test_members_are_not_their_values():
    compiled = wisp.jit.script(brightness)
    for shade in Shade:
        assert wisp.equal(compiled(wisp.ones(2), shade), brightness(wisp.ones(2), shade))
    with pytest.raises(RuntimeError, match="Expected a value of type 'Shade"):
        compiled(wisp.ones(2), 1)
    with pytest.raises(RuntimeError, match="Expected a value of type 'Shade"):
        compiled(wisp.ones(2), Word.NO)


class Lamp(nn.Module):
    word: Word

    def __init__(self):
        super().__init__()
        self.shade, self.word = Shade.DARK, Word.NO

    def forward(self, x: Tensor):
        if self.shade is Shade.LIGHT:
            return x + 1, self.shade
        return x, self.shade

    @wisp.jit.export
    def switch(self, word: Word):
        self.word = word
        return self.word


def test_members_are_attributes():
    lamp = wisp.jit.script(Lamp())
    assert lamp.shade is Shade.DARK and lamp(wisp.zeros(1)) == (wisp.zeros(1), Shade.DARK)
    lamp.shade = Shade.LIGHT
    assert lamp(wisp.zeros(1)) == (wisp.ones(1), Shade.LIGHT)
    assert lamp.switch(Word.YES) is Word.YES and lamp.word is Word.YES
    file = io.BytesIO()
    wisp.jit.save(lamp, file)
    loaded = wisp.jit.load(io.BytesIO(file.getvalue()))
    assert loaded.word is Word.YES and loaded(wisp.zeros(1))[1] is Shade.LIGHT


def test_files_need_no_enum(tmp_path):
    wisp.jit.save(wisp.jit.script(darker), tmp_path / "darker")
    program = """
        import enum
        import wisp

        darker = wisp.jit.load("darker")
        found = darker(("LIGHT", 2), False)
        print(found.name, found.value, darker(found, True).name)

        class Shade(enum.Enum):
            LIGHT = 2

        print(darker(Shade.LIGHT, False).name)
    """
    printed = fresh.program(tmp_path / "loads.py", textwrap.dedent(program))
    assert printed.split() == ["LIGHT", "2", "DARK", "LIGHT"]


def test_values_of_several_types_are_errors():
    class Mixed(enum.Enum):
        ONE = 1
        TWO = "two"

    with pytest.raises(RuntimeError, match="need values of one simple type"):

        @wisp.jit.script
        def takes(mixed: Mixed):
            return mixed
