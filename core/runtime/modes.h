// Whether calls are recorded for backward(), gradients as values, and how many threads compute.
#pragma once

#include "runtime/tensor.h"

#pragma GCC visibility push(default)
namespace wisp::api {

// Switches recording on or off while it lives, on this thread.
class AutoGradMode {
 public:
  explicit AutoGradMode(bool enabled);
  ~AutoGradMode();
  AutoGradMode(const AutoGradMode&) = delete;
  AutoGradMode& operator=(const AutoGradMode&) = delete;

 private:
  bool previous_;
};
struct NoGradGuard : AutoGradMode {
  NoGradGuard() : AutoGradMode(false) {}
};
using no_grad = NoGradGuard;
struct enable_grad : AutoGradMode {
  enable_grad() : AutoGradMode(true) {}
};
bool is_grad_enabled();

namespace autograd {

// The gradients of `outputs`, weighted by `grad_outputs`, with respect to `inputs`.
Tensors grad(const Tensors& outputs, const Tensors& inputs, const Tensors& grad_outputs = {},
             std::optional<bool> retain_graph = {}, bool create_graph = false,
             bool allow_unused = false);

}  // namespace autograd

int get_num_threads();
void set_num_threads(int threads);

}  // namespace wisp::api
#pragma GCC visibility pop
