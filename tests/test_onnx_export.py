"""Exporting models: files, names, sizes, errors."""

import contextlib
import io

import pytest

onnx = pytest.importorskip("onnx")

import wisp
from tests.onnx_exports import check, export_and_check
from wisp import nn
from wisp.onnx._export.lowerings import LOWERINGS

R = wisp.randn


def three_layers():
    return nn.Sequential(nn.Linear(10, 6), nn.ReLU(), nn.Linear(6, 3))


def kinds(model):
    return [node.op_type for node in model.graph.node]


def sizes(info):
    return [dim.dim_param or dim.dim_value for dim in info.type.tensor_type.shape.dim]


def test_three_layers(tmp_path):
    model, x = three_layers(), R(4, 10)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        wisp.onnx.export(model, x, tmp_path / "model.onnx", verbose=True)
    exported = onnx.load(tmp_path / "model.onnx")
    assert kinds(exported) == ["Gemm", "Relu", "Gemm"]
    assert [t.name for t in exported.graph.initializer] == ["0.weight", "0.bias", "2.weight", "2.bias"]
    assert "onnx::Gemm[alpha=1, beta=1, transB=1](%input, %0.weight, %0.bias)" in said.getvalue()
    assert "%output : Float(input_dim_0, 3)" in said.getvalue()
    check(exported, model, (x,))


def test_names_and_sizes():
    options = {"input_names": ["x"], "output_names": ["y"], "dynamic_axes": {"x": {0: "batch"}, "y": {0: "batch"}}}
    model = export_and_check(three_layers(), R(4, 10), others=[(R(7, 10),), (R(1, 10),)], **options)
    assert [i.name for i in model.graph.input] == ["x"]
    assert [o.name for o in model.graph.output] == ["y"]
    assert sizes(model.graph.input[0]) == ["batch", 10]
    assert sizes(model.graph.output[0]) == ["batch", 3]


def test_axes_without_names():
    model = wisp.onnx.export(three_layers(), R(4, 10), dynamic_axes={"input": [0]})
    assert sizes(model.graph.input[0]) == ["input_dynamic_axes_1", 10]


@pytest.mark.parametrize("shapes", [{"input": {0: "n"}}, ({0: "n"},), {"input": ("n", None)}])
def test_dynamic_shapes(shapes):
    model = export_and_check(three_layers(), R(4, 10), others=[(R(2, 10),)], dynamic_shapes=shapes)
    assert sizes(model.graph.input[0]) == ["n", 10]


@pytest.mark.parametrize(
    "options",
    [
        {"input_names": ["a", "b"]},
        {"output_names": ["a", "b"]},
        {"output_names": ["input"]},
        {"dynamic_axes": {"input": [2]}},
        {"dynamic_shapes": {"other": {0: "n"}}},
        {"opset_version": 12},
        {"opset_version": 999},
    ],
)
def test_wrong_options(options):
    with pytest.raises((ValueError, RuntimeError)):
        wisp.onnx.export(three_layers(), R(4, 10), **options)


@pytest.mark.parametrize("opset", [13, 14, 16, 17, 18, 20, 21, 23])
def test_versions(opset):
    model = nn.Sequential(nn.Linear(6, 6), nn.LayerNorm(6), nn.GELU(), nn.Softmax(-1), nn.Mish())
    exported = export_and_check(model, R(4, 6), opset_version=opset)
    assert exported.opset_import[0].version == opset


class Unsupported(nn.Module):
    def forward(self, x):
        y = wisp.linalg.eigvals(x).abs()
        return wisp.tensor_split(x, wisp.tensor(2) + x.numel()), wisp.linalg.eigvals(x).abs() + y


def test_all_unsupported_operators_are_named(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(b"as it was")
    with pytest.raises(wisp.onnx.UnsupportedOperatorError) as caught:
        wisp.onnx.export(Unsupported(), R(9, 9), path)
    assert {name for name, _, _ in caught.value.operators} == {"aten::_linalg_eig", "aten::tensor_split.tensor"}
    assert str(caught.value).count("test_onnx_export.py:") >= 2
    assert path.read_bytes() == b"as it was"
    assert [p.name for p in tmp_path.iterdir()] == ["model.onnx"]


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(RuntimeError, match=r"Parent directory \S*/absent does not exist"):
        wisp.onnx.export(nn.Linear(2, 2), wisp.ones(1, 2), tmp_path / "absent" / "model.onnx")


def test_files(tmp_path):
    model, x, buffer = three_layers(), R(4, 10), io.BytesIO()
    wisp.onnx.export(model, x, buffer)
    wisp.onnx.export(model, x, str(tmp_path / "apart.onnx"), external_data=True)
    want = model(x)
    wisp.testing.assert_close(wisp.onnx.load(buffer.getvalue())(x), want)
    wisp.testing.assert_close(wisp.onnx.load(tmp_path / "apart.onnx")(x), want)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["apart.onnx", "apart.onnx.data"]
    assert (tmp_path / "apart.onnx").stat().st_size < 1000


def test_parameters_as_inputs():
    model = wisp.onnx.export(three_layers(), R(4, 10), export_params=False)
    assert [i.name for i in model.graph.input] == ["input", "0.weight", "0.bias", "2.weight", "2.bias"]
    assert not model.graph.initializer


def test_a_loaded_export_trains():
    model, x = three_layers(), R(8, 10)
    loaded = wisp.onnx.load(wisp.onnx.export(model, x))
    optimizer = wisp.optim.SGD(loaded.parameters(), 0.1)
    losses = []
    for _ in range(20):
        loss = loaded(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2


class Doubled(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.second = nn.Linear(3, 3)
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.second(self.first(x)), x, x


def test_shared_parameters_and_inputs_as_results():
    model = export_and_check(Doubled(), R(2, 3))
    assert [t.name for t in model.graph.initializer] == ["first.weight", "first.bias", "second.bias"]


class Mode(nn.Module):
    def forward(self, x):
        exporting.append((wisp.onnx.is_in_onnx_export(), self.training))
        return nn.functional.dropout(x, 0.5, self.training)


exporting = []


def test_modes():
    model, mode = Mode(), wisp.onnx.TrainingMode
    assert kinds(wisp.onnx.export(model, R(3), dynamic_axes={})) == ["Identity"]
    assert kinds(wisp.onnx.export(model, R(3), training=mode.TRAINING, dynamic_axes={})) == ["Dropout"]
    assert kinds(wisp.onnx.export(model, R(3), training=mode.PRESERVE, dynamic_axes={})) == ["Dropout"]
    assert model.training
    assert not wisp.onnx.is_in_onnx_export()
    assert exporting == [(True, False), (True, True), (True, True)]


class Structures(nn.Module):
    def forward(self, x, pair, factor=2.0, *, more=None):
        return {"sum": x + pair[0], "rest": (pair[1]["z"] * factor, x if more is None else more)}


def test_structures_of_arguments():
    args = R(2), (R(2), {"z": R(2)}), 3.0
    model = export_and_check(Structures(), *args, kwargs={"more": R(5)})
    assert [i.name for i in model.graph.input] == ["x", "pair.0", "pair.1.z", "more"]
    assert [o.name for o in model.graph.output] == ["output_0", "output_1", "output_2"]
    same = wisp.onnx.export(Structures(), (*args, {"more": R(5)}))
    assert len(same.graph.input) == 4


def test_functions():
    export_and_check(lambda x, y: wisp.tanh(x @ y), R(2, 3), R(3, 4))


class Shapes(nn.Module):
    def forward(self, x):
        batch = x.size(0)
        y = x.view(batch, -1).unsqueeze(1).expand(batch, 3, x.shape[1] * x.shape[2])
        return y.transpose(0, 1).reshape(3 * batch, -1) + wisp.zeros(3 * batch, 1) + wisp.arange(batch).sum()


def test_sizes_stay_computed():
    export_and_check(Shapes(), R(2, 3, 4), dynamic_axes={"x": [0, 1]}, others=[(R(5, 2, 4),)])


class Writes(nn.Module):
    def forward(self, x):
        y = x * 1
        y[:, 0] = 5
        y[0].add_(2)
        z = y.view(-1)
        y.relu_()
        z[1:3] += 1
        y.t()[1].mul_(3)
        return y, z


def test_writes_are_seen_through_views():
    export_and_check(Writes(), R(3, 4))
    export_and_check(Writes(), R(3, 4), dynamic_axes={"x": [0]}, others=[(R(6, 4),)])


def test_writes_that_cannot_be_followed():
    def moved(x):
        y = x * 1
        y.movedim(0, 1).zero_()
        return y

    with pytest.raises(wisp.onnx.UnsupportedOperatorError, match="view"):
        wisp.onnx.export(moved, R(3, 3))


def test_writes_into_diagonals():
    def diagonals(x):
        y = x * 1
        y.diagonal(1, 1, 2).zero_()
        y[0].diagonal().add_(3)
        return y, y.fill_diagonal_(5) if y.shape[0] == y.shape[1] == y.shape[2] else y

    export_and_check(diagonals, R(2, 3, 4))
    export_and_check(diagonals, R(3, 3, 3))


def test_strides_of_what_lies_in_order():
    def halves(x):
        return x.as_strided((2, 2), (4, 1)), (x + 1).contiguous().as_strided((3,), (2,), 1)

    export_and_check(halves, R(2, 4))
    with pytest.raises(wisp.onnx.UnsupportedOperatorError, match="strides"):
        wisp.onnx.export(lambda x: (x + 1).as_strided((3,), (2,)), R(2, 4))
    with pytest.raises(wisp.onnx.UnsupportedOperatorError, match="strides"):
        wisp.onnx.export(lambda x: x.as_strided((3,), (2,)), R(4, 2).t())


def test_what_is_known_is_computed():
    def positions(x):
        return x + wisp.arange(3) * 2.0

    assert kinds(wisp.onnx.export(positions, R(2, 3))) == ["Add"]
    assert kinds(export_and_check(positions, R(2, 3), do_constant_folding=False)) == ["Mul", "Add"]


def test_composites_do_not_depend_on_values(monkeypatch):
    monkeypatch.delitem(LOWERINGS, "bincount")
    with pytest.raises(wisp.onnx.UnsupportedOperatorError, match="taken apart"):
        wisp.onnx.export(wisp.bincount, wisp.tensor([1, 2, 5]))
