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
  static constexpr bool has_rows = true;

  static __m512bh load(const BFloat16* from, __mmask32 which) {
    return reinterpret_cast<__m512bh>(_mm512_maskz_loadu_epi16(which, from));
  }

  // Some columns at once: each has sums that wait for one another.
  template <int columns>
  static void multiply_row_by(const BFloatPiece& p, int64_t first) {
    __m512 sums[columns] = {};
    for (int64_t d = 0; d < p.depth; d += 32) {
      const int64_t left = p.depth - d;
      const __mmask32 which = left >= 32 ? ~0u : (1u << left) - 1;
      const __m512bh a = load(p.a + d, which);
      for (int j = 0; j < columns; ++j)
        sums[j] = _mm512_dpbf16_ps(sums[j], a, load(p.b + (first + j) * p.b_col + d, which));
    }
    for (int j = 0; j < columns; ++j) p.sums[first + j] = _mm512_reduce_add_ps(sums[j]);
  }
  static void multiply_row(const BFloatPiece& p) {
    int64_t j = 0;
    for (; j + 8 <= p.cols; j += 8) multiply_row_by<8>(p, j);
    for (; j < p.cols; ++j) multiply_row_by<1>(p, j);
  }

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
