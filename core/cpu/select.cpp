#include "cpu/select.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "cpu/rank_few.h"
#include "cpu/scratch.h"
#include "cpu/sort.h"
#include "cpu/sort_key.h"

namespace wisp::cpu {

namespace {

constexpr int64_t grain = 1 << 13;  // elements a thread takes at once
constexpr int64_t piece = 1 << 17;  // of a single long row

__extension__ typedef unsigned __int128 uint128;

// A key above the index of its element: distinct numbers that are ordered by rank.
template <class T>
using Word = std::conditional_t<sizeof(T) <= 4, uint64_t, uint128>;
template <class T>
constexpr int index_bits = sizeof(Word<T>) * 4;

template <class T>
Word<T> word_of(KeyOf<T> key, int64_t index) {
  return static_cast<Word<T>>(key) << index_bits<T> | static_cast<Word<T>>(index);
}
template <class T>
int64_t index_of(Word<T> word) {
  return static_cast<int64_t>(word & ((Word<T>(1) << index_bits<T>)-1));
}
template <class T>
KeyOf<T> key_of(Word<T> word) {
  return static_cast<KeyOf<T>>(word >> index_bits<T>);
}

// f(in, values, indices) for every row; `results` of them are written per row.
template <class T, class F>
void each_row(const Rows& job, int64_t results, F f) {
  WISP_CHECK(job.n <= UINT32_MAX, "cannot rank rows of more than 2^32 elements, got ", job.n);
  const int64_t some = std::max<int64_t>(1, grain / std::max<int64_t>(job.n, 1));
  parallel_for(job.rows, some, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      f(reinterpret_cast<const T*>(job.in) + row * job.n,
        reinterpret_cast<T*>(job.values) + row * results, job.indices + row * results);
    }
  });
}

// Collects the k best of a stream of elements. Only those better than the worst of the k best so
// far are looked at closely.
template <class T>
class Best {
 public:
  Best(int64_t k, bool largest)
      : k_(k),
        largest_(largest),
        few_(k <= 16),
        capacity_(few_ ? k : std::max<int64_t>(4 * k, 32)),
        words_(capacity_) {}

  void scan(const T* in, int64_t begin, int64_t end) {
    constexpr int64_t block = 16;
    const int64_t n = std::min<int64_t>(end - begin, 4096);
    if (is_quick && k_ > 1 && k_ <= lanes / 2 && n >= 4 * lanes) prime(in + begin, n);
    int64_t at = begin;
    for (; at + block <= end; at += block) {
      if (!limited_ || any_better(in + at, block)) take(in, at, at + block);
    }
    take(in, at, end);
  }
  void add(std::span<const Word<T>> words) {
    for (Word<T> word : words) push(word);
  }
  // The best ones, in no order.
  std::span<Word<T>> finish() {
    if (size_ > k_) trim();
    return {words_.data(), static_cast<size_t>(size_)};
  }

 private:
  // A first limit, so that fewer elements are taken only to be replaced: whatever is worse than the
  // best ones of k lanes is out.
  void prime(const T* in, int64_t n) {
    T best[lanes];
    std::copy_n(in, lanes, best);
    for (int64_t i = lanes; i + lanes <= n; i += lanes) {
      if (largest_) {
        for (int j = 0; j < lanes; ++j) best[j] = in[i + j] > best[j] ? in[i + j] : best[j];
      } else {
        for (int j = 0; j < lanes; ++j) best[j] = in[i + j] < best[j] ? in[i + j] : best[j];
      }
    }
    KeyOf<T> keys[lanes];
    for (int j = 0; j < lanes; ++j) keys[j] = sort_key(best[j], largest_);
    for (KeyOf<T> key : keys) {
      const int64_t better = std::count_if(keys, keys + lanes, [=](auto k) { return k < key; });
      if (better >= k_ && (!limited_ || key < limit_)) limit(key);
    }
  }
  void take(const T* in, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (std::is_floating_point_v<T> && limited_ && !any_better(in + i, 1)) continue;
      const KeyOf<T> key = sort_key(in[i], largest_);
      if (!limited_ || key < limit_) push(word_of<T>(key, i));
    }
  }
  void push(Word<T> word) {
    if (few_) return insert(word);
    words_[size_++] = word;
    if (size_ == capacity_) trim();
  }
  // Few are kept in order.
  void insert(Word<T> word) {
    if (size_ == k_ && word > words_[k_ - 1]) return;
    int64_t at = size_ < k_ ? size_++ : k_ - 1;
    for (; at > 0 && words_[at - 1] > word; --at) words_[at] = words_[at - 1];
    words_[at] = word;
    if (size_ == k_) limit(key_of<T>(words_[k_ - 1]));
  }
  void trim() {
    std::nth_element(words_.begin(), words_.begin() + k_ - 1, words_.begin() + size_);
    size_ = k_;
    limit(key_of<T>(words_[k_ - 1]));
  }
  void limit(KeyOf<T> key) {
    limited_ = true;
    limit_ = key;
    limit_value_ = from_key<T>(largest_ ? static_cast<KeyOf<T>>(~limit_) : limit_);
  }
  // May be wrong for NaN: those it lets through are looked at again.
  bool any_better(const T* in, int64_t n) const {
    const T limit = limit_value_;
    bool any = false;
    if (largest_) {
      for (int64_t i = 0; i < n; ++i) any |= !(in[i] <= limit);
    } else {
      for (int64_t i = 0; i < n; ++i) any |= !(in[i] >= limit);
    }
    return any;
  }

  static constexpr int lanes = 16;
  static constexpr bool is_quick = !wisp::detail::is_half_type<T>;  // to compare

  int64_t k_;
  bool largest_, few_;
  int64_t capacity_;
  Scratch<Word<T>> words_;
  int64_t size_ = 0;
  bool limited_ = false;
  KeyOf<T> limit_ = 0;
  T limit_value_{};
};

// Writes out ranked elements.
template <class T>
void write(std::span<const Word<T>> words, const T* in, T* values, int64_t* indices) {
  for (Word<T> word : words) {
    *indices = index_of<T>(word);
    *values++ = in[*indices++];
  }
}

// Much of a row: it is sorted as a whole.
template <class T>
void topk_sorted(const T* in, int64_t n, int64_t k, bool largest, T* values, int64_t* indices) {
  Scratch<T> sorted(n);
  Scratch<int64_t> order(n);
  sort_rows(dtype_of<T>, 1, n, largest, reinterpret_cast<const char*>(in),
            reinterpret_cast<char*>(sorted.data()), order.data());
  std::copy_n(sorted.data(), k, values);
  std::copy_n(order.data(), k, indices);
}

// The k best elements of a row, in order.
template <class T>
void topk_row(const T* in, int64_t n, int64_t k, bool largest, T* values, int64_t* indices) {
  if (k == 0) return;
  if (k > n / 8 && k > 16) return topk_sorted(in, n, k, largest, values, indices);
  Best<T> best(k, largest);
  if (n <= 2 * piece) {
    best.scan(in, 0, n);
  } else {
    const int64_t pieces = (n + piece - 1) / piece;
    Scratch<Word<T>> found(pieces * k);
    std::vector<size_t> counts(static_cast<size_t>(pieces));
    parallel_for(n, piece, [&](int64_t begin, int64_t end) {
      Best<T> part(k, largest);
      part.scan(in, begin, end);
      const std::span<Word<T>> words = part.finish();
      std::copy(words.begin(), words.end(), found.begin() + begin / piece * k);
      counts[static_cast<size_t>(begin / piece)] = words.size();
    });
    for (int64_t p = 0; p < pieces; ++p)
      best.add({found.begin() + p * k, counts[static_cast<size_t>(p)]});
  }
  const std::span<Word<T>> words = best.finish();
  std::sort(words.begin(), words.end());
  write<T>(words, in, values, indices);
}

// The word of rank k among all elements of a row; NaN is above everything else.
template <class T>
Word<T> select_word(const T* in, int64_t n, int64_t k, const KeyRange& range) {
  // First find out which of some ranges of keys it is in, then look only at those.
  const int digit = n > 4096 ? 11 : 8;
  const bool narrow = n > 256;
  const int shift = std::max(0, range.bits() - digit);
  auto bucket_of = [&](T value) { return (sort_key(value) - range.least) >> shift; };
  uint64_t wanted = 0;
  int64_t size = n;
  if (narrow) {
    uint32_t counts[1 << 11];
    std::fill_n(counts, 1 << digit, 0u);
    for (int64_t i = 0; i < n; ++i) ++counts[bucket_of(in[i])];
    for (; k >= counts[wanted]; ++wanted) k -= counts[wanted];
    size = counts[wanted];
  }
  Scratch<Word<T>> words(size + 1);  // one more, for an element that is not wanted
  int64_t found = 0;
  for (int64_t i = 0; i < n; ++i) {
    words[found] = word_of<T>(sort_key(in[i]), i);
    found += !narrow || bucket_of(in[i]) == wanted;
  }
  std::nth_element(words.begin(), words.begin() + k, words.begin() + found);
  return words[k];
}

// The index of the median, or of the first NaN.
template <class T>
int64_t median_index(const T* in, int64_t n, bool skip_nan) {
  constexpr bool has_nan = wisp::detail::is_float_type<T>;
  const KeyRange range = key_range(in, n, false);
  int64_t nans = 0;
  if (has_nan && range.most == static_cast<KeyOf<T>>(~KeyOf<T>(0))) {
    const auto is_nan = [](T value) { return value != value; };
    nans = std::count_if(in, in + n, is_nan);
    if (!skip_nan || nans == n) return std::find_if(in, in + n, is_nan) - in;
  }
  return index_of<T>(select_word(in, n, (n - nans - 1) / 2, range));
}

template <class T>
int64_t mode_index(const T* sorted, const int64_t* order, int64_t n) {
  int64_t best = 0, longest = 0;
  for (int64_t begin = 0, end; begin < n; begin = end) {
    for (end = begin + 1; end < n && sort_key(sorted[end]) == sort_key(sorted[begin]);) ++end;
    if (end - begin > longest) {
      longest = end - begin;
      best = order[end - 1];
    }
  }
  return best;
}

}  // namespace

void topk_rows(const Rows& job, int64_t k, bool largest) {
  if (k == 0) return;
  if (job.n <= few_elements) return rank_few(job, {.descending = largest, .count = k});
  visit<dtypes::all_real>(job.dtype, "topk", [&]<class T>() {
    each_row<T>(job, k, [&](const T* in, T* values, int64_t* indices) {
      topk_row(in, job.n, k, largest, values, indices);
    });
  });
}

void kth_rows(const Rows& job, int64_t k) {
  if (job.n <= few_elements) return rank_few(job, {.first = k});
  visit<dtypes::all_real>(job.dtype, "kthvalue", [&]<class T>() {
    each_row<T>(job, 1, [&](const T* in, T* values, int64_t* indices) {
      *indices = index_of<T>(select_word(in, job.n, k, key_range(in, job.n, false)));
      *values = in[*indices];
    });
  });
}

void median_rows(const Rows& job, bool skip_nan) {
  if (job.n <= few_elements) return rank_few(job, {.median = true, .skip_nan = skip_nan});
  visit<dtypes::all_real>(job.dtype, "median", [&]<class T>() {
    each_row<T>(job, 1, [&](const T* in, T* values, int64_t* indices) {
      *indices = median_index(in, job.n, skip_nan);
      *values = in[*indices];
    });
  });
}

void mode_rows(const Rows& job) {
  visit<dtypes::all_real>(job.dtype, "mode", [&]<class T>() {
    each_row<T>(job, 1, [&](const T* in, T* values, int64_t* indices) {
      Scratch<T> sorted(job.n);
      Scratch<int64_t> order(job.n);
      sort_rows(job.dtype, 1, job.n, false, reinterpret_cast<const char*>(in),
                reinterpret_cast<char*>(sorted.data()), order.data());
      *indices = mode_index(sorted.data(), order.data(), job.n);
      *values = in[*indices];
    });
  });
}

}  // namespace wisp::cpu
