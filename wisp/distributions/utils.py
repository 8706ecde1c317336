"""What distributions share: broadcasting of parameters, probabilities and logits, packed triangles."""

from functools import update_wrapper

import wisp
from wisp import Tensor

__all__ = [
    "broadcast_all", "clamp_probs", "euler_constant", "lazy_property", "logits_to_probs", "probs_to_logits",
    "tril_matrix_to_vec", "vec_to_tril_matrix",
]  # fmt: skip

euler_constant = 0.57721566490153286060


def broadcast_all(*values):
    """Numbers and tensors as tensors of one shape.

    Numbers take the dtype of the first tensor, or the default dtype if there is none.

    >>> broadcast_all(wisp.zeros(2), 1.0)
    (tensor([0., 0.]), tensor([1., 1.]))
    """
    if not all(isinstance(value, (Tensor, int, float)) for value in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
        )
    dtype = next((value.dtype for value in values if isinstance(value, Tensor)), wisp.get_default_dtype())
    tensors = [value if isinstance(value, Tensor) else wisp.tensor(value, dtype=dtype) for value in values]
    return tuple(wisp.broadcast_tensors(*tensors))


def as_tensors(*values):
    """Numbers and tensors as tensors, each of its own shape."""
    dtype = next((value.dtype for value in values if isinstance(value, Tensor)), wisp.get_default_dtype())
    return tuple(value if isinstance(value, Tensor) else wisp.tensor(value, dtype=dtype) for value in values)


def _standard_normal(shape, dtype, device=None):
    """Draws from the normal distribution of mean 0 and deviation 1."""
    return wisp.randn(shape, dtype=dtype, device=device)


def uniform_open(shape, dtype):
    """Draws from the open interval (0, 1): neither end, of which logarithms and tangents have none."""
    info = wisp.finfo(dtype)
    return wisp.rand(shape, dtype=dtype).clamp(min=info.tiny, max=1 - info.eps / 2)


def uniform_two_sided(shape, dtype):
    """Draws from the open interval (-1, 1)."""
    eps = wisp.finfo(dtype).eps
    return wisp.empty(shape, dtype=dtype).uniform_(eps - 1, 1)


def _sum_rightmost(value, dim):
    """The sum over the last `dim` dimensions."""
    return value if dim == 0 else value.sum(tuple(range(-dim, 0)))


def logits_to_probs(logits, is_binary=False):
    """Probabilities of log-odds (binary), or of unnormalised log-probabilities along the last dimension."""
    return wisp.sigmoid(logits) if is_binary else wisp.softmax(logits, -1)


def clamp_probs(probs):
    """Probabilities moved off 0 and 1 by one rounding error, so that their logits are finite."""
    eps = wisp.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs, is_binary=False):
    """The logits of probabilities; see logits_to_probs()."""
    inside = clamp_probs(probs)
    return inside.log() - (-inside).log1p() if is_binary else inside.log()


class lazy_property:
    """A property computed when first asked for and kept in the object; gradients flow through it in any grad mode."""

    def __init__(self, wrapped):
        self.wrapped = wrapped
        update_wrapper(self, wrapped)

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        with wisp.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def vec_to_tril_matrix(vec, diag=0):
    """The lower triangular matrices whose elements up to diagonal `diag` are the rows of `vec`, row by row.

    >>> vec_to_tril_matrix(wisp.tensor([1.0, 2.0, 3.0]))
    tensor([[1., 0.],
            [2., 3.]])
    """
    # A triangle of n rows up to diagonal d has (n^2 + n (1 + 2 d) - |d| (d + 1)) / 2 elements.
    rows = round((-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * vec.shape[-1] + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2)
    row, column = wisp.tril_indices(rows, rows, diag)
    if len(row) != vec.shape[-1]:
        raise ValueError(f"vec_to_tril_matrix(): {vec.shape[-1]} elements do not fill a triangle")
    made = vec.new_zeros(vec.shape[:-1] + (rows, rows))
    made[..., row, column] = vec
    return made


def tril_matrix_to_vec(mat, diag=0):
    """The elements of square matrices up to diagonal `diag`, row by row.

    >>> tril_matrix_to_vec(wisp.tensor([[1.0, 0.0], [2.0, 3.0]]))
    tensor([1., 2., 3.])
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    row, column = wisp.tril_indices(n, n, diag)
    return mat[..., row, column]
