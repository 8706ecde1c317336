"""Models of ONNX files as modules: their parameters, inputs and outputs, training, copies."""

import copy
import io
import pickle

import pytest

from tests import fresh

onnx = pytest.importorskip("onnx")

import numpy as np
from onnx import TensorProto, helper

import wisp
import wisp.onnx
from tests.onnx_models import floats, info, model, node, perceptron, tensor

# --- modules


def test_parameters_have_the_names_of_the_file():
    module = wisp.onnx.load(perceptron())
    shapes = {name: tuple(p.shape) for name, p in module.named_parameters()}
    assert shapes == {"fc1.weight": (8, 4), "fc1.bias": (8,), "fc2.weight": (1, 8), "fc2.bias": (1,)}
    assert all(p.requires_grad for p in module.parameters())
    assert isinstance(module, wisp.nn.Module) and not module.training


def test_values_agree_with_the_same_network_of_modules():
    module = wisp.onnx.load(perceptron())
    names = ("fc1", "relu", "fc2")
    net = wisp.nn.Sequential()
    for name, layer in zip(names, (wisp.nn.Linear(4, 8), wisp.nn.ReLU(), wisp.nn.Linear(8, 1))):
        net.add_module(name, layer)
    net.load_state_dict(module.state_dict())
    x = wisp.randn(5, 4)
    assert wisp.allclose(module(x), net(x))
    net.fc1.weight.data.zero_()
    module.load_state_dict(net.state_dict())
    assert wisp.equal(module(x), net(x))


def test_training_lowers_the_loss():
    wisp.manual_seed(0)
    module = wisp.onnx.load(perceptron()).train()
    x = wisp.randn(64, 4)
    target = x.sum(1, keepdim=True)
    optimizer = wisp.optim.Adam(module.parameters(), lr=0.02)
    losses = []
    for _ in range(60):
        loss = wisp.nn.functional.mse_loss(module(x), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 20


def test_gradients_agree_with_differences():
    module = wisp.onnx.load(perceptron()).double()
    x = wisp.randn(3, 4, dtype=wisp.float64, requires_grad=True)
    assert wisp.autograd.gradcheck(lambda x, *p: module(x), (x, *module.parameters()))


def test_integers_are_buffers_and_statistics_are_not_trained():
    weights = [
        tensor("scale", [1, 2]), tensor("bias", [0, 0]), tensor("mean", [0.5, 0]), tensor("var", [1, 4]),
        tensor("shape", [-1, 2], np.int64), tensor("low", 0.0), tensor("unused", [1.0]),
    ]  # fmt: skip
    nodes = [
        node("Reshape", "x shape", "r"),
        node("BatchNormalization", "r scale bias mean var", "n", epsilon=0.0),
        node("Clip", "n low", "y"),
    ]
    module = wisp.onnx.load(model(nodes, [floats("x", 4)], ["y"], weights))
    assert {n for n, _ in module.named_parameters()} == {"scale", "bias", "unused"}
    assert {n for n, _ in module.named_buffers()} == {"mean", "var", "shape", "low"}
    assert module(wisp.tensor([1.5, 2.0, 0.0, -2.0])).tolist() == [[1.0, 2.0], [0.0, 0.0]]


def test_names_that_a_module_cannot_have():
    names = ["a.b", "a", "", "forward", "graph", "x..y", "conv/w:0", "a.b.c"]
    weights = [tensor(name, [float(i)]) for i, name in enumerate(names)]
    weights[2].name = "empty"
    uses = [w.name for w in weights]
    module = wisp.onnx.load(model([helper.make_node("Sum", uses, ["y"])], [], ["y"], weights))
    assert module().item() == sum(range(len(names)))
    assert len(dict(module.named_parameters())) == len(names)
    assert {"a.b", "forward_", "graph_", "conv/w:0"} <= set(module.state_dict())


# --- calling


def sum_model(**settings):
    nodes = [node("Add", "a b", "c"), node("Sub", "a b", "d")]
    return model(nodes, [floats("a", 2), floats("b", 2)], ["c", "d"], **settings)


def test_inputs_in_order_and_by_name():
    module = wisp.onnx.load(sum_model())
    assert module.input_names == ["a", "b"] and module.output_names == ["c", "d"]
    a, b = wisp.tensor([1.0, 2.0]), wisp.tensor([10.0, 20.0])
    for outputs in (module(a, b), module(a, b=b), module(b=b, a=a), module([1.0, 2.0], b.numpy())):
        assert isinstance(outputs, tuple)
        assert [o.tolist() for o in outputs] == [[11.0, 22.0], [-9.0, -18.0]]


@pytest.mark.parametrize(
    ("args", "kwargs", "words"),
    [
        (["a"], {}, "needs the input 'b'"),
        (["a", "b", "a"], {}, "has 2 inputs, but 3"),
        (["a", "b"], {"a": "a"}, "'a' is given twice"),
        (["a", "b"], {"c": "a"}, "'c' is unknown"),
    ],
)
def test_wrong_inputs(args, kwargs, words):
    value = wisp.ones(2)
    with pytest.raises(TypeError, match=words):
        wisp.onnx.load(sum_model())(*[value for _ in args], **dict.fromkeys(kwargs, value))


def test_inputs_of_the_wrong_kind():
    module = wisp.onnx.load(sum_model())
    with pytest.raises(TypeError, match="'b' has elements of type float, but int64"):
        module(wisp.ones(2), wisp.ones(2, dtype=wisp.int64))
    with pytest.raises(ValueError, match="'b' has 2 dimensions instead of 1"):
        module(wisp.ones(2), wisp.ones(2, 2))
    with pytest.raises(RuntimeError, match=r"Add node of \['c'\]: RuntimeError"):
        module(wisp.ones(2), wisp.ones(3))
    assert module(wisp.ones(2).double(), wisp.ones(2).double())[0].dtype == wisp.float64


@pytest.mark.parametrize("ir_version", [3, 8])
def test_initializers_are_defaults_of_inputs(ir_version):
    module = wisp.onnx.load(sum_model(initializers=[tensor("b", [5, 6])], ir_version=ir_version))
    a = wisp.zeros(2)
    assert module.input_names == ["a"]
    assert module(a)[0].tolist() == [5.0, 6.0]
    assert module(a, b=wisp.ones(2))[0].tolist() == [1.0, 1.0]
    assert "b" in module.state_dict()


def test_files_from_before_versions_of_operators():
    old = model(
        [node("Add", "a b", "c", broadcast=1, axis=0)], [floats("a", 2, 3), floats("b", 2)], ["c"], ir_version=2
    )
    del old.opset_import[:]
    old.graph.node[0].attribute[0].type = 0  # such files may not say the types of attributes
    result = wisp.onnx.load(old)(wisp.zeros(2, 3), wisp.tensor([1.0, 2.0]))
    assert result.tolist() == [[1.0] * 3, [2.0] * 3]


def test_nodes_in_any_order():
    nodes = [node("Neg", "b", "c"), node("Neg", "a", "b"), node("Neg", "c", "d")]
    assert wisp.onnx.load(model(nodes, [floats("a")], ["d"]))(wisp.tensor(2.0)).item() == -2


@pytest.mark.parametrize(
    ("element", "values", "carrier"),
    [
        (TensorProto.UINT16, [1, 65535], wisp.int32), (TensorProto.UINT32, [1, 2**32 - 1], wisp.int64),
        (TensorProto.UINT64, [1, 2**63], wisp.int64), (TensorProto.INT4, [-8, 7], wisp.int8),
        (TensorProto.UINT4, [0, 15], wisp.uint8), (TensorProto.FLOAT8E4M3FN, [1.5, -448], wisp.float32),
        (TensorProto.BFLOAT16, [1.5, -3.0], wisp.bfloat16), (TensorProto.FLOAT16, [1.5, -3.0], wisp.float16),
        (TensorProto.DOUBLE, [1.5, -3.0], wisp.float64), (TensorProto.BOOL, [True, False], wisp.bool),
        (TensorProto.COMPLEX64, [1 + 2j, -1j], wisp.complex64),
    ],
)  # fmt: skip
def test_element_types(element, values, carrier):
    weight = helper.make_tensor("w", element, [2], values)
    made = model([node("Identity", "w", "y")], [], [info("y", element, [2])], [weight])
    result = wisp.onnx.load(made)()
    assert result.dtype == carrier
    assert [v % 2**64 if element == TensorProto.UINT64 else v for v in result.tolist()] == values
    array = wisp.onnx.backend.run_model(made, [])[0]
    assert array.dtype == helper.tensor_dtype_to_np_dtype(element)
    assert array.tolist() == values


def test_strings_are_arrays():
    words = helper.make_tensor("w", TensorProto.STRING, [2], [b"b", "é".encode()])
    module = wisp.onnx.load(
        model([node("Concat", "x w", "y", axis=0)], [info("x", TensorProto.STRING, [1])], ["y"], [words])
    )
    for given in (["z"], np.array(["z"]), np.array([b"z"], dtype=object)):
        assert module(given).tolist() == ["z", "b", "é"]


def test_sparse_initializers():
    values, places = tensor("w", [3.0, 4.0]), tensor("", [[0, 1], [1, 0]], np.int64)
    made = model([node("Identity", "w", "y")], [], ["y"])
    made.graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, [2, 2]))
    module = wisp.onnx.load(made)
    assert module().tolist() == [[0.0, 3.0], [4.0, 0.0]]
    assert [n for n, _ in module.named_parameters()] == ["w"]


# --- training and evaluation


def test_batch_normalisation_in_training_notes_statistics():
    weights = [tensor("s", [1, 1]), tensor("b", [0, 0]), tensor("mean", [0, 0]), tensor("var", [1, 1])]
    nodes = [node("BatchNormalization", "x s b mean var", "y", epsilon=0.0, momentum=0.75)]
    module = wisp.onnx.load(model(nodes, [floats("x", 4, 2)], ["y"], weights))
    x = wisp.tensor([[0.0, 2.0], [4.0, 2.0], [0.0, 4.0], [4.0, 4.0]])
    assert wisp.equal(module(x), x)
    assert module.train()(x).tolist() == [[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]]
    assert module.mean.tolist() == [0.5, 0.75] and module.var.tolist() == [1.75, 1.0]
    module.eval()
    assert wisp.allclose(module(x), (x - module.mean) / module.var.sqrt())


@pytest.mark.parametrize("opset", [7, 10, 13])
def test_dropout_drops_in_training(opset):
    module = wisp.onnx.load(model([node("Dropout", "x", "y")], [floats("x", 1000)], ["y"], opset=opset))
    x = wisp.ones(1000)
    assert wisp.equal(module(x), x)
    wisp.manual_seed(0)
    y = module.train()(x)
    assert set(y.tolist()) == {0.0, 2.0} and 400 < (y == 0).sum() < 600


def test_dropout_does_what_its_input_says():
    weights = [tensor("ratio", 0.25), tensor("mode", True, np.bool_)]
    nodes = [node("Dropout", "x ratio mode", "y mask", seed=3)]
    module = wisp.onnx.load(model(nodes, [floats("x", 400)], ["y", "mask"], weights))
    y, mask = module(wisp.ones(400))
    assert wisp.allclose(y, mask.float() / 0.75) and 250 < mask.sum() < 350
    assert not wisp.equal(module(wisp.ones(400))[1], mask)  # a seed starts a sequence, not the same numbers each time
    assert wisp.equal(wisp.onnx.load(model(nodes, [floats("x", 400)], ["y", "mask"], weights))(wisp.ones(400))[1], mask)


# --- as objects


def test_representations():
    module = wisp.onnx.load(perceptron())
    assert str(module) == (
        "OnnxModule(\n  inputs: x: float32[batch, 4]\n  outputs: y\n  operators: 2 Gemm, 1 Relu\n  parameters: 49\n)"
    )
    lines = str(module.graph).splitlines()
    assert lines[0] == "graph test (x) {"
    assert lines[1] == "  a = Gemm[alpha=1.0, beta=1.0, transA=0, transB=1](x, fc1.weight, fc1.bias)"
    assert lines[-2:] == ["  return y", "}"]


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_are_independent(duplicate):
    module = wisp.onnx.load(perceptron())
    other = duplicate(module)
    x = wisp.randn(2, 4)
    assert wisp.equal(module(x), other(x))
    with wisp.no_grad():
        other.get_parameter("fc2.bias").add_(1)
    assert wisp.allclose(module(x) + 1, other(x))


def test_parameters_can_be_exchanged_for_a_call():
    module = wisp.onnx.load(perceptron())
    zeros = {name: wisp.zeros_like(p) for name, p in module.named_parameters()}
    x = wisp.randn(2, 4)
    assert wisp.func.functional_call(module, zeros, (x,)).tolist() == [[0.0], [0.0]]
    assert module(x).abs().sum() > 0


@pytest.mark.parametrize("form", ["path", "text", "file", "bytes", "proto"])
def test_what_can_be_loaded(tmp_path, form):
    made = perceptron()
    path = tmp_path / "m.onnx"
    path.write_bytes(made.SerializeToString())
    data = made.SerializeToString()
    given = {"path": path, "text": str(path), "file": io.BytesIO(data), "bytes": data, "proto": made}[form]
    assert wisp.onnx.load(given)(wisp.ones(1, 4)).shape == (1, 1)


def test_the_package_onnx_is_imported_when_used():
    code = """
import sys, wisp
assert "wisp.onnx" not in sys.modules and "onnx" not in sys.modules
import wisp.onnx
assert "onnx" not in sys.modules and "numpy" not in sys.modules
sys.modules["onnx"] = None
for use in (lambda: wisp.onnx.load("x.onnx"), lambda: wisp.onnx.backend):
    try:
        use()
    except ImportError as error:
        print("pip install onnx" in str(error))
"""
    assert fresh.python(code).split() == ["True", "True"]
