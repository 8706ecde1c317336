// The typed C++ face of the operator table: one line per operator. A line is a declaration here and
// a definition in ops.cpp, where it packs its arguments and goes through call() like everybody
// else.
#pragma once

#include "dispatch/call.h"

#ifndef WISP_OP
#define WISP_OP(result, name, params, ...) result name params;
#define WISP_OP_AS(result, name, entry, params, ...) result name params;
#define WISP_OP_(name, params, ...) const Tensor& name##_ params;
#endif

namespace wisp::ops {

using Tensors = std::vector<Tensor>;
using List = std::span<const Tensor>;
using MaybeDType = std::optional<DType>;

// Creation
WISP_OP(Tensor, empty, (IntSpan size, MaybeDType dtype = {}), size, dtype)
WISP_OP(Tensor, zeros, (IntSpan size, MaybeDType dtype = {}), size, dtype)
WISP_OP(Tensor, ones, (IntSpan size, MaybeDType dtype = {}), size, dtype)
WISP_OP(Tensor, full, (IntSpan size, Scalar fill_value, MaybeDType dtype = {}), size, fill_value,
        dtype)
WISP_OP(Tensor, empty_like, (const Tensor& self, MaybeDType dtype = {}), self, dtype)
WISP_OP(Tensor, zeros_like, (const Tensor& self, MaybeDType dtype = {}), self, dtype)
WISP_OP(Tensor, ones_like, (const Tensor& self, MaybeDType dtype = {}), self, dtype)
WISP_OP(Tensor, full_like, (const Tensor& self, Scalar fill_value, MaybeDType dtype = {}), self,
        fill_value, dtype)

// Copies and conversions
WISP_OP_(copy, (const Tensor& self, const Tensor& src), self, src)
WISP_OP_(fill, (const Tensor& self, Operand value), self, value)
WISP_OP_(zero, (const Tensor& self), self)
WISP_OP(Tensor, clone, (const Tensor& self), self)
WISP_OP(Tensor, contiguous, (const Tensor& self, MemoryFormat format = MemoryFormat::contiguous),
        self, format)
WISP_OP(Tensor, to, (const Tensor& self, DType dtype), self, dtype)
WISP_OP(Tensor, detach, (const Tensor& self), self)
WISP_OP(Tensor, restride, (const Tensor& self, IntSpan stride), self, stride)

// Arithmetic
WISP_OP(Tensor, add, (Operand self, Operand other, Scalar alpha = 1), self, other, alpha)
WISP_OP_(add, (const Tensor& self, Operand other, Scalar alpha = 1), self, other, alpha)
WISP_OP(Tensor, sub, (Operand self, Operand other, Scalar alpha = 1), self, other, alpha)
WISP_OP(Tensor, mul, (Operand self, Operand other), self, other)
WISP_OP_(mul, (const Tensor& self, Operand other), self, other)
WISP_OP(Tensor, div, (Operand self, Operand other), self, other)
WISP_OP_AS(Tensor, div_mode, "div.mode", (Operand self, Operand other, const char* rounding_mode),
           self, other, rounding_mode)
WISP_OP(Tensor, pow, (Operand self, Operand exponent), self, exponent)
WISP_OP(Tensor, clamp,
        (const Tensor& self, std::optional<Scalar> min, std::optional<Scalar> max = {}), self, min,
        max)
WISP_OP(Tensor, lerp, (const Tensor& self, const Tensor& end, Operand weight), self, end, weight)
WISP_OP(Tensor, where, (const Tensor& condition, Operand self, Operand other), condition, self,
        other)

// Functions of one number
WISP_OP(Tensor, neg, (const Tensor& self), self)
WISP_OP(Tensor, abs, (const Tensor& self), self)
WISP_OP(Tensor, sgn, (const Tensor& self), self)
WISP_OP(Tensor, square, (const Tensor& self), self)
WISP_OP(Tensor, round, (const Tensor& self), self)
WISP_OP(Tensor, floor, (const Tensor& self), self)
WISP_OP(Tensor, ceil, (const Tensor& self), self)
WISP_OP(Tensor, rsqrt, (const Tensor& self), self)
WISP_OP(Tensor, exp, (const Tensor& self), self)
WISP_OP(Tensor, log, (const Tensor& self), self)
WISP_OP(Tensor, sin, (const Tensor& self), self)
WISP_OP(Tensor, cos, (const Tensor& self), self)
WISP_OP(Tensor, sinh, (const Tensor& self), self)
WISP_OP(Tensor, cosh, (const Tensor& self), self)
WISP_OP(Tensor, tanh, (const Tensor& self), self)
WISP_OP(Tensor, tanh_grad, (const Tensor& grad, const Tensor& result), grad, result)
WISP_OP(Tensor, sigmoid_grad, (const Tensor& grad, const Tensor& result), grad, result)
WISP_OP(Tensor, relu_grad, (const Tensor& grad, const Tensor& result), grad, result)
WISP_OP(Tensor, conj, (const Tensor& self), self)
WISP_OP(Tensor, conj_physical, (const Tensor& self), self)
WISP_OP(Tensor, real, (const Tensor& self), self)

// Comparison
WISP_OP(Tensor, eq, (Operand self, Operand other), self, other)
WISP_OP(Tensor, ne, (Operand self, Operand other), self, other)
WISP_OP(Tensor, lt, (Operand self, Operand other), self, other)
WISP_OP(Tensor, le, (Operand self, Operand other), self, other)
WISP_OP(Tensor, gt, (Operand self, Operand other), self, other)
WISP_OP(Tensor, ge, (Operand self, Operand other), self, other)
WISP_OP(Tensor, isnan, (const Tensor& self), self)
WISP_OP(Tensor, isfinite, (const Tensor& self), self)
WISP_OP(Tensor, logical_not, (const Tensor& self), self)
WISP_OP(Tensor, logical_and, (const Tensor& self, const Tensor& other), self, other)
WISP_OP(Tensor, logical_or, (const Tensor& self, const Tensor& other), self, other)
WISP_OP(Tensor, logical_xor, (const Tensor& self, const Tensor& other), self, other)
WISP_OP(Tensor, isclose,
        (const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan), self,
        other, rtol, atol, equal_nan)

// Shape
WISP_OP(Tensor, view, (const Tensor& self, IntSpan size), self, size)
WISP_OP(Tensor, view_as_real, (const Tensor& self), self)
WISP_OP(Tensor, view_as_complex, (const Tensor& self), self)
WISP_OP(Tensor, reshape, (const Tensor& self, IntSpan shape), self, shape)
WISP_OP(Tensor, t, (const Tensor& self), self)
WISP_OP(Tensor, transpose, (const Tensor& self, int64_t dim0, int64_t dim1), self, dim0, dim1)
WISP_OP(Tensor, permute, (const Tensor& self, IntSpan dims), self, dims)
WISP_OP(Tensor, expand, (const Tensor& self, IntSpan size), self, size)
WISP_OP(Tensor, unsqueeze, (const Tensor& self, int64_t dim), self, dim)
WISP_OP(Tensor, flatten, (const Tensor& self, int64_t start_dim = 0, int64_t end_dim = -1), self,
        start_dim, end_dim)
WISP_OP(Tensor, narrow, (const Tensor& self, int64_t dim, int64_t start, int64_t length), self, dim,
        start, length)
WISP_OP(Tensor, slice,
        (const Tensor& self, int64_t dim, int64_t start, int64_t end, int64_t step = 1), self, dim,
        start, end, step)
WISP_OP(Tensor, select, (const Tensor& self, int64_t dim, int64_t index), self, dim, index)
WISP_OP(Tensor, diagonal,
        (const Tensor& self, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1), self, offset,
        dim1, dim2)
WISP_OP(Tensor, as_strided,
        (const Tensor& self, IntSpan size, IntSpan stride, std::optional<int64_t> offset = {}),
        self, size, stride, offset)
WISP_OP(Tensor, as_strided_scatter,
        (const Tensor& self, const Tensor& src, IntSpan size, IntSpan stride,
         std::optional<int64_t> offset = {}),
        self, src, size, stride, offset)
WISP_OP(Tensor, embed, (const Tensor& grad, IntSpan size, IntSpan stride, int64_t offset), grad,
        size, stride, offset)
WISP_OP(Tensor, sum_to_size, (const Tensor& self, IntSpan size), self, size)

// Joining and splitting
WISP_OP(Tensor, cat, (List tensors, int64_t dim = 0), tensors, dim)
WISP_OP(Tensor, stack, (List tensors, int64_t dim = 0), tensors, dim)
WISP_OP(Tensors, split, (const Tensor& self, int64_t split_size, int64_t dim = 0), self, split_size,
        dim)
WISP_OP(Tensors, split_with_sizes, (const Tensor& self, IntSpan split_sizes, int64_t dim = 0), self,
        split_sizes, dim)

// Rearranging
WISP_OP(Tensor, flip, (const Tensor& self, IntSpan dims), self, dims)
WISP_OP(Tensor, repeat, (const Tensor& self, IntSpan repeats), self, repeats)
WISP_OP(Tensor, diag_embed,
        (const Tensor& self, int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1), self,
        offset, dim1, dim2)

WISP_OP(Tensor, constant_pad_nd, (const Tensor& self, IntSpan pad, Scalar value), self, pad, value)

// Reductions
WISP_OP(Tensor, sum, (const Tensor& self), self)
WISP_OP_AS(Tensor, sum, "sum.dim", (const Tensor& self, IntSpan dim, bool keepdim = false), self,
           dim, keepdim)
WISP_OP_AS(Tensor, mean, "mean.dim", (const Tensor& self, IntSpan dim, bool keepdim = false), self,
           dim, keepdim)
WISP_OP(Tensor, any, (const Tensor& self), self)
WISP_OP(Tensor, all, (const Tensor& self), self)
WISP_OP(Tensor, amax, (const Tensor& self, IntSpan dim, bool keepdim = false), self, dim, keepdim)
WISP_OP(Tensor, vector_norm,
        (const Tensor& self, Scalar ord, IntSpan dim, bool keepdim = false, MaybeDType dtype = {}),
        self, ord, dim, keepdim, dtype)
WISP_OP(Tensor, logsumexp, (const Tensor& self, IntSpan dim, bool keepdim = false), self, dim,
        keepdim)

// Scans
WISP_OP(Tensor, cumsum, (const Tensor& self, int64_t dim), self, dim)
WISP_OP(Tensor, cumprod, (const Tensor& self, int64_t dim), self, dim)
WISP_OP_AS(Tensor, linear_scan, "_linear_scan",
           (const Tensor& self, const Tensor& factor, int64_t dim, bool reverse = false), self,
           factor, dim, reverse)
WISP_OP(Tensor, diff, (const Tensor& self, int64_t n = 1, int64_t dim = -1), self, n, dim)
WISP_OP(Tensor, softmax, (const Tensor& self, int64_t dim, MaybeDType dtype = {}), self, dim, dtype)
WISP_OP(Tensor, log_softmax, (const Tensor& self, int64_t dim, MaybeDType dtype = {}), self, dim,
        dtype)

// Indexing
WISP_OP(Tensor, index, (const Tensor& self, List indices), self, indices)
WISP_OP(Tensor, index_put,
        (const Tensor& self, List indices, const Tensor& values, bool accumulate = false), self,
        indices, values, accumulate)
WISP_OP(Tensor, take, (const Tensor& self, const Tensor& index), self, index)
WISP_OP(Tensor, put,
        (const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate = false),
        self, index, source, accumulate)
WISP_OP(Tensor, index_select, (const Tensor& self, int64_t dim, const Tensor& index), self, dim,
        index)
WISP_OP(Tensor, index_fill, (const Tensor& self, int64_t dim, const Tensor& index, Operand value),
        self, dim, index, value)
WISP_OP(Tensor, nonzero, (const Tensor& self), self)
WISP_OP(Tensor, masked_select, (const Tensor& self, const Tensor& mask), self, mask)
WISP_OP(Tensor, masked_fill, (const Tensor& self, const Tensor& mask, Operand value), self, mask,
        value)
WISP_OP(Tensor, masked_scatter, (const Tensor& self, const Tensor& mask, const Tensor& source),
        self, mask, source)
WISP_OP(Tensor, gather, (const Tensor& self, int64_t dim, const Tensor& index), self, dim, index)
WISP_OP_AS(Tensor, scatter, "scatter.src",
           (const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src), self, dim,
           index, src)
WISP_OP_AS(Tensor, scatter_value, "scatter.value",
           (const Tensor& self, int64_t dim, const Tensor& index, Scalar value), self, dim, index,
           value)
WISP_OP(Tensor, scatter_add,
        (const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src), self, dim, index,
        src)
WISP_OP(Tensor, scatter_reduce,
        (const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
         std::string_view reduce, bool include_self = true),
        self, dim, index, src, reduce, include_self)

// Matrices
WISP_OP(Tensor, mm, (const Tensor& self, const Tensor& mat2), self, mat2)
WISP_OP(Tensor, bmm, (const Tensor& self, const Tensor& mat2), self, mat2)
WISP_OP_AS(Tensor, stacked_mm, "_stacked_mm", (const Tensor& self, const Tensor& mat2), self, mat2)
WISP_OP(Tensor, mv, (const Tensor& self, const Tensor& vec), self, vec)
WISP_OP(Tensor, dot, (const Tensor& self, const Tensor& tensor), self, tensor)
WISP_OP(Tensor, outer, (const Tensor& self, const Tensor& vec2), self, vec2)
WISP_OP(Tensor, matmul, (const Tensor& self, const Tensor& other), self, other)
WISP_OP(Tensor, adjoint, (const Tensor& self), self)

// Special functions
WISP_OP(Tensor, sigmoid, (const Tensor& self), self)
WISP_OP(Tensor, imag, (const Tensor& self), self)
WISP_OP(Tensor, digamma, (const Tensor& self), self)
WISP_OP(Tensor, lgamma, (const Tensor& self), self)
WISP_OP(Tensor, polygamma, (int64_t n, const Tensor& self), n, self)
WISP_OP(Tensor, erfc, (const Tensor& self), self)
WISP_OP(Tensor, reciprocal, (const Tensor& self), self)
WISP_OP(Tensor, log1p, (const Tensor& self), self)
WISP_OP(Tensor, xlogy, (const Tensor& self, Operand other), self, other)

inline Tensor operator+(const Tensor& a, const Operand& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Operand& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Operand& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Operand& b) { return div(a, b); }
inline Tensor operator-(const Tensor& a) { return neg(a); }

}  // namespace wisp::ops
