"""What libraries find in torch.onnx when they tell PyTorch's old exporter how to write operators of their own. wisp.onnx.export
follows graphs of the table's operators, so there is nothing to be told: what is registered is never asked for."""

import sys

__all__ = ["register_custom_op_symbolic", "symbolic_helper", "symbolic_opset11", "unregister_custom_op_symbolic"]


def parse_args(*descriptors):
    """Gives back the function that it decorates."""
    return lambda function: function


def register_custom_op_symbolic(symbolic_name, symbolic_fn, opset_version):
    """Does nothing."""


def unregister_custom_op_symbolic(symbolic_name, opset_version):
    """Does nothing."""


symbolic_helper = symbolic_opset11 = sys.modules[__name__]  # torch.onnx has them as modules


def __getattr__(name):
    from wisp._missing import MissingName

    raise MissingName(__name__, name)
