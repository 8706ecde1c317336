// Who adds up which of attention's gradients: cut by size alone. What runs once per call is marked
// as cold: small code.
#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "cpu/attention_blocks.h"

namespace wisp::cpu::attention_blocks {

namespace {

// Sums of several segments: those of the first lie where the result belongs. Whoever adds something
// up clears it first.
class SegmentSums {
 public:
  SegmentSums(DType dtype, char* result, int64_t segments, int64_t n)
      : dtype_(dtype),
        size_(static_cast<int64_t>(item_size(dtype))),
        result_(result),
        n_(n),
        others_(result ? (segments - 1) * n * size_ : 0) {}
  [[gnu::noinline]] void clear() const {
    parallel_for(result_ ? n_ : 0, 1 << 16, [&](int64_t begin, int64_t end) {
      std::memset(result_ + begin * size_, 0, static_cast<size_t>((end - begin) * size_));
    });
    std::fill(others_.begin(), others_.end(), char(0));
  }
  char* of(int64_t segment) const {
    return !result_ || segment == 0 ? result_ : others_.data() + (segment - 1) * n_ * size_;
  }
  // Some of the sums of one segment.
  void clear(int64_t segment, int64_t first, int64_t count) const {
    if (result_) std::memset(of(segment) + first * size_, 0, static_cast<size_t>(count * size_));
  }
  [[gnu::noinline]] void add_up() const {
    if (others_.size() == 0) return;
    visit<dtypes::real_math>(dtype_, "scaled_dot_product_attention", [&]<class T>() {
      parallel_for(n_, 1 << 14, [&](int64_t begin, int64_t end) {
        T* sums = reinterpret_cast<T*>(result_);
        const T* const all = reinterpret_cast<const T*>(others_.end());
        for (const T* part = reinterpret_cast<const T*>(others_.data()); part < all; part += n_) {
          for (int64_t i = begin; i < end; ++i) sums[i] += part[i];
        }
      });
    });
  }

 private:
  DType dtype_;
  int64_t size_;
  char* result_;
  int64_t n_;
  Scratch<char> others_;
};

// How many to cut a unit of `parts` parts into, so that there is work for a few threads: by size
// alone.
int64_t segments_of(int64_t units, int64_t parts) {
  constexpr int64_t enough = 8;
  if (units == 0 || units >= enough) return 1;
  return std::clamp<int64_t>(parts, 1, enough / units);
}

// The heads whose masks begin at the same place, in order.
[[gnu::cold]] std::vector<std::vector<int64_t>> heads_by_place(const int64_t* at, int64_t heads) {
  std::map<int64_t, size_t> numbers;
  std::vector<std::vector<int64_t>> found;
  for (int64_t head = 0; head < heads; ++head) {
    const auto [number, is_new] = numbers.try_emplace(at[head], found.size());
    if (is_new) found.emplace_back();
    found[number->second].push_back(head);
  }
  return found;
}

class GradientRun {
 public:
  GradientRun(const AttentionShape& shape, const AttentionWanted& wanted, GradientWork work)
      : shape_(shape),
        wanted_(wanted),
        work_(work),
        blocks_(count_blocks(shape.queries, block_queries)),
        shared_(shape.heads / std::max<int64_t>(shape.group, 1)),
        segments_(segments_of(shared_, blocks_ / 2)),
        units_(shared_ * segments_) {}

  [[gnu::cold]] void run() const {
    if (!wanted_.mask_grad.data) return by_heads(wanted_, units_, 1);
    const auto masks = heads_by_place(wanted_.mask_grad.at, shape_.heads);
    const bool apart = static_cast<int64_t>(masks.size()) == shape_.heads &&
                       (segments_ == 1 || wanted_.mask_grad.row != 0);
    if (apart) return by_heads(wanted_, units_, 1);
    if (const int64_t pieces = pieces_with_masks()) return by_heads(wanted_, pieces, pieces);
    AttentionWanted rest = wanted_, alone;
    rest.mask_grad.data = nullptr;
    alone.mask_grad = wanted_.mask_grad;
    alone.mask_size = wanted_.mask_size;
    if (rest.any()) by_heads(rest, units_, 1);
    by_masks(alone, masks);
  }

 private:
  // Into how many pieces to cut the units, each with sums of its own for the mask, so that all is
  // found in one pass: so many that adding these up takes little time. 0 if they took more memory
  // than keys and values do.
  int64_t pieces_with_masks() const {
    constexpr int64_t enough = 16, least = 4, scores_per_sum = 8;
    const int64_t size = std::max<int64_t>(wanted_.mask_size, 1);
    const int64_t held = shape_.heads * shape_.keys * (shape_.width + shape_.value_width);
    const int64_t scores = shape_.heads * shape_.queries * shape_.keys;
    const int64_t worth_it = std::clamp(scores / (size * scores_per_sum), least, enough);
    const int64_t pieces = std::min({units_, worth_it, 1 + held / size});
    return pieces >= std::min(units_, least) ? pieces : 0;
  }

  // Heads that share keys and values are one unit of work: what is added up is added in order.
  // Where there are few units, their queries are cut into segments, with sums for keys and values
  // of their own, which are added up in order too.
  [[gnu::cold]] void by_heads(const AttentionWanted& wanted, int64_t pieces, int64_t masks) const {
    const SegmentSums k(shape_.dtype, wanted.k_grad, segments_, shared_ * key_size());
    const SegmentSums v(shape_.dtype, wanted.v_grad, segments_, shared_ * value_size());
    const SegmentSums m(shape_.dtype, const_cast<char*>(wanted.mask_grad.data), masks,
                        wanted.mask_size);
    m.clear();
    const double rows = static_cast<double>(shape_.heads) * static_cast<double>(shape_.queries) /
                        static_cast<double>(std::max<int64_t>(pieces, 1));
    parallel_for(pieces, grain_of(shape_, rows), [&](int64_t begin, int64_t end) {
      for (int64_t piece = begin; piece < end; ++piece) {
        AttentionWanted own = wanted;
        own.mask_grad.data = m.of(masks == 1 ? 0 : piece);
        for (int64_t unit = piece * units_ / pieces; unit < (piece + 1) * units_ / pieces; ++unit) {
          const int64_t matrix = unit / segments_, segment = unit % segments_;
          k.clear(segment, matrix * key_size(), key_size());
          v.clear(segment, matrix * value_size(), value_size());
          own.k_grad = k.of(segment);
          own.v_grad = v.of(segment);
          work_(own, blocks_of(matrix, segment));
        }
      }
    });
    k.add_up();
    v.add_up();
    m.add_up();
  }

  int64_t key_size() const { return shape_.keys * shape_.width; }
  int64_t value_size() const { return shape_.keys * shape_.value_width; }

  std::vector<Block> blocks_of(int64_t matrix, int64_t segment) const {
    std::vector<Block> found;
    for (int64_t head = matrix * shape_.group; head < (matrix + 1) * shape_.group; ++head) {
      for (int64_t i = segment * blocks_ / segments_; i < (segment + 1) * blocks_ / segments_; ++i)
        found.push_back(query_block(shape_, head, i));
    }
    return found;
  }

  // What is added up for a mask is one unit of work, or, if it has rows, what is for a block of
  // them. Where there are few units, they are cut into segments as above.
  [[gnu::cold]] void by_masks(const AttentionWanted& alone,
                              const std::vector<std::vector<int64_t>>& masks) const {
    const int64_t own_blocks = alone.mask_grad.row != 0 ? blocks_ : 1, turns = blocks_ / own_blocks;
    const int64_t units = static_cast<int64_t>(masks.size()) * own_blocks;
    const int64_t least = static_cast<int64_t>(masks[0].size()) * turns;
    const int64_t cuts = segments_of(units, least / 2);
    const SegmentSums sums(shape_.dtype, const_cast<char*>(alone.mask_grad.data), cuts,
                           alone.mask_size);
    sums.clear();
    parallel_for(units * cuts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t unit = i / cuts, cut = i % cuts;
        const std::vector<int64_t>& heads = masks[static_cast<size_t>(unit / own_blocks)];
        const int64_t count = static_cast<int64_t>(heads.size()) * turns;
        AttentionWanted own = alone;
        own.mask_grad.data = sums.of(cut);
        std::vector<Block> some;
        for (int64_t j = cut * count / cuts; j < (cut + 1) * count / cuts; ++j)
          some.push_back(query_block(shape_, heads[static_cast<size_t>(j / turns)],
                                     unit % own_blocks + j % turns));
        work_(own, some);
      }
    });
    sums.add_up();
  }

  const AttentionShape& shape_;
  const AttentionWanted& wanted_;
  const GradientWork work_;
  const int64_t blocks_;    // of queries
  const int64_t shared_;    // matrices of keys
  const int64_t segments_;  // of each of them
  const int64_t units_;
};

}  // namespace

void run_gradients(const AttentionShape& shape, const AttentionWanted& wanted, GradientWork work) {
  GradientRun(shape, wanted, work).run();
}

}  // namespace wisp::cpu::attention_blocks
