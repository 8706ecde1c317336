#include "cpu/sort.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "cpu/rank_few.h"
#include "cpu/scratch.h"
#include "cpu/sort_key.h"
#include "cpu/strided.h"

namespace wisp::cpu {

namespace {

constexpr int64_t piece = 1 << 16;  // elements of a long row that a thread takes at once
constexpr int64_t few = 256;        // words that are sorted without counting
constexpr int max_digit = 11;       // bits: as many counters as the first-level cache likes

void insertion_sort(uint64_t* words, int64_t n) {
  for (int64_t i = 1; i < n; ++i) {
    const uint64_t word = words[i];
    int64_t at = i;
    for (; at > 0 && words[at - 1] > word; --at) words[at] = words[at - 1];
    words[at] = word;
  }
}

// One pass of a radix sort: the elements ordered by a digit of theirs, and else as before.
class RadixPass {
 public:
  RadixPass(int64_t n, int bits)
      : n_(n), buckets_(int64_t(1) << bits), pieces_((n + piece - 1) / piece) {}

  // Calls place(i, at): that is where element i, with digit_of(i), goes.
  template <class Digit, class Place>
  void run(Digit digit_of, Place place) {
    Scratch<uint32_t> counts(pieces_ * buckets_);
    parallel_for(n_, piece, [&](int64_t begin, int64_t end) {
      uint32_t* count = counts.data() + begin / piece * buckets_;
      std::fill_n(count, buckets_, 0);
      for (int64_t i = begin; i < end; ++i) ++count[digit_of(i)];
    });
    uint32_t total = 0;
    for (int64_t bucket = 0; bucket < buckets_; ++bucket) {
      for (int64_t p = 0; p < pieces_; ++p)
        total += std::exchange(counts[p * buckets_ + bucket], total);
    }
    parallel_for(n_, piece, [&](int64_t begin, int64_t end) {
      uint32_t* next = counts.data() + begin / piece * buckets_;
      for (int64_t i = begin; i < end; ++i) place(i, next[digit_of(i)]++);
    });
  }

 private:
  int64_t n_, buckets_, pieces_;
};

void radix_pass(const uint64_t* in, uint64_t* out, int64_t n, int low, int bits) {
  const uint64_t mask = (uint64_t(1) << bits) - 1;
  RadixPass(n, bits).run([=](int64_t i) { return (in[i] >> low) & mask; },
                         [=](int64_t i, uint32_t at) { out[at] = in[i]; });
}

void order_by_digit(const uint16_t* digits, int64_t n, int bits, int64_t* order) {
  RadixPass(n, bits).run([=](int64_t i) { return digits[i]; },
                         [=](int64_t i, uint32_t at) { order[at] = i; });
}

}  // namespace

void sort_words(uint64_t* words, uint64_t* spare, int64_t n, int low, int bits) {
  if (n <= 32) return insertion_sort(words, n);
  if (n <= few) return std::sort(words, words + n);
  // The highest bits tell most words apart; what they leave equal is sorted by the rest.
  const int digit = n < 4096 ? 8 : max_digit;
  const int enough = n < 4096 ? 16 : 3 * max_digit;
  const int top = std::min(bits, enough), passes = (top + digit - 1) / digit;
  const int width = (top + passes - 1) / passes;
  uint64_t *from = words, *to = spare;
  for (int at = low + bits - top; at < low + bits; at += width) {
    radix_pass(from, to, n, at, std::min(width, low + bits - at));
    std::swap(from, to);
  }
  if (from != words) std::copy_n(from, n, words);
  if (top == bits) return;
  const int rest = low + bits - top;
  for (int64_t begin = 0, end; begin < n; begin = end) {
    for (end = begin + 1; end < n && words[end] >> rest == words[begin] >> rest;) ++end;
    if (end - begin > 1) sort_words(words + begin, spare, end - begin, low, bits - top);
  }
}

namespace {

void indices_of(const uint64_t* words, int64_t n, int index_bits, int64_t* indices) {
  const uint64_t mask = (uint64_t(1) << index_bits) - 1;
  parallel_for(n, piece, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) indices[i] = static_cast<int64_t>(words[i] & mask);
  });
}

template <class T>
void gather(const T* in, const int64_t* indices, int64_t n, T* out) {
  by_item_size(sizeof(T), [&]<class Item>() {
    parallel_for(n, piece, [=](int64_t begin, int64_t end) {
      const Item* from = reinterpret_cast<const Item*>(in);
      Item* to = reinterpret_cast<Item*>(out);
      for (int64_t i = begin; i < end; ++i) to[i] = from[indices[i]];
    });
  });
}

template <class T>
class RowSort {
 public:
  RowSort(int64_t n, bool descending)
      : n_(n),
        descending_(descending),
        words_(n),
        spare_(n),
        index_bits_(std::bit_width(static_cast<uint64_t>(n - 1))) {}

  void run(const T* in, T* values, int64_t* indices) {
    // Short rows of short keys need not be looked at twice.
    const bool fits = n_ <= few && sizeof(T) <= 4;
    const KeyRange range = fits && sizeof(T) > 1 ? KeyRange{0, static_cast<KeyOf<T>>(~KeyOf<T>(0))}
                                                 : key_range(in, n_, descending_);
    if (range.bits() <= max_digit && n_ >> range.bits() > 0) {
      count(in, range, indices);
    } else {
      sort_packed(in, range, indices);
    }
    gather(in, indices, n_, values);
  }

 private:
  uint64_t key(T value) const { return sort_key(value, descending_); }

  // Few different keys: one pass. Words are only the differences between keys.
  void count(const T* in, const KeyRange& range, int64_t* indices) {
    auto* digits = reinterpret_cast<uint16_t*>(words_.data());
    for (int64_t i = 0; i < n_; ++i) digits[i] = static_cast<uint16_t>(key(in[i]) - range.least);
    order_by_digit(digits, n_, range.bits(), indices);
  }

  void sort_packed(const T* in, const KeyRange& range, int64_t* indices) {
    if (!pack(in, range)) {
      sort_words(words_.data(), spare_.data(), n_, index_bits_, key_bits_ - lost_bits_);
      if constexpr (sizeof(T) > 4) {  // an index has 32 bits at most: shorter keys have room
        if (lost_bits_ > 0) sort_ties(in);
      }
    }
    indices_of(words_.data(), n_, index_bits_, indices);
  }

  // A word per element: its key above its index, so that words are distinct and sorting them is
  // stable. Keys are counted from the smallest one; if they are too long, their last bits are left
  // out. Returns whether they are in order already.
  bool pack(const T* in, const KeyRange& range) {
    key_bits_ = range.bits();
    lost_bits_ = std::max(0, key_bits_ + index_bits_ - 64);
    std::atomic<bool> ordered{true};
    parallel_for(n_, piece, [&](int64_t begin, int64_t end) {
      bool in_order = true;
      uint64_t previous = begin ? key(in[begin - 1]) - range.least : 0;
      for (int64_t i = begin; i < end; ++i) {
        const uint64_t k = key(in[i]) - range.least;
        in_order &= k >= previous;
        previous = k;
        words_[i] = k >> lost_bits_ << index_bits_ | static_cast<uint64_t>(i);
      }
      if (!in_order) ordered.store(false, std::memory_order_relaxed);
    });
    return ordered.load(std::memory_order_relaxed);
  }

  // Words that differ only in key bits they have no room for.
  void sort_ties(const T* in) {
    const uint64_t mask = (uint64_t(1) << index_bits_) - 1;
    auto less = [&](uint64_t a, uint64_t b) {
      const uint64_t x = key(in[a & mask]), y = key(in[b & mask]);
      return x < y || (x == y && a < b);
    };
    for (int64_t begin = 0, end; begin < n_; begin = end) {
      const uint64_t prefix = words_[begin] >> index_bits_;
      for (end = begin + 1; end < n_ && words_[end] >> index_bits_ == prefix;) ++end;
      if (end - begin > 1) std::sort(words_.data() + begin, words_.data() + end, less);
    }
  }

  int64_t n_;
  bool descending_;
  Scratch<uint64_t> words_, spare_;
  int index_bits_;
  int key_bits_ = 0, lost_bits_ = 0;
};

}  // namespace

void sort_rows(DType dtype, int64_t rows, int64_t n, bool descending, const char* in, char* values,
               int64_t* indices) {
  if (n == 0) return;
  if (n <= few_elements)
    return rank_few({dtype, rows, n, in, values, indices}, {.descending = descending, .count = n});
  WISP_CHECK(n <= UINT32_MAX, "sort(): cannot sort rows of more than 2^32 elements, got ", n);
  visit<dtypes::all_real>(dtype, "sort", [&]<class T>() {
    parallel_for(rows, std::max<int64_t>(1, (1 << 14) / n), [&](int64_t begin, int64_t end) {
      RowSort<T> sorter(n, descending);
      for (int64_t row = begin; row < end; ++row) {
        sorter.run(reinterpret_cast<const T*>(in) + row * n, reinterpret_cast<T*>(values) + row * n,
                   indices + row * n);
      }
    });
  });
}

}  // namespace wisp::cpu
