// What reduction entries share.
#pragma once

#include "cpu/reduce.h"
#include "dispatch/call.h"

namespace wisp::ops {

// Bit per reduced dimension; an absent or empty list means all of them.
uint64_t reduced_dims(const Args& args, int dim_argument, int64_t ndim);
// The shape that is left.
Dims reduced_shape(IntSpan sizes, uint64_t reduced, bool keepdim);

// Runs a reduction of argument 0 into out (which infer made contiguous).
void run_reduce(const Call& call, cpu::Reduction op, uint64_t reduced, DType compute,
                const cpu::ReduceParams& params = {}, const Tensor* second = nullptr);

// A gradient of a reduced tensor, brought back to the shape before.
Tensor expand_reduced(const Tensor& grad, IntSpan shape, const Arg& dims, bool keepdim);
// The same for a tensor that is needed next to it (a saved result).
Tensor unreduce(const Tensor& reduced, IntSpan shape, const Arg& dims, bool keepdim);

}  // namespace wisp::ops
