"""The backend interface of the ONNX project, and its tests of models that come from PyTorch."""

import glob
import os

import pytest

onnx = pytest.importorskip("onnx")

import numpy as np
from onnx import helper, numpy_helper

from tests.onnx_models import floats, model, node, perceptron, run
from wisp.onnx import backend

DATA = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data")


def test_prepare_and_run():
    rep = backend.prepare(perceptron(), "CPU")
    x = np.ones((2, 4), np.float32)
    (y,) = rep.run([x])
    assert isinstance(y, np.ndarray) and y.shape == (2, 1) and y.dtype == np.float32
    np.testing.assert_array_equal(rep.run({"x": x})[0], y)
    np.testing.assert_array_equal(backend.run_model(perceptron(), [x])[0], y)
    assert rep.module.input_names == ["x"]


def test_devices():
    assert backend.supports_device("CPU") and backend.supports_device("CPU:0")
    assert not backend.supports_device("CUDA")
    with pytest.raises(ValueError, match="device 'CUDA' is not supported"):
        backend.prepare(perceptron(), "CUDA")


def test_compatible():
    assert backend.is_compatible(perceptron())
    assert not backend.is_compatible(perceptron(), "CUDA")
    assert not backend.is_compatible(model([node("Nonsense", "x", "y")], ["x"], ["y"]))


def test_run_node():
    (y,) = backend.run_node(helper.make_node("Neg", ["x"], ["y"]), [np.array([1, -2], np.int8)])
    assert y.tolist() == [-1, 2] and y.dtype == np.int8
    old = helper.make_node("Squeeze", ["x"], ["y"], axes=[0])
    assert backend.run_node(old, [np.ones((1, 3))], opset_version=11)[0].shape == (3,)
    with pytest.raises(ValueError, match="attribute 'axes'"):
        backend.run_node(old, [np.ones((1, 3))])


def test_inputs_that_are_left_out_and_sequences():
    node_ = helper.make_node("Clip", ["x", "", "high"], ["y"])
    assert backend.run_node(node_, [np.array([1.0, 5.0]), None, np.array(3.0)])[0].tolist() == [1.0, 3.0]
    (parts,) = backend.run_node(helper.make_node("SequenceConstruct", ["a", "b"], ["s"]), [np.ones(1), np.zeros(2)])
    assert [p.tolist() for p in parts] == [[1.0], [0.0, 0.0]]
    (joined,) = backend.run_node(helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=0), [parts])
    assert joined.tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("text", [["a", "b"], ["x"]])
def test_strings_stay_arrays_of_objects(text):
    result = run("Identity", np.array(text, dtype=object))
    assert result.dtype == object and result.tolist() == text


def test_outputs_do_not_record_gradients():
    result = backend.prepare(model([node("Relu", "x", "y")], [floats("x", 1)], ["y"])).module
    assert result.training is False
    assert backend.WispRep(result).run([np.array([-1.0], np.float32)])[0].tolist() == [0.0]


def _read(folder, kind):
    """The arrays of a test, in order."""
    for path in sorted(glob.glob(os.path.join(folder, f"{kind}_*.pb")), key=lambda p: int(p.split("_")[-1][:-3])):
        with open(path, "rb") as file:
            yield numpy_helper.to_array(onnx.TensorProto.FromString(file.read()))


FOLDERS = sorted(f for kind in ("converted", "operator") for f in glob.glob(os.path.join(DATA, f"pytorch-{kind}", "*")))


@pytest.mark.parametrize("folder", FOLDERS, ids=os.path.basename)
def test_models_from_pytorch(folder):
    rep = backend.prepare(os.path.join(folder, "model.onnx"))
    for data in glob.glob(os.path.join(folder, "test_data_set_*")):
        results, wanted = rep.run(list(_read(data, "input"))), list(_read(data, "output"))
        assert len(results) == len(wanted)
        for result, want in zip(results, wanted):
            assert result.dtype == want.dtype and result.shape == want.shape
            np.testing.assert_allclose(result, want, rtol=1e-3, atol=1e-6)
