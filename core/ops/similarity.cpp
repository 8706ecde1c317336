// Lengths and angles of vectors along one dimension.
#include "ops/families.h"
#include "ops/ops.h"
#include "ops/promotion.h"

namespace wisp::ops {

namespace {

Tensor length(const Tensor& x, Scalar p, int64_t dim, bool keepdim) {
  return vector_norm(x, p, IntSpan(&dim, 1), keepdim);
}

Tensor at_least(const Tensor& x, double bound) { return invoke<"clamp_min">(x, bound); }

// (x1, x2, dim, eps): the vectors are shortened to length 1 first, which overflows for none.
void cosine_similarity_body(const Args& args, TensorList& outs) {
  const DType common = result_type(args[0], args[1]);
  WISP_CHECK(is_floating(common),
             "expected common dtype to be floating point, yet common dtype is ", name(common));
  WISP_CHECK(args.real(3) >= 0, "cosine_similarity(): eps must be non-negative, got ",
             args.real(3));
  const Dims shape = broadcast(args.tensor(0).sizes(), args.tensor(1).sizes());
  const int64_t dim =
      wrap_dim(args.integer(2), static_cast<int64_t>(shape.size()), "cosine_similarity");
  auto direction = [&](const Tensor& given) {
    const Tensor x = expand(to(given, common), shape);
    return shape.empty() ? div(x, at_least(abs(x), args.real(3)))
                         : div(x, at_least(length(x, 2, dim, true), args.real(3)));
  };
  const Tensor products = mul(direction(args.tensor(0)), direction(args.tensor(1)));
  outs.push(shape.empty() ? products : sum(products, IntSpan(&dim, 1)));
}

void pairwise_distance_body(const Args& args, TensorList& outs) {
  const Tensor gap = add(sub(args.tensor(0), args.tensor(1)), args.real(3));
  WISP_CHECK(gap.ndim() > 0, "pairwise_distance(): expected vectors, got 0-dimensional tensors");
  outs.push(length(gap, Scalar(args.real(2)), gap.ndim() - 1, args.boolean(4)));
}

void normalize_body(const Args& args, TensorList& outs) {
  const Tensor& self = args.tensor(0);
  const int64_t dim = args.integer(2);
  outs.push(div(self, at_least(length(self, Scalar(args.real(1)), dim, true), args.real(3))));
}

}  // namespace

void register_similarity(Registry& r) {
  r.add(
      {.schema = "cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor",
       .doc =
           "The cosine of the angle between vectors along a dimension.\n\n>>> wisp.cosine_similarity(wisp.tensor([[1., 0.]]), wisp.tensor([[1., 1.]]))\ntensor([0.7071])",
       .body = cosine_similarity_body,
       .onnx = "+ Div and ReduceSum",
       .homes = home::function | home::functional});
  r.add(
      {.schema =
           "pairwise_distance(Tensor x1, Tensor x2, float p=2.0, float eps=1e-06, bool keepdim=False) -> Tensor",
       .doc =
           "The p-norm of `x1 - x2 + eps` along the last dimension.\n\n>>> wisp.pairwise_distance(wisp.tensor([[3., 0.]]), wisp.tensor([[0., 4.]]))\ntensor([5.])",
       .body = pairwise_distance_body,
       .onnx = "+ Sub and ReduceL2",
       .homes = home::function | home::functional});
  r.add(
      {.schema = "normalize(Tensor self, float p=2.0, int dim=1, float eps=1e-12) -> Tensor",
       .doc =
           "Vectors along a dimension, divided by their p-norm.\n\n>>> wisp.nn.functional.normalize(wisp.tensor([[3., 4.]]))\ntensor([[0.6000, 0.8000]])",
       .body = normalize_body,
       .onnx = "LpNormalization",
       .traits = trait::out,
       .homes = home::functional});
}

}  // namespace wisp::ops
