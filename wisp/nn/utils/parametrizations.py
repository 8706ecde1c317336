"""Parametrizations that are often wanted: orthogonal matrices, and weights of a given norm."""

from __future__ import annotations

from functools import partial

from wisp import _C
from wisp._C import Tensor
from wisp.nn.modules.module import Module
from wisp.nn.utils import _norms, parametrize

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

_cat, _eye, _zeros_like = (_C._functions[name] for name in ("cat", "eye", "zeros_like"))
_normalize = _C._functional["normalize"]


def _checked(module, name):
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return weight


# --- orthogonal matrices


def _orthogonalized(matrix):
    """The orthogonal factor of a QR decomposition, with the signs that make it continuous."""
    q, r = _C._linalg["qr"](matrix)
    return q * r.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def _is_orthogonal(matrix):
    columns = matrix.shape[-1]
    eps = 10 * columns * _EPS[str(matrix.real.dtype).rpartition(".")[2]]
    identity = _eye(columns, dtype=matrix.dtype)
    return bool(((matrix.mH @ matrix - identity).abs() <= eps).all())


_EPS = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}


class _Orthogonal(Module):
    """An orthogonal matrix as a function of any: by an exponential, a Cayley transform or Householder reflections.

    With a base, the matrix is that base times the function, and assigning to it moves the base: the function stays
    near the identity, where it behaves best.
    """

    def __init__(self, weight, orthogonal_map, use_trivialization):
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x: Tensor) -> Tensor:
        wide = x.shape[-2] < x.shape[-1]
        x = x.mT if wide else x
        found = self._reflections(x) if self.orthogonal_map == "householder" else self._of_skew(x)
        if hasattr(self, "base"):
            found = self.base @ found
        return found.mT if wide else found

    def _of_skew(self, x):
        rows, columns = x.shape[-2:]
        x = x.tril()
        if rows != columns:
            x = _cat([x, x.new_zeros((*x.shape[:-1], rows - columns))], -1)
        skew = x - x.mH
        if self.orthogonal_map == "matrix_exp":
            found = _C._functions["matrix_exp"](skew)
        else:
            identity = _eye(rows, dtype=skew.dtype)
            found = _C._linalg["solve"](identity - skew / 2, identity + skew / 2)
        return found[..., :columns]

    @staticmethod
    def _reflections(x):
        below = x.tril(-1)
        tau = 2.0 / (1.0 + (below * below).sum(-2))
        found = _C._linalg["householder_product"](below, tau)
        return found * x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)  # signs

    def right_inverse(self, value: Tensor) -> Tensor:
        with _C.no_grad():
            if value.shape != self.shape:
                raise ValueError(f"Expected a matrix or batch of matrices of shape {self.shape}. "
                                 f"Got a tensor of shape {value.shape}.")  # fmt: skip
            wide = value.shape[-2] < value.shape[-1]
            tall = value.mT if wide else value
            if not hasattr(self, "base"):
                kept = self._kept_without_base(tall)
                return kept.mT if wide else kept
            self.base = self._new_base(tall)
            kept = _zeros_like(value)
            kept.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
            return kept

    def _kept_without_base(self, tall):
        if self.orthogonal_map != "householder":
            raise NotImplementedError("It is not possible to assign to the matrix exponential or the Cayley parametrizations "
                                      "when use_trivialization=False.")  # fmt: skip
        kept, tau = _C._functions["geqrf"](tall)
        diagonal = kept.diagonal(dim1=-2, dim2=-1)
        diagonal.sign_()
        diagonal[tau == 0.0] *= -1
        return kept

    @staticmethod
    def _new_base(tall):
        rows, columns = tall.shape[-2:]
        if rows == columns:
            return tall.clone() if _is_orthogonal(tall) else _orthogonalized(tall)
        rest = tall.new_empty((*tall.shape[:-1], rows - columns)).normal_()
        return _orthogonalized(_cat([tall, rest], -1))


def orthogonal(module: Module, name: str = "weight", orthogonal_map: str | None = None, *,
               use_trivialization: bool = True) -> Module:  # fmt: skip
    """Keeps a weight orthogonal (unitary if complex): of orthonormal columns, or rows if those are fewer.

    Args:
        module: the module that has it.
        name: its name.
        orthogonal_map: "matrix_exp", "cayley" or "householder"; the first if it is square or complex, else the last.
        use_trivialization: whether to work relative to a base matrix, which training likes better.
    """
    weight = _checked(module, name)
    if weight.dim() < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.dim()} dimensions.")
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in ("matrix_exp", "cayley", "householder"):
        raise ValueError('orthogonal_map has to be one of "matrix_exp", "cayley", "householder". '
                         f"Got: {orthogonal_map}")  # fmt: skip
    made = _Orthogonal(weight, orthogonal_map, use_trivialization)
    return parametrize.register_parametrization(module, name, made, unsafe=True)


# --- norms


class _WeightNorm(Module):
    """A weight as norms (original0) times directions (original1)."""

    def __init__(self, dim=0):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return _norms.weight_norm_of(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return _norms.norm_except(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Separates the norms of a weight from its directions, so that both are trained.

    Args:
        module: the module that has it.
        name: its name.
        dim: the dimension along which there is a norm for each slice; None: one norm for all.

    >>> layer = wisp.nn.utils.parametrizations.weight_norm(wisp.nn.Linear(3, 2))
    >>> layer.parametrizations.weight.original0.shape
    wisp.Size([2, 1])
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
    module._register_load_state_dict_pre_hook(partial(_take_old_names, name))
    return module


def _take_old_names(name, state_dict, prefix, *_):
    """Makes files readable that nn.utils.weight_norm(), the older form, has written."""
    for end, original in (("_g", "original0"), ("_v", "original1")):
        old = prefix + name + end
        if old in state_dict:
            state_dict[f"{prefix}parametrizations.{name}.{original}"] = state_dict.pop(old)


class _SpectralNorm(Module):
    """A weight divided by its largest singular value, which is estimated by power iterations."""

    def __init__(self, weight, n_power_iterations=1, dim=0, eps=1e-12):
        super().__init__()
        ndim = weight.dim()
        if not -ndim <= dim < ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})")
        _norms.check_iterations(n_power_iterations)
        self.dim, self.eps = dim % ndim, eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = _norms.as_matrix(weight, self.dim)
            for name, size in zip(("_u", "_v"), matrix.shape):
                self.register_buffer(name, _normalize(matrix.new_empty(size).normal_(), dim=0, eps=eps))
            _norms.power_iteration(matrix, self._u, self._v, 15, eps)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.dim() == 1:
            return _normalize(weight, dim=0, eps=self.eps)
        matrix = _norms.as_matrix(weight, self.dim)
        if self.training:
            _norms.power_iteration(matrix, self._u, self._v, self.n_power_iterations, self.eps)
        return weight / _norms.largest_singular_value(matrix, self._u, self._v)

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
                  dim: int | None = None) -> Module:  # fmt: skip
    """Divides a weight by its largest singular value.

    Args:
        module: the module that has it.
        name: its name.
        n_power_iterations: how many iterations improve the estimate of that value in every training step.
        eps: the smallest norm to divide by.
        dim: the dimension of the outputs, if it is not the usual one.
    """
    weight = _checked(module, name)
    made = _SpectralNorm(weight, n_power_iterations, _norms.default_dim(module, dim), eps)
    return parametrize.register_parametrization(module, name, made)
