"""Small ONNX models for tests. Importing this needs the package onnx."""

import numpy as np
from onnx import TensorProto, ValueInfoProto, helper, numpy_helper

NEWEST_IR = 8  # old enough for every version of the package


def info(name, dtype=None, shape=None):
    """What a graph declares about an input or output; nothing but a name where the rest is left out."""
    if dtype is None:
        return ValueInfoProto(name=name)
    return helper.make_tensor_value_info(name, dtype, shape)


def floats(name, *shape):
    return info(name, TensorProto.FLOAT, list(shape))


def tensor(name, values, dtype=np.float32):
    """An initializer."""
    return numpy_helper.from_array(np.array(values, dtype=dtype), name)


def graph(nodes, inputs, outputs, initializers=(), name="test"):
    """A graph; inputs and outputs are names or what `info` gives."""
    declared = [[info(v) if isinstance(v, str) else v for v in values] for values in (inputs, outputs)]
    return helper.make_graph(nodes, name, *declared, list(initializers))


def model(nodes, inputs, outputs, initializers=(), opset=21, functions=(), ir_version=NEWEST_IR, domains=()):
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, 1) for d in domains)]
    made = helper.make_model(
        graph(nodes, inputs, outputs, initializers), opset_imports=opsets, functions=list(functions)
    )
    made.ir_version = ir_version
    return made


def node(op_type, inputs, outputs, **attributes):
    return helper.make_node(op_type, inputs.split(), outputs.split(), **attributes)


def perceptron():
    """y = fc2(relu(fc1(x))), with the names that PyTorch's exporter gives."""
    rng = np.random.default_rng(0)
    weights = [
        tensor("fc1.weight", rng.normal(size=(8, 4))),
        tensor("fc1.bias", rng.normal(size=8)),
        tensor("fc2.weight", rng.normal(size=(1, 8))),
        tensor("fc2.bias", [0.0]),
    ]
    nodes = [
        node("Gemm", "x fc1.weight fc1.bias", "a", transB=1, name="first"),
        node("Relu", "a", "b"),
        node("Gemm", "b fc2.weight fc2.bias", "y", transB=1),
    ]
    return model(nodes, [floats("x", "batch", 4)], [floats("y", "batch", 1)], weights)


def run(op_type, *inputs, opset=21, outputs=1, domain="", **attributes):
    """The outputs of a single operator on arrays or tensors, as arrays; one of them, or a list."""
    from wisp.onnx import backend

    names = [f"x{i}" if value is not None else "" for i, value in enumerate(inputs)]
    made = helper.make_node(op_type, names, [f"y{i}" for i in range(outputs)], domain=domain, **attributes)
    results = backend.run_node(made, [v for v in inputs if v is not None], opset_version=opset)
    return results[0] if outputs == 1 else results
