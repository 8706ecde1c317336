// vmap: a tensor of one sample stands for a batch of them.
#pragma once

#include "transform/levels.h"

namespace wisp::transform {

// A tensor that stands for one slice of `value` along `dim`; for all of it, the same in every
// sample, if dim is -1.
Tensor sample_of(const Tensor& value, int64_t dim, uint64_t level);

// The batch a tensor stands for at a level, and along which dimension (-1: it is the same in every
// sample).
struct Batched {
  Tensor value;
  int64_t dim = -1;
};
Batched batch_of(const Tensor& tensor, uint64_t level);
// The batch with its samples along `dim`, repeated if they are all the same.
Tensor gathered(const Tensor& tensor, int64_t dim, const Level& level);

// A call at a vmap level.
void batch(const OpDef& op, const Arg* args, const Level& level, TensorList& outs);
// A random operator none of whose arguments is batched; false if one draw serves all samples.
bool draw(const OpDef& op, const Arg* args, const Level& level, TensorList& outs);
// Writes `value` into self, sample by sample.
void write_batch(const OpDef& op, const Tensor& self, const Tensor& value, const Level& level);

}  // namespace wisp::transform
