#include "cpu/pointwise_rows.h"

#include "base/parallel.h"
#include "cpu/grain.h"
#include "cpu/isa.h"
#include "cpu/kernels/kernels.h"

namespace wisp::cpu {

#define WISP_DECLARE(isa)                         \
  namespace isa {                                 \
  void fill_pointwise_rows(RowsByNumbers& table); \
  }
WISP_FOR_EACH_ISA(WISP_DECLARE)
#undef WISP_DECLARE

namespace {

const RowsByNumbers& row_kernels() {
  static const RowsByNumbers table = [] {
    RowsByNumbers made;
    WISP_FILL_FOR_ISA(fill_pointwise_rows, made);
    return made;
  }();
  return table;
}

RowsByNumbersFn kernel_of(Opcode op, bool wide) {
  switch (op) {
    case Opcode::add:
      return row_kernels().add[wide];
    case Opcode::sub:
      return row_kernels().sub[wide];
    case Opcode::mul:
      return row_kernels().mul[wide];
    case Opcode::div:
      return row_kernels().div[wide];
    default:
      return nullptr;
  }
}

constexpr int64_t shortest_bytes = 32;  // shorter rows are quickly spread

}  // namespace

bool try_rows_by_numbers(const Pointwise& call, const LoopPlan& plan) {
  const DType dtype = call.compute;
  if (plan.ndim() != 2 || call.inputs != 2 || !contains(dtypes::real_math, dtype)) return false;
  if (call.out.dtype != dtype || call.in[0].dtype != dtype || call.in[0].data == call.out.data)
    return false;
  const int64_t item = static_cast<int64_t>(item_size(dtype)), rows = plan.sizes[0],
                length = plan.sizes[1], row = length * item;
  for (int k = 0; k < 2; ++k) {
    if (plan.strides[k][1] != item || plan.strides[k][0] != row) return false;
  }
  const RowsByNumbersFn kernel = kernel_of(call.op, dtype == DType::float64);
  if (!kernel || row < shortest_bytes) return false;
  const int64_t grain = std::max<int64_t>(1, grain_of(call.op, dtype) / length);
  parallel_for(rows, even_grain(rows, grain, 1), [&](int64_t begin, int64_t end) {
    const int64_t step = plan.strides[2][0];
    kernel(call.out.data + begin * row, call.in[0].data + begin * row,
           call.in[1].data + begin * step, step, end - begin, length);
  });
  return true;
}

}  // namespace wisp::cpu
