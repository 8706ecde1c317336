"""Exporting compiled modules that set their attributes, and lists of compiled programs."""

import pytest

onnx = pytest.importorskip("onnx")

import copy

import wisp
from tests.onnx_exports import check, export_and_check, size_names
from wisp import Tensor, nn

R = wisp.randn


class Straight(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", wisp.ones(3))
        self.calls = 1

    def forward(self, x):
        self.seen = self.seen + x
        self.calls += 1
        return self.seen * self.calls


class Branching(Straight):
    def forward(self, x):
        if x.sum() > 0:
            self.seen = self.seen * x
            self.calls = 5
        return self.seen * self.calls


class Looping(Straight):
    def forward(self, x):
        for i in range(x.size(0)):
            self.seen = self.seen + x[i]
            if i > 1:
                self.calls += i
        return self.seen * self.calls


class Holding(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Straight()

    def forward(self, x):
        self.inner.seen = x * 2
        self.inner.seen += 1
        return self.inner(x), self.inner.seen, self.inner.calls


@pytest.mark.parametrize("kind", [Straight, Branching, Looping, Holding])
def test_attributes_that_are_set(kind):
    scripted = wisp.jit.script(kind().eval())
    state = {name: value.clone() for name, value in scripted.state_dict().items()}
    exported = wisp.onnx.export(scripted, R(2, 3))
    assert all(wisp.equal(value, state[name]) for name, value in scripted.state_dict().items())
    for x in (R(2, 3), R(5, 3).abs(), -R(1, 3).abs()):
        if size_names(exported)[0][0] or x.size(0) == 2:
            check(exported, copy.deepcopy(scripted), (x,))


@pytest.mark.parametrize("cell", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("settings", [{}, {"bias": False, "bidirectional": True, "num_layers": 2}])
def test_compiled_recurrent_layers(cell, settings):
    model = export_and_check(wisp.jit.script(cell(3, 4, **settings)), R(5, 2, 3), others=[(R(2, 3, 3),)])
    assert all(size_names(model)[0][:2])


@wisp.jit.script
def same_sizes(x: Tensor, y: Tensor):
    if x.size() != y.size() or [x.size(0), 3] == [y.size(0), 2]:
        return x.sum() + y.sum()
    return (x * y).sum()


def test_sizes_are_compared():
    axes = {"dynamic_axes": {"x": [0], "y": [0]}}
    export_and_check(same_sizes, R(2, 3), R(2, 3), others=[(R(4, 3), R(4, 3)), (R(1, 3), R(4, 3))], **axes)


@wisp.jit.script
def of_numbers(x: Tensor):
    return wisp.tensor([x.size(0), 2, 3]) & wisp.tensor([[1, x.size(1), 3], [4, 5, 6]])


@wisp.jit.script
def shortened(x: Tensor):
    rows = []
    for i in range(x.size(0)):
        rows.append(x[i])
    del rows[1]
    return rows


@wisp.jit.script
def early(x: Tensor):
    if x[0].size(0) < 5:
        if x.size(0) == 1:
            x = x + 4
        else:
            return [x]
    return [x * 2]


@pytest.mark.parametrize("function", [of_numbers, shortened, early])
def test_lists(function):
    export_and_check(function, R(3, 4))


def test_lists_that_are_defined_in_one_branch():
    export_and_check(early, R(3, 4), others=[(R(1, 4),), (R(2, 6),)], dynamic_axes={"x": [0, 1]})


# --- lists that grow as often as a size says


class ByHand(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.RNNCell(2, 3)

    def forward(self, x):
        h = wisp.zeros(1, 3)
        states = []
        for i in range(x.size(0)):
            h = self.cell(x[i : i + 1], h)
            states.append(h)
        return wisp.cat(states), states[-1] * len(states), wisp.stack(states, 1)


def test_recurrence_by_hand():
    model = export_and_check(wisp.jit.script(ByHand()), R(3, 2), others=[(R(5, 2),), (R(1, 2),)])
    assert size_names(model) == [["x_dim_0", ""]]
    assert "ConcatFromSequence" in [node.op_type for node in model.graph.node]


@wisp.jit.script
def rows_of_rows(x: Tensor):
    rows = [x[0]]
    for i in range(x.size(0)):
        for j in range(x.size(1)):
            rows.append(x[i] + j)
        rows.append(x[i])
    total = x[0]
    for row in rows:
        total = total + row
    return wisp.stack(rows, 1), total


@wisp.jit.script
def of_other_lengths(x: Tensor):
    parts = []
    for i in range(x.size(0)):
        parts.append(x[i:])
    return wisp.cat(parts)


@pytest.mark.parametrize("function", [rows_of_rows, of_other_lengths])
def test_lists_that_grow(function):
    export_and_check(function, R(3, 2), others=[(R(5, 2),), (R(1, 2),)], dynamic_axes={"x": [0]})


@wisp.jit.script
def part(x: Tensor, n: Tensor):
    begin = int(n)
    found = x[begin : begin + 2]
    return found.sum(0), wisp.zeros(found.size(0), found.dim())


def test_numbers_that_differ_are_not_taken_for_equal():
    others = [(R(5, 2), wisp.tensor(3)), (R(5, 2), wisp.tensor(4))]
    export_and_check(part, R(5, 2), wisp.tensor(1), others=others, dynamic_axes={})


def test_what_a_list_cannot_be():
    @wisp.jit.script
    def cut(x: Tensor):
        return x.new_zeros(x.shape[: x.size(0)])

    with pytest.raises(wisp.onnx.UnsupportedOperatorError, match="part that is taken of a list"):
        wisp.onnx.export(cut, R(2, 3), dynamic_axes={"x": [0]})


@wisp.jit.script
def chosen(x: Tensor):
    rows = [x[0]]
    for i in range(x.size(0)):
        if x[i].sum() > 0:
            rows.append(x[i])
        else:
            rows.append(x[i] + 1)
            rows.append(x[i] + 2)
    return wisp.stack(rows)


@wisp.jit.script
def one_more(x: Tensor):
    parts = [x]
    if x.sum() > 0:
        parts.append(x * 2)
    return wisp.cat(parts), len(parts)


@pytest.mark.parametrize("function", [chosen, one_more])
def test_lists_that_grow_in_branches(function):
    others = [(-R(4, 2).abs(),), (R(1, 2).abs(),), (R(6, 2),)]
    export_and_check(function, R(3, 2), others=others, dynamic_axes={"x": [0]})


@wisp.jit.script
def doubled(x: Tensor):
    rows = []
    for i in range(x.size(0)):
        rows.append(x[i] * 2)
    return rows, x + 1


def test_lists_as_results():
    """They are as long as on the example, unless other sizes are asked for: then the result is a sequence."""
    assert len(export_and_check(doubled, R(3, 2)).graph.output) == 4
    model = wisp.onnx.export(doubled, (R(3, 2),), dynamic_axes={"x": [0]})
    assert [value.type.WhichOneof("value") for value in model.graph.output] == ["sequence_type", "tensor_type"]
    x = R(5, 2)
    rows, _ = wisp.onnx.load(model)(x)
    assert wisp.equal(wisp.stack(rows), x * 2)
    with pytest.raises(wisp.onnx.UnsupportedOperatorError, match="opset_version 14"):
        wisp.onnx.export(doubled, (R(3, 2),), dynamic_axes={"x": [0]}, opset_version=13)


@wisp.jit.script
def picked(x: Tensor, n: Tensor):
    tensors, numbers = [x, x[:1] + 1, x[1:] + 2], [2, x.size(0), 5]
    return tensors[int(n)] * numbers[int(n)]


def test_indices_that_are_computed():
    others = [(R(4, 2), wisp.tensor(2)), (R(2, 2), wisp.tensor(-1))]
    export_and_check(picked, R(3, 2), wisp.tensor(1), others=others, dynamic_axes={"x": [0]})


@wisp.jit.script
def handed_on(x: Tensor):
    rows: list[Tensor] = []
    n = 0
    while n < x.size(1):
        for i in range(x.size(0)):
            rows.append(x[i])
        rows = rows + [x[0]]
        n += 1
    return wisp.stack(rows)


def test_lists_that_loops_hand_on():
    with pytest.raises(wisp.onnx.UnsupportedOperatorError, match="length of a list"):
        wisp.onnx.export(handed_on, R(3, 2), dynamic_axes={"x": [0]})


@wisp.jit.script
def filled_up(x: Tensor):
    rows: list[Tensor] = []
    n = 0
    while bool(x.sum() + n < 5):
        for i in range(2):
            rows.append(x[i])
        rows = rows[1:]
        n += 1
    return wisp.stack(rows)


def test_lists_of_loops_that_end_depending_on_what_is_computed():
    with pytest.raises(wisp.onnx.UnsupportedOperatorError, match="list"):
        wisp.onnx.export(filled_up, wisp.zeros(3, 2), dynamic_axes={})


@wisp.jit.script
def taken_apart(x: Tensor):
    total = x[0]
    for row in x.unbind():
        total = total + row
    pieces = x.split(2)
    return total, len(x.unbind(0)), pieces[-1], wisp.cat(pieces)


def test_parts_of_any_number():
    export_and_check(taken_apart, R(3, 2), others=[(R(4, 2),), (R(1, 2),)], dynamic_axes={"x": [0]})


@wisp.jit.script
def written_afterwards(x: Tensor):
    rows = x.unbind()
    x.mul_(2)
    return wisp.stack(rows)


def test_parts_are_views():
    with pytest.raises(wisp.onnx.UnsupportedOperatorError, match="views that ONNX cannot follow"):
        wisp.onnx.export(written_afterwards, R(3, 2), dynamic_axes={"x": [0]})


def test_models_without_results():
    with pytest.raises(wisp.onnx.UnsupportedOperatorError, match="returns no tensor"):
        wisp.onnx.export(lambda x: (), R(3, 2))
