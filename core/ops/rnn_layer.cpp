// One direction of a recurrent layer: one operator, one node in the graph.
#include <algorithm>
#include <array>

#include "cpu/isa.h"
#include "ops/families.h"
#include "ops/promotion.h"
#include "ops/raw.h"
#include "ops/rnn.h"

namespace wisp::ops {

namespace {

using cpu::RnnKind;

// --- _rnn_layer(inputs, kind, reverse, batch_sizes) -> (rows, h_n, c_n, kept)

// The tensors come as one list, because one rule gives all their gradients.
enum Input { rows, hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr, input_count };

// The shape of a result that this kind does not have.
constexpr int64_t nothing[] = {0};

RnnKind kind_of(const Args& args) { return static_cast<RnnKind>(args.integer(1)); }

int64_t sum_of(IntSpan sizes) {
  int64_t total = 0;
  for (int64_t size : sizes) total += size;
  return total;
}

void check_batch_sizes(IntSpan sizes, const Tensor& data) {
  WISP_CHECK(!sizes.empty(), "Expected sequence length to be larger than 0 in RNN");
  for (size_t t = 0; t < sizes.size(); ++t) {
    WISP_CHECK(sizes[t] >= 0 && (t == 0 || sizes[t] <= sizes[t - 1]),
               "batch_sizes: expected numbers that are not negative and do not increase, got ",
               sizes);
  }
  WISP_CHECK(sum_of(sizes) == data->size(0), "batch_sizes: expected them to add up to the ",
             data->size(0), " rows of the data, got ", sizes);
}

void check_state(const Tensor& state, const char* name, int64_t batch, int64_t size) {
  WISP_CHECK_INDEX(state.ndim() == 2, "Expected ", name, " to have 2 dimensions, got ",
                   state.ndim());
  WISP_CHECK(state->size(0) == batch, "Input batch size ", batch, " doesn't match ", name,
             " batch size ", state->size(0));
  WISP_CHECK(state->size(1) == size, name, " has inconsistent hidden_size: got ", state->size(1),
             ", expected ", size);
}

void check_weight(const Tensor& weight, const char* name, std::initializer_list<int64_t> sizes) {
  const IntSpan wanted(sizes.begin(), sizes.size());
  WISP_CHECK(same(weight.sizes(), wanted), "Expected ", name, " of size ", wanted, ", got ",
             weight.sizes());
}

void check_dtypes(List inputs) {
  const DType dtype = inputs[rows].dtype();
  for (const Tensor& t : inputs) {
    WISP_CHECK(!t.defined() || t.dtype() == dtype,
               "input, states and weights must have the same dtype, but got ", name(dtype), " and ",
               t.defined() ? name(t.dtype()) : "");
  }
  if (!is_floating(dtype)) fail_not_implemented("rnn", dtype);
}

// The sizes of a layer, from its weights.
struct Sizes {
  int64_t inputs, hidden, outputs;
  Sizes(RnnKind kind, List tensors) {
    WISP_CHECK(tensors[w_ih].ndim() == 2 && tensors[w_hh].ndim() == 2,
               "Expected weights with 2 dimensions, got ", tensors[w_ih].ndim(), " and ",
               tensors[w_hh].ndim());
    inputs = tensors[w_ih]->size(1);
    hidden = tensors[w_hh]->size(0) / cpu::rnn_gates(kind);
    outputs = tensors[w_hh]->size(1);
  }
};

void check_weights(RnnKind kind, List tensors, const Sizes& sizes) {
  const int64_t sums = cpu::rnn_gates(kind) * sizes.hidden;
  check_weight(tensors[w_ih], "w_ih", {sums, sizes.inputs});
  check_weight(tensors[w_hh], "w_hh", {sums, sizes.outputs});
  if (tensors[b_ih].defined()) check_weight(tensors[b_ih], "b_ih", {sums});
  if (tensors[b_hh].defined()) check_weight(tensors[b_hh], "b_hh", {sums});
  if (tensors[w_hr].defined()) {
    check_weight(tensors[w_hr], "w_hr", {sizes.outputs, sizes.hidden});
  } else {
    check_weight(tensors[w_hh], "w_hh", {sums, sizes.hidden});
  }
}

void infer_rnn_layer(Infer& infer) {
  const List tensors = infer.tensors(0);
  const RnnKind kind = kind_of(infer);
  const Tensor& data = tensors[rows];
  WISP_CHECK_INDEX(data.ndim() == 2, "Expected rows with 2 dimensions, got ", data.ndim());
  check_dtypes(tensors);
  const Sizes sizes(kind, tensors);
  WISP_CHECK(data->size(1) == sizes.inputs, "input has inconsistent input_size: got ",
             data->size(1), " expected ", sizes.inputs);
  check_batch_sizes(infer.integers(3), data);
  const int64_t batch = infer.integers(3)[0];
  const bool has_cells = kind == RnnKind::lstm;
  check_state(tensors[hx], "hidden0", batch, sizes.outputs);
  if (has_cells) check_state(tensors[cx], "hidden1", batch, sizes.hidden);
  check_weights(kind, tensors, sizes);
  const DType dtype = data.dtype();
  infer.push({data->size(0), sizes.outputs}, dtype, data.device());
  infer.push(tensors[hx].sizes(), dtype, data.device());
  infer.push(has_cells ? tensors[cx].sizes() : IntSpan(nothing), dtype, data.device());
  infer.push({data->size(0), cpu::rnn_kept(kind) * sizes.hidden}, math_dtype(dtype), data.device());
}

// Inputs as a kernel wants them: consecutive, in the dtype it computes in; factors of products
// may have one of their own.
struct Prepared {
  Prepared(List tensors, DType dtype, DType factors) {
    for (size_t i = 0; i < input_count; ++i) {
      const bool is_factor = i == rows || i == w_ih || i == w_hh;
      if (tensors[i].defined()) all[i] = consecutive(tensors[i], is_factor ? factors : dtype);
    }
  }
  const char* bytes(Input i) const { return all[i].defined() ? all[i]->bytes() : nullptr; }
  std::array<Tensor, input_count> all;
};

cpu::RnnShape shape_of(RnnKind kind, DType dtype, bool reverse, IntSpan batch_sizes, List tensors) {
  const Sizes sizes(kind, tensors);
  return {kind, dtype, reverse, batch_sizes, sizes.inputs, sizes.hidden, sizes.outputs};
}

// A state to be worked on in place: the result itself if its dtype is right.
Tensor copied(const Tensor& from, const Tensor& out, DType dtype) {
  const Tensor target = out.dtype() == dtype ? out : Tensor::empty(out.sizes(), dtype);
  copy_raw(target, from);
  return target;
}

void deliver(const Tensor& out, const Tensor& made) {
  if (!made.is_same(out)) copy_raw(out, made);
}

// Whether the processor multiplies inputs and weights as they are.
bool multiplies_bfloat16(List tensors) {
  return tensors[rows].dtype() == DType::bfloat16 && tensors[rows].numel() > 0 &&
         tensors[w_hh].numel() > 0 && cpu::has_bfloat_instructions();
}

void rnn_layer_kernel(const Call& call) {
  const List tensors = call.tensors(0);
  const DType dtype = math_dtype(tensors[rows].dtype());
  const bool has_cells = kind_of(call) == RnnKind::lstm;
  const bool bfloat16 = multiplies_bfloat16(tensors);
  const Prepared in(tensors, dtype, bfloat16 ? DType::bfloat16 : dtype);
  const Tensor h = copied(tensors[hx], call.out(1), dtype);
  const Tensor c = has_cells ? copied(tensors[cx], call.out(2), dtype) : Tensor();
  const bool as_it_is = bfloat16 || call.out().dtype() == dtype;
  const Tensor out = as_it_is ? call.out() : Tensor::empty(call.out().sizes(), dtype);
  cpu::rnn({.shape = shape_of(kind_of(call), dtype, call.boolean(2), call.integers(3), tensors),
            .x = in.bytes(rows),
            .w_ih = in.bytes(w_ih),
            .w_hh = in.bytes(w_hh),
            .b_ih = in.bytes(b_ih),
            .b_hh = in.bytes(b_hh),
            .w_hr = in.bytes(w_hr),
            .bfloat16 = bfloat16,
            .h = h->bytes(),
            .c = has_cells ? c->bytes() : nullptr,
            .out = out->bytes(),
            .kept = cpu::rnn_kept(kind_of(call)) ? call.out(3)->bytes() : nullptr});
  deliver(call.out(0), out);
  deliver(call.out(1), h);
  if (has_cells) deliver(call.out(2), c);
}

// --- _rnn_layer_grad(inputs, kind, reverse, batch_sizes, out, kept, grads)
//       -> (sum_grad, hidden_grad, h_grad, c_grad)
// See cpu::RnnGradCall.

bool has_hidden_grad(RnnKind kind, List tensors) {
  return kind == RnnKind::gru || tensors[w_hr].defined();
}

void infer_rnn_layer_grad(Infer& infer) {
  const List tensors = infer.tensors(0);
  const RnnKind kind = kind_of(infer);
  const Sizes sizes(kind, tensors);
  const DType dtype = math_dtype(tensors[rows].dtype());
  const int64_t count = tensors[rows]->size(0), sums = cpu::rnn_gates(kind) * sizes.hidden;
  infer.push({count, sums}, dtype);
  const int64_t hidden[] = {count, kind == RnnKind::gru ? sums : sizes.outputs};
  infer.push(has_hidden_grad(kind, tensors) ? IntSpan(hidden) : IntSpan(nothing), dtype);
  infer.push(tensors[hx].sizes(), dtype);
  infer.push(kind == RnnKind::lstm ? tensors[cx].sizes() : IntSpan(nothing), dtype);
}

void start_from(const Tensor& out, const Tensor& grad) {
  if (grad.defined()) return copy_raw(out, grad);
  visit<dtypes::real_math>(out.dtype(), "rnn",
                           [&]<class T>() { std::fill_n(out.data<T>(), out.numel(), T(0)); });
}

void rnn_layer_grad_kernel(const Call& call) {
  const List tensors = call.tensors(0), grads = call.tensors(6);
  const RnnKind kind = kind_of(call);
  const DType dtype = call.out().dtype();
  const bool bfloat16 = multiplies_bfloat16(tensors);
  const Prepared in(tensors, dtype, bfloat16 ? DType::bfloat16 : dtype);
  const Tensor out = consecutive(call.tensor(4), dtype), kept = consecutive(call.tensor(5), dtype);
  const Tensor out_grad = grads[0].defined() ? consecutive(grads[0], dtype) : Tensor();
  const bool has_cells = kind == RnnKind::lstm;
  start_from(call.out(2), grads[1]);
  if (has_cells) start_from(call.out(3), grads[2]);
  cpu::rnn_grad({.shape = shape_of(kind, dtype, call.boolean(2), call.integers(3), tensors),
                 .w_hh = in.bytes(w_hh),
                 .w_hr = in.bytes(w_hr),
                 .h = in.bytes(hx),
                 .c = in.bytes(cx),
                 .bfloat16 = bfloat16,
                 .out = out->bytes(),
                 .kept = cpu::rnn_kept(kind) ? kept->bytes() : nullptr,
                 .out_grad = out_grad.defined() ? out_grad->bytes() : nullptr,
                 .h_grad = call.out(2)->bytes(),
                 .c_grad = has_cells ? call.out(3)->bytes() : nullptr,
                 .sum_grad = call.out(0)->bytes(),
                 .hidden_grad = has_hidden_grad(kind, tensors) ? call.out(1)->bytes() : nullptr});
}

// --- The rule

// The gradients that all others are products of.
struct SumGrads {
  Tensor sums, hidden, h, c;
};

// Which rows of the results hold the states that each step started from.
class Before {
 public:
  Before(IntSpan sizes, bool reverse) : sizes_(sizes), reverse_(reverse) {
    int64_t at = 0;
    for (int64_t size : sizes) {
      offsets_.push_back(at);
      at += size;
    }
  }
  int64_t offset(size_t t) const { return offsets_[t]; }
  // For the rows of step t: from `made` as far as another step came before, then from `given`.
  Tensor at(size_t t, const Tensor& made, const Tensor& given) const {
    const int64_t size = sizes_[t];
    const bool first = reverse_ ? t + 1 == sizes_.size() : t == 0;
    if (first) return narrow(given, 0, 0, size);
    const size_t p = reverse_ ? t + 1 : t - 1;
    const int64_t carried = std::min(sizes_[p], size);
    const Tensor from = narrow(made, 0, offsets_[p], carried);
    if (carried == size) return from;
    const Tensor parts[] = {from, narrow(given, 0, carried, size - carried)};
    return cat(parts);
  }
  // For all rows.
  Tensor all(const Tensor& made, const Tensor& given) const {
    std::vector<Tensor> parts;
    if (sizes_.front() == sizes_.back()) {
      const int64_t batch = sizes_[0], rest = made->size(0) - batch;
      parts = {given, narrow(made, 0, reverse_ ? batch : 0, rest)};
      if (reverse_) std::swap(parts[0], parts[1]);
    } else {
      for (size_t t = 0; t < sizes_.size(); ++t) parts.push_back(at(t, made, given));
    }
    return cat(parts);
  }

 private:
  IntSpan sizes_;
  bool reverse_;
  Dims offsets_;
};

// The same as _rnn_layer_grad in operators that can be differentiated. What was kept is a result
// like others: it has a gradient when a derivative is differentiated.
class StepwiseGrad {
 public:
  StepwiseGrad(const Backward& b, RnnKind kind, std::vector<Tensor> inputs)
      : b_(b),
        kind_(kind),
        in_(std::move(inputs)),
        before_(b.integers(3), b.boolean(2)),
        out_(to(b.out(0), in_[rows].dtype())),
        hidden_(in_[w_hh]->size(0) / cpu::rnn_gates(kind)) {}

  SumGrads run() {
    const IntSpan sizes = b_.integers(3);
    std::vector<Tensor> sums(sizes.size()), hidden(sizes.size());
    h_ = given(1, in_[hx]);
    if (kind_ == RnnKind::lstm) c_ = given(2, in_[cx]);
    for (size_t i = 0; i < sizes.size(); ++i) {
      const size_t t = b_.boolean(2) ? i : sizes.size() - 1 - i;
      step(t, sizes[t], sums[t], hidden[t]);
    }
    const bool has_hidden = kind_ == RnnKind::gru || in_[w_hr].defined();
    return {cat(sums), has_hidden ? cat(hidden) : Tensor(), h_, c_};
  }

 private:
  Tensor given(int result, const Tensor& like) const {
    return b_.has_grad(result) ? to(b_.grad(result), like.dtype()) : zeros_like(like);
  }
  // Part `number` of the rows of step t of something as wide as what was kept.
  Tensor part(const Tensor& wide, size_t t, int64_t size, int64_t number) const {
    return narrow(narrow(wide, 0, before_.offset(t), size), 1, number * hidden_, hidden_);
  }
  Tensor kept(size_t t, int64_t size, int64_t number) const {
    return part(b_.out(3), t, size, number);
  }
  Tensor with_own(const Tensor& grad, size_t t, int64_t size, int64_t number) const {
    return b_.has_grad(3) ? grad + part(b_.grad(3), t, size, number) : grad;
  }
  static Tensor replace_rows(const Tensor& all, const Tensor& first) {
    const int64_t rest = all->size(0) - first->size(0);
    if (rest == 0) return first;
    const Tensor parts[] = {first, narrow(all, 0, first->size(0), rest)};
    return cat(parts);
  }

  void step(size_t t, int64_t size, Tensor& sums, Tensor& hidden) {
    Tensor grad = narrow(h_, 0, 0, size);
    if (b_.has_grad(0))
      grad = grad + narrow(to(b_.grad(0), grad.dtype()), 0, before_.offset(t), size);
    Tensor past;  // what reaches the state before without passing the gates
    if (kind_ == RnnKind::lstm) {
      if (in_[w_hr].defined()) hidden = grad, grad = mm(grad, in_[w_hr]);
      sums = lstm(t, size, grad);
    } else if (kind_ == RnnKind::gru) {
      gru(t, size, grad, sums, hidden, past);
    } else {
      const Tensor out = narrow(out_, 0, before_.offset(t), size);
      sums = kind_ == RnnKind::tanh ? tanh_grad(grad, out) : relu_grad(grad, out);
    }
    const Tensor back = mm(kind_ == RnnKind::gru ? hidden : sums, in_[w_hh]);
    h_ = replace_rows(h_, past.defined() ? back + past : back);
  }

  Tensor lstm(size_t t, int64_t n, const Tensor& grad) {
    const Tensor in = kept(t, n, 0), forget = kept(t, n, 1), candidate = kept(t, n, 2),
                 read = kept(t, n, 3), squashed = tanh(kept(t, n, 4));
    const Tensor cells = narrow(b_.out(3), 1, 4 * hidden_, hidden_);
    const Tensor cell = with_own(narrow(c_, 0, 0, n) + tanh_grad(grad * read, squashed), t, n, 4);
    const Tensor parts[] = {
        sigmoid_grad(with_own(cell * candidate, t, n, 0), in),
        sigmoid_grad(with_own(cell * before_.at(t, cells, in_[cx]), t, n, 1), forget),
        tanh_grad(with_own(cell * in, t, n, 2), candidate),
        sigmoid_grad(with_own(grad * squashed, t, n, 3), read)};
    c_ = replace_rows(c_, cell * forget);
    return cat(parts, 1);
  }

  void gru(size_t t, int64_t n, const Tensor& grad, Tensor& sums, Tensor& hidden, Tensor& past) {
    const Tensor reset = kept(t, n, 0), update = kept(t, n, 1), candidate = kept(t, n, 2),
                 product = kept(t, n, 3);
    const Tensor state = before_.at(t, out_, in_[hx]);
    const Tensor inner = tanh_grad(with_own(grad - grad * update, t, n, 2), candidate);
    const Tensor reset_sum = sigmoid_grad(with_own(inner * product, t, n, 0), reset);
    const Tensor update_sum = sigmoid_grad(with_own(grad * (state - candidate), t, n, 1), update);
    const Tensor product_grad = with_own(inner * reset, t, n, 3);
    const Tensor from_input[] = {reset_sum, update_sum, inner},
                 from_hidden[] = {reset_sum, update_sum, product_grad};
    sums = cat(from_input, 1);
    hidden = cat(from_hidden, 1);
    past = grad * update;
  }

  const Backward& b_;
  RnnKind kind_;
  std::vector<Tensor> in_;
  Before before_;
  Tensor out_;
  int64_t hidden_;
  Tensor h_, c_;
};

// Unless the gradient is to be differentiated.
bool is_one_kernel(const Backward& b) { return !rules_are_differentiated() && !b.has_grad(3); }

SumGrads sum_grads(const Backward& b, const std::vector<Tensor>& inputs) {
  const RnnKind kind = kind_of(b);
  if (!is_one_kernel(b)) return StepwiseGrad(b, kind, inputs).run();
  const Tensor grads[] = {b.grad(0), b.grad(1), b.grad(2)};
  auto made =
      invoke_many<"_rnn_layer_grad">(b[0], b[1], b[2], b[3], b.out(0), b.out(3), List(grads));
  const bool has_hidden = has_hidden_grad(kind, b.tensors(0));
  return {made[0], has_hidden ? made[1] : Tensor(), made[2],
          kind == RnnKind::lstm ? made[3] : Tensor()};
}

// Gradients of the weights: products of those of the sums with what was multiplied by the weights.
// `factors` are inputs in the dtype of these products.
void weight_grads(const Backward& b, std::span<const bool> wanted,
                  const std::vector<Tensor>& factors, const SumGrads& sums,
                  std::vector<Tensor>& grads) {
  const RnnKind kind = kind_of(b);
  const DType dtype = factors[rows].dtype();
  const Tensor& hidden = kind == RnnKind::gru && sums.hidden.defined() ? sums.hidden : sums.sums;
  if (wanted[w_ih]) grads[w_ih] = mm(t(to(sums.sums, dtype)), factors[rows]);
  if (wanted[w_hh]) {
    const Before before(b.integers(3), b.boolean(2));
    grads[w_hh] = mm(t(to(hidden, dtype)), before.all(to(b.out(0), dtype), factors[hx]));
  }
  const int64_t first = 0;
  if (wanted[b_ih]) grads[b_ih] = sum(sums.sums, IntSpan(&first, 1));
  if (wanted[b_hh]) {
    const bool known = wanted[b_ih] && kind != RnnKind::gru;
    grads[b_hh] = known ? grads[b_ih] : sum(hidden, IntSpan(&first, 1));
  }
  if (wanted[w_hr]) {
    const int64_t size = factors[cx]->size(1);
    const Tensor read = narrow(b.out(3), 1, 3 * size, size),
                 cells = narrow(b.out(3), 1, 4 * size, size);
    grads[w_hr] = mm(t(sums.hidden), read * tanh(cells));
  }
}

void rnn_layer_rule(const Backward& b, std::span<const bool> wanted, std::vector<Tensor>& grads) {
  const DType dtype = b.out(3).dtype();
  const bool as_given = multiplies_bfloat16(b.tensors(0)) && is_one_kernel(b);
  std::vector<Tensor> factors(input_count);
  for (size_t i = 0; i < input_count; ++i) {
    const Tensor& given = b.tensors(0)[i];
    if (given.defined()) factors[i] = to(given, as_given ? DType::bfloat16 : dtype);
  }
  const SumGrads sums = sum_grads(b, factors);
  if (wanted[rows]) grads[rows] = mm(to(sums.sums, factors[w_ih].dtype()), factors[w_ih]);
  if (wanted[hx]) grads[hx] = sums.h;
  if (wanted[cx]) grads[cx] = sums.c;
  weight_grads(b, wanted, factors, sums, grads);
}

}  // namespace

Tensor rnn_layer(RnnKind kind, const Tensor& data, IntSpan batch_sizes, bool reverse,
                 const RnnWeights& weights, RnnState& state) {
  const Tensor inputs[] = {data,         state.h,      state.c,      weights.w_ih,
                           weights.w_hh, weights.b_ih, weights.b_hh, weights.w_hr};
  auto results =
      invoke_many<"_rnn_layer">(List(inputs), static_cast<int64_t>(kind), reverse, batch_sizes);
  state = {results[1], kind == RnnKind::lstm ? results[2] : Tensor()};
  return results[0];
}

void register_rnn_layer(Registry& r) {
  r.add(
      {.schema =
           "_rnn_layer(Tensor?[] inputs, int kind, bool reverse, int[] batch_sizes) -> (Tensor, Tensor, Tensor, Tensor)",
       .doc = "One direction of a recurrent layer over packed rows, and what its derivative keeps.",
       .infer = infer_rnn_layer,
       .kernel = rnn_layer_kernel,
       .vjp = {{.input = "inputs",
                .saves = "inputs kind reverse batch_sizes result result3",
                .list_rule = rnn_layer_rule}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "- exported as a whole layer",
       .homes = home::internal});
  r.add(
      {.schema =
           "_rnn_layer_grad(Tensor?[] inputs, int kind, bool reverse, int[] batch_sizes, Tensor out, Tensor kept, Tensor?[] grads) -> (Tensor, Tensor, Tensor, Tensor)",
       .doc = "From the gradients of _rnn_layer's results to those of the sums inside its gates.",
       .infer = infer_rnn_layer_grad,
       .kernel = rnn_layer_grad_kernel,
       .jvp = Jvp::none,
       .batch = Batch::loop,
       .onnx = "- backward only",
       .homes = home::internal});
}

}  // namespace wisp::ops
