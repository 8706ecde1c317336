# Made by tools/gen_stubs.py from the operator table: do not edit.
from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from collections.abc import Sequence
from typing import Final, Literal, overload

from wisp import __config__ as __config__
from wisp import _utils as _utils
from wisp import accelerator as accelerator
from wisp import amp as amp
from wisp import array_api as array_api
from wisp import autograd as autograd
from wisp import backends as backends
from wisp import compiler as compiler
from wisp import cpu as cpu
from wisp import cuda as cuda
from wisp import distributed as distributed
from wisp import distributions as distributions
from wisp import fft as fft
from wisp import func as func
from wisp import functional as functional
from wisp import futures as futures
from wisp import hub as hub
from wisp import jit as jit
from wisp import library as library
from wisp import linalg as linalg
from wisp import masked as masked
from wisp import memory as memory
from wisp import models as models
from wisp import multiprocessing as multiprocessing
from wisp import nn as nn
from wisp import onnx as onnx
from wisp import optim as optim
from wisp import overrides as overrides
from wisp import random as random
from wisp import return_types as return_types
from wisp import serialization as serialization
from wisp import signal as signal
from wisp import special as special
from wisp import storage as storage
from wisp import testing as testing
from wisp import torch_version as torch_version
from wisp import types as types
from wisp import utils as utils
from wisp import version as version
from wisp._basics import _assert as _assert
from wisp._basics import _check as _check
from wisp._basics import _check_index as _check_index
from wisp._basics import _check_not_implemented as _check_not_implemented
from wisp._basics import _check_type as _check_type
from wisp._basics import _check_value as _check_value
from wisp._basics import addmv_ as addmv_
from wisp._basics import as_strided_ as as_strided_
from wisp._basics import asarray as asarray
from wisp._basics import clamp_max_ as clamp_max_
from wisp._basics import clamp_min_ as clamp_min_
from wisp._basics import detach_ as detach_
from wisp._basics import fill_ as fill_
from wisp._basics import from_dlpack as from_dlpack
from wisp._basics import from_file as from_file
from wisp._basics import gcd_ as gcd_
from wisp._basics import get_device as get_device
from wisp._basics import index_put_ as index_put_
from wisp._basics import is_complex as is_complex
from wisp._basics import is_conj as is_conj
from wisp._basics import is_distributed as is_distributed
from wisp._basics import is_floating_point as is_floating_point
from wisp._basics import is_inference as is_inference
from wisp._basics import is_neg as is_neg
from wisp._basics import is_nonzero as is_nonzero
from wisp._basics import is_same_size as is_same_size
from wisp._basics import is_signed as is_signed
from wisp._basics import is_storage as is_storage
from wisp._basics import is_tensor as is_tensor
from wisp._basics import lcm_ as lcm_
from wisp._basics import ldexp_ as ldexp_
from wisp._basics import numel as numel
from wisp._basics import resize_as_ as resize_as_
from wisp._basics import resolve_conj as resolve_conj
from wisp._basics import resolve_neg as resolve_neg
from wisp._basics import scalar_tensor as scalar_tensor
from wisp._basics import to_dlpack as to_dlpack
from wisp._basics import typename as typename
from wisp._basics import xlogy_ as xlogy_
from wisp._C import DisableTorchFunction as DisableTorchFunction
from wisp._C import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from wisp._C import Generator as Generator
from wisp._C import OutOfMemoryError as OutOfMemoryError
from wisp._C import Size as Size
from wisp._C import Tensor as Tensor
from wisp._C import _Device, _dtype, _layout, _memory_format, _Number, _Tensors
from wisp._C import as_tensor as as_tensor
from wisp._C import bfloat16 as bfloat16
from wisp._C import bool as bool
from wisp._C import can_cast as can_cast
from wisp._C import cdouble as cdouble
from wisp._C import cfloat as cfloat
from wisp._C import channels_last as channels_last
from wisp._C import channels_last_3d as channels_last_3d
from wisp._C import complex64 as complex64
from wisp._C import complex128 as complex128
from wisp._C import contiguous_format as contiguous_format
from wisp._C import default_generator as default_generator
from wisp._C import device as device
from wisp._C import double as double
from wisp._C import dtype as dtype
from wisp._C import enable_grad as enable_grad
from wisp._C import float as float
from wisp._C import float8_e4m3fn as float8_e4m3fn
from wisp._C import float8_e4m3fnuz as float8_e4m3fnuz
from wisp._C import float8_e5m2 as float8_e5m2
from wisp._C import float8_e5m2fnuz as float8_e5m2fnuz
from wisp._C import float8_e8m0fnu as float8_e8m0fnu
from wisp._C import float16 as float16
from wisp._C import float32 as float32
from wisp._C import float64 as float64
from wisp._C import from_numpy as from_numpy
from wisp._C import frombuffer as frombuffer
from wisp._C import get_default_dtype as get_default_dtype
from wisp._C import get_num_threads as get_num_threads
from wisp._C import half as half
from wisp._C import inference_mode as inference_mode
from wisp._C import int as int
from wisp._C import int8 as int8
from wisp._C import int16 as int16
from wisp._C import int32 as int32
from wisp._C import int64 as int64
from wisp._C import is_grad_enabled as is_grad_enabled
from wisp._C import is_inference_mode_enabled as is_inference_mode_enabled
from wisp._C import layout as layout
from wisp._C import long as long
from wisp._C import memory_format as memory_format
from wisp._C import no_grad as no_grad
from wisp._C import preserve_format as preserve_format
from wisp._C import promote_types as promote_types
from wisp._C import result_type as result_type
from wisp._C import set_default_dtype as set_default_dtype
from wisp._C import set_grad_enabled as set_grad_enabled
from wisp._C import set_num_threads as set_num_threads
from wisp._C import short as short
from wisp._C import sparse_bsc as sparse_bsc
from wisp._C import sparse_bsr as sparse_bsr
from wisp._C import sparse_coo as sparse_coo
from wisp._C import sparse_csc as sparse_csc
from wisp._C import sparse_csr as sparse_csr
from wisp._C import strided as strided
from wisp._C import tensor as tensor
from wisp._C import uint8 as uint8
from wisp._C import uint16 as uint16
from wisp._C import uint32 as uint32
from wisp._C import uint64 as uint64
from wisp._checkpoint import Checkpoint as Checkpoint
from wisp._lazy import compile as compile
from wisp._lazy import lazy as lazy
from wisp._legacy import BFloat16Tensor as BFloat16Tensor
from wisp._legacy import BoolTensor as BoolTensor
from wisp._legacy import ByteTensor as ByteTensor
from wisp._legacy import CharTensor as CharTensor
from wisp._legacy import ComplexDoubleTensor as ComplexDoubleTensor
from wisp._legacy import ComplexFloatTensor as ComplexFloatTensor
from wisp._legacy import DoubleTensor as DoubleTensor
from wisp._legacy import FloatTensor as FloatTensor
from wisp._legacy import HalfTensor as HalfTensor
from wisp._legacy import IntTensor as IntTensor
from wisp._legacy import LongTensor as LongTensor
from wisp._legacy import ShortTensor as ShortTensor
from wisp._legacy import set_default_tensor_type as set_default_tensor_type
from wisp._lowrank import lobpcg as lobpcg
from wisp._lowrank import pca_lowrank as pca_lowrank
from wisp._lowrank import svd_lowrank as svd_lowrank
from wisp._numbered import alpha_dropout_ as alpha_dropout_
from wisp._numbered import batch_norm as batch_norm
from wisp._numbered import binary_cross_entropy_with_logits as binary_cross_entropy_with_logits
from wisp._numbered import cosine_embedding_loss as cosine_embedding_loss
from wisp._numbered import dropout_ as dropout_
from wisp._numbered import feature_alpha_dropout as feature_alpha_dropout
from wisp._numbered import feature_alpha_dropout_ as feature_alpha_dropout_
from wisp._numbered import feature_dropout as feature_dropout
from wisp._numbered import feature_dropout_ as feature_dropout_
from wisp._numbered import frobenius_norm as frobenius_norm
from wisp._numbered import hinge_embedding_loss as hinge_embedding_loss
from wisp._numbered import instance_norm as instance_norm
from wisp._numbered import kl_div as kl_div
from wisp._numbered import margin_ranking_loss as margin_ranking_loss
from wisp._numbered import norm_except_dim as norm_except_dim
from wisp._numbered import poisson_nll_loss as poisson_nll_loss
from wisp._numbered import triplet_margin_loss as triplet_margin_loss
from wisp._ops import ops as ops
from wisp._settings import are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled
from wisp._settings import get_default_device as get_default_device
from wisp._settings import get_deterministic_debug_mode as get_deterministic_debug_mode
from wisp._settings import get_device_module as get_device_module
from wisp._settings import get_float32_matmul_precision as get_float32_matmul_precision
from wisp._settings import get_num_interop_threads as get_num_interop_threads
from wisp._settings import (
    is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled,
)
from wisp._settings import is_warn_always_enabled as is_warn_always_enabled
from wisp._settings import set_default_device as set_default_device
from wisp._settings import set_deterministic_debug_mode as set_deterministic_debug_mode
from wisp._settings import set_float32_matmul_precision as set_float32_matmul_precision
from wisp._settings import set_flush_denormal as set_flush_denormal
from wisp._settings import set_num_interop_threads as set_num_interop_threads
from wisp._settings import set_warn_always as set_warn_always
from wisp._settings import use_deterministic_algorithms as use_deterministic_algorithms
from wisp._storage import TypedStorage as TypedStorage
from wisp._storage import UntypedStorage as UntypedStorage
from wisp._summary import summary as summary
from wisp._tensor_str import get_printoptions as get_printoptions
from wisp._tensor_str import printoptions as printoptions
from wisp._tensor_str import set_printoptions as set_printoptions
from wisp._type_info import finfo as finfo
from wisp._type_info import iinfo as iinfo
from wisp.amp import GradScaler as GradScaler
from wisp.amp.autocast_mode import autocast as autocast
from wisp.amp.autocast_mode import autocast_decrement_nesting as autocast_decrement_nesting
from wisp.amp.autocast_mode import autocast_increment_nesting as autocast_increment_nesting
from wisp.amp.autocast_mode import clear_autocast_cache as clear_autocast_cache
from wisp.amp.autocast_mode import get_autocast_cpu_dtype as get_autocast_cpu_dtype
from wisp.amp.autocast_mode import get_autocast_dtype as get_autocast_dtype
from wisp.amp.autocast_mode import is_autocast_cache_enabled as is_autocast_cache_enabled
from wisp.amp.autocast_mode import is_autocast_cpu_enabled as is_autocast_cpu_enabled
from wisp.amp.autocast_mode import is_autocast_enabled as is_autocast_enabled
from wisp.amp.autocast_mode import set_autocast_cache_enabled as set_autocast_cache_enabled
from wisp.amp.autocast_mode import set_autocast_cpu_dtype as set_autocast_cpu_dtype
from wisp.amp.autocast_mode import set_autocast_cpu_enabled as set_autocast_cpu_enabled
from wisp.amp.autocast_mode import set_autocast_dtype as set_autocast_dtype
from wisp.amp.autocast_mode import set_autocast_enabled as set_autocast_enabled
from wisp.cuda import Event as Event
from wisp.cuda import Stream as Stream
from wisp.func import vmap as vmap
from wisp.functional import broadcast_shapes as broadcast_shapes
from wisp.functional import cond as cond
from wisp.functional import einsum as einsum
from wisp.functional import gradient as gradient
from wisp.functional import histogramdd as histogramdd
from wisp.functional import lu as lu
from wisp.functional import segment_reduce as segment_reduce
from wisp.functional import tensordot as tensordot
from wisp.functional import unique as unique
from wisp.functional import unique_consecutive as unique_consecutive
from wisp.functional import unravel_index as unravel_index
from wisp.futures import Future as Future
from wisp.jit import ScriptFunction as ScriptFunction
from wisp.jit import ScriptModule as ScriptModule
from wisp.random import get_rng_state as get_rng_state
from wisp.random import initial_seed as initial_seed
from wisp.random import manual_seed as manual_seed
from wisp.random import seed as seed
from wisp.random import set_rng_state as set_rng_state
from wisp.serialization import load as load
from wisp.serialization import save as save
from wisp.version import __version__ as __version__

e: Final[_float]
inf: Final[_float]
nan: Final[_float]
newaxis: Final[None]
pi: Final[_float]

def abs(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def abs_(input: Tensor) -> Tensor: ...
def absolute(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def absolute_(input: Tensor) -> Tensor: ...
def acos(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def acos_(input: Tensor) -> Tensor: ...
def acosh(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def acosh_(input: Tensor) -> Tensor: ...
def adaptive_avg_pool1d(input: Tensor, output_size: _int | Sequence[_int]) -> Tensor: ...
def adaptive_max_pool1d(input: Tensor, output_size: _int | Sequence[_int]) -> tuple[Tensor, Tensor]: ...
def add(
    input: Tensor | _Number, other: Tensor | _Number, *, alpha: _Number = 1, out: Tensor | None = None
) -> Tensor: ...
def addbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None
) -> Tensor: ...
def addcdiv(
    input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1, out: Tensor | None = None
) -> Tensor: ...
def addcmul(
    input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1, out: Tensor | None = None
) -> Tensor: ...
def addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None
) -> Tensor: ...
def addmv(
    input: Tensor, mat: Tensor, vec: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None
) -> Tensor: ...
def addr(
    input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None
) -> Tensor: ...
def adjoint(input: Tensor) -> Tensor: ...
def affine_grid_generator(theta: Tensor, size: Sequence[_int], align_corners: _bool) -> Tensor: ...
def alias_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def all(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def all(
    input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | None = None
) -> Tensor: ...
def allclose(
    input: Tensor, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False
) -> _bool: ...
def alpha_dropout(input: Tensor, p: _float = 0.5, training: _bool = False, inplace: _bool = False) -> Tensor: ...
def amax(
    input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = False, *, out: Tensor | None = None
) -> Tensor: ...
def amin(
    input: Tensor, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = False, *, out: Tensor | None = None
) -> Tensor: ...
def aminmax(
    input: Tensor, *, dim: _int | None = None, keepdim: _bool = False, out: _Tensors | None = None
) -> return_types.aminmax: ...
def angle(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def any(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def any(
    input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | None = None
) -> Tensor: ...
@overload
def arange(
    end: _Number,
    *,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool | None = None,
) -> Tensor: ...
@overload
def arange(
    start: _Number,
    end: _Number,
    step: _Number = 1,
    *,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool | None = None,
) -> Tensor: ...
def arccos(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def arccos_(input: Tensor) -> Tensor: ...
def arccosh(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def arccosh_(input: Tensor) -> Tensor: ...
def arcsin(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def arcsin_(input: Tensor) -> Tensor: ...
def arcsinh(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def arcsinh_(input: Tensor) -> Tensor: ...
def arctan(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def arctan_(input: Tensor) -> Tensor: ...
def arctan2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def arctanh(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def arctanh_(input: Tensor) -> Tensor: ...
def argmax(input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor: ...
def argmin(input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor: ...
@overload
def argsort(input: Tensor, dim: _int = -1, descending: _bool = False, *, out: Tensor | None = None) -> Tensor: ...
@overload
def argsort(
    input: Tensor, *, stable: _bool, dim: _int = -1, descending: _bool = False, out: Tensor | None = None
) -> Tensor: ...
def argwhere(input: Tensor) -> Tensor: ...
def as_strided(
    input: Tensor, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = None
) -> Tensor: ...
def as_strided_copy(
    input: Tensor,
    size: Sequence[_int],
    stride: Sequence[_int],
    storage_offset: _int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def as_strided_scatter(
    input: Tensor,
    src: Tensor,
    size: Sequence[_int],
    stride: Sequence[_int],
    storage_offset: _int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def asin(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def asin_(input: Tensor) -> Tensor: ...
def asinh(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def asinh_(input: Tensor) -> Tensor: ...
def atan(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def atan_(input: Tensor) -> Tensor: ...
def atan2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def atanh(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def atanh_(input: Tensor) -> Tensor: ...
@overload
def atleast_1d(input: Tensor) -> Tensor: ...
@overload
def atleast_1d(*tensors: Tensor) -> tuple[Tensor, ...]: ...
@overload
def atleast_1d(tensors: _Tensors) -> tuple[Tensor, ...]: ...
@overload
def atleast_2d(input: Tensor) -> Tensor: ...
@overload
def atleast_2d(*tensors: Tensor) -> tuple[Tensor, ...]: ...
@overload
def atleast_2d(tensors: _Tensors) -> tuple[Tensor, ...]: ...
@overload
def atleast_3d(input: Tensor) -> Tensor: ...
@overload
def atleast_3d(*tensors: Tensor) -> tuple[Tensor, ...]: ...
@overload
def atleast_3d(tensors: _Tensors) -> tuple[Tensor, ...]: ...
def avg_pool1d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    padding: _int | Sequence[_int] = 0,
    ceil_mode: _bool = False,
    count_include_pad: _bool = True,
) -> Tensor: ...
def baddbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None
) -> Tensor: ...
def bartlett_window(
    window_length: _int,
    periodic: _bool = True,
    *,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    layout: _layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool | None = None,
) -> Tensor: ...
@overload
def bernoulli(input: Tensor, *, generator: Generator | None = None, out: Tensor | None = None) -> Tensor: ...
@overload
def bernoulli(input: Tensor, p: _float = 0.5, *, generator: Generator | None = None) -> Tensor: ...
@overload
def bernoulli(input: Tensor, p: Tensor, *, generator: Generator | None = None) -> Tensor: ...
@overload
def bernoulli_(input: Tensor, p: _float = 0.5, *, generator: Generator | None = None) -> Tensor: ...
@overload
def bernoulli_(input: Tensor, p: Tensor, *, generator: Generator | None = None) -> Tensor: ...
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor: ...
def bincount(
    input: Tensor, weights: Tensor | None = None, minlength: _int = 0, *, out: Tensor | None = None
) -> Tensor: ...
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor: ...
def bitwise_and(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
def bitwise_left_shift(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
def bitwise_not(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def bitwise_not_(input: Tensor) -> Tensor: ...
def bitwise_or(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
def bitwise_right_shift(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
def bitwise_xor(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
def blackman_window(
    window_length: _int,
    periodic: _bool = True,
    *,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    layout: _layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool | None = None,
) -> Tensor: ...
@overload
def block_diag(*tensors: Tensor) -> Tensor: ...
@overload
def block_diag(tensors: _Tensors) -> Tensor: ...
def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]: ...
@overload
def broadcast_tensors(tensors: _Tensors) -> tuple[Tensor, ...]: ...
@overload
def broadcast_to(input: Tensor, size: Sequence[_int]) -> Tensor: ...
@overload
def broadcast_to(input: Tensor, *size: _int) -> Tensor: ...
def bucketize(
    input: Tensor | _Number,
    boundaries: Tensor,
    *,
    out_int32: _bool = False,
    right: _bool = False,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def cartesian_prod(*tensors: Tensor) -> Tensor: ...
@overload
def cartesian_prod(tensors: _Tensors) -> Tensor: ...
def cat(tensors: _Tensors, dim: _int = 0, *, out: Tensor | None = None) -> Tensor: ...
def cdist(
    x1: Tensor, x2: Tensor, p: _float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary"
) -> Tensor: ...
def ceil(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def ceil_(input: Tensor) -> Tensor: ...
def celu(input: Tensor, alpha: _float = 1.0, inplace: _bool = False) -> Tensor: ...
def celu_(input: Tensor, alpha: _float = 1.0) -> Tensor: ...
@overload
def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor: ...
@overload
def chain_matmul(matrices: _Tensors, *, out: Tensor | None = None) -> Tensor: ...
def channel_shuffle(input: Tensor, groups: _int) -> Tensor: ...
def cholesky(input: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor: ...
def cholesky_inverse(input: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor: ...
def cholesky_solve(input: Tensor, input2: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor: ...
def chunk(input: Tensor, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]: ...
def clamp(
    input: Tensor,
    min: Tensor | _Number | None = None,
    max: Tensor | _Number | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def clamp_(input: Tensor, min: Tensor | _Number | None = None, max: Tensor | _Number | None = None) -> Tensor: ...
def clamp_max(input: Tensor, max: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
def clamp_min(input: Tensor, min: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
def clip(
    input: Tensor,
    min: Tensor | _Number | None = None,
    max: Tensor | _Number | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def clip_(input: Tensor, min: Tensor | _Number | None = None, max: Tensor | _Number | None = None) -> Tensor: ...
def clone(input: Tensor, *, memory_format: _memory_format | None = None) -> Tensor: ...
def column_stack(tensors: _Tensors, *, out: Tensor | None = None) -> Tensor: ...
def combinations(input: Tensor, r: _int = 2, with_replacement: _bool = False) -> Tensor: ...
def complex(real: Tensor, imag: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def concat(tensors: _Tensors, dim: _int = 0, *, out: Tensor | None = None) -> Tensor: ...
def concatenate(tensors: _Tensors, dim: _int = 0, *, out: Tensor | None = None) -> Tensor: ...
def conj(input: Tensor) -> Tensor: ...
def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def conj_physical_(input: Tensor) -> Tensor: ...
def constant_pad_nd(input: Tensor, pad: Sequence[_int], value: _Number = 0) -> Tensor: ...
@overload
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    groups: _int = 1,
) -> Tensor: ...
@overload
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: str = "valid",
    dilation: _int | Sequence[_int] = 1,
    groups: _int = 1,
) -> Tensor: ...
@overload
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    groups: _int = 1,
) -> Tensor: ...
@overload
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: str = "valid",
    dilation: _int | Sequence[_int] = 1,
    groups: _int = 1,
) -> Tensor: ...
@overload
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    groups: _int = 1,
) -> Tensor: ...
@overload
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: str = "valid",
    dilation: _int | Sequence[_int] = 1,
    groups: _int = 1,
) -> Tensor: ...
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: _int = 0) -> Tensor: ...
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] = 0,
    output_padding: _int | Sequence[_int] = 0,
    groups: _int = 1,
    dilation: _int | Sequence[_int] = 1,
) -> Tensor: ...
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] = 0,
    output_padding: _int | Sequence[_int] = 0,
    groups: _int = 1,
    dilation: _int | Sequence[_int] = 1,
) -> Tensor: ...
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Sequence[_int] = 1,
    padding: _int | Sequence[_int] = 0,
    output_padding: _int | Sequence[_int] = 0,
    groups: _int = 1,
    dilation: _int | Sequence[_int] = 1,
) -> Tensor: ...
def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[_int],
    padding: Sequence[_int],
    dilation: Sequence[_int],
    transposed: _bool,
    output_padding: Sequence[_int],
    groups: _int,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def copysign(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
def corrcoef(input: Tensor) -> Tensor: ...
def cos(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def cos_(input: Tensor) -> Tensor: ...
def cosh(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def cosh_(input: Tensor) -> Tensor: ...
def cosine_similarity(x1: Tensor, x2: Tensor, dim: _int = 1, eps: _float = 1e-08) -> Tensor: ...
def count_nonzero(input: Tensor, dim: _int | Sequence[_int] | None = None) -> Tensor: ...
def cov(
    input: Tensor, *, correction: _int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor: ...
def cross(input: Tensor, other: Tensor, dim: _int | None = None, *, out: Tensor | None = None) -> Tensor: ...
@overload
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Sequence[_int],
    target_lengths: Sequence[_int],
    blank: _int = 0,
    reduction: _int = 1,
    zero_infinity: _bool = False,
) -> Tensor: ...
@overload
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: _int = 0,
    reduction: _int = 1,
    zero_infinity: _bool = False,
) -> Tensor: ...
def cummax(input: Tensor, dim: _int, *, out: _Tensors | None = None) -> return_types.cummax: ...
def cummin(input: Tensor, dim: _int, *, out: _Tensors | None = None) -> return_types.cummin: ...
def cumprod(input: Tensor, dim: _int, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor: ...
def cumprod_(input: Tensor, dim: _int, *, dtype: _dtype | None = None) -> Tensor: ...
def cumsum(input: Tensor, dim: _int, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor: ...
def cumsum_(input: Tensor, dim: _int, *, dtype: _dtype | None = None) -> Tensor: ...
@overload
def cumulative_trapezoid(y: Tensor, x: Tensor, *, dim: _int = -1) -> Tensor: ...
@overload
def cumulative_trapezoid(y: Tensor, *, dx: _Number = 1, dim: _int = -1) -> Tensor: ...
def deg2rad(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def deg2rad_(input: Tensor) -> Tensor: ...
def det(input: Tensor) -> Tensor: ...
def detach(input: Tensor) -> Tensor: ...
def detach_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def diag(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor: ...
def diag_embed(input: Tensor, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor: ...
def diagflat(input: Tensor, offset: _int = 0) -> Tensor: ...
def diagonal(input: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor: ...
def diagonal_copy(
    input: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1, *, out: Tensor | None = None
) -> Tensor: ...
def diagonal_scatter(
    input: Tensor, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1, *, out: Tensor | None = None
) -> Tensor: ...
def diff(
    input: Tensor,
    n: _int = 1,
    dim: _int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def digamma_(input: Tensor) -> Tensor: ...
def dist(input: Tensor, other: Tensor, p: _Number = 2) -> Tensor: ...
@overload
def div(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
@overload
def div(
    input: Tensor | _Number, other: Tensor | _Number, *, rounding_mode: str | None, out: Tensor | None = None
) -> Tensor: ...
@overload
def divide(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
@overload
def divide(
    input: Tensor | _Number, other: Tensor | _Number, *, rounding_mode: str | None, out: Tensor | None = None
) -> Tensor: ...
def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def dropout(input: Tensor, p: _float = 0.5, training: _bool = True, inplace: _bool = False) -> Tensor: ...
@overload
def dsplit(input: Tensor, sections: _int) -> tuple[Tensor, ...]: ...
@overload
def dsplit(input: Tensor, indices: Sequence[_int]) -> tuple[Tensor, ...]: ...
@overload
def dsplit(input: Tensor, *indices: _int) -> tuple[Tensor, ...]: ...
def dstack(tensors: _Tensors, *, out: Tensor | None = None) -> Tensor: ...
def embedding(
    weight: Tensor, indices: Tensor, padding_idx: _int = -1, scale_grad_by_freq: _bool = False, sparse: _bool = False
) -> Tensor: ...
def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: _bool = False,
    mode: _int = 0,
    sparse: _bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: _bool = False,
    padding_idx: _int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]: ...
@overload
def empty(
    size: Sequence[_int],
    *,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    memory_format: _memory_format | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool | None = None,
) -> Tensor: ...
@overload
def empty(
    *size: _int,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    memory_format: _memory_format | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool | None = None,
) -> Tensor: ...
def empty_like(
    input: Tensor,
    *,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    memory_format: _memory_format | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool | None = None,
) -> Tensor: ...
def empty_permuted(
    size: Sequence[_int],
    physical_layout: Sequence[_int],
    *,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool | None = None,
) -> Tensor: ...
def empty_strided(
    size: Sequence[_int],
    stride: Sequence[_int],
    *,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool | None = None,
) -> Tensor: ...
def eq(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
def equal(input: Tensor, other: Tensor) -> _bool: ...
def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def erf_(input: Tensor) -> Tensor: ...
def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def erfc_(input: Tensor) -> Tensor: ...
def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def erfinv_(input: Tensor) -> Tensor: ...
def exp(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def exp_(input: Tensor) -> Tensor: ...
def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def exp2_(input: Tensor) -> Tensor: ...
@overload
def expand_copy(input: Tensor, size: Sequence[_int], *, out: Tensor | None = None) -> Tensor: ...
@overload
def expand_copy(input: Tensor, *size: _int, out: Tensor | None = None) -> Tensor: ...
def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def expm1_(input: Tensor) -> Tensor: ...
def eye(
    n: _int,
    m: _int | None = None,
    *,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool | None = None,
) -> Tensor: ...
def fill(input: Tensor, value: Tensor | _Number) -> Tensor: ...
def fix(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def fix_(input: Tensor) -> Tensor: ...
def flatten(input: Tensor, start_dim: _int = 0, end_dim: _int = -1) -> Tensor: ...
@overload
def flip(input: Tensor, dims: Sequence[_int]) -> Tensor: ...
@overload
def flip(input: Tensor, *dims: _int) -> Tensor: ...
def fliplr(input: Tensor) -> Tensor: ...
def flipud(input: Tensor) -> Tensor: ...
def float_power(input: Tensor | _Number, exponent: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
def floor(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def floor_(input: Tensor) -> Tensor: ...
def floor_divide(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
def fmax(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def fmin(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def fmod(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
def frac(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def frac_(input: Tensor) -> Tensor: ...
def frexp(input: Tensor, *, out: _Tensors | None = None) -> return_types.frexp: ...
def full(
    size: Sequence[_int],
    fill_value: _Number,
    *,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool | None = None,
) -> Tensor: ...
def full_like(
    input: Tensor,
    fill_value: _Number,
    *,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    memory_format: _memory_format | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool | None = None,
) -> Tensor: ...
def gather(
    input: Tensor, dim: _int, index: Tensor, *, sparse_grad: _bool = False, out: Tensor | None = None
) -> Tensor: ...
def gcd(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def ge(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
def geqrf(input: Tensor, *, out: _Tensors | None = None) -> return_types.geqrf: ...
def ger(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def greater(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
def greater_equal(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool
) -> Tensor: ...
def grid_sampler_2d(
    input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool
) -> Tensor: ...
def grid_sampler_3d(
    input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool
) -> Tensor: ...
def group_norm(
    input: Tensor, num_groups: _int, weight: Tensor | None = None, bias: Tensor | None = None, eps: _float = 1e-05
) -> Tensor: ...
@overload
def gru(
    input: Tensor,
    hx: Tensor,
    params: _Tensors,
    has_biases: _bool,
    num_layers: _int,
    dropout: _float,
    train: _bool,
    bidirectional: _bool,
    batch_first: _bool,
) -> tuple[Tensor, Tensor]: ...
@overload
def gru(
    data: Tensor,
    batch_sizes: Tensor,
    hx: Tensor,
    params: _Tensors,
    has_biases: _bool,
    num_layers: _int,
    dropout: _float,
    train: _bool,
    bidirectional: _bool,
) -> tuple[Tensor, Tensor]: ...
def gru_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor: ...
def gt(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
def hamming_window(
    window_length: _int,
    periodic: _bool = True,
    alpha: _float = 0.54,
    beta: _float = 0.46,
    *,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    layout: _layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool | None = None,
) -> Tensor: ...
def hann_window(
    window_length: _int,
    periodic: _bool = True,
    *,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    layout: _layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool | None = None,
) -> Tensor: ...
def hardshrink(input: Tensor, lambd: _Number = 0.5, *, out: Tensor | None = None) -> Tensor: ...
def heaviside(input: Tensor, values: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def histc(
    input: Tensor, bins: _int = 100, min: _Number = 0, max: _Number = 0, *, out: Tensor | None = None
) -> Tensor: ...
@overload
def histogram(
    input: Tensor, bins: Tensor, *, weight: Tensor | None = None, density: _bool = False, out: _Tensors | None = None
) -> return_types.histogram: ...
@overload
def histogram(
    input: Tensor,
    bins: _int = 100,
    *,
    range: Sequence[_float] | None = None,
    weight: Tensor | None = None,
    density: _bool = False,
    out: _Tensors | None = None,
) -> return_types.histogram: ...
@overload
def hsplit(input: Tensor, sections: _int) -> tuple[Tensor, ...]: ...
@overload
def hsplit(input: Tensor, indices: Sequence[_int]) -> tuple[Tensor, ...]: ...
@overload
def hsplit(input: Tensor, *indices: _int) -> tuple[Tensor, ...]: ...
def hstack(tensors: _Tensors, *, out: Tensor | None = None) -> Tensor: ...
def hypot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def i0_(input: Tensor) -> Tensor: ...
def igamma(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def igammac(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def imag(input: Tensor) -> Tensor: ...
def index_add(
    input: Tensor, dim: _int, index: Tensor, source: Tensor, *, alpha: _Number = 1, out: Tensor | None = None
) -> Tensor: ...
def index_copy(input: Tensor, dim: _int, index: Tensor, source: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def index_fill(input: Tensor, dim: _int, index: Tensor, value: Tensor | _Number) -> Tensor: ...
def index_put(input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: _bool = False) -> Tensor: ...
def index_reduce(
    input: Tensor,
    dim: _int,
    index: Tensor,
    source: Tensor,
    reduce: str,
    *,
    include_self: _bool = True,
    out: Tensor | None = None,
) -> Tensor: ...
def index_select(input: Tensor, dim: _int, index: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def inner(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def inverse(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def isclose(
    input: Tensor, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False
) -> Tensor: ...
def isfinite(input: Tensor) -> Tensor: ...
def isin(
    elements: Tensor | _Number,
    test_elements: Tensor | _Number,
    *,
    assume_unique: _bool = False,
    invert: _bool = False,
    out: Tensor | None = None,
) -> Tensor: ...
def isinf(input: Tensor) -> Tensor: ...
def isnan(input: Tensor) -> Tensor: ...
def isneginf(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def isposinf(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def isreal(input: Tensor) -> Tensor: ...
def istft(
    input: Tensor,
    n_fft: _int,
    hop_length: _int | None = None,
    win_length: _int | None = None,
    window: Tensor | None = None,
    center: _bool = True,
    normalized: _bool = False,
    onesided: _bool | None = None,
    length: _int | None = None,
    return_complex: _bool = False,
) -> Tensor: ...
def kaiser_window(
    window_length: _int,
    periodic: _bool = True,
    beta: _float = 12.0,
    *,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    layout: _layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool | None = None,
) -> Tensor: ...
def kron(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def kthvalue(
    input: Tensor, k: _int, dim: _int = -1, keepdim: _bool = False, *, out: _Tensors | None = None
) -> return_types.kthvalue: ...
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[_int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: _float = 1e-05,
) -> Tensor: ...
def lcm(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def ldexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def le(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
def lerp(input: Tensor, end: Tensor, weight: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
def less(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
def less_equal(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
def lgamma(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def lgamma_(input: Tensor) -> Tensor: ...
def linspace(
    start: _Number,
    end: _Number,
    steps: _int,
    *,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool | None = None,
) -> Tensor: ...
def log(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def log_(input: Tensor) -> Tensor: ...
def log10(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def log10_(input: Tensor) -> Tensor: ...
def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def log1p_(input: Tensor) -> Tensor: ...
def log2(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def log2_(input: Tensor) -> Tensor: ...
def log_softmax(input: Tensor, dim: _int, dtype: _dtype | None = None, *, out: Tensor | None = None) -> Tensor: ...
def logaddexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def logaddexp2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def logcumsumexp(input: Tensor, dim: _int, *, out: Tensor | None = None) -> Tensor: ...
def logdet(input: Tensor) -> Tensor: ...
def logical_and(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def logical_not(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def logical_not_(input: Tensor) -> Tensor: ...
def logical_or(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def logical_xor(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def logit(input: Tensor, eps: _float | None = None, *, out: Tensor | None = None) -> Tensor: ...
def logit_(input: Tensor, eps: _float | None = None) -> Tensor: ...
def logspace(
    start: _Number,
    end: _Number,
    steps: _int,
    base: _float = 10.0,
    *,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool | None = None,
) -> Tensor: ...
def logsumexp(
    input: Tensor, dim: _int | Sequence[_int], keepdim: _bool = False, *, out: Tensor | None = None
) -> Tensor: ...
@overload
def lstm(
    input: Tensor,
    hx: _Tensors,
    params: _Tensors,
    has_biases: _bool,
    num_layers: _int,
    dropout: _float,
    train: _bool,
    bidirectional: _bool,
    batch_first: _bool,
) -> tuple[Tensor, Tensor, Tensor]: ...
@overload
def lstm(
    data: Tensor,
    batch_sizes: Tensor,
    hx: _Tensors,
    params: _Tensors,
    has_biases: _bool,
    num_layers: _int,
    dropout: _float,
    train: _bool,
    bidirectional: _bool,
) -> tuple[Tensor, Tensor, Tensor]: ...
def lstm_cell(
    input: Tensor, hx: _Tensors, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> tuple[Tensor, Tensor]: ...
def lt(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def lu_unpack(
    LU_data: Tensor,
    LU_pivots: Tensor,
    unpack_data: _bool = True,
    unpack_pivots: _bool = True,
    *,
    out: _Tensors | None = None,
) -> return_types.lu_unpack: ...
def masked_fill(input: Tensor, mask: Tensor, value: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor: ...
def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def matrix_exp(input: Tensor) -> Tensor: ...
def matrix_power(input: Tensor, n: _int, *, out: Tensor | None = None) -> Tensor: ...
@overload
def max(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def max(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def max(input: Tensor, dim: _int, keepdim: _bool = False, *, out: _Tensors | None = None) -> return_types.max: ...
def max_pool1d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    ceil_mode: _bool = False,
    return_indices: Literal[False] = False,
) -> Tensor: ...
def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    ceil_mode: _bool = False,
    return_indices: _bool = False,
) -> tuple[Tensor, Tensor]: ...
def max_pool2d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    ceil_mode: _bool = False,
    return_indices: Literal[False] = False,
) -> Tensor: ...
def max_pool3d(
    input: Tensor,
    kernel_size: _int | Sequence[_int],
    stride: _int | Sequence[_int] | None = None,
    padding: _int | Sequence[_int] = 0,
    dilation: _int | Sequence[_int] = 1,
    ceil_mode: _bool = False,
    return_indices: Literal[False] = False,
) -> Tensor: ...
def maximum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def mean(input: Tensor, *, dtype: _dtype | None = None) -> Tensor: ...
@overload
def mean(
    input: Tensor,
    dim: _int | Sequence[_int] | None,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def median(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def median(input: Tensor, dim: _int, keepdim: _bool = False, *, out: _Tensors | None = None) -> return_types.median: ...
@overload
def meshgrid(*tensors: Tensor, indexing: str | None = None) -> tuple[Tensor, ...]: ...
@overload
def meshgrid(tensors: _Tensors, *, indexing: str | None = None) -> tuple[Tensor, ...]: ...
@overload
def min(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def min(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def min(input: Tensor, dim: _int, keepdim: _bool = False, *, out: _Tensors | None = None) -> return_types.min: ...
def minimum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def mode(
    input: Tensor, dim: _int = -1, keepdim: _bool = False, *, out: _Tensors | None = None
) -> return_types.mode: ...
@overload
def moveaxis(input: Tensor, source: _int, destination: _int) -> Tensor: ...
@overload
def moveaxis(input: Tensor, source: Sequence[_int], destination: Sequence[_int]) -> Tensor: ...
@overload
def movedim(input: Tensor, source: _int, destination: _int) -> Tensor: ...
@overload
def movedim(input: Tensor, source: Sequence[_int], destination: Sequence[_int]) -> Tensor: ...
def msort(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def mul(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
def multinomial(
    input: Tensor,
    num_samples: _int,
    replacement: _bool = False,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
def multiply(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def mvlgamma(input: Tensor, p: _int, *, out: Tensor | None = None) -> Tensor: ...
def mvlgamma_(input: Tensor, p: _int) -> Tensor: ...
def nan_to_num(
    input: Tensor,
    nan: _float | None = None,
    posinf: _float | None = None,
    neginf: _float | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def nan_to_num_(
    input: Tensor, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None
) -> Tensor: ...
def nanmean(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def nanmedian(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def nanmedian(
    input: Tensor, dim: _int, keepdim: _bool = False, *, out: _Tensors | None = None
) -> return_types.nanmedian: ...
def nanquantile(
    input: Tensor,
    q: Tensor | _Number,
    dim: _int | None = None,
    keepdim: _bool = False,
    *,
    interpolation: str = "linear",
    out: Tensor | None = None,
) -> Tensor: ...
def nansum(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
def narrow(input: Tensor, dim: _int, start: _int, length: _int) -> Tensor: ...
def narrow_copy(input: Tensor, dim: _int, start: _int, length: _int, *, out: Tensor | None = None) -> Tensor: ...
def native_channel_shuffle(input: Tensor, groups: _int) -> Tensor: ...
def native_group_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, N: _int, C: _int, HxW: _int, group: _int, eps: _float
) -> tuple[Tensor, Tensor, Tensor]: ...
def native_layer_norm(
    input: Tensor, normalized_shape: Sequence[_int], weight: Tensor | None, bias: Tensor | None, eps: _float
) -> tuple[Tensor, Tensor, Tensor]: ...
def ne(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
def neg(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def neg_(input: Tensor) -> Tensor: ...
def negative(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def negative_(input: Tensor) -> Tensor: ...
def nextafter(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def nonzero(input: Tensor, *, as_tuple: Literal[False] = False, out: Tensor | None = None) -> Tensor: ...
@overload
def nonzero(input: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
def nonzero_static(input: Tensor, *, size: _int, fill_value: _int = -1, out: Tensor | None = None) -> Tensor: ...
@overload
def norm(
    input: Tensor,
    p: _Number | None = 2,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    dtype: _dtype | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def norm(
    input: Tensor,
    p: str,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    dtype: _dtype | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def normal(
    mean: Tensor | _Number, std: Tensor | _Number = 1, *, generator: Generator | None = None, out: Tensor | None = None
) -> Tensor: ...
@overload
def normal(
    mean: _float,
    std: _float,
    size: Sequence[_int],
    *,
    generator: Generator | None = None,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool | None = None,
) -> Tensor: ...
def not_equal(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
@overload
def nuclear_norm(input: Tensor, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor: ...
@overload
def nuclear_norm(
    input: Tensor, dim: _int | Sequence[_int], keepdim: _bool = False, *, out: Tensor | None = None
) -> Tensor: ...
@overload
def ones(
    size: Sequence[_int],
    *,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool | None = None,
) -> Tensor: ...
@overload
def ones(
    *size: _int,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool | None = None,
) -> Tensor: ...
def ones_like(
    input: Tensor,
    *,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    memory_format: _memory_format | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool | None = None,
) -> Tensor: ...
def orgqr(input: Tensor, input2: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def ormqr(
    input: Tensor,
    input2: Tensor,
    input3: Tensor,
    left: _bool = True,
    transpose: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def pairwise_distance(
    x1: Tensor, x2: Tensor, p: _float = 2.0, eps: _float = 1e-06, keepdim: _bool = False
) -> Tensor: ...
def pdist(input: Tensor, p: _float = 2) -> Tensor: ...
@overload
def permute(input: Tensor, dims: Sequence[_int]) -> Tensor: ...
@overload
def permute(input: Tensor, *dims: _int) -> Tensor: ...
@overload
def permute_copy(input: Tensor, dims: Sequence[_int], *, out: Tensor | None = None) -> Tensor: ...
@overload
def permute_copy(input: Tensor, *dims: _int, out: Tensor | None = None) -> Tensor: ...
def pinverse(input: Tensor, rcond: _float = 1e-15) -> Tensor: ...
def pixel_shuffle(input: Tensor, upscale_factor: _int) -> Tensor: ...
def pixel_unshuffle(input: Tensor, downscale_factor: _int) -> Tensor: ...
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor: ...
def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def polygamma(n: _int, input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def positive(input: Tensor) -> Tensor: ...
def pow(input: Tensor | _Number, exponent: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
def prelu(input: Tensor, weight: Tensor) -> Tensor: ...
@overload
def prod(input: Tensor, *, dtype: _dtype | None = None) -> Tensor: ...
@overload
def prod(
    input: Tensor, dim: _int, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None
) -> Tensor: ...
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor: ...
def qr(input: Tensor, some: _bool = True, *, out: _Tensors | None = None) -> return_types.qr: ...
def quantile(
    input: Tensor,
    q: Tensor | _Number,
    dim: _int | None = None,
    keepdim: _bool = False,
    *,
    interpolation: str = "linear",
    out: Tensor | None = None,
) -> Tensor: ...
def rad2deg(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def rad2deg_(input: Tensor) -> Tensor: ...
@overload
def rand(
    size: Sequence[_int],
    *,
    generator: Generator | None = None,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool | None = None,
) -> Tensor: ...
@overload
def rand(
    *size: _int,
    generator: Generator | None = None,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool | None = None,
) -> Tensor: ...
def rand_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    memory_format: _memory_format | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool | None = None,
) -> Tensor: ...
@overload
def randint(
    high: _int,
    size: Sequence[_int],
    *,
    generator: Generator | None = None,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool | None = None,
) -> Tensor: ...
@overload
def randint(
    low: _int,
    high: _int,
    size: Sequence[_int],
    *,
    generator: Generator | None = None,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool | None = None,
) -> Tensor: ...
@overload
def randint_like(
    input: Tensor,
    high: _int,
    *,
    generator: Generator | None = None,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    memory_format: _memory_format | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool | None = None,
) -> Tensor: ...
@overload
def randint_like(
    input: Tensor,
    low: _int,
    high: _int,
    *,
    generator: Generator | None = None,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    memory_format: _memory_format | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool | None = None,
) -> Tensor: ...
@overload
def randn(
    size: Sequence[_int],
    *,
    generator: Generator | None = None,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool | None = None,
) -> Tensor: ...
@overload
def randn(
    *size: _int,
    generator: Generator | None = None,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool | None = None,
) -> Tensor: ...
def randn_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    memory_format: _memory_format | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool | None = None,
) -> Tensor: ...
def randperm(
    n: _int,
    *,
    generator: Generator | None = None,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool | None = None,
) -> Tensor: ...
def range(
    start: _Number,
    end: _Number,
    step: _Number = 1,
    *,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool | None = None,
) -> Tensor: ...
def ravel(input: Tensor) -> Tensor: ...
def real(input: Tensor) -> Tensor: ...
def reciprocal(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def reciprocal_(input: Tensor) -> Tensor: ...
def relu(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def relu_(input: Tensor) -> Tensor: ...
def remainder(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
def renorm(input: Tensor, p: _Number, dim: _int, maxnorm: _Number, *, out: Tensor | None = None) -> Tensor: ...
def renorm_(input: Tensor, p: _Number, dim: _int, maxnorm: _Number) -> Tensor: ...
@overload
def repeat_interleave(repeats: Tensor, *, output_size: _int | None = None) -> Tensor: ...
@overload
def repeat_interleave(
    input: Tensor, repeats: Tensor, dim: _int | None = None, *, output_size: _int | None = None
) -> Tensor: ...
@overload
def repeat_interleave(
    input: Tensor, repeats: _int, dim: _int | None = None, *, output_size: _int | None = None
) -> Tensor: ...
@overload
def reshape(input: Tensor, shape: Sequence[_int]) -> Tensor: ...
@overload
def reshape(input: Tensor, *shape: _int) -> Tensor: ...
def rms_norm(
    input: Tensor, normalized_shape: Sequence[_int], weight: Tensor | None = None, eps: _float | None = None
) -> Tensor: ...
@overload
def rnn_relu(
    input: Tensor,
    hx: Tensor,
    params: _Tensors,
    has_biases: _bool,
    num_layers: _int,
    dropout: _float,
    train: _bool,
    bidirectional: _bool,
    batch_first: _bool,
) -> tuple[Tensor, Tensor]: ...
@overload
def rnn_relu(
    data: Tensor,
    batch_sizes: Tensor,
    hx: Tensor,
    params: _Tensors,
    has_biases: _bool,
    num_layers: _int,
    dropout: _float,
    train: _bool,
    bidirectional: _bool,
) -> tuple[Tensor, Tensor]: ...
def rnn_relu_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor: ...
@overload
def rnn_tanh(
    input: Tensor,
    hx: Tensor,
    params: _Tensors,
    has_biases: _bool,
    num_layers: _int,
    dropout: _float,
    train: _bool,
    bidirectional: _bool,
    batch_first: _bool,
) -> tuple[Tensor, Tensor]: ...
@overload
def rnn_tanh(
    data: Tensor,
    batch_sizes: Tensor,
    hx: Tensor,
    params: _Tensors,
    has_biases: _bool,
    num_layers: _int,
    dropout: _float,
    train: _bool,
    bidirectional: _bool,
) -> tuple[Tensor, Tensor]: ...
def rnn_tanh_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor: ...
def roll(input: Tensor, shifts: _int | Sequence[_int], dims: _int | Sequence[_int] | None = ...) -> Tensor: ...
def rot90(input: Tensor, k: _int = 1, dims: Sequence[_int] = ...) -> Tensor: ...
@overload
def round(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def round(input: Tensor, *, decimals: _int = 0, out: Tensor | None = None) -> Tensor: ...
@overload
def round_(input: Tensor) -> Tensor: ...
@overload
def round_(input: Tensor, *, decimals: _int = 0) -> Tensor: ...
def row_stack(tensors: _Tensors, *, out: Tensor | None = None) -> Tensor: ...
def rrelu(
    input: Tensor,
    lower: _float = 0.125,
    upper: _float = 0.3333333333333333,
    training: _bool = False,
    inplace: _bool = False,
) -> Tensor: ...
def rrelu_(
    input: Tensor, lower: _float = 0.125, upper: _float = 0.3333333333333333, training: _bool = False
) -> Tensor: ...
def rsqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def rsqrt_(input: Tensor) -> Tensor: ...
def rsub(input: Tensor, other: Tensor | _Number, *, alpha: _Number = 1) -> Tensor: ...
@overload
def scatter(input: Tensor, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def scatter(input: Tensor, dim: _int, index: Tensor, value: _Number, *, out: Tensor | None = None) -> Tensor: ...
@overload
def scatter(
    input: Tensor, dim: _int, index: Tensor, src: Tensor, *, reduce: str, out: Tensor | None = None
) -> Tensor: ...
@overload
def scatter(
    input: Tensor, dim: _int, index: Tensor, value: _Number, *, reduce: str, out: Tensor | None = None
) -> Tensor: ...
def scatter_add(input: Tensor, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def scatter_reduce(
    input: Tensor,
    dim: _int,
    index: Tensor,
    src: Tensor,
    reduce: str,
    *,
    include_self: _bool = True,
    out: Tensor | None = None,
) -> Tensor: ...
def searchsorted(
    sorted_sequence: Tensor,
    input: Tensor | _Number,
    *,
    out_int32: _bool = False,
    right: _bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
def select(input: Tensor, dim: _int, index: _int) -> Tensor: ...
def select_copy(input: Tensor, dim: _int, index: _int, *, out: Tensor | None = None) -> Tensor: ...
def select_scatter(input: Tensor, src: Tensor, dim: _int, index: _int, *, out: Tensor | None = None) -> Tensor: ...
def selu(input: Tensor, inplace: _bool = False) -> Tensor: ...
def selu_(input: Tensor) -> Tensor: ...
def sgn(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def sgn_(input: Tensor) -> Tensor: ...
def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def sigmoid_(input: Tensor) -> Tensor: ...
def sign(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def sign_(input: Tensor) -> Tensor: ...
def signbit(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def sin(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def sin_(input: Tensor) -> Tensor: ...
def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def sinc_(input: Tensor) -> Tensor: ...
def sinh(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def sinh_(input: Tensor) -> Tensor: ...
def slice_copy(
    input: Tensor,
    dim: _int = 0,
    start: _int | None = None,
    end: _int | None = None,
    step: _int = 1,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def slice_inverse(
    input: Tensor, src: Tensor, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1
) -> Tensor: ...
def slice_scatter(
    input: Tensor,
    src: Tensor,
    dim: _int = 0,
    start: _int | None = None,
    end: _int | None = None,
    step: _int = 1,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def slogdet(input: Tensor, *, out: _Tensors | None = None) -> return_types.slogdet: ...
def softmax(input: Tensor, dim: _int, dtype: _dtype | None = None, *, out: Tensor | None = None) -> Tensor: ...
@overload
def sort(
    input: Tensor, dim: _int = -1, descending: _bool = False, *, out: _Tensors | None = None
) -> return_types.sort: ...
@overload
def sort(
    input: Tensor, *, stable: _bool | None, dim: _int = -1, descending: _bool = False, out: _Tensors | None = None
) -> return_types.sort: ...
@overload
def split(input: Tensor, split_size: _int, dim: _int = 0) -> tuple[Tensor, ...]: ...
@overload
def split(input: Tensor, split_size: Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]: ...
def split_copy(input: Tensor, split_size: _int, dim: _int = 0) -> tuple[Tensor, ...]: ...
def split_with_sizes(input: Tensor, split_sizes: Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]: ...
def split_with_sizes_copy(input: Tensor, split_sizes: Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]: ...
def sqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def sqrt_(input: Tensor) -> Tensor: ...
def square(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def square_(input: Tensor) -> Tensor: ...
@overload
def squeeze(input: Tensor) -> Tensor: ...
@overload
def squeeze(input: Tensor, dim: _int) -> Tensor: ...
@overload
def squeeze(input: Tensor, dim: Sequence[_int]) -> Tensor: ...
@overload
def squeeze(input: Tensor, *dim: _int) -> Tensor: ...
@overload
def squeeze_(input: Tensor) -> Tensor: ...
@overload
def squeeze_(input: Tensor, dim: _int) -> Tensor: ...
@overload
def squeeze_(input: Tensor, dim: Sequence[_int]) -> Tensor: ...
@overload
def squeeze_(input: Tensor, *dim: _int) -> Tensor: ...
@overload
def squeeze_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def squeeze_copy(input: Tensor, dim: _int, *, out: Tensor | None = None) -> Tensor: ...
@overload
def squeeze_copy(input: Tensor, dim: Sequence[_int], *, out: Tensor | None = None) -> Tensor: ...
@overload
def squeeze_copy(input: Tensor, *dim: _int, out: Tensor | None = None) -> Tensor: ...
def stack(tensors: _Tensors, dim: _int = 0, *, out: Tensor | None = None) -> Tensor: ...
@overload
def std(input: Tensor, unbiased: _bool = True) -> Tensor: ...
@overload
def std(
    input: Tensor,
    dim: _int | Sequence[_int] | None,
    unbiased: _bool = True,
    keepdim: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def std(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    *,
    correction: _Number | None = None,
    keepdim: _bool = False,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def std_mean(input: Tensor, unbiased: _bool = True) -> tuple[Tensor, Tensor]: ...
@overload
def std_mean(
    input: Tensor, dim: _int | Sequence[_int] | None, unbiased: _bool = True, keepdim: _bool = False
) -> tuple[Tensor, Tensor]: ...
@overload
def std_mean(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    *,
    correction: _Number | None = None,
    keepdim: _bool = False,
) -> tuple[Tensor, Tensor]: ...
def stft(
    input: Tensor,
    n_fft: _int,
    hop_length: _int | None = None,
    win_length: _int | None = None,
    window: Tensor | None = None,
    center: _bool = True,
    pad_mode: str = "reflect",
    normalized: _bool = False,
    onesided: _bool | None = None,
    return_complex: _bool | None = None,
    align_to_window: _bool | None = None,
) -> Tensor: ...
def sub(
    input: Tensor | _Number, other: Tensor | _Number, *, alpha: _Number = 1, out: Tensor | None = None
) -> Tensor: ...
def subtract(
    input: Tensor | _Number, other: Tensor | _Number, *, alpha: _Number = 1, out: Tensor | None = None
) -> Tensor: ...
@overload
def sum(input: Tensor, *, dtype: _dtype | None = None) -> Tensor: ...
@overload
def sum(
    input: Tensor,
    dim: _int | Sequence[_int] | None,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
def svd(
    input: Tensor, some: _bool = True, compute_uv: _bool = True, *, out: _Tensors | None = None
) -> return_types.svd: ...
def swapaxes(input: Tensor, dim0: _int, dim1: _int) -> Tensor: ...
def swapaxes_(input: Tensor, dim0: _int, dim1: _int) -> Tensor: ...
def swapdims(input: Tensor, dim0: _int, dim1: _int) -> Tensor: ...
def swapdims_(input: Tensor, dim0: _int, dim1: _int) -> Tensor: ...
def t(input: Tensor) -> Tensor: ...
def t_(input: Tensor) -> Tensor: ...
def t_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def take_along_dim(input: Tensor, indices: Tensor, dim: _int | None = None, *, out: Tensor | None = None) -> Tensor: ...
def tan(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def tan_(input: Tensor) -> Tensor: ...
def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def tanh_(input: Tensor) -> Tensor: ...
@overload
def tensor_split(input: Tensor, tensor_indices_or_sections: Tensor, dim: _int = 0) -> tuple[Tensor, ...]: ...
@overload
def tensor_split(input: Tensor, sections: _int, dim: _int = 0) -> tuple[Tensor, ...]: ...
@overload
def tensor_split(input: Tensor, indices: Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]: ...
def threshold(
    input: Tensor, threshold: _Number, value: _Number, inplace: _bool = False, *, out: Tensor | None = None
) -> Tensor: ...
def threshold_(input: Tensor, threshold: _Number, value: _Number) -> Tensor: ...
@overload
def tile(input: Tensor, dims: Sequence[_int]) -> Tensor: ...
@overload
def tile(input: Tensor, *dims: _int) -> Tensor: ...
def topk(
    input: Tensor, k: _int, dim: _int = -1, largest: _bool = True, sorted: _bool = True, *, out: _Tensors | None = None
) -> return_types.topk: ...
def trace(input: Tensor) -> Tensor: ...
def transpose(input: Tensor, dim0: _int, dim1: _int) -> Tensor: ...
def transpose_(input: Tensor, dim0: _int, dim1: _int) -> Tensor: ...
def transpose_copy(input: Tensor, dim0: _int, dim1: _int, *, out: Tensor | None = None) -> Tensor: ...
@overload
def trapezoid(y: Tensor, x: Tensor, *, dim: _int = -1) -> Tensor: ...
@overload
def trapezoid(y: Tensor, *, dx: _Number = 1, dim: _int = -1) -> Tensor: ...
@overload
def trapz(y: Tensor, x: Tensor, *, dim: _int = -1) -> Tensor: ...
@overload
def trapz(y: Tensor, *, dx: _Number = 1, dim: _int = -1) -> Tensor: ...
def triangular_solve(
    input: Tensor,
    A: Tensor,
    upper: _bool = True,
    transpose: _bool = False,
    unitriangular: _bool = False,
    *,
    out: _Tensors | None = None,
) -> return_types.triangular_solve: ...
def tril(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor: ...
def tril_(input: Tensor, diagonal: _int = 0) -> Tensor: ...
def tril_indices(
    row: _int,
    col: _int,
    offset: _int = 0,
    *,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    layout: _layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool | None = None,
) -> Tensor: ...
def triu(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor: ...
def triu_(input: Tensor, diagonal: _int = 0) -> Tensor: ...
def triu_indices(
    row: _int,
    col: _int,
    offset: _int = 0,
    *,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    layout: _layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool | None = None,
) -> Tensor: ...
@overload
def true_divide(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
@overload
def true_divide(
    input: Tensor | _Number, other: Tensor | _Number, *, rounding_mode: str | None, out: Tensor | None = None
) -> Tensor: ...
def trunc(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def trunc_(input: Tensor) -> Tensor: ...
def unbind(input: Tensor, dim: _int = 0) -> tuple[Tensor, ...]: ...
def unbind_copy(input: Tensor, dim: _int = 0) -> tuple[Tensor, ...]: ...
def unflatten(input: Tensor, dim: _int, sizes: Sequence[_int]) -> Tensor: ...
def unfold_copy(input: Tensor, dimension: _int, size: _int, step: _int, *, out: Tensor | None = None) -> Tensor: ...
def unsafe_chunk(input: Tensor, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]: ...
@overload
def unsafe_split(input: Tensor, split_size: _int, dim: _int = 0) -> tuple[Tensor, ...]: ...
@overload
def unsafe_split(input: Tensor, split_size: Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]: ...
def unsafe_split_with_sizes(input: Tensor, split_sizes: Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]: ...
def unsqueeze(input: Tensor, dim: _int) -> Tensor: ...
def unsqueeze_(input: Tensor, dim: _int) -> Tensor: ...
def unsqueeze_copy(input: Tensor, dim: _int, *, out: Tensor | None = None) -> Tensor: ...
def vander(x: Tensor, N: _int | None = None, increasing: _bool = False) -> Tensor: ...
@overload
def var(input: Tensor, unbiased: _bool = True) -> Tensor: ...
@overload
def var(
    input: Tensor,
    dim: _int | Sequence[_int] | None,
    unbiased: _bool = True,
    keepdim: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def var(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    *,
    correction: _Number | None = None,
    keepdim: _bool = False,
    out: Tensor | None = None,
) -> Tensor: ...
@overload
def var_mean(input: Tensor, unbiased: _bool = True) -> tuple[Tensor, Tensor]: ...
@overload
def var_mean(
    input: Tensor, dim: _int | Sequence[_int] | None, unbiased: _bool = True, keepdim: _bool = False
) -> tuple[Tensor, Tensor]: ...
@overload
def var_mean(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    *,
    correction: _Number | None = None,
    keepdim: _bool = False,
) -> tuple[Tensor, Tensor]: ...
def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def view_as_complex(input: Tensor) -> Tensor: ...
def view_as_complex_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def view_as_real(input: Tensor) -> Tensor: ...
def view_as_real_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def view_copy(input: Tensor, size: Sequence[_int], *, out: Tensor | None = None) -> Tensor: ...
@overload
def view_copy(input: Tensor, *size: _int, out: Tensor | None = None) -> Tensor: ...
@overload
def view_copy(input: Tensor, dtype: _dtype, *, out: Tensor | None = None) -> Tensor: ...
@overload
def vsplit(input: Tensor, sections: _int) -> tuple[Tensor, ...]: ...
@overload
def vsplit(input: Tensor, indices: Sequence[_int]) -> tuple[Tensor, ...]: ...
@overload
def vsplit(input: Tensor, *indices: _int) -> tuple[Tensor, ...]: ...
def vstack(tensors: _Tensors, *, out: Tensor | None = None) -> Tensor: ...
@overload
def where(
    condition: Tensor, input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None
) -> Tensor: ...
@overload
def where(condition: Tensor) -> tuple[Tensor, ...]: ...
def xlogy(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor: ...
def zero_(input: Tensor) -> Tensor: ...
@overload
def zeros(
    size: Sequence[_int],
    *,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool | None = None,
) -> Tensor: ...
@overload
def zeros(
    *size: _int,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool | None = None,
) -> Tensor: ...
def zeros_like(
    input: Tensor,
    *,
    dtype: _dtype | None = None,
    device: _Device | None = None,
    memory_format: _memory_format | None = None,
    out: Tensor | None = None,
    layout: _layout | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool | None = None,
) -> Tensor: ...
