// Distances from one point to others, and their slopes.
#include <utility>

#include "cpu/kernels/tile.h"
#include "cpu/vmath.h"

namespace wisp::cpu {

namespace {

// Coordinates that are taken at once. Compilers keep vectors in registers, but not arrays.
template <class T, int bytes>
struct VectorOf {
  typedef T type __attribute__((vector_size(bytes)));
  static constexpr int64_t lanes = bytes / static_cast<int>(sizeof(T));
};
template <class T, int bytes>
using Vector = typename VectorOf<T, bytes>::type;
#if defined(__AVX512F__)
constexpr int widest = 64;
#elif defined(__AVX__)
constexpr int widest = 32;
#else
constexpr int widest = 16;
#endif
constexpr int narrowest = 16;

template <class V, class T>
WISP_INLINE V vector_at(const T* x) {
  V v;
  __builtin_memcpy(&v, x, sizeof v);
  return v;
}

// --- How steps x[k] - y[k] become a distance: `take` one into a partial result, `join` two of
// those. V is a number or a vector.

template <class V>
WISP_INLINE V size_of_step(V step) {
  return step < 0 ? -step : step;
}

struct Adding {
  template <class V>
  static WISP_INLINE V join(V a, V b) {
    return a + b;
  }
};
struct Ones : Adding {
  template <class V>
  static WISP_INLINE V take(V sum, V step) {
    return sum + size_of_step(step);
  }
};
struct Squares : Adding {
  template <class V>
  static WISP_INLINE V take(V sum, V step) {
    return sum + step * step;
  }
};
struct Counts : Adding {
  template <class V>
  static WISP_INLINE V take(V sum, V step) {
    return step != 0 ? sum + 1 : sum;
  }
};
// NaN is larger than anything.
struct Largest {
  template <class V>
  static WISP_INLINE V join(V most, V size) {
    const V larger = size > most ? size : most;  // `most`, if one of them is NaN
    return size != size ? size : larger;
  }
  template <class V>
  static WISP_INLINE V take(V most, V step) {
    return join(most, size_of_step(step));
  }
};

// Halves are joined until one number is left. They are spelled out, lane by lane, which compilers
// know how to do in registers; reading them from memory would keep the whole vector there all
// along.
template <class Norm, class T, int bytes>
WISP_INLINE T join_lanes(Vector<T, bytes> v) {
  if constexpr (bytes == 2 * sizeof(T)) {
    return Norm::join(T(v[0]), T(v[1]));
  } else {
    constexpr size_t half = bytes / sizeof(T) / 2;
    return [&]<size_t... I>(std::index_sequence<I...>) {
      const Vector<T, bytes / 2> low = {v[I]...}, high = {v[I + half]...};
      return join_lanes<Norm, T, bytes / 2>(Norm::join(low, high));
    }(std::make_index_sequence<half>());
  }
}

// Which lanes of the last vector of a row have not been taken yet: those beyond `taken`.
template <class T, int bytes>
WISP_INLINE Vector<T, bytes> fresh_lanes(int64_t taken) {
  T fresh[VectorOf<T, bytes>::lanes];
  for (int64_t l = 0; l < VectorOf<T, bytes>::lanes; ++l) fresh[l] = l < taken ? T(0) : T(1);
  return vector_at<Vector<T, bytes>>(fresh);
}

// Rows of at least one vector. The last one reaches back, over coordinates that count no more.
template <class Norm, class T, int bytes>
void distances_of_vectors(const PointAndOthers<T>& at, T* out) {
  using V = Vector<T, bytes>;
  constexpr int64_t lanes = VectorOf<T, bytes>::lanes;
  const int64_t rest = at.cols % lanes, last = at.cols - lanes;
  const V fresh = fresh_lanes<T, bytes>(lanes - rest);
  for (int64_t j = 0; j < at.count; ++j) {
    const T* y = at.others + j * at.cols;
    V part = {};
    for (int64_t k = 0; k <= last; k += lanes)
      part = Norm::take(part, vector_at<V>(at.x + k) - vector_at<V>(y + k));
    if (rest) {
      const V step = vector_at<V>(at.x + last) - vector_at<V>(y + last);
      part = Norm::take(part, fresh != 0 ? step : V{});
    }
    out[j] = join_lanes<Norm, T, bytes>(part);
  }
}

template <class Norm, class T>
void distances_by(const PointAndOthers<T>& at, T* out) {
  if (at.cols >= VectorOf<T, widest>::lanes) return distances_of_vectors<Norm, T, widest>(at, out);
  if (at.cols >= VectorOf<T, narrowest>::lanes)
    return distances_of_vectors<Norm, T, narrowest>(at, out);
  for (int64_t j = 0; j < at.count; ++j) {
    T part = 0;
    for (int64_t k = 0; k < at.cols; ++k)
      part = Norm::take(part, at.x[k] - at.others[j * at.cols + k]);
    out[j] = part;
  }
}

template <class T>
void distances_from(const PointAndOthers<T>& at, double p, T* out) {
  if (p == 2) {
    distances_by<Squares>(at, out);
    for (int64_t j = 0; j < at.count; ++j) out[j] = vmath::sqrt(out[j]);
    return;
  }
  if (p == 1) return distances_by<Ones>(at, out);
  if (p == 0) return distances_by<Counts>(at, out);
  distances_by<Largest>(at, out);
}

// --- Slopes. Coordinate by coordinate, what all others give is added up: weights[j] *
// slope(step, j).

template <class V>
WISP_INLINE V sign_of_step(V step) {
  const V zero = {}, one = zero + 1;
  return step > 0 ? one : step < 0 ? -one : zero;
}

template <class T, int bytes, class F>
WISP_INLINE int64_t add_vectors_of_slopes(const PointAndOthers<T>& at, int64_t k, const T* weights,
                                          T* sums, F slope) {
  using V = Vector<T, bytes>;
  constexpr int64_t lanes = VectorOf<T, bytes>::lanes;
  for (; k + lanes <= at.cols; k += lanes) {
    const V x = vector_at<V>(at.x + k);
    V sum = vector_at<V>(sums + k);
    for (int64_t j = 0; j < at.count; ++j)
      sum += weights[j] * slope(x - vector_at<V>(at.others + j * at.cols + k), j);
    __builtin_memcpy(sums + k, &sum, sizeof sum);
  }
  return k;
}

template <class T, class F>
void add_slopes_by(const PointAndOthers<T>& at, const T* weights, T* sums, F slope) {
  int64_t k = add_vectors_of_slopes<T, widest>(at, 0, weights, sums, slope);
  k = add_vectors_of_slopes<T, narrowest>(at, k, weights, sums, slope);
  for (; k < at.cols; ++k) {
    T sum = sums[k];
    for (int64_t j = 0; j < at.count; ++j)
      sum += weights[j] * slope(at.x[k] - at.others[j * at.cols + k], j);
    sums[k] = sum;
  }
}

template <class T>
void add_slopes(const PointAndOthers<T>& at, double p, const T* weights, const T* distances,
                T* sums) {
  if (p == 2) return add_slopes_by(at, weights, sums, [](auto step, int64_t) { return step; });
  if (p == 1)
    return add_slopes_by(at, weights, sums, [](auto step, int64_t) { return sign_of_step(step); });
  add_slopes_by(at, weights, sums, [distances](auto step, int64_t j) {
    const decltype(step) none = {};
    return size_of_step(step) == none + distances[j] ? sign_of_step(step) : none;
  });
}

}  // namespace

namespace WISP_ISA {

void fill_distance(Kernels& table) {
  table.distance_f32 = {distances_from<float>, add_slopes<float>};
  table.distance_f64 = {distances_from<double>, add_slopes<double>};
}

}  // namespace WISP_ISA
}  // namespace wisp::cpu
