"""What several families of operators need."""

import wisp
from wisp.onnx._values import Element, made


def on_one(function):
    """The operator that applies a function to its one input."""
    return lambda node, x: function(x)


def on_two(function):
    """The operator that applies a function to its two inputs."""
    return lambda node, a, b: function(a, b)


def numbers(tensor):
    """The elements of a tensor of one dimension at most, as a list."""
    return tensor.flatten().tolist()


def positive(axis, rank):
    """An axis counted from the front."""
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is out of range for {rank} dimensions")
    return axis % rank


def given_axes(node, axes):
    """Axes as a list, from an input or (in older versions) an attribute; None if there are none."""
    if axes is not None:
        return numbers(axes)
    return node["axes"]


def of_type(data, number):
    """A tensor of the element type with a number of the format."""
    return made(data, Element(number))


def along(vector, axis, rank):
    """A tensor of one dimension, shaped so that it lies along an axis of one with several."""
    return vector.reshape([-1 if i == axis else 1 for i in range(rank)])


def taken(x, axis, indices):
    """Slices of a tensor along an axis, by a list of indices."""
    return x.index_select(axis, wisp.tensor(indices, dtype=wisp.int64))
