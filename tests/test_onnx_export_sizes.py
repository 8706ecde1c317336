"""Exporting models for other sizes than those of the example."""

import pytest

onnx = pytest.importorskip("onnx")

import wisp
from tests.onnx_exports import export_and_check, size_names
from wisp import nn

R = wisp.randn


def kinds(model):
    return [node.op_type for node in model.graph.node]


def output_names(model):
    return [[dim.dim_param or dim.dim_value for dim in info.type.tensor_type.shape.dim] for info in model.graph.output]


def test_sizes_have_names_where_the_graph_allows():
    model = export_and_check(nn.Sequential(nn.Linear(10, 6), nn.ReLU(), nn.Linear(6, 3)), R(4, 10))
    assert size_names(model) == [["input_dim_0", ""]]
    assert output_names(model) == [["input_dim_0", 3]]
    assert kinds(model) == ["Gemm", "Relu", "Gemm"]


@pytest.mark.parametrize("fixed", [{"dynamic_axes": {}}, {"dynamic_shapes": {}}])
def test_fixed_sizes_can_be_asked_for(fixed):
    model = wisp.onnx.export(nn.Linear(10, 6), R(4, 10), **fixed)
    assert size_names(model) == [["", ""]]
    assert output_names(model) == [[4, 6]]


def test_images_of_any_size():
    body = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.MaxPool2d(2), nn.Upsample(scale_factor=2))
    model = export_and_check(body, R(1, 3, 8, 8), others=[(R(2, 3, 12, 6),)])
    assert size_names(model) == [["input_dim_0", "", "input_dim_2", "input_dim_3"]]
    assert kinds(model) == ["Conv", "BatchNormalization", "MaxPool", "Resize"]


@pytest.mark.parametrize(
    "flattened",
    [lambda x: x.view(x.size(0), -1), lambda x: x.flatten(1), lambda x: x.reshape(x.shape[0], x.shape[1] * 4)],
)
def test_flattening_is_one_node(flattened):
    model = export_and_check(flattened, R(2, 3, 4))
    assert len(model.graph.node) <= 4
    fixed = export_and_check(lambda x: flattened(x).view(x.size(0), 3, 4), R(2, 3, 4))
    assert "x_dim_0" in size_names(fixed)[0]


def heads(x):
    return x.view(x.size(0), x.size(1), 2, 4).transpose(1, 2) * 2


def test_sizes_that_stay_in_their_place_are_not_computed():
    model = export_and_check(heads, R(2, 5, 8))
    assert kinds(model) == ["Reshape", "Transpose", "Mul"]
    assert size_names(model) == [["x_dim_0", "x_dim_1", ""]]


def test_equal_sizes_of_inputs_get_one_name():
    model = export_and_check(lambda x, y, z: wisp.cat([x, y], 1) @ z, R(4, 2), R(4, 3), R(5, 7))
    assert size_names(model) == [["x_dim_0", ""], ["x_dim_0", ""], ["", "z_dim_1"]]
    masked = export_and_check(lambda x, mask: x.softmax(-1).matmul(mask).matmul(x), R(3, 5, 5), R(5, 5))
    assert size_names(masked) == [["x_dim_0", "x_dim_1", "x_dim_2"], ["x_dim_2", "x_dim_1"]]


def test_sizes_that_python_has_looked_at_are_fixed():
    def scaled(x):
        return x * len(x)

    def cut(x):
        return x[:2] if x.size(0) > 2 else x

    def rows(x):
        return sum(row.sum() for row in x)

    for function, sizes in ((scaled, (4, 3)), (cut, (4, 3)), (rows, (4, 3))):
        model = export_and_check(function, R(sizes))
        assert size_names(model) == [["", "x_dim_1"]], function


def test_sizes_that_a_rule_has_to_know_are_fixed():
    model = export_and_check(nn.AdaptiveAvgPool2d((4, 3)), R(2, 3, 6, 8))
    assert size_names(model) == [["input_dim_0", "input_dim_1", "", ""]]


@wisp.jit.script
def summed(x: wisp.Tensor):
    total = wisp.zeros(x.size(1))
    for i in range(x.size(0)):
        total = total + x[i]
    return total


def test_compiled_functions_take_any_size():
    assert size_names(export_and_check(summed, R(3, 2))) == [["x_dim_0", "x_dim_1"]]


def after_export(**options):
    """Buffers of a model and the next random number, once it was exported in training mode."""
    wisp.manual_seed(3)
    model = nn.Sequential(nn.BatchNorm1d(3), nn.Dropout())
    wisp.onnx.export(model, R(4, 3), training=wisp.onnx.TrainingMode.TRAINING, **options)
    return [*model.buffers(), wisp.rand(1)]


def test_other_sizes_leave_no_traces():
    for one, other in zip(after_export(), after_export(dynamic_axes={}), strict=True):
        assert wisp.equal(one, other)


def test_sizes_that_fit_by_chance():
    def product(x):
        return (x[..., :3] @ x[..., :3, :]).reshape(x.shape[0], -1)

    model = export_and_check(product, wisp.randn(2, 5, 6))
    assert size_names(model)[0][0]


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(20, 8)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0), 2)

    def forward(self, ids, mask):
        return self.encoder(self.words(ids), src_key_padding_mask=mask == 0)


def test_an_encoder_with_padding_takes_any_length():
    def inputs(batch, length, ends):
        places = wisp.arange(length)
        return wisp.randint(0, 20, (batch, length)), (places < ends).long().expand(batch, length).contiguous()

    broken = wisp.tensor([[1, 0, 1, 1, 0]])  # padding that is not at the end is computed for, as in eager mode
    others = [inputs(3, 9, 5), (wisp.randint(0, 20, (1, 5)), broken)]
    model = export_and_check(Classifier().eval(), *inputs(2, 7, 4), others=others)
    assert size_names(model) == [["ids_dim_0", "ids_dim_1"]] * 2


@pytest.mark.parametrize("corners", [False, True])
def test_sampling_by_matrices_takes_any_batch(corners):
    def sampled(x, theta):
        grid = nn.functional.affine_grid(theta, [x.size(0), x.size(1), 3, 5], align_corners=corners)
        return nn.functional.grid_sample(x, grid, align_corners=corners)

    model = export_and_check(sampled, R(2, 3, 6, 7), R(2, 2, 3) / 2, others=[(R(4, 3, 5, 8), R(4, 2, 3) / 2)])
    assert size_names(model) == [["x_dim_0", "x_dim_1", "x_dim_2", "x_dim_3"], ["x_dim_0", "", ""]]


def test_a_grid_of_the_size_of_an_image():
    def sampled(x, theta):
        return nn.functional.grid_sample(
            x, nn.functional.affine_grid(theta, x.shape, align_corners=False), align_corners=False
        )

    model = export_and_check(sampled, R(2, 3, 6, 7), R(2, 2, 3) / 2, others=[(R(4, 3, 5, 8), R(4, 2, 3) / 2)])
    assert "AffineGrid" in kinds(model)
