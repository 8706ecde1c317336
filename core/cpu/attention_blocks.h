// What attention and its gradients share: blocks of scores, and who adds up which of their sums.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "base/parallel.h"
#include "cpu/attention.h"
#include "cpu/bfloat_gemm.h"
#include "cpu/block_gemm.h"
#include "cpu/scratch.h"

namespace wisp::cpu::attention_blocks {

// A block of scores stays in the second-level cache.
inline constexpr int64_t block_queries = 128, block_keys = 512;

inline int64_t count_blocks(int64_t n, int64_t block) { return (n + block - 1) / block; }

const AttentionTable& attention_table();

template <class T>
const AttentionKernels<T>& attention_kernels() {
  if constexpr (std::is_same_v<T, float>) {
    return attention_table().f32;
  } else {
    return attention_table().f64;
  }
}

// Some rows of one matrix of a stack.
template <class T>
Matrix rows_of(const MatrixStack& stack, int64_t matrix, int64_t first, int64_t count,
               int64_t width) {
  return {stack.data + (stack.at[matrix] + first * stack.row) * static_cast<int64_t>(sizeof(T)),
          count, width, stack.row, 1};
}

template <class T>
Matrix dense(T* data, int64_t rows, int64_t cols) {
  return {reinterpret_cast<char*>(data), rows, cols, cols, 1};
}

// Some rows of consecutive ones.
template <class T>
Matrix dense_rows(char* data, int64_t first, int64_t rows, int64_t width) {
  return dense(reinterpret_cast<T*>(data) + first * width, rows, width);
}

inline Matrix turned(const Matrix& m) { return {m.data, m.cols, m.rows, m.col, m.row}; }

// C = alpha * A * B, or C + that: numbers are multiplied as what they are held as, and summed as T.
template <class T, class Held>
void multiply(const Matrix& a, const Matrix& b, const Matrix& c, double alpha, bool goes_on) {
  if constexpr (std::is_same_v<Held, BFloat16>) {
    bfloat_product_to_float(a, b, c, static_cast<float>(alpha), goes_on ? 1 : 0);
  } else {
    block_gemm<T>(a, b, c, static_cast<T>(alpha), goes_on ? 1 : 0);
  }
}

// Queries and keys of one block.
struct Block {
  int64_t head, query, queries, key, keys;
};

inline Block query_block(const AttentionShape& shape, int64_t head, int64_t block) {
  const int64_t query = block * block_queries;
  return {head, query, std::min(block_queries, shape.queries - query), 0, 0};
}

// Keys that some of the queries see.
inline int64_t keys_seen(const AttentionShape& shape, const Block& b) {
  return shape.causal ? std::min(shape.keys, b.query + b.queries) : shape.keys;
}

// f(block) for every block of keys that some of its queries see.
template <class F>
void each_key_block(const AttentionShape& shape, Block b, F f) {
  const int64_t seen = keys_seen(shape, b);
  for (b.key = 0; b.key < seen; b.key += block_keys) {
    b.keys = std::min(block_keys, seen - b.key);
    f(static_cast<const Block&>(b));
  }
}

// Where the numbers of a mask for a row of a block begin, counted from its first.
inline int64_t mask_row(const AttentionMask& mask, const Block& b, int64_t i) {
  return mask.at[b.head] + (b.query + i) * mask.row + b.key * mask.col;
}

template <class T, class Held>
void compute_scores(const AttentionShape& shape, const Block& b, T* scores);
template <class T>
void add_mask(const AttentionMask& mask, const Block& b, T* scores);
template <class T>
void add_to_mask_grad(const AttentionMask& mask_grad, const Block& b, const T* score_grads);
// Scores become probabilities; `log_sums` are those of all queries.
template <class T, class Held>
void find_probabilities(const AttentionShape& shape, const Block& b, const char* log_sums, T* p);
// sum(grad * out) of every query: what softmax takes off.
template <class T, class Held>
void sum_of_products(const AttentionShape& shape, const AttentionGrad& call, const Block& b, T* to);
// Where numbers are dropped at all.
template <class T>
void drop_some(const AttentionShape& shape, const Block& b, T* numbers);

// Before sums are made there, by the same thread: what is cleared stays in its cache.
template <class T>
void clear_rows(char* data, int64_t first, int64_t rows, int64_t width) {
  if (data) std::fill_n(reinterpret_cast<T*>(data) + first * width, rows * width, T(0));
}

// How many pieces of so many rows of scores are worth a thread.
inline int64_t grain_of(const AttentionShape& shape, double rows) {
  const double work = rows * static_cast<double>(shape.keys) *
                      static_cast<double>(shape.width + shape.value_width + 16);
  return std::max<int64_t>(1, static_cast<int64_t>(2e5 / (work + 1)));
}

// Adds what some blocks of queries send back, one after the other, to what is wanted.
class GradientWork {
 public:
  template <class F>
  explicit GradientWork(const F& f)
      : f_(&f),
        call_([](const void* f, const AttentionWanted& wanted, std::span<const Block> some) {
          (*static_cast<const F*>(f))(wanted, some);
        }) {}
  void operator()(const AttentionWanted& wanted, std::span<const Block> blocks) const {
    call_(f_, wanted, blocks);
  }

 private:
  const void* f_;
  void (*call_)(const void*, const AttentionWanted&, std::span<const Block>);
};
// All blocks of queries: on several threads, but so that every sum is added up in the same order.
void run_gradients(const AttentionShape& shape, const AttentionWanted& wanted, GradientWork work);

}  // namespace wisp::cpu::attention_blocks
