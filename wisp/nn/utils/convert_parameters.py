"""Parameters as one vector, and back."""

from wisp import _C
from wisp._C import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters):
    """All elements of some parameters, in order, as one vector."""
    return _C._functions["cat"]([param.reshape(-1) for param in parameters])


def vector_to_parameters(vec, parameters):
    """Makes the parameters, in order, views of parts of a vector."""
    if not isinstance(vec, Tensor):
        from wisp._basics import typename

        raise TypeError(f"expected wisp.Tensor, but got: {typename(vec)}")
    start = 0
    for param in parameters:
        end = start + param.numel()
        param.data = vec[start:end].view_as(param).data
        start = end
