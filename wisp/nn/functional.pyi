# Made by tools/gen_stubs.py from the operator table: do not edit.
from builtins import float as _float
from builtins import int as _int
from collections.abc import Sequence

from wisp._C import Tensor, _dtype
from wisp.nn._functions import alpha_dropout as alpha_dropout
from wisp.nn._functions import bilinear as bilinear
from wisp.nn._functions import cosine_similarity as cosine_similarity
from wisp.nn._functions import dropout as dropout
from wisp.nn._functions import dropout1d as dropout1d
from wisp.nn._functions import dropout2d as dropout2d
from wisp.nn._functions import dropout3d as dropout3d
from wisp.nn._functions import embedding as embedding
from wisp.nn._functions import feature_alpha_dropout as feature_alpha_dropout
from wisp.nn._functions import gumbel_softmax as gumbel_softmax
from wisp.nn._functions import normalize as normalize
from wisp.nn._functions import one_hot as one_hot
from wisp.nn._functions import pairwise_distance as pairwise_distance
from wisp.nn._functions import relu as relu

def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor: ...
def log_softmax(
    input: Tensor, dim: _int | None = None, _stacklevel: _int = 3, dtype: _dtype | None = None
) -> Tensor: ...
def pad(input: Tensor, pad: Sequence[_int], mode: str = "constant", value: _float | None = None) -> Tensor: ...
def softmax(input: Tensor, dim: _int | None = None, _stacklevel: _int = 3, dtype: _dtype | None = None) -> Tensor: ...
def softmin(input: Tensor, dim: _int | None = None, _stacklevel: _int = 3, dtype: _dtype | None = None) -> Tensor: ...
