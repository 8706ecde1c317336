// All kernels that are compiled once per instruction set, as one table of functions.
#pragma once

#include "cpu/channels.h"
#include "cpu/distance.h"
#include "cpu/layer_norm.h"
#include "cpu/opcode.h"
#include "cpu/random.h"
#include "cpu/reduce.h"
#include "cpu/rnn_kernel.h"
#include "cpu/scan.h"
#include "cpu/softmax.h"

namespace wisp::cpu {

struct BFloatPiece;

using TileTable = TileFn[num_opcodes][num_dtypes];

// Converts n consecutive elements.
using CastFn = void (*)(void* out, const void* in, int64_t n);
using CastTable = CastFn[num_dtypes][num_dtypes];
// Repeats a value of 1, 2, 4, 8 or 16 bytes over n elements.
using RepeatFn = void (*)(void* out, const void* value, size_t item, int64_t n);
// Repeats each of `rows` values, `step` bytes apart, `length` times: rows of one value each, one
// behind the other.
using SpreadFn = void (*)(void* out, const void* values, int64_t step, size_t item, int64_t rows,
                          int64_t length);
// Copies n elements in the opposite order, the one at `last` first.
using ReverseFn = void (*)(void* out, const void* last, size_t item, int64_t n);
// Rows of `out` from columns of `in`, both consecutive; steps from one to the next in bytes.
using TurnFn = void (*)(const void* in, int64_t in_col, void* out, int64_t out_row, int64_t rows,
                        int64_t cols, size_t item);

// Products of small matrices; see kernels/gemm.cpp for what each expects.
template <class T>
struct GemmKernels {
  void (*small)(const T* a, int64_t a_row, int64_t a_col, const T* b, int64_t b_row, T* c,
                int64_t c_row, int64_t m, int64_t n, int64_t k, T alpha, T beta) = nullptr;
  void (*gemv_rows)(const T* a, int64_t a_row, const T* x, T* y, int64_t y_step, int64_t m,
                    int64_t k, T alpha, T beta, bool far) = nullptr;
  void (*gemv_columns)(const T* a, int64_t a_col, const T* x, int64_t x_step, T* y, int64_t m,
                       int64_t k, T alpha, T beta) = nullptr;
  // y[r] += x[r] * A for this many rows r, whose products are as single ones would be.
  static constexpr int rows_at_once = 4;
  void (*gemv_columns_of_rows)(const T* a, int64_t a_col, const T* const* x, int64_t x_step,
                               T* const* y, int64_t m, int64_t k);
  void (*pack)(const T* in, int64_t in_row, T* out, int64_t out_row, int64_t rows,
               int64_t cols) = nullptr;
  void (*transpose)(const T* in, int64_t in_col, T* out, int64_t out_row, int64_t rows,
                    int64_t cols) = nullptr;
  int64_t width = 1;   // elements of a vector
  bool masks = false;  // `small` reads no further than the end of B's rows

  // Whether a matrix of which each element is read once, all of it again and again, comes from
  // outside of a core's caches.
  static bool is_far(int64_t elements) {
    return elements * static_cast<int64_t>(sizeof(T)) >= 4 << 20;
  }
};

// C = beta * C + alpha * A * B for integers of one width, signed or not. Strides in elements; C's
// rows are consecutive.
struct IntegerProduct {
  const void* a;
  int64_t a_row, a_col;
  const void* b;
  int64_t b_row, b_col;
  void* c;
  int64_t c_row;
  int64_t rows, cols, depth;
  int64_t alpha, beta;
};

// Fills n elements from the counters that start at `counter`.
template <class T>
using RandomFn = void (*)(T* out, int64_t n, uint64_t seed, uint64_t counter);

struct Kernels {
  TileTable tile = {};
  TileTable by_number = {};  // the last input is one value for all elements (a float, if they are
                             // of 16 bits); few have this form
  CastTable cast = {};       // [to][from]
  RepeatFn repeat = nullptr;
  SpreadFn spread = nullptr;
  ReverseFn reverse = nullptr;
  TurnFn turn = nullptr;
  ReduceKernel reduce[num_reductions][num_dtypes] = {};
  ScanKernel scan[num_scans][num_dtypes] = {};
  LinearScanKernel linear_scan[num_dtypes] = {};
  SoftmaxKernel softmax[2][num_dtypes] = {};  // plain, logarithmic
  LayerNormKernel layer_norm[num_dtypes] = {};
  ChannelKernel<float> channels_f32;
  ChannelKernel<double> channels_f64;
  ChannelBlockKernel channels_by_8, channels_by_16;
  // How many of up to 16 keys are smaller, or equal and before them: keys[i][row] of 8 rows, in
  // memory that begins with a cache line.
  void (*rank_few)(const uint64_t (*keys)[8], int64_t n, uint64_t (*ranks)[8]) = nullptr;
  DistanceKernels<float> distance_f32;
  DistanceKernels<double> distance_f64;
  GemmKernels<float> gemm_f32;
  GemmKernels<double> gemm_f64;
  void (*bfloat_gemm)(const BFloatPiece& piece) = nullptr;
  void (*integer_gemm[4])(const IntegerProduct& product) = {};  // of 1, 2, 4 and 8 bytes
  RnnKernels<float> rnn_f32;
  RnnKernels<double> rnn_f64;
  RandomFn<float> uniform_f32 = nullptr, normal_f32 = nullptr;
  RandomFn<double> uniform_f64 = nullptr, normal_f64 = nullptr;
  RandomFn<uint64_t> bits_u64 = nullptr;
  void (*drop)(const Dropout& part, const float* draws) = nullptr;
  void (*drop_rows_f32)(float* x, int64_t rows, int64_t count,
                        const RowDrops<float>& drops) = nullptr;
  void (*drop_rows_f64)(double* x, int64_t rows, int64_t count,
                        const RowDrops<double>& drops) = nullptr;
};

// The table for this processor.
const Kernels& kernels();

template <class T>
const GemmKernels<T>& gemm_kernels_of() {
  if constexpr (std::is_same_v<T, float>) {
    return kernels().gemm_f32;
  } else {
    return kernels().gemm_f64;
  }
}

// X(namespace)
#if defined(WISP_ALL_ISAS)
#define WISP_FOR_EACH_ISA(X) X(baseline) X(avx2) X(avx512)
#else
#define WISP_FOR_EACH_ISA(X) X(baseline)
#endif

// Each file of this folder defines one of these per instruction set.
#define WISP_DECLARE(isa)                 \
  namespace isa {                         \
  void fill_arithmetic(Kernels& table);   \
  void fill_logic(Kernels& table);        \
  void fill_rounding(Kernels& table);     \
  void fill_math(Kernels& table);         \
  void fill_ternary(Kernels& table);      \
  void fill_activation(Kernels& table);   \
  void fill_loss(Kernels& table);         \
  void fill_layer_norm(Kernels& table);   \
  void fill_channels(Kernels& table);     \
  void fill_cast(Kernels& table);         \
  void fill_reduce(Kernels& table);       \
  void fill_extremes(Kernels& table);     \
  void fill_norms(Kernels& table);        \
  void fill_distance(Kernels& table);     \
  void fill_halves(Kernels& table);       \
  void fill_scan(Kernels& table);         \
  void fill_softmax(Kernels& table);      \
  void fill_gemm(Kernels& table);         \
  void fill_bfloat_gemm(Kernels& table);  \
  void fill_integer_gemm(Kernels& table); \
  void fill_random(Kernels& table);       \
  void fill_rnn(Kernels& table);          \
  }
WISP_FOR_EACH_ISA(WISP_DECLARE)
#undef WISP_DECLARE

// Kernels that gain nothing from wider vectors, compiled once.
void fill_complex_math(Kernels& table);
void fill_special_math(Kernels& table);
void fill_stored_casts(Kernels& table);

}  // namespace wisp::cpu
