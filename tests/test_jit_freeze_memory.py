"""Frozen modules keep as attributes what their methods write, by whatever way: they compute what the modules did."""

import pytest

import wisp
from wisp import nn


class Lists(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = [1]

    def forward(self, x):
        every = [self.a]
        every[0].append(2)
        return wisp.tensor(len(self.a))


class Dicts(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = {"x": 1}

    def forward(self, x):
        d = self.a
        d["x"] = d["x"] + 1
        return wisp.tensor(self.a["x"])


class Held(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = wisp.tensor([1.0, 2.0])
        self.b = {"k": [self.a]}
        self.c = (self.a, 1)

    def forward(self, x):
        self.a.add_(1)
        return self.b["k"][0] + x, self.c[0] * 1


class Part(nn.Module):
    def __init__(self, t):
        super().__init__()
        self.t = t

    def forward(self, x):
        self.t.mul_(2)
        return self.t + x


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = wisp.tensor([1.0, 2.0])
        self.part = Part(self.a)

    def forward(self, x):
        return self.part(x), self.a * 1


class Viewed(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = wisp.tensor([1.0, 2.0])
        self.b = self.a.view(2, 1)

    def forward(self, x):
        self.b.add_(1)
        return self.a * 1


class Chosen(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = wisp.ones(2)

    def forward(self, x):
        kept = self.a
        z = kept if bool(x.sum() > 0) else x
        z.add_(1)
        return self.a * 1


class Looped(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = wisp.ones(2), [wisp.zeros(1)]

    def forward(self, x):
        for t in [self.a, self.b[0]]:
            t.add_(1)
        return self.a * 1, self.b[0] * 1


@wisp.jit.script
class Count:
    def __init__(self, n: int):
        self.n = n


class Assigned(nn.Module):
    def __init__(self):
        super().__init__()
        self.count = Count(1)

    def forward(self, x):
        before = self.count.n
        self.count = Count(before + 1)
        return wisp.tensor(before), wisp.tensor(self.count.n)


class HandedOn(nn.Module):
    def __init__(self):
        super().__init__()
        self.count = Count(1)

    def forward(self, x):
        every = [self.count]
        every[0].n += 1
        return wisp.tensor(self.count.n)


@pytest.mark.parametrize("cls", [Assigned, HandedOn, Lists, Dicts, Held, Shared, Viewed, Chosen, Looped])
def test_results_are_those_of_the_module(cls):
    module, x = cls().eval(), wisp.ones(2)
    frozen = wisp.jit.freeze(wisp.jit.script(cls().eval()))
    for _ in range(3):
        assert str(frozen(x)) == str(module(x))


def test_parameters_next_to_writes_become_constants():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc, self.act = nn.Linear(2, 2), nn.ReLU(inplace=True)
            self.calls = wisp.zeros(1)

        def forward(self, x):
            self.calls += 1
            return self.act(self.fc(x))

    frozen = wisp.jit.freeze(wisp.jit.script(Net().eval()))
    frozen(wisp.ones(1, 2))
    assert frozen.calls.item() == 1 and not hasattr(frozen, "fc")


def test_modules_looked_up_at_run_time_cannot_be_frozen():
    @wisp.jit.interface
    class Stage(nn.Module):
        def forward(self, x: wisp.Tensor) -> wisp.Tensor:
            pass

    class One(nn.Module):
        def forward(self, x: wisp.Tensor) -> wisp.Tensor:
            return x + 1

    class Any(nn.Module):
        def __init__(self):
            super().__init__()
            self.stages = nn.ModuleList([One(), One()])

        def forward(self, x: wisp.Tensor, i: int) -> wisp.Tensor:
            stage: Stage = self.stages[i]
            return stage.forward(x)

    with pytest.raises(RuntimeError, match="Freezing does not support"):
        wisp.jit.freeze(wisp.jit.script(Any().eval()))


def test_exchanged_submodules_cannot_be_frozen():
    @wisp.jit.interface
    class Stage(nn.Module):
        def forward(self, x: wisp.Tensor) -> wisp.Tensor:
            pass

    class Plus(nn.Module):
        def forward(self, x: wisp.Tensor) -> wisp.Tensor:
            return x + 1

    class Switching(nn.Module):
        stage: Stage

        def __init__(self):
            super().__init__()
            self.stage, self.other = Plus(), Plus()

        def forward(self, x: wisp.Tensor) -> wisp.Tensor:
            self.stage = self.other
            return self.stage(x)

    with pytest.raises(RuntimeError, match="SetAttr on an interface type"):
        wisp.jit.freeze(wisp.jit.script(Switching().eval()))
