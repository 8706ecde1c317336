"""The backend interface of the ONNX project: models run on NumPy arrays.

>>> rep = wisp.onnx.backend.prepare(model)  # doctest: +SKIP
>>> rep.run([array])  # doctest: +SKIP
"""

import numpy

import wisp
from wisp.onnx._feeds import as_arrays
from wisp.onnx._module import OnnxModule
from wisp.onnx._module import load as load_module
from wisp.onnx._package import defs, onnx
from wisp.onnx._tensors import from_array

__all__ = ["WispRep", "is_compatible", "prepare", "run_model", "run_node", "supports_device"]


class WispRep:
    """A model that has been prepared: `module` is the module that runs it."""

    def __init__(self, module: OnnxModule):
        self.module = module

    def run(self, inputs, **kwargs):
        """The outputs as a list of NumPy arrays (lists of arrays for sequences, None for empty optionals)."""
        with wisp.no_grad():
            if isinstance(inputs, dict):
                return [as_arrays(v) for v in self.module.run(**inputs)]
            return [as_arrays(v) for v in self.module.run(*inputs)]


def supports_device(device):
    """Whether models can run on a device: "CPU" it must be."""
    return device.split(":")[0] == "CPU"


def is_compatible(model, device="CPU", **kwargs):
    """Whether a model can be loaded and run."""
    try:
        prepare(model, device)
    except (ValueError, RuntimeError):
        return False
    return True


def prepare(model, device="CPU", **kwargs):
    """A model (anything that `wisp.onnx.load` takes) as something with a method `run`."""
    if not supports_device(device):
        raise ValueError(f"device {device!r} is not supported; wisp runs on the CPU")
    return WispRep(load_module(model))


def run_model(model, inputs, device="CPU", **kwargs):
    """The outputs of a model, once."""
    return prepare(model, device).run(inputs)


def run_node(node, inputs, device="CPU", outputs_info=None, opset_version=None, **kwargs):
    """The outputs of a single NodeProto on arrays, in the newest or a given version of the operators."""
    names = [name for name in node.input if name]
    values = [_value(v) for v in inputs if v is not None]
    graph = onnx.GraphProto(name="node", node=[node])
    graph.input.extend(onnx.ValueInfoProto(name=name) for name in names)
    graph.output.extend(onnx.ValueInfoProto(name=name) for name in node.output if name)
    opsets = [onnx.helper.make_opsetid(node.domain, opset_version or defs.onnx_opset_version())]
    rep = prepare(onnx.helper.make_model(graph, opset_imports=opsets), device)
    with wisp.no_grad():
        return [as_arrays(v) for v in rep.module.graph.run(dict(zip(names, values)))]


def _value(array):
    return [_value(a) for a in array] if isinstance(array, list) else from_array(numpy.asarray(array))
