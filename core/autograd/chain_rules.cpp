#include "autograd/chain_rules.h"

#include <algorithm>
#include <unordered_map>

#include "autograd/engine.h"
#include "ops/ops.h"

namespace wisp::autograd {

namespace {

using ops::Chain;
using ops::ChainCall;
using ops::ChainOperand;
using Source = ChainGradient::Source;

// Writes down what rules call while it runs, as the calls of a chain.
class RuleRecorder final : public Interceptor {
 public:
  // Gradients and kept values, before the rules see them.
  void add_source(const Tensor& tensor, Source source) {
    if (tensor.defined()) sources_.emplace(tensor.impl(), source);
  }

  bool intercept(const OpDef& op, const Arg* args, Form form, TensorList& outs) override {
    if (op.body) return false;  // its parts will come
    ChainCall call{.op = &op};
    possible_ &= form == Form::functional && set_operands(call, args);
    if (!possible_) return false;
    wisp::call(op, args, outs);
    add_result(std::move(call), outs[0]);
    return true;
  }

  Tensor join(const std::vector<Tensor>& pieces, int64_t dim) {
    Interceptor* const self = std::exchange(mode.interceptor, nullptr);
    Tensor joined = ops::cat(pieces, dim);
    mode.interceptor = self;
    ChainCall call{.op = &op_def<"cat">(), .dim = dim};
    for (const Tensor& piece : pieces) call.pieces.push_back(value_of(piece));
    if (possible_) add_result(std::move(call), joined);
    return joined;
  }

  void give_up() { possible_ = false; }

  ChainGradient finish(const std::vector<Tensor>& along_edges);

 private:
  bool set_operands(ChainCall& call, const Arg* args) {
    const OpDef& op = *call.op;
    if (!Chain::computes(op) || !ops::has_plain_args(op, args)) return false;
    call.args.assign(args, args + op.sig.params.size());
    for (int i = 0; i < op.operand_count; ++i) {
      const Arg& arg = args[op.operands[i]];
      if (!arg.is_tensor()) {
        if (!ops::add_number(call, arg)) return false;
        continue;
      }
      call.operands[call.operand_count++].value = value_of(arg.tensor());
      if (!possible_) return false;
    }
    return true;
  }

  // Results are marked by numbers below -1 until all inputs are known.
  int value_of(const Tensor& tensor) {
    if (const auto made = results_.find(tensor.impl()); made != results_.end())
      return -2 - made->second;
    const auto source = sources_.find(tensor.impl());
    if (source == sources_.end()) {
      possible_ = false;
      return -1;
    }
    const auto [input, is_new] =
        inputs_.emplace(tensor.impl(), static_cast<int>(gradient_.inputs.size()));
    if (is_new) gradient_.inputs.push_back(source->second);
    return input->second;
  }

  void add_result(ChainCall call, const Tensor& made) {
    results_.emplace(made.impl(), static_cast<int>(calls_.size()));
    alive_.push_back(made);
    calls_.push_back(std::move(call));
  }

  int numbered(int value) const {
    return value < -1 ? static_cast<int>(gradient_.inputs.size()) - 2 - value : value;
  }

  bool possible_ = true;
  ChainGradient gradient_;
  std::vector<ChainCall> calls_;
  std::vector<Tensor> alive_;  // lest others get their addresses
  std::unordered_map<const TensorImpl*, Source> sources_;
  std::unordered_map<const TensorImpl*, int> inputs_, results_;
};

ChainGradient RuleRecorder::finish(const std::vector<Tensor>& along_edges) {
  std::vector<int> outputs;
  for (const Tensor& grad : along_edges) {
    Source& edge = gradient_.edges.emplace_back();
    if (!grad.defined()) continue;
    if (const auto made = results_.find(grad.impl()); made != results_.end()) {
      const auto at = std::find(outputs.begin(), outputs.end(), made->second);
      edge = {Source::made, static_cast<int>(at - outputs.begin())};
      if (at == outputs.end()) outputs.push_back(made->second);
    } else if (const auto source = sources_.find(grad.impl()); source != sources_.end()) {
      edge = source->second;
    } else {
      possible_ = false;
    }
  }
  const size_t inputs = gradient_.inputs.size();
  possible_ &= inputs <= Chain::max_inputs && outputs.size() <= Chain::max_outputs &&
               calls_.size() <= Chain::max_calls;
  gradient_.possible = possible_;
  if (!possible_ || outputs.empty()) return std::move(gradient_);
  for (ChainCall& call : calls_) {
    for (ChainOperand& operand : call.operands) operand.value = numbered(operand.value);
    for (int& piece : call.pieces) piece = numbered(piece);
  }
  for (int& output : outputs) output += static_cast<int>(inputs);
  gradient_.chain =
      std::make_unique<Chain>(static_cast<int>(inputs), std::move(calls_), std::move(outputs));
  return std::move(gradient_);
}

// One backward.
class Rules {
 public:
  Rules(ChainNode& node, TensorList& grads, RuleRecorder* recorder)
      : node_(node),
        recording_(node.recording()),
        values_(node.plan().values),
        recorder_(recorder),
        part_(node.part()),
        grads_(recording_.values.size()),
        along_edges_(part_.uses.size()) {
    const int part = static_cast<int>(&part_ - recording_.parts.data());
    for (size_t value = 0; value < grads_.size(); ++value) {
      const ChainRecording::Value& known = recording_.values[value];
      if (known.part == part && known.slot >= 0) grads_[value] = grads[known.slot];
    }
    for (size_t k = 0; k < part_.kept.size(); ++k) {
      kept_.push_back(node.kept(static_cast<int>(k)));
    }
    if (!recorder) return;
    for (size_t i = 0; i < grads.size(); ++i)
      recorder->add_source(grads[i], {Source::grad, static_cast<int>(i)});
    for (size_t k = 0; k < kept_.size(); ++k)
      recorder->add_source(kept_[k], {Source::kept, static_cast<int>(k)});
  }

  void run() {
    for (size_t i = part_.calls.size(); i-- > 0;) {
      const int c = part_.calls[i];
      if (Chain::cuts(*recording_.calls[c].op)) {
        join(c);
      } else {
        differentiate(c);
      }
    }
  }
  std::vector<Tensor>& along_edges() { return along_edges_; }

 private:
  // Zeros stand for pieces that have no gradient.
  void join(int c) {
    const ChainCall& call = recording_.calls[c];
    const int whole = call.operands[0].value, first = recording_.first_results[c];
    std::vector<Tensor> pieces;
    bool any = false, all = true;
    for (int k = 0; k < call.results; ++k) {
      pieces.push_back(std::move(grads_[first + k]));
      any |= pieces.back().defined();
      all &= pieces.back().defined();
    }
    if (!any) return;
    if (!all && recorder_) recorder_->give_up();
    for (int k = 0; k < call.results; ++k) {
      if (!pieces[k].defined())
        pieces[k] = ops::zeros(values_[first + k].sizes, values_[first + k].dtype);
    }
    const auto ndim = static_cast<int64_t>(values_[whole].sizes.size());
    const int64_t dim = call.dim < 0 ? call.dim + ndim : call.dim;
    deliver(c, 0, whole, recorder_ ? recorder_->join(pieces, dim) : ops::cat(pieces, dim));
  }

  void differentiate(int c) {
    const ChainCall& call = recording_.calls[c];
    const OpDef& op = *call.op;
    const int result = recording_.first_results[c];
    if (!grads_[result].defined()) return;
    const Tensor grad = std::move(grads_[result]);
    const int at = part_.kept_at[result];
    const Tensor out = at >= 0 ? kept_[at] : Tensor();
    Arg args[detail::max_params];
    set_args(call, args);
    const Backward context(op, args, &out, &grad, 1);
    for (size_t r = 0; r < op.vjp.size(); ++r) {
      const int value = recording_.operand_of(call, op.vjp[r]);
      if (value < 0 || !recording_.values[value].active || !is_needed(c, r, value)) continue;
      deliver(c, r, value, op.vjp[r].rule(context));
    }
  }

  // As a node saves them: whole where they were kept, else by their shapes.
  void set_args(const ChainCall& call, Arg* args) const {
    ops::set_chain_args(call, args, [&](int value) {
      if (const int at = part_.kept_at[value]; at >= 0) return Arg(kept_[at]);
      Arg arg{IntSpan(values_[value].sizes)};
      arg.kind = ArgKind::shape;
      arg.dtype = values_[value].dtype;
      return arg;
    });
  }

  // Where the gradient leaves the node; -1 if it stays inside.
  int edge_of(int c, size_t rule, int value) const {
    for (size_t e = 0; e < part_.uses.size(); ++e) {
      const ChainPart::Use& use = part_.uses[e];
      if (use.call == c && use.rule == static_cast<int>(rule) && use.value == value)
        return static_cast<int>(e);
    }
    return -1;
  }

  bool is_needed(int c, size_t rule, int value) const {
    const int edge = backward_is_partial ? edge_of(c, rule, value) : -1;
    return edge < 0 || edge_is_needed(node_.edge(static_cast<size_t>(edge)));
  }

  // To an edge, or to the call that made the value.
  void deliver(int c, size_t rule, int value, Tensor grad) {
    if (const int edge = edge_of(c, rule, value); edge >= 0) {
      along_edges_[static_cast<size_t>(edge)] = std::move(grad);
      return;
    }
    if (grad.defined() && !same(grad.sizes(), values_[value].sizes)) {
      if (recorder_) recorder_->give_up();
      grad = ops::sum_to_size(grad, values_[value].sizes);
    }
    Tensor& sum = grads_[value];
    if (!recorder_ || !sum.defined() || !grad.defined()) {
      if (grad.defined()) add_gradient(sum, std::move(grad));
    } else {
      sum = ops::add(sum, grad);  // not in place, so that it can be written down
    }
  }

  ChainNode& node_;
  const ChainRecording& recording_;
  const std::vector<Chain::Plan::Value>& values_;
  RuleRecorder* const recorder_;
  const ChainPart& part_;
  std::vector<Tensor> grads_;  // of all values
  std::vector<Tensor> along_edges_, kept_;
};

void give(ChainNode& node, std::vector<Tensor>& along_edges, TensorList& results) {
  for (size_t e = 0; e < along_edges.size(); ++e) {
    results[e] = node.fit(std::move(along_edges[e]), node.part().uses[e]);
  }
}

}  // namespace

void run_chain_rules(ChainNode& node, TensorList& grads, TensorList& results) {
  Rules rules(node, grads, nullptr);
  rules.run();
  give(node, rules.along_edges(), results);
}

ChainGradient learn_chain_rules(ChainNode& node, TensorList& grads, TensorList& results) {
  RuleRecorder recorder;
  Rules rules(node, grads, &recorder);
  {
    struct Recording {
      explicit Recording(Interceptor* recorder) { mode.interceptor = recorder; }
      ~Recording() { mode.interceptor = nullptr; }
    } recording(&recorder);
    rules.run();
  }
  ChainGradient made = recorder.finish(rules.along_edges());
  for (const Source& source : made.inputs) {
    ops::ChainShape& shape = made.shapes.emplace_back();
    if (source.kind != Source::kept) continue;
    const Chain::Plan::Value& value = node.plan().values[node.part().kept[source.index]];
    shape = {value.dtype, value.sizes, value.strides};
  }
  give(node, rules.along_edges(), results);
  return made;
}

}  // namespace wisp::autograd
