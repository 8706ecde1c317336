// Made by tools/gen_cpp.py from the operator table: do not edit.
// clang-format off

#include "runtime/operators.h"

#include "runtime/bridge.h"

namespace wisp::api {
Tensor fill(const Tensor& self, const Operand& value) { static Entry op; return run<Tensor>(op, "fill", {self, value}); }
Tensor clone(const Tensor& self, std::optional<MemoryFormat> memory_format) { static Entry op; return run<Tensor>(op, "clone", {self, memory_format}); }
Tensor empty(IntList size, const TensorOptions& options, std::optional<MemoryFormat> memory_format) { static Entry op; return options.applied_to(run<Tensor>(op, "empty", {size, options.dtype(), options.device(), memory_format})); }
Tensor zeros(IntList size, const TensorOptions& options) { static Entry op; return options.applied_to(run<Tensor>(op, "zeros", {size, options.dtype(), options.device()})); }
Tensor ones(IntList size, const TensorOptions& options) { static Entry op; return options.applied_to(run<Tensor>(op, "ones", {size, options.dtype(), options.device()})); }
Tensor full(IntList size, Scalar fill_value, const TensorOptions& options) { static Entry op; return options.applied_to(run<Tensor>(op, "full", {size, fill_value, options.dtype(), options.device()})); }
Tensor empty_strided(IntList size, IntList stride, const TensorOptions& options) { static Entry op; return options.applied_to(run<Tensor>(op, "empty_strided", {size, stride, options.dtype(), options.device()})); }
Tensor empty_permuted(IntList size, IntList physical_layout, const TensorOptions& options) { static Entry op; return options.applied_to(run<Tensor>(op, "empty_permuted", {size, physical_layout, options.dtype(), options.device()})); }
Tensor eye(int64_t n, std::optional<int64_t> m, const TensorOptions& options) { static Entry op; return options.applied_to(run<Tensor>(op, "eye", {n, m, options.dtype(), options.device()})); }
Tensor arange(Scalar end, const TensorOptions& options) { static Entry op; return options.applied_to(run<Tensor>(op, "arange", {end, options.dtype(), options.device()})); }
Tensor arange(Scalar start, Scalar end, Scalar step, const TensorOptions& options) { static Entry op; return options.applied_to(run<Tensor>(op, "arange.start", {start, end, step, options.dtype(), options.device()})); }
Tensor range(Scalar start, Scalar end, Scalar step, const TensorOptions& options) { static Entry op; return options.applied_to(run<Tensor>(op, "range", {start, end, step, options.dtype(), options.device()})); }
Tensor linspace(Scalar start, Scalar end, int64_t steps, const TensorOptions& options) { static Entry op; return options.applied_to(run<Tensor>(op, "linspace", {start, end, steps, options.dtype(), options.device()})); }
Tensor logspace(Scalar start, Scalar end, int64_t steps, double base, const TensorOptions& options) { static Entry op; return options.applied_to(run<Tensor>(op, "logspace", {start, end, steps, base, options.dtype(), options.device()})); }
Tensor empty_like(const Tensor& self, const TensorOptions& options, std::optional<MemoryFormat> memory_format) { static Entry op; return options.applied_to(run<Tensor>(op, "empty_like", {self, options.dtype(), options.device(), memory_format})); }
Tensor zeros_like(const Tensor& self, const TensorOptions& options, std::optional<MemoryFormat> memory_format) { static Entry op; return options.applied_to(run<Tensor>(op, "zeros_like", {self, options.dtype(), options.device(), memory_format})); }
Tensor ones_like(const Tensor& self, const TensorOptions& options, std::optional<MemoryFormat> memory_format) { static Entry op; return options.applied_to(run<Tensor>(op, "ones_like", {self, options.dtype(), options.device(), memory_format})); }
Tensor full_like(const Tensor& self, Scalar fill_value, const TensorOptions& options, std::optional<MemoryFormat> memory_format) { static Entry op; return options.applied_to(run<Tensor>(op, "full_like", {self, fill_value, options.dtype(), options.device(), memory_format})); }
Tensor add(const Operand& self, const Operand& other, Scalar alpha) { static Entry op; return run<Tensor>(op, "add", {self, other, alpha}); }
Tensor sub(const Operand& self, const Operand& other, Scalar alpha) { static Entry op; return run<Tensor>(op, "sub", {self, other, alpha}); }
Tensor mul(const Operand& self, const Operand& other) { static Entry op; return run<Tensor>(op, "mul", {self, other}); }
Tensor div(const Operand& self, const Operand& other) { static Entry op; return run<Tensor>(op, "div", {self, other}); }
Tensor div(const Operand& self, const Operand& other, std::optional<std::string_view> rounding_mode) { static Entry op; return run<Tensor>(op, "div.mode", {self, other, rounding_mode}); }
Tensor floor_divide(const Operand& self, const Operand& other) { static Entry op; return run<Tensor>(op, "floor_divide", {self, other}); }
Tensor remainder(const Operand& self, const Operand& other) { static Entry op; return run<Tensor>(op, "remainder", {self, other}); }
Tensor fmod(const Tensor& self, const Operand& other) { static Entry op; return run<Tensor>(op, "fmod", {self, other}); }
Tensor pow(const Operand& self, const Operand& exponent) { static Entry op; return run<Tensor>(op, "pow", {self, exponent}); }
Tensor maximum(const Tensor& self, const Tensor& other) { static Entry op; return run<Tensor>(op, "maximum", {self, other}); }
Tensor minimum(const Tensor& self, const Tensor& other) { static Entry op; return run<Tensor>(op, "minimum", {self, other}); }
Tensor neg(const Tensor& self) { static Entry op; return run<Tensor>(op, "neg", {self}); }
Tensor abs(const Tensor& self) { static Entry op; return run<Tensor>(op, "abs", {self}); }
Tensor sign(const Tensor& self) { static Entry op; return run<Tensor>(op, "sign", {self}); }
Tensor sgn(const Tensor& self) { static Entry op; return run<Tensor>(op, "sgn", {self}); }
Tensor square(const Tensor& self) { static Entry op; return run<Tensor>(op, "square", {self}); }
Tensor relu(const Tensor& self) { static Entry op; return run<Tensor>(op, "relu", {self}); }
Tensor floor(const Tensor& self) { static Entry op; return run<Tensor>(op, "floor", {self}); }
Tensor ceil(const Tensor& self) { static Entry op; return run<Tensor>(op, "ceil", {self}); }
Tensor trunc(const Tensor& self) { static Entry op; return run<Tensor>(op, "trunc", {self}); }
Tensor round(const Tensor& self) { static Entry op; return run<Tensor>(op, "round", {self}); }
Tensor round(const Tensor& self, int64_t decimals) { static Entry op; return run<Tensor>(op, "round.decimals", {self, decimals}); }
Tensor frac(const Tensor& self) { static Entry op; return run<Tensor>(op, "frac", {self}); }
Tensor sqrt(const Tensor& self) { static Entry op; return run<Tensor>(op, "sqrt", {self}); }
Tensor rsqrt(const Tensor& self) { static Entry op; return run<Tensor>(op, "rsqrt", {self}); }
Tensor reciprocal(const Tensor& self) { static Entry op; return run<Tensor>(op, "reciprocal", {self}); }
Tensor exp(const Tensor& self) { static Entry op; return run<Tensor>(op, "exp", {self}); }
Tensor exp2(const Tensor& self) { static Entry op; return run<Tensor>(op, "exp2", {self}); }
Tensor expm1(const Tensor& self) { static Entry op; return run<Tensor>(op, "expm1", {self}); }
Tensor log(const Tensor& self) { static Entry op; return run<Tensor>(op, "log", {self}); }
Tensor log2(const Tensor& self) { static Entry op; return run<Tensor>(op, "log2", {self}); }
Tensor log10(const Tensor& self) { static Entry op; return run<Tensor>(op, "log10", {self}); }
Tensor log1p(const Tensor& self) { static Entry op; return run<Tensor>(op, "log1p", {self}); }
Tensor sigmoid(const Tensor& self) { static Entry op; return run<Tensor>(op, "sigmoid", {self}); }
Tensor sin(const Tensor& self) { static Entry op; return run<Tensor>(op, "sin", {self}); }
Tensor cos(const Tensor& self) { static Entry op; return run<Tensor>(op, "cos", {self}); }
Tensor tan(const Tensor& self) { static Entry op; return run<Tensor>(op, "tan", {self}); }
Tensor asin(const Tensor& self) { static Entry op; return run<Tensor>(op, "asin", {self}); }
Tensor acos(const Tensor& self) { static Entry op; return run<Tensor>(op, "acos", {self}); }
Tensor atan(const Tensor& self) { static Entry op; return run<Tensor>(op, "atan", {self}); }
Tensor sinh(const Tensor& self) { static Entry op; return run<Tensor>(op, "sinh", {self}); }
Tensor cosh(const Tensor& self) { static Entry op; return run<Tensor>(op, "cosh", {self}); }
Tensor tanh(const Tensor& self) { static Entry op; return run<Tensor>(op, "tanh", {self}); }
Tensor asinh(const Tensor& self) { static Entry op; return run<Tensor>(op, "asinh", {self}); }
Tensor acosh(const Tensor& self) { static Entry op; return run<Tensor>(op, "acosh", {self}); }
Tensor atanh(const Tensor& self) { static Entry op; return run<Tensor>(op, "atanh", {self}); }
Tensor erf(const Tensor& self) { static Entry op; return run<Tensor>(op, "erf", {self}); }
Tensor erfc(const Tensor& self) { static Entry op; return run<Tensor>(op, "erfc", {self}); }
Tensor erfinv(const Tensor& self) { static Entry op; return run<Tensor>(op, "erfinv", {self}); }
Tensor conj_physical(const Tensor& self) { static Entry op; return run<Tensor>(op, "conj_physical", {self}); }
Tensor eq(const Tensor& self, const Operand& other) { static Entry op; return run<Tensor>(op, "eq", {self, other}); }
Tensor ne(const Tensor& self, const Operand& other) { static Entry op; return run<Tensor>(op, "ne", {self, other}); }
Tensor lt(const Tensor& self, const Operand& other) { static Entry op; return run<Tensor>(op, "lt", {self, other}); }
Tensor le(const Tensor& self, const Operand& other) { static Entry op; return run<Tensor>(op, "le", {self, other}); }
Tensor gt(const Tensor& self, const Operand& other) { static Entry op; return run<Tensor>(op, "gt", {self, other}); }
Tensor ge(const Tensor& self, const Operand& other) { static Entry op; return run<Tensor>(op, "ge", {self, other}); }
Tensor isnan(const Tensor& self) { static Entry op; return run<Tensor>(op, "isnan", {self}); }
Tensor isinf(const Tensor& self) { static Entry op; return run<Tensor>(op, "isinf", {self}); }
Tensor isfinite(const Tensor& self) { static Entry op; return run<Tensor>(op, "isfinite", {self}); }
Tensor isposinf(const Tensor& self) { static Entry op; return run<Tensor>(op, "isposinf", {self}); }
Tensor isneginf(const Tensor& self) { static Entry op; return run<Tensor>(op, "isneginf", {self}); }
Tensor signbit(const Tensor& self) { static Entry op; return run<Tensor>(op, "signbit", {self}); }
Tensor logical_and(const Tensor& self, const Tensor& other) { static Entry op; return run<Tensor>(op, "logical_and", {self, other}); }
Tensor logical_or(const Tensor& self, const Tensor& other) { static Entry op; return run<Tensor>(op, "logical_or", {self, other}); }
Tensor logical_xor(const Tensor& self, const Tensor& other) { static Entry op; return run<Tensor>(op, "logical_xor", {self, other}); }
Tensor logical_not(const Tensor& self) { static Entry op; return run<Tensor>(op, "logical_not", {self}); }
Tensor bitwise_and(const Operand& self, const Operand& other) { static Entry op; return run<Tensor>(op, "bitwise_and", {self, other}); }
Tensor bitwise_or(const Operand& self, const Operand& other) { static Entry op; return run<Tensor>(op, "bitwise_or", {self, other}); }
Tensor bitwise_xor(const Operand& self, const Operand& other) { static Entry op; return run<Tensor>(op, "bitwise_xor", {self, other}); }
Tensor bitwise_not(const Tensor& self) { static Entry op; return run<Tensor>(op, "bitwise_not", {self}); }
Tensor bitwise_left_shift(const Operand& self, const Operand& other) { static Entry op; return run<Tensor>(op, "bitwise_left_shift", {self, other}); }
Tensor bitwise_right_shift(const Operand& self, const Operand& other) { static Entry op; return run<Tensor>(op, "bitwise_right_shift", {self, other}); }
Tensor where(const Tensor& condition, const Operand& self, const Operand& other) { static Entry op; return run<Tensor>(op, "where", {condition, self, other}); }
Tensors where(const Tensor& condition) { static Entry op; return run<Tensors>(op, "where.condition", {condition}); }
Tensor clamp(const Tensor& self, const Operand& min, const Operand& max) { static Entry op; return run<Tensor>(op, "clamp", {self, min, max}); }
Tensor lerp(const Tensor& self, const Tensor& end, const Operand& weight) { static Entry op; return run<Tensor>(op, "lerp", {self, end, weight}); }
Tensor addcmul(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, Scalar value) { static Entry op; return run<Tensor>(op, "addcmul", {self, tensor1, tensor2, value}); }
Tensor addcdiv(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, Scalar value) { static Entry op; return run<Tensor>(op, "addcdiv", {self, tensor1, tensor2, value}); }
Tensor squeeze(const Tensor& self) { static Entry op; return run<Tensor>(op, "squeeze", {self}); }
Tensor squeeze(const Tensor& self, int64_t dim) { static Entry op; return run<Tensor>(op, "squeeze.dim", {self, dim}); }
Tensor squeeze(const Tensor& self, IntList dim) { static Entry op; return run<Tensor>(op, "squeeze.dims", {self, dim}); }
Tensor unsqueeze(const Tensor& self, int64_t dim) { static Entry op; return run<Tensor>(op, "unsqueeze", {self, dim}); }
Tensor transpose(const Tensor& self, int64_t dim0, int64_t dim1) { static Entry op; return run<Tensor>(op, "transpose", {self, dim0, dim1}); }
Tensor t(const Tensor& self) { static Entry op; return run<Tensor>(op, "t", {self}); }
Tensor permute(const Tensor& self, IntList dims) { static Entry op; return run<Tensor>(op, "permute", {self, dims}); }
Tensor select(const Tensor& self, int64_t dim, int64_t index) { static Entry op; return run<Tensor>(op, "select", {self, dim, index}); }
Tensor diagonal(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) { static Entry op; return run<Tensor>(op, "diagonal", {self, offset, dim1, dim2}); }
Tensor as_strided(const Tensor& self, IntList size, IntList stride, std::optional<int64_t> storage_offset) { static Entry op; return run<Tensor>(op, "as_strided", {self, size, stride, storage_offset}); }
Tensor view_as_real(const Tensor& self) { static Entry op; return run<Tensor>(op, "view_as_real", {self}); }
Tensor view_as_complex(const Tensor& self) { static Entry op; return run<Tensor>(op, "view_as_complex", {self}); }
Tensor reshape(const Tensor& self, IntList shape) { static Entry op; return run<Tensor>(op, "reshape", {self, shape}); }
Tensor flatten(const Tensor& self, int64_t start_dim, int64_t end_dim) { static Entry op; return run<Tensor>(op, "flatten", {self, start_dim, end_dim}); }
Tensor unflatten(const Tensor& self, int64_t dim, IntList sizes) { static Entry op; return run<Tensor>(op, "unflatten", {self, dim, sizes}); }
Tensor ravel(const Tensor& self) { static Entry op; return run<Tensor>(op, "ravel", {self}); }
Tensor atleast_1d(const Tensor& self) { static Entry op; return run<Tensor>(op, "atleast_1d", {self}); }
Tensors atleast_1d(const Tensors& tensors) { static Entry op; return run<Tensors>(op, "atleast_1d.list", {tensors}); }
Tensor atleast_2d(const Tensor& self) { static Entry op; return run<Tensor>(op, "atleast_2d", {self}); }
Tensors atleast_2d(const Tensors& tensors) { static Entry op; return run<Tensors>(op, "atleast_2d.list", {tensors}); }
Tensor atleast_3d(const Tensor& self) { static Entry op; return run<Tensor>(op, "atleast_3d", {self}); }
Tensors atleast_3d(const Tensors& tensors) { static Entry op; return run<Tensors>(op, "atleast_3d.list", {tensors}); }
Tensor broadcast_to(const Tensor& self, IntList size) { static Entry op; return run<Tensor>(op, "broadcast_to", {self, size}); }
Tensors broadcast_tensors(const Tensors& tensors) { static Entry op; return run<Tensors>(op, "broadcast_tensors", {tensors}); }
Tensor narrow(const Tensor& self, int64_t dim, int64_t start, int64_t length) { static Entry op; return run<Tensor>(op, "narrow", {self, dim, start, length}); }
Tensor movedim(const Tensor& self, int64_t source, int64_t destination) { static Entry op; return run<Tensor>(op, "movedim", {self, source, destination}); }
Tensor movedim(const Tensor& self, IntList source, IntList destination) { static Entry op; return run<Tensor>(op, "movedim.list", {self, source, destination}); }
Tensor adjoint(const Tensor& self) { static Entry op; return run<Tensor>(op, "adjoint", {self}); }
Tensor as_strided_scatter(const Tensor& self, const Tensor& src, IntList size, IntList stride, std::optional<int64_t> storage_offset) { static Entry op; return run<Tensor>(op, "as_strided_scatter", {self, src, size, stride, storage_offset}); }
Tensor detach(const Tensor& self) { static Entry op; return run<Tensor>(op, "detach", {self}); }
Tensor conj(const Tensor& self) { static Entry op; return run<Tensor>(op, "conj", {self}); }
Tensor real(const Tensor& self) { static Entry op; return run<Tensor>(op, "real", {self}); }
Tensor imag(const Tensor& self) { static Entry op; return run<Tensor>(op, "imag", {self}); }
Tensors split(const Tensor& self, int64_t split_size, int64_t dim) { static Entry op; return run<Tensors>(op, "split", {self, split_size, dim}); }
Tensors split(const Tensor& self, IntList split_size, int64_t dim) { static Entry op; return run<Tensors>(op, "split.sizes", {self, split_size, dim}); }
Tensors split_with_sizes(const Tensor& self, IntList split_sizes, int64_t dim) { static Entry op; return run<Tensors>(op, "split_with_sizes", {self, split_sizes, dim}); }
Tensors unbind(const Tensor& self, int64_t dim) { static Entry op; return run<Tensors>(op, "unbind", {self, dim}); }
Tensors chunk(const Tensor& self, int64_t chunks, int64_t dim) { static Entry op; return run<Tensors>(op, "chunk", {self, chunks, dim}); }
Tensors tensor_split(const Tensor& self, const Tensor& tensor_indices_or_sections, int64_t dim) { static Entry op; return run<Tensors>(op, "tensor_split.tensor", {self, tensor_indices_or_sections, dim}); }
Tensors tensor_split(const Tensor& self, int64_t sections, int64_t dim) { static Entry op; return run<Tensors>(op, "tensor_split", {self, sections, dim}); }
Tensors tensor_split(const Tensor& self, IntList indices, int64_t dim) { static Entry op; return run<Tensors>(op, "tensor_split.indices", {self, indices, dim}); }
Tensors hsplit(const Tensor& self, int64_t sections) { static Entry op; return run<Tensors>(op, "hsplit", {self, sections}); }
Tensors hsplit(const Tensor& self, IntList indices) { static Entry op; return run<Tensors>(op, "hsplit.indices", {self, indices}); }
Tensors vsplit(const Tensor& self, int64_t sections) { static Entry op; return run<Tensors>(op, "vsplit", {self, sections}); }
Tensors vsplit(const Tensor& self, IntList indices) { static Entry op; return run<Tensors>(op, "vsplit.indices", {self, indices}); }
Tensors dsplit(const Tensor& self, int64_t sections) { static Entry op; return run<Tensors>(op, "dsplit", {self, sections}); }
Tensors dsplit(const Tensor& self, IntList indices) { static Entry op; return run<Tensors>(op, "dsplit.indices", {self, indices}); }
Tensor cat(const Tensors& tensors, int64_t dim) { static Entry op; return run<Tensor>(op, "cat", {tensors, dim}); }
Tensor stack(const Tensors& tensors, int64_t dim) { static Entry op; return run<Tensor>(op, "stack", {tensors, dim}); }
Tensor hstack(const Tensors& tensors) { static Entry op; return run<Tensor>(op, "hstack", {tensors}); }
Tensor vstack(const Tensors& tensors) { static Entry op; return run<Tensor>(op, "vstack", {tensors}); }
Tensor dstack(const Tensors& tensors) { static Entry op; return run<Tensor>(op, "dstack", {tensors}); }
Tensor column_stack(const Tensors& tensors) { static Entry op; return run<Tensor>(op, "column_stack", {tensors}); }
Tensor block_diag(const Tensors& tensors) { static Entry op; return run<Tensor>(op, "block_diag", {tensors}); }
Tensors meshgrid(const Tensors& tensors, std::optional<std::string_view> indexing) { static Entry op; return run<Tensors>(op, "meshgrid", {tensors, indexing}); }
Tensor cartesian_prod(const Tensors& tensors) { static Entry op; return run<Tensor>(op, "cartesian_prod", {tensors}); }
Tensor combinations(const Tensor& self, int64_t r, bool with_replacement) { static Entry op; return run<Tensor>(op, "combinations", {self, r, with_replacement}); }
Tensor flip(const Tensor& self, IntList dims) { static Entry op; return run<Tensor>(op, "flip", {self, dims}); }
Tensor fliplr(const Tensor& self) { static Entry op; return run<Tensor>(op, "fliplr", {self}); }
Tensor flipud(const Tensor& self) { static Entry op; return run<Tensor>(op, "flipud", {self}); }
Tensor rot90(const Tensor& self, int64_t k, IntList dims) { static Entry op; return run<Tensor>(op, "rot90", {self, k, dims}); }
Tensor roll(const Tensor& self, IntList shifts, OptionalIntList dims) { static Entry op; return run<Tensor>(op, "roll", {self, repeated(shifts, 1), repeated(dims, 1)}); }
Tensor tile(const Tensor& self, IntList dims) { static Entry op; return run<Tensor>(op, "tile", {self, dims}); }
Tensor vander(const Tensor& x, std::optional<int64_t> N, bool increasing) { static Entry op; return run<Tensor>(op, "vander", {x, N, increasing}); }
Tensor tril(const Tensor& self, int64_t diagonal) { static Entry op; return run<Tensor>(op, "tril", {self, diagonal}); }
Tensor triu(const Tensor& self, int64_t diagonal) { static Entry op; return run<Tensor>(op, "triu", {self, diagonal}); }
Tensor diag_embed(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) { static Entry op; return run<Tensor>(op, "diag_embed", {self, offset, dim1, dim2}); }
Tensor diag(const Tensor& self, int64_t diagonal) { static Entry op; return run<Tensor>(op, "diag", {self, diagonal}); }
Tensor diagflat(const Tensor& self, int64_t offset) { static Entry op; return run<Tensor>(op, "diagflat", {self, offset}); }
Tensor trace(const Tensor& self) { static Entry op; return run<Tensor>(op, "trace", {self}); }
Tensor constant_pad_nd(const Tensor& self, IntList pad, Scalar value) { static Entry op; return run<Tensor>(op, "constant_pad_nd", {self, pad, value}); }
Tensor sum(const Tensor& self, std::optional<DType> dtype) { static Entry op; return run<Tensor>(op, "sum", {self, dtype}); }
Tensor sum(const Tensor& self, OptionalIntList dim, bool keepdim, std::optional<DType> dtype) { static Entry op; return run<Tensor>(op, "sum.dim", {self, repeated(dim, 1), keepdim, dtype}); }
Tensor mean(const Tensor& self, std::optional<DType> dtype) { static Entry op; return run<Tensor>(op, "mean", {self, dtype}); }
Tensor mean(const Tensor& self, OptionalIntList dim, bool keepdim, std::optional<DType> dtype) { static Entry op; return run<Tensor>(op, "mean.dim", {self, repeated(dim, 1), keepdim, dtype}); }
Tensor nansum(const Tensor& self, OptionalIntList dim, bool keepdim, std::optional<DType> dtype) { static Entry op; return run<Tensor>(op, "nansum", {self, repeated(dim, 1), keepdim, dtype}); }
Tensor nanmean(const Tensor& self, OptionalIntList dim, bool keepdim, std::optional<DType> dtype) { static Entry op; return run<Tensor>(op, "nanmean", {self, repeated(dim, 1), keepdim, dtype}); }
Tensor prod(const Tensor& self, std::optional<DType> dtype) { static Entry op; return run<Tensor>(op, "prod", {self, dtype}); }
Tensor prod(const Tensor& self, int64_t dim, bool keepdim, std::optional<DType> dtype) { static Entry op; return run<Tensor>(op, "prod.dim_int", {self, dim, keepdim, dtype}); }
Tensor any(const Tensor& self) { static Entry op; return run<Tensor>(op, "any", {self}); }
Tensor any(const Tensor& self, OptionalIntList dim, bool keepdim) { static Entry op; return run<Tensor>(op, "any.dims", {self, repeated(dim, 1), keepdim}); }
Tensor all(const Tensor& self) { static Entry op; return run<Tensor>(op, "all", {self}); }
Tensor all(const Tensor& self, OptionalIntList dim, bool keepdim) { static Entry op; return run<Tensor>(op, "all.dims", {self, repeated(dim, 1), keepdim}); }
Tensor count_nonzero(const Tensor& self, OptionalIntList dim) { static Entry op; return run<Tensor>(op, "count_nonzero", {self, repeated(dim, 1)}); }
Tensor max(const Tensor& self) { static Entry op; return run<Tensor>(op, "max", {self}); }
Tensor max(const Tensor& self, const Tensor& other) { static Entry op; return run<Tensor>(op, "max.other", {self, other}); }
std::tuple<Tensor, Tensor> max(const Tensor& self, int64_t dim, bool keepdim) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "max.dim", {self, dim, keepdim}); }
Tensor min(const Tensor& self) { static Entry op; return run<Tensor>(op, "min", {self}); }
Tensor min(const Tensor& self, const Tensor& other) { static Entry op; return run<Tensor>(op, "min.other", {self, other}); }
std::tuple<Tensor, Tensor> min(const Tensor& self, int64_t dim, bool keepdim) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "min.dim", {self, dim, keepdim}); }
Tensor amax(const Tensor& self, OptionalIntList dim, bool keepdim) { static Entry op; return run<Tensor>(op, "amax", {self, repeated(dim, 1), keepdim}); }
Tensor amin(const Tensor& self, OptionalIntList dim, bool keepdim) { static Entry op; return run<Tensor>(op, "amin", {self, repeated(dim, 1), keepdim}); }
std::tuple<Tensor, Tensor> aminmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "aminmax", {self, dim, keepdim}); }
Tensor argmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim) { static Entry op; return run<Tensor>(op, "argmax", {self, dim, keepdim}); }
Tensor argmin(const Tensor& self, std::optional<int64_t> dim, bool keepdim) { static Entry op; return run<Tensor>(op, "argmin", {self, dim, keepdim}); }
Tensor var(const Tensor& self, Flag unbiased) { static Entry op; return run<Tensor>(op, "var", {self, unbiased}); }
Tensor var(const Tensor& self, OptionalIntList dim, bool unbiased, bool keepdim) { static Entry op; return run<Tensor>(op, "var.dim", {self, repeated(dim, 1), unbiased, keepdim}); }
Tensor var(const Tensor& self, OptionalIntList dim, std::optional<Scalar> correction, bool keepdim) { static Entry op; return run<Tensor>(op, "var.correction", {self, repeated(dim, 1), correction, keepdim}); }
std::tuple<Tensor, Tensor> var_mean(const Tensor& self, Flag unbiased) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "var_mean", {self, unbiased}); }
std::tuple<Tensor, Tensor> var_mean(const Tensor& self, OptionalIntList dim, bool unbiased, bool keepdim) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "var_mean.dim", {self, repeated(dim, 1), unbiased, keepdim}); }
std::tuple<Tensor, Tensor> var_mean(const Tensor& self, OptionalIntList dim, std::optional<Scalar> correction, bool keepdim) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "var_mean.correction", {self, repeated(dim, 1), correction, keepdim}); }
Tensor std(const Tensor& self, Flag unbiased) { static Entry op; return run<Tensor>(op, "std", {self, unbiased}); }
Tensor std(const Tensor& self, OptionalIntList dim, bool unbiased, bool keepdim) { static Entry op; return run<Tensor>(op, "std.dim", {self, repeated(dim, 1), unbiased, keepdim}); }
Tensor std(const Tensor& self, OptionalIntList dim, std::optional<Scalar> correction, bool keepdim) { static Entry op; return run<Tensor>(op, "std.correction", {self, repeated(dim, 1), correction, keepdim}); }
std::tuple<Tensor, Tensor> std_mean(const Tensor& self, Flag unbiased) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "std_mean", {self, unbiased}); }
std::tuple<Tensor, Tensor> std_mean(const Tensor& self, OptionalIntList dim, bool unbiased, bool keepdim) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "std_mean.dim", {self, repeated(dim, 1), unbiased, keepdim}); }
std::tuple<Tensor, Tensor> std_mean(const Tensor& self, OptionalIntList dim, std::optional<Scalar> correction, bool keepdim) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "std_mean.correction", {self, repeated(dim, 1), correction, keepdim}); }
Tensor norm(const Tensor& self, std::optional<Scalar> p, OptionalIntList dim, bool keepdim, std::optional<DType> dtype) { static Entry op; return run<Tensor>(op, "norm", {self, p, repeated(dim, 1), keepdim, dtype}); }
Tensor norm(const Tensor& self, std::string_view p, OptionalIntList dim, bool keepdim, std::optional<DType> dtype) { static Entry op; return run<Tensor>(op, "norm.name", {self, p, repeated(dim, 1), keepdim, dtype}); }
Tensor renorm(const Tensor& self, Scalar p, int64_t dim, Scalar maxnorm) { static Entry op; return run<Tensor>(op, "renorm", {self, p, dim, maxnorm}); }
Tensor dist(const Tensor& self, const Tensor& other, Scalar p) { static Entry op; return run<Tensor>(op, "dist", {self, other, p}); }
Tensor cumsum(const Tensor& self, int64_t dim, std::optional<DType> dtype) { static Entry op; return run<Tensor>(op, "cumsum", {self, dim, dtype}); }
Tensor logcumsumexp(const Tensor& self, int64_t dim) { static Entry op; return run<Tensor>(op, "logcumsumexp", {self, dim}); }
Tensor cumprod(const Tensor& self, int64_t dim, std::optional<DType> dtype) { static Entry op; return run<Tensor>(op, "cumprod", {self, dim, dtype}); }
std::tuple<Tensor, Tensor> cummax(const Tensor& self, int64_t dim) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "cummax", {self, dim}); }
std::tuple<Tensor, Tensor> cummin(const Tensor& self, int64_t dim) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "cummin", {self, dim}); }
Tensor diff(const Tensor& self, int64_t n, int64_t dim, const Tensor& prepend, const Tensor& append) { static Entry op; return run<Tensor>(op, "diff", {self, n, dim, prepend, append}); }
Tensor trapezoid(const Tensor& y, const Tensor& x, int64_t dim) { static Entry op; return run<Tensor>(op, "trapezoid.x", {y, x, dim}); }
Tensor trapezoid(const Tensor& y, Scalar dx, int64_t dim) { static Entry op; return run<Tensor>(op, "trapezoid", {y, dx, dim}); }
Tensor cumulative_trapezoid(const Tensor& y, const Tensor& x, int64_t dim) { static Entry op; return run<Tensor>(op, "cumulative_trapezoid.x", {y, x, dim}); }
Tensor cumulative_trapezoid(const Tensor& y, Scalar dx, int64_t dim) { static Entry op; return run<Tensor>(op, "cumulative_trapezoid", {y, dx, dim}); }
Tensor softmax(const Tensor& self, int64_t dim, std::optional<DType> dtype) { static Entry op; return run<Tensor>(op, "softmax", {self, dim, dtype}); }
Tensor log_softmax(const Tensor& self, int64_t dim, std::optional<DType> dtype) { static Entry op; return run<Tensor>(op, "log_softmax", {self, dim, dtype}); }
Tensor logsumexp(const Tensor& self, IntList dim, bool keepdim) { static Entry op; return run<Tensor>(op, "logsumexp", {self, repeated(dim, 1), keepdim}); }
Tensor isclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) { static Entry op; return run<Tensor>(op, "isclose", {self, other, rtol, atol, equal_nan}); }
bool allclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) { static Entry op; return run<bool>(op, "allclose", {self, other, rtol, atol, equal_nan}); }
bool equal(const Tensor& self, const Tensor& other) { static Entry op; return run<bool>(op, "equal", {self, other}); }
Tensor mm(const Tensor& self, const Tensor& mat2) { static Entry op; return run<Tensor>(op, "mm", {self, mat2}); }
Tensor bmm(const Tensor& self, const Tensor& mat2) { static Entry op; return run<Tensor>(op, "bmm", {self, mat2}); }
Tensor mv(const Tensor& self, const Tensor& vec) { static Entry op; return run<Tensor>(op, "mv", {self, vec}); }
Tensor dot(const Tensor& self, const Tensor& tensor) { static Entry op; return run<Tensor>(op, "dot", {self, tensor}); }
Tensor vdot(const Tensor& self, const Tensor& other) { static Entry op; return run<Tensor>(op, "vdot", {self, other}); }
Tensor inner(const Tensor& self, const Tensor& other) { static Entry op; return run<Tensor>(op, "inner", {self, other}); }
Tensor outer(const Tensor& self, const Tensor& vec2) { static Entry op; return run<Tensor>(op, "outer", {self, vec2}); }
Tensor matmul(const Tensor& self, const Tensor& other) { static Entry op; return run<Tensor>(op, "matmul", {self, other}); }
Tensor rand(IntList size, const TensorOptions& options, const Generator& generator) { static Entry op; return options.applied_to(run<Tensor>(op, "rand", {size, generator, options.dtype(), options.device()})); }
Tensor randn(IntList size, const TensorOptions& options, const Generator& generator) { static Entry op; return options.applied_to(run<Tensor>(op, "randn", {size, generator, options.dtype(), options.device()})); }
Tensor rand_like(const Tensor& self, const TensorOptions& options, std::optional<MemoryFormat> memory_format, const Generator& generator) { static Entry op; return options.applied_to(run<Tensor>(op, "rand_like", {self, generator, options.dtype(), options.device(), memory_format})); }
Tensor randn_like(const Tensor& self, const TensorOptions& options, std::optional<MemoryFormat> memory_format, const Generator& generator) { static Entry op; return options.applied_to(run<Tensor>(op, "randn_like", {self, generator, options.dtype(), options.device(), memory_format})); }
Tensor randint(int64_t high, IntList size, const TensorOptions& options, const Generator& generator) { static Entry op; return options.applied_to(run<Tensor>(op, "randint", {high, size, generator, options.dtype(), options.device()})); }
Tensor randint(int64_t low, int64_t high, IntList size, const TensorOptions& options, const Generator& generator) { static Entry op; return options.applied_to(run<Tensor>(op, "randint.low", {low, high, size, generator, options.dtype(), options.device()})); }
Tensor randint_like(const Tensor& self, int64_t high, const TensorOptions& options, std::optional<MemoryFormat> memory_format, const Generator& generator) { static Entry op; return options.applied_to(run<Tensor>(op, "randint_like", {self, high, generator, options.dtype(), options.device(), memory_format})); }
Tensor randint_like(const Tensor& self, int64_t low, int64_t high, const TensorOptions& options, std::optional<MemoryFormat> memory_format, const Generator& generator) { static Entry op; return options.applied_to(run<Tensor>(op, "randint_like.low", {self, low, high, generator, options.dtype(), options.device(), memory_format})); }
Tensor randperm(int64_t n, const TensorOptions& options, const Generator& generator) { static Entry op; return options.applied_to(run<Tensor>(op, "randperm", {n, generator, options.dtype(), options.device()})); }
Tensor bernoulli(const Tensor& self, const Generator& generator) { static Entry op; return run<Tensor>(op, "bernoulli", {self, generator}); }
Tensor bernoulli(const Tensor& self, double p, const Generator& generator) { static Entry op; return run<Tensor>(op, "bernoulli.p", {self, p, generator}); }
Tensor bernoulli(const Tensor& self, const Tensor& p, const Generator& generator) { static Entry op; return run<Tensor>(op, "bernoulli.tensor", {self, p, generator}); }
Tensor normal(const Operand& mean, const Operand& std, const Generator& generator) { static Entry op; return run<Tensor>(op, "normal.tensors", {mean, std, generator}); }
Tensor normal(double mean, double std, IntList size, const TensorOptions& options, const Generator& generator) { static Entry op; return options.applied_to(run<Tensor>(op, "normal.size", {mean, std, size, generator, options.dtype(), options.device()})); }
Tensor multinomial(const Tensor& self, int64_t num_samples, bool replacement, const Generator& generator) { static Entry op; return run<Tensor>(op, "multinomial", {self, num_samples, replacement, generator}); }
Tensor poisson(const Tensor& self, const Generator& generator) { static Entry op; return run<Tensor>(op, "poisson", {self, generator}); }
Tensor binomial(const Tensor& count, const Tensor& prob, const Generator& generator) { static Entry op; return run<Tensor>(op, "binomial", {count, prob, generator}); }
Tensor index_put(const Tensor& self, const Tensors& indices, const Tensor& values, bool accumulate) { static Entry op; return run<Tensor>(op, "index_put", {self, indices, values, accumulate}); }
Tensor take(const Tensor& self, const Tensor& index) { static Entry op; return run<Tensor>(op, "take", {self, index}); }
Tensor put(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) { static Entry op; return run<Tensor>(op, "put", {self, index, source, accumulate}); }
Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index) { static Entry op; return run<Tensor>(op, "index_select", {self, dim, index}); }
Tensor index_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, Scalar alpha) { static Entry op; return run<Tensor>(op, "index_add", {self, dim, index, source, alpha}); }
Tensor index_copy(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) { static Entry op; return run<Tensor>(op, "index_copy", {self, dim, index, source}); }
Tensor index_fill(const Tensor& self, int64_t dim, const Tensor& index, const Operand& value) { static Entry op; return run<Tensor>(op, "index_fill", {self, dim, index, value}); }
Tensor index_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce, bool include_self) { static Entry op; return run<Tensor>(op, "index_reduce", {self, dim, index, source, reduce, include_self}); }
Tensor nonzero(const Tensor& self) { static Entry op; return run<Tensor>(op, "nonzero", {self, false}); }
Tensors nonzero_tuple(const Tensor& self) { static Entry op; return run<Tensors>(op, "nonzero.tuple", {self, true}); }
Tensor argwhere(const Tensor& self) { static Entry op; return run<Tensor>(op, "argwhere", {self}); }
Tensor masked_select(const Tensor& self, const Tensor& mask) { static Entry op; return run<Tensor>(op, "masked_select", {self, mask}); }
Tensor masked_fill(const Tensor& self, const Tensor& mask, const Operand& value) { static Entry op; return run<Tensor>(op, "masked_fill", {self, mask, value}); }
Tensor masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source) { static Entry op; return run<Tensor>(op, "masked_scatter", {self, mask, source}); }
Tensor gather(const Tensor& self, int64_t dim, const Tensor& index, bool sparse_grad) { static Entry op; return run<Tensor>(op, "gather", {self, dim, index, sparse_grad}); }
Tensor take_along_dim(const Tensor& self, const Tensor& indices, std::optional<int64_t> dim) { static Entry op; return run<Tensor>(op, "take_along_dim", {self, indices, dim}); }
Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) { static Entry op; return run<Tensor>(op, "scatter.src", {self, dim, index, src}); }
Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, Scalar value) { static Entry op; return run<Tensor>(op, "scatter.value", {self, dim, index, value}); }
Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce) { static Entry op; return run<Tensor>(op, "scatter.reduce", {self, dim, index, src, reduce}); }
Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, Scalar value, std::string_view reduce) { static Entry op; return run<Tensor>(op, "scatter.value_reduce", {self, dim, index, value, reduce}); }
Tensor scatter_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) { static Entry op; return run<Tensor>(op, "scatter_add", {self, dim, index, src}); }
Tensor scatter_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce, bool include_self) { static Entry op; return run<Tensor>(op, "scatter_reduce", {self, dim, index, src, reduce, include_self}); }
Tensor slice_scatter(const Tensor& self, const Tensor& src, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) { static Entry op; return run<Tensor>(op, "slice_scatter", {self, src, dim, start, end, step}); }
Tensor select_scatter(const Tensor& self, const Tensor& src, int64_t dim, int64_t index) { static Entry op; return run<Tensor>(op, "select_scatter", {self, src, dim, index}); }
Tensor diagonal_scatter(const Tensor& self, const Tensor& src, int64_t offset, int64_t dim1, int64_t dim2) { static Entry op; return run<Tensor>(op, "diagonal_scatter", {self, src, offset, dim1, dim2}); }
std::tuple<Tensor, Tensor> sort(const Tensor& self, int64_t dim, bool descending) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "sort", {self, dim, descending}); }
std::tuple<Tensor, Tensor> sort(const Tensor& self, std::optional<bool> stable, int64_t dim, bool descending) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "sort.stable", {self, stable, dim, descending}); }
Tensor argsort(const Tensor& self, int64_t dim, bool descending) { static Entry op; return run<Tensor>(op, "argsort", {self, dim, descending}); }
Tensor argsort(const Tensor& self, Flag stable, int64_t dim, bool descending) { static Entry op; return run<Tensor>(op, "argsort.stable", {self, stable, dim, descending}); }
Tensor msort(const Tensor& self) { static Entry op; return run<Tensor>(op, "msort", {self}); }
std::tuple<Tensor, Tensor> topk(const Tensor& self, int64_t k, int64_t dim, bool largest, bool sorted) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "topk", {self, k, dim, largest, sorted}); }
std::tuple<Tensor, Tensor> kthvalue(const Tensor& self, int64_t k, int64_t dim, bool keepdim) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "kthvalue", {self, k, dim, keepdim}); }
Tensor median(const Tensor& self) { static Entry op; return run<Tensor>(op, "median", {self}); }
std::tuple<Tensor, Tensor> median(const Tensor& self, int64_t dim, bool keepdim) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "median.dim", {self, dim, keepdim}); }
Tensor nanmedian(const Tensor& self) { static Entry op; return run<Tensor>(op, "nanmedian", {self}); }
std::tuple<Tensor, Tensor> nanmedian(const Tensor& self, int64_t dim, bool keepdim) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "nanmedian.dim", {self, dim, keepdim}); }
std::tuple<Tensor, Tensor> mode(const Tensor& self, int64_t dim, bool keepdim) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "mode", {self, dim, keepdim}); }
Tensor quantile(const Tensor& self, const Operand& q, std::optional<int64_t> dim, bool keepdim, std::string_view interpolation) { static Entry op; return run<Tensor>(op, "quantile", {self, q, dim, keepdim, interpolation}); }
Tensor nanquantile(const Tensor& self, const Operand& q, std::optional<int64_t> dim, bool keepdim, std::string_view interpolation) { static Entry op; return run<Tensor>(op, "nanquantile", {self, q, dim, keepdim, interpolation}); }
Tensor addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, Scalar beta, Scalar alpha) { static Entry op; return run<Tensor>(op, "addmm", {self, mat1, mat2, beta, alpha}); }
Tensor addmv(const Tensor& self, const Tensor& mat, const Tensor& vec, Scalar beta, Scalar alpha) { static Entry op; return run<Tensor>(op, "addmv", {self, mat, vec, beta, alpha}); }
Tensor addr(const Tensor& self, const Tensor& vec1, const Tensor& vec2, Scalar beta, Scalar alpha) { static Entry op; return run<Tensor>(op, "addr", {self, vec1, vec2, beta, alpha}); }
Tensor baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, Scalar beta, Scalar alpha) { static Entry op; return run<Tensor>(op, "baddbmm", {self, batch1, batch2, beta, alpha}); }
Tensor addbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, Scalar beta, Scalar alpha) { static Entry op; return run<Tensor>(op, "addbmm", {self, batch1, batch2, beta, alpha}); }
Tensor einsum(std::string_view equation, const Tensors& operands) { static Entry op; return run<Tensor>(op, "einsum", {equation, operands}); }
Tensor tensordot(const Tensor& self, const Tensor& other, IntList dims_self, IntList dims_other) { static Entry op; return run<Tensor>(op, "tensordot", {self, other, dims_self, dims_other}); }
Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight, const Tensor& bias) { static Entry op; return run<Tensor>(op, "bilinear", {input1, input2, weight, bias}); }
Tensor kron(const Tensor& self, const Tensor& other) { static Entry op; return run<Tensor>(op, "kron", {self, other}); }
Tensor chain_matmul(const Tensors& matrices) { static Entry op; return run<Tensor>(op, "chain_matmul", {matrices}); }
Tensor cdist(const Tensor& x1, const Tensor& x2, double p, std::string_view compute_mode) { static Entry op; return run<Tensor>(op, "cdist", {x1, x2, p, compute_mode}); }
Tensor pdist(const Tensor& self, double p) { static Entry op; return run<Tensor>(op, "pdist", {self, p}); }
Tensor cross(const Tensor& self, const Tensor& other, std::optional<int64_t> dim) { static Entry op; return run<Tensor>(op, "cross", {self, other, dim}); }
Tensor atan2(const Tensor& self, const Tensor& other) { static Entry op; return run<Tensor>(op, "atan2", {self, other}); }
Tensor hypot(const Tensor& self, const Tensor& other) { static Entry op; return run<Tensor>(op, "hypot", {self, other}); }
Tensor copysign(const Tensor& self, const Operand& other) { static Entry op; return run<Tensor>(op, "copysign", {self, other}); }
Tensor nextafter(const Tensor& self, const Tensor& other) { static Entry op; return run<Tensor>(op, "nextafter", {self, other}); }
Tensor heaviside(const Tensor& self, const Tensor& values) { static Entry op; return run<Tensor>(op, "heaviside", {self, values}); }
Tensor fmax(const Tensor& self, const Tensor& other) { static Entry op; return run<Tensor>(op, "fmax", {self, other}); }
Tensor fmin(const Tensor& self, const Tensor& other) { static Entry op; return run<Tensor>(op, "fmin", {self, other}); }
Tensor clamp_min(const Tensor& self, const Operand& min) { static Entry op; return run<Tensor>(op, "clamp_min", {self, min}); }
Tensor clamp_max(const Tensor& self, const Operand& max) { static Entry op; return run<Tensor>(op, "clamp_max", {self, max}); }
Tensor gcd(const Tensor& self, const Tensor& other) { static Entry op; return run<Tensor>(op, "gcd", {self, other}); }
Tensor lcm(const Tensor& self, const Tensor& other) { static Entry op; return run<Tensor>(op, "lcm", {self, other}); }
Tensor logaddexp(const Tensor& self, const Tensor& other) { static Entry op; return run<Tensor>(op, "logaddexp", {self, other}); }
Tensor logaddexp2(const Tensor& self, const Tensor& other) { static Entry op; return run<Tensor>(op, "logaddexp2", {self, other}); }
Tensor xlogy(const Operand& self, const Operand& other) { static Entry op; return run<Tensor>(op, "xlogy", {self, other}); }
Tensor complex(const Tensor& real, const Tensor& imag) { static Entry op; return run<Tensor>(op, "complex", {real, imag}); }
Tensor polar(const Tensor& abs, const Tensor& angle) { static Entry op; return run<Tensor>(op, "polar", {abs, angle}); }
Tensor float_power(const Operand& self, const Operand& exponent) { static Entry op; return run<Tensor>(op, "float_power", {self, exponent}); }
Tensor ldexp(const Tensor& self, const Tensor& other) { static Entry op; return run<Tensor>(op, "ldexp", {self, other}); }
Tensor rsub(const Tensor& self, const Operand& other, Scalar alpha) { static Entry op; return run<Tensor>(op, "rsub", {self, other, alpha}); }
Tensor deg2rad(const Tensor& self) { static Entry op; return run<Tensor>(op, "deg2rad", {self}); }
Tensor rad2deg(const Tensor& self) { static Entry op; return run<Tensor>(op, "rad2deg", {self}); }
Tensor angle(const Tensor& self) { static Entry op; return run<Tensor>(op, "angle", {self}); }
Tensor positive(const Tensor& self) { static Entry op; return run<Tensor>(op, "positive", {self}); }
Tensor isreal(const Tensor& self) { static Entry op; return run<Tensor>(op, "isreal", {self}); }
Tensor nan_to_num(const Tensor& self, std::optional<double> nan, std::optional<double> posinf, std::optional<double> neginf) { static Entry op; return run<Tensor>(op, "nan_to_num", {self, nan, posinf, neginf}); }
Tensor sinc(const Tensor& self) { static Entry op; return run<Tensor>(op, "sinc", {self}); }
Tensor logit(const Tensor& self, std::optional<double> eps) { static Entry op; return run<Tensor>(op, "logit", {self, eps}); }
Tensor lgamma(const Tensor& self) { static Entry op; return run<Tensor>(op, "lgamma", {self}); }
Tensor digamma(const Tensor& self) { static Entry op; return run<Tensor>(op, "digamma", {self}); }
Tensor polygamma(int64_t n, const Tensor& self) { static Entry op; return run<Tensor>(op, "polygamma", {n, self}); }
Tensor mvlgamma(const Tensor& self, int64_t p) { static Entry op; return run<Tensor>(op, "mvlgamma", {self, p}); }
Tensor i0(const Tensor& self) { static Entry op; return run<Tensor>(op, "i0", {self}); }
std::tuple<Tensor, Tensor> frexp(const Tensor& self) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "frexp", {self}); }
Tensor selu(const Tensor& self, bool inplace) { static Entry op; return run<Tensor>(op, "selu", {self, inplace}); }
Tensor selu_(const Tensor& self) { static Entry op; return run<Tensor>(op, "selu_", {self}); }
Tensor celu(const Tensor& self, double alpha, bool inplace) { static Entry op; return run<Tensor>(op, "celu", {self, alpha, inplace}); }
Tensor celu_(const Tensor& self, double alpha) { static Entry op; return run<Tensor>(op, "celu_", {self, alpha}); }
Tensor threshold(const Tensor& self, Scalar threshold, Scalar value, bool inplace) { static Entry op; return run<Tensor>(op, "threshold", {self, threshold, value, inplace}); }
Tensor threshold_(const Tensor& self, Scalar threshold, Scalar value) { static Entry op; return run<Tensor>(op, "threshold_", {self, threshold, value}); }
Tensor hardshrink(const Tensor& self, Scalar lambd) { static Entry op; return run<Tensor>(op, "hardshrink", {self, lambd}); }
Tensor prelu(const Tensor& self, const Tensor& weight) { static Entry op; return run<Tensor>(op, "prelu", {self, weight}); }
Tensor rrelu(const Tensor& self, double lower, double upper, bool training, bool inplace) { static Entry op; return run<Tensor>(op, "rrelu", {self, lower, upper, training, inplace}); }
Tensor rrelu_(const Tensor& self, double lower, double upper, bool training) { static Entry op; return run<Tensor>(op, "rrelu_", {self, lower, upper, training}); }
std::tuple<Tensor, Tensor, Tensor> native_layer_norm(const Tensor& input, IntList normalized_shape, const Tensor& weight, const Tensor& bias, double eps) { static Entry op; return run<std::tuple<Tensor, Tensor, Tensor>>(op, "native_layer_norm", {input, normalized_shape, weight, bias, eps}); }
Tensor layer_norm(const Tensor& self, IntList normalized_shape, const Tensor& weight, const Tensor& bias, double eps) { static Entry op; return run<Tensor>(op, "layer_norm", {self, normalized_shape, weight, bias, eps}); }
Tensor rms_norm(const Tensor& self, IntList normalized_shape, const Tensor& weight, std::optional<double> eps) { static Entry op; return run<Tensor>(op, "rms_norm", {self, normalized_shape, weight, eps}); }
std::tuple<Tensor, Tensor, Tensor> native_group_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, int64_t N, int64_t C, int64_t HxW, int64_t group, double eps) { static Entry op; return run<std::tuple<Tensor, Tensor, Tensor>>(op, "native_group_norm", {input, weight, bias, N, C, HxW, group, eps}); }
Tensor group_norm(const Tensor& self, int64_t num_groups, const Tensor& weight, const Tensor& bias, double eps) { static Entry op; return run<Tensor>(op, "group_norm", {self, num_groups, weight, bias, eps}); }
Tensor embedding(const Tensor& weight, const Tensor& indices, int64_t padding_idx, bool scale_grad_by_freq, bool sparse) { static Entry op; return run<Tensor>(op, "embedding", {weight, indices, padding_idx, scale_grad_by_freq, sparse}); }
Tensor dropout(const Tensor& self, double p, bool training, bool inplace) { static Entry op; return run<Tensor>(op, "dropout", {self, p, training, inplace}); }
Tensor alpha_dropout(const Tensor& self, double p, bool training, bool inplace) { static Entry op; return run<Tensor>(op, "alpha_dropout", {self, p, training, inplace}); }
Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, int64_t dim, double eps) { static Entry op; return run<Tensor>(op, "cosine_similarity", {x1, x2, dim, eps}); }
Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim) { static Entry op; return run<Tensor>(op, "pairwise_distance", {x1, x2, p, eps, keepdim}); }
Tensor cholesky(const Tensor& self, bool upper) { static Entry op; return run<Tensor>(op, "cholesky", {self, upper}); }
Tensor cholesky_inverse(const Tensor& self, bool upper) { static Entry op; return run<Tensor>(op, "cholesky_inverse", {self, upper}); }
std::tuple<Tensor, Tensor, Tensor> lu_unpack(const Tensor& LU_data, const Tensor& LU_pivots, bool unpack_data, bool unpack_pivots) { static Entry op; return run<std::tuple<Tensor, Tensor, Tensor>>(op, "lu_unpack", {LU_data, LU_pivots, unpack_data, unpack_pivots}); }
Tensor inverse(const Tensor& self) { static Entry op; return run<Tensor>(op, "inverse", {self}); }
std::tuple<Tensor, Tensor> qr(const Tensor& self, bool some) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "qr", {self, some}); }
std::tuple<Tensor, Tensor> geqrf(const Tensor& self) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "geqrf", {self}); }
Tensor orgqr(const Tensor& self, const Tensor& input2) { static Entry op; return run<Tensor>(op, "orgqr", {self, input2}); }
Tensor ormqr(const Tensor& self, const Tensor& input2, const Tensor& input3, bool left, bool transpose) { static Entry op; return run<Tensor>(op, "ormqr", {self, input2, input3, left, transpose}); }
Tensor lu_solve(const Tensor& self, const Tensor& LU_data, const Tensor& LU_pivots) { static Entry op; return run<Tensor>(op, "lu_solve", {self, LU_data, LU_pivots}); }
std::tuple<Tensor, Tensor> triangular_solve(const Tensor& self, const Tensor& A, bool upper, bool transpose, bool unitriangular) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "triangular_solve", {self, A, upper, transpose, unitriangular}); }
Tensor cholesky_solve(const Tensor& self, const Tensor& input2, bool upper) { static Entry op; return run<Tensor>(op, "cholesky_solve", {self, input2, upper}); }
Tensor det(const Tensor& self) { static Entry op; return run<Tensor>(op, "det", {self}); }
std::tuple<Tensor, Tensor> slogdet(const Tensor& self) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "slogdet", {self}); }
Tensor logdet(const Tensor& self) { static Entry op; return run<Tensor>(op, "logdet", {self}); }
std::tuple<Tensor, Tensor, Tensor> svd(const Tensor& self, bool some, bool compute_uv) { static Entry op; return run<std::tuple<Tensor, Tensor, Tensor>>(op, "svd", {self, some, compute_uv}); }
Tensor pinverse(const Tensor& self, double rcond) { static Entry op; return run<Tensor>(op, "pinverse", {self, rcond}); }
Tensor nuclear_norm(const Tensor& self, Flag keepdim) { static Entry op; return run<Tensor>(op, "nuclear_norm", {self, keepdim}); }
Tensor nuclear_norm(const Tensor& self, IntList dim, bool keepdim) { static Entry op; return run<Tensor>(op, "nuclear_norm.dim", {self, repeated(dim, 2), keepdim}); }
Tensor frobenius_norm(const Tensor& self, IntList dim, bool keepdim) { static Entry op; return run<Tensor>(op, "frobenius_norm.dim", {self, repeated(dim, 1), keepdim}); }
Tensor matrix_power(const Tensor& self, int64_t n) { static Entry op; return run<Tensor>(op, "matrix_power", {self, n}); }
Tensor matrix_exp(const Tensor& self) { static Entry op; return run<Tensor>(op, "matrix_exp", {self}); }
Tensor convolution(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, IntList padding, IntList dilation, bool transposed, IntList output_padding, int64_t groups) { static Entry op; return run<Tensor>(op, "convolution", {input, weight, bias, stride, padding, dilation, transposed, output_padding, groups}); }
Tensor conv1d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, IntList padding, IntList dilation, int64_t groups) { static Entry op; return run<Tensor>(op, "conv1d", {input, weight, bias, repeated(stride, 1), repeated(padding, 1), repeated(dilation, 1), groups}); }
Tensor conv1d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, std::string_view padding, IntList dilation, int64_t groups) { static Entry op; return run<Tensor>(op, "conv1d.padding", {input, weight, bias, repeated(stride, 1), padding, repeated(dilation, 1), groups}); }
Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, IntList padding, IntList dilation, int64_t groups) { static Entry op; return run<Tensor>(op, "conv2d", {input, weight, bias, repeated(stride, 2), repeated(padding, 2), repeated(dilation, 2), groups}); }
Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, std::string_view padding, IntList dilation, int64_t groups) { static Entry op; return run<Tensor>(op, "conv2d.padding", {input, weight, bias, repeated(stride, 2), padding, repeated(dilation, 2), groups}); }
Tensor conv3d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, IntList padding, IntList dilation, int64_t groups) { static Entry op; return run<Tensor>(op, "conv3d", {input, weight, bias, repeated(stride, 3), repeated(padding, 3), repeated(dilation, 3), groups}); }
Tensor conv3d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, std::string_view padding, IntList dilation, int64_t groups) { static Entry op; return run<Tensor>(op, "conv3d.padding", {input, weight, bias, repeated(stride, 3), padding, repeated(dilation, 3), groups}); }
Tensor conv_transpose1d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, IntList padding, IntList output_padding, int64_t groups, IntList dilation) { static Entry op; return run<Tensor>(op, "conv_transpose1d", {input, weight, bias, repeated(stride, 1), repeated(padding, 1), repeated(output_padding, 1), groups, repeated(dilation, 1)}); }
Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, IntList padding, IntList output_padding, int64_t groups, IntList dilation) { static Entry op; return run<Tensor>(op, "conv_transpose2d", {input, weight, bias, repeated(stride, 2), repeated(padding, 2), repeated(output_padding, 2), groups, repeated(dilation, 2)}); }
Tensor conv_transpose3d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntList stride, IntList padding, IntList output_padding, int64_t groups, IntList dilation) { static Entry op; return run<Tensor>(op, "conv_transpose3d", {input, weight, bias, repeated(stride, 3), repeated(padding, 3), repeated(output_padding, 3), groups, repeated(dilation, 3)}); }
Tensor conv_tbc(const Tensor& self, const Tensor& weight, const Tensor& bias, int64_t pad) { static Entry op; return run<Tensor>(op, "conv_tbc", {self, weight, bias, pad}); }
std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& input, const Tensors& hx, const Tensors& params, bool has_biases, int64_t num_layers, double dropout, bool train, bool bidirectional, bool batch_first) { static Entry op; return run<std::tuple<Tensor, Tensor, Tensor>>(op, "lstm.input", {input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first}); }
std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& data, const Tensor& batch_sizes, const Tensors& hx, const Tensors& params, bool has_biases, int64_t num_layers, double dropout, bool train, bool bidirectional) { static Entry op; return run<std::tuple<Tensor, Tensor, Tensor>>(op, "lstm.data", {data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional}); }
std::tuple<Tensor, Tensor> gru(const Tensor& input, const Tensor& hx, const Tensors& params, bool has_biases, int64_t num_layers, double dropout, bool train, bool bidirectional, bool batch_first) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "gru.input", {input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first}); }
std::tuple<Tensor, Tensor> gru(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx, const Tensors& params, bool has_biases, int64_t num_layers, double dropout, bool train, bool bidirectional) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "gru.data", {data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional}); }
std::tuple<Tensor, Tensor> rnn_tanh(const Tensor& input, const Tensor& hx, const Tensors& params, bool has_biases, int64_t num_layers, double dropout, bool train, bool bidirectional, bool batch_first) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "rnn_tanh.input", {input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first}); }
std::tuple<Tensor, Tensor> rnn_tanh(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx, const Tensors& params, bool has_biases, int64_t num_layers, double dropout, bool train, bool bidirectional) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "rnn_tanh.data", {data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional}); }
std::tuple<Tensor, Tensor> rnn_relu(const Tensor& input, const Tensor& hx, const Tensors& params, bool has_biases, int64_t num_layers, double dropout, bool train, bool bidirectional, bool batch_first) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "rnn_relu.input", {input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first}); }
std::tuple<Tensor, Tensor> rnn_relu(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx, const Tensors& params, bool has_biases, int64_t num_layers, double dropout, bool train, bool bidirectional) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "rnn_relu.data", {data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional}); }
std::tuple<Tensor, Tensor> lstm_cell(const Tensor& input, const Tensors& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih, const Tensor& b_hh) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "lstm_cell", {input, hx, w_ih, w_hh, b_ih, b_hh}); }
Tensor gru_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih, const Tensor& b_hh) { static Entry op; return run<Tensor>(op, "gru_cell", {input, hx, w_ih, w_hh, b_ih, b_hh}); }
Tensor rnn_tanh_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih, const Tensor& b_hh) { static Entry op; return run<Tensor>(op, "rnn_tanh_cell", {input, hx, w_ih, w_hh, b_ih, b_hh}); }
Tensor rnn_relu_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih, const Tensor& b_hh) { static Entry op; return run<Tensor>(op, "rnn_relu_cell", {input, hx, w_ih, w_hh, b_ih, b_hh}); }
Tensor max_pool2d(const Tensor& self, IntList kernel_size, OptionalIntList stride, IntList padding, IntList dilation, bool ceil_mode) { static Entry op; return run<Tensor>(op, "max_pool2d", {self, repeated(kernel_size, 2), repeated(stride, 2), repeated(padding, 2), repeated(dilation, 2), ceil_mode, false}); }
Tensor max_pool3d(const Tensor& self, IntList kernel_size, OptionalIntList stride, IntList padding, IntList dilation, bool ceil_mode) { static Entry op; return run<Tensor>(op, "max_pool3d", {self, repeated(kernel_size, 3), repeated(stride, 3), repeated(padding, 3), repeated(dilation, 3), ceil_mode, false}); }
std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Tensor& self, IntList kernel_size, OptionalIntList stride, IntList padding, IntList dilation, bool ceil_mode, bool return_indices) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "max_pool1d_with_indices", {self, repeated(kernel_size, 1), repeated(stride, 1), repeated(padding, 1), repeated(dilation, 1), ceil_mode, return_indices}); }
Tensor max_pool1d(const Tensor& self, IntList kernel_size, OptionalIntList stride, IntList padding, IntList dilation, bool ceil_mode) { static Entry op; return run<Tensor>(op, "max_pool1d", {self, repeated(kernel_size, 1), repeated(stride, 1), repeated(padding, 1), repeated(dilation, 1), ceil_mode, false}); }
std::tuple<Tensor, Tensor> adaptive_max_pool1d(const Tensor& self, IntList output_size) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "adaptive_max_pool1d", {self, repeated(output_size, 1)}); }
Tensor avg_pool1d(const Tensor& self, IntList kernel_size, OptionalIntList stride, IntList padding, bool ceil_mode, bool count_include_pad) { static Entry op; return run<Tensor>(op, "avg_pool1d", {self, repeated(kernel_size, 1), repeated(stride, 1), repeated(padding, 1), ceil_mode, count_include_pad}); }
Tensor adaptive_avg_pool1d(const Tensor& self, IntList output_size) { static Entry op; return run<Tensor>(op, "adaptive_avg_pool1d", {self, repeated(output_size, 1)}); }
Tensor grid_sampler(const Tensor& self, const Tensor& grid, int64_t interpolation_mode, int64_t padding_mode, bool align_corners) { static Entry op; return run<Tensor>(op, "grid_sampler", {self, grid, interpolation_mode, padding_mode, align_corners}); }
Tensor grid_sampler_2d(const Tensor& self, const Tensor& grid, int64_t interpolation_mode, int64_t padding_mode, bool align_corners) { static Entry op; return run<Tensor>(op, "grid_sampler_2d", {self, grid, interpolation_mode, padding_mode, align_corners}); }
Tensor grid_sampler_3d(const Tensor& self, const Tensor& grid, int64_t interpolation_mode, int64_t padding_mode, bool align_corners) { static Entry op; return run<Tensor>(op, "grid_sampler_3d", {self, grid, interpolation_mode, padding_mode, align_corners}); }
Tensor affine_grid_generator(const Tensor& theta, IntList size, bool align_corners) { static Entry op; return run<Tensor>(op, "affine_grid_generator", {theta, size, align_corners}); }
Tensor pixel_shuffle(const Tensor& self, int64_t upscale_factor) { static Entry op; return run<Tensor>(op, "pixel_shuffle", {self, upscale_factor}); }
Tensor pixel_unshuffle(const Tensor& self, int64_t downscale_factor) { static Entry op; return run<Tensor>(op, "pixel_unshuffle", {self, downscale_factor}); }
Tensor channel_shuffle(const Tensor& self, int64_t groups) { static Entry op; return run<Tensor>(op, "channel_shuffle", {self, groups}); }
Tensor native_channel_shuffle(const Tensor& self, int64_t groups) { static Entry op; return run<Tensor>(op, "native_channel_shuffle", {self, groups}); }
std::tuple<Tensor, Tensor, Tensor, Tensor> embedding_bag(const Tensor& weight, const Tensor& indices, const Tensor& offsets, bool scale_grad_by_freq, int64_t mode, bool sparse, const Tensor& per_sample_weights, bool include_last_offset, std::optional<int64_t> padding_idx) { static Entry op; return run<std::tuple<Tensor, Tensor, Tensor, Tensor>>(op, "embedding_bag", {weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, padding_idx}); }
Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, IntList input_lengths, IntList target_lengths, int64_t blank, int64_t reduction, bool zero_infinity) { static Entry op; return run<Tensor>(op, "ctc_loss", {log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity}); }
Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths, const Tensor& target_lengths, int64_t blank, int64_t reduction, bool zero_infinity) { static Entry op; return run<Tensor>(op, "ctc_loss.tensor", {log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity}); }
Tensor norm_except_dim(const Tensor& v, int64_t pow, int64_t dim) { static Entry op; return run<Tensor>(op, "norm_except_dim", {v, pow, dim}); }
Tensor searchsorted(const Tensor& sorted_sequence, const Operand& input, bool out_int32, bool right, std::optional<std::string_view> side, const Tensor& sorter) { static Entry op; return run<Tensor>(op, "searchsorted", {sorted_sequence, input, out_int32, right, side, sorter}); }
Tensor bucketize(const Operand& input, const Tensor& boundaries, bool out_int32, bool right) { static Entry op; return run<Tensor>(op, "bucketize", {input, boundaries, out_int32, right}); }
Tensor isin(const Operand& elements, const Operand& test_elements, bool assume_unique, bool invert) { static Entry op; return run<Tensor>(op, "isin", {elements, test_elements, assume_unique, invert}); }
Tensor bincount(const Tensor& self, const Tensor& weights, int64_t minlength) { static Entry op; return run<Tensor>(op, "bincount", {self, weights, minlength}); }
Tensor histc(const Tensor& self, int64_t bins, Scalar min, Scalar max) { static Entry op; return run<Tensor>(op, "histc", {self, bins, min, max}); }
std::tuple<Tensor, Tensor> histogram(const Tensor& self, const Tensor& bins, const Tensor& weight, bool density) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "histogram.bins", {self, bins, weight, density}); }
std::tuple<Tensor, Tensor> histogram(const Tensor& self, int64_t bins, std::optional<std::vector<double>> range, const Tensor& weight, bool density) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "histogram", {self, bins, range, weight, density}); }
Tensor cov(const Tensor& self, int64_t correction, const Tensor& fweights, const Tensor& aweights) { static Entry op; return run<Tensor>(op, "cov", {self, correction, fweights, aweights}); }
Tensor corrcoef(const Tensor& self) { static Entry op; return run<Tensor>(op, "corrcoef", {self}); }
Tensor repeat_interleave(const Tensor& repeats, std::optional<int64_t> output_size) { static Entry op; return run<Tensor>(op, "repeat_interleave", {repeats, output_size}); }
Tensor repeat_interleave(const Tensor& self, const Tensor& repeats, std::optional<int64_t> dim, std::optional<int64_t> output_size) { static Entry op; return run<Tensor>(op, "repeat_interleave.self", {self, repeats, dim, output_size}); }
Tensor repeat_interleave(const Tensor& self, int64_t repeats, std::optional<int64_t> dim, std::optional<int64_t> output_size) { static Entry op; return run<Tensor>(op, "repeat_interleave.number", {self, repeats, dim, output_size}); }
Tensor tril_indices(int64_t row, int64_t col, int64_t offset, const TensorOptions& options) { static Entry op; return options.applied_to(run<Tensor>(op, "tril_indices", {row, col, offset, options.dtype(), options.device()})); }
Tensor triu_indices(int64_t row, int64_t col, int64_t offset, const TensorOptions& options) { static Entry op; return options.applied_to(run<Tensor>(op, "triu_indices", {row, col, offset, options.dtype(), options.device()})); }
Tensor nonzero_static(const Tensor& self, int64_t size, int64_t fill_value) { static Entry op; return run<Tensor>(op, "nonzero_static", {self, size, fill_value}); }
Tensor bartlett_window(int64_t window_length, bool periodic, const TensorOptions& options) { static Entry op; return options.applied_to(run<Tensor>(op, "bartlett_window", {window_length, periodic, options.dtype(), options.device()})); }
Tensor hann_window(int64_t window_length, bool periodic, const TensorOptions& options) { static Entry op; return options.applied_to(run<Tensor>(op, "hann_window", {window_length, periodic, options.dtype(), options.device()})); }
Tensor hamming_window(int64_t window_length, bool periodic, double alpha, double beta, const TensorOptions& options) { static Entry op; return options.applied_to(run<Tensor>(op, "hamming_window", {window_length, periodic, alpha, beta, options.dtype(), options.device()})); }
Tensor blackman_window(int64_t window_length, bool periodic, const TensorOptions& options) { static Entry op; return options.applied_to(run<Tensor>(op, "blackman_window", {window_length, periodic, options.dtype(), options.device()})); }
Tensor kaiser_window(int64_t window_length, bool periodic, double beta, const TensorOptions& options) { static Entry op; return options.applied_to(run<Tensor>(op, "kaiser_window", {window_length, periodic, beta, options.dtype(), options.device()})); }
Tensor alias_copy(const Tensor& self) { static Entry op; return run<Tensor>(op, "alias_copy", {self}); }
Tensor as_strided_copy(const Tensor& self, IntList size, IntList stride, std::optional<int64_t> storage_offset) { static Entry op; return run<Tensor>(op, "as_strided_copy", {self, size, stride, storage_offset}); }
Tensor detach_copy(const Tensor& self) { static Entry op; return run<Tensor>(op, "detach_copy", {self}); }
Tensor diagonal_copy(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) { static Entry op; return run<Tensor>(op, "diagonal_copy", {self, offset, dim1, dim2}); }
Tensor expand_copy(const Tensor& self, IntList size) { static Entry op; return run<Tensor>(op, "expand_copy", {self, size}); }
Tensor narrow_copy(const Tensor& self, int64_t dim, int64_t start, int64_t length) { static Entry op; return run<Tensor>(op, "narrow_copy", {self, dim, start, length}); }
Tensor permute_copy(const Tensor& self, IntList dims) { static Entry op; return run<Tensor>(op, "permute_copy", {self, dims}); }
Tensor select_copy(const Tensor& self, int64_t dim, int64_t index) { static Entry op; return run<Tensor>(op, "select_copy", {self, dim, index}); }
Tensor slice_copy(const Tensor& self, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) { static Entry op; return run<Tensor>(op, "slice_copy", {self, dim, start, end, step}); }
Tensors split_copy(const Tensor& self, int64_t split_size, int64_t dim) { static Entry op; return run<Tensors>(op, "split_copy", {self, split_size, dim}); }
Tensors split_with_sizes_copy(const Tensor& self, IntList split_sizes, int64_t dim) { static Entry op; return run<Tensors>(op, "split_with_sizes_copy", {self, split_sizes, dim}); }
Tensor squeeze_copy(const Tensor& self) { static Entry op; return run<Tensor>(op, "squeeze_copy", {self}); }
Tensor squeeze_copy(const Tensor& self, int64_t dim) { static Entry op; return run<Tensor>(op, "squeeze_copy.dim", {self, dim}); }
Tensor squeeze_copy(const Tensor& self, IntList dim) { static Entry op; return run<Tensor>(op, "squeeze_copy.dims", {self, dim}); }
Tensor t_copy(const Tensor& self) { static Entry op; return run<Tensor>(op, "t_copy", {self}); }
Tensor transpose_copy(const Tensor& self, int64_t dim0, int64_t dim1) { static Entry op; return run<Tensor>(op, "transpose_copy", {self, dim0, dim1}); }
Tensors unbind_copy(const Tensor& self, int64_t dim) { static Entry op; return run<Tensors>(op, "unbind_copy", {self, dim}); }
Tensor unfold_copy(const Tensor& self, int64_t dimension, int64_t size, int64_t step) { static Entry op; return run<Tensor>(op, "unfold_copy", {self, dimension, size, step}); }
Tensor unsqueeze_copy(const Tensor& self, int64_t dim) { static Entry op; return run<Tensor>(op, "unsqueeze_copy", {self, dim}); }
Tensor view_copy(const Tensor& self, IntList size) { static Entry op; return run<Tensor>(op, "view_copy", {self, size}); }
Tensor view_copy(const Tensor& self, DType dtype) { static Entry op; return run<Tensor>(op, "view_copy.dtype", {self, dtype}); }
Tensor view_as_complex_copy(const Tensor& self) { static Entry op; return run<Tensor>(op, "view_as_complex_copy", {self}); }
Tensor view_as_real_copy(const Tensor& self) { static Entry op; return run<Tensor>(op, "view_as_real_copy", {self}); }
Tensor slice_inverse(const Tensor& self, const Tensor& src, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) { static Entry op; return run<Tensor>(op, "slice_inverse", {self, src, dim, start, end, step}); }
Tensor igamma(const Tensor& self, const Tensor& other) { static Entry op; return run<Tensor>(op, "igamma", {self, other}); }
Tensor igammac(const Tensor& self, const Tensor& other) { static Entry op; return run<Tensor>(op, "igammac", {self, other}); }
Tensor stft(const Tensor& self, int64_t n_fft, std::optional<int64_t> hop_length, std::optional<int64_t> win_length, const Tensor& window, bool center, std::string_view pad_mode, bool normalized, std::optional<bool> onesided, std::optional<bool> return_complex, std::optional<bool> align_to_window) { static Entry op; return run<Tensor>(op, "stft", {self, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided, return_complex, align_to_window}); }
Tensor istft(const Tensor& self, int64_t n_fft, std::optional<int64_t> hop_length, std::optional<int64_t> win_length, const Tensor& window, bool center, bool normalized, std::optional<bool> onesided, std::optional<int64_t> length, bool return_complex) { static Entry op; return run<Tensor>(op, "istft", {self, n_fft, hop_length, win_length, window, center, normalized, onesided, length, return_complex}); }
Tensor subtract(const Operand& self, const Operand& other, Scalar alpha) { static Entry op; return run<Tensor>(op, "sub", {self, other, alpha}); }
Tensor multiply(const Operand& self, const Operand& other) { static Entry op; return run<Tensor>(op, "mul", {self, other}); }
Tensor divide(const Operand& self, const Operand& other) { static Entry op; return run<Tensor>(op, "div", {self, other}); }
Tensor divide(const Operand& self, const Operand& other, std::optional<std::string_view> rounding_mode) { static Entry op; return run<Tensor>(op, "div.mode", {self, other, rounding_mode}); }
Tensor true_divide(const Operand& self, const Operand& other) { static Entry op; return run<Tensor>(op, "div", {self, other}); }
Tensor true_divide(const Operand& self, const Operand& other, std::optional<std::string_view> rounding_mode) { static Entry op; return run<Tensor>(op, "div.mode", {self, other, rounding_mode}); }
Tensor negative(const Tensor& self) { static Entry op; return run<Tensor>(op, "neg", {self}); }
Tensor absolute(const Tensor& self) { static Entry op; return run<Tensor>(op, "abs", {self}); }
Tensor fix(const Tensor& self) { static Entry op; return run<Tensor>(op, "trunc", {self}); }
Tensor arcsin(const Tensor& self) { static Entry op; return run<Tensor>(op, "asin", {self}); }
Tensor arccos(const Tensor& self) { static Entry op; return run<Tensor>(op, "acos", {self}); }
Tensor arctan(const Tensor& self) { static Entry op; return run<Tensor>(op, "atan", {self}); }
Tensor arcsinh(const Tensor& self) { static Entry op; return run<Tensor>(op, "asinh", {self}); }
Tensor arccosh(const Tensor& self) { static Entry op; return run<Tensor>(op, "acosh", {self}); }
Tensor arctanh(const Tensor& self) { static Entry op; return run<Tensor>(op, "atanh", {self}); }
Tensor not_equal(const Tensor& self, const Operand& other) { static Entry op; return run<Tensor>(op, "ne", {self, other}); }
Tensor less(const Tensor& self, const Operand& other) { static Entry op; return run<Tensor>(op, "lt", {self, other}); }
Tensor less_equal(const Tensor& self, const Operand& other) { static Entry op; return run<Tensor>(op, "le", {self, other}); }
Tensor greater(const Tensor& self, const Operand& other) { static Entry op; return run<Tensor>(op, "gt", {self, other}); }
Tensor greater_equal(const Tensor& self, const Operand& other) { static Entry op; return run<Tensor>(op, "ge", {self, other}); }
Tensor clip(const Tensor& self, const Operand& min, const Operand& max) { static Entry op; return run<Tensor>(op, "clamp", {self, min, max}); }
Tensor swapaxes(const Tensor& self, int64_t dim0, int64_t dim1) { static Entry op; return run<Tensor>(op, "transpose", {self, dim0, dim1}); }
Tensor swapdims(const Tensor& self, int64_t dim0, int64_t dim1) { static Entry op; return run<Tensor>(op, "transpose", {self, dim0, dim1}); }
Tensor moveaxis(const Tensor& self, int64_t source, int64_t destination) { static Entry op; return run<Tensor>(op, "movedim", {self, source, destination}); }
Tensor moveaxis(const Tensor& self, IntList source, IntList destination) { static Entry op; return run<Tensor>(op, "movedim.list", {self, source, destination}); }
Tensor concat(const Tensors& tensors, int64_t dim) { static Entry op; return run<Tensor>(op, "cat", {tensors, dim}); }
Tensor concatenate(const Tensors& tensors, int64_t dim) { static Entry op; return run<Tensor>(op, "cat", {tensors, dim}); }
Tensor row_stack(const Tensors& tensors) { static Entry op; return run<Tensor>(op, "vstack", {tensors}); }
Tensor trapz(const Tensor& y, const Tensor& x, int64_t dim) { static Entry op; return run<Tensor>(op, "trapezoid.x", {y, x, dim}); }
Tensor trapz(const Tensor& y, Scalar dx, int64_t dim) { static Entry op; return run<Tensor>(op, "trapezoid", {y, dx, dim}); }
Tensor ger(const Tensor& self, const Tensor& vec2) { static Entry op; return run<Tensor>(op, "outer", {self, vec2}); }
Tensor arctan2(const Tensor& self, const Tensor& other) { static Entry op; return run<Tensor>(op, "atan2", {self, other}); }
Tensors unsafe_chunk(const Tensor& self, int64_t chunks, int64_t dim) { static Entry op; return run<Tensors>(op, "chunk", {self, chunks, dim}); }
Tensors unsafe_split(const Tensor& self, int64_t split_size, int64_t dim) { static Entry op; return run<Tensors>(op, "split", {self, split_size, dim}); }
Tensors unsafe_split(const Tensor& self, IntList split_size, int64_t dim) { static Entry op; return run<Tensors>(op, "split.sizes", {self, split_size, dim}); }
Tensors unsafe_split_with_sizes(const Tensor& self, IntList split_sizes, int64_t dim) { static Entry op; return run<Tensors>(op, "split_with_sizes", {self, split_sizes, dim}); }
namespace nn::functional {
Tensor pad(const Tensor& self, IntList pad, std::string_view mode, std::optional<double> value) { static Entry op; return run<Tensor>(op, "pad", {self, pad, mode, value}); }
Tensor softmax(const Tensor& self, std::optional<int64_t> dim, std::optional<DType> dtype) { static Entry op; return run<Tensor>(op, "softmax.functional", {self, dim, 3, dtype}); }
Tensor log_softmax(const Tensor& self, std::optional<int64_t> dim, std::optional<DType> dtype) { static Entry op; return run<Tensor>(op, "log_softmax.functional", {self, dim, 3, dtype}); }
Tensor softmin(const Tensor& self, std::optional<int64_t> dim, std::optional<DType> dtype) { static Entry op; return run<Tensor>(op, "softmin", {self, dim, 3, dtype}); }
Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) { static Entry op; return run<Tensor>(op, "linear", {input, weight, bias}); }
Tensor relu(const Tensor& self, bool inplace) { static Entry op; return run<Tensor>(op, "relu.functional", {self, inplace}); }
Tensor gelu(const Tensor& self, std::string_view approximate) { static Entry op; return run<Tensor>(op, "gelu", {self, approximate}); }
Tensor silu(const Tensor& self, bool inplace) { static Entry op; return run<Tensor>(op, "silu", {self, inplace}); }
Tensor mish(const Tensor& self, bool inplace) { static Entry op; return run<Tensor>(op, "mish", {self, inplace}); }
Tensor softplus(const Tensor& self, double beta, double threshold) { static Entry op; return run<Tensor>(op, "softplus", {self, beta, threshold}); }
Tensor logsigmoid(const Tensor& self) { static Entry op; return run<Tensor>(op, "logsigmoid", {self}); }
Tensor hardsigmoid(const Tensor& self, bool inplace) { static Entry op; return run<Tensor>(op, "hardsigmoid", {self, inplace}); }
Tensor hardswish(const Tensor& self, bool inplace) { static Entry op; return run<Tensor>(op, "hardswish", {self, inplace}); }
Tensor softsign(const Tensor& self) { static Entry op; return run<Tensor>(op, "softsign", {self}); }
Tensor tanhshrink(const Tensor& self) { static Entry op; return run<Tensor>(op, "tanhshrink", {self}); }
Tensor softshrink(const Tensor& self, double lambd) { static Entry op; return run<Tensor>(op, "softshrink", {self, lambd}); }
Tensor elu(const Tensor& self, double alpha, bool inplace) { static Entry op; return run<Tensor>(op, "elu", {self, alpha, inplace}); }
Tensor elu_(const Tensor& self, double alpha) { static Entry op; return run<Tensor>(op, "elu_", {self, alpha}); }
Tensor relu_(const Tensor& self) { static Entry op; return run<Tensor>(op, "relu_.functional", {self}); }
Tensor relu6(const Tensor& self, bool inplace) { static Entry op; return run<Tensor>(op, "relu6", {self, inplace}); }
Tensor leaky_relu(const Tensor& self, double negative_slope, bool inplace) { static Entry op; return run<Tensor>(op, "leaky_relu", {self, negative_slope, inplace}); }
Tensor leaky_relu_(const Tensor& self, double negative_slope) { static Entry op; return run<Tensor>(op, "leaky_relu_", {self, negative_slope}); }
Tensor hardtanh(const Tensor& self, Scalar min_val, Scalar max_val, bool inplace) { static Entry op; return run<Tensor>(op, "hardtanh", {self, min_val, max_val, inplace}); }
Tensor hardtanh_(const Tensor& self, Scalar min_val, Scalar max_val) { static Entry op; return run<Tensor>(op, "hardtanh_", {self, min_val, max_val}); }
Tensor glu(const Tensor& self, int64_t dim) { static Entry op; return run<Tensor>(op, "glu", {self, dim}); }
Tensor mse_loss(const Tensor& self, const Tensor& target, std::string_view reduction, const Tensor& weight) { static Entry op; return run<Tensor>(op, "mse_loss", {self, target, std::nullopt, std::nullopt, reduction, weight}); }
Tensor l1_loss(const Tensor& self, const Tensor& target, std::string_view reduction, const Tensor& weight) { static Entry op; return run<Tensor>(op, "l1_loss", {self, target, std::nullopt, std::nullopt, reduction, weight}); }
Tensor smooth_l1_loss(const Tensor& self, const Tensor& target, std::string_view reduction, double beta) { static Entry op; return run<Tensor>(op, "smooth_l1_loss", {self, target, std::nullopt, std::nullopt, reduction, beta}); }
Tensor huber_loss(const Tensor& self, const Tensor& target, std::string_view reduction, double delta, const Tensor& weight) { static Entry op; return run<Tensor>(op, "huber_loss", {self, target, reduction, delta, weight}); }
Tensor binary_cross_entropy(const Tensor& self, const Tensor& target, const Tensor& weight, std::string_view reduction) { static Entry op; return run<Tensor>(op, "binary_cross_entropy", {self, target, weight, std::nullopt, std::nullopt, reduction}); }
Tensor binary_cross_entropy_with_logits(const Tensor& self, const Tensor& target, const Tensor& weight, std::string_view reduction, const Tensor& pos_weight) { static Entry op; return run<Tensor>(op, "binary_cross_entropy_with_logits", {self, target, weight, std::nullopt, std::nullopt, reduction, pos_weight}); }
Tensor nll_loss(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t ignore_index, std::string_view reduction) { static Entry op; return run<Tensor>(op, "nll_loss", {self, target, weight, std::nullopt, ignore_index, std::nullopt, reduction}); }
Tensor cross_entropy(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t ignore_index, std::string_view reduction, double label_smoothing) { static Entry op; return run<Tensor>(op, "cross_entropy", {self, target, weight, std::nullopt, ignore_index, std::nullopt, reduction, label_smoothing}); }
Tensor embedding(const Tensor& self, const Tensor& weight, std::optional<int64_t> padding_idx, std::optional<double> max_norm, double norm_type, bool scale_grad_by_freq, bool sparse) { static Entry op; return run<Tensor>(op, "embedding.functional", {self, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse}); }
Tensor one_hot(const Tensor& tensor, int64_t num_classes) { static Entry op; return run<Tensor>(op, "one_hot", {tensor, num_classes}); }
Tensor dropout1d(const Tensor& self, double p, bool training, bool inplace) { static Entry op; return run<Tensor>(op, "dropout1d", {self, p, training, inplace}); }
Tensor dropout2d(const Tensor& self, double p, bool training, bool inplace) { static Entry op; return run<Tensor>(op, "dropout2d", {self, p, training, inplace}); }
Tensor dropout3d(const Tensor& self, double p, bool training, bool inplace) { static Entry op; return run<Tensor>(op, "dropout3d", {self, p, training, inplace}); }
Tensor batch_norm(const Tensor& self, const Tensor& running_mean, const Tensor& running_var, const Tensor& weight, const Tensor& bias, bool training, double momentum, double eps) { static Entry op; return run<Tensor>(op, "batch_norm", {self, running_mean, running_var, weight, bias, training, momentum, eps}); }
Tensor instance_norm(const Tensor& self, const Tensor& running_mean, const Tensor& running_var, const Tensor& weight, const Tensor& bias, bool use_input_stats, double momentum, double eps) { static Entry op; return run<Tensor>(op, "instance_norm", {self, running_mean, running_var, weight, bias, use_input_stats, momentum, eps}); }
Tensor normalize(const Tensor& self, double p, int64_t dim, double eps) { static Entry op; return run<Tensor>(op, "normalize", {self, p, dim, eps}); }
Tensor kl_div(const Tensor& self, const Tensor& target, std::string_view reduction, bool log_target) { static Entry op; return run<Tensor>(op, "kl_div", {self, target, std::nullopt, std::nullopt, reduction, log_target}); }
Tensor poisson_nll_loss(const Tensor& self, const Tensor& target, bool log_input, bool full, double eps, std::string_view reduction) { static Entry op; return run<Tensor>(op, "poisson_nll_loss", {self, target, log_input, full, std::nullopt, eps, std::nullopt, reduction}); }
Tensor gaussian_nll_loss(const Tensor& self, const Tensor& target, const Operand& var, bool full, double eps, std::string_view reduction) { static Entry op; return run<Tensor>(op, "gaussian_nll_loss", {self, target, var, full, eps, reduction}); }
Tensor soft_margin_loss(const Tensor& self, const Tensor& target, std::string_view reduction) { static Entry op; return run<Tensor>(op, "soft_margin_loss", {self, target, std::nullopt, std::nullopt, reduction}); }
Tensor hinge_embedding_loss(const Tensor& self, const Tensor& target, double margin, std::string_view reduction) { static Entry op; return run<Tensor>(op, "hinge_embedding_loss", {self, target, margin, std::nullopt, std::nullopt, reduction}); }
Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin, std::string_view reduction) { static Entry op; return run<Tensor>(op, "margin_ranking_loss", {input1, input2, target, margin, std::nullopt, std::nullopt, reduction}); }
Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin, std::string_view reduction) { static Entry op; return run<Tensor>(op, "cosine_embedding_loss", {input1, input2, target, margin, std::nullopt, std::nullopt, reduction}); }
Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative, double margin, double p, double eps, bool swap, std::string_view reduction) { static Entry op; return run<Tensor>(op, "triplet_margin_loss", {anchor, positive, negative, margin, p, eps, swap, std::nullopt, std::nullopt, reduction}); }
Tensor multi_margin_loss(const Tensor& self, const Tensor& target, int64_t p, double margin, const Tensor& weight, std::string_view reduction) { static Entry op; return run<Tensor>(op, "multi_margin_loss", {self, target, p, margin, weight, std::nullopt, std::nullopt, reduction}); }
Tensor multilabel_margin_loss(const Tensor& self, const Tensor& target, std::string_view reduction) { static Entry op; return run<Tensor>(op, "multilabel_margin_loss", {self, target, std::nullopt, std::nullopt, reduction}); }
Tensor multilabel_soft_margin_loss(const Tensor& self, const Tensor& target, const Tensor& weight, std::string_view reduction) { static Entry op; return run<Tensor>(op, "multilabel_soft_margin_loss", {self, target, weight, std::nullopt, std::nullopt, reduction}); }
std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& self, IntList kernel_size, OptionalIntList stride, IntList padding, IntList dilation, bool ceil_mode, bool return_indices) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "max_pool2d_with_indices", {self, repeated(kernel_size, 2), repeated(stride, 2), repeated(padding, 2), repeated(dilation, 2), ceil_mode, return_indices}); }
std::tuple<Tensor, Tensor> max_pool3d_with_indices(const Tensor& self, IntList kernel_size, OptionalIntList stride, IntList padding, IntList dilation, bool ceil_mode, bool return_indices) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "max_pool3d_with_indices", {self, repeated(kernel_size, 3), repeated(stride, 3), repeated(padding, 3), repeated(dilation, 3), ceil_mode, return_indices}); }
std::tuple<Tensor, Tensor> adaptive_max_pool2d_with_indices(const Tensor& self, IntList output_size, bool return_indices) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "adaptive_max_pool2d_with_indices", {self, repeated(output_size, 2), return_indices}); }
std::tuple<Tensor, Tensor> adaptive_max_pool3d_with_indices(const Tensor& self, IntList output_size, bool return_indices) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "adaptive_max_pool3d_with_indices", {self, repeated(output_size, 3), return_indices}); }
Tensor avg_pool2d(const Tensor& self, IntList kernel_size, OptionalIntList stride, IntList padding, bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override) { static Entry op; return run<Tensor>(op, "avg_pool2d", {self, repeated(kernel_size, 2), repeated(stride, 2), repeated(padding, 2), ceil_mode, count_include_pad, divisor_override}); }
Tensor avg_pool3d(const Tensor& self, IntList kernel_size, OptionalIntList stride, IntList padding, bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override) { static Entry op; return run<Tensor>(op, "avg_pool3d", {self, repeated(kernel_size, 3), repeated(stride, 3), repeated(padding, 3), ceil_mode, count_include_pad, divisor_override}); }
Tensor adaptive_avg_pool2d(const Tensor& self, IntList output_size) { static Entry op; return run<Tensor>(op, "adaptive_avg_pool2d", {self, repeated(output_size, 2)}); }
Tensor adaptive_avg_pool3d(const Tensor& self, IntList output_size) { static Entry op; return run<Tensor>(op, "adaptive_avg_pool3d", {self, repeated(output_size, 3)}); }
Tensor unfold(const Tensor& self, IntList kernel_size, IntList dilation, IntList padding, IntList stride) { static Entry op; return run<Tensor>(op, "unfold.im2col", {self, repeated(kernel_size, 2), repeated(dilation, 2), repeated(padding, 2), repeated(stride, 2)}); }
Tensor fold(const Tensor& self, IntList output_size, IntList kernel_size, IntList dilation, IntList padding, IntList stride) { static Entry op; return run<Tensor>(op, "fold", {self, repeated(output_size, 2), repeated(kernel_size, 2), repeated(dilation, 2), repeated(padding, 2), repeated(stride, 2)}); }
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& attn_mask, double dropout_p, bool is_causal, std::optional<double> scale, bool enable_gqa) { static Entry op; return run<Tensor>(op, "scaled_dot_product_attention", {query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa}); }
}  // namespace nn::functional
namespace linalg {
Tensor vander(const Tensor& x, std::optional<int64_t> N) { static Entry op; return run<Tensor>(op, "vander.linalg", {x, N}); }
Tensor vector_norm(const Tensor& self, Scalar ord, OptionalIntList dim, bool keepdim, std::optional<DType> dtype) { static Entry op; return run<Tensor>(op, "vector_norm", {self, ord, repeated(dim, 1), keepdim, dtype}); }
Tensor vecdot(const Tensor& x, const Tensor& y, int64_t dim) { static Entry op; return run<Tensor>(op, "vecdot", {x, y, dim}); }
Tensor matmul(const Tensor& self, const Tensor& other) { static Entry op; return run<Tensor>(op, "matmul", {self, other}); }
Tensor multi_dot(const Tensors& tensors) { static Entry op; return run<Tensor>(op, "multi_dot", {tensors}); }
Tensor cross(const Tensor& self, const Tensor& other, int64_t dim) { static Entry op; return run<Tensor>(op, "cross.linalg", {self, other, dim}); }
std::tuple<Tensor, Tensor> cholesky_ex(const Tensor& self, bool upper, bool check_errors) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "linalg_cholesky_ex", {self, upper, check_errors}); }
Tensor cholesky(const Tensor& self, bool upper) { static Entry op; return run<Tensor>(op, "linalg_cholesky", {self, upper}); }
std::tuple<Tensor, Tensor, Tensor> lu_factor_ex(const Tensor& A, bool pivot, bool check_errors) { static Entry op; return run<std::tuple<Tensor, Tensor, Tensor>>(op, "linalg_lu_factor_ex", {A, pivot, check_errors}); }
std::tuple<Tensor, Tensor> lu_factor(const Tensor& A, bool pivot) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "linalg_lu_factor", {A, pivot}); }
std::tuple<Tensor, Tensor, Tensor> lu(const Tensor& A, bool pivot) { static Entry op; return run<std::tuple<Tensor, Tensor, Tensor>>(op, "linalg_lu", {A, pivot}); }
std::tuple<Tensor, Tensor, Tensor> ldl_factor_ex(const Tensor& self, bool hermitian, bool check_errors) { static Entry op; return run<std::tuple<Tensor, Tensor, Tensor>>(op, "linalg_ldl_factor_ex", {self, hermitian, check_errors}); }
std::tuple<Tensor, Tensor> ldl_factor(const Tensor& self, bool hermitian) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "linalg_ldl_factor", {self, hermitian}); }
std::tuple<Tensor, Tensor> inv_ex(const Tensor& A, bool check_errors) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "linalg_inv_ex", {A, check_errors}); }
Tensor inv(const Tensor& A) { static Entry op; return run<Tensor>(op, "linalg_inv", {A}); }
std::tuple<Tensor, Tensor> qr(const Tensor& A, std::string_view mode) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "linalg_qr", {A, mode}); }
Tensor householder_product(const Tensor& input, const Tensor& tau) { static Entry op; return run<Tensor>(op, "linalg_householder_product", {input, tau}); }
std::tuple<Tensor, Tensor> solve_ex(const Tensor& A, const Tensor& B, bool left, bool check_errors) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "linalg_solve_ex", {A, B, left, check_errors}); }
Tensor solve(const Tensor& A, const Tensor& B, bool left) { static Entry op; return run<Tensor>(op, "linalg_solve", {A, B, left}); }
Tensor lu_solve(const Tensor& LU, const Tensor& pivots, const Tensor& B, bool left, bool adjoint) { static Entry op; return run<Tensor>(op, "linalg_lu_solve", {LU, pivots, B, left, adjoint}); }
Tensor solve_triangular(const Tensor& self, const Tensor& B, bool upper, bool left, bool unitriangular) { static Entry op; return run<Tensor>(op, "linalg_solve_triangular", {self, B, upper, left, unitriangular}); }
Tensor ldl_solve(const Tensor& LD, const Tensor& pivots, const Tensor& B, bool hermitian) { static Entry op; return run<Tensor>(op, "linalg_ldl_solve", {LD, pivots, B, hermitian}); }
std::tuple<Tensor, Tensor, Tensor, Tensor> lstsq(const Tensor& self, const Tensor& b, std::optional<double> rcond, std::optional<std::string_view> driver) { static Entry op; return run<std::tuple<Tensor, Tensor, Tensor, Tensor>>(op, "linalg_lstsq", {self, b, rcond, driver}); }
Tensor det(const Tensor& A) { static Entry op; return run<Tensor>(op, "linalg_det", {A}); }
std::tuple<Tensor, Tensor> slogdet(const Tensor& A) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "linalg_slogdet", {A}); }
std::tuple<Tensor, Tensor> eigh(const Tensor& self, std::string_view UPLO) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "linalg_eigh", {self, UPLO}); }
Tensor eigvalsh(const Tensor& self, std::string_view UPLO) { static Entry op; return run<Tensor>(op, "linalg_eigvalsh", {self, UPLO}); }
std::tuple<Tensor, Tensor> eig(const Tensor& self) { static Entry op; return run<std::tuple<Tensor, Tensor>>(op, "linalg_eig", {self}); }
Tensor eigvals(const Tensor& self) { static Entry op; return run<Tensor>(op, "linalg_eigvals", {self}); }
std::tuple<Tensor, Tensor, Tensor> svd(const Tensor& A, bool full_matrices, std::optional<std::string_view> driver) { static Entry op; return run<std::tuple<Tensor, Tensor, Tensor>>(op, "linalg_svd", {A, full_matrices, driver}); }
Tensor svdvals(const Tensor& A, std::optional<std::string_view> driver) { static Entry op; return run<Tensor>(op, "linalg_svdvals", {A, driver}); }
Tensor pinv(const Tensor& self, const Operand& atol, const Operand& rtol, bool hermitian) { static Entry op; return run<Tensor>(op, "linalg_pinv", {self, atol, rtol, hermitian}); }
Tensor pinv(const Tensor& self, const Operand& rcond, bool hermitian) { static Entry op; return run<Tensor>(op, "linalg_pinv.rcond", {self, rcond, hermitian}); }
Tensor matrix_rank(const Tensor& self, const Operand& atol, const Operand& rtol, bool hermitian) { static Entry op; return run<Tensor>(op, "linalg_matrix_rank", {self, atol, rtol, hermitian}); }
Tensor matrix_rank(const Tensor& self, const Operand& tol, bool hermitian) { static Entry op; return run<Tensor>(op, "linalg_matrix_rank.tol", {self, tol, hermitian}); }
Tensor matrix_norm(const Tensor& self, Scalar ord, IntList dim, bool keepdim, std::optional<DType> dtype) { static Entry op; return run<Tensor>(op, "linalg_matrix_norm.ord", {self, ord, dim, keepdim, dtype}); }
Tensor matrix_norm(const Tensor& self, std::string_view ord, IntList dim, bool keepdim, std::optional<DType> dtype) { static Entry op; return run<Tensor>(op, "linalg_matrix_norm", {self, ord, dim, keepdim, dtype}); }
Tensor norm(const Tensor& self, std::optional<Scalar> ord, OptionalIntList dim, bool keepdim, std::optional<DType> dtype) { static Entry op; return run<Tensor>(op, "linalg_norm", {self, ord, repeated(dim, 1), keepdim, dtype}); }
Tensor norm(const Tensor& self, std::string_view ord, OptionalIntList dim, bool keepdim, std::optional<DType> dtype) { static Entry op; return run<Tensor>(op, "linalg_norm.ord_str", {self, ord, repeated(dim, 1), keepdim, dtype}); }
Tensor cond(const Tensor& self, std::optional<Scalar> p) { static Entry op; return run<Tensor>(op, "linalg_cond", {self, p}); }
Tensor cond(const Tensor& self, std::string_view p) { static Entry op; return run<Tensor>(op, "linalg_cond.p_str", {self, p}); }
Tensor matrix_power(const Tensor& self, int64_t n) { static Entry op; return run<Tensor>(op, "linalg_matrix_power", {self, n}); }
Tensor matrix_exp(const Tensor& self) { static Entry op; return run<Tensor>(op, "linalg_matrix_exp", {self}); }
Tensor diagonal(const Tensor& A, int64_t offset, int64_t dim1, int64_t dim2) { static Entry op; return run<Tensor>(op, "linalg_diagonal", {A, offset, dim1, dim2}); }
Tensor tensorinv(const Tensor& self, int64_t ind) { static Entry op; return run<Tensor>(op, "linalg_tensorinv", {self, ind}); }
Tensor tensorsolve(const Tensor& self, const Tensor& other, OptionalIntList dims) { static Entry op; return run<Tensor>(op, "linalg_tensorsolve", {self, other, dims}); }
}  // namespace linalg
namespace special {
Tensor round(const Tensor& self) { static Entry op; return run<Tensor>(op, "round", {self}); }
Tensor round(const Tensor& self, int64_t decimals) { static Entry op; return run<Tensor>(op, "round.decimals", {self, decimals}); }
Tensor exp2(const Tensor& self) { static Entry op; return run<Tensor>(op, "exp2", {self}); }
Tensor expm1(const Tensor& self) { static Entry op; return run<Tensor>(op, "expm1", {self}); }
Tensor log1p(const Tensor& self) { static Entry op; return run<Tensor>(op, "log1p", {self}); }
Tensor erf(const Tensor& self) { static Entry op; return run<Tensor>(op, "erf", {self}); }
Tensor erfc(const Tensor& self) { static Entry op; return run<Tensor>(op, "erfc", {self}); }
Tensor erfinv(const Tensor& self) { static Entry op; return run<Tensor>(op, "erfinv", {self}); }
Tensor softmax(const Tensor& self, int64_t dim, std::optional<DType> dtype) { static Entry op; return run<Tensor>(op, "softmax", {self, dim, dtype}); }
Tensor log_softmax(const Tensor& self, int64_t dim, std::optional<DType> dtype) { static Entry op; return run<Tensor>(op, "log_softmax", {self, dim, dtype}); }
Tensor logsumexp(const Tensor& self, IntList dim, bool keepdim) { static Entry op; return run<Tensor>(op, "logsumexp", {self, repeated(dim, 1), keepdim}); }
Tensor xlogy(const Operand& self, const Operand& other) { static Entry op; return run<Tensor>(op, "xlogy", {self, other}); }
Tensor xlog1py(const Operand& self, const Operand& other) { static Entry op; return run<Tensor>(op, "xlog1py", {self, other}); }
Tensor sinc(const Tensor& self) { static Entry op; return run<Tensor>(op, "sinc", {self}); }
Tensor logit(const Tensor& self, std::optional<double> eps) { static Entry op; return run<Tensor>(op, "logit", {self, eps}); }
Tensor digamma(const Tensor& self) { static Entry op; return run<Tensor>(op, "digamma", {self}); }
Tensor polygamma(int64_t n, const Tensor& self) { static Entry op; return run<Tensor>(op, "polygamma", {n, self}); }
Tensor i0(const Tensor& self) { static Entry op; return run<Tensor>(op, "i0", {self}); }
Tensor i0e(const Tensor& self) { static Entry op; return run<Tensor>(op, "i0e", {self}); }
Tensor i1(const Tensor& self) { static Entry op; return run<Tensor>(op, "i1", {self}); }
Tensor i1e(const Tensor& self) { static Entry op; return run<Tensor>(op, "i1e", {self}); }
Tensor erfcx(const Tensor& self) { static Entry op; return run<Tensor>(op, "erfcx", {self}); }
Tensor log_ndtr(const Tensor& self) { static Entry op; return run<Tensor>(op, "log_ndtr", {self}); }
Tensor ndtri(const Tensor& self) { static Entry op; return run<Tensor>(op, "ndtri", {self}); }
Tensor entr(const Tensor& self) { static Entry op; return run<Tensor>(op, "entr", {self}); }
Tensor ndtr(const Tensor& self) { static Entry op; return run<Tensor>(op, "ndtr", {self}); }
Tensor zeta(const Operand& self, const Operand& other) { static Entry op; return run<Tensor>(op, "zeta", {self, other}); }
Tensor expit(const Tensor& self) { static Entry op; return run<Tensor>(op, "expit", {self}); }
Tensor psi(const Tensor& self) { static Entry op; return run<Tensor>(op, "psi", {self}); }
Tensor gammaln(const Tensor& self) { static Entry op; return run<Tensor>(op, "gammaln", {self}); }
Tensor multigammaln(const Tensor& self, int64_t p) { static Entry op; return run<Tensor>(op, "multigammaln", {self, p}); }
Tensor airy_ai(const Tensor& self) { static Entry op; return run<Tensor>(op, "special_airy_ai", {self}); }
Tensor bessel_j0(const Tensor& self) { static Entry op; return run<Tensor>(op, "special_bessel_j0", {self}); }
Tensor bessel_j1(const Tensor& self) { static Entry op; return run<Tensor>(op, "special_bessel_j1", {self}); }
Tensor bessel_y0(const Tensor& self) { static Entry op; return run<Tensor>(op, "special_bessel_y0", {self}); }
Tensor bessel_y1(const Tensor& self) { static Entry op; return run<Tensor>(op, "special_bessel_y1", {self}); }
Tensor modified_bessel_k0(const Tensor& self) { static Entry op; return run<Tensor>(op, "special_modified_bessel_k0", {self}); }
Tensor modified_bessel_k1(const Tensor& self) { static Entry op; return run<Tensor>(op, "special_modified_bessel_k1", {self}); }
Tensor scaled_modified_bessel_k0(const Tensor& self) { static Entry op; return run<Tensor>(op, "special_scaled_modified_bessel_k0", {self}); }
Tensor scaled_modified_bessel_k1(const Tensor& self) { static Entry op; return run<Tensor>(op, "special_scaled_modified_bessel_k1", {self}); }
Tensor spherical_bessel_j0(const Tensor& self) { static Entry op; return run<Tensor>(op, "special_spherical_bessel_j0", {self}); }
Tensor modified_bessel_i0(const Tensor& self) { static Entry op; return run<Tensor>(op, "special_modified_bessel_i0", {self}); }
Tensor modified_bessel_i1(const Tensor& self) { static Entry op; return run<Tensor>(op, "special_modified_bessel_i1", {self}); }
Tensor chebyshev_polynomial_t(const Operand& self, const Operand& n) { static Entry op; return run<Tensor>(op, "special_chebyshev_polynomial_t", {self, n}); }
Tensor chebyshev_polynomial_u(const Operand& self, const Operand& n) { static Entry op; return run<Tensor>(op, "special_chebyshev_polynomial_u", {self, n}); }
Tensor chebyshev_polynomial_v(const Operand& self, const Operand& n) { static Entry op; return run<Tensor>(op, "special_chebyshev_polynomial_v", {self, n}); }
Tensor chebyshev_polynomial_w(const Operand& self, const Operand& n) { static Entry op; return run<Tensor>(op, "special_chebyshev_polynomial_w", {self, n}); }
Tensor shifted_chebyshev_polynomial_t(const Operand& self, const Operand& n) { static Entry op; return run<Tensor>(op, "special_shifted_chebyshev_polynomial_t", {self, n}); }
Tensor shifted_chebyshev_polynomial_u(const Operand& self, const Operand& n) { static Entry op; return run<Tensor>(op, "special_shifted_chebyshev_polynomial_u", {self, n}); }
Tensor shifted_chebyshev_polynomial_v(const Operand& self, const Operand& n) { static Entry op; return run<Tensor>(op, "special_shifted_chebyshev_polynomial_v", {self, n}); }
Tensor shifted_chebyshev_polynomial_w(const Operand& self, const Operand& n) { static Entry op; return run<Tensor>(op, "special_shifted_chebyshev_polynomial_w", {self, n}); }
Tensor hermite_polynomial_h(const Operand& self, const Operand& n) { static Entry op; return run<Tensor>(op, "special_hermite_polynomial_h", {self, n}); }
Tensor hermite_polynomial_he(const Operand& self, const Operand& n) { static Entry op; return run<Tensor>(op, "special_hermite_polynomial_he", {self, n}); }
Tensor laguerre_polynomial_l(const Operand& self, const Operand& n) { static Entry op; return run<Tensor>(op, "special_laguerre_polynomial_l", {self, n}); }
Tensor legendre_polynomial_p(const Operand& self, const Operand& n) { static Entry op; return run<Tensor>(op, "special_legendre_polynomial_p", {self, n}); }
Tensor gammainc(const Tensor& self, const Tensor& other) { static Entry op; return run<Tensor>(op, "special_gammainc", {self, other}); }
Tensor gammaincc(const Tensor& self, const Tensor& other) { static Entry op; return run<Tensor>(op, "special_gammaincc", {self, other}); }
}  // namespace special
namespace fft {
Tensor fft(const Tensor& self, std::optional<int64_t> n, int64_t dim, std::optional<std::string_view> norm) { static Entry op; return run<Tensor>(op, "fft_fft", {self, n, dim, norm}); }
Tensor ifft(const Tensor& self, std::optional<int64_t> n, int64_t dim, std::optional<std::string_view> norm) { static Entry op; return run<Tensor>(op, "fft_ifft", {self, n, dim, norm}); }
Tensor rfft(const Tensor& self, std::optional<int64_t> n, int64_t dim, std::optional<std::string_view> norm) { static Entry op; return run<Tensor>(op, "fft_rfft", {self, n, dim, norm}); }
Tensor irfft(const Tensor& self, std::optional<int64_t> n, int64_t dim, std::optional<std::string_view> norm) { static Entry op; return run<Tensor>(op, "fft_irfft", {self, n, dim, norm}); }
Tensor hfft(const Tensor& self, std::optional<int64_t> n, int64_t dim, std::optional<std::string_view> norm) { static Entry op; return run<Tensor>(op, "fft_hfft", {self, n, dim, norm}); }
Tensor ihfft(const Tensor& self, std::optional<int64_t> n, int64_t dim, std::optional<std::string_view> norm) { static Entry op; return run<Tensor>(op, "fft_ihfft", {self, n, dim, norm}); }
Tensor fft2(const Tensor& self, OptionalIntList s, IntList dim, std::optional<std::string_view> norm) { static Entry op; return run<Tensor>(op, "fft_fft2", {self, repeated(s, 1), repeated(dim, 1), norm}); }
Tensor ifft2(const Tensor& self, OptionalIntList s, IntList dim, std::optional<std::string_view> norm) { static Entry op; return run<Tensor>(op, "fft_ifft2", {self, repeated(s, 1), repeated(dim, 1), norm}); }
Tensor rfft2(const Tensor& self, OptionalIntList s, IntList dim, std::optional<std::string_view> norm) { static Entry op; return run<Tensor>(op, "fft_rfft2", {self, repeated(s, 1), repeated(dim, 1), norm}); }
Tensor irfft2(const Tensor& self, OptionalIntList s, IntList dim, std::optional<std::string_view> norm) { static Entry op; return run<Tensor>(op, "fft_irfft2", {self, repeated(s, 1), repeated(dim, 1), norm}); }
Tensor hfft2(const Tensor& self, OptionalIntList s, IntList dim, std::optional<std::string_view> norm) { static Entry op; return run<Tensor>(op, "fft_hfft2", {self, repeated(s, 1), repeated(dim, 1), norm}); }
Tensor ihfft2(const Tensor& self, OptionalIntList s, IntList dim, std::optional<std::string_view> norm) { static Entry op; return run<Tensor>(op, "fft_ihfft2", {self, repeated(s, 1), repeated(dim, 1), norm}); }
Tensor fftn(const Tensor& self, OptionalIntList s, OptionalIntList dim, std::optional<std::string_view> norm) { static Entry op; return run<Tensor>(op, "fft_fftn", {self, repeated(s, 1), repeated(dim, 1), norm}); }
Tensor ifftn(const Tensor& self, OptionalIntList s, OptionalIntList dim, std::optional<std::string_view> norm) { static Entry op; return run<Tensor>(op, "fft_ifftn", {self, repeated(s, 1), repeated(dim, 1), norm}); }
Tensor rfftn(const Tensor& self, OptionalIntList s, OptionalIntList dim, std::optional<std::string_view> norm) { static Entry op; return run<Tensor>(op, "fft_rfftn", {self, repeated(s, 1), repeated(dim, 1), norm}); }
Tensor irfftn(const Tensor& self, OptionalIntList s, OptionalIntList dim, std::optional<std::string_view> norm) { static Entry op; return run<Tensor>(op, "fft_irfftn", {self, repeated(s, 1), repeated(dim, 1), norm}); }
Tensor hfftn(const Tensor& self, OptionalIntList s, OptionalIntList dim, std::optional<std::string_view> norm) { static Entry op; return run<Tensor>(op, "fft_hfftn", {self, repeated(s, 1), repeated(dim, 1), norm}); }
Tensor ihfftn(const Tensor& self, OptionalIntList s, OptionalIntList dim, std::optional<std::string_view> norm) { static Entry op; return run<Tensor>(op, "fft_ihfftn", {self, repeated(s, 1), repeated(dim, 1), norm}); }
Tensor fftfreq(int64_t n, double d, const TensorOptions& options) { static Entry op; return options.applied_to(run<Tensor>(op, "fft_fftfreq", {n, d, options.dtype(), options.device()})); }
Tensor rfftfreq(int64_t n, double d, const TensorOptions& options) { static Entry op; return options.applied_to(run<Tensor>(op, "fft_rfftfreq", {n, d, options.dtype(), options.device()})); }
Tensor fftshift(const Tensor& self, OptionalIntList dim) { static Entry op; return run<Tensor>(op, "fft_fftshift", {self, repeated(dim, 1)}); }
Tensor ifftshift(const Tensor& self, OptionalIntList dim) { static Entry op; return run<Tensor>(op, "fft_ifftshift", {self, repeated(dim, 1)}); }
}  // namespace fft
Tensor Tensor::fill(const Operand& value) const { return api::fill(*this, value); }
Tensor Tensor::clone(std::optional<MemoryFormat> memory_format) const { return api::clone(*this, memory_format); }
Tensor Tensor::new_empty_strided(IntList size, IntList stride, const TensorOptions& options) const { static Entry op; return options.applied_to(run<Tensor>(op, "new_empty_strided", {*this, size, stride, options.dtype(), options.device()})); }
Tensor Tensor::new_empty(IntList size, const TensorOptions& options) const { static Entry op; return options.applied_to(run<Tensor>(op, "new_empty", {*this, size, options.dtype(), options.device()})); }
Tensor Tensor::new_zeros(IntList size, const TensorOptions& options) const { static Entry op; return options.applied_to(run<Tensor>(op, "new_zeros", {*this, size, options.dtype(), options.device()})); }
Tensor Tensor::new_ones(IntList size, const TensorOptions& options) const { static Entry op; return options.applied_to(run<Tensor>(op, "new_ones", {*this, size, options.dtype(), options.device()})); }
Tensor Tensor::new_full(IntList size, Scalar fill_value, const TensorOptions& options) const { static Entry op; return options.applied_to(run<Tensor>(op, "new_full", {*this, size, fill_value, options.dtype(), options.device()})); }
Tensor Tensor::add(const Operand& other, Scalar alpha) const { return api::add(*this, other, alpha); }
Tensor Tensor::sub(const Operand& other, Scalar alpha) const { return api::sub(*this, other, alpha); }
Tensor Tensor::mul(const Operand& other) const { return api::mul(*this, other); }
Tensor Tensor::div(const Operand& other) const { return api::div(*this, other); }
Tensor Tensor::div(const Operand& other, std::optional<std::string_view> rounding_mode) const { return api::div(*this, other, rounding_mode); }
Tensor Tensor::floor_divide(const Operand& other) const { return api::floor_divide(*this, other); }
Tensor Tensor::remainder(const Operand& other) const { return api::remainder(*this, other); }
Tensor Tensor::fmod(const Operand& other) const { return api::fmod(*this, other); }
Tensor Tensor::pow(const Operand& exponent) const { return api::pow(*this, exponent); }
Tensor Tensor::maximum(const Tensor& other) const { return api::maximum(*this, other); }
Tensor Tensor::minimum(const Tensor& other) const { return api::minimum(*this, other); }
Tensor Tensor::neg() const { return api::neg(*this); }
Tensor Tensor::abs() const { return api::abs(*this); }
Tensor Tensor::sign() const { return api::sign(*this); }
Tensor Tensor::sgn() const { return api::sgn(*this); }
Tensor Tensor::square() const { return api::square(*this); }
Tensor Tensor::relu() const { return api::relu(*this); }
Tensor Tensor::floor() const { return api::floor(*this); }
Tensor Tensor::ceil() const { return api::ceil(*this); }
Tensor Tensor::trunc() const { return api::trunc(*this); }
Tensor Tensor::round() const { return api::round(*this); }
Tensor Tensor::round(int64_t decimals) const { return api::round(*this, decimals); }
Tensor Tensor::frac() const { return api::frac(*this); }
Tensor Tensor::sqrt() const { return api::sqrt(*this); }
Tensor Tensor::rsqrt() const { return api::rsqrt(*this); }
Tensor Tensor::reciprocal() const { return api::reciprocal(*this); }
Tensor Tensor::exp() const { return api::exp(*this); }
Tensor Tensor::exp2() const { return api::exp2(*this); }
Tensor Tensor::expm1() const { return api::expm1(*this); }
Tensor Tensor::log() const { return api::log(*this); }
Tensor Tensor::log2() const { return api::log2(*this); }
Tensor Tensor::log10() const { return api::log10(*this); }
Tensor Tensor::log1p() const { return api::log1p(*this); }
Tensor Tensor::sigmoid() const { return api::sigmoid(*this); }
Tensor Tensor::sin() const { return api::sin(*this); }
Tensor Tensor::cos() const { return api::cos(*this); }
Tensor Tensor::tan() const { return api::tan(*this); }
Tensor Tensor::asin() const { return api::asin(*this); }
Tensor Tensor::acos() const { return api::acos(*this); }
Tensor Tensor::atan() const { return api::atan(*this); }
Tensor Tensor::sinh() const { return api::sinh(*this); }
Tensor Tensor::cosh() const { return api::cosh(*this); }
Tensor Tensor::tanh() const { return api::tanh(*this); }
Tensor Tensor::asinh() const { return api::asinh(*this); }
Tensor Tensor::acosh() const { return api::acosh(*this); }
Tensor Tensor::atanh() const { return api::atanh(*this); }
Tensor Tensor::erf() const { return api::erf(*this); }
Tensor Tensor::erfc() const { return api::erfc(*this); }
Tensor Tensor::erfinv() const { return api::erfinv(*this); }
Tensor Tensor::conj_physical() const { return api::conj_physical(*this); }
Tensor Tensor::eq(const Operand& other) const { return api::eq(*this, other); }
Tensor Tensor::ne(const Operand& other) const { return api::ne(*this, other); }
Tensor Tensor::lt(const Operand& other) const { return api::lt(*this, other); }
Tensor Tensor::le(const Operand& other) const { return api::le(*this, other); }
Tensor Tensor::gt(const Operand& other) const { return api::gt(*this, other); }
Tensor Tensor::ge(const Operand& other) const { return api::ge(*this, other); }
Tensor Tensor::isnan() const { return api::isnan(*this); }
Tensor Tensor::isinf() const { return api::isinf(*this); }
Tensor Tensor::isfinite() const { return api::isfinite(*this); }
Tensor Tensor::isposinf() const { return api::isposinf(*this); }
Tensor Tensor::isneginf() const { return api::isneginf(*this); }
Tensor Tensor::signbit() const { return api::signbit(*this); }
Tensor Tensor::logical_and(const Tensor& other) const { return api::logical_and(*this, other); }
Tensor Tensor::logical_or(const Tensor& other) const { return api::logical_or(*this, other); }
Tensor Tensor::logical_xor(const Tensor& other) const { return api::logical_xor(*this, other); }
Tensor Tensor::logical_not() const { return api::logical_not(*this); }
Tensor Tensor::bitwise_and(const Operand& other) const { return api::bitwise_and(*this, other); }
Tensor Tensor::bitwise_or(const Operand& other) const { return api::bitwise_or(*this, other); }
Tensor Tensor::bitwise_xor(const Operand& other) const { return api::bitwise_xor(*this, other); }
Tensor Tensor::bitwise_not() const { return api::bitwise_not(*this); }
Tensor Tensor::bitwise_left_shift(const Operand& other) const { return api::bitwise_left_shift(*this, other); }
Tensor Tensor::bitwise_right_shift(const Operand& other) const { return api::bitwise_right_shift(*this, other); }
Tensor Tensor::where(const Tensor& condition, const Operand& other) const { return api::where(condition, *this, other); }
Tensor Tensor::clamp(const Operand& min, const Operand& max) const { return api::clamp(*this, min, max); }
Tensor Tensor::lerp(const Tensor& end, const Operand& weight) const { return api::lerp(*this, end, weight); }
Tensor Tensor::addcmul(const Tensor& tensor1, const Tensor& tensor2, Scalar value) const { return api::addcmul(*this, tensor1, tensor2, value); }
Tensor Tensor::addcdiv(const Tensor& tensor1, const Tensor& tensor2, Scalar value) const { return api::addcdiv(*this, tensor1, tensor2, value); }
Tensor Tensor::view(IntList size) const { static Entry op; return run<Tensor>(op, "view", {*this, size}); }
Tensor Tensor::view(DType dtype) const { static Entry op; return run<Tensor>(op, "view.dtype", {*this, dtype}); }
Tensor Tensor::expand(IntList size) const { static Entry op; return run<Tensor>(op, "expand", {*this, size}); }
Tensor Tensor::squeeze() const { return api::squeeze(*this); }
Tensor Tensor::squeeze(int64_t dim) const { return api::squeeze(*this, dim); }
Tensor Tensor::squeeze(IntList dim) const { return api::squeeze(*this, dim); }
Tensor Tensor::unsqueeze(int64_t dim) const { return api::unsqueeze(*this, dim); }
Tensor Tensor::transpose(int64_t dim0, int64_t dim1) const { return api::transpose(*this, dim0, dim1); }
Tensor Tensor::t() const { return api::t(*this); }
Tensor Tensor::permute(IntList dims) const { return api::permute(*this, dims); }
Tensor Tensor::select(int64_t dim, int64_t index) const { return api::select(*this, dim, index); }
Tensor Tensor::diagonal(int64_t offset, int64_t dim1, int64_t dim2) const { return api::diagonal(*this, offset, dim1, dim2); }
Tensor Tensor::unfold(int64_t dimension, int64_t size, int64_t step) const { static Entry op; return run<Tensor>(op, "unfold", {*this, dimension, size, step}); }
Tensor Tensor::as_strided(IntList size, IntList stride, std::optional<int64_t> storage_offset) const { return api::as_strided(*this, size, stride, storage_offset); }
Tensor Tensor::reshape(IntList shape) const { return api::reshape(*this, shape); }
Tensor Tensor::view_as(const Tensor& other) const { static Entry op; return run<Tensor>(op, "view_as", {*this, other}); }
Tensor Tensor::reshape_as(const Tensor& other) const { static Entry op; return run<Tensor>(op, "reshape_as", {*this, other}); }
Tensor Tensor::flatten(int64_t start_dim, int64_t end_dim) const { return api::flatten(*this, start_dim, end_dim); }
Tensor Tensor::unflatten(int64_t dim, IntList sizes) const { return api::unflatten(*this, dim, sizes); }
Tensor Tensor::ravel() const { return api::ravel(*this); }
Tensor Tensor::expand_as(const Tensor& other) const { static Entry op; return run<Tensor>(op, "expand_as", {*this, other}); }
Tensor Tensor::broadcast_to(IntList size) const { return api::broadcast_to(*this, size); }
Tensor Tensor::sum_to_size(IntList size) const { static Entry op; return run<Tensor>(op, "sum_to_size", {*this, size}); }
Tensor Tensor::narrow(int64_t dim, int64_t start, int64_t length) const { return api::narrow(*this, dim, start, length); }
Tensor Tensor::movedim(int64_t source, int64_t destination) const { return api::movedim(*this, source, destination); }
Tensor Tensor::movedim(IntList source, IntList destination) const { return api::movedim(*this, source, destination); }
Tensor Tensor::adjoint() const { return api::adjoint(*this); }
Tensor Tensor::as_strided_scatter(const Tensor& src, IntList size, IntList stride, std::optional<int64_t> storage_offset) const { return api::as_strided_scatter(*this, src, size, stride, storage_offset); }
Tensor Tensor::detach() const { return api::detach(*this); }
Tensor Tensor::conj() const { return api::conj(*this); }
Tensors Tensor::split(int64_t split_size, int64_t dim) const { return api::split(*this, split_size, dim); }
Tensors Tensor::split(IntList split_size, int64_t dim) const { return api::split(*this, split_size, dim); }
Tensors Tensor::split_with_sizes(IntList split_sizes, int64_t dim) const { return api::split_with_sizes(*this, split_sizes, dim); }
Tensors Tensor::unbind(int64_t dim) const { return api::unbind(*this, dim); }
Tensors Tensor::chunk(int64_t chunks, int64_t dim) const { return api::chunk(*this, chunks, dim); }
Tensors Tensor::tensor_split(const Tensor& tensor_indices_or_sections, int64_t dim) const { return api::tensor_split(*this, tensor_indices_or_sections, dim); }
Tensors Tensor::tensor_split(int64_t sections, int64_t dim) const { return api::tensor_split(*this, sections, dim); }
Tensors Tensor::tensor_split(IntList indices, int64_t dim) const { return api::tensor_split(*this, indices, dim); }
Tensors Tensor::hsplit(int64_t sections) const { return api::hsplit(*this, sections); }
Tensors Tensor::hsplit(IntList indices) const { return api::hsplit(*this, indices); }
Tensors Tensor::vsplit(int64_t sections) const { return api::vsplit(*this, sections); }
Tensors Tensor::vsplit(IntList indices) const { return api::vsplit(*this, indices); }
Tensors Tensor::dsplit(int64_t sections) const { return api::dsplit(*this, sections); }
Tensors Tensor::dsplit(IntList indices) const { return api::dsplit(*this, indices); }
Tensor Tensor::flip(IntList dims) const { return api::flip(*this, dims); }
Tensor Tensor::fliplr() const { return api::fliplr(*this); }
Tensor Tensor::flipud() const { return api::flipud(*this); }
Tensor Tensor::rot90(int64_t k, IntList dims) const { return api::rot90(*this, k, dims); }
Tensor Tensor::roll(IntList shifts, OptionalIntList dims) const { return api::roll(*this, shifts, dims); }
Tensor Tensor::repeat(IntList repeats) const { static Entry op; return run<Tensor>(op, "repeat", {*this, repeats}); }
Tensor Tensor::tile(IntList dims) const { return api::tile(*this, dims); }
Tensor Tensor::tril(int64_t diagonal) const { return api::tril(*this, diagonal); }
Tensor Tensor::triu(int64_t diagonal) const { return api::triu(*this, diagonal); }
Tensor Tensor::diag_embed(int64_t offset, int64_t dim1, int64_t dim2) const { return api::diag_embed(*this, offset, dim1, dim2); }
Tensor Tensor::diag(int64_t diagonal) const { return api::diag(*this, diagonal); }
Tensor Tensor::diagflat(int64_t offset) const { return api::diagflat(*this, offset); }
Tensor Tensor::trace() const { return api::trace(*this); }
Tensor Tensor::sum(std::optional<DType> dtype) const { return api::sum(*this, dtype); }
Tensor Tensor::sum(OptionalIntList dim, bool keepdim, std::optional<DType> dtype) const { return api::sum(*this, dim, keepdim, dtype); }
Tensor Tensor::mean(std::optional<DType> dtype) const { return api::mean(*this, dtype); }
Tensor Tensor::mean(OptionalIntList dim, bool keepdim, std::optional<DType> dtype) const { return api::mean(*this, dim, keepdim, dtype); }
Tensor Tensor::nansum(OptionalIntList dim, bool keepdim, std::optional<DType> dtype) const { return api::nansum(*this, dim, keepdim, dtype); }
Tensor Tensor::nanmean(OptionalIntList dim, bool keepdim, std::optional<DType> dtype) const { return api::nanmean(*this, dim, keepdim, dtype); }
Tensor Tensor::prod(std::optional<DType> dtype) const { return api::prod(*this, dtype); }
Tensor Tensor::prod(int64_t dim, bool keepdim, std::optional<DType> dtype) const { return api::prod(*this, dim, keepdim, dtype); }
Tensor Tensor::any() const { return api::any(*this); }
Tensor Tensor::any(OptionalIntList dim, bool keepdim) const { return api::any(*this, dim, keepdim); }
Tensor Tensor::all() const { return api::all(*this); }
Tensor Tensor::all(OptionalIntList dim, bool keepdim) const { return api::all(*this, dim, keepdim); }
Tensor Tensor::count_nonzero(OptionalIntList dim) const { return api::count_nonzero(*this, dim); }
Tensor Tensor::max() const { return api::max(*this); }
Tensor Tensor::max(const Tensor& other) const { return api::max(*this, other); }
std::tuple<Tensor, Tensor> Tensor::max(int64_t dim, bool keepdim) const { return api::max(*this, dim, keepdim); }
Tensor Tensor::min() const { return api::min(*this); }
Tensor Tensor::min(const Tensor& other) const { return api::min(*this, other); }
std::tuple<Tensor, Tensor> Tensor::min(int64_t dim, bool keepdim) const { return api::min(*this, dim, keepdim); }
Tensor Tensor::amax(OptionalIntList dim, bool keepdim) const { return api::amax(*this, dim, keepdim); }
Tensor Tensor::amin(OptionalIntList dim, bool keepdim) const { return api::amin(*this, dim, keepdim); }
std::tuple<Tensor, Tensor> Tensor::aminmax(std::optional<int64_t> dim, bool keepdim) const { return api::aminmax(*this, dim, keepdim); }
Tensor Tensor::argmax(std::optional<int64_t> dim, bool keepdim) const { return api::argmax(*this, dim, keepdim); }
Tensor Tensor::argmin(std::optional<int64_t> dim, bool keepdim) const { return api::argmin(*this, dim, keepdim); }
Tensor Tensor::var(Flag unbiased) const { return api::var(*this, unbiased); }
Tensor Tensor::var(OptionalIntList dim, bool unbiased, bool keepdim) const { return api::var(*this, dim, unbiased, keepdim); }
Tensor Tensor::var(OptionalIntList dim, std::optional<Scalar> correction, bool keepdim) const { return api::var(*this, dim, correction, keepdim); }
Tensor Tensor::std(Flag unbiased) const { return api::std(*this, unbiased); }
Tensor Tensor::std(OptionalIntList dim, bool unbiased, bool keepdim) const { return api::std(*this, dim, unbiased, keepdim); }
Tensor Tensor::std(OptionalIntList dim, std::optional<Scalar> correction, bool keepdim) const { return api::std(*this, dim, correction, keepdim); }
Tensor Tensor::norm(std::optional<Scalar> p, OptionalIntList dim, bool keepdim, std::optional<DType> dtype) const { return api::norm(*this, p, dim, keepdim, dtype); }
Tensor Tensor::norm(std::string_view p, OptionalIntList dim, bool keepdim, std::optional<DType> dtype) const { return api::norm(*this, p, dim, keepdim, dtype); }
Tensor Tensor::renorm(Scalar p, int64_t dim, Scalar maxnorm) const { return api::renorm(*this, p, dim, maxnorm); }
Tensor Tensor::dist(const Tensor& other, Scalar p) const { return api::dist(*this, other, p); }
Tensor Tensor::cumsum(int64_t dim, std::optional<DType> dtype) const { return api::cumsum(*this, dim, dtype); }
Tensor Tensor::logcumsumexp(int64_t dim) const { return api::logcumsumexp(*this, dim); }
Tensor Tensor::cumprod(int64_t dim, std::optional<DType> dtype) const { return api::cumprod(*this, dim, dtype); }
std::tuple<Tensor, Tensor> Tensor::cummax(int64_t dim) const { return api::cummax(*this, dim); }
std::tuple<Tensor, Tensor> Tensor::cummin(int64_t dim) const { return api::cummin(*this, dim); }
Tensor Tensor::diff(int64_t n, int64_t dim, const Tensor& prepend, const Tensor& append) const { return api::diff(*this, n, dim, prepend, append); }
Tensor Tensor::softmax(int64_t dim, std::optional<DType> dtype) const { return api::softmax(*this, dim, dtype); }
Tensor Tensor::log_softmax(int64_t dim, std::optional<DType> dtype) const { return api::log_softmax(*this, dim, dtype); }
Tensor Tensor::logsumexp(IntList dim, bool keepdim) const { return api::logsumexp(*this, dim, keepdim); }
Tensor Tensor::isclose(const Tensor& other, double rtol, double atol, bool equal_nan) const { return api::isclose(*this, other, rtol, atol, equal_nan); }
bool Tensor::allclose(const Tensor& other, double rtol, double atol, bool equal_nan) const { return api::allclose(*this, other, rtol, atol, equal_nan); }
bool Tensor::equal(const Tensor& other) const { return api::equal(*this, other); }
Tensor Tensor::mm(const Tensor& mat2) const { return api::mm(*this, mat2); }
Tensor Tensor::bmm(const Tensor& mat2) const { return api::bmm(*this, mat2); }
Tensor Tensor::mv(const Tensor& vec) const { return api::mv(*this, vec); }
Tensor Tensor::dot(const Tensor& tensor) const { return api::dot(*this, tensor); }
Tensor Tensor::vdot(const Tensor& other) const { return api::vdot(*this, other); }
Tensor Tensor::inner(const Tensor& other) const { return api::inner(*this, other); }
Tensor Tensor::outer(const Tensor& vec2) const { return api::outer(*this, vec2); }
Tensor Tensor::matmul(const Tensor& other) const { return api::matmul(*this, other); }
Tensor Tensor::bernoulli(const Generator& generator) const { return api::bernoulli(*this, generator); }
Tensor Tensor::bernoulli(double p, const Generator& generator) const { return api::bernoulli(*this, p, generator); }
Tensor Tensor::bernoulli(const Tensor& p, const Generator& generator) const { return api::bernoulli(*this, p, generator); }
Tensor Tensor::multinomial(int64_t num_samples, bool replacement, const Generator& generator) const { return api::multinomial(*this, num_samples, replacement, generator); }
Tensor Tensor::take(const Tensor& index) const { return api::take(*this, index); }
Tensor Tensor::put(const Tensor& index, const Tensor& source, bool accumulate) const { return api::put(*this, index, source, accumulate); }
Tensor Tensor::index_select(int64_t dim, const Tensor& index) const { return api::index_select(*this, dim, index); }
Tensor Tensor::index_add(int64_t dim, const Tensor& index, const Tensor& source, Scalar alpha) const { return api::index_add(*this, dim, index, source, alpha); }
Tensor Tensor::index_copy(int64_t dim, const Tensor& index, const Tensor& source) const { return api::index_copy(*this, dim, index, source); }
Tensor Tensor::index_fill(int64_t dim, const Tensor& index, const Operand& value) const { return api::index_fill(*this, dim, index, value); }
Tensor Tensor::index_reduce(int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce, bool include_self) const { return api::index_reduce(*this, dim, index, source, reduce, include_self); }
Tensor Tensor::nonzero() const { return api::nonzero(*this); }
Tensors Tensor::nonzero_tuple() const { return api::nonzero_tuple(*this); }
Tensor Tensor::argwhere() const { return api::argwhere(*this); }
Tensor Tensor::masked_select(const Tensor& mask) const { return api::masked_select(*this, mask); }
Tensor Tensor::masked_fill(const Tensor& mask, const Operand& value) const { return api::masked_fill(*this, mask, value); }
Tensor Tensor::masked_scatter(const Tensor& mask, const Tensor& source) const { return api::masked_scatter(*this, mask, source); }
Tensor Tensor::gather(int64_t dim, const Tensor& index, bool sparse_grad) const { return api::gather(*this, dim, index, sparse_grad); }
Tensor Tensor::take_along_dim(const Tensor& indices, std::optional<int64_t> dim) const { return api::take_along_dim(*this, indices, dim); }
Tensor Tensor::scatter(int64_t dim, const Tensor& index, const Tensor& src) const { return api::scatter(*this, dim, index, src); }
Tensor Tensor::scatter(int64_t dim, const Tensor& index, Scalar value) const { return api::scatter(*this, dim, index, value); }
Tensor Tensor::scatter(int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce) const { return api::scatter(*this, dim, index, src, reduce); }
Tensor Tensor::scatter(int64_t dim, const Tensor& index, Scalar value, std::string_view reduce) const { return api::scatter(*this, dim, index, value, reduce); }
Tensor Tensor::scatter_add(int64_t dim, const Tensor& index, const Tensor& src) const { return api::scatter_add(*this, dim, index, src); }
Tensor Tensor::scatter_reduce(int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce, bool include_self) const { return api::scatter_reduce(*this, dim, index, src, reduce, include_self); }
Tensor Tensor::slice_scatter(const Tensor& src, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) const { return api::slice_scatter(*this, src, dim, start, end, step); }
Tensor Tensor::select_scatter(const Tensor& src, int64_t dim, int64_t index) const { return api::select_scatter(*this, src, dim, index); }
Tensor Tensor::diagonal_scatter(const Tensor& src, int64_t offset, int64_t dim1, int64_t dim2) const { return api::diagonal_scatter(*this, src, offset, dim1, dim2); }
std::tuple<Tensor, Tensor> Tensor::sort(int64_t dim, bool descending) const { return api::sort(*this, dim, descending); }
std::tuple<Tensor, Tensor> Tensor::sort(std::optional<bool> stable, int64_t dim, bool descending) const { return api::sort(*this, stable, dim, descending); }
Tensor Tensor::argsort(int64_t dim, bool descending) const { return api::argsort(*this, dim, descending); }
Tensor Tensor::argsort(Flag stable, int64_t dim, bool descending) const { return api::argsort(*this, stable, dim, descending); }
Tensor Tensor::msort() const { return api::msort(*this); }
std::tuple<Tensor, Tensor> Tensor::topk(int64_t k, int64_t dim, bool largest, bool sorted) const { return api::topk(*this, k, dim, largest, sorted); }
std::tuple<Tensor, Tensor> Tensor::kthvalue(int64_t k, int64_t dim, bool keepdim) const { return api::kthvalue(*this, k, dim, keepdim); }
Tensor Tensor::median() const { return api::median(*this); }
std::tuple<Tensor, Tensor> Tensor::median(int64_t dim, bool keepdim) const { return api::median(*this, dim, keepdim); }
Tensor Tensor::nanmedian() const { return api::nanmedian(*this); }
std::tuple<Tensor, Tensor> Tensor::nanmedian(int64_t dim, bool keepdim) const { return api::nanmedian(*this, dim, keepdim); }
std::tuple<Tensor, Tensor> Tensor::mode(int64_t dim, bool keepdim) const { return api::mode(*this, dim, keepdim); }
Tensor Tensor::quantile(const Operand& q, std::optional<int64_t> dim, bool keepdim, std::string_view interpolation) const { return api::quantile(*this, q, dim, keepdim, interpolation); }
Tensor Tensor::nanquantile(const Operand& q, std::optional<int64_t> dim, bool keepdim, std::string_view interpolation) const { return api::nanquantile(*this, q, dim, keepdim, interpolation); }
Tensor Tensor::addmm(const Tensor& mat1, const Tensor& mat2, Scalar beta, Scalar alpha) const { return api::addmm(*this, mat1, mat2, beta, alpha); }
Tensor Tensor::addmv(const Tensor& mat, const Tensor& vec, Scalar beta, Scalar alpha) const { return api::addmv(*this, mat, vec, beta, alpha); }
Tensor Tensor::addr(const Tensor& vec1, const Tensor& vec2, Scalar beta, Scalar alpha) const { return api::addr(*this, vec1, vec2, beta, alpha); }
Tensor Tensor::baddbmm(const Tensor& batch1, const Tensor& batch2, Scalar beta, Scalar alpha) const { return api::baddbmm(*this, batch1, batch2, beta, alpha); }
Tensor Tensor::addbmm(const Tensor& batch1, const Tensor& batch2, Scalar beta, Scalar alpha) const { return api::addbmm(*this, batch1, batch2, beta, alpha); }
Tensor Tensor::kron(const Tensor& other) const { return api::kron(*this, other); }
Tensor Tensor::cross(const Tensor& other, std::optional<int64_t> dim) const { return api::cross(*this, other, dim); }
Tensor Tensor::atan2(const Tensor& other) const { return api::atan2(*this, other); }
Tensor Tensor::hypot(const Tensor& other) const { return api::hypot(*this, other); }
Tensor Tensor::copysign(const Operand& other) const { return api::copysign(*this, other); }
Tensor Tensor::nextafter(const Tensor& other) const { return api::nextafter(*this, other); }
Tensor Tensor::heaviside(const Tensor& values) const { return api::heaviside(*this, values); }
Tensor Tensor::fmax(const Tensor& other) const { return api::fmax(*this, other); }
Tensor Tensor::fmin(const Tensor& other) const { return api::fmin(*this, other); }
Tensor Tensor::clamp_min(const Operand& min) const { return api::clamp_min(*this, min); }
Tensor Tensor::clamp_max(const Operand& max) const { return api::clamp_max(*this, max); }
Tensor Tensor::gcd(const Tensor& other) const { return api::gcd(*this, other); }
Tensor Tensor::lcm(const Tensor& other) const { return api::lcm(*this, other); }
Tensor Tensor::logaddexp(const Tensor& other) const { return api::logaddexp(*this, other); }
Tensor Tensor::logaddexp2(const Tensor& other) const { return api::logaddexp2(*this, other); }
Tensor Tensor::xlogy(const Operand& other) const { return api::xlogy(*this, other); }
Tensor Tensor::float_power(const Operand& exponent) const { return api::float_power(*this, exponent); }
Tensor Tensor::ldexp(const Tensor& other) const { return api::ldexp(*this, other); }
Tensor Tensor::deg2rad() const { return api::deg2rad(*this); }
Tensor Tensor::rad2deg() const { return api::rad2deg(*this); }
Tensor Tensor::angle() const { return api::angle(*this); }
Tensor Tensor::positive() const { return api::positive(*this); }
Tensor Tensor::isreal() const { return api::isreal(*this); }
Tensor Tensor::nan_to_num(std::optional<double> nan, std::optional<double> posinf, std::optional<double> neginf) const { return api::nan_to_num(*this, nan, posinf, neginf); }
Tensor Tensor::sinc() const { return api::sinc(*this); }
Tensor Tensor::logit(std::optional<double> eps) const { return api::logit(*this, eps); }
Tensor Tensor::lgamma() const { return api::lgamma(*this); }
Tensor Tensor::digamma() const { return api::digamma(*this); }
Tensor Tensor::polygamma(int64_t n) const { return api::polygamma(n, *this); }
Tensor Tensor::mvlgamma(int64_t p) const { return api::mvlgamma(*this, p); }
Tensor Tensor::i0() const { return api::i0(*this); }
std::tuple<Tensor, Tensor> Tensor::frexp() const { return api::frexp(*this); }
Tensor Tensor::hardshrink(Scalar lambd) const { return api::hardshrink(*this, lambd); }
Tensor Tensor::prelu(const Tensor& weight) const { return api::prelu(*this, weight); }
Tensor Tensor::cholesky(bool upper) const { return api::cholesky(*this, upper); }
Tensor Tensor::cholesky_inverse(bool upper) const { return api::cholesky_inverse(*this, upper); }
Tensor Tensor::inverse() const { return api::inverse(*this); }
std::tuple<Tensor, Tensor> Tensor::qr(bool some) const { return api::qr(*this, some); }
std::tuple<Tensor, Tensor> Tensor::geqrf() const { return api::geqrf(*this); }
Tensor Tensor::orgqr(const Tensor& input2) const { return api::orgqr(*this, input2); }
Tensor Tensor::ormqr(const Tensor& input2, const Tensor& input3, bool left, bool transpose) const { return api::ormqr(*this, input2, input3, left, transpose); }
Tensor Tensor::lu_solve(const Tensor& LU_data, const Tensor& LU_pivots) const { return api::lu_solve(*this, LU_data, LU_pivots); }
std::tuple<Tensor, Tensor> Tensor::triangular_solve(const Tensor& A, bool upper, bool transpose, bool unitriangular) const { return api::triangular_solve(*this, A, upper, transpose, unitriangular); }
Tensor Tensor::cholesky_solve(const Tensor& input2, bool upper) const { return api::cholesky_solve(*this, input2, upper); }
Tensor Tensor::det() const { return api::det(*this); }
std::tuple<Tensor, Tensor> Tensor::slogdet() const { return api::slogdet(*this); }
Tensor Tensor::logdet() const { return api::logdet(*this); }
std::tuple<Tensor, Tensor, Tensor> Tensor::svd(bool some, bool compute_uv) const { return api::svd(*this, some, compute_uv); }
Tensor Tensor::pinverse(double rcond) const { return api::pinverse(*this, rcond); }
Tensor Tensor::matrix_power(int64_t n) const { return api::matrix_power(*this, n); }
Tensor Tensor::matrix_exp() const { return api::matrix_exp(*this); }
Tensor Tensor::bincount(const Tensor& weights, int64_t minlength) const { return api::bincount(*this, weights, minlength); }
Tensor Tensor::histc(int64_t bins, Scalar min, Scalar max) const { return api::histc(*this, bins, min, max); }
std::tuple<Tensor, Tensor> Tensor::histogram(const Tensor& bins, const Tensor& weight, bool density) const { return api::histogram(*this, bins, weight, density); }
std::tuple<Tensor, Tensor> Tensor::histogram(int64_t bins, std::optional<std::vector<double>> range, const Tensor& weight, bool density) const { return api::histogram(*this, bins, range, weight, density); }
Tensor Tensor::cov(int64_t correction, const Tensor& fweights, const Tensor& aweights) const { return api::cov(*this, correction, fweights, aweights); }
Tensor Tensor::corrcoef() const { return api::corrcoef(*this); }
Tensor Tensor::repeat_interleave(const Tensor& repeats, std::optional<int64_t> dim, std::optional<int64_t> output_size) const { return api::repeat_interleave(*this, repeats, dim, output_size); }
Tensor Tensor::repeat_interleave(int64_t repeats, std::optional<int64_t> dim, std::optional<int64_t> output_size) const { return api::repeat_interleave(*this, repeats, dim, output_size); }
Tensor Tensor::nonzero_static(int64_t size, int64_t fill_value) const { return api::nonzero_static(*this, size, fill_value); }
Tensor Tensor::narrow_copy(int64_t dim, int64_t start, int64_t length) const { return api::narrow_copy(*this, dim, start, length); }
Tensor Tensor::slice_inverse(const Tensor& src, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) const { return api::slice_inverse(*this, src, dim, start, end, step); }
Tensor Tensor::igamma(const Tensor& other) const { return api::igamma(*this, other); }
Tensor Tensor::igammac(const Tensor& other) const { return api::igammac(*this, other); }
Tensor Tensor::stft(int64_t n_fft, std::optional<int64_t> hop_length, std::optional<int64_t> win_length, const Tensor& window, bool center, std::string_view pad_mode, bool normalized, std::optional<bool> onesided, std::optional<bool> return_complex, std::optional<bool> align_to_window) const { return api::stft(*this, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided, return_complex, align_to_window); }
Tensor Tensor::istft(int64_t n_fft, std::optional<int64_t> hop_length, std::optional<int64_t> win_length, const Tensor& window, bool center, bool normalized, std::optional<bool> onesided, std::optional<int64_t> length, bool return_complex) const { return api::istft(*this, n_fft, hop_length, win_length, window, center, normalized, onesided, length, return_complex); }
Tensor Tensor::subtract(const Operand& other, Scalar alpha) const { return api::subtract(*this, other, alpha); }
Tensor Tensor::multiply(const Operand& other) const { return api::multiply(*this, other); }
Tensor Tensor::divide(const Operand& other) const { return api::divide(*this, other); }
Tensor Tensor::divide(const Operand& other, std::optional<std::string_view> rounding_mode) const { return api::divide(*this, other, rounding_mode); }
Tensor Tensor::true_divide(const Operand& other) const { return api::true_divide(*this, other); }
Tensor Tensor::true_divide(const Operand& other, std::optional<std::string_view> rounding_mode) const { return api::true_divide(*this, other, rounding_mode); }
Tensor Tensor::negative() const { return api::negative(*this); }
Tensor Tensor::absolute() const { return api::absolute(*this); }
Tensor Tensor::fix() const { return api::fix(*this); }
Tensor Tensor::arcsin() const { return api::arcsin(*this); }
Tensor Tensor::arccos() const { return api::arccos(*this); }
Tensor Tensor::arctan() const { return api::arctan(*this); }
Tensor Tensor::arcsinh() const { return api::arcsinh(*this); }
Tensor Tensor::arccosh() const { return api::arccosh(*this); }
Tensor Tensor::arctanh() const { return api::arctanh(*this); }
Tensor Tensor::not_equal(const Operand& other) const { return api::not_equal(*this, other); }
Tensor Tensor::less(const Operand& other) const { return api::less(*this, other); }
Tensor Tensor::less_equal(const Operand& other) const { return api::less_equal(*this, other); }
Tensor Tensor::greater(const Operand& other) const { return api::greater(*this, other); }
Tensor Tensor::greater_equal(const Operand& other) const { return api::greater_equal(*this, other); }
Tensor Tensor::clip(const Operand& min, const Operand& max) const { return api::clip(*this, min, max); }
Tensor Tensor::swapaxes(int64_t dim0, int64_t dim1) const { return api::swapaxes(*this, dim0, dim1); }
Tensor Tensor::swapdims(int64_t dim0, int64_t dim1) const { return api::swapdims(*this, dim0, dim1); }
Tensor Tensor::moveaxis(int64_t source, int64_t destination) const { return api::moveaxis(*this, source, destination); }
Tensor Tensor::moveaxis(IntList source, IntList destination) const { return api::moveaxis(*this, source, destination); }
Tensor Tensor::ger(const Tensor& vec2) const { return api::ger(*this, vec2); }
Tensor Tensor::arctan2(const Tensor& other) const { return api::arctan2(*this, other); }
Tensors Tensor::unsafe_chunk(int64_t chunks, int64_t dim) const { return api::unsafe_chunk(*this, chunks, dim); }
Tensors Tensor::unsafe_split(int64_t split_size, int64_t dim) const { return api::unsafe_split(*this, split_size, dim); }
Tensors Tensor::unsafe_split(IntList split_size, int64_t dim) const { return api::unsafe_split(*this, split_size, dim); }
Tensors Tensor::unsafe_split_with_sizes(IntList split_sizes, int64_t dim) const { return api::unsafe_split_with_sizes(*this, split_sizes, dim); }
const Tensor& Tensor::copy_(const Tensor& src, bool non_blocking) const { static Entry op; run_in_place(op, "copy", {*this, src, non_blocking}); return *this; }
const Tensor& Tensor::fill_(const Operand& value) const { static Entry op; run_in_place(op, "fill", {*this, value}); return *this; }
const Tensor& Tensor::zero_() const { static Entry op; run_in_place(op, "zero", {*this}); return *this; }
const Tensor& Tensor::add_(const Operand& other, Scalar alpha) const { static Entry op; run_in_place(op, "add", {*this, other, alpha}); return *this; }
const Tensor& Tensor::sub_(const Operand& other, Scalar alpha) const { static Entry op; run_in_place(op, "sub", {*this, other, alpha}); return *this; }
const Tensor& Tensor::mul_(const Operand& other) const { static Entry op; run_in_place(op, "mul", {*this, other}); return *this; }
const Tensor& Tensor::div_(const Operand& other) const { static Entry op; run_in_place(op, "div", {*this, other}); return *this; }
const Tensor& Tensor::div_(const Operand& other, std::optional<std::string_view> rounding_mode) const { static Entry op; run_in_place(op, "div.mode", {*this, other, rounding_mode}); return *this; }
const Tensor& Tensor::floor_divide_(const Operand& other) const { static Entry op; run_in_place(op, "floor_divide", {*this, other}); return *this; }
const Tensor& Tensor::remainder_(const Operand& other) const { static Entry op; run_in_place(op, "remainder", {*this, other}); return *this; }
const Tensor& Tensor::fmod_(const Operand& other) const { static Entry op; run_in_place(op, "fmod", {*this, other}); return *this; }
const Tensor& Tensor::pow_(const Operand& exponent) const { static Entry op; run_in_place(op, "pow", {*this, exponent}); return *this; }
const Tensor& Tensor::maximum_(const Tensor& other) const { static Entry op; run_in_place(op, "maximum", {*this, other}); return *this; }
const Tensor& Tensor::minimum_(const Tensor& other) const { static Entry op; run_in_place(op, "minimum", {*this, other}); return *this; }
const Tensor& Tensor::neg_() const { static Entry op; run_in_place(op, "neg", {*this}); return *this; }
const Tensor& Tensor::abs_() const { static Entry op; run_in_place(op, "abs", {*this}); return *this; }
const Tensor& Tensor::sign_() const { static Entry op; run_in_place(op, "sign", {*this}); return *this; }
const Tensor& Tensor::sgn_() const { static Entry op; run_in_place(op, "sgn", {*this}); return *this; }
const Tensor& Tensor::square_() const { static Entry op; run_in_place(op, "square", {*this}); return *this; }
const Tensor& Tensor::relu_() const { static Entry op; run_in_place(op, "relu", {*this}); return *this; }
const Tensor& Tensor::floor_() const { static Entry op; run_in_place(op, "floor", {*this}); return *this; }
const Tensor& Tensor::ceil_() const { static Entry op; run_in_place(op, "ceil", {*this}); return *this; }
const Tensor& Tensor::trunc_() const { static Entry op; run_in_place(op, "trunc", {*this}); return *this; }
const Tensor& Tensor::round_() const { static Entry op; run_in_place(op, "round", {*this}); return *this; }
const Tensor& Tensor::round_(int64_t decimals) const { static Entry op; run_in_place(op, "round.decimals", {*this, decimals}); return *this; }
const Tensor& Tensor::frac_() const { static Entry op; run_in_place(op, "frac", {*this}); return *this; }
const Tensor& Tensor::sqrt_() const { static Entry op; run_in_place(op, "sqrt", {*this}); return *this; }
const Tensor& Tensor::rsqrt_() const { static Entry op; run_in_place(op, "rsqrt", {*this}); return *this; }
const Tensor& Tensor::reciprocal_() const { static Entry op; run_in_place(op, "reciprocal", {*this}); return *this; }
const Tensor& Tensor::exp_() const { static Entry op; run_in_place(op, "exp", {*this}); return *this; }
const Tensor& Tensor::exp2_() const { static Entry op; run_in_place(op, "exp2", {*this}); return *this; }
const Tensor& Tensor::expm1_() const { static Entry op; run_in_place(op, "expm1", {*this}); return *this; }
const Tensor& Tensor::log_() const { static Entry op; run_in_place(op, "log", {*this}); return *this; }
const Tensor& Tensor::log2_() const { static Entry op; run_in_place(op, "log2", {*this}); return *this; }
const Tensor& Tensor::log10_() const { static Entry op; run_in_place(op, "log10", {*this}); return *this; }
const Tensor& Tensor::log1p_() const { static Entry op; run_in_place(op, "log1p", {*this}); return *this; }
const Tensor& Tensor::sigmoid_() const { static Entry op; run_in_place(op, "sigmoid", {*this}); return *this; }
const Tensor& Tensor::sin_() const { static Entry op; run_in_place(op, "sin", {*this}); return *this; }
const Tensor& Tensor::cos_() const { static Entry op; run_in_place(op, "cos", {*this}); return *this; }
const Tensor& Tensor::tan_() const { static Entry op; run_in_place(op, "tan", {*this}); return *this; }
const Tensor& Tensor::asin_() const { static Entry op; run_in_place(op, "asin", {*this}); return *this; }
const Tensor& Tensor::acos_() const { static Entry op; run_in_place(op, "acos", {*this}); return *this; }
const Tensor& Tensor::atan_() const { static Entry op; run_in_place(op, "atan", {*this}); return *this; }
const Tensor& Tensor::sinh_() const { static Entry op; run_in_place(op, "sinh", {*this}); return *this; }
const Tensor& Tensor::cosh_() const { static Entry op; run_in_place(op, "cosh", {*this}); return *this; }
const Tensor& Tensor::tanh_() const { static Entry op; run_in_place(op, "tanh", {*this}); return *this; }
const Tensor& Tensor::asinh_() const { static Entry op; run_in_place(op, "asinh", {*this}); return *this; }
const Tensor& Tensor::acosh_() const { static Entry op; run_in_place(op, "acosh", {*this}); return *this; }
const Tensor& Tensor::atanh_() const { static Entry op; run_in_place(op, "atanh", {*this}); return *this; }
const Tensor& Tensor::erf_() const { static Entry op; run_in_place(op, "erf", {*this}); return *this; }
const Tensor& Tensor::erfc_() const { static Entry op; run_in_place(op, "erfc", {*this}); return *this; }
const Tensor& Tensor::erfinv_() const { static Entry op; run_in_place(op, "erfinv", {*this}); return *this; }
const Tensor& Tensor::conj_physical_() const { static Entry op; run_in_place(op, "conj_physical", {*this}); return *this; }
const Tensor& Tensor::eq_(const Operand& other) const { static Entry op; run_in_place(op, "eq", {*this, other}); return *this; }
const Tensor& Tensor::ne_(const Operand& other) const { static Entry op; run_in_place(op, "ne", {*this, other}); return *this; }
const Tensor& Tensor::lt_(const Operand& other) const { static Entry op; run_in_place(op, "lt", {*this, other}); return *this; }
const Tensor& Tensor::le_(const Operand& other) const { static Entry op; run_in_place(op, "le", {*this, other}); return *this; }
const Tensor& Tensor::gt_(const Operand& other) const { static Entry op; run_in_place(op, "gt", {*this, other}); return *this; }
const Tensor& Tensor::ge_(const Operand& other) const { static Entry op; run_in_place(op, "ge", {*this, other}); return *this; }
const Tensor& Tensor::logical_and_(const Tensor& other) const { static Entry op; run_in_place(op, "logical_and", {*this, other}); return *this; }
const Tensor& Tensor::logical_or_(const Tensor& other) const { static Entry op; run_in_place(op, "logical_or", {*this, other}); return *this; }
const Tensor& Tensor::logical_xor_(const Tensor& other) const { static Entry op; run_in_place(op, "logical_xor", {*this, other}); return *this; }
const Tensor& Tensor::logical_not_() const { static Entry op; run_in_place(op, "logical_not", {*this}); return *this; }
const Tensor& Tensor::bitwise_and_(const Operand& other) const { static Entry op; run_in_place(op, "bitwise_and", {*this, other}); return *this; }
const Tensor& Tensor::bitwise_or_(const Operand& other) const { static Entry op; run_in_place(op, "bitwise_or", {*this, other}); return *this; }
const Tensor& Tensor::bitwise_xor_(const Operand& other) const { static Entry op; run_in_place(op, "bitwise_xor", {*this, other}); return *this; }
const Tensor& Tensor::bitwise_not_() const { static Entry op; run_in_place(op, "bitwise_not", {*this}); return *this; }
const Tensor& Tensor::bitwise_left_shift_(const Operand& other) const { static Entry op; run_in_place(op, "bitwise_left_shift", {*this, other}); return *this; }
const Tensor& Tensor::bitwise_right_shift_(const Operand& other) const { static Entry op; run_in_place(op, "bitwise_right_shift", {*this, other}); return *this; }
const Tensor& Tensor::clamp_(const Operand& min, const Operand& max) const { static Entry op; run_in_place(op, "clamp", {*this, min, max}); return *this; }
const Tensor& Tensor::lerp_(const Tensor& end, const Operand& weight) const { static Entry op; run_in_place(op, "lerp", {*this, end, weight}); return *this; }
const Tensor& Tensor::addcmul_(const Tensor& tensor1, const Tensor& tensor2, Scalar value) const { static Entry op; run_in_place(op, "addcmul", {*this, tensor1, tensor2, value}); return *this; }
const Tensor& Tensor::addcdiv_(const Tensor& tensor1, const Tensor& tensor2, Scalar value) const { static Entry op; run_in_place(op, "addcdiv", {*this, tensor1, tensor2, value}); return *this; }
const Tensor& Tensor::squeeze_() const { static Entry op; run_in_place(op, "squeeze", {*this}); return *this; }
const Tensor& Tensor::squeeze_(int64_t dim) const { static Entry op; run_in_place(op, "squeeze.dim", {*this, dim}); return *this; }
const Tensor& Tensor::squeeze_(IntList dim) const { static Entry op; run_in_place(op, "squeeze.dims", {*this, dim}); return *this; }
const Tensor& Tensor::unsqueeze_(int64_t dim) const { static Entry op; run_in_place(op, "unsqueeze", {*this, dim}); return *this; }
const Tensor& Tensor::transpose_(int64_t dim0, int64_t dim1) const { static Entry op; run_in_place(op, "transpose", {*this, dim0, dim1}); return *this; }
const Tensor& Tensor::t_() const { static Entry op; run_in_place(op, "t", {*this}); return *this; }
const Tensor& Tensor::tril_(int64_t diagonal) const { static Entry op; run_in_place(op, "tril", {*this, diagonal}); return *this; }
const Tensor& Tensor::triu_(int64_t diagonal) const { static Entry op; run_in_place(op, "triu", {*this, diagonal}); return *this; }
const Tensor& Tensor::renorm_(Scalar p, int64_t dim, Scalar maxnorm) const { static Entry op; run_in_place(op, "renorm", {*this, p, dim, maxnorm}); return *this; }
const Tensor& Tensor::cumsum_(int64_t dim, std::optional<DType> dtype) const { static Entry op; run_in_place(op, "cumsum", {*this, dim, dtype}); return *this; }
const Tensor& Tensor::cumprod_(int64_t dim, std::optional<DType> dtype) const { static Entry op; run_in_place(op, "cumprod", {*this, dim, dtype}); return *this; }
const Tensor& Tensor::uniform_(double from_, double to, const Generator& generator) const { static Entry op; run_in_place(op, "uniform", {*this, from_, to, generator}); return *this; }
const Tensor& Tensor::normal_(double mean, double std, const Generator& generator) const { static Entry op; run_in_place(op, "normal", {*this, mean, std, generator}); return *this; }
const Tensor& Tensor::exponential_(double lambd, const Generator& generator) const { static Entry op; run_in_place(op, "exponential", {*this, lambd, generator}); return *this; }
const Tensor& Tensor::cauchy_(double median, double sigma, const Generator& generator) const { static Entry op; run_in_place(op, "cauchy", {*this, median, sigma, generator}); return *this; }
const Tensor& Tensor::log_normal_(double mean, double std, const Generator& generator) const { static Entry op; run_in_place(op, "log_normal", {*this, mean, std, generator}); return *this; }
const Tensor& Tensor::geometric_(double p, const Generator& generator) const { static Entry op; run_in_place(op, "geometric", {*this, p, generator}); return *this; }
const Tensor& Tensor::random_(const Generator& generator) const { static Entry op; run_in_place(op, "random", {*this, generator}); return *this; }
const Tensor& Tensor::random_(int64_t to, const Generator& generator) const { static Entry op; run_in_place(op, "random.to", {*this, to, generator}); return *this; }
const Tensor& Tensor::random_(int64_t from_, std::optional<int64_t> to, const Generator& generator) const { static Entry op; run_in_place(op, "random.from", {*this, from_, to, generator}); return *this; }
const Tensor& Tensor::bernoulli_(double p, const Generator& generator) const { static Entry op; run_in_place(op, "bernoulli.p", {*this, p, generator}); return *this; }
const Tensor& Tensor::bernoulli_(const Tensor& p, const Generator& generator) const { static Entry op; run_in_place(op, "bernoulli.tensor", {*this, p, generator}); return *this; }
const Tensor& Tensor::put_(const Tensor& index, const Tensor& source, bool accumulate) const { static Entry op; run_in_place(op, "put", {*this, index, source, accumulate}); return *this; }
const Tensor& Tensor::index_add_(int64_t dim, const Tensor& index, const Tensor& source, Scalar alpha) const { static Entry op; run_in_place(op, "index_add", {*this, dim, index, source, alpha}); return *this; }
const Tensor& Tensor::index_copy_(int64_t dim, const Tensor& index, const Tensor& source) const { static Entry op; run_in_place(op, "index_copy", {*this, dim, index, source}); return *this; }
const Tensor& Tensor::index_fill_(int64_t dim, const Tensor& index, const Operand& value) const { static Entry op; run_in_place(op, "index_fill", {*this, dim, index, value}); return *this; }
const Tensor& Tensor::index_reduce_(int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce, bool include_self) const { static Entry op; run_in_place(op, "index_reduce", {*this, dim, index, source, reduce, include_self}); return *this; }
const Tensor& Tensor::masked_fill_(const Tensor& mask, const Operand& value) const { static Entry op; run_in_place(op, "masked_fill", {*this, mask, value}); return *this; }
const Tensor& Tensor::masked_scatter_(const Tensor& mask, const Tensor& source) const { static Entry op; run_in_place(op, "masked_scatter", {*this, mask, source}); return *this; }
const Tensor& Tensor::scatter_(int64_t dim, const Tensor& index, const Tensor& src) const { static Entry op; run_in_place(op, "scatter.src", {*this, dim, index, src}); return *this; }
const Tensor& Tensor::scatter_(int64_t dim, const Tensor& index, Scalar value) const { static Entry op; run_in_place(op, "scatter.value", {*this, dim, index, value}); return *this; }
const Tensor& Tensor::scatter_(int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce) const { static Entry op; run_in_place(op, "scatter.reduce", {*this, dim, index, src, reduce}); return *this; }
const Tensor& Tensor::scatter_(int64_t dim, const Tensor& index, Scalar value, std::string_view reduce) const { static Entry op; run_in_place(op, "scatter.value_reduce", {*this, dim, index, value, reduce}); return *this; }
const Tensor& Tensor::scatter_add_(int64_t dim, const Tensor& index, const Tensor& src) const { static Entry op; run_in_place(op, "scatter_add", {*this, dim, index, src}); return *this; }
const Tensor& Tensor::scatter_reduce_(int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce, bool include_self) const { static Entry op; run_in_place(op, "scatter_reduce", {*this, dim, index, src, reduce, include_self}); return *this; }
const Tensor& Tensor::addmm_(const Tensor& mat1, const Tensor& mat2, Scalar beta, Scalar alpha) const { static Entry op; run_in_place(op, "addmm", {*this, mat1, mat2, beta, alpha}); return *this; }
const Tensor& Tensor::addmv_(const Tensor& mat, const Tensor& vec, Scalar beta, Scalar alpha) const { static Entry op; run_in_place(op, "addmv", {*this, mat, vec, beta, alpha}); return *this; }
const Tensor& Tensor::addr_(const Tensor& vec1, const Tensor& vec2, Scalar beta, Scalar alpha) const { static Entry op; run_in_place(op, "addr", {*this, vec1, vec2, beta, alpha}); return *this; }
const Tensor& Tensor::baddbmm_(const Tensor& batch1, const Tensor& batch2, Scalar beta, Scalar alpha) const { static Entry op; run_in_place(op, "baddbmm", {*this, batch1, batch2, beta, alpha}); return *this; }
const Tensor& Tensor::addbmm_(const Tensor& batch1, const Tensor& batch2, Scalar beta, Scalar alpha) const { static Entry op; run_in_place(op, "addbmm", {*this, batch1, batch2, beta, alpha}); return *this; }
const Tensor& Tensor::atan2_(const Tensor& other) const { static Entry op; run_in_place(op, "atan2", {*this, other}); return *this; }
const Tensor& Tensor::hypot_(const Tensor& other) const { static Entry op; run_in_place(op, "hypot", {*this, other}); return *this; }
const Tensor& Tensor::copysign_(const Operand& other) const { static Entry op; run_in_place(op, "copysign", {*this, other}); return *this; }
const Tensor& Tensor::nextafter_(const Tensor& other) const { static Entry op; run_in_place(op, "nextafter", {*this, other}); return *this; }
const Tensor& Tensor::heaviside_(const Tensor& values) const { static Entry op; run_in_place(op, "heaviside", {*this, values}); return *this; }
const Tensor& Tensor::clamp_min_(const Operand& min) const { static Entry op; run_in_place(op, "clamp_min", {*this, min}); return *this; }
const Tensor& Tensor::clamp_max_(const Operand& max) const { static Entry op; run_in_place(op, "clamp_max", {*this, max}); return *this; }
const Tensor& Tensor::gcd_(const Tensor& other) const { static Entry op; run_in_place(op, "gcd", {*this, other}); return *this; }
const Tensor& Tensor::lcm_(const Tensor& other) const { static Entry op; run_in_place(op, "lcm", {*this, other}); return *this; }
const Tensor& Tensor::xlogy_(const Operand& other) const { static Entry op; run_in_place(op, "xlogy", {*this, other}); return *this; }
const Tensor& Tensor::float_power_(const Operand& exponent) const { static Entry op; run_in_place(op, "float_power", {*this, exponent}); return *this; }
const Tensor& Tensor::ldexp_(const Tensor& other) const { static Entry op; run_in_place(op, "ldexp", {*this, other}); return *this; }
const Tensor& Tensor::deg2rad_() const { static Entry op; run_in_place(op, "deg2rad", {*this}); return *this; }
const Tensor& Tensor::rad2deg_() const { static Entry op; run_in_place(op, "rad2deg", {*this}); return *this; }
const Tensor& Tensor::nan_to_num_(std::optional<double> nan, std::optional<double> posinf, std::optional<double> neginf) const { static Entry op; run_in_place(op, "nan_to_num", {*this, nan, posinf, neginf}); return *this; }
const Tensor& Tensor::sinc_() const { static Entry op; run_in_place(op, "sinc", {*this}); return *this; }
const Tensor& Tensor::logit_(std::optional<double> eps) const { static Entry op; run_in_place(op, "logit", {*this, eps}); return *this; }
const Tensor& Tensor::lgamma_() const { static Entry op; run_in_place(op, "lgamma", {*this}); return *this; }
const Tensor& Tensor::digamma_() const { static Entry op; run_in_place(op, "digamma", {*this}); return *this; }
const Tensor& Tensor::mvlgamma_(int64_t p) const { static Entry op; run_in_place(op, "mvlgamma", {*this, p}); return *this; }
const Tensor& Tensor::i0_() const { static Entry op; run_in_place(op, "i0", {*this}); return *this; }
const Tensor& Tensor::fill_diagonal_(Scalar fill_value, bool wrap) const { static Entry op; run_in_place(op, "fill_diagonal", {*this, fill_value, wrap}); return *this; }
const Tensor& Tensor::igamma_(const Tensor& other) const { static Entry op; run_in_place(op, "igamma", {*this, other}); return *this; }
const Tensor& Tensor::igammac_(const Tensor& other) const { static Entry op; run_in_place(op, "igammac", {*this, other}); return *this; }
const Tensor& Tensor::subtract_(const Operand& other, Scalar alpha) const { static Entry op; run_in_place(op, "sub", {*this, other, alpha}); return *this; }
const Tensor& Tensor::multiply_(const Operand& other) const { static Entry op; run_in_place(op, "mul", {*this, other}); return *this; }
const Tensor& Tensor::divide_(const Operand& other) const { static Entry op; run_in_place(op, "div", {*this, other}); return *this; }
const Tensor& Tensor::divide_(const Operand& other, std::optional<std::string_view> rounding_mode) const { static Entry op; run_in_place(op, "div.mode", {*this, other, rounding_mode}); return *this; }
const Tensor& Tensor::true_divide_(const Operand& other) const { static Entry op; run_in_place(op, "div", {*this, other}); return *this; }
const Tensor& Tensor::true_divide_(const Operand& other, std::optional<std::string_view> rounding_mode) const { static Entry op; run_in_place(op, "div.mode", {*this, other, rounding_mode}); return *this; }
const Tensor& Tensor::negative_() const { static Entry op; run_in_place(op, "neg", {*this}); return *this; }
const Tensor& Tensor::absolute_() const { static Entry op; run_in_place(op, "abs", {*this}); return *this; }
const Tensor& Tensor::fix_() const { static Entry op; run_in_place(op, "trunc", {*this}); return *this; }
const Tensor& Tensor::arcsin_() const { static Entry op; run_in_place(op, "asin", {*this}); return *this; }
const Tensor& Tensor::arccos_() const { static Entry op; run_in_place(op, "acos", {*this}); return *this; }
const Tensor& Tensor::arctan_() const { static Entry op; run_in_place(op, "atan", {*this}); return *this; }
const Tensor& Tensor::arcsinh_() const { static Entry op; run_in_place(op, "asinh", {*this}); return *this; }
const Tensor& Tensor::arccosh_() const { static Entry op; run_in_place(op, "acosh", {*this}); return *this; }
const Tensor& Tensor::arctanh_() const { static Entry op; run_in_place(op, "atanh", {*this}); return *this; }
const Tensor& Tensor::not_equal_(const Operand& other) const { static Entry op; run_in_place(op, "ne", {*this, other}); return *this; }
const Tensor& Tensor::less_(const Operand& other) const { static Entry op; run_in_place(op, "lt", {*this, other}); return *this; }
const Tensor& Tensor::less_equal_(const Operand& other) const { static Entry op; run_in_place(op, "le", {*this, other}); return *this; }
const Tensor& Tensor::greater_(const Operand& other) const { static Entry op; run_in_place(op, "gt", {*this, other}); return *this; }
const Tensor& Tensor::greater_equal_(const Operand& other) const { static Entry op; run_in_place(op, "ge", {*this, other}); return *this; }
const Tensor& Tensor::clip_(const Operand& min, const Operand& max) const { static Entry op; run_in_place(op, "clamp", {*this, min, max}); return *this; }
const Tensor& Tensor::swapaxes_(int64_t dim0, int64_t dim1) const { static Entry op; run_in_place(op, "transpose", {*this, dim0, dim1}); return *this; }
const Tensor& Tensor::swapdims_(int64_t dim0, int64_t dim1) const { static Entry op; run_in_place(op, "transpose", {*this, dim0, dim1}); return *this; }
const Tensor& Tensor::arctan2_(const Tensor& other) const { static Entry op; run_in_place(op, "atan2", {*this, other}); return *this; }
}  // namespace wisp::api
