// Kernels that wait for the next calls of their thread, to become one step with them: convolutions
// and batch norms for a sum or relu of their results, gradients at relu for the derivative of batch
// norm (ops/awaited.cpp). Until then their results are promises, as in lazy evaluation.
#pragma once

#include "dispatch/mode.h"

namespace wisp {

class Awaiting : public Deferrer {
 public:
  // Before a kernel runs, or somebody else puts it off: has run what the thread put off, what
  // computes the arguments, and what reads the tensors that the kernel writes.
  virtual void before(const OpDef& op, const Arg* args, std::span<const Tensor> written) = 0;
};

// Exists while the gradients of a tensor are added up: the sum may wait for relu's derivative.
class AddingGradients {
 public:
  AddingGradients() { ++count_; }
  ~AddingGradients() { --count_; }
  AddingGradients(const AddingGradients&) = delete;
  AddingGradients& operator=(const AddingGradients&) = delete;
  static bool now() { return count_ > 0; }

 private:
  static inline constinit WISP_THREAD_LOCAL int count_ = 0;
};

extern Awaiting* awaiting;  // set by the room `ops`; asked about operators with trait::awaited

// Has everything run that waits: for clocks, which would stop before it. If that fails, it goes on
// waiting, and whoever asks for it is told.
inline void run_all_awaited() noexcept {
  if (WISP_LIKELY(!Storage::any_awaited())) return;
  try {
    Storage::run_awaited(nullptr);
  } catch (...) {}
}

}  // namespace wisp
