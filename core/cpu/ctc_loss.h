// Connectionist temporal classification: how likely a sequence of labels is, over all ways to
// stretch it and to put blanks between its labels.
#pragma once

#include "base/dtype.h"

namespace wisp::cpu {

// log_probs is (time, batch, classes), consecutive, float32 or float64. Labels have been checked.
struct CtcShape {
  DType dtype;
  int64_t time, batch, classes, blank;
  int64_t longest;  // of the targets
  const int64_t *input_lengths, *target_lengths;
  const int64_t* targets;
  const int64_t* target_begin;  // where the labels of every sample begin ...
  int64_t target_step;          // ... and how far apart they are
  const char* log_probs;
};

// `alpha`, (batch, time, 2 * longest + 1), is the log-probability of all beginnings that end in a
// state: a blank, or a label, or the blank behind it, and so on.
void ctc_loss(const CtcShape& shape, char* losses, char* alpha);

// The gradient of log_probs, as those of log_softmax. Samples of infinite loss get none if
// `zero_infinity`.
void ctc_loss_grad(const CtcShape& shape, const char* grads, const char* losses, const char* alpha,
                   bool zero_infinity, char* out);

}  // namespace wisp::cpu
