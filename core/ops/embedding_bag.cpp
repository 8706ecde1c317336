// Bags of rows of a table, added up.
#include "cpu/embedding_bag.h"

#include "cpu/scratch.h"
#include "ops/families.h"
#include "ops/ops.h"
#include "ops/promotion.h"
#include "ops/raw.h"

namespace wisp::ops {

namespace {

using cpu::BagMode;

// --- _embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode, per_sample_weights,
// include_last_offset, padding_idx) -> (output, offset2bag, bag_size, max_indices)

BagMode mode_of(const Args& args) { return static_cast<BagMode>(args.integer(4)); }

int64_t bag_count(const Args& args) { return args.tensor(2).numel() - args.boolean(6); }

void check_integers(const char* what, const Tensor& t) {
  WISP_CHECK(t.dtype() == DType::int64 || t.dtype() == DType::int32, "embedding_bag(): expected ",
             what, " to be int32 or int64, got ", name(t.dtype()));
}

void infer_bag(Infer& infer) {
  const Tensor &weight = infer.tensor(0), &indices = infer.tensor(1), &offsets = infer.tensor(2);
  WISP_CHECK(weight.ndim() == 2, "embedding_bag(): expected a 2-D weight, got ", weight.sizes());
  WISP_CHECK(indices.ndim() == 1 && offsets.ndim() == 1,
             "embedding_bag(): input and offsets have to be 1D Tensors, got ", indices.sizes(),
             " and ", offsets.sizes());
  check_integers("input", indices);
  check_integers("offsets", offsets);
  WISP_CHECK(is_floating(weight.dtype()),
             "Expected tensor for argument #1 'weight' to have one of the following scalar types: ",
             "Half, BFloat16, Float, Double; but got ", legacy_name(weight.dtype()), " instead");
  WISP_CHECK(mode_of(infer) >= BagMode::sum && mode_of(infer) <= BagMode::max,
             "embedding_bag(): mode has to be 0 (sum), 1 (mean) or 2 (max), got ",
             infer.integer(4));
  WISP_CHECK(bag_count(infer) >= 0, "include_last_offset: number of offset should be at least 1");
  if (infer.has(5)) {
    const Tensor& each = infer.tensor(5);
    WISP_CHECK(
        mode_of(infer) == BagMode::sum,
        "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum'");
    WISP_CHECK(each.dtype() == weight.dtype(),
               "expected weight and per_sample_weights to have the same dtype, but got ",
               name(weight.dtype()), " and ", name(each.dtype()));
    WISP_CHECK(each.ndim() == 1 && each.numel() == indices.numel(),
               "expected per_sample_weights to be 1D of ", indices.numel(), " elements, got ",
               each.sizes());
  }
  const bool max = mode_of(infer) == BagMode::max;
  const DType places = promote(indices.dtype(), offsets.dtype());
  infer.push({bag_count(infer), weight->size(1)}, weight.dtype(), weight.device());
  infer.push({indices.numel()}, places, weight.device());
  infer.push({bag_count(infer)}, places, weight.device());
  infer.push({max ? bag_count(infer) : 0, max ? weight->size(1) : 0}, places, weight.device());
}

// Where every bag begins, and the end of the last.
void fill_begins(const Tensor& offsets, int64_t bags, int64_t count, int64_t* begin) {
  const int64_t* from = offsets.data<int64_t>();
  WISP_CHECK(
      offsets.numel() == 0 || from[0] == 0,
      "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, got ",
      from[0]);
  for (int64_t i = 0; i < bags; ++i) {
    begin[i] = from[i];
    WISP_CHECK(begin[i] <= count && (i == 0 || begin[i] >= begin[i - 1]),
               "offsets can not be greater than input's length: expected numbers that grow up to ",
               count, ", got ", begin[i]);
  }
  begin[bags] = offsets.numel() > bags ? from[bags] : count;
  WISP_CHECK(begin[bags] <= count && (bags == 0 || begin[bags] >= begin[bags - 1]),
             "offsets[-1] can not be greater than input's length: got ", begin[bags], " and ",
             count);
}

void check_rows(const Tensor& indices, int64_t rows) {
  const int64_t* index = indices.data<int64_t>();
  for (int64_t i = 0; i < indices.numel(); ++i)
    WISP_CHECK(index[i] >= 0 && index[i] < rows,
               "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be ",
               index[i]);
}

void bag_kernel(const Call& call) {
  const DType dtype = math_dtype(call.out().dtype());
  const Tensor table = consecutive(call.tensor(0), dtype),
               indices = consecutive(call.tensor(1), DType::int64),
               offsets = consecutive(call.tensor(2), DType::int64);
  const Tensor each = call.has(5) ? consecutive(call.tensor(5), dtype) : Tensor();
  const int64_t bags = bag_count(call), columns = table->size(1);
  check_rows(indices, table->size(0));
  const cpu::Scratch<int64_t> begin(bags + 1), sizes(bags);
  fill_begins(offsets, bags, indices.numel(), begin.data());
  const Tensor out =
      call.out(0).dtype() == dtype ? call.out(0) : Tensor::empty({bags, columns}, dtype);
  const bool max = mode_of(call) == BagMode::max;
  const Tensor at = Tensor::empty({max ? bags : 0, columns}, DType::int64);
  cpu::embedding_bag({.dtype = dtype,
                      .mode = mode_of(call),
                      .bags = bags,
                      .columns = columns,
                      .index = indices.data<int64_t>(),
                      .begin = begin.data(),
                      .padding_row = call.integer(7),
                      .table = table->bytes(),
                      .weights = each.defined() ? each->bytes() : nullptr,
                      .out = out->bytes(),
                      .bag_size = sizes.data(),
                      .max_index = max ? at.data<int64_t>() : nullptr});
  if (!out.is_same(call.out(0))) copy_raw(call.out(0), out);
  const Tensor bag_of = Tensor::empty({indices.numel()}, DType::int64);
  std::fill_n(bag_of.data<int64_t>(), bag_of.numel(), std::max<int64_t>(bags - 1, 0));
  for (int64_t bag = 0; bag < bags; ++bag)
    std::fill(bag_of.data<int64_t>() + begin[bag], bag_of.data<int64_t>() + begin[bag + 1], bag);
  copy_raw(call.out(1), bag_of);
  const Tensor counted = Tensor::empty({bags}, DType::int64);
  std::copy(sizes.begin(), sizes.end(), counted.data<int64_t>());
  copy_raw(call.out(2), counted);
  if (max) copy_raw(call.out(3), at);
}

// What every index multiplies its bag's gradient by.
Tensor factors(const Backward& b) {
  if (b.has(5)) return b.tensor(5);
  const DType dtype = b.grad(0).dtype();
  if (mode_of(b) == BagMode::sum) return ones(b.out(1).sizes(), dtype);
  const Tensor sizes = to(invoke<"clamp_min">(b.out(2), 1), dtype);
  return index_select(reciprocal(sizes), 0, b.out(1));
}

// One kernel, unless the gradient is itself to be differentiated or rows are averaged.
Tensor bag_weight_grad(const Backward& b) {
  const Tensor& grad = b.grad();
  const int64_t rows = b.shape(0)[0];
  if (grad.numel() == 0) return zeros(b.shape(0), grad.dtype());
  if (mode_of(b) == BagMode::max) {
    const Tensor filled = unsqueeze(gt(b.out(2), 0), 1);
    return scatter_add(zeros(b.shape(0), grad.dtype()), 0, to(b.out(3), DType::int64),
                       where(filled, grad, Scalar(0)));
  }
  if (!rules_are_differentiated() && !b.boolean(3))
    return invoke<"_embedding_bag_grad">(grad, b[1], b.out(1), factors(b), rows, b[7]);
  const Tensor each = mul(index_select(grad, 0, b.out(1)), unsqueeze(factors(b), 1));
  return invoke<"embedding_dense_backward">(each, b[1], rows, b[7], b[3]);
}

// --- _embedding_bag_grad(grad, indices, offset2bag, factors, num_weights, padding_idx)

void infer_bag_grad(Infer& infer) {
  const Tensor& grad = infer.tensor(0);
  infer.push({infer.integer(4), grad->size(1)}, grad.dtype(), grad.device());
}

void bag_grad_kernel(const Call& call) {
  const Tensor& out = call.out();
  const DType dtype = math_dtype(out.dtype());
  const Tensor grad = consecutive(call.tensor(0), dtype),
               indices = consecutive(call.tensor(1), DType::int64),
               bags = consecutive(call.tensor(2), DType::int64),
               each = consecutive(call.tensor(3), dtype);
  const Tensor table_grad = out.dtype() == dtype ? out : Tensor::empty(out.sizes(), dtype);
  cpu::embedding_bag_grad({.dtype = dtype,
                           .rows = out->size(0),
                           .columns = out->size(1),
                           .index = indices.data<int64_t>(),
                           .bag = bags.data<int64_t>(),
                           .count = grad->size(0) > 0 ? indices.numel() : 0,
                           .padding_row = call.integer(5),
                           .factors = each->bytes(),
                           .grad = grad->bytes(),
                           .table_grad = table_grad->bytes()});
  if (!table_grad.is_same(out)) copy_raw(out, table_grad);
}

Tensor bag_sample_grad(const Backward& b) {
  const Tensor rows = index_select(b.tensor(0), 0, b.tensor(1));
  const int64_t last = 1;
  const Tensor products = sum(mul(index_select(b.grad(), 0, b.out(1)), rows), IntSpan(&last, 1));
  if (b.integer(7) < 0) return products;
  return masked_fill(products, eq(b.tensor(1), Scalar(b.integer(7))), Scalar(0));
}

// --- embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights,
// include_last_offset, padding_idx)

// Indices up to the end of the last bag.
int64_t used_indices(const Args& args) {
  const Tensor &indices = args.tensor(1), &offsets = args.tensor(2);
  if (!args.boolean(7) || offsets.ndim() != 1 || offsets.numel() == 0) return indices.numel();
  return std::min(indices.numel(), select(offsets, 0, -1).item().integer());
}

Tensor first_of(const Arg& list, int64_t count) {
  if (!list.is_tensor()) return {};
  const Tensor& t = list.tensor();
  return t.ndim() == 1 && count >= 0 && count < t.numel() ? narrow(t, 0, 0, count) : t;
}

void bag_body(const Args& args, TensorList& outs) {
  const int64_t rows = args.tensor(0).ndim() == 2 ? args.tensor(0)->size(0) : 0;
  int64_t padding = -1;
  if (args.has(8)) {
    padding = args.integer(8);
    WISP_CHECK(padding >= -rows && padding < rows,
               "padding_idx must be within the number of embeddings, -", rows, " through ",
               rows - 1, ", but got ", padding);
    padding += padding < 0 ? rows : 0;
  }
  const int64_t used = used_indices(args);
  const Tensor indices = first_of(args[1], used), each = first_of(args[6], used);
  for (const Tensor& t : invoke_many<"_embedding_bag">(args[0], indices, args[2], args[3], args[4],
                                                       each, args[7], padding))
    outs.push(t);
}

}  // namespace

void register_embedding_bag(Registry& r) {
  r.add(
      {.schema =
           "_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int mode, Tensor? per_sample_weights, bool include_last_offset, int padding_idx) -> (Tensor, Tensor, Tensor, Tensor)",
       .doc = "The kernel of embedding_bag.",
       .infer = infer_bag,
       .kernel = bag_kernel,
       .vjp =
           {{"weight",
             "weight.shape indices scale_grad_by_freq mode per_sample_weights padding_idx result1 result2 result3",
             bag_weight_grad},
            {"per_sample_weights", "weight indices padding_idx result1", bag_sample_grad}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "+ sums by index",
       .homes = home::internal,
       .node = "EmbeddingBagBackward0"});
  r.add(
      {.schema =
           "_embedding_bag_grad(Tensor grad, Tensor indices, Tensor offset2bag, Tensor factors, int num_weights, int padding_idx) -> Tensor",
       .doc = "The gradient of embedding_bag's weight.",
       .infer = infer_bag_grad,
       .kernel = bag_grad_kernel,
       .jvp = Jvp::none,
       .batch = Batch::loop,
       .onnx = "- backward only",
       .homes = home::internal});
  r.add(
      {.schema =
           "embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int? padding_idx=None) -> (Tensor, Tensor, Tensor, Tensor)",
       .doc =
           "Sums (or means, or maxima) of the rows of `weight` at indices that are bagged together; bag i begins at `offsets[i]`. With them come the bag of every index, the sizes of the bags, and the rows of the maxima.\n\n"
           ">>> wisp.embedding_bag(wisp.tensor([[1., 2.], [3., 4.]]), wisp.tensor([0, 1, 1]), wisp.tensor([0, 2]))[0]\ntensor([[4., 6.],\n        [3., 4.]])",
       .body = bag_body,
       .onnx = "+ sums by index",
       .homes = home::function});
}

}  // namespace wisp::ops
