#include "cpu/search.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/parallel.h"
#include "cpu/scratch.h"
#include "cpu/sort_key.h"

namespace wisp::cpu {

namespace {

template <class T>
WISP_INLINE auto comparable(T value) {
  if constexpr (detail::is_half_type<T>) {
    return static_cast<float>(value);
  } else {
    return value;
  }
}

// How many elements of a row come before each of `width` values. A NaN that is searched for belongs
// at the end: no element is seen to be as large. Halves are taken without branches, which nobody
// could predict, and for several values in turn: none waits for another.
template <bool right, int width, class T, class At>
WISP_INLINE void insertion_points(int64_t length, const T* values, At at, int64_t* out) {
  auto comes_before = [&](int64_t i, T value) {
    const auto seen = comparable(at(i)), wanted = comparable(value);
    return right ? !(seen > wanted) : !(seen >= wanted);
  };
  int64_t begin[width] = {};
  for (; length > 1; length -= length / 2) {
    const int64_t half = length / 2;
    for (int w = 0; w < width; ++w) begin[w] += half * comes_before(begin[w] + half - 1, values[w]);
  }
  for (int w = 0; w < width; ++w)
    out[w] = begin[w] + (length == 1 && comes_before(begin[w], values[w]));
}

template <bool right, class T, class At>
void search_all(int64_t length, const T* values, int64_t count, At at, int64_t* out) {
  constexpr int together = 8;
  int64_t i = 0;
  for (; i + together <= count; i += together)
    insertion_points<right, together>(length, values + i, at, out + i);
  for (; i < count; ++i) insertion_points<right, 1>(length, values + i, at, out + i);
}

template <bool right, class T>
void search_row(const Search& job, int64_t row, int64_t begin, int64_t end, int64_t* out) {
  const T* boundaries = reinterpret_cast<const T*>(job.boundaries) + row * job.length;
  const T* values = reinterpret_cast<const T*>(job.values) + row * job.count + begin;
  out += row * job.count + begin;
  if (job.sorter) {
    const int64_t* sorter = job.sorter + row * job.length;
    search_all<right>(
        job.length, values, end - begin, [&](int64_t i) { return boundaries[sorter[i]]; }, out);
  } else {
    search_all<right>(
        job.length, values, end - begin, [&](int64_t i) { return boundaries[i]; }, out);
  }
}

}  // namespace

void search_sorted(const Search& job, int64_t* out) {
  visit<dtypes::real>(job.dtype, "searchsorted", [&]<class T>() {
    const int64_t steps = std::bit_width(static_cast<uint64_t>(job.length) | 1);
    parallel_for(job.rows * job.count, (1 << 12) / steps, [&](int64_t begin, int64_t end) {
      while (begin < end) {
        const int64_t row = begin / job.count, first = begin % job.count;
        const int64_t last = std::min(job.count, first + end - begin);
        job.right ? search_row<true, T>(job, row, first, last, out)
                  : search_row<false, T>(job, row, first, last, out);
        begin += last - first;
      }
    });
  });
}

namespace {

template <class Key>
void sort_rows(const Key* keys, int64_t rows, int64_t width, int64_t* order) {
  std::stable_sort(order, order + rows, [&](int64_t a, int64_t b) {
    const Key *left = keys + a * width, *right = keys + b * width;
    return std::lexicographical_compare(left, left + width, right, right + width);
  });
}

}  // namespace

void order_of_rows(DType dtype, int64_t rows, int64_t width, const char* in, int64_t* order) {
  std::iota(order, order + rows, int64_t(0));
  visit<dtypes::all_real>(dtype, "unique", [&]<class T>() {
    Scratch<KeyOf<T>> keys(rows * width);
    const auto* values = reinterpret_cast<const T*>(in);
    for (int64_t i = 0; i < rows * width; ++i) keys[i] = sort_key(values[i]);
    sort_rows(keys.data(), rows, width, order);
  });
}

namespace {

template <class T>
int64_t bin_of(const BinAxis<T>& axis, Binning how, T value) {
  const T first = axis.edges[0], last = axis.edges[axis.bins];
  if (!(value >= first && value <= last)) return -1;
  int64_t at = 0, low = 0, high = axis.bins + 1;
  if (how != Binning::search) {
    at = static_cast<int64_t>((value - first) * static_cast<T>(axis.bins) / (last - first));
    low = std::max<int64_t>(at - 1, 0);
    high = std::min(at + 2, axis.bins + 1);
  }
  if (how != Binning::linear) {
    at = std::upper_bound(axis.edges + low, axis.edges + high, value) - axis.edges - 1;
  }
  return std::min(at, axis.bins - 1);
}

}  // namespace

template <class T>
void cells_of(const T* in, int64_t points, const BinAxis<T>* axes, int64_t count, Binning how,
              int64_t* cells) {
  parallel_for(points, 1 << 13, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t cell = 0;
      for (int64_t axis = 0; axis < count && cell >= 0; ++axis) {
        const int64_t bin = bin_of(axes[axis], how, in[i * count + axis]);
        cell = bin < 0 ? -1 : cell * axes[axis].bins + bin;
      }
      cells[i] = cell;
    }
  });
}

template void cells_of(const float*, int64_t, const BinAxis<float>*, int64_t, Binning, int64_t*);
template void cells_of(const double*, int64_t, const BinAxis<double>*, int64_t, Binning, int64_t*);

}  // namespace wisp::cpu
