// _fused_update: one step of an optimiser for all parameters of a group.
#include "ops/update.h"

#include <cmath>

#include "cpu/update.h"
#include "dispatch/mode.h"
#include "ops/families.h"
#include "ops/ops.h"
#include "ops/promotion.h"

namespace wisp::ops {

namespace {

using cpu::UpdateNumbers;
using cpu::UpdateRule;
using Settings = UpdateSettings;
using namespace update_arg;

struct RuleInfo {
  std::string_view name;
  size_t settings;
  int states;   // lists that it cannot do without
  int tensors;  // of the states, how many are tensors; the others are single numbers
  bool counts;  // steps
  // Either a formula of single elements, and what it needs at step t (`kept` are those single
  // numbers, which may change);
  UpdateRule rule;
  UpdateNumbers (*numbers)(Settings, double t, std::span<double> kept);
  // or a function for all tensors that are computed in a dtype.
  void (*whole)(const Call&, DType) = nullptr;
  Dims (*state_sizes)(int list, IntSpan param) = nullptr;  // if not those of the parameter
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
UpdateNumbers adamax_numbers(Settings s, double t, std::span<double>) {
  UpdateNumbers n = mean_numbers(s);
  n.rate = s[0] / (1 - std::pow(s[1], t));
  return n;
}
// step / (sqrt(square) / correction + eps), with one division less for every element.
UpdateNumbers adam_numbers(Settings s, double t, std::span<double> kept) {
  UpdateNumbers n = adamax_numbers(s, t, kept);
  const double correction = std::sqrt(1 - std::pow(s[2], t));
  n.rate *= correction;
  n.eps *= correction;
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
    {"sgd", 7, 0, 3, false, UpdateRule::sgd, sgd_numbers},
    {"adam", 7, 2, 3, true, UpdateRule::adam, adam_numbers},
    {"adamax", 7, 2, 3, true, UpdateRule::adamax, adamax_numbers},
    {"nadam", 8, 3, 2, true, UpdateRule::nadam, nadam_numbers},
    {"radam", 7, 2, 3, true, UpdateRule::radam, radam_numbers},
    {"rmsprop", 6, 1, 3, true, UpdateRule::rmsprop, rmsprop_numbers},
    {"adagrad", 5, 1, 3, true, UpdateRule::adagrad, adagrad_numbers},
    {"adadelta", 5, 2, 3, true, UpdateRule::adadelta, adadelta_numbers},
    {"asgd", 6, 3, 1, true, UpdateRule::asgd, asgd_numbers},
    {"rprop", 5, 2, 3, true, UpdateRule::rprop, rprop_numbers},
    {"adafactor", 7, 2, 3, true, {}, nullptr, adafactor_steps, adafactor_state_sizes},
    {"muon", 10, 1, 3, false, {}, nullptr, muon_steps, muon_state_sizes},
};

const RuleInfo& rule_of(const Args& args) {
  const std::string_view name = args.string(rule);
  for (const RuleInfo& known : rules) {
    if (known.name == name) return known;
  }
  fail(ErrorKind::value, "_fused_update(): no rule '", name, "'");
}

bool is_number_list(const RuleInfo& rule, int list) {
  return list == steps || list >= first + rule.tensors;
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
  const bool fits = rule.state_sizes && list >= first
                        ? same(t.sizes(), rule.state_sizes(list, param.sizes()))
                        : same(t.sizes(), param.sizes());
  WISP_CHECK(fits, rule.name, ": a parameter of shape ", param.sizes(), " has a ",
             list == grads ? "gradient" : "state", " of shape ", t.sizes());
  WISP_CHECK(t.dtype() == param.dtype() || list != grads, rule.name, ": a parameter of dtype ",
             name(param.dtype()), " has a gradient of dtype ", name(t.dtype()));
}

void infer_update(Infer& infer) {
  const RuleInfo& rule = rule_of(infer);
  const auto& all = infer.tensors(params);
  const size_t given = update_settings(infer).size();
  WISP_CHECK(given == rule.settings, "_fused_update(): ", rule.name, " has ", rule.settings,
             " settings, got ", given);
  for (int list = params; list < lists; ++list) {
    const auto& tensors = infer.tensors(list);
    const bool needed = list <= grads || (list == steps && rule.counts) ||
                        (list >= first && list < first + rule.states);
    WISP_CHECK(tensors.size() == all.size() || (tensors.empty() && !needed),
               "_fused_update(): ", rule.name, " expects ", all.size(), " tensors in list ", list,
               ", got ", tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) check_tensor(rule, list, all[i], tensors[i]);
  }
}

// What the formula needs for one parameter after the other. Most have made equally many steps.
class StepNumbers {
 public:
  StepNumbers(const Call& call, const RuleInfo& rule) : call_(call), rule_(rule) {}
  const UpdateNumbers& of(size_t i) {
    const double t = call_.tensors(steps).empty() ? 0 : next_step(call_.tensors(steps)[i]);
    const int begin = first + rule_.tensors, end = first + rule_.states;
    if (t == t_ && begin >= end) return found_;
    double kept[3];
    for (int list = begin; list < end; ++list)
      kept[list - begin] = read_number(call_.tensors(list)[i]);
    t_ = t;
    found_ = rule_.numbers(update_settings(call_), t, {kept, 3});
    for (int list = begin; list < end; ++list)
      write_number(call_.tensors(list)[i], kept[list - begin]);
    return found_;
  }

 private:
  const Call& call_;
  const RuleInfo& rule_;
  double t_ = std::nan("");  // of none so far
  UpdateNumbers found_;
};

// Those of one dtype.
void update_some(const Call& call, const RuleInfo& rule, DType dtype) {
  if (rule.whole) return rule.whole(call, dtype);
  UpdateMemory memory(dtype);
  StepNumbers numbers(call, rule);
  const auto& all = call.tensors(params);
  std::vector<cpu::Update> jobs;
  jobs.reserve(all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    if (math_dtype(all[i].dtype()) != dtype) continue;
    cpu::Update job{.param = memory.written(all[i]),
                    .grad = memory.read(call.tensors(grads)[i]),
                    .state = {},
                    .count = all[i].numel(),
                    .numbers = numbers.of(i)};
    for (int k = 0; k < 3; ++k) {
      const auto& states = call.tensors(first + k);
      if (states.empty() || is_number_list(rule, first + k)) continue;
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
  for (int list : {params, steps, first, second, third}) {
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
