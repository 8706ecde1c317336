"""ONNX files that are damaged, hostile or beyond what is supported: clear errors, and nothing outside is read."""

import random

import pytest

onnx = pytest.importorskip("onnx")

import numpy as np
from onnx import TensorProto, helper

import wisp
import wisp.onnx
from tests.onnx_models import floats, graph, info, model, node, perceptron, tensor


def refused(made, words, error=ValueError, **settings):
    with pytest.raises(error, match=words) as caught:
        wisp.onnx.load(made, **settings)
    return str(caught.value)


# --- files


@pytest.mark.parametrize("data", [b"", b"garbage", bytes(range(256)), b"\x3a\xff\xff\xff\xff\x0f"])
def test_files_that_are_no_models(tmp_path, data):
    path = tmp_path / "bad.onnx"
    path.write_bytes(data)
    assert "bad.onnx" in refused(path, "cannot be loaded: (there is no graph|it is damaged)")
    with pytest.raises(FileNotFoundError):
        wisp.onnx.load(tmp_path / "none.onnx")


def test_damaged_bytes_never_crash():
    data = perceptron().SerializeToString()
    rng = random.Random(0)
    for cut in range(0, len(data), 37):
        _load_and_run(data[:cut])
    for _ in range(1500):
        damaged = bytearray(data)
        for _ in range(rng.choice((1, 1, 3))):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        _load_and_run(bytes(damaged))


def _load_and_run(data):
    try:
        wisp.onnx.load(data)(wisp.ones(2, 4))
    except (TypeError, ValueError, RuntimeError):
        pass


# --- versions and operators


def test_all_unsupported_operators_are_named():
    nodes = [
        node("Relu", "x", "a"),
        node("Nonsense", "a", "b", name="first"),
        node("Scaler", "b", "c", domain="ai.onnx.ml", name="second"),
        node(
            "If", "c", "d", then_branch=graph([node("Unheard", "b", "t")], [], ["t"]), else_branch=graph([], [], ["b"])
        ),
    ]
    text = refused(model(nodes, ["x"], ["d"], domains=["ai.onnx.ml"]), "unsupported operators", RuntimeError)
    for words in ("ai.onnx.Nonsense (version 21) in Nonsense node 'first'", "ai.onnx.ml.Scaler (version 1)", "Unheard"):
        assert words in text


def test_versions():
    relu = [node("Relu", "x", "y")]
    refused(model(relu, ["x"], ["y"], opset=9999), "asks for operator sets.*knows versions 1 to")
    refused(model(relu, ["x"], ["y"], opset=0), "asks for operator sets")
    nothing = model(relu, ["x"], ["y"])
    del nothing.opset_import[:]
    refused(nothing, "asks for operator sets {}")
    refused(model([node("F", "x", "y", domain="own")], ["x"], ["y"]), "F node of .*: the model does not import .*'own'")


# --- graphs


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ([("Relu", "missing", "y")], r"Relu node of \['y'\] reads 'missing'"),
        ([("Relu", "b", "a"), ("Relu", "a", "b"), ("Relu", "a", "y")], "need each other's outputs: Relu node.*->"),
        ([("Relu", "x", "y"), ("Neg", "x", "y")], "name 'y' to two values"),
        ([("Relu", "x", "x")], "name 'x' to two values"),
        ([("Relu", "x", "a")], "output 'y', which nothing produces"),
        ([("Relu", "x x", "y")], "Relu node of .* has 2 inputs"),
        ([("Add", "x", "y")], "Add node of .* has 1 inputs"),
        ([("Relu", "x", "y z")], "has 2 outputs"),
    ],
)
def test_names_that_do_not_fit(nodes, words):
    refused(model([node(*n) for n in nodes], ["x"], ["y"]), words)


def test_inputs_that_are_needed():
    refused(model([helper.make_node("Add", ["x", ""], ["y"])], ["x"], ["y"]), "lacks its input 'B'")


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({"axes": [0]}, "attribute 'axes', which version 13 does not know"),
        ({"axis": 1.5}, "attribute 'axis' as FLOAT instead of INT"),
        ({}, "lacks the attribute 'axis'"),
    ],
)
def test_attributes_that_do_not_fit(attributes, words):
    refused(model([node("Concat", "x x", "y", **attributes)], ["x"], ["y"]), words)


def test_functions_that_call_themselves():
    body = [helper.make_node("F", ["x"], ["y"], domain="own")]
    function = helper.make_function("own", "F", ["x"], ["y"], body, [helper.make_opsetid("own", 1)])
    made = model(body, ["x"], ["y"], functions=[function], domains=["own"])
    refused(made, "function 'F' calls itself")
    made.functions.append(function)
    refused(made, "two functions with the name 'F'")


def test_errors_while_running_name_the_node():
    nodes = [node("Reshape", "x shape", "y", name="bend")]
    module = wisp.onnx.load(model(nodes, [floats("x", 2)], ["y"], [tensor("shape", [3], np.int64)]))
    with pytest.raises(RuntimeError, match="Reshape node 'bend': RuntimeError"):
        module(wisp.ones(2))


# --- tensors


def weight_model(proto):
    return model([node("Identity", "w", "y")], [], ["y"], [proto])


def test_sizes_are_compared_with_the_data():
    huge = helper.make_tensor("w", TensorProto.FLOAT, [2], [1, 2])
    huge.dims[0] = 2**62
    refused(weight_model(huge), "tensor 'w' of shape .* needs 4611686018427387904 float_data, but the file has 2")
    raw = tensor("w", [1, 2, 3])
    raw.dims[0] = 2**40
    refused(weight_model(raw), f"needs {2**42} bytes, but the file has 12")
    raw.dims[0] = 2
    refused(weight_model(raw), "needs 8 bytes, but the file has 12")
    raw.dims[0] = -3
    refused(weight_model(raw), "negative size")


@pytest.mark.parametrize("number", [0, 99])
def test_unknown_element_types(number):
    proto = tensor("w", [1])
    proto.data_type = number
    refused(weight_model(proto), f"tensor 'w' has the unknown element type {number}")


def test_other_tensors_that_are_refused():
    part = tensor("w", [1])
    part.segment.begin = 0
    refused(weight_model(part), "segment")
    words = onnx.TensorProto(name="w", data_type=TensorProto.STRING, dims=[1], string_data=[b"\xff"])
    refused(weight_model(words), "not UTF-8")
    words.ClearField("string_data")
    words.raw_data = b"a"
    refused(weight_model(words), "strings as raw data")


@pytest.mark.parametrize(("places", "shape"), [([5], [2]), ([-1], [2]), ([0, 1], [2]), ([0], [-2])])
def test_sparse_tensors_that_do_not_fit(places, shape):
    sparse = onnx.SparseTensorProto(values=tensor("w", [1.0]), indices=tensor("", places, np.int64), dims=shape)
    made = model([node("Identity", "w", "y")], [], ["y"])
    made.graph.sparse_initializer.append(sparse)
    refused(made, "sparse tensor 'w'")


# --- external data


def external(folder, location, values=(1.0, 2.0), **entries):
    """A model whose weight lies in a file beside it."""
    proto = onnx.TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[len(values)])
    proto.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **entries}.items():
        proto.external_data.add(key=key, value=str(value))
    path = folder / "m.onnx"
    path.write_bytes(weight_model(proto).SerializeToString())
    return path


@pytest.fixture
def folder(tmp_path):
    """A folder for a model, with data in it and data above it."""
    inner = tmp_path / "models"
    (inner / "data").mkdir(parents=True)
    payload = np.array([9, 1, 2], np.float32).tobytes()
    for file in (tmp_path / "secret.bin", inner / "w.bin", inner / "data" / "w.bin"):
        file.write_bytes(payload)
    return inner


@pytest.mark.parametrize("location", ["w.bin", "data/w.bin", "./w.bin"])
def test_external_data(folder, location):
    module = wisp.onnx.load(external(folder, location, offset=4, length=8))
    assert module().tolist() == [1.0, 2.0]
    module.w.data.zero_()
    assert wisp.onnx.load(external(folder, location))().tolist() == [9.0, 1.0]


def test_external_data_of_a_model_that_is_not_a_file(folder):
    data = external(folder, "w.bin", offset=4).read_bytes()
    refused(data, "directory of the model is not known: pass base_dir")
    assert wisp.onnx.load(data, base_dir=folder)().tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "location", ["../secret.bin", "data/../../secret.bin", "link.bin", "linked/secret.bin", "/abs"]
)
def test_external_data_stays_in_the_folder(folder, location):
    (folder / "link.bin").symlink_to(folder.parent / "secret.bin")
    (folder / "linked").symlink_to(folder.parent)
    if location == "/abs":
        location = str(folder / "w.bin")
    refused(external(folder, location), "external data outside of the directory")


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ({"location": "none.bin"}, "not a file beside the model"),
        ({"location": "data"}, "not a file beside the model"),
        ({"location": ""}, "without a location"),
        ({"location": "w.bin", "offset": 8}, "needs 8 bytes at 8 of .* which has 12"),
        ({"location": "w.bin", "offset": -4}, "needs 8 bytes of external data"),
        ({"location": "w.bin", "length": 12}, "needs 8 bytes of external data, but the file names 12"),
        ({"location": "w.bin", "offset": "x"}, "no number"),
    ],
)
def test_external_data_that_does_not_fit(folder, entries, words):
    refused(external(folder, **entries), words)


def test_external_data_of_absurd_size(folder):
    path = external(folder, "w.bin")
    made = onnx.load(path, load_external_data=False)
    made.graph.initializer[0].dims[0] = 2**50
    path.write_bytes(made.SerializeToString())
    refused(path, f"needs {2**52} bytes at 0 of .* which has 12")


def test_declared_inputs_of_types_that_are_not_supported():
    made = model([node("Identity", "x", "y")], [info("x")], ["y"])
    module = wisp.onnx.load(made)
    assert "of unknown type" in str(module)
    with pytest.raises(TypeError, match="input 'x' has a type that is not supported"):
        module(wisp.ones(1))
