"""Exporting compiled programs: branches and loops."""

import pytest

onnx = pytest.importorskip("onnx")

import wisp
from tests.onnx_exports import export_and_check
from wisp import Tensor, nn

R = wisp.randn
ANY_ROWS = {"dynamic_axes": {"x": {0: "rows"}}}


def kinds(model):
    return [node.op_type for node in model.graph.node]


@wisp.jit.script
def branches(x: Tensor):
    if x.sum() > 0:
        y = x + 1
        n = 2
    else:
        y = x - 1
        n = x.size(0)
    return y * n


def test_branches():
    up, down = R(3, 2).abs(), -R(5, 2).abs()
    model = export_and_check(branches, up, others=[(down,)], **ANY_ROWS)
    assert "If" in kinds(model)


@wisp.jit.script
def counted(x: Tensor, n: int = 3):
    for i in range(n):
        x = x * 2 + i
    return x


@wisp.jit.script
def until(x: Tensor):
    rounds = 0
    while bool(x.sum() < 100):
        x = x * 2 + 1
        rounds += 1
    return x, rounds


@wisp.jit.script
def growing(x: Tensor):
    y = x
    for _ in range(x.size(0)):
        y = wisp.cat([y, x])
    return y


@pytest.mark.parametrize("function", [counted, until, growing])
def test_loops(function):
    model = export_and_check(function, R(3, 2).abs(), others=[(R(5, 2).abs(),)], **ANY_ROWS)
    assert "Loop" in kinds(model)


@wisp.jit.script
def left_early(x: Tensor):
    for i in range(10):
        if float(x.max()) > 20.0:
            return x - i
        x = x * 2
    return x + 100


@wisp.jit.script
def found(x: Tensor):
    for i in range(x.size(0)):
        if bool(x[i].sum() > 1):
            return i
    return -1


@pytest.mark.parametrize("function", [left_early, found])
def test_returns_from_inside_of_loops(function):
    others = [(wisp.zeros(2, 2),), (wisp.full((4, 2), 30.0),), (wisp.eye(2) * 3,)]
    assert "Loop" in kinds(export_and_check(function, wisp.ones(3, 2), others=others, **ANY_ROWS))


@wisp.jit.script
def one_by_one(x: Tensor):
    rows = []
    for i in range(x.size(0)):
        rows.insert(0, x[i].cumsum(0))
    return wisp.stack(rows)


def test_sizes_that_cannot_be_open_stay_fixed():
    model = export_and_check(one_by_one, R(3, 2))
    sizes = model.graph.input[0].type.tensor_type.shape.dim
    assert sizes[0].dim_value == 3


@wisp.jit.script
def collected(x: Tensor):
    rows = []
    for i in range(3):
        rows.append(x[i] * i)
    out = wisp.zeros(3)
    for i in range(3):
        out[i] = x[i].sum()
    return wisp.stack(rows), out


def test_loops_that_change_lists_are_unrolled():
    assert "Loop" not in kinds(export_and_check(collected, R(4, 2)))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(3, 4)
        self.limit = 5

    def forward(self, x):
        h = wisp.zeros(x.size(1), 4)
        for t in range(x.size(0)):
            h = self.cell(x[t], h)
            if h.abs().sum() > self.limit:
                h = h / 2
        return h


def test_recurrence():
    model = export_and_check(
        wisp.jit.script(Recurrent()), R(4, 2, 3), dynamic_axes={"x": [0, 1]}, others=[(R(6, 5, 3),), (R(1, 1, 3),)]
    )
    assert "Loop" in kinds(model)
    assert {t.name for t in model.graph.initializer} >= {"cell.weight_ih", "cell.bias_hh"}


class Checked(nn.Module):
    def forward(self, x, mask: Tensor | None = None):
        assert x.dim() == 2, "two dimensions"
        return x if mask is None else x.masked_fill(mask, 0.0)


def test_options_and_assertions():
    assert kinds(export_and_check(wisp.jit.script(Checked()), R(2, 2))) == ["Identity"]
    model = wisp.jit.script(Checked())
    assert kinds(export_and_check(model, R(2, 2), wisp.tensor([[True, False], [False, False]]))) == ["Where"]


def test_traced_modules():
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(72, 2)).eval()
    traced = wisp.jit.trace(model, R(1, 1, 8, 8))
    export_and_check(traced, R(2, 1, 8, 8), dynamic_axes={"input": [0]}, others=[(R(3, 1, 8, 8),)])


def test_arguments_are_checked():
    with pytest.raises(RuntimeError, match="missing value for argument 'x'"):
        wisp.onnx.export(counted, ())
    with pytest.raises(TypeError):
        wisp.onnx.export(counted, (R(2), 3, 4))


@wisp.jit.script
def unequal(x: Tensor):
    total = x
    for _ in range(x.size(0)):
        total = total.unsqueeze(0)
    return total


def test_ranks_that_change_in_loops():
    with pytest.raises(wisp.onnx.UnsupportedOperatorError):
        wisp.onnx.export(unequal, R(3), dynamic_axes={"x": [0]})


class Frozen(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Conv2d(3, 4, 3), nn.Conv2d(3, 4, 3)

    def forward(self, x):
        return wisp.cat([self.left(x).relu().tanh(), self.right(x).sigmoid().neg()], 1)


def test_frozen_modules():
    """Their graphs hold groups, which ONNX has no need of."""
    frozen = wisp.jit.freeze(wisp.jit.script(Frozen().eval()))
    assert "prim::Parallel" in str(frozen.graph) and "prim::FusionGroup" in str(frozen.graph)
    model = export_and_check(frozen, R(1, 3, 6, 6))
    assert kinds(model).count("Conv") == 2 and "If" not in kinds(model)
