// Products of bfloat16 matrices by the processor's own instructions. Compiled for processors that
// have them, so nothing here may be shared with other files.
#include "cpu/bfloat_instructions.h"

#if defined(__AVX512BF16__)
#include <immintrin.h>

#include "cpu/kernels/bfloat_gemm.h"
#else
#include "base/error.h"
#endif

namespace wisp::cpu {

#if defined(__AVX512BF16__)

namespace {

struct ByInstruction : Paired {
  static __m512bh load(const BFloat16* from, __mmask32 which) {
    return reinterpret_cast<__m512bh>(_mm512_maskz_loadu_epi16(which, from));
  }

  // Some columns at once: each has sums that wait for one another.
  template <int columns>
  static void multiply_row_by(const BFloatPiece& p, int64_t first, float* out) {
    __m512 sums[columns] = {};
    for (int64_t d = 0; d < p.depth; d += 32) {
      const int64_t left = p.depth - d;
      const __mmask32 which = left >= 32 ? ~0u : (1u << left) - 1;
      const __m512bh a = load(p.a + d, which);
      for (int j = 0; j < columns; ++j)
        sums[j] = _mm512_dpbf16_ps(sums[j], a, load(p.b + (first + j) * p.b_col + d, which));
    }
    for (int j = 0; j < columns; ++j) out[first + j] = _mm512_reduce_add_ps(sums[j]);
  }
  static bool multiply_row(const BFloatPiece& p, float* out) {
    if (p.b_row != 1 || p.a_col != 1) return false;
    int64_t j = 0;
    for (; j + 8 <= p.cols; j += 8) multiply_row_by<8>(p, j, out);
    for (; j < p.cols; ++j) multiply_row_by<1>(p, j, out);
    return true;
  }

  template <int rows, int vectors>
  static WISP_INLINE void add(FloatVector (&sums)[rows][vectors], const char* a, int64_t row,
                              const Packed* b) {
    __m512bh right[vectors];
    for (int j = 0; j < vectors; ++j)
      right[j] = reinterpret_cast<__m512bh>(_mm512_loadu_si512(b + j * bfloat_width));
    for (int i = 0; i < rows; ++i) {
      const Packed left = *reinterpret_cast<const Packed*>(a + i * row);
      const auto pair = reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(left)));
      for (int j = 0; j < vectors; ++j)
        sums[i][j] = FloatVector(_mm512_dpbf16_ps(__m512(sums[i][j]), pair, right[j]));
    }
  }

  static void round(const float* from, int64_t n, BFloat16* to) {
    for (int64_t i = 0; i < n; i += 16) {
      const __mmask16 which = n - i >= 16 ? 0xffff : static_cast<__mmask16>((1u << (n - i)) - 1);
      const __m256bh rounded = _mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(which, from + i));
      _mm256_mask_storeu_epi16(to + i, which, reinterpret_cast<__m256i>(rounded));
    }
  }
};

using ByPairs = BFloatGemm<ByInstruction>;

// With panels of two vectors, ten rows have their sums in registers.
constexpr int64_t panel_rows = 10;
constexpr int panel_vectors = bfloat_panel_width / bfloat_width;

template <size_t... at>
ByPairs::Micro panel_micro(int64_t rows, std::index_sequence<at...>) {
  static constexpr ByPairs::Micro all[] = {ByPairs::micro<at + 1, panel_vectors>...};
  return all[rows - 1];
}

}  // namespace

void use_bfloat_instructions(Kernels& table) { table.bfloat_gemm = ByPairs::run; }

// Tiles differ by one row at most, since few rows are slow.
void multiply_bfloat_panel(const BFloatPanelCall& call) {
  constexpr int64_t item = sizeof(BFloat16);
  const int64_t tiles = bfloat_parts(call.rows, panel_rows);
  for (int64_t tile = 0, row = 0; tile < tiles; ++tile) {
    const int64_t end = call.rows * (tile + 1) / tiles;
    panel_micro(end - row, std::make_index_sequence<panel_rows>())(
        {reinterpret_cast<const char*>(call.a + row * call.a_row), call.a_row * item, 2 * item},
        call.right, call.steps, call.c + row * call.c_row, call.c_row, call.adds);
    row = end;
  }
}

#else

void use_bfloat_instructions(Kernels&) {}
void multiply_bfloat_panel(const BFloatPanelCall&) {
  fail(ErrorKind::runtime, "built without instructions for bfloat16");
}

#endif

}  // namespace wisp::cpu
