// _fused_update: one step of an optimiser for all parameters of a group.
#include "cpu/update.h"

#include <cmath>

#include "dispatch/mode.h"
#include "ops/families.h"
#include "ops/ops.h"
#include "ops/promotion.h"
#include "ops/raw.h"

namespace wisp::ops {

namespace {

using cpu::UpdateNumbers;
using cpu::UpdateRule;

// (params, grads, steps, first, second, third, rule, numbers)
constexpr int lists = 6;
enum List { params, grads, steps, first_states, second_states, third_states };

// The settings of a group, in the order in which each rule gets them.
using Settings = std::span<const double>;

struct RuleInfo {
  std::string_view name;
  UpdateRule rule;
  size_t settings;
  int states;   // lists that it cannot do without
  int tensors;  // of the states, how many are like the parameter; the others are single numbers
  // What the formula needs at step t; `kept` are those single numbers, which may change.
  UpdateNumbers (*numbers)(Settings, double t, std::span<double> kept);
};

UpdateNumbers common(double maximize, double decay) {
  UpdateNumbers n;
  n.sign = maximize ? -1 : 1;
  n.decay = decay;
  return n;
}

// lr, momentum, dampening, weight_decay, nesterov, whether the momentum starts, maximize
UpdateNumbers sgd_numbers(Settings s, double, std::span<double>) {
  UpdateNumbers n = common(s[6], s[3]);
  n.keep = s[1];
  n.take = 1 - s[2];
  n.flag = s[5] != 0;
  n.rate = s[4] ? s[0] * s[1] : s[0];
  n.second_rate = s[4] ? s[0] : 0;
  return n;
}

// lr, beta1, beta2, weight_decay, eps, whether the decay is decoupled, maximize
UpdateNumbers mean_numbers(Settings s) {
  UpdateNumbers n = common(s[6], s[5] ? 0 : s[3]);
  if (s[5]) n.shrink = 1 - s[0] * s[3];
  n.take = 1 - s[1];
  n.keep_square = s[2];
  n.take_square = 1 - s[2];
  n.eps = s[4];
  return n;
}
UpdateNumbers adam_numbers(Settings s, double t, std::span<double>) {
  UpdateNumbers n = mean_numbers(s);
  n.rate = s[0] / (1 - std::pow(s[1], t));
  n.correction = std::sqrt(1 - std::pow(s[2], t));
  return n;
}
// Like momentum until enough steps have been averaged.
UpdateNumbers radam_numbers(Settings s, double t, std::span<double>) {
  UpdateNumbers n = mean_numbers(s);
  n.rate = s[0] / (1 - std::pow(s[1], t));
  const double left = 1 - std::pow(s[2], t), most = 2 / (1 - s[2]) - 1;
  const double averaged = most - 2 * t * std::pow(s[2], t) / left;
  n.flag = averaged > 5;
  if (n.flag) {
    n.rate *= std::sqrt((averaged - 4) * (averaged - 2) * most /
                        ((most - 4) * (most - 2) * averaged) * left);
  }
  return n;
}
// ... and the momentum's decay, by which the product of the momenta of all steps goes on.
UpdateNumbers nadam_numbers(Settings s, double t, std::span<double> kept) {
  UpdateNumbers n = mean_numbers(s);
  double& product = kept[0];
  auto momentum = [&](double step) { return s[1] * (1 - 0.5 * std::pow(0.96, step * s[7])); };
  const double now = momentum(t), then = momentum(t + 1);
  product *= now;
  n.rate = s[0] * (1 - now) / (1 - product);
  n.second_rate = s[0] * then / (1 - product * then);
  n.correction = 1 - std::pow(s[2], t);
  return n;
}

// lr, alpha, eps, weight_decay, momentum, maximize
UpdateNumbers rmsprop_numbers(Settings s, double, std::span<double>) {
  UpdateNumbers n = common(s[5], s[3]);
  n.keep_square = s[1];
  n.take_square = 1 - s[1];
  n.eps = s[2];
  n.keep = s[4];
  n.rate = s[0];
  return n;
}

// lr, lr_decay, weight_decay, eps, maximize
UpdateNumbers adagrad_numbers(Settings s, double t, std::span<double>) {
  UpdateNumbers n = common(s[4], s[2]);
  n.rate = s[0] / (1 + (t - 1) * s[1]);
  n.eps = s[3];
  return n;
}

// lr, rho, eps, weight_decay, maximize
UpdateNumbers adadelta_numbers(Settings s, double, std::span<double>) {
  UpdateNumbers n = common(s[4], s[3]);
  n.keep_square = s[1];
  n.take_square = 1 - s[1];
  n.eps = s[2];
  n.rate = s[0];
  return n;
}

// lr, lambd, alpha, t0, weight_decay, maximize. The rate and the share of the average that a step
// uses were worked out at the one before.
UpdateNumbers asgd_numbers(Settings s, double t, std::span<double> kept) {
  UpdateNumbers n = common(s[5], s[4]);
  double &rate = kept[0], &share = kept[1];
  n.rate = rate;
  n.shrink = 1 - s[1] * rate;
  n.take = share;
  n.flag = share == 1;
  rate = s[0] / std::pow(1 + s[1] * s[0] * t, s[2]);
  share = 1 / std::max(1.0, t - s[3]);
  return n;
}

// the factors by which steps shrink and grow, the smallest and the largest step, maximize
UpdateNumbers rprop_numbers(Settings s, double, std::span<double>) {
  UpdateNumbers n = common(s[4], 0);
  n.keep = s[0];
  n.take = s[1];
  n.eps = s[2];
  n.rate = s[3];
  return n;
}

const RuleInfo rules[] = {
    {"sgd", UpdateRule::sgd, 7, 0, 3, sgd_numbers},
    {"adam", UpdateRule::adam, 7, 2, 3, adam_numbers},
    {"adamax", UpdateRule::adamax, 7, 2, 3, adam_numbers},
    {"nadam", UpdateRule::nadam, 8, 3, 2, nadam_numbers},
    {"radam", UpdateRule::radam, 7, 2, 3, radam_numbers},
    {"rmsprop", UpdateRule::rmsprop, 6, 1, 3, rmsprop_numbers},
    {"adagrad", UpdateRule::adagrad, 5, 1, 3, adagrad_numbers},
    {"adadelta", UpdateRule::adadelta, 5, 2, 3, adadelta_numbers},
    {"asgd", UpdateRule::asgd, 6, 3, 1, asgd_numbers},
    {"rprop", UpdateRule::rprop, 5, 2, 3, rprop_numbers},
};

const RuleInfo& rule_of(const Args& args) {
  const std::string_view name = args.string(6);
  for (const RuleInfo& rule : rules) {
    if (rule.name == name) return rule;
  }
  fail(ErrorKind::value, "_fused_update(): no rule '", name, "'");
}

bool is_number_list(const RuleInfo& rule, int list) {
  return list == steps || list >= first_states + rule.tensors;
}

void check_tensor(const RuleInfo& rule, int list, const Tensor& param, const Tensor& t) {
  WISP_CHECK(t.defined(), rule.name, ": a tensor is missing");
  WISP_CHECK(is_floating(t.dtype()), rule.name, ": expected real floating tensors, got ",
             name(t.dtype()));
  WISP_CHECK(t->storage().writable() || list == grads, rule.name,
             ": a tensor to be updated shares memory that is read-only; clone() it first");
  if (is_number_list(rule, list)) {
    WISP_CHECK(t.numel() == 1, rule.name, ": expected one number per parameter, got a tensor of ",
               "shape ", t.sizes());
    return;
  }
  WISP_CHECK(same(t.sizes(), param.sizes()), rule.name, ": a parameter of shape ", param.sizes(),
             " has a ", list == grads ? "gradient" : "state", " of shape ", t.sizes());
  WISP_CHECK(t.dtype() == param.dtype() || list != grads, rule.name, ": a parameter of dtype ",
             name(param.dtype()), " has a gradient of dtype ", name(t.dtype()));
}

void infer_update(Infer& infer) {
  const RuleInfo& rule = rule_of(infer);
  const auto& all = infer.tensors(params);
  WISP_CHECK(infer[7].size == rule.settings, "_fused_update(): ", rule.name, " has ", rule.settings,
             " settings, got ", infer[7].size);
  for (int list = params; list < lists; ++list) {
    const auto& tensors = infer.tensors(list);
    const bool needed = list <= grads || (list == steps && rule.rule != UpdateRule::sgd) ||
                        (list >= first_states && list < first_states + rule.states);
    WISP_CHECK(tensors.size() == all.size() || (tensors.empty() && !needed),
               "_fused_update(): ", rule.name, " expects ", all.size(), " tensors in list ", list,
               ", got ", tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) check_tensor(rule, list, all[i], tensors[i]);
  }
}

double read(const Tensor& number) { return consecutive(number, DType::float64).data<double>()[0]; }
void write(const Tensor& number, double value) {
  Tensor one = Tensor::empty(number.sizes(), DType::float64);
  one.data<double>()[0] = value;
  copy_raw(number, one);
}
// Counts one more step.
double next_step(const Tensor& step) {
  if (step.dtype() == DType::float32) return ++step.data<float>()[0];
  const double t = read(step) + 1;
  write(step, t);
  return t;
}

// Tensors as memory of the kernel's dtype; those that are not so already are copied back in the
// end.
class Memory {
 public:
  explicit Memory(DType dtype) : dtype_(dtype) {}
  ~Memory() {
    for (const auto& [tensor, copy] : copies_) copy_raw(tensor, copy);
  }
  char* read(const Tensor& t) { return place(t)->bytes(); }
  char* written(const Tensor& t) {
    const Tensor& at = place(t);
    if (!at.is_same(t)) copies_.emplace_back(t, at);
    return at->bytes();
  }

 private:
  const Tensor& place(const Tensor& t) {
    if (t.is_contiguous() && t.dtype() == dtype_) return t;
    return held_.emplace_back(consecutive(t, dtype_));
  }
  DType dtype_;
  std::deque<Tensor> held_;  // addresses stay valid
  std::vector<std::pair<Tensor, Tensor>> copies_;
};

UpdateNumbers numbers_for(const Call& call, const RuleInfo& rule, size_t i) {
  const Settings settings(call[7].as.reals, call[7].size);
  const double t = call.tensors(steps).empty() ? 0 : next_step(call.tensors(steps)[i]);
  double kept[3];
  const int first = first_states + rule.tensors, end = first_states + rule.states;
  for (int list = first; list < end; ++list) kept[list - first] = read(call.tensors(list)[i]);
  const UpdateNumbers numbers = rule.numbers(settings, t, {kept, 3});
  for (int list = first; list < end; ++list) write(call.tensors(list)[i], kept[list - first]);
  return numbers;
}

// Those of one dtype.
void update_some(const Call& call, const RuleInfo& rule, DType dtype) {
  Memory memory(dtype);
  std::vector<cpu::Update> jobs;
  const auto& all = call.tensors(params);
  for (size_t i = 0; i < all.size(); ++i) {
    if (math_dtype(all[i].dtype()) != dtype) continue;
    cpu::Update job{.param = memory.written(all[i]),
                    .grad = memory.read(call.tensors(grads)[i]),
                    .state = {},
                    .count = all[i].numel(),
                    .numbers = numbers_for(call, rule, i)};
    for (int k = 0; k < 3; ++k) {
      const auto& states = call.tensors(first_states + k);
      if (states.empty() || is_number_list(rule, first_states + k)) continue;
      job.state[k] = memory.written(states[i]);
    }
    jobs.push_back(job);
  }
  cpu::update(rule.rule, dtype, jobs);
}

void update_kernel(const Call& call) {
  const RuleInfo& rule = rule_of(call);
  bool used[2] = {false, false};
  for (const Tensor& t : call.tensors(params)) used[math_dtype(t.dtype()) == DType::float64] = true;
  if (used[0]) update_some(call, rule, DType::float32);
  if (used[1]) update_some(call, rule, DType::float64);
}

void update_body(const Args& args, TensorList& outs) {
  call(op_def<"_update">(), &args[0], outs);
  for (int list : {params, steps, first_states, second_states, third_states}) {
    for (const Tensor& t : args.tensors(list)) autograd_hooks.wrote(args.op(), t);
  }
}

}  // namespace

void register_update(Registry& r) {
  r.add(
      {.schema =
           "_update(Tensor[] params, Tensor[] grads, Tensor[] steps, Tensor[] first, Tensor[] second, Tensor[] third, str rule, float[] numbers) -> ()",
       .doc = "The kernel of _fused_update.",
       .infer = infer_update,
       .kernel = update_kernel,
       .jvp = Jvp::none,
       .batch = Batch::loop,
       .onnx = "- training only",
       .homes = home::internal});
  r.add(
      {.schema =
           "_fused_update(Tensor[] params, Tensor[] grads, Tensor[] steps, Tensor[] first, Tensor[] second, Tensor[] third, str rule, float[] numbers) -> ()",
       .doc =
           "One step of an optimiser: parameters and what it keeps for them, all of a group at once, change in place.\n\n"
           ">>> w, grad = wisp.ones(2), wisp.tensor([1., 2.])\n"
           ">>> wisp._fused_update([w], [grad], [], [], [], [], \"sgd\", [0.5, 0, 0, 0, 0, 0, 0])\n"
           ">>> w\ntensor([0.5000, 0.0000])",
       .body = update_body,
       .onnx = "- training only",
       .homes = home::function});
}

}  // namespace wisp::ops
