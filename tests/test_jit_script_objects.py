"""Python objects, lists and dicts that scripts find around them: what can be changed is kept, what cannot is an error."""

import io
from typing import Dict, List  # noqa: UP035

import pytest

import wisp
from wisp import Tensor, nn


class Window:
    """The last numbers, and how often each was seen."""

    def __init__(self, size: int):
        self.size = size
        self.last: List[int] = []  # noqa: UP006
        self.seen: Dict[str, int] = {}  # noqa: UP006
        self.count = 0

    def push(self, x: int) -> int:
        self.last.append(x)
        self.seen[str(x)] = self.seen.get(str(x), 0) + 1
        self.count += 1
        if len(self.last) > self.size:
            self.last.pop(0)
        return self.count

    def __call__(self, y: Tensor) -> Tensor:
        self.count += 10
        return y * self.count


class Windowed(nn.Module):
    def __init__(self):
        super().__init__()
        self.window = Window(2)

    def forward(self, x, n: int):
        self.window.push(n)
        k = self.window.push(n + 1)
        return self.window(x), k, self.window.last, self.window.seen


def test_objects_that_change_themselves_keep_what_they_change():
    plain, compiled = Windowed(), wisp.jit.script(Windowed())
    for _ in range(3):
        assert str(compiled(wisp.ones(1), 3)) == str(plain(wisp.ones(1), 3))
    file = io.BytesIO()
    wisp.jit.save(compiled, file)
    again = wisp.jit.load(io.BytesIO(file.getvalue()))
    assert str(again(wisp.ones(1), 3)) == str(plain(wisp.ones(1), 3))


class Threshold:
    def __init__(self, low: float):
        self.low = low

    def __call__(self, x: Tensor, high: float = 2.0) -> Tensor:
        return x.clamp(self.low, high)


class Clamped(nn.Module):
    def __init__(self):
        super().__init__()
        self.clamp = Threshold(0.5)

    def forward(self, x):
        return self.clamp(x) + self.clamp(x, high=1.0)


def test_objects_are_called_by_their_call():
    x = wisp.tensor([0.0, 1.5, 3.0])
    assert wisp.jit.script(Clamped())(x).equal(Clamped()(x))


class Uncompilable:
    def __init__(self):
        self.low, self.made = 0.5, []

    def note(self, x):
        self.made.append(object())
        return {x, self}

    def half(self) -> float:
        return self.low / 2


class KeepsOne(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = Uncompilable()

    def forward(self, x):
        return x * self.kept.half()


def test_objects_that_cannot_be_compiled_are_constants():
    assert wisp.jit.script(KeepsOne())(wisp.ones(1)).item() == 0.25


_LIST, _DICT = [1, 2], {"a": 1}


def test_constant_containers_are_not_changed():
    def append(x: int):
        _LIST.append(x)
        return len(_LIST)

    def replace(x: int):
        _LIST[0] = x
        return _LIST[0]

    def enter(x: int):
        _DICT["b"] = x
        return len(_DICT)

    for fn in (append, replace, enter):
        with pytest.raises(wisp.jit.CompileError, match="constant of the script"):
            wisp.jit.script(fn)

    def copies(x: int):
        mine = list(_LIST)
        mine.append(x)
        return mine, _LIST[1], _DICT["a"]

    assert wisp.jit.script(copies)(5) == ([1, 2, 5], 2, 1)


class Remembers(nn.Module):
    def __init__(self):
        super().__init__()
        self.before: Tensor | None = None
        self.never: Tensor | None = None

    def forward(self, x):
        before = self.before
        self.before = x
        if self.never is not None:
            x = self.never.there_is_no_such_method()
        return x if before is None else before


def test_none_declared_in_init_is_a_variable_if_methods_assign_it():
    compiled = wisp.jit.script(Remembers())
    assert [compiled(wisp.tensor(float(i))).item() for i in range(3)] == [0.0, 0.0, 1.0]
    assert compiled.before.item() == 2.0
