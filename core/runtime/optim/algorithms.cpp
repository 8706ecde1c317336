#include "runtime/optim/algorithms.h"

namespace wisp::api::optim {

namespace {

// Settings of a group as numbers, in the order that a rule wants.
std::vector<double> numbers_of(const OptimizerOptions& options,
                               std::initializer_list<const char*> names) {
  std::vector<double> numbers;
  for (const char* name : names) numbers.push_back(options.number(name));
  return numbers;
}

// Settings that were checked.
template <class Options>
Options valid(Options options) {
  options.check();
  return options;
}

}  // namespace

// --- SGD

SGDOptions::SGDOptions(double lr) {
  for (const auto& [name, value] :
       std::initializer_list<std::pair<const char*, Value>>{{"lr", lr},
                                                            {"momentum", 0.0},
                                                            {"dampening", 0.0},
                                                            {"weight_decay", 0.0},
                                                            {"nesterov", false},
                                                            {"maximize", false}}) {
    set(name, value);
  }
}
void SGDOptions::check() const {
  OptimizerOptions::check("lr", "learning rate");
  OptimizerOptions::check("momentum", "momentum value");
  OptimizerOptions::check("weight_decay", "weight_decay value");
  WISP_CHECK_VALUE(!nesterov() || (momentum() > 0 && dampening() == 0),
                   "Nesterov momentum requires a momentum and zero dampening");
}

SGD::SGD(std::vector<OptimizerParamGroup> groups, SGDOptions options)
    : Optimizer(std::move(groups), valid(std::move(options))) {}

void SGD::update(OptimizerParamGroup& group, const Tensors& params) {
  const OptimizerOptions& options = group.options();
  std::vector<Row> started, starting;
  for (const Tensor& param : params) {
    Row row{param, {}, {}, {}, {}};
    bool has_started = true;
    if (options.number("momentum") != 0) {
      State& state = state_of(param);
      has_started = state.contains("momentum_buffer") && state["momentum_buffer"].is_tensor();
      row.first = state_tensor(state, "momentum_buffer", param);
    }
    (has_started ? started : starting).push_back(row);
  }
  auto settings = numbers_of(options, {"lr", "momentum", "dampening", "weight_decay", "nesterov"});
  settings.resize(7);
  settings[6] = options.number("maximize");
  for (const bool first : {false, true}) {
    settings[5] = first;
    const std::vector<Row>& rows = first ? starting : started;
    if (!rows.empty()) fused_update("sgd", rows, settings);
  }
}

// --- Adam

AdamOptions::AdamOptions(double lr) {
  set("lr", lr);
  betas({0.9, 0.999});
  set("eps", 1e-8);
  set("weight_decay", 0.0);
  set("amsgrad", false);
  set("maximize", false);
  set("decoupled_weight_decay", false);
}
AdamOptions& AdamOptions::betas(std::tuple<double, double> betas) {
  set("betas", Value::tuple({std::get<0>(betas), std::get<1>(betas)}));
  return *this;
}
std::tuple<double, double> AdamOptions::betas() const {
  const Value::List& pair = get("betas").to_list();
  WISP_CHECK_VALUE(pair.size() == 2, "Adam has two betas, got ", pair.size());
  return {pair[0].to_double(), pair[1].to_double()};
}
void AdamOptions::check() const {
  OptimizerOptions::check("lr", "learning rate");
  OptimizerOptions::check("eps", "epsilon value");
  const auto [first, second] = betas();
  WISP_CHECK_VALUE(first >= 0 && first < 1, "Invalid beta parameter at index 0: ", first);
  WISP_CHECK_VALUE(second >= 0 && second < 1, "Invalid beta parameter at index 1: ", second);
  OptimizerOptions::check("weight_decay", "weight_decay value");
}

Adam::Adam(std::vector<OptimizerParamGroup> groups, AdamOptions options)
    : Optimizer(std::move(groups), valid(std::move(options))) {}

void Optimizer::adam_update(OptimizerParamGroup& group, const Tensors& params) {
  const OptimizerOptions& options = group.options();
  const bool amsgrad = options.flag("amsgrad");
  std::vector<Row> rows;
  for (const Tensor& param : params) {
    State& state = state_of(param);
    rows.push_back({param, step_count(state), state_tensor(state, "exp_avg", param),
                    state_tensor(state, "exp_avg_sq", param),
                    amsgrad ? state_tensor(state, "max_exp_avg_sq", param) : Tensor()});
  }
  const Value::List& betas = options.get("betas").to_list();
  WISP_CHECK_VALUE(betas.size() == 2, "Adam has two betas, got ", betas.size());
  fused_update("adam", rows,
               {options.number("lr"), betas[0].to_double(), betas[1].to_double(),
                options.number("weight_decay"), options.number("eps"),
                options.number("decoupled_weight_decay"), options.number("maximize")});
}
void Adam::update(OptimizerParamGroup& group, const Tensors& params) { adam_update(group, params); }

AdamWOptions::AdamWOptions(double lr) : AdamOptions(lr) {
  set("weight_decay", 1e-2);
  set("decoupled_weight_decay", true);
}
AdamWOptions::AdamWOptions(AdamOptions options) : AdamOptions(std::move(options)) {
  set("decoupled_weight_decay", true);
}
AdamW::AdamW(std::vector<OptimizerParamGroup> groups, AdamWOptions options)
    : Optimizer(std::move(groups), valid(std::move(options))) {}
void AdamW::update(OptimizerParamGroup& group, const Tensors& params) {
  adam_update(group, params);
}

// --- RMSprop

RMSpropOptions::RMSpropOptions(double lr) {
  for (const auto& [name, value] :
       std::initializer_list<std::pair<const char*, Value>>{{"lr", lr},
                                                            {"momentum", 0.0},
                                                            {"alpha", 0.99},
                                                            {"eps", 1e-8},
                                                            {"centered", false},
                                                            {"weight_decay", 0.0},
                                                            {"maximize", false}}) {
    set(name, value);
  }
}
void RMSpropOptions::check() const {
  OptimizerOptions::check("lr", "learning rate");
  OptimizerOptions::check("eps", "epsilon value");
  OptimizerOptions::check("momentum", "momentum value");
  OptimizerOptions::check("weight_decay", "weight_decay value");
  OptimizerOptions::check("alpha", "alpha value");
}

RMSprop::RMSprop(std::vector<OptimizerParamGroup> groups, RMSpropOptions options)
    : Optimizer(std::move(groups), valid(std::move(options))) {}

void RMSprop::update(OptimizerParamGroup& group, const Tensors& params) {
  const OptimizerOptions& options = group.options();
  const bool centered = options.flag("centered"), moves = options.number("momentum") != 0;
  std::vector<Row> rows;
  for (const Tensor& param : params) {
    State& state = state_of(param);
    rows.push_back({param, step_count(state), state_tensor(state, "square_avg", param),
                    centered ? state_tensor(state, "grad_avg", param) : Tensor(),
                    moves ? state_tensor(state, "momentum_buffer", param) : Tensor()});
  }
  fused_update("rmsprop", rows,
               numbers_of(options, {"lr", "alpha", "eps", "weight_decay", "momentum", "maximize"}));
}

// --- Adagrad

AdagradOptions::AdagradOptions(double lr) {
  for (const auto& [name, value] :
       std::initializer_list<std::pair<const char*, Value>>{{"lr", lr},
                                                            {"lr_decay", 0.0},
                                                            {"eps", 1e-10},
                                                            {"weight_decay", 0.0},
                                                            {"initial_accumulator_value", 0.0},
                                                            {"maximize", false}}) {
    set(name, value);
  }
}
void AdagradOptions::check() const {
  OptimizerOptions::check("lr", "learning rate");
  OptimizerOptions::check("lr_decay", "lr_decay value");
  OptimizerOptions::check("weight_decay", "weight_decay value");
  OptimizerOptions::check("initial_accumulator_value", "initial_accumulator_value value");
  OptimizerOptions::check("eps", "epsilon value");
}

Adagrad::Adagrad(std::vector<OptimizerParamGroup> groups, AdagradOptions options)
    : Optimizer(std::move(groups), valid(options)) {
  for (const Tensor& param : parameters()) {
    const double start = options.initial_accumulator_value();
    const Scalar value =
        param.is_complex() ? Scalar(std::complex<double>(start, start)) : Scalar(start);
    State& state = state_of(param);
    step_count(state);
    state.insert("sum", full_like(param.detach(), value));
  }
}

void Adagrad::update(OptimizerParamGroup& group, const Tensors& params) {
  std::vector<Row> rows;
  for (const Tensor& param : params) {
    State& state = state_of(param);
    rows.push_back({param, step_count(state), state_tensor(state, "sum", param), {}, {}});
  }
  fused_update("adagrad", rows,
               numbers_of(group.options(), {"lr", "lr_decay", "weight_decay", "eps", "maximize"}));
}

}  // namespace wisp::api::optim
