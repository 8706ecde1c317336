// Attention's arguments, as its operators take them and as its kernels do.
#pragma once

#include <optional>

#include "cpu/attention.h"
#include "cpu/isa.h"
#include "cpu/scratch.h"
#include "ops/ops.h"
#include "ops/promotion.h"
#include "ops/raw.h"

namespace wisp::ops::attention {

// Inputs are queries, keys, values and, if there is one, a mask.
//
// All have the same dimensions in front of the last two, but for the last of these, the heads: keys
// and values may have fewer, each for as many neighbouring heads of queries. A mask broadcasts.
struct Operands {
  explicit Operands(List inputs)
      : q(inputs[0]), k(inputs[1]), v(inputs[2]), mask(inputs.size() > 3 ? &inputs[3] : nullptr) {}
  int64_t last(const Tensor& t, int64_t from_end) const { return t->size(t.ndim() - from_end); }
  int64_t queries() const { return last(q, 2); }
  int64_t keys() const { return last(k, 2); }
  int64_t group() const { return q.ndim() < 3 || last(k, 3) == 0 ? 1 : last(q, 3) / last(k, 3); }
  Dims scores() const {
    Dims sizes(q.sizes());
    sizes[sizes.size() - 1] = keys();
    return sizes;
  }
  const Tensor &q, &k, &v;
  const Tensor* mask;  // null: there is none
};

inline IntSpan lead_of(const Tensor& t) {
  return t.sizes().first(static_cast<size_t>(t.ndim() - 2));
}

// Rows of elements that lie next to each other.
inline Tensor with_rows(const Tensor& t, DType dtype) {
  const bool rows = t->size(t.ndim() - 1) == 1 || t->stride(t.ndim() - 1) == 1;
  return t.dtype() == dtype && rows && t->stride(t.ndim() - 2) >= t->size(t.ndim() - 1)
             ? t
             : consecutive(t, dtype);
}

// Where every matrix of a tensor begins.
inline void fill_offsets(const Tensor& t, const cpu::Scratch<int64_t>& at) {
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
inline Tensor mask_for(const Tensor& mask, IntSpan shape, DType dtype) {
  Tensor cast = mask;
  if (mask.dtype() != DType::bool_ && mask.dtype() != dtype) {
    Dims single(mask.sizes());
    for (size_t d = 0; d < single.size(); ++d) {
      if (mask.strides()[d] == 0) single[d] = 1;
    }
    cast = consecutive(mask.alias(single, mask.strides(), mask->offset()), dtype);
  }
  return cast.alias(shape, expanded_strides(cast.sizes(), cast.strides(), shape), cast->offset());
}

// Which probabilities are dropped: `drawn` is what _attention_draw gave.
inline cpu::AttentionDrops drops_of(const Arg& drawn, double p) {
  if (!drawn.is_tensor()) return {};
  const int64_t* numbers = drawn.tensor().data<int64_t>();
  return {p, {static_cast<uint64_t>(numbers[0]), static_cast<uint64_t>(numbers[1])}};
}

// How the scores become a result: the arguments of all operators from some place on, (drawn,
// is_causal, scale, dropout_p).
struct Manner {
  Manner(const Args& args, int first)
      : drawn(args[first]),
        causal(args.boolean(first + 1)),
        scale(args.real(first + 2)),
        dropout_p(args.real(first + 3)) {}
  cpu::AttentionDrops drops() const { return drops_of(drawn, dropout_p); }
  const Arg& drawn;
  bool causal;
  double scale, dropout_p;
};

// The arguments of the kernels, which live as long as this. All but bools is of the dtype `held`,
// or of the one that is computed in.
class Job {
 public:
  Job(List inputs, const Manner& manner, DType held)
      : given_(inputs),
        dtype_(math_dtype(given_.q.dtype())),
        held_(held),
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
             .scale = manner.scale,
             .causal = manner.causal,
             .q = q_.stack(),
             .k = k_.stack(),
             .v = v_.stack(),
             .mask = {},
             .drops = manner.drops()};
    if (!given_.mask) return;
    mask_.emplace(mask_for(*given_.mask, given_.scores(), dtype_));
    shape.mask = mask_->mask();
  }
  // Where the processor multiplies bfloat16, that is not converted.
  static DType held_for(DType dtype) {
    return dtype == DType::bfloat16 && cpu::has_bfloat_instructions() ? dtype : math_dtype(dtype);
  }
  const Operands& given() const { return given_; }
  DType dtype() const { return dtype_; }  // what is computed in
  DType held() const { return held_; }    // of queries, keys, values and results
  cpu::AttentionShape shape;

 private:
  Operands given_;
  DType dtype_, held_;
  Matrices q_, k_, v_;
  std::optional<Matrices> mask_;
};

// Keys or values, once for each head of queries.
inline Tensor spread_heads(const Tensor& t, int64_t group) {
  if (group == 1) return t;
  const IntSpan lead = t.sizes().first(static_cast<size_t>(t.ndim() - 3));
  Dims apart(lead), joined(lead);
  for (int64_t size : {t.size(-3), group, t.size(-2), t.size(-1)}) apart.push_back(size);
  for (int64_t size : {t.size(-3) * group, t.size(-2), t.size(-1)}) joined.push_back(size);
  return reshape(expand(unsqueeze(t, -3), apart), joined);
}

// The gradients of attention's inputs.
void input_grads(const Backward& b, std::span<const bool> wanted, std::vector<Tensor>& grads);
void register_grads(Registry& r);

}  // namespace wisp::ops::attention
