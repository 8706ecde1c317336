// Autocast: inside, operators that lose little by it (products, convolutions) take float32
// arguments as a narrower dtype, and those that would lose much (losses, norms, decompositions)
// take narrower ones as float32. Comes before other transforms.
#pragma once

#include "dispatch/call.h"

namespace wisp::transform {

struct AutocastState {
  bool enabled = false;
  DType dtype = DType::bfloat16;
  bool keeps_casts = true;  // of parameters, until forget_casts()
};

// Of this thread.
AutocastState autocast_state();
void set_autocast(const AutocastState& state);
// Drops the parameters' casts that are kept.
void forget_casts();

// The interceptor that calls have to pass first: autocast's, which hands on to `next`, or `next`.
Interceptor* behind_autocast(Interceptor* next);

}  // namespace wisp::transform
