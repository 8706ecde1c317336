"""The Python array API standard: what `Tensor.__array_namespace__()` returns.

Functions have the standard's names, signatures and rules (arrays of no dimension take part in promotion, for example)
where those differ from wisp's own; arrays are wisp's tensors.
"""

from math import e, inf, nan, pi

from wisp import (
    bool,
    complex64,
    complex128,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from wisp.array_api import fft, linalg
from wisp.array_api._creation import (
    arange,
    asarray,
    empty,
    empty_like,
    eye,
    from_dlpack,
    full,
    full_like,
    linspace,
    meshgrid,
    ones,
    ones_like,
    tril,
    triu,
    where,
    zeros,
    zeros_like,
)
from wisp.array_api._dtypes import astype, can_cast, finfo, iinfo, isdtype, result_type
from wisp.array_api._elementwise import *
from wisp.array_api._functions import (
    all,
    any,
    argmax,
    argmin,
    argsort,
    broadcast_arrays,
    broadcast_to,
    concat,
    count_nonzero,
    cumulative_prod,
    cumulative_sum,
    diff,
    expand_dims,
    flip,
    matrix_transpose,
    max,
    mean,
    min,
    moveaxis,
    nonzero,
    permute_dims,
    prod,
    repeat,
    reshape,
    roll,
    searchsorted,
    sort,
    squeeze,
    stack,
    std,
    sum,
    take,
    take_along_axis,
    tile,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
    unstack,
    var,
)
from wisp.array_api._info import __array_namespace_info__
from wisp.array_api.linalg import matmul, tensordot, vecdot

__array_api_version__ = "2024.12"
newaxis = None
