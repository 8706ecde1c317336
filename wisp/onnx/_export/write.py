"""Models as files."""

import os
from pathlib import Path

from wisp import version
from wisp.onnx._export.inner import value_info
from wisp.onnx._package import numpy_helper, onnx
from wisp.onnx._tensors import to_array
from wisp.onnx.errors import CheckerError
from wisp.serialization._files import write_path

_LARGEST = 2**31 - 2**20  # bytes that fit into a file of the format


def graph_of(nodes, inputs, outputs, initializers, name):
    """A GraphProto. Inputs and outputs are [(ref, sizes or names)]."""
    tensors = [_tensor(name, tensor) for name, tensor in initializers.items()]
    infos = [[value_info(ref, sizes) for ref, sizes in part] for part in (inputs, outputs)]
    return onnx.helper.make_graph(nodes, name, *infos, tensors)


def _tensor(name, tensor):
    return numpy_helper.from_array(to_array(tensor.contiguous()), name)


def model_of(graph, opset):
    imports = [onnx.helper.make_opsetid("", opset)]
    model = onnx.helper.make_model(
        graph, opset_imports=imports, producer_name="wisp", producer_version=version.__version__
    )
    model.ir_version = onnx.helper.find_min_ir_version_for(imports)
    return model


def without_dead(nodes, wanted):
    """The nodes whose results are used, and the names that these read."""
    kept, wanted = [], set(wanted)
    for node in reversed(nodes):
        if wanted.isdisjoint(node.output):
            continue
        kept.append(node)
        wanted.update(_read_by(node))
    return kept[::-1], wanted


def _read_by(node):
    names = set(node.input)
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            _prune(attribute.g)
            names.update(name for inner in attribute.g.node for name in _read_by(inner))
    return names


def _prune(graph):
    kept, _ = without_dead(list(graph.node), [output.name for output in graph.output])
    del graph.node[:]
    graph.node.extend(kept)


def rename(nodes, names):
    """Gives values other names."""
    for node in nodes:
        for part in (node.input, node.output):
            for i, name in enumerate(part):
                part[i] = names.get(name, name)
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                rename(attribute.g.node, names)


def check(model):
    """Refuses a model that the format does not allow."""
    if model.ByteSize() > _LARGEST:
        return
    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise CheckerError(f"the exported model is not valid: {error}") from error


def save(model, file, external_data):
    """Writes a model to a path or an open file. A path holds all of it or, after an error, what it did before."""
    if hasattr(file, "write"):
        file.write(model.SerializeToString())
        return
    path = Path(os.fspath(file))
    external = external_data if external_data is not None else model.ByteSize() > _LARGEST
    if external:
        _save_apart(model, path)
    else:
        write_path(path, [model.SerializeToString()])


def _save_apart(model, path):
    """Weights in a file of their own beside the model."""
    saved = onnx.ModelProto()
    saved.CopyFrom(model)
    data = bytearray()
    for tensor in saved.graph.initializer:
        raw = tensor.raw_data
        data.extend(bytes(-len(data) % 64))
        entries = {"location": f"{path.name}.data", "offset": len(data), "length": len(raw)}
        data.extend(raw)
        tensor.ClearField("raw_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for key, value in entries.items():
            tensor.external_data.add(key=key, value=str(value))
    write_path(path.with_name(f"{path.name}.data"), [data])
    write_path(path, [saved.SerializeToString()])
