// Walking over strided memory in one order for several operands.
#pragma once

#include <cstring>
#include <type_traits>

#include "base/dtype.h"
#include "base/small_vector.h"

namespace wisp::cpu {

// A tensor's memory as kernels see it. Strides count elements and match the sizes they travel with.
struct Operand {
  char* data = nullptr;
  IntSpan strides;
  DType dtype = DType::float32;
};

constexpr int max_operands = 4;  // one output and three inputs
constexpr int64_t tile_bytes =
    4096;  // per operand: a handful of them stay in the first-level cache

// Calls f.operator()<T>() with a type of that many bytes: moving elements needs no more of their
// dtype.
template <class F>
void by_item_size(size_t item, F f) {
  struct Wide {
    uint64_t low, high;
  };
  switch (item) {
    case 1:
      return f.template operator()<uint8_t>();
    case 2:
      return f.template operator()<uint16_t>();
    case 4:
      return f.template operator()<uint32_t>();
    case 8:
      return f.template operator()<uint64_t>();
    default:
      return f.template operator()<Wide>();
  }
}

// Copies n elements that are `step` bytes apart next to each other. Two and four elements apart is
// usual (parts of complex numbers, columns of boxes); known when compiling, vectors can do it.
template <class T, class Step>
void gather_apart(T* out, const char* from, int64_t n, Step step) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(out + i, from + i * step, sizeof(T));
}
template <class T>
void gather_line(T* out, const char* from, int64_t step, int64_t n) {
  constexpr int64_t item = sizeof(T);
  if (step == 2 * item) {
    gather_apart(out, from, n, std::integral_constant<int64_t, 2 * item>());
  } else if (step == 4 * item) {
    gather_apart(out, from, n, std::integral_constant<int64_t, 4 * item>());
  } else {
    gather_apart(out, from, n, step);
  }
}

// Sizes and byte strides after dropping dimensions of size one, ordering them by the first
// operand's strides (largest first) and merging those that are contiguous for every operand.
template <int most>
struct LoopPlanOf {
  LoopPlanOf(IntSpan sizes, std::initializer_list<Operand> operands)
      : LoopPlanOf(sizes, operands.begin(), static_cast<int>(operands.size())) {}
  LoopPlanOf(IntSpan sizes, const Operand* operands, int count);
  int ndim() const { return static_cast<int>(sizes.size()); }
  Dims sizes;
  Dims strides[most];  // in bytes
  int64_t numel = 1;

 private:
  void order(int count);
  void merge(int count);
};
using LoopPlan = LoopPlanOf<max_operands>;
constexpr int max_fused_operands = 20;
using FusedLoopPlan = LoopPlanOf<max_fused_operands>;

// Whether an operand has fewer elements than the loop.
inline bool repeats(IntSpan strides) {
  for (int64_t stride : strides) {
    if (stride == 0) return true;
  }
  return false;
}

// Repeats each of `rows` values, `step` bytes apart, `length` times.
void spread_rows(void* out, const void* values, int64_t step, size_t item, int64_t rows,
                 int64_t length);

// Visits a strided operand in the plan's order, some elements at a time.
class Walker {
 public:
  Walker(char* data, const Dims& sizes, const Dims& strides, int64_t begin)
      : sizes_(sizes), strides_(strides), index_(sizes.size(), 0), at_(data) {
    for (size_t dim = sizes.size(); dim-- > 0 && begin > 0;) {
      index_[dim] = begin % sizes[dim];
      begin /= sizes[dim];
      at_ += index_[dim] * strides[dim];
    }
  }

  // Copies the next n elements to or from consecutive memory.
  void gather(char* out, int64_t n, size_t item) {
    by_item_size(item, [&]<class T>() { move<T, true>(reinterpret_cast<T*>(out), n); });
  }
  void scatter(const char* in, int64_t n, size_t item) {
    by_item_size(item, [&]<class T>() {
      move<T, false>(const_cast<T*>(reinterpret_cast<const T*>(in)), n);
    });
  }

 private:
  template <class T, bool reading>
  void move(T* tile, int64_t n) {
    if (sizes_.empty()) {
      if (n > 0) one<T, reading>(tile, at_);
      return;
    }
    const size_t last = sizes_.size() - 1;
    const int64_t step = strides_[last];
    while (n > 0) {
      const bool repeated = reading && step == 0;
      if (sizes_[last] <= (repeated ? repeated_run : short_run) && last > 0 && index_[last] == 0 &&
          n >= sizes_[last]) {
        const int64_t rows = std::min(n / sizes_[last], sizes_[last - 1] - index_[last - 1]);
        move_rows<T, reading>(tile, rows);
        tile += rows * sizes_[last];
        n -= rows * sizes_[last];
        advance(last - 1, rows);
        continue;
      }
      const int64_t run = std::min(n, sizes_[last] - index_[last]);
      if (step == static_cast<int64_t>(sizeof(T))) {
        reading ? std::memcpy(tile, at_, run * sizeof(T)) : std::memcpy(at_, tile, run * sizeof(T));
      } else if constexpr (reading) {
        gather_line(tile, at_, step, run);
      } else {
        for (int64_t i = 0; i < run; ++i) one<T, reading>(tile + i, at_ + i * step);
      }
      tile += run;
      n -= run;
      advance(last, run);
    }
  }
  // Whole runs of few elements, one behind the other.
  template <class T, bool reading>
  void move_rows(T* tile, int64_t rows) {
    switch (sizes_.back()) {
      case 2:
        return move_rows_of<T, reading>(tile, rows, std::integral_constant<int64_t, 2>());
      case 3:
        return move_rows_of<T, reading>(tile, rows, std::integral_constant<int64_t, 3>());
      case 4:
        return move_rows_of<T, reading>(tile, rows, std::integral_constant<int64_t, 4>());
      case 8:
        return move_rows_of<T, reading>(tile, rows, std::integral_constant<int64_t, 8>());
      case 16:
        return move_rows_of<T, reading>(tile, rows, std::integral_constant<int64_t, 16>());
      default:
        return move_rows_of<T, reading>(tile, rows, sizes_.back());
    }
  }
  template <class T, bool reading, class Length>
  void move_rows_of(T* tile, int64_t rows, Length length) {
    const int64_t step = strides_.back(), row = strides_[strides_.size() - 2];
    char* from = at_;
    if (reading && step == 0) return repeat_rows<T>(tile, rows, length);
    for (int64_t r = 0; r < rows; ++r, from += row, tile += length) {
      for (int64_t i = 0; i < length; ++i) one<T, reading>(tile + i, from + i * step);
    }
  }
  template <class T, class Length>
  void repeat_rows(T* tile, int64_t rows, Length length) {
    const int64_t row = strides_[strides_.size() - 2];
    if constexpr (std::is_same_v<Length, int64_t>) {
      return spread_rows(tile, at_, row, sizeof(T), rows, length);
    }
    const char* from = at_;
    for (int64_t r = 0; r < rows; ++r, from += row, tile += length) {
      T value;
      std::memcpy(&value, from, sizeof(T));
      for (int64_t i = 0; i < length; ++i) tile[i] = value;
    }
  }
  template <class T, bool reading>
  static void one(T* tile, char* memory) {
    reading ? std::memcpy(tile, memory, sizeof(T)) : std::memcpy(memory, tile, sizeof(T));
  }
  // By `run` places of a dimension; those after it are at their starts.
  void advance(size_t dim, int64_t run) {
    at_ += run * strides_[dim];
    index_[dim] += run;
    while (index_[dim] == sizes_[dim] && dim > 0) {
      at_ -= sizes_[dim] * strides_[dim];
      index_[dim] = 0;
      --dim;
      at_ += strides_[dim];
      ++index_[dim];
    }
  }

  static constexpr int64_t short_run = 16, repeated_run = 64;

  const Dims& sizes_;
  const Dims& strides_;
  Dims index_;
  char* at_;
};

}  // namespace wisp::cpu
