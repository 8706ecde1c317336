#include <algorithm>
#include <limits>

#include "base/parallel.h"
#include "cpu/grain.h"
#include "cpu/scratch.h"
#include "cpu/window.h"
#include "cpu/window_kernels.h"

namespace wisp::cpu {

namespace {

constexpr int64_t grain_elements = 1 << 14;
constexpr DTypeSet max_types = set_of(DType::float32, DType::float64, DType::int64);

template <class T>
const MaxKernels<T>& kernels_for() {
  if constexpr (std::is_same_v<T, float>) {
    return window_table().max_f32;
  } else if constexpr (std::is_same_v<T, double>) {
    return window_table().max_f64;
  } else {
    return window_table().max_i64;
  }
}

template <class T>
constexpr T lowest = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                          : std::numeric_limits<T>::lowest();

// Everything but the last dimension: which rows of a plane an output row looks at, in order.
class Rows {
 public:
  Rows(const std::vector<Windows>& windows) : windows_(windows), lead_(windows.size() - 1) {
    for (size_t d = 0; d < lead_; ++d) out_ *= windows[d].out, in_ *= windows[d].in;
  }
  int64_t out() const { return out_; }
  int64_t in() const { return in_; }
  void of(int64_t o, std::vector<int32_t>& rows) const {
    rows.clear();
    if (lead_ == 0) rows.push_back(0);
    if (lead_ == 1) append(windows_[0], o, 0, rows);
    if (lead_ < 2) return;
    const Windows& outer = windows_[0];
    const size_t at = static_cast<size_t>(o / windows_[1].out);
    for (int64_t k = 0; k < outer.count[at]; ++k)
      append(windows_[1], o % windows_[1].out, outer.start[at] + k * outer.dilation, rows);
  }

 private:
  static void append(const Windows& w, int64_t o, int64_t outer, std::vector<int32_t>& rows) {
    const size_t at = static_cast<size_t>(o);
    for (int64_t k = 0; k < w.count[at]; ++k)
      rows.push_back(static_cast<int32_t>(outer * w.in + w.start[at] + k * w.dilation));
  }

  const std::vector<Windows>& windows_;
  size_t lead_;
  int64_t out_ = 1, in_ = 1;
};

// Elements of the largest window.
int64_t window_size(const MaxPoolCall& call) {
  int64_t size = 1;
  for (const Windows& windows : call.windows)
    size *= *std::max_element(windows.count.begin(), windows.count.end());
  return size;
}

// The largest element of a column of a window, and its row.
template <class T>
struct Column {
  T value;
  int32_t row;
};

// Whether a column is taken over what the columns left of it had. Of equal elements the first
// counts, of several NaN the last.
template <class T>
bool taken(const Column<T>& column, const Column<T>& best) {
  const bool nan = column.value != column.value, best_nan = best.value != best.value;
  if (nan || best_nan) return nan && (!best_nan || column.row >= best.row);
  return column.value > best.value || (column.value == best.value && column.row < best.row);
}

// The columns have been searched: `best` and `at` hold the largest of each and its row.
template <class T>
void search_row(const Windows& last, const T* best, const int32_t* at, T* y, int64_t* index) {
  for (int64_t o = 0; o < last.out; ++o) {
    const size_t place = static_cast<size_t>(o);
    if (last.count[place] == 0) {
      y[o] = lowest<T>, index[o] = 0;
      continue;
    }
    int64_t column = last.start[place];
    Column<T> found{best[column], at[column]};
    for (int64_t k = 1; k < last.count[place]; ++k) {
      const int64_t here = last.start[place] + k * last.dilation;
      const Column<T> other{best[here], at[here]};
      if (taken(other, found)) found = other, column = here;
    }
    y[o] = found.value;
    index[o] = found.row * last.in + column;
  }
}

// Rows are compared first, whole vectors at a time; then the columns of each window.
template <class T>
void max_pool_planes(const MaxPoolCall& call) {
  const Rows rows(call.windows);
  const Windows& last = call.windows.back();
  const auto& kernel = kernels_for<T>();
  const T* x = reinterpret_cast<const T*>(call.x);
  T* y = reinterpret_cast<T*>(call.y);
  const int64_t grain = std::max<int64_t>(1, grain_elements / (2 * (last.in + last.out) + 1));
  const int64_t lines = call.shape.outer * rows.out();
  parallel_for(lines, even_grain(lines, grain, 1), [&](int64_t begin, int64_t end) {
    const Scratch<T> best(last.in);
    const Scratch<int32_t> at(call.index ? last.in : 0);
    std::vector<int32_t> parts;
    for (int64_t r = begin; r < end; ++r) {
      rows.of(r % rows.out(), parts);
      const T* plane = x + r / rows.out() * rows.in() * last.in;
      T* out = y + r * last.out;
      if (parts.empty()) {
        std::fill(out, out + last.out, lowest<T>);
        if (call.index) std::fill_n(call.index + r * last.out, last.out, 0);
        continue;
      }
      const T* first = plane + parts[0] * last.in;
      if (parts.size() > 1 || call.index) std::copy(first, first + last.in, best.data());
      if (call.index) std::fill(at.begin(), at.end(), parts[0]);
      for (size_t p = 1; p < parts.size(); ++p) {
        const T* row = plane + parts[p] * last.in;
        if (call.index) {
          kernel.larger_at(best.data(), at.data(), row, parts[p], last.in);
        } else {
          kernel.larger(best.data(), row, last.in);
        }
      }
      if (call.index) {
        search_row(last, best.data(), at.data(), out, call.index + r * last.out);
      } else {
        std::fill(out, out + last.out, lowest<T>);
        kernel.largest(out, parts.size() > 1 ? best.data() : first, last.start.data(),
                       last.count.data(), last.dilation, last.stride, last.out);
      }
    }
  });
}

// Pixels are compared, all channels at a time.
template <class T>
void max_pool_pixels(const MaxPoolCall& call) {
  const Rows rows(call.windows);
  const Windows& last = call.windows.back();
  const int64_t channels = call.shape.channels;
  const auto& kernel = kernels_for<T>();
  const T* x = reinterpret_cast<const T*>(call.x);
  T* y = reinterpret_cast<T*>(call.y);
  const int64_t grain =
      std::max<int64_t>(1, grain_elements / (window_size(call) * last.out * channels + 1));
  const int64_t lines = call.shape.outer * rows.out();
  parallel_for(lines, even_grain(lines, grain, 1), [&](int64_t begin, int64_t end) {
    std::vector<int32_t> parts;
    for (int64_t r = begin; r < end; ++r) {
      rows.of(r % rows.out(), parts);
      const int64_t at = r * last.out * channels;
      if (parts.empty()) {
        std::fill_n(y + at, last.out * channels, lowest<T>);
        if (call.index) std::fill_n(call.index + at, last.out * channels, 0);
        continue;
      }
      kernel.largest_pixels({.y = y + at,
                             .index = call.index ? call.index + at : nullptr,
                             .plane = x + r / rows.out() * rows.in() * last.in * channels,
                             .rows = parts.data(),
                             .row_count = static_cast<int64_t>(parts.size()),
                             .width = last.in,
                             .start = last.start.data(),
                             .count = last.count.data(),
                             .dilation = last.dilation,
                             .n = last.out,
                             .channels = channels,
                             .lowest = lowest<T>});
    }
  });
}

}  // namespace

void max_pool(const MaxPoolCall& call) {
  int64_t plane = 1;
  for (const Windows& windows : call.windows) plane *= windows.in;
  WISP_CHECK(plane < INT32_MAX, "max_pool(): a plane of ", plane, " elements is too large");
  visit<max_types>(call.dtype, "max_pool", [&]<class T>() {
    if (call.shape.channels == 1) {
      max_pool_planes<T>(call);
    } else {
      max_pool_pixels<T>(call);
    }
  });
}

// A plane, or a group of channels, belongs to one thread: what is added to one element is added in
// order.
void pool_scatter(const PoolScatterCall& call) {
  const int64_t channels = call.shape.channels, in = call.in, out = call.out;
  visit<dtypes::real_math>(call.dtype, "max_pool", [&]<class T>() {
    const T* grad = reinterpret_cast<const T*>(call.grad);
    T* x_grad = reinterpret_cast<T*>(call.x_grad);
    const int64_t grain = std::max<int64_t>(1, grain_elements / ((in + out) * channels + 1));
    parallel_for(call.shape.outer, even_grain(call.shape.outer, grain, 1),
                 [&](int64_t begin, int64_t end) {
                   std::fill(x_grad + begin * in * channels, x_grad + end * in * channels, T(0));
                   for (int64_t plane = begin; plane < end; ++plane) {
                     T* to = x_grad + plane * in * channels;
                     const int64_t first = plane * out * channels;
                     for (int64_t o = 0; o < out; ++o) {
                       for (int64_t c = 0; c < channels; ++c) {
                         const int64_t at = first + o * channels + c, place = call.index[at];
                         WISP_CHECK(place >= 0 && place < in, "found an invalid max index: ", place,
                                    " of a plane of ", in, " elements");
                         to[place * channels + c] += grad[at];
                       }
                     }
                   }
                 });
  });
}

}  // namespace wisp::cpu
