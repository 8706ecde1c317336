#include "ops/norms.h"

#include "cpu/reduce.h"

namespace wisp::ops {

void check_channels(const Infer& infer, int i, int64_t channels) {
  WISP_CHECK(!infer.has(i) || infer.tensor(i).numel() == channels,
             infer.op().sig.params[static_cast<size_t>(i)].name, " should contain ", channels,
             " elements not ", infer.has(i) ? infer.tensor(i).numel() : 0);
}

void moments(const Tensor& x, IntSpan sizes, IntSpan strides, uint64_t reduced, const Tensor& mean,
             const Tensor& var) {
  cpu::reduce({.op = cpu::Reduction::moments,
               .compute = mean.dtype(),
               .sizes = sizes,
               .in = {x->bytes(), strides, x.dtype()},
               .reduced = reduced,
               .out = operand(var),
               .second = operand(mean),
               .params = {.correction = 0}});
}

}  // namespace wisp::ops
