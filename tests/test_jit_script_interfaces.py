"""Interfaces: attributes and arguments of which only the methods are known."""

import copy
import io

import pytest

import wisp
from wisp import Tensor, nn


@wisp.jit.interface
class Stage(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass

    def scaled(self, x: Tensor, by: float = 2.0) -> Tensor:
        pass


class Adds(nn.Module):
    def __init__(self, n=1):
        super().__init__()
        self.n = nn.Parameter(wisp.tensor(float(n)))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.n

    @wisp.jit.export
    def scaled(self, x: Tensor, by: float = 2.0) -> Tensor:
        return self.forward(x) * by


def helper(x: Tensor) -> Tensor:
    return x * 10


class Multiplies(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return helper(x)

    @wisp.jit.export
    def scaled(self, x: Tensor, by: float = 2.0, more: int = 1) -> Tensor:
        return x * by * more


class Staged(nn.Module):
    stage: Stage

    def __init__(self, stage):
        super().__init__()
        self.stage = stage

    def forward(self, x: Tensor) -> Tensor:
        return self.stage(x) * 2 + self.stage.scaled(x, by=3.0) + self.stage.forward(x) + through(self.stage, x)


def through(stage: Stage, x: Tensor) -> Tensor:
    return stage.scaled(x)


def plain(stage, x):
    return stage(x) * 3 + stage.scaled(x, by=3.0) + stage.scaled(x)


X = wisp.tensor([1.0, 2.0])


@pytest.mark.parametrize("stage", [Adds, Multiplies], ids=lambda c: c.__name__)
def test_methods_are_found_when_they_are_called(stage):
    assert wisp.equal(wisp.jit.script(Staged(stage()))(X), plain(stage(), X))


def test_modules_can_be_exchanged():
    script, other = wisp.jit.script(Staged(Adds())), wisp.jit.script(Multiplies())
    assert list(script.state_dict()) == ["stage.n"]
    script.stage = other
    assert wisp.equal(script(X), plain(Multiplies(), X)) and not script.state_dict()
    with pytest.raises(RuntimeError, match="script.. the Adds first"):
        script.stage = Adds(4)
    script.stage = wisp.jit.script(Adds(4))
    assert wisp.equal(script(X), plain(Adds(4), X))
    script(X).sum().backward()
    assert script.stage.n.grad is not None
    assert wisp.equal(copy.deepcopy(script)(X), script(X))


@pytest.mark.parametrize("swapped", [False, True])
def test_files_and_frozen_modules(swapped):
    script, stage = wisp.jit.script(Staged(Adds(3))), Adds(3)
    if swapped:
        stage = Multiplies()
        script.stage = wisp.jit.script(stage)
    file = io.BytesIO()
    wisp.jit.save(script, file)
    loaded = wisp.jit.load(io.BytesIO(file.getvalue()))
    assert wisp.equal(loaded(X), plain(stage, X))
    loaded.stage = wisp.jit.script(Adds(5))
    assert wisp.equal(loaded(X), plain(Adds(5), X))
    frozen = wisp.jit.freeze(script.eval())
    assert wisp.equal(frozen(X), plain(stage, X)) and "CallMethod" not in str(frozen.graph)


class Wrong(nn.Module):
    def forward(self, x: Tensor) -> int:
        return 1


def test_what_does_not_have_the_interface_is_an_error():
    with pytest.raises(RuntimeError, match="cannot be used as a 'Stage'.*(no method 'scaled'|other types)"):
        wisp.jit.script(Staged(Wrong()))
    script = wisp.jit.script(Staged(Adds()))
    script.stage = wisp.jit.script(Wrong())
    with pytest.raises(TypeError, match="expected to give Tensor") as caught:
        script(X)
    assert "self.stage(x) * 2" in str(caught.value)


def test_methods_that_are_not_declared_are_errors():
    class Asks(nn.Module):
        stage: Stage

        def __init__(self):
            super().__init__()
            self.stage = Adds()

        def forward(self, x: Tensor) -> Tensor:
            return self.stage.other(x)

    with pytest.raises(RuntimeError, match="no attribute or method 'other': the interface does not declare it"):
        wisp.jit.script(Asks())


@wisp.jit.interface
class Counts:
    def count(self, n: int) -> int:
        pass


@wisp.jit.script
class One:
    def __init__(self, start: int):
        self.start = start

    def count(self, n: int) -> int:
        return self.start + n


@wisp.jit.script
class Two:
    def __init__(self):
        self.calls = 0

    def count(self, n: int) -> int:
        self.calls += 1
        return 2 * n * self.calls


def total(counts: Counts, n: int) -> int:
    return counts.count(n) + counts.count(n=n)


def test_objects_of_classes():
    @wisp.jit.script
    def both(n: int):
        return total(One(5), n), total(Two(), n)

    assert both(3) == (16, 18)


def test_damaged_calls_are_errors():
    text = 'graph(%a : Any, %x : Tensor):\n  %y : Tensor = prim::CallMethod[name="forward"](%a, %x)\n  return (%y)\n'
    graph = wisp._C._jit.parse_graph(text)
    adds = wisp.jit.script(Adds())
    assert graph.run(adds, X).tolist() == [2, 3]
    for wrong in (X, 1, wisp.jit.script(nn.Bilinear(1, 1, 1))):
        with pytest.raises((RuntimeError, TypeError)):
            graph.run(wrong, X)
    with pytest.raises(TypeError, match="argument 'x' is of another type"):
        wisp._C._jit.parse_graph(text.replace("%x : Tensor", "%x : int")).run(adds, 1)
