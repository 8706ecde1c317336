// The rules of _fused_update that look at whole tensors: Adafactor and Muon.
#include <cmath>

#include "cpu/adafactor.h"
#include "cpu/muon.h"
#include "ops/promotion.h"
#include "ops/update.h"

namespace wisp::ops {

namespace {

// The distance from 1 to the next larger number.
double epsilon(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return 0x1p-52;
    case DType::float16:
      return 0x1p-10;
    case DType::bfloat16:
      return 0x1p-7;
    default:
      return 0x1p-23;
  }
}

// make(i) for each parameter that is computed in this dtype.
template <class F>
auto steps_of(const Call& call, DType dtype, F make) {
  std::vector<decltype(make(size_t(0)))> made;
  const auto all = call.tensors(update_arg::params);
  for (size_t i = 0; i < all.size(); ++i) {
    if (math_dtype(all[i].dtype()) == dtype) made.push_back(make(i));
  }
  return made;
}

// Means of rows and columns of matrices, or of all elements of a vector.
cpu::AdafactorStep adafactor_step(const Call& call, UpdateMemory& memory, size_t i) {
  const Tensor& param = call.tensors(update_arg::params)[i];
  char* first = memory.written(call.tensors(update_arg::first)[i]);
  cpu::AdafactorStep step{};
  step.param = memory.written(param);
  step.grad = memory.read(call.tensors(update_arg::grads)[i]);
  if (param.ndim() < 2) {
    step.squares = first;
    step.matrices = step.height = 1;
    step.width = param.numel();
  } else {
    step.rows = first;
    step.columns = memory.written(call.tensors(update_arg::second)[i]);
    step.height = param.size(-2);
    step.width = param.size(-1);
    step.matrices = param.numel() / std::max<int64_t>(1, step.height * step.width);
  }
  return step;
}

// What the learning rate of a matrix is multiplied by: so that updates are as large as those of
// AdamW, or as high matrices need it.
double muon_factor(double rows, double cols, bool like_adamw) {
  return like_adamw ? 0.2 * std::sqrt(std::max(rows, cols)) : std::sqrt(std::max(1.0, rows / cols));
}

}  // namespace

// lr, beta2_decay, eps1 (negative: by dtype), eps2, d, weight_decay, maximize
void adafactor_steps(const Call& call, DType dtype) {
  const UpdateSettings s = update_settings(call);
  UpdateMemory memory(dtype);
  const auto steps = steps_of(call, dtype, [&](size_t i) {
    const double t = next_step(call.tensors(update_arg::steps)[i]);
    cpu::AdafactorStep step = adafactor_step(call, memory, i);
    step.take = std::pow(t, s[1]);
    step.rate = std::min(s[0], 1 / std::sqrt(t)) * (s[6] ? -1 : 1);
    step.least = s[2] < 0 ? epsilon(call.tensors(update_arg::params)[i].dtype()) : s[2];
    step.least_size = s[3];
    step.limit = s[4];
    step.shrink = 1 - s[0] * s[5];
    return step;
  });
  cpu::adafactor(dtype, steps);
}

// Vectors have no second state: it is empty.
Dims adafactor_state_sizes(int list, IntSpan param) {
  Dims sizes(param);
  if (sizes.size() >= 2) {
    sizes[sizes.size() - (list == update_arg::first ? 1 : 2)] = 1;
  } else if (list != update_arg::first) {
    sizes = {0};
  }
  return sizes;
}

Dims muon_state_sizes(int, IntSpan param) {
  WISP_CHECK(param.size() == 2, "muon: expected matrices, got a parameter of shape ", param);
  return Dims(param);
}

// lr, weight_decay, momentum, nesterov, the three coefficients, steps of the iteration, eps,
// whether rates are like those of AdamW
void muon_steps(const Call& call, DType dtype) {
  const UpdateSettings s = update_settings(call);
  const cpu::MuonSettings settings{.keep = s[2],
                                   .nesterov = s[3] != 0,
                                   .linear = s[4],
                                   .cubic = s[5],
                                   .quintic = s[6],
                                   .iterations = static_cast<int64_t>(s[7]),
                                   .least_norm = s[8]};
  UpdateMemory memory(dtype);
  const auto steps = steps_of(call, dtype, [&](size_t i) {
    const Tensor& param = call.tensors(update_arg::params)[i];
    const int64_t rows = param.size(0), cols = param.size(1);
    const double factor =
        muon_factor(static_cast<double>(rows), static_cast<double>(cols), s[9] != 0);
    return cpu::MuonStep{.param = memory.written(param),
                         .grad = memory.read(call.tensors(update_arg::grads)[i]),
                         .momentum = memory.written(call.tensors(update_arg::first)[i]),
                         .rows = rows,
                         .cols = cols,
                         .rate = s[0] * factor,
                         .shrink = 1 - s[0] * s[1]};
  });
  cpu::muon(dtype, steps, settings);
}

}  // namespace wisp::ops
