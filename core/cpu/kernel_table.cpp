#include "cpu/bfloat_instructions.h"
#include "cpu/isa.h"
#include "cpu/kernels/kernels.h"
#include "cpu/strided.h"

namespace wisp::cpu {

#define WISP_FILL(isa)               \
  namespace isa {                    \
  static void fill_all(Kernels& t) { \
    isa::fill_arithmetic(t);         \
    isa::fill_logic(t);              \
    isa::fill_rounding(t);           \
    isa::fill_math(t);               \
    isa::fill_ternary(t);            \
    isa::fill_activation(t);         \
    isa::fill_loss(t);               \
    isa::fill_layer_norm(t);         \
    isa::fill_channels(t);           \
    isa::fill_cast(t);               \
    isa::fill_reduce(t);             \
    isa::fill_extremes(t);           \
    isa::fill_norms(t);              \
    isa::fill_distance(t);           \
    isa::fill_halves(t);             \
    isa::fill_scan(t);               \
    isa::fill_softmax(t);            \
    isa::fill_gemm(t);               \
    isa::fill_bfloat_gemm(t);        \
    isa::fill_integer_gemm(t);       \
    isa::fill_random(t);             \
    isa::fill_rnn(t);                \
  }                                  \
  }
WISP_FOR_EACH_ISA(WISP_FILL)
#undef WISP_FILL

namespace {

Kernels* build() {
  auto* table = new Kernels;
  WISP_FILL_FOR_ISA(fill_all, *table);
  if (has_bfloat_instructions()) use_bfloat_instructions(*table);
  fill_complex_math(*table);
  fill_special_math(*table);
  fill_stored_casts(*table);
  return table;
}

}  // namespace

const Kernels& kernels() {
  static const Kernels* table = build();
  return *table;
}

void spread_rows(void* out, const void* values, int64_t step, size_t item, int64_t rows,
                 int64_t length) {
  kernels().spread(out, values, step, item, rows, length);
}

TileFn tile_kernel(Opcode opcode, DType compute) {
  return kernels().tile[static_cast<int>(opcode)][static_cast<int>(compute)];
}

TileFn number_kernel(Opcode opcode, DType compute) {
  return kernels().by_number[static_cast<int>(opcode)][static_cast<int>(compute)];
}

}  // namespace wisp::cpu
