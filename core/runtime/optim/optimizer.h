// What all optimizers have in common: groups of parameters with settings, and state.
#pragma once

#include <functional>
#include <unordered_map>

#include "runtime/nn/module.h"
#include "runtime/serialization/value.h"

#pragma GCC visibility push(default)
namespace wisp::api::optim {

// Settings by the names that Python gives them, in a fixed order.
class OptimizerOptions {
 public:
  OptimizerOptions() = default;
  double get_lr() const { return number("lr"); }
  void set_lr(double value) { set("lr", value); }

  const OrderedDict<Value>& settings() const { return settings_; }
  const Value& get(const std::string& name) const { return settings_[name]; }
  double number(const std::string& name) const { return get(name).to_double(); }
  bool flag(const std::string& name) const { return number(name) != 0; }
  // Takes over what is known here, as what it is here.
  void load(const Value& saved);

 protected:
  void set(const std::string& name, Value value);
  // Fails if a setting is negative, or not below a limit; messages call it `shown`.
  void check(const std::string& name, const std::string& shown,
             std::optional<double> below = {}) const;

 private:
  OrderedDict<Value> settings_;
};

// A setting of the class Self: options.name(value) sets it, options.name() asks for it.
#define WISP_SETTING(Self, type, name, read) \
  Self& name(type value) {                   \
    set(#name, Value(value));                \
    return *this;                            \
  }                                          \
  type name() const { return read(#name); }

// Parameters that share settings; without any, those of the optimizer are used.
class OptimizerParamGroup {
 public:
  OptimizerParamGroup(Tensors params) : params_(std::move(params)) {}
  OptimizerParamGroup(Tensors params, OptimizerOptions options)
      : params_(std::move(params)), options_(std::move(options)), has_options_(true) {}
  Tensors& params() { return params_; }
  const Tensors& params() const { return params_; }
  OptimizerOptions& options() { return options_; }
  const OptimizerOptions& options() const { return options_; }
  bool has_options() const { return has_options_; }
  void set_options(OptimizerOptions options) {
    options_ = std::move(options);
    has_options_ = true;
  }

 private:
  Tensors params_;
  OptimizerOptions options_;
  bool has_options_ = false;
};

class Optimizer {
 public:
  using LossClosure = std::function<Tensor()>;
  virtual ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // Updates all parameters that have gradients. A closure is called first, to compute the loss
  // anew.
  virtual Tensor step(const LossClosure& closure = nullptr);
  void zero_grad(bool set_to_none = true);
  void add_param_group(OptimizerParamGroup group);
  std::vector<OptimizerParamGroup>& param_groups() { return groups_; }
  const std::vector<OptimizerParamGroup>& param_groups() const { return groups_; }
  // All parameters, in the order of the groups.
  Tensors parameters() const;

  // State and settings as data, in the form that Python's state_dict() has.
  Value state_dict() const;
  void load_state_dict(const Value& saved);

 protected:
  using State = OrderedDict<Value>;
  Optimizer(std::vector<OptimizerParamGroup> groups, OptimizerOptions defaults);
  // Changes the parameters, which have gradients.
  virtual void update(OptimizerParamGroup& group, const Tensors& params);
  State& state_of(const Tensor& param) { return state_[param.impl()]; }

  // One step of a rule of the operator _fused_update, for parameters with up to three states each;
  // undefined tensors stand for states that a parameter does not have.
  struct Row {
    Tensor param, step, first, second, third;
  };
  static void fused_update(std::string_view rule, const std::vector<Row>& rows,
                           const std::vector<double>& numbers);
  // The tensor of that name in the state; it starts as zeros like the parameter.
  static Tensor state_tensor(State& state, const std::string& name, const Tensor& param);
  static Tensor step_count(State& state);
  // The step of Adam and AdamW.
  void adam_update(OptimizerParamGroup& group, const Tensors& params);

 private:
  std::vector<OptimizerParamGroup> groups_;
  OptimizerOptions defaults_;
  std::unordered_map<TensorImpl*, State> state_;
};

}  // namespace wisp::api::optim
#pragma GCC visibility pop
