"""The tensors of a model as parameters and buffers of a module, under the names that they have in the file."""

from wisp import nn
from wisp.onnx._package import defs
from wisp.onnx._values import Carried, data_of


class Weights(nn.Module):
    """A part of a name: holds the weights whose names continue with a dot."""


class Weight:
    """Where the tensor of a name is kept, and what its elements mean if they are carried by another type."""

    def __init__(self, home, key, kind):
        self.home, self.key, self.kind = home, key, kind

    def value(self):
        tensor = self.home._parameters.get(self.key)
        if tensor is None:
            tensor = self.home._buffers[self.key]
        return tensor if self.kind is None else self.kind.replaced(tensor)


def add_weight(root, name, value, readers):
    """Registers a tensor with a module: a parameter if it can be trained, else a buffer.

    "conv.weight" becomes the parameter `weight` of a child `conv`. Parts of a name that a module cannot have, because
    they are taken or empty, get an underscore behind them.
    """
    home, (*path, key) = root, name.split(".")
    for part in path:
        home = _child(home, part)
    key = _free_key(home, key)
    tensor = data_of(value)
    if tensor.is_floating_point() and not isinstance(value, Carried) and _trainable(readers):
        home.register_parameter(key, nn.Parameter(tensor))
    else:
        home.register_buffer(key, tensor)
    return Weight(home, key, Carried(None, value.element, value.words) if isinstance(value, Carried) else None)


def _child(home, part):
    if not isinstance(home._modules.get(part), Weights):
        part = _free_key(home, part)
    if part not in home._modules:
        home.add_module(part, Weights())
    return home._modules[part]


def _free_key(home, key):
    while not key or hasattr(home, key):
        key += "_"
    return key


def _trainable(readers):
    """Whether a tensor is read where the standard sees something to learn. Running statistics are not learnt."""
    return readers is None or any(_is_learnt(node, index) for node, index in readers)


def _is_learnt(node, index):
    if node.op_type == "BatchNormalization" and index in (3, 4):
        return False
    if index is None or node.function is None or node.domain or node.op_type == "Constant":
        return True
    formal = _formal_input(node, index)
    return formal is None or formal.differentiation_category != defs.OpSchema.DifferentiationCategory.NonDifferentiable


def _formal_input(node, index):
    """How the newest version of the standard describes an input (older ones say nothing about derivatives)."""
    schema = defs.get_schema(node.op_type, node.domain) if defs.has(node.op_type, node.domain) else None
    return schema.inputs[index] if schema and index < len(schema.inputs) else None
