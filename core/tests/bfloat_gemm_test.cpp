// Products of bfloat16 with pairs as the processor's instructions want them, where it has none: all
// but the instruction itself is what they use.
#include "cpu/kernels/bfloat_gemm.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/generator.h"
#include "tests/check.h"

using namespace wisp;
using namespace wisp::cpu;

namespace {

struct Emulated : Paired {
  static float low(uint32_t pair) { return detail::bits_to_float(pair << 16); }
  static float high(uint32_t pair) { return detail::bits_to_float(pair >> 16 << 16); }
  template <int rows, int vectors>
  static void add(FloatVector (&sums)[rows][vectors], const char* a, int64_t row, const Packed* b) {
    for (int i = 0; i < rows; ++i) {
      const uint32_t left = *reinterpret_cast<const Packed*>(a + i * row);
      for (int j = 0; j < vectors * bfloat_width; ++j) {
        float& sum = reinterpret_cast<float*>(&sums[i][0])[j];
        sum += high(left) * high(b[j]);
        sum += low(left) * low(b[j]);
      }
    }
  }
};

struct Numbers {
  uint32_t state = 1;
  float next() {
    state = state * 1664525u + 1013904223u;
    return BFloat16(static_cast<float>(static_cast<int32_t>(state)) * 0x1p-31f);
  }
  std::vector<BFloat16> some(int64_t n) {
    std::vector<BFloat16> all(static_cast<size_t>(n));
    for (auto& x : all) x = next();
    return all;
  }
};

template <class Pairs>
void check_piece(int64_t m, int64_t n, int64_t k, bool a_by_rows, bool b_by_rows, int64_t step,
                 float beta, bool adds_row) {
  Numbers numbers;
  const auto a = numbers.some(m * k * step), b = numbers.some(n * k * step);
  const auto row = numbers.some(n);
  auto c = numbers.some(m * n);
  const auto before = c;
  std::vector<float> float_c(c.begin(), c.end());
  const int64_t width =
      (n + BFloatPiece::max_panel - 1) / BFloatPiece::max_panel * BFloatPiece::max_panel;
  const int64_t steps = std::min(k, BFloatPiece::max_steps);
  auto room = [](int64_t size) { return std::vector<float>(static_cast<size_t>(size)); };
  auto left = room(BFloatPiece::left_size(m, k)), right = room(width * steps);
  auto sums = room(k > BFloatPiece::max_steps ? m * width : 0);
  const int64_t a_row = (a_by_rows ? k : 1) * step, a_col = (a_by_rows ? 1 : m) * step;
  const int64_t b_row = (b_by_rows ? n : 1) * step, b_col = (b_by_rows ? 1 : k) * step;
  BFloatPiece piece{.a = a.data(),
                    .a_row = a_row,
                    .a_col = a_col,
                    .b = b.data(),
                    .b_row = b_row,
                    .b_col = b_col,
                    .c = c.data(),
                    .float_c = nullptr,
                    .c_row = n,
                    .rows = m,
                    .cols = n,
                    .depth = k,
                    .alpha = 0.5f,
                    .beta = beta,
                    .row = adds_row ? row.data() : nullptr,
                    .left = left.data(),
                    .right = right.data(),
                    .sums = sums.data(),
                    .sums_row = width};
  BFloatGemm<Pairs>::run(piece);
  piece.c = nullptr;
  piece.float_c = float_c.data();
  BFloatGemm<Pairs>::run(piece);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t p = 0; p < k; ++p) {
        sum += static_cast<double>(a[static_cast<size_t>(i * a_row + p * a_col)]) *
               static_cast<double>(b[static_cast<size_t>(p * b_row + j * b_col)]);
      }
      const auto at = static_cast<size_t>(i * n + j);
      const double added = adds_row ? static_cast<double>(row[static_cast<size_t>(j)])
                                    : static_cast<double>(beta) * static_cast<double>(before[at]);
      const double want = 0.5 * sum + added;
      CHECK(std::abs(static_cast<double>(c[at]) - want) <=
            std::abs(want) * 0x1p-8 + static_cast<double>(k) * 1e-7);
      CHECK(std::abs(static_cast<double>(float_c[at]) - want) <= static_cast<double>(k + 8) * 1e-7);
    }
  }
}

template <class Pairs>
void check_pieces() {
  for (auto [m, n, k] : {std::array<int64_t, 3>{1, 1, 1},
                         {6, 16, 2},
                         {7, 17, 3},
                         {13, 65, 257},
                         {97, 256, 256},
                         {95, 250, 771},
                         {200, 100, 64},
                         {19, 176, 1540},
                         {2, 33, 768},
                         {1, 70, 100},
                         {5, 64, 600}}) {
    for (int layout = 0; layout < 4; ++layout)
      check_piece<Pairs>(m, n, k, layout & 1, layout & 2, 1, layout & 1 ? 0.0f : 2.0f, false);
    check_piece<Pairs>(m, n, k, true, true, 2, 0, false);
    check_piece<Pairs>(m, n, k, true, false, 1, 0, true);
  }
}

}  // namespace

TEST("bfloat16 products: pairs kept as the instructions want them") { check_pieces<Emulated>(); }
TEST("bfloat16 products: numbers widened one by one") { check_pieces<Widened>(); }
