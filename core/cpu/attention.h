// Attention, softmax(Q K' scale + mask) V, block by block: the matrix of scores is never whole.
#pragma once

#include "base/dtype.h"
#include "base/half.h"
#include "cpu/random.h"

namespace wisp::cpu {

// Matrices with consecutive rows: matrix i begins `at[i]` elements behind `data`, and its rows are
// `row` elements apart.
struct MatrixStack {
  char* data;
  const int64_t* at;
  int64_t row;
};

// What is added to the scores, or bools that say which of them take part.
struct AttentionMask {
  const char* data = nullptr;  // null: there is none
  const int64_t* at = nullptr;
  int64_t row = 0, col = 0;
  bool is_bool = false;
};

// Probabilities that are dropped: which ones follows from these numbers and their place alone.
struct AttentionDrops {
  double p = 0;  // 0: none
  RandomStream stream = {};
};

struct AttentionShape {
  DType dtype;  // float32 or float64, of all but masks of bools
  // Queries, keys, values, the result and its gradient are bfloat16 instead, all else is float32:
  // for processors that multiply such numbers.
  bool bfloat16;
  int64_t heads;
  int64_t group;  // so many neighbouring heads of queries share keys and values
  int64_t queries, keys, width, value_width;
  double scale;
  bool causal;  // query i sees keys up to i
  MatrixStack q, k, v;
  AttentionMask mask;
  AttentionDrops drops;
};

// `out` has `heads` matrices; log_sums has a number per query, (heads, queries).
void attention(const AttentionShape& shape, const MatrixStack& out, char* log_sums);

// Gradients that are wanted; null otherwise. Consecutive: (heads, queries, ...), or, of keys and
// values, (heads / group, keys, ...).
struct AttentionWanted {
  char* grad_grad = nullptr;  // of the gradient of the result
  char *q_grad = nullptr, *k_grad = nullptr, *v_grad = nullptr;
  // Of a mask of numbers, given as the mask is: where its strides are 0, that is one number.
  AttentionMask mask_grad = {};
  int64_t mask_size = 0;
  bool any() const { return grad_grad || q_grad || k_grad || v_grad; }
};

struct AttentionGrad {
  MatrixStack out, grad;  // the result, and its gradient
  const char* log_sums;
  AttentionWanted wanted = {};
};
void attention_grad(const AttentionShape& shape, const AttentionGrad& call);

// The gradients of sum(u * q_grad) + sum(w * k_grad) + sum(z * v_grad) + sum(m * mask_grad), which
// are what attention_grad finds: directions that are null are 0.
struct AttentionSecondGrad : AttentionGrad {
  MatrixStack u = {}, w = {}, z = {};
  AttentionMask m = {};
};
void attention_second_grad(const AttentionShape& shape, const AttentionSecondGrad& call);

// Counters that the drops of so many rows of scores take.
uint64_t counters_for_drops(int64_t rows, int64_t keys);
// Scores of some neighbouring queries, `count` of `queries` from `first` on, of one head after the
// other, with those dropped that the kernels above would drop.
struct ScoreRows {
  int64_t heads, queries, first, count, keys;
};
void drop_scores(DType dtype, char* scores, const ScoreRows& rows, const AttentionDrops& drops);

// --- Compiled once per instruction set

template <class T>
struct AttentionKernels {
  // Scores become exp(score - largest), where `largest` grows with them; `sum` follows. Returns the
  // factor for what was summed up before.
  T (*soften)(T* scores, int64_t n, T& largest, double& sum) = nullptr;
  // Scores become probabilities.
  void (*probabilities)(T* scores, int64_t n, T log_sum) = nullptr;
  // d = p * (d - shift).
  void (*score_grads)(T* d, const T* p, int64_t n, T shift) = nullptr;
  // Adds up p * h, and p * (d * h + c).
  void (*second_sums)(const T* p, const T* d, const T* h, const T* c, int64_t n,
                      double sums[2]) = nullptr;
  // c = p * ((d - d_mean) * (h - h_mean) + c - mean), d = p * (d - d_mean), h = p * (h - h_mean).
  void (*second_grads)(const T* p, T* d, T* h, T* c, int64_t n, const T means[3]) = nullptr;
  void (*multiply)(T* x, int64_t n, T factor) = nullptr;
};
struct AttentionTable {
  AttentionKernels<float> f32;
  AttentionKernels<double> f64;
  void (*round)(const float* from, int64_t n, BFloat16* to) = nullptr;
};

}  // namespace wisp::cpu
