#include "runtime/optim/optimizer.h"

#include <unordered_set>

#include "runtime/bridge.h"
#include "runtime/modes.h"

namespace wisp::api::optim {

// --- settings

void OptimizerOptions::set(const std::string& name, Value value) {
  if (Value* found = settings_.find(name)) {
    *found = std::move(value);
  } else {
    settings_.insert(name, std::move(value));
  }
}

void OptimizerOptions::check(const std::string& name, const std::string& shown,
                             std::optional<double> below) const {
  const double value = number(name);
  WISP_CHECK_VALUE(value >= 0 && (!below || value < *below), "Invalid ", shown, ": ", value);
}

void OptimizerOptions::load(const Value& saved) {
  for (auto& item : settings_) {
    const Value* given = saved.find(item.key());
    if (!given) continue;  // a setting that is newer than the file
    switch (item.value().kind()) {
      case Value::Kind::real:
        item.value() = given->to_double();
        break;
      case Value::Kind::boolean:
        item.value() = given->to_double() != 0;
        break;
      default:
        item.value() = *given;
    }
  }
}

// --- groups

Optimizer::Optimizer(std::vector<OptimizerParamGroup> groups, OptimizerOptions defaults)
    : defaults_(std::move(defaults)) {
  bool empty = true;
  for (const OptimizerParamGroup& group : groups) empty &= group.params().empty();
  WISP_CHECK_VALUE(!empty, "optimizer got an empty parameter list");
  for (OptimizerParamGroup& group : groups) add_param_group(std::move(group));
}
Optimizer::~Optimizer() = default;

void Optimizer::add_param_group(OptimizerParamGroup group) {
  std::unordered_set<TensorImpl*> known;
  for (const Tensor& param : parameters()) known.insert(param.impl());
  for (const Tensor& param : group.params()) {
    WISP_CHECK_TYPE(param.defined(),
                    "optimizer can only optimize Tensors, but one of the params is None");
    WISP_CHECK_VALUE(param.is_leaf(), "can't optimize a non-leaf Tensor");
    WISP_CHECK_VALUE(known.insert(param.impl()).second,
                     "some parameters appear in more than one parameter group");
  }
  if (!group.has_options()) group.set_options(defaults_);
  groups_.push_back(std::move(group));
}

Tensors Optimizer::parameters() const {
  Tensors all;
  for (const OptimizerParamGroup& group : groups_) {
    all.insert(all.end(), group.params().begin(), group.params().end());
  }
  return all;
}

// --- training

Tensor Optimizer::step(const LossClosure& closure) {
  Tensor loss;
  if (closure) {
    const AutoGradMode recorded(true);
    loss = closure();
  }
  const NoGradGuard unrecorded;
  for (OptimizerParamGroup& group : groups_) {
    Tensors params;
    for (const Tensor& param : group.params()) {
      if (param.grad().defined()) params.push_back(param);
    }
    if (!params.empty()) update(group, params);
  }
  return loss;
}

void Optimizer::update(OptimizerParamGroup&, const Tensors&) {
  fail(ErrorKind::not_implemented, "this optimizer defines neither step() nor update()");
}

void Optimizer::zero_grad(bool set_to_none) {
  for (const Tensor& param : parameters()) {
    const Tensor grad = param.grad();
    if (!grad.defined()) continue;
    if (set_to_none) {
      param.set_grad({});
    } else {
      const Tensor kept = grad.detach();
      kept.zero_();
      param.set_grad(kept);
    }
  }
}

void Optimizer::fused_update(std::string_view rule, const std::vector<Row>& rows,
                             const std::vector<double>& numbers) {
  Tensors columns[6];
  for (const Row& row : rows) {
    // Complex tensors as views of their real and imaginary parts; counts of steps are plain.
    auto real = [&](const Tensor& t) {
      return t.defined() && t.is_complex() ? view_as_real(t) : t;
    };
    const Tensor cells[] = {real(row.param), real(row.param.grad()), row.step,
                            real(row.first), real(row.second),       real(row.third)};
    for (int i = 0; i < 6; ++i) {
      if (cells[i].defined()) columns[i].push_back(cells[i]);
    }
  }
  static const OpDef& op = entry("_fused_update");
  run<void>(
      op, {columns[0], columns[1], columns[2], columns[3], columns[4], columns[5], rule, numbers});
}

Tensor Optimizer::state_tensor(State& state, const std::string& name, const Tensor& param) {
  if (!state.contains(name)) state.insert(name, zeros_like(param.detach()));
  return state[name].to_tensor();
}
Tensor Optimizer::step_count(State& state) {
  if (!state.contains("step")) state.insert("step", zeros({}, kFloat32));
  Value& step = *state.find("step");
  if (!step.is_tensor()) step = full({}, step.to_double(), kFloat32);  // of an old file
  return step.to_tensor();
}

// --- saving and loading

Value Optimizer::state_dict() const {
  Value::List groups;
  Value::Dict state;
  int64_t number = 0;
  for (const OptimizerParamGroup& group : groups_) {
    Value::Dict packed;
    for (const auto& item : group.options().settings())
      packed.emplace_back(item.key(), item.value());
    Value::List numbers;
    for (const Tensor& param : group.params()) {
      const auto found = state_.find(param.impl());
      if (found != state_.end() && found->second.size()) {
        Value::Dict own;
        for (const auto& item : found->second) own.emplace_back(item.key(), item.value());
        state.emplace_back(number, std::move(own));
      }
      numbers.emplace_back(number++);
    }
    packed.emplace_back("params", std::move(numbers));
    groups.emplace_back(std::move(packed));
  }
  return Value::Dict{{"state", std::move(state)}, {"param_groups", std::move(groups)}};
}

namespace {

// Loaded state of a parameter: copied, floats in its dtype. "step" counts, and keeps its own.
Value converted(const Tensor& param, const Value& value, const std::string& name) {
  if (value.is_tensor()) {
    const Tensor plain = value.to_tensor().detach();
    const bool is_count = name == "step" || !param.is_floating_point();
    return is_count ? plain.clone()
                    : plain.to(param.dtype(), /*non_blocking=*/false, /*copy=*/true);
  }
  if (!value.is_list()) return value;
  Value::List items;
  for (const Value& item : value.to_list()) items.push_back(converted(param, item, ""));
  return items;
}

}  // namespace

void Optimizer::load_state_dict(const Value& saved) {
  const Value::List& given = saved["param_groups"].to_list();
  WISP_CHECK_VALUE(given.size() == groups_.size(),
                   "loaded state dict has a different number of parameter groups");
  std::unordered_map<int64_t, Tensor> params;
  for (size_t i = 0; i < given.size(); ++i) {
    const Value::List& numbers = given[i]["params"].to_list();
    WISP_CHECK_VALUE(numbers.size() == groups_[i].params().size(),
                     "loaded state dict contains a parameter group that doesn't match the size of "
                     "optimizer's group");
    for (size_t j = 0; j < numbers.size(); ++j) {
      params[numbers[j].to_int()] = groups_[i].params()[j];
    }
  }
  std::unordered_map<TensorImpl*, State> state;
  for (const auto& [number, own] : saved["state"].to_dict()) {
    const auto found = params.find(number.to_int());
    WISP_CHECK_VALUE(found != params.end(), "loaded state dict has state of parameter ",
                     number.to_int(), ", which is in none of its groups");
    State& loaded = state[found->second.impl()];
    for (const auto& [name, value] : own.to_dict()) {
      loaded.insert(name.to_text(), converted(found->second, value, name.to_text()));
    }
  }
  for (size_t i = 0; i < given.size(); ++i) groups_[i].options().load(given[i]);
  state_ = std::move(state);
}

}  // namespace wisp::api::optim
