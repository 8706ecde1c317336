// Where interpolation looks, and how much each place counts.
#include <algorithm>
#include <cmath>

#include "cpu/window.h"

namespace wisp::cpu {

namespace {

// Input elements per output element.
double step_of(int64_t in, int64_t out, const Resize& resize) {
  if (resize.align_corners)
    return out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0;
  return resize.scale > 0 ? 1 / resize.scale : static_cast<double>(in) / static_cast<double>(out);
}

// The place of an output element among those of the input.
double source_of(int64_t o, double step, const Resize& resize) {
  const double at = static_cast<double>(o);
  return resize.align_corners ? at * step : (at + 0.5) * step - 0.5;
}

// The cubic that passes through its points: 1 at 0, 0 at the other integers.
double cubic(double x, double a) {
  x = std::fabs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}

double kernel(double x, Interpolation mode, double a) {
  return mode == Interpolation::cubic ? cubic(x, a) : std::max(0.0, 1 - std::fabs(x));
}

// Collects weights of input elements, those outside standing for the nearest inside.
class Builder {
 public:
  Builder(int64_t in, int64_t out, int64_t most) {
    WISP_CHECK(std::max(in, out) < INT32_MAX, "interpolate(): a dimension of ", std::max(in, out),
               " elements is too long");
    taps_.in = in, taps_.out = out, taps_.most = std::min(most, in);
  }
  void begin(int64_t first, int64_t last) {
    start_ = std::clamp<int64_t>(first, 0, taps_.in - 1);
    taps_.start.push_back(static_cast<int32_t>(start_));
    taps_.count.push_back(
        static_cast<int32_t>(std::clamp<int64_t>(last, 0, taps_.in - 1) - start_ + 1));
    taps_.weight.resize(taps_.weight.size() + static_cast<size_t>(taps_.most));
  }
  void add(int64_t i, double weight) {
    const int64_t k = std::clamp<int64_t>(i, 0, taps_.in - 1) - start_;
    taps_.weight[taps_.weight.size() - static_cast<size_t>(taps_.most - k)] += weight;
  }
  Taps finish() { return std::move(taps_); }

 private:
  Taps taps_;
  int64_t start_ = 0;
};

// In single precision, as everybody computes it: rounding decides which element is taken.
Taps nearest_taps(int64_t in, int64_t out, const Resize& resize) {
  Builder builder(in, out, 1);
  const float step = static_cast<float>(
      resize.scale > 0 ? 1 / resize.scale
                       : static_cast<double>(static_cast<float>(in) / static_cast<float>(out)));
  const float shift = resize.mode == Interpolation::nearest_exact ? 0.5f : 0.f;
  const bool plain = resize.mode == Interpolation::nearest;
  for (int64_t o = 0; o < out; ++o) {
    auto i = static_cast<int64_t>(std::floor((static_cast<float>(o) + shift) * step));
    if (plain && out == in) i = o;  // whatever factor was given
    if (plain && out == 2 * in) i = o / 2;
    builder.begin(i, i);
    builder.add(i, 1);
  }
  return builder.finish();
}

Taps linear_taps(int64_t in, int64_t out, const Resize& resize) {
  Builder builder(in, out, 2);
  const double step = step_of(in, out, resize);
  for (int64_t o = 0; o < out; ++o) {
    const double at =
        in == out ? static_cast<double>(o) : std::max(source_of(o, step, resize), 0.0);
    const int64_t i = std::min(static_cast<int64_t>(at), in - 1);
    const double part = std::clamp(at - static_cast<double>(i), 0.0, 1.0);
    builder.begin(i, i + 1);
    builder.add(i, 1 - part);
    builder.add(i + 1, part);
  }
  return builder.finish();
}

Taps cubic_taps(int64_t in, int64_t out, const Resize& resize) {
  Builder builder(in, out, 4);
  const double step = step_of(in, out, resize);
  for (int64_t o = 0; o < out; ++o) {
    const double at = source_of(o, step, resize), whole = std::floor(at);
    const int64_t i = static_cast<int64_t>(whole);
    builder.begin(i - 1, i + 2);
    for (int64_t k = -1; k <= 2; ++k)
      builder.add(i + k, cubic(at - whole - static_cast<double>(k), -0.75));
  }
  return builder.finish();
}

// The kernel is stretched over as much of the input as an output element stands for.
Taps antialias_taps(int64_t in, int64_t out, const Resize& resize) {
  const double step = step_of(in, out, resize), stretch = std::max(step, 1.0);
  const double reach = (resize.mode == Interpolation::cubic ? 2 : 1) * stretch;
  Builder builder(in, out, static_cast<int64_t>(std::ceil(reach)) * 2 + 1);
  for (int64_t o = 0; o < out; ++o) {
    const double centre = step * (static_cast<double>(o) + 0.5);
    const int64_t first = std::max(static_cast<int64_t>(centre - reach + 0.5), int64_t(0));
    const int64_t last =
        std::max(std::min(static_cast<int64_t>(centre + reach + 0.5), in) - 1, first);
    double total = 0;
    auto each = [&](int64_t i) {
      return kernel((static_cast<double>(i) - centre + 0.5) / stretch, resize.mode, -0.5);
    };
    for (int64_t i = first; i <= last; ++i) total += each(i);
    builder.begin(first, last);
    for (int64_t i = first; i <= last; ++i) builder.add(i, total != 0 ? each(i) / total : 0);
  }
  return builder.finish();
}

}  // namespace

Taps resize_taps(int64_t in, int64_t out, const Resize& resize) {
  if (resize.mode == Interpolation::nearest || resize.mode == Interpolation::nearest_exact)
    return nearest_taps(in, out, resize);
  if (resize.antialias) return antialias_taps(in, out, resize);
  return resize.mode == Interpolation::cubic ? cubic_taps(in, out, resize)
                                             : linear_taps(in, out, resize);
}

}  // namespace wisp::cpu
