#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "cpu/grain.h"
#include "cpu/scratch.h"
#include "cpu/window.h"
#include "cpu/window_kernels.h"

namespace wisp::cpu {

namespace {

constexpr int64_t grain_elements = 1 << 14;

// An input row that an output row is made of.
struct WeightedRow {
  int64_t row;
  double weight;
  bool operator==(const WeightedRow&) const = default;
};

// Everything but the last dimension: rows of the input, weighted.
class Rows {
 public:
  Rows(const ResampleCall& call) : call_(call), lead_(call.taps.size() - 1) {
    for (size_t d = 0; d < lead_; ++d) out_ *= call.taps[d].out, in_ *= call.taps[d].in;
  }
  int64_t out() const { return out_; }
  int64_t in() const { return in_; }
  // The rows that make output row `o` of a plane.
  void of(int64_t o, std::vector<WeightedRow>& rows) const {
    rows.clear();
    if (lead_ == 0) rows.push_back({0, 1.0});
    if (lead_ == 1) append(call_.taps[0], o, {0, 1.0}, rows);
    if (lead_ < 2) return;
    const Taps& outer = call_.taps[0];
    const size_t at = static_cast<size_t>(o / call_.taps[1].out);
    for (int64_t k = 0; k < outer.count[at]; ++k)
      append(call_.taps[1], o % call_.taps[1].out, tap(outer, at, k, {0, 1.0}), rows);
  }

 private:
  static WeightedRow tap(const Taps& taps, size_t o, int64_t k, const WeightedRow& outer) {
    const size_t at = o * static_cast<size_t>(taps.most) + static_cast<size_t>(k);
    return {outer.row * taps.in + taps.start[o] + k, outer.weight * taps.weight[at]};
  }
  static void append(const Taps& taps, int64_t o, const WeightedRow& outer,
                     std::vector<WeightedRow>& rows) {
    const size_t at = static_cast<size_t>(o);
    for (int64_t k = 0; k < taps.count[at]; ++k) rows.push_back(tap(taps, at, k, outer));
  }

  const ResampleCall& call_;
  size_t lead_;
  int64_t out_ = 1, in_ = 1;
};

template <class T>
std::vector<T> narrowed(const std::vector<double>& weights) {
  return {weights.begin(), weights.end()};
}

// Rows are added up first, whole vectors at a time; then each window of the sum.
template <class T>
void resample_planes(const ResampleCall& call) {
  const Rows rows(call);
  const Taps& last = call.taps.back();
  const std::vector<T> weights = narrowed<T>(last.weight);
  const auto& kernel = window_kernels<T>();
  const T* x = reinterpret_cast<const T*>(call.x);
  T* y = reinterpret_cast<T*>(call.y);
  const int64_t grain = std::max<int64_t>(1, grain_elements / (last.in + last.out + 1));
  const int64_t lines = call.shape.outer * rows.out();
  parallel_for(lines, even_grain(lines, grain, 1), [&](int64_t begin, int64_t end) {
    const Scratch<T> sum(last.in);
    std::vector<WeightedRow> parts, before;
    for (int64_t r = begin; r < end; ++r) {
      std::swap(parts, before);
      rows.of(r % rows.out(), parts);
      const T* plane = x + r / rows.out() * rows.in() * last.in;
      T* out = y + r * last.out;
      if (parts.empty()) {
        std::fill(out, out + last.out, T(0));
        continue;
      }
      if (r > begin && r % rows.out() > 0 && parts == before) {  // the same row once more
        std::memcpy(out, out - last.out, static_cast<size_t>(last.out) * sizeof(T));
        continue;
      }
      const bool as_is = parts.size() == 1 && parts[0].weight == 1;
      const T* from = as_is ? plane + parts[0].row * last.in : sum.data();
      for (size_t p = 0; p < parts.size() && !as_is; ++p)
        kernel.add_scaled(sum.data(), plane + parts[p].row * last.in,
                          static_cast<T>(parts[p].weight), last.in, p == 0);
      kernel.weigh(out, from, last.start.data(), last.count.data(), weights.data(), last.most,
                   last.out);
    }
  });
}

// Pixels are added up, all channels at a time.
template <class T>
void resample_pixels(const ResampleCall& call) {
  const Rows rows(call);
  const Taps& last = call.taps.back();
  const int64_t channels = call.shape.channels;
  const auto& kernel = window_kernels<T>();
  const T* x = reinterpret_cast<const T*>(call.x);
  T* y = reinterpret_cast<T*>(call.y);
  const int64_t grain = std::max<int64_t>(1, grain_elements / (last.out * channels + 1));
  const int64_t lines = call.shape.outer * rows.out();
  parallel_for(lines, even_grain(lines, grain, 1), [&](int64_t begin, int64_t end) {
    std::vector<WeightedRow> parts;
    for (int64_t r = begin; r < end; ++r) {
      rows.of(r % rows.out(), parts);
      const T* plane = x + r / rows.out() * rows.in() * last.in * channels;
      for (int64_t o = 0; o < last.out; ++o) {
        T* out = y + (r * last.out + o) * channels;
        const size_t at = static_cast<size_t>(o);
        bool first = true;
        for (const WeightedRow& part : parts) {
          for (int64_t k = 0; k < last.count[at]; ++k) {
            const double weight = last.weight[static_cast<size_t>(o * last.most + k)];
            const int64_t pixel = part.row * last.in + last.start[at] + k;
            kernel.add_scaled(out, plane + pixel * channels, static_cast<T>(part.weight * weight),
                              channels, first);
            first = false;
          }
        }
        if (first) std::fill(out, out + channels, T(0));
      }
    }
  });
}

}  // namespace

void resample(const ResampleCall& call) {
  visit<dtypes::real_math>(call.dtype, "interpolate", [&]<class T>() {
    if (call.shape.channels == 1) {
      resample_planes<T>(call);
    } else {
      resample_pixels<T>(call);
    }
  });
}

}  // namespace wisp::cpu
