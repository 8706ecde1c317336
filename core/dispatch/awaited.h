// Convolutions whose results nobody differentiates wait for the next calls of their thread: a batch
// norm, a sum or relu of the result becomes one step with them (ops/awaited.cpp). Until then the
// result is a promise, as in lazy evaluation.
#pragma once

#include "dispatch/mode.h"

namespace wisp {

class Awaiting : public Deferrer {
 public:
  // Before a kernel runs, or somebody else puts it off: has run what the thread put off, what
  // computes the arguments, and what reads the tensors that the kernel writes.
  virtual void before(const OpDef& op, const Arg* args, std::span<const Tensor> written) = 0;
};

extern Awaiting* awaiting;  // set by the room `ops`; asked about operators with trait::awaited

}  // namespace wisp
