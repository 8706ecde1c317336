// The elements that a sample of an image is made of, for sampling and its derivatives.
#pragma once

#include <algorithm>
#include <cmath>

#include "cpu/grid_sample.h"
#include "cpu/scratch.h"
#include "cpu/window_kernels.h"

namespace wisp::cpu {

constexpr int max_taps = 16;  // cubic in two dimensions

// Along one dimension: which elements, with what weights, and how the weights change with the
// place. Elements outside have no index.
template <class T>
struct LineTaps {
  int64_t index[4];
  T weight[4], slope[4];
  int count = 0;
  T factor = 1;  // of slopes: elements per unit of the coordinate, 0 where it is held at an end
  void add(T place, T w, T s, int64_t size) {
    const bool inside = place >= T(0) && place <= static_cast<T>(size - 1);
    index[count] = inside ? static_cast<int64_t>(place) : -1;
    weight[count] = w;
    slope[count++] = s;
  }
};

// A place brought inside the image, and the derivative of that.
template <class T>
struct Kept {
  T at, factor;
};

// Back and forth between both ends.
template <class T>
Kept<T> reflected(T at, int64_t size, bool align_corners) {
  const T low = align_corners ? T(0) : T(-0.5), span = static_cast<T>(size - align_corners);
  if (span == 0) return {0, 0};
  const T way = std::fabs(at - low), rest = std::fmod(way, span);
  const bool odd = std::fmod(std::floor(way / span), T(2)) == T(1);
  const T sign = at < low ? T(-1) : T(1);
  return {(odd ? span - rest : rest) + low, odd ? -sign : sign};
}

template <class T>
Kept<T> kept_inside(T at, int64_t size, const GridSampleCall& call) {
  if (call.outside == Outside::zeros) return {at, 1};
  Kept<T> kept{at, 1};
  if (call.outside == Outside::reflection) kept = reflected(at, size, call.align_corners);
  const T last = static_cast<T>(size - 1);
  if (!(kept.at > T(0) && kept.at < last)) kept.factor = 0;
  return {std::min(last, std::max(kept.at, T(0))), kept.factor};
}

// The cubic through four points, at distances x < 1 and 1 < x < 2 from two of them.
template <class T>
T cubic_near(T x) {
  return ((T(1.25) * x - T(2.25)) * x) * x + 1;
}
template <class T>
T cubic_near_slope(T x) {
  return (T(3.75) * x - T(4.5)) * x;
}
template <class T>
T cubic_far(T x) {
  return (((x - 5) * x + 8) * x - 4) * T(-0.75);
}
template <class T>
T cubic_far_slope(T x) {
  return ((3 * x - 10) * x + 8) * T(-0.75);
}

template <class T>
LineTaps<T> cubic_taps(T at, int64_t size, const GridSampleCall& call) {
  const T base = std::floor(at), part = at - base, rest = 1 - part;
  const T weights[] = {cubic_far(part + 1), cubic_near(part), cubic_near(rest),
                       cubic_far(rest + 1)};
  const T slopes[] = {cubic_far_slope(part + 1), cubic_near_slope(part), -cubic_near_slope(rest),
                      -cubic_far_slope(rest + 1)};
  LineTaps<T> taps;
  for (int k = 0; k < 4; ++k) {
    const T place = kept_inside(base + static_cast<T>(k - 1), size, call).at;
    taps.add(std::floor(place), weights[k], slopes[k], size);
  }
  return taps;
}

template <class T>
LineTaps<T> taps_at(T coordinate, int64_t size, const GridSampleCall& call) {
  const T n = static_cast<T>(size);
  const T at =
      call.align_corners ? (coordinate + 1) * ((n - 1) / 2) : ((coordinate + 1) * n - 1) / 2;
  LineTaps<T> taps;
  if (call.sampling == Sampling::cubic) {
    taps = cubic_taps(at, size, call);
  } else {
    const Kept<T> inside = kept_inside(at, size, call);
    taps.factor = inside.factor;
    if (call.sampling == Sampling::nearest) {
      taps.add(std::nearbyint(inside.at), 1, 0, size);
    } else {
      const T base = std::floor(inside.at), part = inside.at - base;
      taps.add(base, 1 - part, -1, size);
      taps.add(base + 1, part, 1, size);
    }
  }
  taps.factor *= static_cast<T>(size - call.align_corners) / 2;
  return taps;
}

// The taps of some samples of one image, all combinations over the dimensions: tap k of sample s is
// at k * capacity + s.
template <class T>
class SampleTaps {
 public:
  SampleTaps(int64_t capacity, int64_t dims, bool with_slopes)
      : capacity_(capacity),
        offsets_(max_taps * capacity),
        weights_(max_taps * capacity),
        slopes_(with_slopes ? dims * max_taps * capacity : 0) {}

  // Samples [begin, end), whose places are there.
  void prepare(const GridSampleCall& call, const T* places, int64_t begin, int64_t end) {
    if (has_four(call)) {
      return window_kernels<T>().find_neighbours(
          {places + 2 * begin, end - begin, call.sizes[0], call.sizes[1], call.align_corners,
           call.outside == Outside::border},
          neighbours(begin));
    }
    for (int64_t s = begin; s < end; ++s) {
      LineTaps<T> lines[3];
      for (int64_t d = 0; d < call.dims; ++d)
        lines[d] = taps_at(places[s * call.dims + call.dims - 1 - d], call.sizes[d], call);
      combine(call, lines, s);
      for (int64_t d = 0; d < call.dims && slopes_.size() > 0; ++d) combine(call, lines, s, d);
    }
  }

  // Linear in two dimensions, which has kernels of its own.
  static bool has_four(const GridSampleCall& call) {
    return call.sampling == Sampling::linear && call.dims == 2 &&
           call.outside != Outside::reflection;
  }
  Neighbours<T> neighbours(int64_t begin) const {
    Neighbours<T> four;
    for (int k = 0; k < 4; ++k) {
      four.offsets[k] = offsets_.data() + k * capacity_ + begin;
      four.weights[k] = weights_.data() + k * capacity_ + begin;
      for (int x = 0; x < 2; ++x) {  // x comes first there and last here
        four.slopes[x][k] = slopes_.size()
                                ? slopes_.data() + ((1 - x) * max_taps + k) * capacity_ + begin
                                : nullptr;
      }
    }
    return four;
  }

  int64_t count(const GridSampleCall& call) const {
    const int64_t along = call.sampling == Sampling::cubic     ? 4
                          : call.sampling == Sampling::nearest ? 1
                                                               : 2;
    int64_t all = 1;
    for (int64_t d = 0; d < call.dims; ++d) all *= along;
    return all;
  }
  const int32_t* offsets(int64_t tap) const { return offsets_.data() + tap * capacity_; }
  const T* weights(int64_t tap) const { return weights_.data() + tap * capacity_; }
  // How the weight changes with the coordinate of dimension d.
  const T* slopes(int64_t d, int64_t tap) const {
    return slopes_.data() + (d * max_taps + tap) * capacity_;
  }

 private:
  void combine(const GridSampleCall& call, const LineTaps<T>* lines, int64_t s,
               int64_t sloped = -1) {
    int64_t offsets[max_taps] = {0};
    T weights[max_taps] = {1};
    int64_t total = 1;
    for (int64_t d = 0; d < call.dims; ++d) {
      if (d == sloped) weights_by(lines[d].factor, weights, total);
      total = widen(lines[d], d == sloped ? lines[d].slope : lines[d].weight, call.sizes[d],
                    offsets, weights, total);
    }
    T* to = sloped < 0 ? weights_.data() : slopes_.data() + sloped * max_taps * capacity_;
    for (int64_t k = 0; k < total; ++k) {
      if (sloped < 0) offsets_[k * capacity_ + s] = static_cast<int32_t>(offsets[k]);
      to[k * capacity_ + s] = weights[k];
    }
  }
  static void weights_by(T factor, T* weights, int64_t total) {
    for (int64_t k = 0; k < total; ++k) weights[k] *= factor;
  }
  // Combines what there is with the taps of one more dimension.
  static int64_t widen(const LineTaps<T>& taps, const T* along, int64_t size, int64_t* offsets,
                       T* weights, int64_t total) {
    for (int64_t k = total; k-- > 0;) {
      const int64_t offset = offsets[k];
      const T weight = weights[k];
      for (int j = taps.count; j-- > 0;) {
        const int64_t to = k * taps.count + j;
        const bool inside = offset >= 0 && taps.index[j] >= 0;
        offsets[to] = inside ? offset * size + taps.index[j] : -1;
        weights[to] = weight * along[j];
      }
    }
    return total * taps.count;
  }

  int64_t capacity_;
  Scratch<int32_t> offsets_;
  Scratch<T> weights_, slopes_;
};

}  // namespace wisp::cpu
