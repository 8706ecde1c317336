// Norms of the slices of a weight.
#include "ops/families.h"
#include "ops/ops.h"

namespace wisp::ops {

namespace {

// --- norm_except_dim(v, pow, dim)

void norm_except_dim_body(const Args& args, TensorList& outs) {
  const Tensor& v = args.tensor(0);
  const int64_t given = args.integer(2);
  Dims others;
  const int64_t dim = given == -1 ? -1 : wrap_dim(given, v.ndim(), args.name());
  for (int64_t i = 0; i < v.ndim(); ++i) {
    if (i != dim) others.push_back(i);
  }
  // Of one dimension nothing is left to sum over, and no dimensions would mean all.
  if (others.empty() && dim != -1) return outs.push(abs(v));
  outs.push(vector_norm(v, args.integer(1), others, dim != -1));
}

}  // namespace

void register_weight_norm(Registry& r) {
  r.add(
      {.schema = "norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor",
       .doc =
           "The norms of all slices along a dimension, which keeps its place; with -1 the norm of everything.\n\n"
           ">>> wisp.norm_except_dim(wisp.tensor([[3., 4.], [6., 8.]]))\ntensor([[ 5.],\n        [10.]])",
       .body = norm_except_dim_body,
       .onnx = "ReduceL2",
       .homes = home::function});
}

}  // namespace wisp::ops
