// Attention of queries to keys: softmax(Q K' scale + mask) V.
#include "ops/attention.h"

#include <cmath>

#include "base/generator.h"
#include "ops/families.h"

namespace wisp::ops {

using namespace attention;

namespace {

// --- _attention_draw(rows, keys): numbers from which follows what is dropped of so many scores

void attention_draw_kernel(const Call& call) {
  const uint64_t counters = cpu::counters_for_drops(call.integer(0), call.integer(1));
  const Generator::State state = default_generator().reserve(counters);
  int64_t* to = call.out().data<int64_t>();
  to[0] = static_cast<int64_t>(state.seed);
  to[1] = static_cast<int64_t>(state.counter);
}

// --- _attention(inputs, drawn, is_causal, scale, dropout_p) -> (output, log_sums)

// The result lies in memory as the queries do, so that heads join again without a copy.
void infer_attention(Infer& infer) {
  const Operands o(infer.tensors(0));
  Dims sizes(o.q.sizes());
  sizes[sizes.size() - 1] = o.last(o.v, 1);
  TensorSpec& spec = infer.push(sizes, o.q.dtype(), o.q.device());
  if (o.q->stride(o.q.ndim() - 1) == 1 && !overlaps_itself(o.q.sizes(), o.q.strides()))
    spec.strides = preserved_strides(sizes, o.q.strides());
  sizes.pop_back();
  infer.push(sizes, math_dtype(o.q.dtype()), o.q.device());
}

void attention_kernel(const Call& call) {
  const List inputs = call.tensors(0);
  const Job job(inputs, Manner(call, 1), Job::held_for(inputs[0].dtype()));
  const Tensor& out = call.out(0);
  const bool direct = out.dtype() == job.held() && out->stride(out.ndim() - 1) == 1;
  const Tensor work = direct ? out : Tensor::empty(out.sizes(), job.held());
  cpu::attention(job.shape, Matrices(work).stack(), call.out(1)->bytes());
  if (!direct) copy_raw(out, work);
}

// --- scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale,
// enable_gqa)

void check_dtypes(const Args& args) {
  const DType dtype = args.tensor(0).dtype();
  WISP_CHECK(args.tensor(1).dtype() == dtype && args.tensor(2).dtype() == dtype,
             "Expected query, key, and value to have the same dtype, but got query.dtype: ",
             name(dtype), " key.dtype: ", name(args.tensor(1).dtype()),
             " and value.dtype: ", name(args.tensor(2).dtype()), " instead.");
  WISP_CHECK(is_floating(dtype), "scaled_dot_product_attention(): expected a floating dtype, got ",
             name(dtype));
  if (!args.has(3)) return;
  const DType mask = args.tensor(3).dtype();
  WISP_CHECK(mask == DType::bool_ || mask == dtype || mask == DType::float32,
             "Expected attn_mask dtype to be bool or float or to match query dtype, but got ",
             "attn_mask.dtype: ", name(mask), " and query.dtype: ", name(dtype), " instead.");
}

void check_attention(const Args& args) {
  const Tensor &q = args.tensor(0), &k = args.tensor(1), &v = args.tensor(2);
  WISP_CHECK(q.ndim() >= 2 && k.ndim() >= 2 && v.ndim() >= 2,
             "Expected query, key, and value to all be at least 2 dimensional, but got query.dim: ",
             q.ndim(), " key.dim: ", k.ndim(), " and value.dim: ", v.ndim(), " instead.");
  check_dtypes(args);
  WISP_CHECK(q->size(q.ndim() - 1) == k->size(k.ndim() - 1),
             "scaled_dot_product_attention(): expected query and key of equal widths, got shapes ",
             q.sizes(), " and ", k.sizes());
  WISP_CHECK(k->size(k.ndim() - 2) == v->size(v.ndim() - 2),
             "scaled_dot_product_attention(): expected as many values as keys, got shapes ",
             v.sizes(), " and ", k.sizes());
  WISP_CHECK(
      !args.has(3) || !args.boolean(5),
      "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True");
  WISP_CHECK(args.real(4) >= 0 && args.real(4) <= 1,
             "dropout probability has to be between 0 and 1, but got ", args.real(4));
}

// Several heads of queries for each of the keys' and values'.
bool is_grouped(const Args& args) {
  const Tensor &q = args.tensor(0), &k = args.tensor(1), &v = args.tensor(2);
  if (!args.boolean(7)) return false;
  WISP_CHECK(
      q.ndim() >= 3 && k.ndim() >= 3 && v.ndim() >= 3,
      "scaled_dot_product_attention(): enable_gqa expects query, key and value of at least 3 dimensions");
  const int64_t heads = q->size(q.ndim() - 3), k_heads = k->size(k.ndim() - 3),
                v_heads = v->size(v.ndim() - 3);
  WISP_CHECK(k_heads > 0 && v_heads > 0 && heads % k_heads == 0 && heads % v_heads == 0,
             "Number of heads in key and value must divide the number of heads in query, got ",
             k_heads, ", ", v_heads, " and ", heads);
  return k_heads == v_heads && heads != k_heads;
}

Tensor with_lead(const Tensor& t, IntSpan lead) {
  Dims shape(lead);
  shape.push_back(t->size(t.ndim() - 2));
  shape.push_back(t->size(t.ndim() - 1));
  return same(t.sizes(), shape) ? t : expand(t, shape);
}

// The operands with the same dimensions in front.
struct Broadcast {
  Broadcast(const Args& args, bool grouped) {
    Tensor given[] = {args.tensor(0), args.tensor(1), args.tensor(2)};
    if (!grouped && args.boolean(7)) {
      for (int i : {1, 2}) given[i] = spread_heads(given[i], given[0].size(-3) / given[i].size(-3));
    }
    Dims lead;
    for (const Tensor& t : given) {
      const size_t kept = static_cast<size_t>(t.ndim() - 2 - grouped);
      lead = broadcast(lead, t.sizes().first(kept));
    }
    for (int i = 0; i < 3; ++i) {
      Dims own = lead;
      if (grouped) own.push_back(given[i].size(-3));
      qkv[i] = with_lead(given[i], own);
    }
  }
  Tensor qkv[3];
};

void check_mask(const Tensor& mask, const Operands& o) {
  const Dims scores = o.scores();
  WISP_CHECK(same(broadcast(mask.sizes(), scores), scores),
             "scaled_dot_product_attention(): expected a mask that broadcasts to ", scores,
             ", got one of shape ", mask.sizes());
}

void attention_body(const Args& args, TensorList& outs) {
  check_attention(args);
  const Broadcast operands(args, is_grouped(args));
  const Operands o(operands.qkv);
  if (args.has(3)) check_mask(args.tensor(3), o);
  const double width = static_cast<double>(o.last(o.q, 1));
  const double scale = args.has(6) ? args.real(6) : 1 / std::sqrt(width);
  const double p = args.real(4);
  std::vector<Tensor> inputs(operands.qkv, operands.qkv + 3);
  if (args.has(3)) inputs.push_back(args.tensor(3));
  const int64_t rows = count_elements(o.q.sizes().first(o.q.sizes().size() - 1));
  Tensor drawn;
  if (p > 0) drawn = invoke<"_attention_draw">(rows, o.keys());
  outs.push(invoke_many<"_attention">(List(inputs), drawn.defined() ? Arg(drawn) : Arg(), args[5],
                                      scale, p)[0]);
}

}  // namespace

void register_attention(Registry& r) {
  r.add({.schema = "_attention_draw(int rows, int keys) -> Tensor",
         .doc = "Numbers from which follows what attention drops of so many rows of scores.",
         .infer = [](Infer& infer) { infer.push({2}, DType::int64); },
         .kernel = attention_draw_kernel,
         .jvp = Jvp::none,
         .batch = Batch::loop,
         .onnx = "- part of scaled_dot_product_attention, which is exported",
         .traits = trait::random,
         .homes = home::internal});
  r.add(
      {.schema =
           "_attention(Tensor[] inputs, Tensor? drawn, bool is_causal, float scale, float dropout_p) -> (Tensor, Tensor)",
       .doc = "The kernel of scaled_dot_product_attention, with the logarithms of softmax's sums.",
       .infer = infer_attention,
       .kernel = attention_kernel,
       .vjp = {{"inputs", "inputs drawn is_causal scale dropout_p result result1", nullptr,
                input_grads}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "Attention",
       .constant_outs = 0b10,
       .homes = home::internal,
       .node = "ScaledDotProductFlashAttentionForCpuBackward0"});
  register_grads(r);
  r.add(
      {.schema =
           "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
       .doc =
           "`softmax(query @ key.T * scale + attn_mask) @ value`. A mask of bools says which keys take part; with `is_causal`, query i sees keys up to i. `enable_gqa` lets several heads of queries share a head of keys and values.\n\n"
           ">>> wisp.nn.functional.scaled_dot_product_attention(wisp.ones(2, 1), wisp.ones(2, 1), wisp.tensor([[1.], [3.]]), is_causal=True)\ntensor([[1.],\n        [2.]])",
       .body = attention_body,
       .onnx = "Attention",
       .homes = home::functional});
}

}  // namespace wisp::ops
