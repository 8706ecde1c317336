#include "autograd/engine.h"

#include <algorithm>
#include <unordered_map>

#include "dispatch/derivatives.h"
#include "ops/ops.h"

namespace wisp::autograd {

constinit WISP_THREAD_LOCAL bool backward_is_partial = false;

namespace {

// Which gradient to hand out instead of (or besides) accumulating it.
struct Capture {
  uint32_t output;
  size_t slot;
};

// Nodes whose gradients are complete, highest priority first.
class ReadyQueue {
 public:
  bool empty() const { return heap_.empty(); }
  void push(uint64_t priority, Node* node) {
    heap_.push({priority, node});
    std::push_heap(heap_.begin(), heap_.end());
  }
  Node* pop() {
    std::pop_heap(heap_.begin(), heap_.end());
    return heap_.pop().node;
  }

 private:
  struct Ready {
    uint64_t priority;
    Node* node;
    bool operator<(const Ready& other) const { return priority < other.priority; }
  };
  InlineList<Ready, 8> heap_;
};

// Newest first; leaves at once, so that their hooks can work while the rest goes on.
uint64_t priority_of(const Node& node) { return node.leaf() ? UINT64_MAX : node.sequence(); }

constexpr int interrupt_interval = 256;  // nodes between two looks for Ctrl-C

thread_local Task* running_task = nullptr;
thread_local Node* running_node = nullptr;

}  // namespace

// One backward. Its state lies in the nodes; a node that another running backward uses (a reentrant
// call, or another thread sharing leaves) gets its state here instead.
class Task {
 public:
  Task(BackwardOptions options, bool accumulate)
      : options_(options), accumulate_(accumulate), outer_(running_task) {}
  ~Task() {
    for (Node* node : claimed_) {
      node->exec.reset();
      node->owner.store(nullptr, std::memory_order_release);
    }
  }

  void add_root(Edge edge, Tensor grad) {
    seeds_.push(std::move(grad));
    roots_.push(std::move(edge));
  }
  void capture(const Edge& edge, size_t slot) {
    inputs_.push_back(edge.node);
    captures_[edge.node.get()].push_back({edge.output, slot});
  }

  void run(std::vector<Tensor>& captured);
  bool needs(const Edge& edge) {
    Node* node = edge.node.get();
    return node && (state(*node).needed || captures_.count(node));
  }
  Task& outermost() { return outer_ ? outer_->outermost() : *this; }
  std::vector<std::function<void()>> at_end;

 private:
  Exec& state(Node& node) {
    if (WISP_LIKELY(node.owner.load(std::memory_order_relaxed) == this)) return node.exec;
    return claim(node);
  }
  Exec& claim(Node& node) {
    Task* free = nullptr;
    if (node.owner.compare_exchange_strong(free, this)) {
      claimed_.push(&node);
      return node.exec;
    }
    return shared_[&node];
  }

  void discover();
  void mark_needed();
  void process(Node& node, std::vector<Tensor>& captured);
  void run_tensor_hooks(Node& node, TensorList& grads);
  void run_node(Node& node, TensorList& grads);
  void deliver(Node& node, TensorList& results);
  void put(Exec& exec, uint32_t output, Tensor grad);
  void take(Exec& exec, Node& node, TensorList& grads);

  BackwardOptions options_;
  bool accumulate_;
  Task* outer_;
  InlineList<Edge, 1> roots_;
  InlineList<Tensor, 1> seeds_;  // one per root
  std::vector<NodeRef> inputs_;
  std::unordered_map<Node*, std::vector<Capture>> captures_;
  std::unordered_map<Node*, Exec> shared_;
  InlineList<Node*, 16> claimed_;
  std::vector<Node*> order_;  // every node reached, only when inputs were given
  ReadyQueue ready_;
};

namespace {

struct RunningTask {  // makes a task the thread's current one for a scope
  RunningTask(Task* task, bool is_partial)
      : previous(running_task), node(running_node), partial(backward_is_partial) {
    running_task = task;
    backward_is_partial = is_partial;
  }
  ~RunningTask() {
    running_task = previous;
    running_node = node;
    backward_is_partial = partial;
  }
  Task* previous;
  Node* node;
  bool partial;
};

}  // namespace

// Counts, for every node reachable from the roots, how many edges lead to it.
void Task::discover() {
  InlineList<Node*, 16> stack;
  auto visit = [&](Node* node, uint32_t consumers) {
    Exec& exec = state(*node);
    exec.pending += consumers;
    if (exec.seen) return;
    exec.seen = true;
    stack.push(node);
  };
  for (const Edge& root : roots_) visit(root.node.get(), 0);
  const bool keep_order = !captures_.empty();
  while (!stack.empty()) {
    Node* node = stack.pop();
    if (WISP_UNLIKELY(keep_order)) order_.push_back(node);
    for (const Edge& edge : node->edges()) {
      if (Node* next = edge.node.get()) visit(next, 1);
    }
  }
}

// With inputs given, only nodes on a way to one of them run.
void Task::mark_needed() {
  std::sort(order_.begin(), order_.end(),
            [](const Node* a, const Node* b) { return a->sequence() < b->sequence(); });
  for (Node* node : order_) {
    bool needed = accumulate_ && node->leaf() && captures_.count(node);
    for (const Edge& edge : node->edges()) {
      Node* next = edge.node.get();
      needed |= next && (state(*next).needed || captures_.count(next));
    }
    state(*node).needed = needed;
  }
}

void Task::put(Exec& exec, uint32_t output, Tensor grad) {
  if (output == 0) {
    add_gradient(exec.first, std::move(grad));
    return;
  }
  if (!exec.others) exec.others = std::make_unique<std::vector<Tensor>>();
  if (exec.others->size() < output) exec.others->resize(output);
  add_gradient((*exec.others)[output - 1], std::move(grad));
}

void Task::take(Exec& exec, Node& node, TensorList& grads) {
  grads.resize(node.outputs());
  grads[0] = std::move(exec.first);
  if (!exec.others) return;
  for (size_t i = 0; i < exec.others->size(); ++i) grads[i + 1] = std::move((*exec.others)[i]);
  exec.others.reset();
}

void Task::run(std::vector<Tensor>& captured) {
  RunningTask running(this, !captures_.empty());
  GradMode grad_mode(options_.create_graph);
  discover();
  if (!captures_.empty()) mark_needed();
  for (size_t i = 0; i < roots_.size(); ++i) {
    put(state(*roots_[i].node.get()), roots_[i].output, std::move(seeds_[i]));
  }
  for (const Edge& root : roots_) {
    Exec& exec = state(*root.node.get());
    if (exec.pending == 0 && exec.seen) {
      exec.seen = false;  // the same node may be the root of several outputs
      ready_.push(priority_of(*root.node.get()), root.node.get());
    }
  }
  int until_check = interrupt_interval;
  while (!ready_.empty()) {
    process(*ready_.pop(), captured);
    if (--until_check == 0) {
      until_check = interrupt_interval;
      if (host.check_interrupt) host.check_interrupt();
    }
  }
  if (!outer_) {
    for (const auto& callback : at_end) callback();
  }
}

void Task::process(Node& node, std::vector<Tensor>& captured) {
  TensorList grads;
  Exec& exec = state(node);
  take(exec, node, grads);
  running_node = &node;
  if (WISP_UNLIKELY(node.extras_if_any() != nullptr)) run_tensor_hooks(node, grads);
  if (WISP_UNLIKELY(!captures_.empty())) {
    if (auto found = captures_.find(&node); found != captures_.end() && !accumulate_) {
      for (const Capture& capture : found->second) captured[capture.slot] = grads[capture.output];
    }
  }
  if (exec.needed) {
    run_node(node, grads);
  } else {
    TensorList nothing(node.edge_count());
    deliver(node, nothing);
  }
}

void Task::run_tensor_hooks(Node& node, TensorList& grads) {
  // Copied: a hook may remove itself.
  const auto hooks = node.extras_if_any()->tensor_hooks;
  for (const auto& entry : hooks) {
    if (!grads[entry.output].defined()) continue;
    Tensor replaced = entry.hook(grads[entry.output]);
    if (replaced.defined()) grads[entry.output] = std::move(replaced);
  }
  for (auto& [output, meta] : node.extras_if_any()->retained) {
    if (!grads[output].defined()) continue;
    // A copy of the handle would let a later in-place addition show through.
    meta->grad =
        meta->grad.defined() ? ops::add(meta->grad, grads[output]) : ops::clone(grads[output]);
  }
}

namespace {

void check_nan(Node& node, TensorList& results) {
  GradMode no_grad(false);
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].defined() || !is_differentiable(results[i].dtype())) continue;
    if (!ops::any(ops::isnan(results[i])).item().truth()) continue;
    std::string message =
        str("Function '", node.name(), "' returned nan values in its ", i, "th output.");
    if (node.place().code)
      message += " The forward call was at " + host.describe(node.place()) + ".";
    const NodeExtras* extras = node.extras_if_any();
    if (extras && !extras->trace.empty())
      message += "\nTraceback of the forward call:\n" + extras->trace;
    throw Error(ErrorKind::runtime, message);
  }
}

void run_pre_hooks(Node& node, TensorList& grads) {
  const auto hooks = node.extras_if_any()->pre_hooks;
  if (hooks.empty()) return;
  std::vector<Tensor> list(grads.begin(), grads.end());
  for (const auto& [id, hook] : hooks) hook(list);
  for (size_t i = 0; i < list.size(); ++i) grads[i] = list[i];
}

void run_post_hooks(Node& node, TensorList& results, const std::vector<Tensor>& outputs) {
  const auto hooks = node.extras_if_any()->post_hooks;
  if (hooks.empty()) return;
  std::vector<Tensor> list(results.begin(), results.end());
  for (const auto& [id, hook] : hooks) hook(list, outputs);
  for (size_t i = 0; i < list.size(); ++i) results[i] = list[i];
}

// In anomaly mode an error is preceded by a warning that shows the forward call.
void apply(Node& node, TensorList& grads, TensorList& results) {
  const NodeExtras* extras = node.extras_if_any();
  if (WISP_LIKELY(!anomaly.enabled) || !extras || extras->trace.empty())
    return node.apply(grads, results);
  try {
    node.apply(grads, results);
  } catch (...) {
    warn(str("Error detected in ", node.name(),
             ". Traceback of forward call that caused the error:\n", extras->trace));
    throw;
  }
}

bool any_defined(TensorList& grads) {
  return std::any_of(grads.begin(), grads.end(), [](const Tensor& t) { return t.defined(); });
}

}  // namespace

void Task::run_node(Node& node, TensorList& grads) {
  const bool has_extras = node.extras_if_any() != nullptr;
  std::vector<Tensor> outputs;
  if (WISP_UNLIKELY(has_extras)) {
    run_pre_hooks(node, grads);
    if (!node.extras_if_any()->post_hooks.empty()) outputs.assign(grads.begin(), grads.end());
  }
  TensorList results(node.edge_count());
  if (any_defined(grads)) apply(node, grads, results);
  if (WISP_UNLIKELY(has_extras)) run_post_hooks(node, results, outputs);
  if (WISP_UNLIKELY(anomaly.enabled) && anomaly.check_nan) check_nan(node, results);
  if (!options_.keep_graph) node.release_saved();
  deliver(node, results);
}

void Task::deliver(Node& node, TensorList& results) {
  for (size_t i = 0, n = node.edge_count(); i < n; ++i) {
    const Edge& edge = node.edge(i);
    Node* next = edge.node.get();
    if (!next) continue;
    Exec& exec = state(*next);
    if (results[i].defined()) put(exec, edge.output, std::move(results[i]));
    if (--exec.pending == 0) ready_.push(priority_of(*next), next);
  }
}

namespace {

// The gradient that starts backward at an output: what the user gave, or 1 for a scalar.
Tensor seed_for(const Tensor& output, const Tensor& given) {
  if (!given.defined()) {
    WISP_CHECK(output.numel() == 1,
               "grad can be implicitly created only for scalar outputs; this one has shape ",
               output.sizes());
    WISP_CHECK(is_floating(output.dtype()),
               "grad can be implicitly created only for real scalar outputs but got ",
               name(output.dtype()));
    return invoke<"full">(output.sizes(), Scalar(1), output.dtype(), output.device());
  }
  if (!same(given.sizes(), output.sizes())) {
    WISP_CHECK(given.numel() == output.numel(), "Mismatch in shape: grad_output has a shape of ",
               given.sizes(), " and output has a shape of ", output.sizes(), ".");
    warn(str("grad_output of shape ", given.sizes(), " is reshaped to the output's shape ",
             output.sizes()));
    return ops::reshape(given, output.sizes());
  }
  WISP_CHECK(
      is_complex(given.dtype()) == is_complex(output.dtype()),
      "For complex Tensors, both grad_output and output are required to have the same dtype. ",
      "Mismatch in dtype: grad_output has dtype ", name(given.dtype()), " and output has dtype ",
      name(output.dtype()), ".");
  return given.dtype() == output.dtype() ? given : ops::to(given, output.dtype());
}

void add_roots(Task& task, std::span<const Point> outputs, std::span<const Tensor> grads) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    Edge edge = outputs[i].edge();
    const Tensor& output = outputs[i].tensor;
    WISP_CHECK(edge.node, "element ", i,
               " of tensors does not require grad and does not have a grad_fn");
    const Tensor given = i < grads.size() ? grads[i] : Tensor();
    WISP_CHECK(given.defined() || output.defined(),
               "backward from a GradientEdge needs a gradient to start with");
    task.add_root(std::move(edge), output.defined() ? seed_for(output, given) : given);
  }
}

Edge input_edge(const Point& input) {
  Edge edge = input.edge();
  WISP_CHECK(edge.node, "One of the differentiated Tensors does not require grad");
  return edge;
}

}  // namespace

void backward(std::span<const Point> outputs, std::span<const Tensor> grads,
              BackwardOptions options, std::span<const Point> inputs) {
  // What an earlier backward put off and nobody wants any more is dropped, with what it holds on
  // to.
  if (WISP_UNLIKELY(Storage::any_deferred()) && !mode.deferrer) Storage::run_deferred();
  Task task(options, true);
  add_roots(task, outputs, grads);
  for (const Point& input : inputs) {
    const Edge edge = input_edge(input);
    WISP_CHECK(edge.node->leaf() || input.tensor.defined(),
               "backward() has no tensor to keep the gradient of a GradientEdge in");
    if (!edge.node->leaf()) retain_grad(input.tensor);
    task.capture(edge, 0);
  }
  std::vector<Tensor> unused(inputs.size());
  task.run(unused);
  // What saved tensors kept for the backward is free to go once it has been read.
  if (WISP_UNLIKELY(mode.deferrer != nullptr) && !running_task) Storage::run_deferred();
}

std::vector<Tensor> gradients(std::span<const Point> outputs, std::span<const Tensor> grads,
                              std::span<const Point> inputs, BackwardOptions options) {
  Task task(options, false);
  add_roots(task, outputs, grads);
  for (size_t i = 0; i < inputs.size(); ++i) task.capture(input_edge(inputs[i]), i);
  std::vector<Tensor> captured(inputs.size());
  task.run(captured);
  return captured;
}

void when_backward_ends(std::function<void()> f) {
  WISP_CHECK(running_task, "no backward is running");
  running_task->outermost().at_end.push_back(std::move(f));
}

bool edge_is_needed(const Edge& edge) { return running_task->needs(edge); }

bool in_backward() { return running_task != nullptr; }
Node* current_node() { return running_node; }

void install_derivatives() {
  derivatives.gradients = [](std::span<const Tensor> outputs, std::span<const Tensor> weights,
                             std::span<const Tensor> inputs, bool keep, bool create) {
    const std::vector<Point> roots(outputs.begin(), outputs.end());
    const std::vector<Point> wanted(inputs.begin(), inputs.end());
    return gradients(roots, weights, wanted, {keep, create});
  };
  derivatives.backward = [](std::span<const Tensor> outputs, std::span<const Tensor> weights,
                            bool keep, bool create) {
    backward(std::vector<Point>(outputs.begin(), outputs.end()), weights, {keep, create});
  };
  derivatives.gradient_of = grad;
}

}  // namespace wisp::autograd
