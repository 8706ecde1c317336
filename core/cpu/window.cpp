#include "cpu/window.h"

#include <algorithm>
#include <cmath>

#include "cpu/isa.h"
#include "cpu/kernels/kernels.h"
#include "cpu/window_kernels.h"

namespace wisp::cpu {

#define WISP_DECLARE(isa)                \
  namespace isa {                        \
  void fill_windows(WindowTable& table); \
  }
WISP_FOR_EACH_ISA(WISP_DECLARE)
#undef WISP_DECLARE

const WindowTable& window_table() {
  static const WindowTable table = [] {
    WindowTable filled;
    WISP_FILL_FOR_ISA(fill_windows, filled);
    return filled;
  }();
  return table;
}

namespace {

void check_size(int64_t in, int64_t out) {
  WISP_CHECK(std::max(in, out) < INT32_MAX, "a dimension of ", std::max(in, out),
             " elements is too long to be pooled or resized");
}

Taps empty_taps(int64_t in, int64_t out, int64_t most) {
  check_size(in, out);
  Taps taps{.in = in, .out = out, .most = most, .start = {}, .count = {}, .weight = {}};
  taps.start.resize(static_cast<size_t>(out));
  taps.count.resize(static_cast<size_t>(out));
  taps.weight.resize(static_cast<size_t>(out * most));
  return taps;
}

void set(Taps& taps, int64_t o, int64_t start, int64_t count) {
  taps.start[static_cast<size_t>(o)] = static_cast<int32_t>(start);
  taps.count[static_cast<size_t>(o)] = static_cast<int32_t>(count);
}

double& weight(Taps& taps, int64_t o, int64_t k) {
  return taps.weight[static_cast<size_t>(o * taps.most + k)];
}

struct Range {
  int64_t begin, end;
};
Range adaptive_range(int64_t in, int64_t out, int64_t o) {
  return {o * in / out, ((o + 1) * in + out - 1) / out};
}

}  // namespace

Taps transposed(const Taps& taps) {
  std::vector<int64_t> first(static_cast<size_t>(taps.in), taps.out), uses(first.size(), 0);
  for (int64_t o = 0; o < taps.out; ++o) {
    const size_t at = static_cast<size_t>(o);
    for (int64_t k = 0; k < taps.count[at]; ++k) {
      const size_t i = static_cast<size_t>(taps.start[at] + k);
      first[i] = std::min(first[i], o);
      uses[i] = o + 1 - first[i];
    }
  }
  const int64_t most = uses.empty() ? 0 : *std::max_element(uses.begin(), uses.end());
  Taps back = empty_taps(taps.out, taps.in, most);
  int64_t end = 0;  // where an element that nobody uses stands, so that starts are in order
  for (int64_t i = 0; i < taps.in; ++i) {
    const size_t at = static_cast<size_t>(i);
    set(back, i, uses[at] ? first[at] : end, uses[at]);
    end = uses[at] ? first[at] + uses[at] : end;
  }
  for (int64_t o = 0; o < taps.out; ++o) {
    const size_t at = static_cast<size_t>(o);
    for (int64_t k = 0; k < taps.count[at]; ++k) {
      const int64_t i = taps.start[at] + k;
      weight(back, i, o - first[static_cast<size_t>(i)]) =
          taps.weight[static_cast<size_t>(o * taps.most + k)];
    }
  }
  return back;
}

Taps pool_taps(int64_t in, const PoolWindow& window) {
  Taps taps = empty_taps(in, window.out, std::min(window.kernel, std::max<int64_t>(in, 1)));
  for (int64_t o = 0; o < window.out; ++o) {
    const int64_t begin = o * window.stride - window.padding;
    const int64_t end = std::min(begin + window.kernel, in + window.padding);
    const int64_t first = std::max<int64_t>(begin, 0);
    const int64_t count = std::max<int64_t>(std::min(end, in) - first, 0);
    set(taps, o, count ? first : 0, count);
    const int64_t divisor = window.sum ? 1 : window.count_padding ? end - begin : count;
    for (int64_t k = 0; k < count; ++k) weight(taps, o, k) = 1.0 / static_cast<double>(divisor);
  }
  return taps;
}

Taps adaptive_taps(int64_t in, int64_t out) {
  Taps taps = empty_taps(in, out, out ? in / out + 2 : 0);
  for (int64_t o = 0; o < out; ++o) {
    const auto [begin, end] = adaptive_range(in, out, o);
    set(taps, o, begin, end - begin);
    for (int64_t k = 0; k < end - begin; ++k)
      weight(taps, o, k) = 1.0 / static_cast<double>(end - begin);
  }
  return taps;
}

Windows pool_windows(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t padding,
                     int64_t dilation) {
  check_size(in, out);
  Windows windows{
      .in = in, .out = out, .dilation = dilation, .stride = stride, .start = {}, .count = {}};
  windows.start.reserve(static_cast<size_t>(out));
  windows.count.reserve(static_cast<size_t>(out));
  for (int64_t o = 0; o < out; ++o) {
    const int64_t begin = o * stride - padding;
    const int64_t skipped = begin < 0 ? (-begin + dilation - 1) / dilation : 0;
    const int64_t start = begin + skipped * dilation;
    const int64_t inside = start < in ? (in - start + dilation - 1) / dilation : 0;
    const int64_t count = std::max<int64_t>(std::min(kernel - skipped, inside), 0);
    windows.start.push_back(static_cast<int32_t>(count ? start : 0));
    windows.count.push_back(static_cast<int32_t>(count));
  }
  return windows;
}

Windows adaptive_windows(int64_t in, int64_t out) {
  check_size(in, out);
  Windows windows{.in = in, .out = out, .dilation = 1, .stride = 0, .start = {}, .count = {}};
  for (int64_t o = 0; o < out; ++o) {
    const auto [begin, end] = adaptive_range(in, out, o);
    windows.start.push_back(static_cast<int32_t>(begin));
    windows.count.push_back(static_cast<int32_t>(end - begin));
  }
  return windows;
}

template <class T>
Windows fractional_windows(int64_t in, int64_t out, int64_t kernel, T sample) {
  check_size(in, out);
  Windows windows{.in = in, .out = out, .dilation = 1, .stride = 0, .start = {}, .count = {}};
  const T step = out > 1 ? static_cast<T>(in - kernel) / static_cast<T>(out - 1) : T(0);
  for (int64_t o = 0; o < out; ++o) {
    const bool last = o == out - 1;
    const auto begin = last ? in - kernel
                            : static_cast<int64_t>((static_cast<T>(o) + sample) * step) -
                                  static_cast<int64_t>(sample * step);
    windows.start.push_back(static_cast<int32_t>(std::clamp<int64_t>(begin, 0, in - kernel)));
    windows.count.push_back(static_cast<int32_t>(kernel));
  }
  return windows;
}
template Windows fractional_windows(int64_t, int64_t, int64_t, float);
template Windows fractional_windows(int64_t, int64_t, int64_t, double);

}  // namespace wisp::cpu
