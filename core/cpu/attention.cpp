#include "cpu/attention.h"

#include "cpu/attention_blocks.h"
#include "cpu/isa.h"
#include "cpu/kernels/kernels.h"

namespace wisp::cpu {

#define WISP_DECLARE(isa)                     \
  namespace isa {                             \
  void fill_attention(AttentionTable& table); \
  }
WISP_FOR_EACH_ISA(WISP_DECLARE)
#undef WISP_DECLARE

namespace attention_blocks {

const AttentionTable& attention_table() {
  static const AttentionTable table = [] {
    AttentionTable filled;
    WISP_FILL_FOR_ISA(fill_attention, filled);
    return filled;
  }();
  return table;
}

// --- Blocks of scores

namespace {

template <class T>
void exclude(const AttentionMask& mask, const Block& b, T* scores) {
  for (int64_t i = 0; i < b.queries; ++i) {
    T* row = scores + i * b.keys;
    const char* from = mask.data + mask_row(mask, b, i);
    for (int64_t j = 0; j < b.keys; ++j) {
      if (!from[j * mask.col]) row[j] = -std::numeric_limits<T>::infinity();
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

// Of some rows of scores those of `count` keys, from one on that begins a block. The rows have so
// many keys in all, of which the numbers given are the first of their block.
template <class T>
void drop_part(const AttentionDrops& drops, int64_t row, int64_t rows, int64_t keys, int64_t key,
               T* numbers, int64_t count) {
  static_assert(block_keys == most_drops_per_row);
  const int64_t step = count_blocks(keys, block_keys) * counters_per_row;
  const int64_t at = row * step + key / block_keys * counters_per_row;
  const RowDrops<T> part = {
      .stream = {drops.stream.seed, drops.stream.counter + static_cast<uint64_t>(at)},
      .step = static_cast<uint64_t>(step),
      .length = std::min(block_keys, keys - key),
      .keep = static_cast<uint32_t>(std::lround((1 - drops.p) * 65536)),
      .scale = static_cast<T>(drops.p < 1 ? 1 / (1 - drops.p) : 0)};
  if constexpr (std::is_same_v<T, float>) {
    kernels().drop_rows_f32(numbers, rows, count, part);
  } else {
    kernels().drop_rows_f64(numbers, rows, count, part);
  }
}

}  // namespace

template <class T>
void add_mask(const AttentionMask& mask, const Block& b, T* scores) {
  for (int64_t i = 0; i < b.queries; ++i) {
    T* row = scores + i * b.keys;
    const T* from = reinterpret_cast<const T*>(mask.data) + mask_row(mask, b, i);
    if (mask.col == 1) {
      for (int64_t j = 0; j < b.keys; ++j) row[j] += from[j];
    } else {
      for (int64_t j = 0; j < b.keys; ++j) row[j] += from[j * mask.col];
    }
  }
}

template <class T>
void add_to_mask_grad(const AttentionMask& mask_grad, const Block& b, const T* score_grads) {
  for (int64_t i = 0; i < b.queries; ++i) {
    const T* d = score_grads + i * b.keys;
    T* to = reinterpret_cast<T*>(const_cast<char*>(mask_grad.data)) + mask_row(mask_grad, b, i);
    if (mask_grad.col == 1) {
#pragma GCC ivdep
      for (int64_t j = 0; j < b.keys; ++j) to[j] += d[j];
    } else {
      for (int64_t j = 0; j < b.keys; ++j) to[j * mask_grad.col] += d[j];
    }
  }
}

template <class T, class Held>
void compute_scores(const AttentionShape& shape, const Block& b, T* scores) {
  const Matrix q = rows_of<Held>(shape.q, b.head, b.query, b.queries, shape.width);
  const Matrix k = rows_of<Held>(shape.k, b.head / shape.group, b.key, b.keys, shape.width);
  multiply<T, Held>(q, turned(k), dense(scores, b.queries, b.keys), shape.scale, false);
  if (shape.mask.data)
    shape.mask.is_bool ? exclude(shape.mask, b, scores) : add_mask(shape.mask, b, scores);
  if (shape.causal && b.key + b.keys > b.query + 1) apply_causal(b, scores);
}

template <class T, class Held>
void find_probabilities(const AttentionShape& shape, const Block& b, const char* log_sums, T* p) {
  compute_scores<T, Held>(shape, b, p);
  const T* own = reinterpret_cast<const T*>(log_sums) + b.head * shape.queries + b.query;
  for (int64_t i = 0; i < b.queries; ++i)
    attention_kernels<T>().probabilities(p + i * b.keys, b.keys, own[i]);
}

template <class T, class Held>
void sum_of_products(const AttentionShape& shape, const AttentionGrad& call, const Block& b,
                     T* to) {
  const auto row = [&](const MatrixStack& stack, int64_t i) {
    return reinterpret_cast<const Held*>(stack.data) + stack.at[b.head] + i * stack.row;
  };
  for (int64_t i = 0; i < b.queries; ++i) {
    const Held *out = row(call.out, b.query + i), *grad = row(call.grad, b.query + i);
    double sum = 0;
    for (int64_t j = 0; j < shape.value_width; ++j)
      sum += static_cast<double>(out[j]) * static_cast<double>(grad[j]);
    to[i] = static_cast<T>(sum);
  }
}

template <class T>
void drop_some(const AttentionShape& shape, const Block& b, T* numbers) {
  if (shape.drops.p == 0) return;
  drop_part(shape.drops, b.head * shape.queries + b.query, b.queries, shape.keys, b.key, numbers,
            b.keys);
}

#define WISP_FOR_HELD(T, Held)                                                                     \
  template void compute_scores<T, Held>(const AttentionShape&, const Block&, T*);                  \
  template void find_probabilities<T, Held>(const AttentionShape&, const Block&, const char*, T*); \
  template void sum_of_products<T, Held>(const AttentionShape&, const AttentionGrad&,              \
                                         const Block&, T*);
WISP_FOR_HELD(float, float)
WISP_FOR_HELD(float, BFloat16)
WISP_FOR_HELD(double, double)
#undef WISP_FOR_HELD
#define WISP_FOR_TYPE(T)                                                           \
  template void add_mask<T>(const AttentionMask&, const Block&, T*);               \
  template void add_to_mask_grad<T>(const AttentionMask&, const Block&, const T*); \
  template void drop_some<T>(const AttentionShape&, const Block&, T*);
WISP_FOR_TYPE(float)
WISP_FOR_TYPE(double)
#undef WISP_FOR_TYPE

}  // namespace attention_blocks

using namespace attention_blocks;

// --- The result, and its gradients

namespace {

// Computed numbers as a factor of a product.
template <class T, class Held>
class Factor {
 public:
  explicit Factor(int64_t most) : rounded_(std::is_same_v<T, Held> ? 0 : most) {}
  Matrix of(T* data, int64_t rows, int64_t cols) const {
    if constexpr (std::is_same_v<T, Held>) {
      return dense(data, rows, cols);
    } else {
      attention_table().round(data, rows * cols, rounded_.data());
      return dense(rounded_.data(), rows, cols);
    }
  }

 private:
  Scratch<Held> rounded_;
};

// The result of some queries of one head. What was added up for earlier keys is scaled whenever a
// larger score turns up.
template <class T, class Held>
void attend(const AttentionShape& shape, Block b, const MatrixStack& out, T* log_sums) {
  const auto& kernel = attention_kernels<T>();
  const Scratch<T> scores(b.queries * std::min(block_keys, shape.keys));
  const Factor<T, Held> probabilities(scores.size());
  const Scratch<T> result(b.queries * shape.value_width), largest(b.queries);
  const Scratch<double> sums(b.queries);
  std::fill(result.begin(), result.end(), T(0));
  std::fill(largest.begin(), largest.end(), -std::numeric_limits<T>::infinity());
  std::fill(sums.begin(), sums.end(), 0.0);
  each_key_block(shape, b, [&](const Block& b) {
    compute_scores<T, Held>(shape, b, scores.data());
    for (int64_t i = 0; i < b.queries; ++i) {
      const T factor = kernel.soften(scores.data() + i * b.keys, b.keys, largest[i], sums[i]);
      if (b.key > 0 && factor != 1)
        kernel.multiply(result.data() + i * shape.value_width, shape.value_width, factor);
    }
    drop_some(shape, b, scores.data());
    const Matrix v = rows_of<Held>(shape.v, b.head / shape.group, b.key, b.keys, shape.value_width);
    multiply<T, Held>(probabilities.of(scores.data(), b.queries, b.keys), v,
                      dense(result.data(), b.queries, shape.value_width), 1, b.key > 0);
  });
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
  BlockGrad(const AttentionShape& shape, const AttentionGrad& call, const AttentionWanted& wanted)
      : shape_(shape),
        call_(call),
        wanted_(wanted),
        p_(block_queries * std::min(block_keys, shape.keys)),
        d_(p_.size()),
        delta_(block_queries),
        p_factor_(p_.size()),
        d_factor_(p_.size()) {}

  // Everything that queries of one head send back.
  void run(const Block& block) {
    const int64_t first = block.head * shape_.queries + block.query;
    clear_rows<T>(wanted_.q_grad, first, block.queries, shape_.width);
    sum_of_products<T, Held>(shape_, call_, block, delta_.data());
    each_key_block(shape_, block, [&](const Block& b) {
      find_probabilities<T, Held>(shape_, b, call_.log_sums, p_.data());
      if (wanted_.v_grad) add_value_grads(b);
      if (!wanted_.q_grad && !wanted_.k_grad && !wanted_.mask_grad.data) return;
      find_score_grads(b);
      if (wanted_.mask_grad.data) add_to_mask_grad(wanted_.mask_grad, b, d_.data());
      if (wanted_.q_grad || wanted_.k_grad) add_query_and_key_grads(b);
    });
  }

 private:
  void add_value_grads(const Block& b) {
    T* used = p_.data();
    if (shape_.drops.p > 0) {
      std::copy_n(p_.data(), b.queries * b.keys, d_.data());
      used = d_.data();
      drop_some(shape_, b, used);
    }
    multiply<T, Held>(
        turned(p_factor_.of(used, b.queries, b.keys)), grad_rows(b),
        dense_rows<T>(wanted_.v_grad, shared(b) * shape_.keys + b.key, b.keys, shape_.value_width),
        1, true);
  }

  void find_score_grads(const Block& b) {
    const Matrix v = rows_of<Held>(shape_.v, shared(b), b.key, b.keys, shape_.value_width);
    multiply<T, Held>(grad_rows(b), turned(v), dense(d_.data(), b.queries, b.keys), 1, false);
    drop_some(shape_, b, d_.data());
    for (int64_t i = 0; i < b.queries; ++i)
      attention_kernels<T>().score_grads(d_.data() + i * b.keys, p_.data() + i * b.keys, b.keys,
                                         delta_[i]);
  }

  void add_query_and_key_grads(const Block& b) {
    const Matrix d = d_factor_.of(d_.data(), b.queries, b.keys);
    const Matrix q = rows_of<Held>(shape_.q, b.head, b.query, b.queries, shape_.width);
    const Matrix k = rows_of<Held>(shape_.k, shared(b), b.key, b.keys, shape_.width);
    if (wanted_.q_grad)
      multiply<T, Held>(
          d, k,
          dense_rows<T>(wanted_.q_grad, b.head * shape_.queries + b.query, b.queries, shape_.width),
          shape_.scale, true);
    if (wanted_.k_grad)
      multiply<T, Held>(
          turned(d), q,
          dense_rows<T>(wanted_.k_grad, shared(b) * shape_.keys + b.key, b.keys, shape_.width),
          shape_.scale, true);
  }

  int64_t shared(const Block& b) const { return b.head / shape_.group; }
  Matrix grad_rows(const Block& b) const {
    return rows_of<Held>(call_.grad, b.head, b.query, b.queries, shape_.value_width);
  }

  const AttentionShape& shape_;
  const AttentionGrad& call_;
  const AttentionWanted& wanted_;
  Scratch<T> p_, d_, delta_;
  Factor<T, Held> p_factor_, d_factor_;
};

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
  const int64_t blocks = count_blocks(shape.queries, block_queries);
  by_dtype(shape, [&]<class T, class Held>() {
    const double rows = static_cast<double>(std::min(block_queries, shape.queries));
    parallel_for(shape.heads * blocks, grain_of(shape, rows), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        attend<T, Held>(shape, query_block(shape, i / blocks, i % blocks), out,
                        reinterpret_cast<T*>(log_sums));
    });
  });
}

void attention_grad(const AttentionShape& shape, const AttentionGrad& call) {
  by_dtype(shape, [&]<class T, class Held>() {
    const auto work = [&](const AttentionWanted& wanted, std::span<const Block> blocks) {
      BlockGrad<T, Held> grad(shape, call, wanted);
      for (const Block& block : blocks) grad.run(block);
    };
    run_gradients(shape, call.wanted, GradientWork(work));
  });
}

uint64_t counters_for_drops(int64_t rows, int64_t keys) {
  return static_cast<uint64_t>(rows) *
         static_cast<uint64_t>(count_blocks(keys, block_keys) * counters_per_row);
}

void drop_scores(DType dtype, char* scores, const ScoreRows& rows, const AttentionDrops& drops) {
  visit<dtypes::real_math>(dtype, "scaled_dot_product_attention", [&]<class T>() {
    const int64_t keys = rows.keys;
    parallel_for(
        rows.heads * rows.count, 1 + (1 << 14) / (keys + 1), [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t row = i / rows.count * rows.queries + rows.first + i % rows.count;
            T* numbers = reinterpret_cast<T*>(scores) + i * keys;
            for (int64_t key = 0; key < keys; key += block_keys)
              drop_part(drops, row, 1, keys, key, numbers + key, std::min(block_keys, keys - key));
          }
        });
  });
}

}  // namespace wisp::cpu
