// Products of bfloat16 matrices by the processor's own instructions. Compiled for processors that
// have them, so nothing here may be shared with other files.
#include "cpu/bfloat_instructions.h"

#if defined(__AVX512BF16__)
#include <immintrin.h>

#include "cpu/kernels/bfloat_gemm.h"
#endif

namespace wisp::cpu {

#if defined(__AVX512BF16__)

namespace {

struct ByInstruction : Paired {
  template <int rows>
  static WISP_INLINE void add(FloatVector (&sums)[rows][bfloat_columns], const Packed* a,
                              const Packed* b) {
    __m512bh right[bfloat_columns];
    for (int j = 0; j < bfloat_columns; ++j)
      right[j] = reinterpret_cast<__m512bh>(_mm512_loadu_si512(b + j * bfloat_width));
    for (int i = 0; i < rows; ++i) {
      const auto pair = reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(a[i])));
      for (int j = 0; j < bfloat_columns; ++j)
        sums[i][j] = FloatVector(_mm512_dpbf16_ps(__m512(sums[i][j]), pair, right[j]));
    }
  }
};

}  // namespace

void use_bfloat_instructions(Kernels& table) { table.bfloat_gemm = BFloatGemm<ByInstruction>::run; }

#else

void use_bfloat_instructions(Kernels&) {}

#endif

}  // namespace wisp::cpu
