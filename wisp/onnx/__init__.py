"""ONNX, the exchange format of neural networks: models of other programs as modules, and modules for other programs.

The package onnx is needed (`pip install onnx`), and imported when a function of this one is first called.
"""

import threading
from enum import Enum

from wisp.onnx.errors import CheckerError, OnnxExporterError, UnsupportedOperatorError

__all__ = [
    "CheckerError", "OnnxExporterError", "OperatorExportTypes", "TrainingMode", "UnsupportedOperatorError", "backend",
    "export", "is_in_onnx_export", "load",
]  # fmt: skip


class TrainingMode(Enum):
    """The mode in which a model is exported."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class OperatorExportTypes(Enum):
    """Accepted for programs that name it: operators are always exported as those of ONNX."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


_EXPORTING = threading.local()


def is_in_onnx_export():
    """Whether this thread is exporting a model."""
    return getattr(_EXPORTING, "depth", 0) > 0


def export(model, args=(), f=None, *, kwargs=None, export_params=True, verbose=False, training=TrainingMode.EVAL,
           input_names=None, output_names=None, opset_version=None, do_constant_folding=True, dynamic_axes=None,
           dynamic_shapes=None, external_data=None, operator_export_type=OperatorExportTypes.ONNX,
           keep_initializers_as_inputs=None, dynamo=False):  # fmt: skip
    """Writes a model as an ONNX file.

    A module or function is traced on the arguments; of a scripted or traced one the graph is taken as it is, with its
    branches and loops. Sizes of inputs may differ from call to call wherever the graph holds for others, which is found
    out by tracing the model again, unless `dynamic_axes` or `dynamic_shapes` name those that may.

    Args:
        model: a module or function, or a compiled one.
        args: example arguments: a tuple, or one tensor. A dict at the end holds arguments by name.
        f: a path, a file that is open for writing bytes, or None.
        kwargs: example arguments by name.
        export_params: whether the parameters are part of the file; else they are inputs.
        verbose: whether to print the graph.
        training: TrainingMode.EVAL, TRAINING or PRESERVE: in which mode the model is while it is exported.
        input_names, output_names: names for the inputs and outputs, in order.
        opset_version: the version of ONNX's operators, 13 or newer.
        do_constant_folding: whether what follows from constants alone is computed now.
        dynamic_axes: the only sizes that may differ from call to call: ``{"x": {0: "batch"}}`` or ``{"x": [0]}``; ``{}``
            fixes all.
        dynamic_shapes: the same per argument: ``{"x": {0: "batch"}}`` or a tuple in the order of the arguments.
        external_data: whether weights get a file of their own, ``<f>.data``; by default if they are larger than 2 GB.
        operator_export_type, keep_initializers_as_inputs, dynamo: accepted and ignored.

    Returns:
        the ``onnx.ModelProto``.

    Raises:
        UnsupportedOperatorError: if there are operators without a form in ONNX; all are named, with their places.

    >>> model = wisp.nn.Sequential(wisp.nn.Linear(3, 2), wisp.nn.ReLU())
    >>> [node.op_type for node in wisp.onnx.export(model, wisp.ones(1, 3)).graph.node]
    ['Gemm', 'Relu']
    """
    from wisp.onnx._export import export as export_model

    mode = training if isinstance(training, TrainingMode) else TrainingMode.TRAINING if training else TrainingMode.EVAL
    settings = {
        "export_params": export_params, "training": {TrainingMode.EVAL: False, TrainingMode.TRAINING: True}.get(mode),
        "input_names": input_names, "output_names": output_names, "opset_version": opset_version,
        "do_constant_folding": do_constant_folding, "dynamic_axes": dynamic_axes, "dynamic_shapes": dynamic_shapes,
    }  # fmt: skip
    _EXPORTING.depth = getattr(_EXPORTING, "depth", 0) + 1
    try:
        return export_model(model, args, f, kwargs, verbose, external_data, settings)
    finally:
        _EXPORTING.depth -= 1


def load(model, *, base_dir=None):
    """The model of an ONNX file as a module, ready to be run or trained.

    Its tensors of floating point are parameters, others buffers, under the names that they have in the file. The module
    starts in evaluation mode, in which it computes what the file says; after ``train()`` its dropout drops and its
    batch normalisation uses (and notes) statistics of the batch.

    Args:
        model: a path, an open file, the bytes of one, or an ``onnx.ModelProto``.
        base_dir: where external data lies, if not beside the file.

    Returns:
        an ``nn.Module``. It is called with its inputs in order or by name and gives a tensor, or a tuple of several;
        ``input_names``, ``output_names`` and ``graph`` tell about it.

    Raises:
        ValueError: if the file is damaged or not consistent.
        RuntimeError: if it has operators that are not supported; all of them are named.
    """
    from wisp.onnx._module import load as load_module

    return load_module(model, base_dir)


def __getattr__(name):
    if name == "backend":
        from importlib import import_module

        return import_module("wisp.onnx.backend")
    from wisp._missing import MissingName

    raise MissingName(__name__, name)


def __dir__():
    return sorted({*globals(), *__all__})
