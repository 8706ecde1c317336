"""What a network consists of, and what it costs: ``wisp.summary``."""

from wisp._summary._calls import observe
from wisp._summary._table import table

__all__ = ["Summary", "summary"]


class Summary:
    """A table of the layers of a network; printing it shows the table.

    Attributes:
        layers: a Layer per line of the table, in the order they were called.
        parameters, trainable_parameters: how many there are; those that are shared count once.
        multiply_adds: of the matrix products in layers that are known to have some: linear, convolutional, recurrent and
            attention layers.
        parameter_bytes, buffer_bytes: the memory of the network itself.
        input_bytes: the memory of what it was given.
        activation_bytes: the memory of all that its layers gave, which training keeps for the backward pass.
        unused: the names of modules with parameters that were not called.
    """

    def __init__(self, model, layers, inputs, depth):
        self.layers, self._depth = layers, depth
        params = list(model.parameters())
        self.parameters = sum(p.numel() for p in params)
        self.trainable_parameters = sum(p.numel() for p in params if p.requires_grad)
        self.parameter_bytes = sum(map(_bytes, params))
        self.buffer_bytes = sum(map(_bytes, model.buffers()))
        self.input_bytes = sum(map(_bytes, inputs))
        self.multiply_adds = layers[0].multiply_adds
        self.activation_bytes = layers[0].activation_bytes
        self.unused = [layer.path for layer in layers if not layer.calls]

    @property
    def total_bytes(self):
        """The memory of everything together."""
        return self.parameter_bytes + self.buffer_bytes + self.input_bytes + self.activation_bytes

    def __str__(self):
        return table(self, self._depth)

    __repr__ = __str__


def _bytes(tensor):
    return tensor.numel() * tensor.element_size()


def summary(model, *inputs, input_size=None, dtype=None, depth=None, **kwargs):
    """Runs a network once, in evaluation mode and without gradients, and tells what it consists of.

    Args:
        model: a Module.
        inputs: what to call it with. A tuple of numbers stands for a tensor of that size.
        input_size: the size of the input instead, or a list of sizes.
        dtype: that of inputs given by their size.
        depth: how many levels the table shows; all by default.
        kwargs: further arguments to call the network with.

    >>> s = wisp.summary(wisp.nn.Sequential(wisp.nn.Linear(4, 3), wisp.nn.ReLU()), (2, 4))
    >>> s
    Layer         Output shape  Parameters  Multiply-adds
    -----------------------------------------------------
    Sequential    [2, 3]                15             24
    ├─ 0: Linear  [2, 3]                15             24
    └─ 1: ReLU    [2, 3]                 0              0
    -----------------------------------------------------
    Parameters: 15, all of them trainable
    Multiply-adds: 24
    Memory: 60 B of parameters, 32 B of input, 48 B of activations, 140 B in all
    >>> s.layers[1].parameters
    15
    """
    from wisp.random import fork_rng
    from wisp.utils._pytree import tree_leaves

    if input_size is not None:
        sizes = [input_size] if _is_size(input_size) else list(input_size)
        inputs = (*inputs, *sizes)
    with fork_rng():
        inputs = tuple(_made(value, dtype) if _is_size(value) else value for value in inputs)
        layers = observe(model, inputs, kwargs)
    from wisp._C import Tensor

    given = [leaf for leaf in tree_leaves([list(inputs), kwargs]) if isinstance(leaf, Tensor)]
    return Summary(model, layers, given, depth)


summary.__module__ = Summary.__module__ = "wisp"


def _is_size(value):
    return isinstance(value, (tuple, list)) and all(type(n) is int for n in value) and len(value) > 0


def _made(size, dtype):
    """An input of a size: random numbers, or zeros where numbers count something."""
    from wisp import _C

    if dtype is None or dtype.is_floating_point or dtype.is_complex:
        return _C._functions["randn"](size, dtype=dtype)
    return _C._functions["zeros"](size, dtype=dtype)
