// Winograd's method. Tiles of 2x2 evaluate at 0, 1, -1 and infinity: sums and halves, so that
// results are as exact as those of plain sums, which have more terms to add up, and depend on no
// pixel outside of their window. Tiles of 4x4 evaluate at 0, 5/8, -5/8, 3/2, -3/2 and infinity.
// These points (exact in binary, as are their squares) lose a quarter of the digits that the usual
// 0, 1, -1, 2, -2 lose. Evaluations of images divide by nothing: those of weights do, and results
// of weights.
#include "base/compiler.h"
#include "cpu/winograd_kernel.h"

#ifndef WISP_ISA
#error "compiled once per instruction set: WISP_ISA names it"
#endif

namespace wisp::cpu {

namespace {

using winograd::taps;

constexpr float p = 0.625f, q = 1.5f;
constexpr float pp = p * p, qq = q * q;
constexpr float scale_0 = 1 / (pp * qq), scale_p = 1 / (2 * pp * (pp - qq)),
                scale_q = 1 / (2 * qq * (qq - pp));

template <int width>
using Lanes
    __attribute__((vector_size(width * sizeof(float)), aligned(alignof(float)), may_alias)) = float;

template <int width>
WISP_INLINE void put(float* to, const Lanes<width>& value) {
  *reinterpret_cast<Lanes<width>*>(to) = value;
}

// --- Along one dimension, for tiles of two results

struct SmallTile {
  static constexpr int tile = 2, points = tile + taps - 1;

  struct EvaluateImage {
    static constexpr int from = points, to = points;
    template <class V>
    WISP_INLINE static void run(const V (&d)[from], V (&v)[to]) {
      v[0] = d[0] - d[2];
      v[1] = d[1] + d[2];
      v[2] = d[2] - d[1];
      v[3] = d[3] - d[1];
    }
  };

  struct EvaluateWindow {
    static constexpr int from = tile, to = points;
    template <class V>
    WISP_INLINE static void run(const V (&d)[from], V (&v)[to]) {
      v[0] = d[0];
      v[1] = d[0] + d[1];
      v[2] = d[0] - d[1];
      v[3] = d[1];
    }
  };

  struct EvaluateWeight {
    static constexpr int from = taps, to = points;
    template <class V>
    WISP_INLINE static void run(const V (&d)[from], V (&v)[to]) {
      const V even = 0.5f * (d[0] + d[2]), odd = 0.5f * d[1];
      v[0] = d[0];
      v[1] = even + odd;
      v[2] = even - odd;
      v[3] = d[2];
    }
  };

  struct Interpolate {
    static constexpr int from = points, to = tile;
    template <class V>
    WISP_INLINE static void run(const V (&m)[from], V (&y)[to]) {
      y[0] = m[0] + (m[1] + m[2]);
      y[1] = m[1] - m[2] + m[3];
    }
  };

  struct InterpolateWeight {
    static constexpr int from = points, to = taps;
    template <class V>
    WISP_INLINE static void run(const V (&m)[from], V (&y)[to]) {
      const V even = 0.5f * (m[1] + m[2]);
      y[0] = m[0] + even;
      y[1] = 0.5f * (m[1] - m[2]);
      y[2] = even + m[3];
    }
  };
};

// --- Along one dimension, for tiles of four results

struct LargeTile {
  static constexpr int tile = 4, points = tile + taps - 1;

  // A polynomial of six coefficients, modulo what each of the points leaves of it.
  struct EvaluateImage {
    static constexpr int from = points, to = points;
    template <class V>
    WISP_INLINE static void run(const V (&d)[from], V (&v)[to]) {
      const V even_p = d[4] - qq * d[2], odd_p = d[3] - qq * d[1];
      const V even_q = d[4] - pp * d[2], odd_q = d[3] - pp * d[1];
      v[0] = (d[4] - (pp + qq) * d[2]) + pp * qq * d[0];
      v[1] = even_p + p * odd_p;
      v[2] = even_p - p * odd_p;
      v[3] = even_q + q * odd_q;
      v[4] = even_q - q * odd_q;
      v[5] = (d[5] - (pp + qq) * d[3]) + pp * qq * d[1];
    }
  };

  struct EvaluateWindow {
    static constexpr int from = tile, to = points;
    template <class V>
    WISP_INLINE static void run(const V (&d)[from], V (&v)[to]) {
      const V even_p = d[0] + pp * d[2], odd_p = d[1] + pp * d[3];
      const V even_q = d[0] + qq * d[2], odd_q = d[1] + qq * d[3];
      v[0] = d[0];
      v[1] = even_p + p * odd_p;
      v[2] = even_p - p * odd_p;
      v[3] = even_q + q * odd_q;
      v[4] = even_q - q * odd_q;
      v[5] = d[3];
    }
  };

  struct EvaluateWeight {
    static constexpr int from = taps, to = points;
    template <class V>
    WISP_INLINE static void run(const V (&d)[from], V (&v)[to]) {
      const V even_p = scale_p * d[0] + scale_p * pp * d[2], odd_p = scale_p * p * d[1];
      const V even_q = scale_q * d[0] + scale_q * qq * d[2], odd_q = scale_q * q * d[1];
      v[0] = scale_0 * d[0];
      v[1] = even_p + odd_p;
      v[2] = even_p - odd_p;
      v[3] = even_q + odd_q;
      v[4] = even_q - odd_q;
      v[5] = d[2];
    }
  };

  struct Interpolate {
    static constexpr int from = points, to = tile;
    template <class V>
    WISP_INLINE static void run(const V (&m)[from], V (&y)[to]) {
      const V even_p = m[1] + m[2], odd_p = m[1] - m[2];
      const V even_q = m[3] + m[4], odd_q = m[3] - m[4];
      y[0] = m[0] + (even_p + even_q);
      y[1] = p * odd_p + q * odd_q;
      y[2] = pp * even_p + qq * even_q;
      y[3] = p * pp * odd_p + (q * qq * odd_q + m[5]);
    }
  };

  struct InterpolateWeight {
    static constexpr int from = points, to = taps;
    template <class V>
    WISP_INLINE static void run(const V (&m)[from], V (&y)[to]) {
      const V even_p = scale_p * (m[1] + m[2]), odd_p = scale_p * (m[1] - m[2]);
      const V even_q = scale_q * (m[3] + m[4]), odd_q = scale_q * (m[3] - m[4]);
      y[0] = scale_0 * m[0] + (even_p + even_q);
      y[1] = p * odd_p + q * odd_q;
      y[2] = pp * even_p + (qq * even_q + m[5]);
    }
  };
};

// --- Along both

// `load(i, j, vector)` gives the elements, column by column; `store(i, j, vector)` takes results.
template <class Step, int width, class Load, class Store>
WISP_INLINE void both_ways(Load load, Store store) {
  using V = Lanes<width>;
  // Compilers may forget that vectors need not be aligned where lambdas take references to them.
  constexpr int aligned = width * sizeof(float);
  alignas(aligned) V half[Step::to][Step::from];
  for (int j = 0; j < Step::from; ++j) {
    alignas(aligned) V in[Step::from];
    alignas(aligned) V out[Step::to];
    for (int i = 0; i < Step::from; ++i) load(i, j, in[i]);
    Step::run(in, out);
    for (int i = 0; i < Step::to; ++i) half[i][j] = out[i];
  }
  for (int i = 0; i < Step::to; ++i) {
    alignas(aligned) V out[Step::to];
    Step::run(half[i], out);
    for (int j = 0; j < Step::to; ++j) store(i, j, out[j]);
  }
}

// Some pixels of an image from (top, left) on.
struct Place {
  Place(const WinogradImage& given, int64_t from_top, int64_t from_left, int size)
      : image(given),
        top(from_top),
        left(from_left),
        whole(top >= 0 && left >= 0 && top + size <= image.height && left + size <= image.width) {}

  WISP_INLINE bool holds(int i, int j) const {
    return top + i >= 0 && top + i < image.height && left + j >= 0 && left + j < image.width;
  }
  WISP_INLINE float* pixel(int i, int j) const {
    return image.data + (top + i) * image.row + (left + j) * image.pixel;
  }

  const WinogradImage image;
  const int64_t top, left;
  const bool whole;
};

template <class Step, int width>
void evaluate(const WinogradImage& from, int64_t top, int64_t left, float* to, int64_t plane) {
  using V = Lanes<width>;
  const Place place(from, top, left, Step::from);
  auto store = [&](int i, int j, const V& value) __attribute__((always_inline)) {
    put<width>(to + (i * Step::to + j) * plane, value);
  };
  if (place.whole) {
    both_ways<Step, width>(
        [&](int i, int j, V& value) __attribute__((always_inline)) {
          value = *reinterpret_cast<const V*>(place.pixel(i, j));
        },
        store);
    return;
  }
  static const float zeros[width] = {};
  both_ways<Step, width>(
      [&](int i, int j, V& value) __attribute__((always_inline)) {
        value = *reinterpret_cast<const V*>(place.holds(i, j) ? place.pixel(i, j) : zeros);
      },
      store);
}

template <class Tile, int width>
void weight(const float* from, bool turned, float* to, int64_t plane) {
  using V = Lanes<width>;
  const int64_t step = turned ? -width : width;
  if (turned) from += (taps * taps - 1) * width;
  both_ways<typename Tile::EvaluateWeight, width>(
      [&](int i, int j, V& value) __attribute__((always_inline)) {
        value = *reinterpret_cast<const V*>(from + (i * taps + j) * step);
      },
      [&](int i, int j, const V& value) __attribute__((always_inline)) {
        put<width>(to + (i * Tile::points + j) * plane, value);
      });
}

template <class Tile, int width>
void result(const float* from, int64_t plane, const WinogradImage& to, int64_t top, int64_t left,
            const WinogradTail& tail) {
  using V = Lanes<width>;
  const Place place(to, top, left, Tile::tile);
  V shift = {};
  if (tail.bias) shift = *reinterpret_cast<const V*>(tail.bias);
  auto load = [&](int i, int j, V& value) __attribute__((always_inline)) {
    value = *reinterpret_cast<const V*>(from + (i * Tile::points + j) * plane);
  };
  auto finish = [&](int i, int j, const V& sum) __attribute__((always_inline)) {
    float* pixel = place.pixel(i, j);
    alignas(width * sizeof(float)) V value = sum + shift;
    if (tail.other) value += *reinterpret_cast<const V*>(tail.other + (pixel - to.data));
    if (tail.relu) value = value < V{} ? V{} : value;  // NaN stays what it is
    put<width>(pixel, value);
  };
  using Step = typename Tile::Interpolate;
  if (place.whole) return both_ways<Step, width>(load, finish);
  both_ways<Step, width>(load, [&](int i, int j, const V& value) __attribute__((always_inline)) {
    if (place.holds(i, j)) finish(i, j, value);
  });
}

template <class Tile, int width>
void weight_result(const float* from, int64_t plane, float* to) {
  using V = Lanes<width>;
  both_ways<typename Tile::InterpolateWeight, width>(
      [&](int i, int j, V& value) __attribute__((always_inline)) {
        value = *reinterpret_cast<const V*>(from + (i * Tile::points + j) * plane);
      },
      [&](int i, int j, const V& value)
          __attribute__((always_inline)) { put<width>(to + (i * taps + j) * width, value); });
}

template <class Tile, int width>
WinogradKernel winograd_kernel(int64_t panel) {
  return {Tile::tile,
          width,
          panel,
          evaluate<typename Tile::EvaluateImage, width>,
          evaluate<typename Tile::EvaluateWindow, width>,
          weight<Tile, width>,
          result<Tile, width>,
          weight_result<Tile, width>};
}

}  // namespace

namespace WISP_ISA {
void fill_winograd(WinogradKernels& kernels);
void fill_winograd(WinogradKernels& kernels) {
#if defined(__AVX512F__)
  kernels = {winograd_kernel<SmallTile, 16>(64), winograd_kernel<LargeTile, 16>(64)};
#else
  kernels = {winograd_kernel<SmallTile, 8>(16), winograd_kernel<LargeTile, 8>(16)};
#endif
}
}  // namespace WISP_ISA

}  // namespace wisp::cpu
