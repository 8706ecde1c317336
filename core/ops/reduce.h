// What reduction entries share. They are told where their arguments `dim` and `keepdim` stand in
// the schema; 0 means that there is no such argument, and all dimensions are reduced.
#pragma once

#include "cpu/reduce.h"
#include "dispatch/call.h"

namespace wisp::ops {

// What an empty list of dimensions means.
enum class EmptyDims { all, none };

// Bit per reduced dimension. No list at all means all of them.
uint64_t reduced_dims(const Args& args, int dim, int64_t ndim, EmptyDims empty = EmptyDims::all);
// The shape that is left.
Dims reduced_shape(IntSpan sizes, uint64_t reduced, bool keepdim);
// How many elements each result comes from.
int64_t count_reduced(IntSpan sizes, uint64_t reduced);
// Refuses to reduce nothing, for operators that would have no answer.
void check_not_empty(const Infer& infer, int dim, uint64_t reduced,
                     ErrorKind unspecified = ErrorKind::runtime);

// Adds the result of reducing argument 0.
TensorSpec& infer_reduced(Infer& infer, int dim, int keepdim, DType dtype,
                          EmptyDims empty = EmptyDims::all);

// Takes the reductions of one operator on this thread instead of having them run.
struct ReduceSink {
  const OpDef* reducing;
  virtual void take(cpu::Reduction op, uint64_t reduced, DType compute, bool has_second,
                    const cpu::ReduceParams& params) = 0;
};
extern constinit WISP_THREAD_LOCAL ReduceSink* reduce_sink;

// Runs a reduction of argument 0 into `out`, and into `second` for kernels that have a second
// result.
void run_reduce(const Call& call, cpu::Reduction op, uint64_t reduced, DType compute,
                const Tensor& out, const cpu::ReduceParams& params = {},
                const Tensor* second = nullptr);

// In derivatives: a reduced tensor with the reduced dimensions back, as size 1 or in their full
// size. The rule has to save self (or its shape), dim and keepdim.
Tensor unreduce(const Tensor& reduced, const Backward& b, int dim, int keepdim);
Tensor expand_reduced(const Tensor& reduced, const Backward& b, int dim, int keepdim);

// Fills what reduction entries have in common; fields already set stay.
OpDef reduction(OpDef def);

}  // namespace wisp::ops
