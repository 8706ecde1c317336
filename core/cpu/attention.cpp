#include "cpu/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "base/parallel.h"
#include "cpu/bfloat_gemm.h"
#include "cpu/block_gemm.h"
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

int64_t count_blocks(int64_t n, int64_t block) { return (n + block - 1) / block; }

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
    block_gemm<T>(a, b, c, static_cast<T>(alpha), goes_on ? 1 : 0);
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

template <class T>
void drop_some(const AttentionShape& shape, const Block& b, T* numbers) {
  drop_part(shape.drops, b.head * shape.queries + b.query, b.queries, shape.keys, b.key, numbers,
            b.keys);
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
    if (shape.drops.p > 0) drop_some(shape, b, scores.data());
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

// Before sums are made there, by the same thread: what is cleared stays in its cache.
template <class T>
void clear_rows(char* data, int64_t first, int64_t rows, int64_t width) {
  if (data) std::fill_n(reinterpret_cast<T*>(data) + first * width, rows * width, T(0));
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

  // Everything that queries of one head send back to queries, keys and values.
  void run(Block block) {
    const int64_t first = block.head * shape_.queries + block.query;
    clear_rows<T>(call_.q_grad, first, block.queries, shape_.width);
    each_key_block(block, [&](const Block& b) {
      if (call_.v_grad) add_value_grads(b);
      if (!call_.q_grad && !call_.k_grad) return;
      find_score_grads(b, shape_.scale);
      add_query_and_key_grads(b);
    });
  }

  // What they send back to the mask.
  void run(Block block, const AttentionMask& mask_grad) {
    each_key_block(block, [&](const Block& b) {
      find_score_grads(b, 1);
      T* to = reinterpret_cast<T*>(const_cast<char*>(mask_grad.data)) + mask_grad.at[b.head] +
              b.query * mask_grad.row + b.key * mask_grad.col;
      for (int64_t i = 0; i < b.queries; ++i, to += mask_grad.row) {
        const T* d = d_.data() + i * b.keys;
        for (int64_t j = 0; j < b.keys; ++j) to[j * mask_grad.col] += d[j];
      }
    });
  }

 private:
  // f(block), with the probabilities of each block of keys.
  template <class F>
  void each_key_block(Block b, F f) {
    sum_of_products(b);
    const int64_t seen = keys_seen(shape_, b.query, b.queries);
    for (b.key = 0; b.key < seen; b.key += block_keys) {
      b.keys = std::min(block_keys, seen - b.key);
      find_probabilities(b);
      f(b);
    }
  }

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

  void find_probabilities(const Block& b) {
    compute_scores<T, Held>(shape_, b, p_.data());
    const T* log_sums = reinterpret_cast<const T*>(call_.log_sums) + b.head * shape_.queries;
    for (int64_t i = 0; i < b.queries; ++i)
      kernels_for<T>().probabilities(p_.data() + i * b.keys, b.keys, log_sums[b.query + i]);
  }

  void add_value_grads(const Block& b) {
    T* used = p_.data();
    if (shape_.drops.p > 0) {
      std::copy_n(p_.data(), b.queries * b.keys, d_.data());
      used = d_.data();
      drop_some(shape_, b, used);
    }
    multiply<T, Held>(
        turned(p_factor_.of(used, b.queries, b.keys)), grad_rows(b),
        part(call_.v_grad, shared(b) * shape_.keys + b.key, b.keys, shape_.value_width), 1, true);
  }

  void find_score_grads(const Block& b, double scale) {
    const Matrix v = rows_of<Held>(shape_.v, shared(b), b.key, b.keys, shape_.value_width);
    multiply<T, Held>(grad_rows(b), turned(v), dense(d_.data(), b.queries, b.keys), 1, false);
    if (shape_.drops.p > 0) drop_some(shape_, b, d_.data());
    for (int64_t i = 0; i < b.queries; ++i)
      kernels_for<T>().score_grads(d_.data() + i * b.keys, p_.data() + i * b.keys, b.keys,
                                   delta_[i], static_cast<T>(scale));
  }

  void add_query_and_key_grads(const Block& b) {
    const Matrix d = d_factor_.of(d_.data(), b.queries, b.keys);
    const Matrix q = rows_of<Held>(shape_.q, b.head, b.query, b.queries, shape_.width);
    const Matrix k = rows_of<Held>(shape_.k, shared(b), b.key, b.keys, shape_.width);
    if (call_.q_grad)
      multiply<T, Held>(
          d, k, part(call_.q_grad, b.head * shape_.queries + b.query, b.queries, shape_.width), 1,
          true);
    if (call_.k_grad)
      multiply<T, Held>(turned(d), q,
                        part(call_.k_grad, shared(b) * shape_.keys + b.key, b.keys, shape_.width),
                        1, true);
  }

  int64_t shared(const Block& b) const { return b.head / shape_.group; }
  Matrix grad_rows(const Block& b) const {
    return rows_of<Held>(call_.grad, b.head, b.query, b.queries, shape_.value_width);
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

// Sums of several segments: those of the first lie where the result belongs. Whoever adds something
// up clears it first.
template <class T>
class SegmentSums {
 public:
  SegmentSums(char* result, int64_t segments, int64_t n)
      : result_(result), n_(n), others_(result ? (segments - 1) * n : 0) {}
  void clear() const {
    clear_rows<T>(result_, 0, n_, 1);
    std::fill(others_.begin(), others_.end(), T(0));
  }
  char* of(int64_t segment) const {
    if (!result_ || segment == 0) return result_;
    return reinterpret_cast<char*>(others_.data() + (segment - 1) * n_);
  }
  void add_up() const {
    const int64_t size = static_cast<int64_t>(others_.size());
    parallel_for(size ? n_ : 0, 1 << 14, [&](int64_t begin, int64_t end) {
      T* sums = reinterpret_cast<T*>(result_);
      for (const T* part = others_.data(); part < others_.data() + size; part += n_) {
        for (int64_t i = begin; i < end; ++i) sums[i] += part[i];
      }
    });
  }

 private:
  char* result_;
  int64_t n_;
  Scratch<T> others_;
};

// How many to cut a unit of `parts` parts into, so that there is work for a few threads: by size
// alone.
int64_t segments_of(int64_t units, int64_t parts) {
  constexpr int64_t enough = 8;
  if (units == 0 || units >= enough) return 1;
  return std::clamp<int64_t>(parts / 2, 1, enough / units);
}

Block query_block(const AttentionShape& shape, int64_t head, int64_t block) {
  const int64_t query = block * block_queries;
  return {head, query, std::min(block_queries, shape.queries - query), 0, 0};
}

// How many pieces of so many rows of scores are worth a thread.
int64_t grain_of(const AttentionShape& shape, double rows) {
  const double work = rows * static_cast<double>(shape.keys) *
                      static_cast<double>(shape.width + shape.value_width + 16);
  return std::max<int64_t>(1, static_cast<int64_t>(2e5 / (work + 1)));
}

// The heads whose masks begin at the same place, in order.
std::vector<std::vector<int64_t>> heads_by_place(const int64_t* at, int64_t heads) {
  std::map<int64_t, size_t> numbers;
  std::vector<std::vector<int64_t>> found;
  for (int64_t head = 0; head < heads; ++head) {
    const auto [number, is_new] = numbers.try_emplace(at[head], found.size());
    if (is_new) found.emplace_back();
    found[number->second].push_back(head);
  }
  return found;
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

// Heads that share keys and values are one unit of work: what is added up is added in order. Where
// there are few units, their queries are cut into segments, with sums for keys and values of their
// own, which are added up in order too.
void attention_grad(const AttentionShape& shape, const AttentionGrad& call) {
  const int64_t shared = shape.heads / std::max<int64_t>(shape.group, 1);
  const int64_t blocks = count_blocks(shape.queries, block_queries);
  const int64_t segments = segments_of(shared, blocks);
  by_dtype(shape, [&]<class T, class Held>() {
    SegmentSums<T> k_sums(call.k_grad, segments, shared * shape.keys * shape.width);
    SegmentSums<T> v_sums(call.v_grad, segments, shared * shape.keys * shape.value_width);
    const double rows = static_cast<double>(shape.group * shape.queries / segments);
    parallel_for(shared * segments, grain_of(shape, rows), [&](int64_t begin, int64_t end) {
      for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t first = unit / segments * shape.group, segment = unit % segments;
        AttentionGrad own = call;
        own.k_grad = k_sums.of(segment);
        own.v_grad = v_sums.of(segment);
        const int64_t key = unit / segments * shape.keys;
        clear_rows<T>(own.k_grad, key, shape.keys, shape.width);
        clear_rows<T>(own.v_grad, key, shape.keys, shape.value_width);
        BlockGrad<T, Held> grad(shape, own);
        for (int64_t head = first; head < first + shape.group; ++head) {
          for (int64_t i = segment * blocks / segments; i < (segment + 1) * blocks / segments; ++i)
            grad.run(query_block(shape, head, i));
        }
      }
    });
    k_sums.add_up();
    v_sums.add_up();
  });
}

// What is added up for a mask is one unit of work, or, if it has rows, what is for a block of them.
// Where there are few units, they are cut into segments as above.
void attention_mask_grad(const AttentionShape& shape, const AttentionGrad& call,
                         const AttentionMask& mask_grad, int64_t size) {
  const std::vector<std::vector<int64_t>> masks = heads_by_place(mask_grad.at, shape.heads);
  const int64_t blocks = count_blocks(shape.queries, block_queries);
  const int64_t own_blocks = mask_grad.row != 0 ? blocks : 1, turns = blocks / own_blocks;
  const int64_t units = static_cast<int64_t>(masks.size()) * own_blocks;
  const int64_t least = masks.empty() ? 0 : static_cast<int64_t>(masks[0].size()) * turns;
  const int64_t segments = segments_of(units, least);
  by_dtype(shape, [&]<class T, class Held>() {
    const SegmentSums<T> sums(const_cast<char*>(mask_grad.data), segments, size);
    sums.clear();
    parallel_for(units * segments, 1, [&](int64_t begin, int64_t end) {
      BlockGrad<T, Held> grad(shape, call);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t unit = i / segments, segment = i % segments;
        const std::vector<int64_t>& heads = masks[static_cast<size_t>(unit / own_blocks)];
        const int64_t count = static_cast<int64_t>(heads.size()) * turns;
        AttentionMask own = mask_grad;
        own.data = sums.of(segment);
        for (int64_t j = segment * count / segments; j < (segment + 1) * count / segments; ++j)
          grad.run(query_block(shape, heads[static_cast<size_t>(j / turns)],
                               unit % own_blocks + j % turns),
                   own);
      }
    });
    sums.add_up();
  });
}

uint64_t counters_for_drops(int64_t rows, int64_t keys) {
  return static_cast<uint64_t>(rows) *
         static_cast<uint64_t>(count_blocks(keys, block_keys) * counters_per_row);
}

void drop_scores(DType dtype, char* scores, int64_t rows, int64_t keys,
                 const AttentionDrops& drops) {
  visit<dtypes::real_math>(dtype, "scaled_dot_product_attention", [&]<class T>() {
    parallel_for(rows, 1 + (1 << 14) / (keys + 1), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        T* numbers = reinterpret_cast<T*>(scores) + row * keys;
        for (int64_t key = 0; key < keys; key += block_keys)
          drop_part(drops, row, 1, keys, key, numbers + key, std::min(block_keys, keys - key));
      }
    });
  });
}

}  // namespace wisp::cpu
