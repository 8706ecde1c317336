// Rows of a table, picked by index, and one-hot vectors.
#include "cpu/embedding.h"

#include "cpu/index.h"
#include "cpu/scratch.h"
#include "ops/families.h"
#include "ops/ops.h"
#include "ops/promotion.h"
#include "ops/raw.h"

namespace wisp::ops {

namespace {

// --- embedding(weight, indices, padding_idx, scale_grad_by_freq, sparse)

void check_indices(const Tensor& indices) {
  WISP_CHECK(
      indices.dtype() == DType::int64 || indices.dtype() == DType::int32,
      "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got ",
      legacy_name(indices.dtype()), " instead (while checking arguments for embedding)");
}

void infer_embedding(Infer& infer) {
  const Tensor &weight = infer.tensor(0), &indices = infer.tensor(1);
  WISP_CHECK(weight.ndim() == 2, "'weight' must be 2-D");
  check_indices(indices);
  Dims shape(indices.sizes());
  shape.push_back(weight->size(1));
  infer.push(shape, weight.dtype(), weight.device());
}

void embedding_kernel(const Call& call) {
  const Tensor &weight = call.tensor(0), rows = consecutive(call.tensor(1), DType::int64);
  const int64_t count = rows.numel(), table = weight->size(0);
  const int64_t* index = rows.data<int64_t>();
  const cpu::Scratch<int64_t> offsets(count);
  for (int64_t i = 0; i < count; ++i) {
    WISP_CHECK_INDEX(index[i] >= 0 && index[i] < table, "index out of range in self: index ",
                     index[i], " of a table of ", table, " rows");
    offsets[i] = index[i] * weight->stride(0);
  }
  cpu::Places places{.lead_sizes = {},
                     .lead_strides = {},
                     .offsets = offsets,
                     .trail_sizes = {},
                     .trail_strides = {}};
  places.trail_sizes.push_back(weight->size(1));
  places.trail_strides.push_back(weight->stride(1));
  cpu::pick(places, weight->item_size(), weight->bytes(), call.out()->bytes());
}

// --- embedding_dense_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq)

void infer_embedding_grad(Infer& infer) {
  const Tensor& grad = infer.tensor(0);
  check_indices(infer.tensor(1));
  WISP_CHECK(grad.ndim() == infer.tensor(1).ndim() + 1,
             "embedding_dense_backward(): expected a gradient of shape ", infer.tensor(1).sizes(),
             " and one dimension more, got ", grad.sizes());
  infer.push({infer.integer(2), grad->size(grad.ndim() - 1)}, grad.dtype(), grad.device());
}

void embedding_grad_kernel(const Call& call) {
  const Tensor& out = call.out();
  const DType dtype = math_dtype(out.dtype());
  const Tensor grad = consecutive(call.tensor(0), dtype),
               index = consecutive(call.tensor(1), DType::int64);
  const Tensor table_grad = out.dtype() == dtype ? out : Tensor::empty(out.sizes(), dtype);
  for (int64_t i = 0; i < index.numel(); ++i) {
    const int64_t row = index.data<int64_t>()[i];
    WISP_CHECK_INDEX(row >= 0 && row < out->size(0), "index out of range in self: index ", row,
                     " of a table of ", out->size(0), " rows");
  }
  cpu::embedding_grad({.dtype = dtype,
                       .rows = out->size(0),
                       .columns = out->size(1),
                       .index = index.data<int64_t>(),
                       .count = index.numel(),
                       .padding_row = call.integer(3),
                       .mean = call.boolean(4),
                       .grad = grad->bytes(),
                       .table_grad = table_grad->bytes()});
  if (!table_grad.is_same(out)) copy_raw(out, table_grad);
}

// The row of padding gets no gradient, and passes none on.
Tensor embedding_grad_grad(const Backward& b) {
  WISP_CHECK(!b.boolean(4),
             "embedding(): the second derivative with scale_grad_by_freq is not supported");
  const Tensor picked = invoke<"embedding">(b.grad(), b[1], -1, false, false);
  if (b.integer(3) < 0) return picked;
  return masked_fill(picked, unsqueeze(eq(b.tensor(1), Scalar(b.integer(3))), -1), Scalar(0));
}

// --- nn.functional.embedding(input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq,
// sparse)

// Scales down the rows that are about to be used and are longer than max_norm, for good.
void renormalize(const Tensor& weight, const Tensor& indices, double max_norm, double norm_type) {
  GradMode no_grad(false);
  const Tensor rows = flatten(indices), picked = index_select(weight, 0, rows);
  const int64_t last = 1;
  const Tensor length = vector_norm(picked, Scalar(norm_type), IntSpan(&last, 1), true);
  const Tensor factor =
      where(gt(length, Scalar(max_norm)), div(Scalar(max_norm), add(length, 1e-7)), Scalar(1.0));
  invoke_in_place<"index_copy">(weight, 0, to(rows, DType::int64),
                                to(mul(picked, factor), weight.dtype()));
}

void functional_embedding_body(const Args& args, TensorList& outs) {
  const Tensor &input = args.tensor(0), &weight = args.tensor(1);
  WISP_CHECK(weight.ndim() == 2, "'weight' must be 2-D");
  check_indices(input);
  int64_t padding = -1;
  if (args.has(2)) {
    const int64_t rows = weight->size(0), given = args.integer(2);
    WISP_CHECK_VALUE(given < rows && given >= -rows, "Padding_idx must be within num_embeddings");
    padding = given < 0 ? given + rows : given;
  }
  if (args.has(3)) renormalize(weight, input, args.real(3), args.real(4));
  outs.push(invoke<"embedding">(weight, input, padding, args.boolean(5), args.boolean(6)));
}

// --- one_hot(tensor, num_classes)

void one_hot_body(const Args& args, TensorList& outs) {
  const Tensor& self = args.tensor(0);
  WISP_CHECK(self.dtype() == DType::int64,
             "one_hot is only applicable to index tensor of type LongTensor.");
  int64_t classes = args.integer(1);
  WISP_CHECK(self.numel() > 0 || classes > 0,
             "Can not infer total number of classes from empty tensor.");
  const bool checked = self.numel() > 0 && self->is_readable();
  WISP_CHECK(!checked || invoke<"min">(self).item().integer() >= 0,
             "Class values must be non-negative.");
  const int64_t largest =
      checked || classes == -1 ? invoke<"max">(self).item().integer() : int64_t{-1};
  if (classes == -1) classes = largest + 1;
  WISP_CHECK(classes > 0, "num_classes should be positive");
  WISP_CHECK(largest < classes, "Class values must be smaller than num_classes.");
  Dims shape(self.sizes());
  shape.push_back(classes);
  const Tensor zero = expand(zeros(IntSpan(), DType::int64), shape);  // what is copied is not read
  outs.push(scatter_value(zero, -1, unsqueeze(self, -1), Scalar(1)));
}

}  // namespace

void register_embedding(Registry& r) {
  r.add(
      {.schema =
           "embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
       .doc =
           "The rows of `weight` at the given indices.\n\n>>> wisp.embedding(wisp.tensor([[1., 2.], [3., 4.]]), wisp.tensor([1, 1]))\ntensor([[3., 4.],\n        [3., 4.]])",
       .infer = infer_embedding,
       .kernel = embedding_kernel,
       .vjp = {{"weight", "weight.shape indices padding_idx scale_grad_by_freq",
                [](const Backward& b) {
                  return invoke<"embedding_dense_backward">(b.grad(), b[1], b.shape(0)[0], b[2],
                                                            b[3]);
                }}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "Gather",
       .homes = home::function});
  r.add(
      {.schema =
           "embedding_dense_backward(Tensor grad, Tensor indices, int num_weights, int padding_idx, bool scale_grad_by_freq) -> Tensor",
       .doc = "The gradient of embedding's weight.",
       .infer = infer_embedding_grad,
       .kernel = embedding_grad_kernel,
       .vjp = {{"grad", "indices padding_idx scale_grad_by_freq", embedding_grad_grad}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "- backward only",
       .homes = home::internal});
  r.add(
      {.schema =
           "embedding.functional(Tensor self, Tensor weight, int? padding_idx=None, float? max_norm=None, float norm_type=2.0, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
       .doc =
           "The rows of `weight` at the given indices. Rows longer than `max_norm` are shortened first.\n\n"
           ">>> wisp.nn.functional.embedding(wisp.tensor([1]), wisp.tensor([[1., 2.], [3., 4.]]))\ntensor([[3., 4.]])",
       .body = functional_embedding_body,
       .onnx = "Gather",
       .homes = home::functional});
  r.add(
      {.schema = "one_hot(Tensor tensor, int num_classes=-1) -> Tensor",
       .doc =
           "A vector per class index, 1 at the index and 0 elsewhere.\n\n>>> wisp.nn.functional.one_hot(wisp.tensor([0, 2]))\ntensor([[1, 0, 0],\n        [0, 0, 1]])",
       .body = one_hot_body,
       .onnx = "OneHot",
       .homes = home::functional});
}

}  // namespace wisp::ops
