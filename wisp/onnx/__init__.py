"""ONNX, the exchange format of neural networks: models of other programs as modules.

The package onnx is needed (`pip install onnx`), and imported when a function of this one is first called.
"""

__all__ = ["backend", "load"]


def load(model, *, base_dir=None):
    """The model of an ONNX file as a module, ready to be run or trained.

    Its tensors of floating point are parameters, others buffers, under the names that they have in the file. The module
    starts in evaluation mode, in which it computes what the file says; after ``train()`` its dropout drops and its batch
    normalisation uses (and notes) statistics of the batch.

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
