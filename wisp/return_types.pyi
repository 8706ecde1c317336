# Made by tools/gen_stubs.py from the operator table: do not edit.
from typing import NamedTuple

from wisp._C import Tensor

class aminmax(NamedTuple):
    min: Tensor
    max: Tensor

class cummax(NamedTuple):
    values: Tensor
    indices: Tensor

class cummin(NamedTuple):
    values: Tensor
    indices: Tensor

class frexp(NamedTuple):
    mantissa: Tensor
    exponent: Tensor

class geqrf(NamedTuple):
    a: Tensor
    tau: Tensor

class histogram(NamedTuple):
    hist: Tensor
    bin_edges: Tensor

class kthvalue(NamedTuple):
    values: Tensor
    indices: Tensor

class linalg_cholesky_ex(NamedTuple):
    L: Tensor
    info: Tensor

class linalg_eig(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor

class linalg_eigh(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor

class linalg_inv_ex(NamedTuple):
    inverse: Tensor
    info: Tensor

class linalg_ldl_factor(NamedTuple):
    LD: Tensor
    pivots: Tensor

class linalg_ldl_factor_ex(NamedTuple):
    LD: Tensor
    pivots: Tensor
    info: Tensor

class linalg_lstsq(NamedTuple):
    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor

class linalg_lu(NamedTuple):
    P: Tensor
    L: Tensor
    U: Tensor

class linalg_lu_factor(NamedTuple):
    LU: Tensor
    pivots: Tensor

class linalg_lu_factor_ex(NamedTuple):
    LU: Tensor
    pivots: Tensor
    info: Tensor

class linalg_qr(NamedTuple):
    Q: Tensor
    R: Tensor

class linalg_slogdet(NamedTuple):
    sign: Tensor
    logabsdet: Tensor

class linalg_solve_ex(NamedTuple):
    result: Tensor
    info: Tensor

class linalg_svd(NamedTuple):
    U: Tensor
    S: Tensor
    Vh: Tensor

class lu_unpack(NamedTuple):
    P: Tensor
    L: Tensor
    U: Tensor

class max(NamedTuple):
    values: Tensor
    indices: Tensor

class median(NamedTuple):
    values: Tensor
    indices: Tensor

class min(NamedTuple):
    values: Tensor
    indices: Tensor

class mode(NamedTuple):
    values: Tensor
    indices: Tensor

class nanmedian(NamedTuple):
    values: Tensor
    indices: Tensor

class qr(NamedTuple):
    Q: Tensor
    R: Tensor

class slogdet(NamedTuple):
    sign: Tensor
    logabsdet: Tensor

class sort(NamedTuple):
    values: Tensor
    indices: Tensor

class svd(NamedTuple):
    U: Tensor
    S: Tensor
    V: Tensor

class topk(NamedTuple):
    values: Tensor
    indices: Tensor

class triangular_solve(NamedTuple):
    solution: Tensor
    cloned_coefficient: Tensor
