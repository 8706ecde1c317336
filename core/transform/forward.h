// Forward mode: tangents travel with the tensors of a jvp level.
#pragma once

#include "transform/levels.h"

namespace wisp::transform {

// The tangent of a tensor at a level; undefined where it is zero. A view of a tensor that has one
// shows its part of it.
Tensor tangent(const Tensor& tensor, uint64_t level);
void set_tangent(const Tensor& tensor, uint64_t level, Tensor value);
// The same tensor, with a tangent.
Tensor make_dual(const Tensor& primal, const Tensor& tangent, uint64_t level);
// The same tensor, without its tangent at that level.
Tensor primal(const Tensor& tensor, uint64_t level);

// A call at a jvp level: the results, with their tangents.
void forward(const OpDef& op, const Arg* args, const Level& level, TensorList& outs);
// After self was given the contents of `value` in place, makes its tangent that of `value`.
void write_tangent(const Tensor& self, const Tensor& value, const Level& level);

// Whether a tensor, or the batch that it stands for, requires grad.
bool tracked(const Tensor& tensor);

}  // namespace wisp::transform
