// The gradients of attention, and theirs: block by block, each recomputed from queries and keys.
#include <cmath>
#include <limits>

#include "dispatch/derivatives.h"
#include "ops/attention.h"
#include "ops/families.h"
#include "ops/joint.h"

namespace wisp::ops::attention {

namespace {

// Consecutive memory for those results of a kernel whose bits are set, in the dtype that is
// computed in.
class WantedResults {
 public:
  WantedResults(const Call& call, DType dtype, int64_t bits) : call_(call) {
    for (size_t i = 0; i < call.op().sig.returns.size(); ++i) {
      const Tensor& out = call.out(static_cast<int>(i));
      if (bits >> i & 1) work_[i] = out.dtype() == dtype ? out : Tensor::empty(out.sizes(), dtype);
    }
  }
  char* of(size_t i) const { return work_[i].defined() ? work_[i]->bytes() : nullptr; }
  // The result number i as one for a mask that is broadcast to these sizes.
  void give_mask(size_t i, const Dims& scores, cpu::AttentionWanted& to) {
    if (!work_[i].defined()) return;
    mask_.emplace(mask_for(work_[i], scores, work_[i].dtype()));
    to.mask_grad = mask_->mask();
    to.mask_size = work_[i].numel();
  }
  void store() const {
    for (size_t i = 0; i < std::size(work_); ++i) {
      const Tensor& out = call_.out(static_cast<int>(i));
      if (work_[i].defined() && !work_[i].is_same(out)) copy_raw(out, work_[i]);
    }
  }

 private:
  const Call& call_;
  Tensor work_[Infer::max_outs];
  std::optional<Matrices> mask_;
};

// Results like those of `inputs` whose bits are set.
void push_bits(Infer& infer, List inputs, size_t count, int64_t bits) {
  for (size_t i = 0; i < count; ++i) {
    constexpr int64_t nothing = 0;
    const bool wanted = bits >> i & 1;
    infer.push(wanted ? inputs[i].sizes() : IntSpan(&nothing, 1),
               inputs[i < inputs.size() ? i : 0].dtype(), inputs[0].device());
  }
}

// --- _attention_grad(inputs, output, log_sums, drawn, is_causal, scale, dropout_p, wanted)
//
// Here and below the gradient of the output is the first of the inputs.

void attention_grad_kernel(const Call& call) {
  const List inputs = call.tensors(0);
  const DType held = Job::held_for(inputs[1].dtype());
  const Job job(inputs.subspan(1), Manner(call, 3), held);
  const Matrices out(with_rows(call.tensor(1), held)), grad(with_rows(inputs[0], held));
  const Tensor log_sums = consecutive(call.tensor(2), job.dtype());
  WantedResults results(call, job.dtype(), call.integer(7));
  cpu::AttentionGrad given{.out = out.stack(), .grad = grad.stack(), .log_sums = log_sums->bytes()};
  given.wanted = {.q_grad = results.of(0), .k_grad = results.of(1), .v_grad = results.of(2)};
  results.give_mask(3, job.given().scores(), given.wanted);
  cpu::attention_grad(job.shape, given);
  results.store();
}

// --- _attention_second_grad(inputs, output, log_sums, drawn, is_causal, scale, dropout_p, wanted):
// the gradients of the products of directions with what _attention_grad gives
//
// The directions, of which some may be missing, come after the inputs of _attention_grad.

struct SecondInputs {
  explicit SecondInputs(List all)
      : points(all.first((all.size() + 1) / 2)), directions(all.subspan(points.size())) {}
  List points, directions;
};

void attention_second_grad_kernel(const Call& call) {
  const auto [inputs, directions] = SecondInputs(call.tensors(0));
  const DType dtype = math_dtype(inputs[1].dtype());
  const Job job(inputs.subspan(1), Manner(call, 3), dtype);
  const Matrices out(with_rows(call.tensor(1), dtype)), grad(with_rows(inputs[0], dtype));
  const Tensor log_sums = consecutive(call.tensor(2), dtype);
  WantedResults results(call, dtype, call.integer(7));
  cpu::AttentionSecondGrad given;
  given.out = out.stack();
  given.grad = grad.stack();
  given.log_sums = log_sums->bytes();
  std::optional<Matrices> along[4];
  cpu::MatrixStack* const stacks[] = {&given.u, &given.w, &given.z};
  for (size_t i = 0; i < 3; ++i) {
    if (!directions[i].defined()) continue;
    *stacks[i] = along[i].emplace(with_rows(directions[i], dtype)).stack();
  }
  if (directions.size() > 3 && directions[3].defined())
    given.m = along[3].emplace(mask_for(directions[3], job.given().scores(), dtype)).mask();
  given.wanted = {.grad_grad = results.of(0),
                  .q_grad = results.of(1),
                  .k_grad = results.of(2),
                  .v_grad = results.of(3)};
  results.give_mask(4, job.given().scores(), given.wanted);
  cpu::attention_second_grad(job.shape, given);
  results.store();
}

// --- _drop_scores(scores, drawn, p, first, queries): what the kernels above drop of the scores of
// some of the queries, from `first` on

void drop_scores_kernel(const Call& call) {
  const Tensor &scores = call.tensor(0), &out = call.out();
  const DType dtype = math_dtype(out.dtype());
  const Tensor work =
      out.dtype() == dtype && out.is_contiguous() ? out : Tensor::empty(out.sizes(), dtype);
  copy_raw(work, scores);
  const cpu::ScoreRows rows{.heads = count_elements(lead_of(work)),
                            .queries = call.integer(4),
                            .first = call.integer(3),
                            .count = work.size(-2),
                            .keys = work.size(-1)};
  cpu::drop_scores(dtype, work->bytes(), rows, drops_of(call[1], call.real(2)));
  if (!work.is_same(out)) copy_raw(out, work);
}

// --- The same in operators that can be differentiated, for some of the queries

Tensor turned(const Tensor& t) { return transpose(t, -2, -1); }

// Scores of keys that are not seen are -infinity.
Tensor masked(const Tensor& scores, const Tensor& mask) {
  if (mask.dtype() != DType::bool_) return add(scores, mask);
  return masked_fill(scores, logical_not(mask), Scalar(-std::numeric_limits<double>::infinity()));
}

// softmax, but 0 for queries that see no key.
Tensor probabilities(const Tensor& scores) {
  const int64_t last = -1;
  if (scores->size(scores.ndim() - 1) == 0) return scores;
  const Tensor blind = eq(amax(detach(scores), IntSpan(&last, 1), true),
                          Scalar(-std::numeric_limits<double>::infinity()));
  return masked_fill(softmax(masked_fill(scores, blind, Scalar(0)), -1), blind, Scalar(0));
}

Tensor attend(List inputs, const Manner& manner, int64_t first, int64_t queries) {
  const Operands o(inputs);
  Tensor scores = mul(matmul(o.q, turned(spread_heads(o.k, o.group()))), manner.scale);
  if (o.mask) scores = masked(scores, *o.mask);
  if (manner.causal) {
    const int64_t shape[] = {o.queries(), o.keys()};
    scores = masked(scores, invoke<"tril">(ones(shape, DType::bool_), first));
  }
  Tensor p = probabilities(scores);
  if (manner.drawn.is_tensor())
    p = invoke<"_drop_scores">(p, manner.drawn, manner.dropout_p, first, queries);
  return matmul(p, spread_heads(o.v, o.group()));
}

// --- Third derivatives, by blocks of queries unless they are themselves differentiated

using Grads = std::vector<Tensor>;

// The gradients of those outputs that have weights and depend on something.
Grads gradients_of(List outputs, List weights, List points, bool create_graph) {
  Grads from, by;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (!weights[i].defined() || !outputs[i].defined() || !outputs[i].requires_grad()) continue;
    from.push_back(outputs[i]);
    by.push_back(weights[i]);
  }
  if (from.empty()) return Grads(points.size());
  return derivatives.gradients(from, by, points, true, create_graph);
}

class ThirdDerivative {
 public:
  // `directions` are those of the second derivative, `weights` those of its results for queries,
  // keys, values and mask.
  ThirdDerivative(const Backward& b, List weights)
      : inputs_(SecondInputs(b.tensors(0)).points),
        directions_(SecondInputs(b.tensors(0)).directions),
        weights_(weights),
        manner_(b, 3),
        sums_(inputs_.size()),
        parts_(inputs_.size()) {}

  void run(std::span<const bool> wanted, Grads& grads) {
    const int64_t queries = inputs_[0].size(-2);
    const int64_t step = rules_are_differentiated() ? queries : rows_at_once();
    for (int64_t first = 0; first < queries; first += step)
      add_rows(first, std::min(step, queries - first), wanted);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (!parts_[i].empty()) sums_[i] = cat(parts_[i], -2);
      if (!sums_[i].defined()) continue;
      grads[i] = grads[i].defined() ? add(grads[i], sums_[i]) : sums_[i];
    }
  }

 private:
  int64_t rows_at_once() const {
    constexpr int64_t scores = 1 << 18;
    const Operands o(inputs_.subspan(1));
    const int64_t row = count_elements(lead_of(o.q)) * o.keys();
    return std::max<int64_t>(1, scores / std::max<int64_t>(row, 1));
  }

  // Whether each of the queries has a row of its own in input i.
  bool has_rows(size_t i) const {
    return i < 2 || (i == 4 && inputs_[4].ndim() > 1 && inputs_[4].size(-2) > 1);
  }
  Tensor rows(const Tensor& t, size_t i, int64_t first, int64_t count) const {
    return t.defined() && has_rows(i) && count < inputs_[0].size(-2) ? narrow(t, -2, first, count)
                                                                     : t;
  }
  // The same of what goes with inputs from the second on.
  Grads rows_of(List tensors, int64_t first, int64_t count) const {
    Grads made;
    for (size_t i = 0; i < tensors.size(); ++i)
      made.push_back(rows(tensors[i], i + 1, first, count));
    return made;
  }

  // Stand-ins for the inputs that can be differentiated by.
  Grads points_for(int64_t first, int64_t count) const {
    GradMode connected(mode.grad);
    Grads points;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      Tensor point = invoke<"alias">(rows(inputs_[i], i, first, count));
      if (is_differentiable(point.dtype()) && !point.requires_grad())
        point->set_requires_grad(true);
      points.push_back(std::move(point));
    }
    return points;
  }

  void add_rows(int64_t first, int64_t count, std::span<const bool> wanted) {
    const bool create_graph = mode.grad;
    const Grads points = points_for(first, count);
    GradMode recording(true);
    const List qkv = List(points).subspan(1), by = points_of_numbers(points);
    const Tensor out = attend(qkv, manner_, first, inputs_[0].size(-2));
    const Grads once = gradients_of({&out, 1}, {&points[0], 1}, by.subspan(1), true);
    const Grads twice = gradients_of(once, rows_of(directions_, first, count), by, true);
    const Grads thrice =
        gradients_of(List(twice).subspan(1), rows_of(weights_, first, count), by, create_graph);
    GradMode summing(create_graph);
    for (size_t i = 0; i < thrice.size(); ++i) {
      if (wanted[i]) keep(i, thrice[i].defined() ? thrice[i] : zeros_like(points[i]));
    }
  }
  // All but a mask of bools.
  static List points_of_numbers(List points) {
    return is_differentiable(points.back().dtype()) ? points : points.first(points.size() - 1);
  }

  void keep(size_t i, const Tensor& part) {
    if (has_rows(i)) return parts_[i].push_back(part);
    sums_[i] = sums_[i].defined() ? add(sums_[i], part) : part;
  }

  List inputs_, directions_, weights_;
  Manner manner_;
  Grads sums_;
  std::vector<Grads> parts_;
};

// --- Rules

// The gradients that a rule is given for some results, from `first` on, of those that were wanted.
Grads given_grads(const Backward& b, int first, size_t count) {
  Grads found(count);
  for (size_t i = 0; i < count; ++i) {
    const int at = first + static_cast<int>(i);
    if (b.integer(7) >> at & 1 && b.has_grad(at)) found[i] = b.grad(at);
  }
  return found;
}

bool any(List tensors) {
  return std::any_of(tensors.begin(), tensors.end(), [](const Tensor& t) { return t.defined(); });
}

Grads joined(List first, List second) {
  Grads all(first.begin(), first.end());
  all.insert(all.end(), second.begin(), second.end());
  return all;
}

// _attention_grad or _attention_second_grad of other inputs.
template <OpName Op>
[[gnu::noinline]] Grads again(const Backward& b, const Grads& inputs, int64_t bits) {
  return invoke_many<Op>(List(inputs), b[1], b[2], b[3], b[4], b[5], b[6], bits);
}

void second_grads(const Backward& b, std::span<const bool> wanted, Grads& grads) {
  const Grads directions = given_grads(b, 0, wanted.size() - 1);
  if (!any(directions)) return;
  hand_out(again<"_attention_second_grad">(b, joined(b.tensors(0), directions), bits_of(wanted)),
           wanted, grads);
}

// Adds to grads from `at` on, where wanted, what is made from `first` on.
[[gnu::noinline]] void add_to(Grads& grads, size_t at, const Grads& made, size_t first,
                              std::span<const bool> wanted) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    Tensor& sum = grads[at + i];
    if (wanted[i]) sum = sum.defined() ? add(sum, made[first + i]) : made[first + i];
  }
}

// The results of _attention_second_grad are J d, with directions d and J as the derivative of
// attention, whose transposed is _attention_grad; and H d, with a symmetric matrix H: the second
// derivative of attention's result, weighted with its gradient. `y` and `rest` are their weights.
void third_grads(const Backward& b, std::span<const bool> wanted, Grads& grads) {
  const auto [points, directions] = SecondInputs(b.tensors(0));
  const size_t n = points.size();
  const Tensor y = given_grads(b, 0, 1)[0];
  const Grads rest = given_grads(b, 1, n - 1);
  const auto by_points = wanted.subspan(1, n - 1), by_directions = wanted.subspan(n);
  if (y.defined()) {  // sum(y * J d) is what H of y in the place of the gradient belongs to
    const Grads with_y = joined({&y, 1}, points.subspan(1));
    if (bits_of(by_directions))
      add_to(grads, n, again<"_attention_grad">(b, with_y, bits_of(by_directions)), 0,
             by_directions);
    if (bits_of(by_points))
      add_to(
          grads, 1,
          again<"_attention_second_grad">(b, joined(with_y, directions), bits_of(by_points) << 1),
          1, by_points);
  }
  if (!any(rest)) return;
  if (bits_of(by_directions))
    add_to(grads, n,
           again<"_attention_second_grad">(b, joined(points, rest), bits_of(by_directions) << 1), 1,
           by_directions);
  if (wanted[0] || bits_of(by_points)) ThirdDerivative(b, rest).run(wanted.first(n), grads);
}

}  // namespace

void input_grads(const Backward& b, std::span<const bool> wanted, Grads& grads) {
  const Grads inputs = joined({&b.grad(0), 1}, b.tensors(0));
  hand_out(invoke_many<"_attention_grad">(List(inputs), b.out(0), b.out(1), b[1], b[2], b[3], b[4],
                                          bits_of(wanted)),
           wanted, grads);
}

void register_grads(Registry& r) {
  constexpr const char* saved = "inputs output log_sums drawn is_causal scale dropout_p wanted";
  r.add(
      {.schema =
           "_attention_grad(Tensor[] inputs, Tensor output, Tensor log_sums, Tensor? drawn, bool is_causal, float scale, float dropout_p, int wanted) -> (Tensor, Tensor, Tensor, Tensor)",
       .doc = "The gradients of queries, keys, values and mask.",
       .infer =
           [](Infer& infer) { push_bits(infer, infer.tensors(0).subspan(1), 4, infer.integer(7)); },
       .kernel = attention_grad_kernel,
       .vjp = {{"inputs", saved, nullptr, second_grads}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "- backward only",
       .homes = home::internal});
  r.add(
      {.schema =
           "_attention_second_grad(Tensor?[] inputs, Tensor output, Tensor log_sums, Tensor? drawn, bool is_causal, float scale, float dropout_p, int wanted) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
       .doc = "The gradients of what _attention_grad gives, times directions.",
       .infer =
           [](Infer& infer) {
             push_bits(infer, SecondInputs(infer.tensors(0)).points, 5, infer.integer(7));
           },
       .kernel = attention_second_grad_kernel,
       .vjp = {{"inputs", saved, nullptr, third_grads}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "- backward only",
       .homes = home::internal});
  r.add(
      {.schema =
           "_drop_scores(Tensor scores, Tensor drawn, float p, int first, int queries) -> Tensor",
       .doc =
           "Scores of some queries with those set to zero that attention drops, the others divided by 1 - p.",
       .infer =
           [](Infer& infer) {
             const Tensor& scores = infer.tensor(0);
             infer.push(scores.sizes(), scores.dtype(), scores.device());
           },
       .kernel = drop_scores_kernel,
       .vjp = {{"scores", "drawn p first queries",
                [](const Backward& b) {
                  return invoke<"_drop_scores">(b.grad(), b[1], b[2], b[3], b[4]);
                }}},
       .jvp = Jvp::linear,
       .batch = Batch::loop,
       .onnx = "- backward only",
       .homes = home::internal});
}

}  // namespace wisp::ops::attention
