#include "cpu/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "cpu/bfloat_gemm.h"
#include "cpu/gemm.h"
#include "cpu/isa.h"
#include "cpu/kernels/kernels.h"
#include "cpu/scratch.h"

namespace wisp::cpu {

#define WISP_DECLARE(isa)                     \
  namespace isa {                             \
  void fill_attention(AttentionTable& table); \
  }
WISP_FOR_EACH_ISA(WISP_DECLARE)
#undef WISP_DECLARE

namespace {

// A block of scores stays in the second-level cache.
constexpr int64_t block_queries = 128, block_keys = 512;

const AttentionTable& table() {
  static const AttentionTable table = [] {
    AttentionTable filled;
    WISP_FILL_FOR_ISA(fill_attention, filled);
    return filled;
  }();
  return table;
}

template <class T>
const AttentionKernels<T>& kernels_for() {
  if constexpr (std::is_same_v<T, float>) {
    return table().f32;
  } else {
    return table().f64;
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

Matrix turned(const Matrix& m) { return {m.data, m.cols, m.rows, m.col, m.row}; }

// C = alpha * A * B, or C + that: numbers are multiplied as what they are held as, and summed as T.
template <class T, class Held>
void multiply(const Matrix& a, const Matrix& b, const Matrix& c, double alpha, bool goes_on) {
  if constexpr (std::is_same_v<Held, BFloat16>) {
    bfloat_product_to_float(a, b, c, static_cast<float>(alpha), goes_on ? 1 : 0);
  } else {
    gemm(dtype_of<T>, a, b, c, alpha, goes_on ? 1 : 0);
  }
}

// Computed numbers as a factor of a product.
template <class T, class Held>
class Factor {
 public:
  explicit Factor(int64_t most) : rounded_(std::is_same_v<T, Held> ? 0 : most) {}
  Matrix of(T* data, int64_t rows, int64_t cols) const {
    if constexpr (std::is_same_v<T, Held>) {
      return dense(data, rows, cols);
    } else {
      table().round(data, rows * cols, rounded_.data());
      return dense(rounded_.data(), rows, cols);
    }
  }

 private:
  Scratch<Held> rounded_;
};

// Queries and keys of one block.
struct Block {
  int64_t head, query, queries, key, keys;
};

template <class T>
void apply_mask(const AttentionShape& shape, const Block& block, T* scores) {
  const AttentionMask& mask = shape.mask;
  const int64_t item = mask.is_bool ? 1 : static_cast<int64_t>(sizeof(T));
  for (int64_t i = 0; i < block.queries; ++i) {
    T* row = scores + i * block.keys;
    const char* from =
        mask.data +
        (mask.at[block.head] + (block.query + i) * mask.row + block.key * mask.col) * item;
    for (int64_t j = 0; j < block.keys; ++j) {
      if (mask.is_bool) {
        if (!from[j * mask.col]) row[j] = -std::numeric_limits<T>::infinity();
      } else {
        row[j] += reinterpret_cast<const T*>(from)[j * mask.col];
      }
    }
  }
}

template <class T>
void apply_causal(const Block& block, T* scores) {
  for (int64_t i = 0; i < block.queries; ++i) {
    const int64_t seen = std::clamp<int64_t>(block.query + i + 1 - block.key, 0, block.keys);
    T* row = scores + i * block.keys;
    std::fill(row + seen, row + block.keys, -std::numeric_limits<T>::infinity());
  }
}

template <class T, class Held>
void compute_scores(const AttentionShape& shape, const Block& b, T* scores) {
  const Matrix q = rows_of<Held>(shape.q, b.head, b.query, b.queries, shape.width);
  const Matrix k = rows_of<Held>(shape.k, b.head / shape.group, b.key, b.keys, shape.width);
  multiply<T, Held>(q, turned(k), dense(scores, b.queries, b.keys), shape.scale, false);
  if (shape.mask.data) apply_mask(shape, b, scores);
  if (shape.causal && b.key + b.keys > b.query + 1) apply_causal(b, scores);
}

// Keys that some of the queries see.
int64_t keys_seen(const AttentionShape& shape, int64_t query, int64_t queries) {
  return shape.causal ? std::min(shape.keys, query + queries) : shape.keys;
}

// The result of some queries of one head. What was added up for earlier keys is scaled whenever a
// larger score turns up.
template <class T, class Held>
void attend(const AttentionShape& shape, Block b, const MatrixStack& out, T* log_sums) {
  const auto& kernel = kernels_for<T>();
  const Scratch<T> scores(b.queries * std::min(block_keys, shape.keys));
  const Factor<T, Held> probabilities(scores.size());
  const Scratch<T> result(b.queries * shape.value_width), largest(b.queries);
  const Scratch<double> sums(b.queries);
  std::fill(result.begin(), result.end(), T(0));
  std::fill(largest.begin(), largest.end(), -std::numeric_limits<T>::infinity());
  std::fill(sums.begin(), sums.end(), 0.0);
  const int64_t seen = keys_seen(shape, b.query, b.queries);
  for (b.key = 0; b.key < seen; b.key += block_keys) {
    b.keys = std::min(block_keys, seen - b.key);
    compute_scores<T, Held>(shape, b, scores.data());
    for (int64_t i = 0; i < b.queries; ++i) {
      const T factor = kernel.soften(scores.data() + i * b.keys, b.keys, largest[i], sums[i]);
      if (b.key > 0 && factor != 1)
        kernel.multiply(result.data() + i * shape.value_width, shape.value_width, factor);
    }
    const Matrix v = rows_of<Held>(shape.v, b.head / shape.group, b.key, b.keys, shape.value_width);
    multiply<T, Held>(probabilities.of(scores.data(), b.queries, b.keys), v,
                      dense(result.data(), b.queries, shape.value_width), 1, b.key > 0);
  }
  for (int64_t i = 0; i < b.queries; ++i) {
    const T* from = result.data() + i * shape.value_width;
    Held* to = reinterpret_cast<Held*>(out.data) + out.at[b.head] + (b.query + i) * out.row;
    const T factor = sums[i] == 0 ? T(0) : static_cast<T>(1 / sums[i]);
    for (int64_t j = 0; j < shape.value_width; ++j) to[j] = Held(from[j] * factor);
    log_sums[b.head * shape.queries + b.query + i] =
        sums[i] == 0 ? -std::numeric_limits<T>::infinity()
                     : static_cast<T>(static_cast<double>(largest[i]) + std::log(sums[i]));
  }
}

// The gradients that flow through one block, added to where they belong.
template <class T, class Held>
class BlockGrad {
 public:
  BlockGrad(const AttentionShape& shape, const AttentionGrad& call)
      : shape_(shape),
        call_(call),
        p_(block_queries * std::min(block_keys, shape.keys)),
        d_(p_.size()),
        delta_(block_queries),
        p_factor_(p_.size()),
        d_factor_(p_.size()) {}

  // Everything that queries of one head send back.
  void run(Block b) {
    sum_of_products(b);
    const int64_t seen = keys_seen(shape_, b.query, b.queries);
    for (b.key = 0; b.key < seen; b.key += block_keys) {
      b.keys = std::min(block_keys, seen - b.key);
      one(b);
    }
  }

 private:
  // sum(grad * out) of every query: what softmax takes off.
  void sum_of_products(const Block& b) {
    for (int64_t i = 0; i < b.queries; ++i) {
      const Held* out = row(call_.out, b.head, b.query + i);
      const Held* grad = row(call_.grad, b.head, b.query + i);
      double sum = 0;
      for (int64_t j = 0; j < shape_.value_width; ++j)
        sum += static_cast<double>(out[j]) * static_cast<double>(grad[j]);
      delta_[i] = static_cast<T>(sum);
    }
  }

  void one(const Block& b) {
    const auto& kernel = kernels_for<T>();
    const int64_t shared = b.head / shape_.group;
    compute_scores<T, Held>(shape_, b, p_.data());
    const T* log_sums = reinterpret_cast<const T*>(call_.log_sums) + b.head * shape_.queries;
    for (int64_t i = 0; i < b.queries; ++i)
      kernel.probabilities(p_.data() + i * b.keys, b.keys, log_sums[b.query + i]);
    const Matrix grad = rows_of<Held>(call_.grad, b.head, b.query, b.queries, shape_.value_width);
    if (call_.v_grad)
      multiply<T, Held>(
          turned(p_factor_.of(p_.data(), b.queries, b.keys)), grad,
          part(call_.v_grad, shared * shape_.keys + b.key, b.keys, shape_.value_width), 1, true);
    if (!call_.q_grad && !call_.k_grad) return;
    const Matrix v = rows_of<Held>(shape_.v, shared, b.key, b.keys, shape_.value_width);
    multiply<T, Held>(grad, turned(v), dense(d_.data(), b.queries, b.keys), 1, false);
    for (int64_t i = 0; i < b.queries; ++i)
      kernel.score_grads(d_.data() + i * b.keys, p_.data() + i * b.keys, b.keys, delta_[i],
                         static_cast<T>(shape_.scale));
    const Matrix d = d_factor_.of(d_.data(), b.queries, b.keys);
    const Matrix q = rows_of<Held>(shape_.q, b.head, b.query, b.queries, shape_.width);
    const Matrix k = rows_of<Held>(shape_.k, shared, b.key, b.keys, shape_.width);
    if (call_.q_grad)
      multiply<T, Held>(
          d, k, part(call_.q_grad, b.head * shape_.queries + b.query, b.queries, shape_.width), 1,
          true);
    if (call_.k_grad)
      multiply<T, Held>(turned(d), q,
                        part(call_.k_grad, shared * shape_.keys + b.key, b.keys, shape_.width), 1,
                        true);
  }

  static const Held* row(const MatrixStack& stack, int64_t matrix, int64_t i) {
    return reinterpret_cast<const Held*>(stack.data) + stack.at[matrix] + i * stack.row;
  }
  static Matrix part(char* data, int64_t first, int64_t rows, int64_t width) {
    return dense(reinterpret_cast<T*>(data) + first * width, rows, width);
  }

  const AttentionShape& shape_;
  const AttentionGrad& call_;
  Scratch<T> p_, d_, delta_;
  Factor<T, Held> p_factor_, d_factor_;
};

template <class T>
void clear(char* data, int64_t n) {
  if (data) std::fill_n(reinterpret_cast<T*>(data), n, T(0));
}

// f<what is computed in, what matrices are held as>()
template <class F>
void by_dtype(const AttentionShape& shape, F f) {
  visit<dtypes::real_math>(shape.dtype, "scaled_dot_product_attention", [&]<class T>() {
    if constexpr (std::is_same_v<T, float>) {
      if (shape.bfloat16) return f.template operator()<T, BFloat16>();
    }
    f.template operator()<T, T>();
  });
}

}  // namespace

void attention(const AttentionShape& shape, const MatrixStack& out, char* log_sums) {
  const int64_t blocks = (shape.queries + block_queries - 1) / block_queries;
  by_dtype(shape, [&]<class T, class Held>() {
    const double work = static_cast<double>(std::min(block_queries, shape.queries)) *
                        static_cast<double>(shape.keys) *
                        static_cast<double>(shape.width + shape.value_width + 16);
    const int64_t grain = std::max<int64_t>(1, static_cast<int64_t>(2e5 / (work + 1)));
    parallel_for(shape.heads * blocks, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t query = i % blocks * block_queries;
        attend<T, Held>(shape,
                        {i / blocks, query, std::min(block_queries, shape.queries - query), 0, 0},
                        out, reinterpret_cast<T*>(log_sums));
      }
    });
  });
}

// Heads that share keys and values belong to one thread: what is added up is added in order.
void attention_grad(const AttentionShape& shape, const AttentionGrad& call) {
  const int64_t shared = shape.heads / std::max<int64_t>(shape.group, 1);
  by_dtype(shape, [&]<class T, class Held>() {
    clear<T>(call.q_grad, shape.heads * shape.queries * shape.width);
    clear<T>(call.k_grad, shared * shape.keys * shape.width);
    clear<T>(call.v_grad, shared * shape.keys * shape.value_width);
    const double work = static_cast<double>(shape.group * shape.queries) *
                        static_cast<double>(shape.keys) *
                        static_cast<double>(shape.width + shape.value_width + 16);
    const int64_t grain = std::max<int64_t>(1, static_cast<int64_t>(1e5 / (work + 1)));
    parallel_for(shared, grain, [&](int64_t begin, int64_t end) {
      BlockGrad<T, Held> grad(shape, call);
      for (int64_t head = begin * shape.group; head < end * shape.group; ++head) {
        for (int64_t query = 0; query < shape.queries; query += block_queries)
          grad.run({head, query, std::min(block_queries, shape.queries - query), 0, 0});
      }
    });
  });
}

}  // namespace wisp::cpu
