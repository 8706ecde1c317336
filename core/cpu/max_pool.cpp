#include <algorithm>
#include <limits>

#include "base/parallel.h"
#include "cpu/grain.h"
#include "cpu/kernels/kernels.h"
#include "cpu/scratch.h"
#include "cpu/window.h"
#include "cpu/window_kernels.h"

namespace wisp::cpu {

namespace {

constexpr int64_t grain_elements = 1 << 14;
constexpr DTypeSet max_types = dtypes::floating | set_of(DType::int64);

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

// What elements are compared as.
template <class Stored>
using Compared = std::conditional_t<contains(dtypes::half, dtype_of<Stored>), float, Stored>;

// Lines of elements: as they lie, or copies that can be compared.
template <class Stored>
class Lines {
 public:
  using T = Compared<Stored>;
  static constexpr bool copied = !std::is_same_v<Stored, T>;
  Lines(int64_t count, int64_t length) : length_(length), copies_(copied ? count * length : 0) {}
  const T* read(const char* memory, int64_t at, int64_t place) const {
    const Stored* line = reinterpret_cast<const Stored*>(memory) + at;
    if constexpr (copied) {
      T* copy = copies_.data() + place * length_;
      kernels().cast[int(dtype_of<T>)][int(dtype_of<Stored>)](copy, line, length_);
      return copy;
    } else {
      return line;
    }
  }
  // Where to make one, and bringing it there.
  T* make(char* memory, int64_t at) const {
    if constexpr (copied) return copies_.data();
    return reinterpret_cast<T*>(memory) + at;
  }
  void finish(char* memory, int64_t at) const {
    if constexpr (copied) {
      Stored* line = reinterpret_cast<Stored*>(memory) + at;
      kernels().cast[int(dtype_of<Stored>)][int(dtype_of<T>)](line, copies_.data(), length_);
    }
  }

 private:
  int64_t length_;
  Scratch<T> copies_;
};

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

int64_t longest(const Windows& windows) {
  return *std::max_element(windows.count.begin(), windows.count.end());
}

// Rows of the largest window.
int64_t most_rows(const MaxPoolCall& call) {
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < call.windows.size(); ++d) rows *= longest(call.windows[d]);
  return rows;
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

// Where the largest elements y of windows in one row are: without a branch that nobody foresees.
template <class T>
void find_places(const Windows& last, const T* x, const T* y, int64_t first, int64_t* index) {
  for (int64_t o = 0; o < last.out; ++o) {
    const int64_t count = last.count[static_cast<size_t>(o)];
    const int64_t start = last.start[static_cast<size_t>(o)];
    int64_t place = 0;
    for (int64_t k = count - 1; k >= 0; --k)
      place = x[start + k * last.dilation] == y[o] ? k : place;
    for (int64_t k = 0; k < count && y[o] != y[o]; ++k) {
      const T value = x[start + k * last.dilation];
      place = value != value ? k : place;
    }
    index[o] = count ? first + start + place * last.dilation : 0;
  }
}

// Rows are compared first, whole vectors at a time; then the columns of each window.
template <class Stored>
class PlaneRow {
 public:
  using T = Compared<Stored>;
  explicit PlaneRow(const MaxPoolCall& call)
      : call_(call),
        last_(call.windows.back()),
        in_(1, last_.in),
        out_(1, last_.out),
        best_(last_.in),
        at_(call.index ? last_.in : 0) {}

  // Result row `r`, of the rows `parts` of the plane that begins at `plane`.
  void make(int64_t r, int64_t plane, const std::vector<int32_t>& parts) {
    T* y = out_.make(call_.y, r * last_.out);
    int64_t* index = call_.index ? call_.index + r * last_.out : nullptr;
    std::fill(y, y + last_.out, lowest<T>);
    if (parts.empty()) {
      if (index) std::fill_n(index, last_.out, 0);
    } else if (index && parts.size() > 1) {
      find_rows(plane, parts);
      search_row(last_, best_.data(), at_.data(), y, index);
    } else {
      const T* best = best_of_rows(plane, parts);
      kernels_for<T>().largest(y, best, last_.start.data(), last_.count.data(), last_.dilation,
                               last_.stride, last_.out);
      if (index) find_places(last_, best, y, parts[0] * last_.in, index);
    }
    out_.finish(call_.y, r * last_.out);
  }

 private:
  const T* row(int64_t plane, int32_t part) const {
    return in_.read(call_.x, plane + part * last_.in, 0);
  }
  void begin_with(const T* first) { std::copy(first, first + last_.in, best_.data()); }

  const T* best_of_rows(int64_t plane, const std::vector<int32_t>& parts) {
    const T* first = row(plane, parts[0]);
    if (parts.size() == 1) return first;
    begin_with(first);
    for (size_t p = 1; p < parts.size(); ++p)
      kernels_for<T>().larger(best_.data(), row(plane, parts[p]), last_.in);
    return best_.data();
  }

  void find_rows(int64_t plane, const std::vector<int32_t>& parts) {
    begin_with(row(plane, parts[0]));
    std::fill(at_.begin(), at_.end(), parts[0]);
    for (size_t p = 1; p < parts.size(); ++p)
      kernels_for<T>().larger_at(best_.data(), at_.data(), row(plane, parts[p]), parts[p],
                                 last_.in);
  }

  const MaxPoolCall& call_;
  const Windows& last_;
  const Lines<Stored> in_, out_;
  const Scratch<T> best_;
  const Scratch<int32_t> at_;
};

template <class Stored>
void max_pool_planes(const MaxPoolCall& call) {
  const Rows rows(call.windows);
  const Windows& last = call.windows.back();
  const int64_t grain = std::max<int64_t>(1, grain_elements / (2 * (last.in + last.out) + 1));
  const int64_t lines = call.shape.outer * rows.out();
  parallel_for(lines, even_grain(lines, grain, 1), [&](int64_t begin, int64_t end) {
    PlaneRow<Stored> row(call);
    std::vector<int32_t> parts;
    for (int64_t r = begin; r < end; ++r) {
      rows.of(r % rows.out(), parts);
      row.make(r, r / rows.out() * rows.in() * last.in, parts);
    }
  });
}

// Pixels are compared, all channels at a time.
template <class Stored>
class PixelsRow {
 public:
  using T = Compared<Stored>;
  PixelsRow(const MaxPoolCall& call, int64_t most_rows)
      : call_(call),
        last_(call.windows.back()),
        channels_(call.shape.channels),
        in_(most_rows, last_.in * channels_),
        out_(1, last_.out * channels_) {}

  // Results from element `at` on, of the rows `parts` of the plane that begins at `plane`.
  void make(int64_t at, int64_t plane, const std::vector<int32_t>& parts) {
    T* y = out_.make(call_.y, at);
    int64_t* index = call_.index ? call_.index + at : nullptr;
    if (parts.empty()) {
      std::fill_n(y, last_.out * channels_, lowest<T>);
      if (index) std::fill_n(index, last_.out * channels_, 0);
    } else {
      compare(y, index, plane, parts);
    }
    out_.finish(call_.y, at);
  }

 private:
  void compare(T* y, int64_t* index, int64_t plane, const std::vector<int32_t>& parts) {
    lines_.clear();
    for (const int32_t part : parts)
      lines_.push_back(in_.read(call_.x, plane + part * last_.in * channels_,
                                static_cast<int64_t>(lines_.size())));
    kernels_for<T>().largest_pixels({.y = y,
                                     .index = index,
                                     .lines = lines_.data(),
                                     .rows = parts.data(),
                                     .row_count = static_cast<int64_t>(parts.size()),
                                     .width = last_.in,
                                     .start = last_.start.data(),
                                     .count = last_.count.data(),
                                     .dilation = last_.dilation,
                                     .n = last_.out,
                                     .channels = channels_,
                                     .lowest = lowest<T>});
  }

  const MaxPoolCall& call_;
  const Windows& last_;
  const int64_t channels_;
  const Lines<Stored> in_, out_;
  std::vector<const T*> lines_;
};

// The rows of an image are shared out before its blocks of channels: whoever made the image made
// some of its rows.
template <class Stored>
void max_pool_pixels(const MaxPoolCall& call) {
  const Rows rows(call.windows);
  const Windows& last = call.windows.back();
  const int64_t channels = call.shape.channels, parts_of_image = call.shape.parts;
  const int64_t height = most_rows(call), window = height * longest(last);
  const int64_t grain = std::max<int64_t>(1, grain_elements / (window * last.out * channels + 1));
  const int64_t lines = call.shape.outer * rows.out(), of_image = parts_of_image * rows.out();
  parallel_for(lines, even_grain(lines, grain, 1), [&](int64_t begin, int64_t end) {
    PixelsRow<Stored> row(call, height);
    std::vector<int32_t> parts;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t plane = i / of_image * parts_of_image + i % parts_of_image;
      const int64_t line = i % of_image / parts_of_image;
      rows.of(line, parts);
      row.make((plane * rows.out() + line) * last.out * channels,
               plane * rows.in() * last.in * channels, parts);
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

namespace {

// A plane, or a group of channels, belongs to one thread: what is added to one element is added in
// order.
template <class Stored>
class ScatterPlane {
 public:
  using T = Compared<Stored>;
  explicit ScatterPlane(const PoolScatterCall& call)
      : call_(call),
        channels_(call.shape.channels),
        grad_(1, call.out * channels_),
        x_grad_(1, call.in * channels_) {}

  void make(int64_t plane) const {
    const int64_t size = call_.in * channels_, first = plane * call_.out * channels_;
    T* to = x_grad_.make(call_.x_grad, plane * size);
    std::fill(to, to + size, T(0));
    add(to, grad_.read(call_.grad, first, 0), call_.index + first);
    x_grad_.finish(call_.x_grad, plane * size);
  }

 private:
  void add(T* to, const T* grad, const int64_t* index) const {
    for (int64_t o = 0; o < call_.out; ++o) {
      for (int64_t c = 0; c < channels_; ++c) {
        const int64_t at = o * channels_ + c, place = index[at];
        WISP_CHECK(place >= 0 && place < call_.in, "found an invalid max index: ", place,
                   " of a plane of ", call_.in, " elements");
        to[place * channels_ + c] += grad[at];
      }
    }
  }

  const PoolScatterCall& call_;
  const int64_t channels_;
  const Lines<Stored> grad_, x_grad_;
};

}  // namespace

void pool_scatter(const PoolScatterCall& call) {
  const int64_t planes = call.shape.outer, elements = (call.in + call.out) * call.shape.channels;
  const int64_t grain =
      even_grain(planes, std::max<int64_t>(1, grain_elements / (elements + 1)), 1);
  visit<dtypes::floating>(call.dtype, "max_pool", [&]<class T>() {
    parallel_for(planes, grain, [&](int64_t begin, int64_t end) {
      const ScatterPlane<T> scatter(call);
      for (int64_t plane = begin; plane < end; ++plane) scatter.make(plane);
    });
  });
}

}  // namespace wisp::cpu
