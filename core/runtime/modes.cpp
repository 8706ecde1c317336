#include "runtime/modes.h"

#include "autograd/engine.h"
#include "base/parallel.h"
#include "runtime/bridge.h"

namespace wisp::api {

AutoGradMode::AutoGradMode(bool enabled) : previous_(mode.grad) { mode.grad = enabled; }
AutoGradMode::~AutoGradMode() { mode.grad = previous_; }
bool is_grad_enabled() { return mode.grad; }

namespace autograd {

namespace {
std::vector<wisp::autograd::Point> points(const Tensors& tensors) {
  std::vector<wisp::autograd::Point> points;
  for (const Tensor& tensor : tensors) points.emplace_back(checked(tensor));
  return points;
}
}  // namespace

Tensors grad(const Tensors& outputs, const Tensors& inputs, const Tensors& grad_outputs,
             std::optional<bool> retain_graph, bool create_graph, bool allow_unused) {
  const auto found = wisp::autograd::gradients(
      points(outputs), core(grad_outputs), points(inputs),
      {.keep_graph = retain_graph.value_or(create_graph), .create_graph = create_graph});
  Tensors grads;
  for (const wisp::Tensor& grad : found) {
    WISP_CHECK(grad.defined() || allow_unused,
               "One of the differentiated Tensors appears to not have been used in the graph. Set "
               "allow_unused=True if this is the desired behavior.");
    grads.push_back(wrap(grad));
  }
  return grads;
}

}  // namespace autograd

int get_num_threads() { return num_threads(); }
void set_num_threads(int threads) {
  WISP_CHECK(threads > 0 && threads < 65536, "set_num_threads expects a positive integer, got ",
             threads);
  wisp::set_num_threads(threads);
}

}  // namespace wisp::api
