"""A model of an ONNX file as a module."""

import os
from pathlib import Path

from wisp import nn
from wisp.onnx._bodies import opset_versions
from wisp.onnx._build import Builder
from wisp.onnx._feeds import converted, given_back, shown_type
from wisp.onnx._graph import Settings
from wisp.onnx._package import DecodeError, defs, onnx
from wisp.onnx._weights import add_weight


class OnnxModule(nn.Module):
    """A module that runs the graph of an ONNX model; `wisp.onnx.load` makes it.

    Tensors of floating point that the model brings along are parameters, the others buffers, under their names in the
    file. `graph` is the graph, which prints as text; `input_names` and `output_names` are lists of strings.
    """

    def __init__(self, model, directory=None):
        super().__init__()
        # All attributes exist before the weights are added, so that no weight can take their names.
        self.graph, self.input_names, self.output_names, self._types = None, [], [], {}
        self._settings = Settings()
        builder = Builder(_opsets(model), self._settings, self._add_weight, _functions(model), directory)
        self.graph = builder.graph(model.graph, scoped=False)
        builder.check_supported()
        self._types = {i.name: i.type for i in model.graph.input}
        self.input_names = [i for i in self.graph.inputs if i not in self.graph.weights]
        self.output_names = list(self.graph.outputs)
        self.eval()

    def _add_weight(self, name, value, readers):
        return add_weight(self, name, value, readers)

    def forward(self, *args, **kwargs):
        """The outputs for inputs given in order or by name: one of them, or a tuple."""
        results = tuple(given_back(r) for r in self.run(*args, **kwargs))
        return results[0] if len(results) == 1 else results

    def run(self, *args, **kwargs):
        """A list of the outputs as the graph has them, with element types that wisp does not have as `Carried`."""
        self._settings.training = self.training
        return self.graph.run(self._bound(args, kwargs))

    def _bound(self, args, kwargs):
        """Inputs by name, as values of the types that the graph declares."""
        if len(args) > len(self.input_names):
            raise TypeError(f"the model has {len(self.input_names)} inputs, but {len(args)} were given")
        given = dict(zip(self.input_names, args))
        for name, value in kwargs.items():
            if name in given or name not in self._types:
                raise TypeError(f"input {name!r} is {'given twice' if name in given else 'unknown'}")
            given[name] = value
        for name in self.input_names:
            if name not in given and not self._types[name].HasField("optional_type"):
                raise TypeError(f"the model needs the input {name!r}")
            given.setdefault(name, None)
        return {name: converted(value, self._types[name], name) for name, value in given.items()}

    def __repr__(self):
        counts = sorted(self.graph.operators().items(), key=lambda item: (-item[1], item[0]))
        lines = [
            f"inputs: {', '.join(f'{name}: {shown_type(self._types[name])}' for name in self.input_names)}",
            f"outputs: {', '.join(self.output_names)}",
            f"operators: {', '.join(f'{n} {name}' for name, n in counts)}",
            f"parameters: {sum(p.numel() for p in self.parameters()):,}",
        ]
        return f"{type(self).__name__}(\n  " + "\n  ".join(lines) + "\n)"


def load(model, base_dir=None):
    """The module of a model: see `wisp.onnx.load`."""
    try:
        proto, home = _read(model)
        if not proto.HasField("graph"):
            raise ValueError("there is no graph in it")
        return OnnxModule(proto, base_dir if base_dir is not None else home)
    except RecursionError:
        raise ValueError("the ONNX model has functions or graphs that are nested too deeply") from None
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        where = f" {os.fspath(model)!r}" if isinstance(model, (str, os.PathLike)) else ""
        raise ValueError(f"the ONNX model{where} cannot be loaded: {error}") from error


def _read(model):
    """The ModelProto of a path, a file or a ModelProto, and the directory where its external data lies."""
    if isinstance(model, onnx.ModelProto):
        return model, None
    home = None
    if isinstance(model, (str, os.PathLike)):
        model, home = Path(model).read_bytes(), Path(model).parent
    data = model if isinstance(model, bytes) else model.read()
    try:
        return onnx.ModelProto.FromString(data), home
    except DecodeError as error:
        raise ValueError(f"it is damaged or not an ONNX file ({error})") from error


def _opsets(model):
    """The versions of operator sets that a model imports. Before IR version 3 there was only one."""
    versions = opset_versions(model.opset_import)
    if not versions and model.ir_version < 3:
        versions = {"": 1}
    newest = defs.onnx_opset_version()
    if not versions or not 1 <= versions.get("", 1) <= newest:
        raise ValueError(
            f"it asks for operator sets {versions}; the installed package onnx knows versions 1 to {newest}"
        )
    return versions


def _functions(model):
    """The functions of a model by domain, name and overload."""
    found = {}
    for function in model.functions:
        domain = "" if function.domain == "ai.onnx" else function.domain
        key = domain, function.name, getattr(function, "overload", "")
        if key in found:
            raise ValueError(f"it has two functions with the name {function.name!r}")
        found[key] = function
    return found
