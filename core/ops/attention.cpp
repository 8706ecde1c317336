// Attention of queries to keys: softmax(Q K' scale + mask) V.
#include "cpu/attention.h"

#include <cmath>
#include <limits>

#include "base/generator.h"
#include "cpu/isa.h"
#include "cpu/scratch.h"
#include "ops/families.h"
#include "ops/joint.h"
#include "ops/ops.h"
#include "ops/promotion.h"
#include "ops/raw.h"

namespace wisp::ops {

namespace {

// --- _attention((q, k, v), mask, is_causal, scale) -> (output, log_sums)
// --- _dropped_attention(the same, dropout_p, seed, counter)
//
// All have the same dimensions in front of the last two, but for the last of these, the heads: keys
// and values may have fewer, each for as many neighbouring heads of queries.

struct Operands {
  explicit Operands(std::span<const Tensor> qkv) : q(qkv[0]), k(qkv[1]), v(qkv[2]) {}
  int64_t last(const Tensor& t, int64_t from_end) const { return t->size(t.ndim() - from_end); }
  int64_t queries() const { return last(q, 2); }
  int64_t keys() const { return last(k, 2); }
  int64_t group() const { return q.ndim() < 3 || last(k, 3) == 0 ? 1 : last(q, 3) / last(k, 3); }
  const Tensor &q, &k, &v;
};

IntSpan lead_of(const Tensor& t) { return t.sizes().first(static_cast<size_t>(t.ndim() - 2)); }

// Rows of elements that lie next to each other.
Tensor with_rows(const Tensor& t, DType dtype) {
  const bool rows = t->size(t.ndim() - 1) == 1 || t->stride(t.ndim() - 1) == 1;
  return t.dtype() == dtype && rows && t->stride(t.ndim() - 2) >= t->size(t.ndim() - 1)
             ? t
             : consecutive(t, dtype);
}

// Where every matrix of a tensor begins.
void fill_offsets(const Tensor& t, const cpu::Scratch<int64_t>& at) {
  const IntSpan lead = lead_of(t);
  for (size_t i = 0; i < at.size(); ++i) {
    int64_t rest = static_cast<int64_t>(i), offset = 0;
    for (size_t d = lead.size(); d-- > 0;) {
      offset += rest % lead[d] * t->stride(static_cast<int64_t>(d));
      rest /= lead[d];
    }
    at[static_cast<int64_t>(i)] = offset;
  }
}

// A tensor as the kernels see it.
class Matrices {
 public:
  explicit Matrices(const Tensor& t) : tensor_(t), at_(count_elements(lead_of(t))) {
    fill_offsets(t, at_);
  }
  cpu::MatrixStack stack() const {
    return {tensor_->bytes(), at_.data(), tensor_->stride(tensor_.ndim() - 2)};
  }
  cpu::AttentionMask mask() const {
    return {.data = tensor_->bytes(),
            .at = at_.data(),
            .row = tensor_->stride(tensor_.ndim() - 2),
            .col = tensor_->stride(tensor_.ndim() - 1),
            .is_bool = tensor_.dtype() == DType::bool_};
  }

 private:
  Tensor tensor_;
  cpu::Scratch<int64_t> at_;
};

// A mask in the dtype that is computed in, still broadcast.
Tensor mask_for(const Tensor& mask, IntSpan shape, DType dtype) {
  Tensor cast = mask;
  if (mask.dtype() != DType::bool_ && mask.dtype() != dtype) cast = consecutive(mask, dtype);
  return cast.alias(shape, expanded_strides(cast.sizes(), cast.strides(), shape), cast->offset());
}

// The arguments of the kernels, which live as long as this.
class Job {
 public:
  Job(std::span<const Tensor> qkv, const Arg& mask, bool causal, double scale,
      const cpu::AttentionDrops& drops)
      : given_(qkv),
        dtype_(math_dtype(given_.q.dtype())),
        held_(multiplies(given_.q.dtype()) ? DType::bfloat16 : dtype_),
        q_(with_rows(given_.q, held_)),
        k_(with_rows(given_.k, held_)),
        v_(with_rows(given_.v, held_)) {
    shape = {.dtype = dtype_,
             .bfloat16 = held_ == DType::bfloat16,
             .heads = count_elements(lead_of(given_.q)),
             .group = given_.group(),
             .queries = given_.queries(),
             .keys = given_.keys(),
             .width = given_.last(given_.q, 1),
             .value_width = given_.last(given_.v, 1),
             .scale = scale,
             .causal = causal,
             .q = q_.stack(),
             .k = k_.stack(),
             .v = v_.stack(),
             .mask = {},
             .drops = drops};
    if (!mask.is_tensor()) return;
    mask_.emplace(mask_for(mask.tensor(), scores(), dtype_));
    shape.mask = mask_->mask();
  }
  Dims scores() const {
    Dims sizes(given_.q.sizes());
    sizes[sizes.size() - 1] = given_.keys();
    return sizes;
  }
  DType dtype() const { return dtype_; }  // what is computed in
  DType held() const { return held_; }    // of queries, keys, values and results
  cpu::AttentionShape shape;

 private:
  static bool multiplies(DType dtype) {
    return dtype == DType::bfloat16 && cpu::has_bfloat_instructions();
  }

  Operands given_;
  DType dtype_, held_;
  Matrices q_, k_, v_;
  std::optional<Matrices> mask_;
};

// The drops of calls whose arguments from `first` on are (dropout_p, seed, counter), if there are
// so many.
cpu::AttentionDrops drops_of(const Call& call, int first) {
  if (call.op().sig.params.size() <= static_cast<size_t>(first)) return {};
  return {call.real(first),
          {static_cast<uint64_t>(call.integer(first + 1)),
           static_cast<uint64_t>(call.integer(first + 2))}};
}

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
  const Job job(call.tensors(0), call[1], call.boolean(2), call.real(3), drops_of(call, 4));
  const Tensor& out = call.out(0);
  const bool direct = out.dtype() == job.held() && out->stride(out.ndim() - 1) == 1;
  const Tensor work = direct ? out : Tensor::empty(out.sizes(), job.held());
  cpu::attention(job.shape, Matrices(work).stack(), call.out(1)->bytes());
  if (!direct) copy_raw(out, work);
}

// --- _attention_grad(grad, (q, k, v), mask, output, log_sums, is_causal, scale, wanted)
// --- _dropped_attention_grad(the same, dropout_p, seed, counter)

void infer_attention_grad(Infer& infer) {
  for (int i = 0; i < 3; ++i) {
    const Tensor& input = infer.tensors(1)[static_cast<size_t>(i)];
    const bool wanted = infer.integer(7) >> i & 1;
    constexpr int64_t nothing = 0;
    infer.push(wanted ? input.sizes() : IntSpan(&nothing, 1), input.dtype(), input.device());
  }
}

// What all kernels of gradients begin with, as long as this lives.
class GradJob {
 public:
  GradJob(const Call& call, const cpu::AttentionDrops& drops)
      : job_(call.tensors(1), call[2], call.boolean(5), call.real(6), drops),
        out_(with_rows(call.tensor(3), job_.held())),
        grad_(with_rows(call.tensor(0), job_.held())),
        log_sums_(consecutive(call.tensor(4), job_.dtype())) {}
  const Job& job() const { return job_; }
  cpu::AttentionGrad given() const {
    return {.out = out_.stack(), .grad = grad_.stack(), .log_sums = log_sums_->bytes()};
  }

 private:
  Job job_;
  Matrices out_, grad_;
  Tensor log_sums_;
};

void attention_grad_kernel(const Call& call) {
  const GradJob from(call, drops_of(call, 8));
  const DType dtype = from.job().dtype();
  Tensor work[3];
  char* data[3] = {};
  for (int i = 0; i < 3; ++i) {
    if (!(call.integer(7) >> i & 1)) continue;
    work[i] =
        call.out(i).dtype() == dtype ? call.out(i) : Tensor::empty(call.out(i).sizes(), dtype);
    data[i] = work[i]->bytes();
  }
  cpu::AttentionGrad grad = from.given();
  grad.q_grad = data[0];
  grad.k_grad = data[1];
  grad.v_grad = data[2];
  cpu::attention_grad(from.job().shape, grad);
  for (int i = 0; i < 3; ++i) {
    if (work[i].defined() && !work[i].is_same(call.out(i))) copy_raw(call.out(i), work[i]);
  }
}

// --- _attention_mask_grad(grad, (q, k, v), mask, output, log_sums, is_causal, scale, dropout_p,
// seed, counter)

void attention_mask_grad_kernel(const Call& call) {
  const GradJob from(call, drops_of(call, 7));
  const Tensor& out = call.out();
  const DType dtype = from.job().dtype();
  const Tensor work = out.dtype() == dtype ? out : Tensor::empty(out.sizes(), dtype);
  const Matrices spread(mask_for(work, from.job().scores(), dtype));
  cpu::attention_mask_grad(from.job().shape, from.given(), spread.mask(), work.numel());
  if (!work.is_same(out)) copy_raw(out, work);
}

// --- _drop_scores(scores, p, seed, counter): what the kernels above drop of such scores

void drop_scores_kernel(const Call& call) {
  const Tensor &scores = call.tensor(0), &out = call.out();
  const DType dtype = math_dtype(out.dtype());
  const Tensor work =
      out.dtype() == dtype && out.is_contiguous() ? out : Tensor::empty(out.sizes(), dtype);
  copy_raw(work, scores);
  const int64_t keys = work.size(-1);
  cpu::drop_scores(dtype, work->bytes(), keys ? work.numel() / keys : 0, keys, drops_of(call, 1));
  if (!work.is_same(out)) copy_raw(out, work);
}

// --- The same in operators that can be differentiated

Tensor turned(const Tensor& t) { return transpose(t, -2, -1); }

// Scores of keys that are not seen are -infinity.
Tensor masked(const Tensor& scores, const Arg& mask) {
  if (!mask.is_tensor()) return scores;
  if (mask.tensor().dtype() != DType::bool_) return add(scores, mask.tensor());
  return masked_fill(scores, logical_not(mask.tensor()),
                     Scalar(-std::numeric_limits<double>::infinity()));
}

Tensor causal_mask(int64_t queries, int64_t keys) {
  const int64_t shape[] = {queries, keys};
  return invoke<"tril">(ones(shape, DType::bool_), 0);
}

// softmax, but 0 for queries that see no key.
Tensor probabilities(const Tensor& scores) {
  const int64_t last = -1;
  if (scores->size(scores.ndim() - 1) == 0) return scores;
  const Tensor blind = eq(amax(detach(scores), IntSpan(&last, 1), true),
                          Scalar(-std::numeric_limits<double>::infinity()));
  return masked_fill(softmax(scores, -1), blind, Scalar(0));
}

// Keys or values, once for each head of queries.
Tensor spread_heads(const Tensor& t, int64_t group) {
  if (group == 1) return t;
  const IntSpan lead = t.sizes().first(static_cast<size_t>(t.ndim() - 3));
  Dims apart(lead), joined(lead);
  for (int64_t size : {t.size(-3), group, t.size(-2), t.size(-1)}) apart.push_back(size);
  for (int64_t size : {t.size(-3) * group, t.size(-2), t.size(-1)}) joined.push_back(size);
  return reshape(expand(unsqueeze(t, -3), apart), joined);
}

// The opposite: what the heads of a group send back, together.
Tensor join_heads(const Tensor& t, int64_t group) {
  if (group == 1) return t;
  Dims shape(t.sizes().first(static_cast<size_t>(t.ndim() - 3)));
  for (int64_t size : {t.size(-3) / group, group, t.size(-2), t.size(-1)}) shape.push_back(size);
  const int64_t heads = -3;
  return sum(reshape(t, shape), IntSpan(&heads, 1));
}

// The probabilities that queries give to keys, before any are dropped.
struct Weights {
  Weights(const Operands& o, const Arg& mask, bool causal, double scale)
      : k(spread_heads(o.k, o.group())), v(spread_heads(o.v, o.group())) {
    Tensor scores = masked(mul(matmul(o.q, turned(k)), scale), mask);
    if (causal) {
      const Tensor seen = causal_mask(o.queries(), o.keys());
      scores = masked(scores, Arg(seen));
    }
    p = probabilities(scores);
  }
  Tensor k, v, p;
};

// Arguments and results of _attention and _dropped_attention as their rules declare them.
struct Saved {
  explicit Saved(const Backward& b) : dropped(b.op().sig.params.size() > 4), b_(b) {}
  Tensor drop(const Tensor& scores) const {
    return dropped ? invoke<"_drop_scores">(scores, b_[4], b_[5], b_[6]) : scores;
  }
  bool dropped;

 private:
  const Backward& b_;
};

// The gradient of the scores.
Tensor score_grads(const Weights& w, const Tensor& grad, const Saved& saved) {
  const int64_t last = -1;
  const Tensor down = saved.drop(matmul(grad, turned(w.v)));
  return mul(w.p, sub(down, sum(mul(down, w.p), IntSpan(&last, 1), true)));
}

void differentiable_grads(const Backward& b, std::span<const bool> wanted,
                          std::vector<Tensor>& grads) {
  const Operands o(b[0].tensors());
  const Saved saved(b);
  const double scale = b.real(3);
  const Weights w(o, b[1], b.boolean(2), scale);
  const Tensor& grad = b.grad(0);
  if (wanted[2]) grads[2] = join_heads(matmul(turned(saved.drop(w.p)), grad), o.group());
  if (!wanted[0] && !wanted[1]) return;
  const Tensor d = mul(score_grads(w, grad, saved), scale);
  if (wanted[0]) grads[0] = matmul(d, w.k);
  if (wanted[1]) grads[1] = join_heads(matmul(turned(d), o.q), o.group());
}

void attention_grads(const Backward& b, std::span<const bool> wanted, std::vector<Tensor>& grads) {
  if (rules_are_differentiated()) return differentiable_grads(b, wanted, grads);
  const int64_t bits = bits_of(wanted.first(3));
  hand_out(Saved(b).dropped
               ? invoke_many<"_dropped_attention_grad">(b.grad(0), b[0], b[1], b.out(0), b.out(1),
                                                        b[2], b[3], bits, b[4], b[5], b[6])
               : invoke_many<"_attention_grad">(b.grad(0), b[0], b[1], b.out(0), b.out(1), b[2],
                                                b[3], bits),
           wanted.first(3), grads);
}

Tensor mask_grad(const Backward& b) {
  const Tensor& mask = b[1].tensor();
  const Saved saved(b);
  if (rules_are_differentiated()) {
    const Operands o(b[0].tensors());
    const Weights w(o, b[1], b.boolean(2), b.real(3));
    return to(sum_to_size(score_grads(w, b.grad(0), saved), mask.sizes()), mask.dtype());
  }
  const double p = saved.dropped ? b.real(4) : 0;
  const int64_t seed = saved.dropped ? b.integer(5) : 0, counter = saved.dropped ? b.integer(6) : 0;
  return invoke<"_attention_mask_grad">(b.grad(0), b[0], b[1], b.out(0), b.out(1), b[2], b[3], p,
                                        seed, counter);
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
  Dims scores(o.q.sizes());
  scores[scores.size() - 1] = o.keys();
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
  const Arg mask = args.has(3) ? args[3] : Arg();
  const std::span<const Tensor> qkv(operands.qkv);
  if (p == 0) return outs.push(invoke<"_attention">(qkv, mask, args[5], scale));
  if (mode.interceptor) {  // which may want to know of random numbers
    const Weights w(o, mask, args.boolean(5), scale);
    return outs.push(matmul(invoke<"dropout">(w.p, p, true, false), w.v));
  }
  const uint64_t counters =
      cpu::counters_for_drops(count_elements(o.q.sizes().first(o.q.sizes().size() - 1)), o.keys());
  const Generator::State state = default_generator().reserve(counters);
  outs.push(invoke_many<"_dropped_attention">(qkv, mask, args[5], scale, p,
                                              static_cast<int64_t>(state.seed),
                                              static_cast<int64_t>(state.counter))[0]);
}

}  // namespace

void register_attention(Registry& r) {
  const char* node = "ScaledDotProductFlashAttentionForCpuBackward0";
  r.add(
      {.schema =
           "_attention(Tensor[] qkv, Tensor? mask, bool is_causal, float scale) -> (Tensor, Tensor)",
       .doc = "The kernel of scaled_dot_product_attention, with the logarithms of softmax's sums.",
       .infer = infer_attention,
       .kernel = attention_kernel,
       .vjp = {{"qkv", "qkv mask is_causal scale result result1", nullptr, attention_grads},
               {"mask", "qkv mask is_causal scale result result1", mask_grad}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "Attention",
       .constant_outs = 0b10,
       .homes = home::internal,
       .node = node});
  constexpr const char* dropped_saves =
      "qkv mask is_causal scale dropout_p seed counter result result1";
  r.add(
      {.schema =
           "_dropped_attention(Tensor[] qkv, Tensor? mask, bool is_causal, float scale, float dropout_p, int seed, int counter) -> (Tensor, Tensor)",
       .doc = "_attention, with probabilities dropped; which ones follows from seed and counter.",
       .infer = infer_attention,
       .kernel = attention_kernel,
       .vjp = {{"qkv", dropped_saves, nullptr, attention_grads},
               {"mask", dropped_saves, mask_grad}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "- part of scaled_dot_product_attention, which is exported",
       .constant_outs = 0b10,
       .homes = home::internal,
       .node = node});
  const char* grads[] = {
      "_attention_grad(Tensor grad, Tensor[] qkv, Tensor? mask, Tensor output, Tensor log_sums, bool is_causal, float scale, int wanted) -> (Tensor, Tensor, Tensor)",
      "_dropped_attention_grad(Tensor grad, Tensor[] qkv, Tensor? mask, Tensor output, Tensor log_sums, bool is_causal, float scale, int wanted, float dropout_p, int seed, int counter) -> (Tensor, Tensor, Tensor)"};
  for (const char* schema : grads) {
    r.add({.schema = schema,
           .doc = "The gradients of queries, keys and values.",
           .infer = infer_attention_grad,
           .kernel = attention_grad_kernel,
           .jvp = Jvp::none,
           .batch = Batch::loop,
           .onnx = "- backward only",
           .homes = home::internal});
  }
  r.add(
      {.schema =
           "_attention_mask_grad(Tensor grad, Tensor[] qkv, Tensor mask, Tensor output, Tensor log_sums, bool is_causal, float scale, float dropout_p, int seed, int counter) -> Tensor",
       .doc = "The gradient of a mask that is added to the scores.",
       .infer =
           [](Infer& infer) {
             const Tensor& mask = infer.tensor(2);
             infer.push(mask.sizes(), mask.dtype(), mask.device());
           },
       .kernel = attention_mask_grad_kernel,
       .jvp = Jvp::none,
       .batch = Batch::loop,
       .onnx = "- backward only",
       .homes = home::internal});
  r.add(
      {.schema = "_drop_scores(Tensor scores, float p, int seed, int counter) -> Tensor",
       .doc =
           "Scores with those set to zero that _dropped_attention drops, the others divided by 1 - p.",
       .infer =
           [](Infer& infer) {
             const Tensor& scores = infer.tensor(0);
             infer.push(scores.sizes(), scores.dtype(), scores.device());
           },
       .kernel = drop_scores_kernel,
       .vjp = {{"scores", "p seed counter",
                [](const Backward& b) {
                  return invoke<"_drop_scores">(b.grad(), b[1], b[2], b[3]);
                }}},
       .jvp = Jvp::linear,
       .batch = Batch::loop,
       .onnx = "- part of scaled_dot_product_attention, which is exported",
       .homes = home::internal});
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
