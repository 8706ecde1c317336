#include "cpu/grid_sample.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "cpu/scratch.h"
#include "cpu/window_kernels.h"

namespace wisp::cpu {

namespace {

constexpr int64_t samples_at_once = 256;
constexpr int max_taps = 16;  // cubic in two dimensions

// The elements that one sample is made of, along one dimension. Those outside have no index.
template <class T>
struct PlaceTaps {
  int64_t index[4];
  T weight[4];
  int count = 0;
  void add(T place, T w, int64_t size) {
    const bool inside = place >= T(0) && place <= static_cast<T>(size - 1);
    index[count] = inside ? static_cast<int64_t>(place) : -1;
    weight[count++] = w;
  }
};

// Back and forth between both ends.
template <class T>
T reflected(T at, int64_t size, bool align_corners) {
  const T low = align_corners ? T(0) : T(-0.5), span = static_cast<T>(size - align_corners);
  if (span == 0) return 0;
  const T way = std::fabs(at - low), rest = std::fmod(way, span);
  const bool odd = std::fmod(std::floor(way / span), T(2)) == T(1);
  return (odd ? span - rest : rest) + low;
}

template <class T>
T kept_inside(T at, int64_t size, const GridSampleCall& call) {
  if (call.outside == Outside::zeros) return at;
  if (call.outside == Outside::reflection) at = reflected(at, size, call.align_corners);
  return std::min(static_cast<T>(size - 1), std::max(at, T(0)));
}

template <class T>
T cubic_near(T x) {
  return ((T(1.25) * x - T(2.25)) * x) * x + 1;
}
template <class T>
T cubic_far(T x) {
  return (((x - 5) * x + 8) * x - 4) * T(-0.75);
}

template <class T>
PlaceTaps<T> taps_at(T coordinate, int64_t size, const GridSampleCall& call) {
  const T n = static_cast<T>(size);
  const T at =
      call.align_corners ? (coordinate + 1) * ((n - 1) / 2) : ((coordinate + 1) * n - 1) / 2;
  PlaceTaps<T> taps;
  if (call.sampling == Sampling::cubic) {
    const T base = std::floor(at), part = at - base, rest = 1 - part;
    const T weights[] = {cubic_far(part + 1), cubic_near(part), cubic_near(rest),
                         cubic_far(rest + 1)};
    for (int k = 0; k < 4; ++k)
      taps.add(std::floor(kept_inside(base + static_cast<T>(k - 1), size, call)), weights[k], size);
    return taps;
  }
  const T inside = kept_inside(at, size, call);
  if (call.sampling == Sampling::nearest) {
    taps.add(std::nearbyint(inside), 1, size);
    return taps;
  }
  const T base = std::floor(inside), part = inside - base;
  taps.add(base, 1 - part, size);
  taps.add(base + 1, part, size);
  return taps;
}

// Some samples of one image: their taps, all combinations over the dimensions.
template <class T>
class Group {
 public:
  Group() : offsets_(max_taps * samples_at_once), weights_(max_taps * samples_at_once) {}

  void prepare(const GridSampleCall& call, const T* places, int64_t count) {
    count_ = count;
    for (int64_t s = 0; s < count; ++s) {
      int64_t offsets[max_taps] = {0};
      T weights[max_taps] = {1};
      int64_t total = 1;
      for (int64_t d = 0; d < call.dims; ++d)
        total = widen(taps_at(places[s * call.dims + call.dims - 1 - d], call.sizes[d], call),
                      call.sizes[d], offsets, weights, total);
      taps_ = total;
      for (int64_t k = 0; k < total; ++k) {
        offsets_[k * samples_at_once + s] = static_cast<int32_t>(offsets[k]);
        weights_[k * samples_at_once + s] = weights[k];
      }
    }
  }

  void sample(const T* image, T* out) const {
    std::fill(out, out + count_, T(0));
    for (int64_t k = 0; k < taps_; ++k)
      window_kernels<T>().add_picked(out, image, offsets_.data() + k * samples_at_once,
                                     weights_.data() + k * samples_at_once, count_);
  }

 private:
  // Combines what there is with the taps of one more dimension.
  static int64_t widen(const PlaceTaps<T>& taps, int64_t size, int64_t* offsets, T* weights,
                       int64_t total) {
    for (int64_t k = total; k-- > 0;) {
      const int64_t offset = offsets[k];
      const T weight = weights[k];
      for (int j = taps.count; j-- > 0;) {
        const int64_t to = k * taps.count + j;
        const bool inside = offset >= 0 && taps.index[j] >= 0;
        offsets[to] = inside ? offset * size + taps.index[j] : -1;
        weights[to] = weight * taps.weight[j];
      }
    }
    return total * taps.count;
  }

  int64_t count_ = 0, taps_ = 0;
  Scratch<int32_t> offsets_;
  Scratch<T> weights_;
};

}  // namespace

void grid_sample(const GridSampleCall& call) {
  int64_t plane = 1;
  for (int64_t d = 0; d < call.dims; ++d) plane *= call.sizes[d];
  WISP_CHECK(plane < INT32_MAX, "grid_sampler(): an image of ", plane, " elements is too large");
  const int64_t groups = (call.samples + samples_at_once - 1) / samples_at_once;
  visit<dtypes::real_math>(call.dtype, "grid_sampler", [&]<class T>() {
    parallel_for(call.batch * groups, 1, [&](int64_t begin, int64_t end) {
      Group<T> group;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t n = i / groups, first = i % groups * samples_at_once;
        const T* places = reinterpret_cast<const T*>(call.places);
        group.prepare(call, places + (n * call.samples + first) * call.dims,
                      std::min(samples_at_once, call.samples - first));
        for (int64_t c = n * call.channels; c < (n + 1) * call.channels; ++c)
          group.sample(reinterpret_cast<const T*>(call.images) + c * plane,
                       reinterpret_cast<T*>(call.out) + c * call.samples + first);
      }
    });
  });
}

}  // namespace wisp::cpu
