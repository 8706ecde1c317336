// Products of matrices of integers. They wrap, so they are exact in any order and may be cut
// anywhere.
#include "cpu/kernels/fold.h"

namespace wisp::cpu {

namespace {

constexpr int64_t height = 4, vectors = 2;  // of what is computed in registers
constexpr int64_t steps_at_once = 128;      // their part of B stays in the first-level cache

template <class T>
struct Integers {
  // Bytes are multiplied as numbers of 16 bits: vectors have no product of bytes.
  using Word = std::conditional_t<sizeof(T) == 1, uint16_t, T>;
  typedef Word Vector __attribute__((vector_size(vector_bytes)));
  static constexpr int64_t width = vectors * vector_bytes / static_cast<int64_t>(sizeof(Word));
  using Panel = Word[steps_at_once * width];

  // alpha times some of B, filled up with zeros to whole vectors.
  static void pack(const IntegerProduct& p, int64_t step, int64_t steps, int64_t col, int64_t cols,
                   Panel& panel) {
    const T* b = static_cast<const T*>(p.b) + step * p.b_row + col * p.b_col;
    const Word alpha = static_cast<Word>(p.alpha);
    if (cols < width) __builtin_memset(panel, 0, sizeof panel);
    if (p.b_col == 1) {
      for (int64_t s = 0; s < steps; ++s) {
        for (int64_t j = 0; j < cols; ++j)
          panel[s * width + j] = static_cast<Word>(alpha * b[s * p.b_row + j]);
      }
      return;
    }
    for (int64_t j = 0; j < cols; ++j) {
      for (int64_t s = 0; s < steps; ++s)
        panel[s * width + j] = static_cast<Word>(alpha * b[s * p.b_row + j * p.b_col]);
    }
  }

  // Up to four rows of C, from what the steps before made of them.
  static void rows_of(const IntegerProduct& p, int64_t row, int64_t step, int64_t steps,
                      int64_t col, int64_t cols, const Panel& panel) {
    const int64_t rows = p.rows - row < height ? p.rows - row : height;
    const Word kept = step == 0 ? static_cast<Word>(p.beta) : Word(1);
    T* c = static_cast<T*>(p.c) + row * p.c_row + col;
    const T* a[height];
    alignas(vector_bytes) Word values[height][width] = {};
    for (int64_t i = 0; i < height; ++i) {
      const int64_t real = i < rows ? i : rows - 1;  // the others are computed in vain
      a[i] = static_cast<const T*>(p.a) + (row + real) * p.a_row + step * p.a_col;
      for (int64_t j = 0; j < cols && kept != 0; ++j)
        values[i][j] = static_cast<Word>(kept * c[real * p.c_row + j]);
    }
    multiply(a, p.a_col, panel, steps, values);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < cols; ++j) c[i * p.c_row + j] = static_cast<T>(values[i][j]);
    }
  }

  static WISP_INLINE void multiply(const T* const (&a)[height], int64_t a_col, const Panel& panel,
                                   int64_t steps, Word (&values)[height][width]) {
    Vector sum[height][vectors];
    __builtin_memcpy(sum, values, sizeof sum);
    for (int64_t s = 0; s < steps; ++s) {
      Vector right[vectors];
      __builtin_memcpy(right, panel + s * width, sizeof right);
#pragma GCC unroll 4
      for (int64_t i = 0; i < height; ++i) {
        const Word factor = a[i][s * a_col];
#pragma GCC unroll 2
        for (int64_t v = 0; v < vectors; ++v) sum[i][v] += right[v] * factor;
      }
    }
    __builtin_memcpy(values, sum, sizeof sum);
  }

  // Rows of A that are consecutive, times a column that is.
  static void times_vector(const IntegerProduct& p) {
    const T *a = static_cast<const T*>(p.a), *b = static_cast<const T*>(p.b);
    T* c = static_cast<T*>(p.c);
    for (int64_t row = 0; row < p.rows; ++row, a += p.a_row, c += p.c_row) {
      T sum = 0;
      for (int64_t s = 0; s < p.depth; ++s) sum = static_cast<T>(sum + a[s] * b[s]);
      const T kept = p.beta == 0 ? T(0) : static_cast<T>(static_cast<T>(p.beta) * *c);
      *c = static_cast<T>(static_cast<T>(p.alpha) * sum + kept);
    }
  }

  static void run(const IntegerProduct& p) {
    if (p.cols == 1 && p.a_col == 1 && p.b_row == 1) return times_vector(p);
    alignas(vector_bytes) Panel panel;
    for (int64_t col = 0; col < p.cols; col += width) {
      const int64_t cols = p.cols - col < width ? p.cols - col : width;
      for (int64_t step = 0; step < p.depth; step += steps_at_once) {
        const int64_t left = p.depth - step, steps = left < steps_at_once ? left : steps_at_once;
        pack(p, step, steps, col, cols, panel);
        for (int64_t row = 0; row < p.rows; row += height)
          rows_of(p, row, step, steps, col, cols, panel);
      }
    }
  }
};

}  // namespace

namespace WISP_ISA {

void fill_integer_gemm(Kernels& table) {
  table.integer_gemm[0] = Integers<uint8_t>::run;
  table.integer_gemm[1] = Integers<uint16_t>::run;
  table.integer_gemm[2] = Integers<uint32_t>::run;
  table.integer_gemm[3] = Integers<uint64_t>::run;
}

}  // namespace WISP_ISA
}  // namespace wisp::cpu
