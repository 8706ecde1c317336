// Products of small matrices without packing overhead, and of a matrix with a vector.
#include "cpu/kernels/tile.h"
#include "cpu/kernels/turn.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define WISP_VECTOR_BYTES 64
#elif defined(__AVX__)
#define WISP_VECTOR_BYTES 32
#else
#define WISP_VECTOR_BYTES 16
#endif

namespace wisp::cpu {

namespace {

template <class T>
struct Vector {
  static constexpr int width = WISP_VECTOR_BYTES / sizeof(T);
  typedef T type __attribute__((vector_size(WISP_VECTOR_BYTES), aligned(alignof(T)), may_alias));
};

// Columns of vectors that fit into the registers next to 6 rows of accumulators.
#if defined(__AVX512F__)
constexpr int most_columns = 4;
#else
constexpr int most_columns = 2;
#endif

// The first n < 2 * size elements, in moves of fixed size.
template <class T, int64_t size>
WISP_INLINE void copy_part(T* to, const T* from, int64_t n) {
  if (n & size) __builtin_memcpy(to, from, size * sizeof(T));
  if constexpr (size > 1) copy_part<T, size / 2>(to + (n & size), from + (n & size), n);
}

// The first n elements of a vector, or all of it. Where there are masks the rest is neither read
// nor written; elsewhere rows of B are padded, and rows of C end with a few moves.
#if defined(__AVX512F__)
constexpr bool has_masks = true;
template <class T>
struct Part {
  using V = typename Vector<T>::type;
  explicit Part(int64_t n) : mask(n >= Vector<T>::width ? ~0u : (1u << n) - 1) {}
  WISP_INLINE V load(const T* from) const {
    if constexpr (sizeof(T) == 4)
      return V(_mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), from));
    if constexpr (sizeof(T) == 8)
      return V(_mm512_maskz_loadu_pd(static_cast<__mmask8>(mask), from));
  }
  WISP_INLINE void put(T* target, V value, T beta) const {
    if (beta != T(0)) value += beta * load(target);
    if constexpr (sizeof(T) == 4)
      _mm512_mask_storeu_ps(target, static_cast<__mmask16>(mask), __m512(value));
    if constexpr (sizeof(T) == 8)
      _mm512_mask_storeu_pd(target, static_cast<__mmask8>(mask), __m512d(value));
  }
  WISP_INLINE void add(T* target, V value) const { put(target, value + load(target), 0); }
  const unsigned mask;
};
#else
constexpr bool has_masks = false;
template <class T>
struct Part {
  using V = typename Vector<T>::type;
  explicit Part(int64_t count) : n(count) {}
  WISP_INLINE V load(const T* from) const { return *reinterpret_cast<const V*>(from); }
  WISP_INLINE void put(T* target, V value, T beta) const {
    constexpr int64_t width = Vector<T>::width;
    V* whole = reinterpret_cast<V*>(target);
    if (n >= width) {
      *whole = beta == T(0) ? value : value + beta * *whole;
      return;
    }
    T lane[width];
    *reinterpret_cast<V*>(lane) = value;
    for (int64_t l = 0; l < n && beta != T(0); ++l) lane[l] += beta * target[l];
    copy_part<T, width / 2>(target, lane, n);
  }
  const int64_t n;
};
#endif

// rows x (columns * width) of C in registers: each step broadcasts `rows` elements of A and loads
// one row of B.
template <class T, int rows, int columns>
WISP_INLINE void micro(const T* a, int64_t a_row, int64_t a_col, const T* b, int64_t b_row, T* c,
                       int64_t c_row, int64_t n, int64_t k, T alpha, T beta) {
  using V = typename Vector<T>::type;
  constexpr int width = Vector<T>::width;
  const Part<T> last(n - (columns - 1) * width);
  V acc[rows][columns] = {};
  for (int64_t p = 0; p < k; ++p) {
    const T* from = b + p * b_row;
    V bv[columns];
    for (int j = 0; j + 1 < columns; ++j) bv[j] = *reinterpret_cast<const V*>(from + j * width);
    bv[columns - 1] = last.load(from + (columns - 1) * width);
    for (int i = 0; i < rows; ++i) {
      const T value = a[i * a_row + p * a_col];
      for (int j = 0; j < columns; ++j) acc[i][j] += value * bv[j];
    }
  }
  const Part<T> whole(width);
  // Sums of sums: additions alone are done beside the products of the next rows. The other widths
  // are too rare to have it twice.
  if constexpr (columns == 4 && sizeof(T) == 4) {
    if (alpha == T(1) && beta == T(1)) {
#pragma GCC unroll 16
      for (int i = 0; i < rows; ++i) {
        T* to = c + i * c_row;
        for (int j = 0; j + 1 < columns; ++j) whole.add(to + j * width, acc[i][j]);
        last.add(to + (columns - 1) * width, acc[i][columns - 1]);
      }
      return;
    }
  }
  // Without this the compiler keeps sums in memory, as an array, for some numbers of rows.
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) {
    T* to = c + i * c_row;
    for (int j = 0; j + 1 < columns; ++j) whole.put(to + j * width, alpha * acc[i][j], beta);
    last.put(to + (columns - 1) * width, alpha * acc[i][columns - 1], beta);
  }
}

// m <= rows rows, by the kernel of just as many.
template <class T, int rows, int columns>
WISP_INLINE void micro_some(const T* a, int64_t a_row, int64_t a_col, const T* b, int64_t b_row,
                            T* c, int64_t c_row, int64_t m, int64_t n, int64_t k, T alpha, T beta) {
  if (rows == 1 || m == rows)
    return micro<T, rows, columns>(a, a_row, a_col, b, b_row, c, c_row, n, k, alpha, beta);
  if constexpr (rows > 1)
    micro_some<T, rows - 1, columns>(a, a_row, a_col, b, b_row, c, c_row, m, n, k, alpha, beta);
}

// A single column of vectors takes more rows: fewer sums would wait for one another. Tiles differ
// by one row at most, since few rows are slow: 20 are better cut into 5 + 5 + 5 + 5 than into 6 + 6
// + 6 + 2.
template <class T, int columns>
void panel(const T* a, int64_t a_row, int64_t a_col, const T* b, int64_t b_row, T* c, int64_t c_row,
           int64_t m, int64_t n, int64_t k, T alpha, T beta) {
  constexpr int64_t rows = columns == 1 ? 10 : 6;
  const int64_t tiles = (m + rows - 1) / rows;
  for (int64_t tile = 0, i = 0; tile < tiles; ++tile) {
    const int64_t end = m * (tile + 1) / tiles;
    micro_some<T, rows, columns>(a + i * a_row, a_row, a_col, b, b_row, c + i * c_row, c_row,
                                 end - i, n, k, alpha, beta);
    i = end;
  }
}

// C (consecutive along rows) from B with consecutive rows. Without masks `b` must be readable to
// the end of the last vector of each row: the caller packs it where it is not.
template <class T>
void small_gemm(const T* a, int64_t a_row, int64_t a_col, const T* b, int64_t b_row, T* c,
                int64_t c_row, int64_t m, int64_t n, int64_t k, T alpha, T beta) {
  constexpr int64_t width = Vector<T>::width;
  for (int64_t j = 0; j < n;) {
    const int64_t left = (n - j + width - 1) / width;
    // Five vectors are better cut 3 + 2 than 4 + 1.
    const int64_t columns = left <= most_columns       ? left
                            : left == most_columns + 1 ? (left + 1) / 2
                                                       : most_columns;
    auto run = [&](auto panel_of) {
      panel_of(a, a_row, a_col, b + j, b_row, c + j, c_row, m, n - j, k, alpha, beta);
    };
    if constexpr (most_columns == 4) {
      if (columns == 4) run(panel<T, 4>);
      if (columns == 3) run(panel<T, 3>);
    }
    if (columns == 2) run(panel<T, 2>);
    if (columns == 1) run(panel<T, 1>);
    j += columns * width;
  }
}

// The first n elements of a vector, then zeros.
template <class T>
WISP_INLINE typename Vector<T>::type load_first(const T* from, int64_t n) {
  if constexpr (has_masks) {
    return Part<T>(n).load(from);
  } else {
    T lane[Vector<T>::width] = {};
    copy_part<T, Vector<T>::width / 2>(lane, from, n);
    return *reinterpret_cast<typename Vector<T>::type*>(lane);
  }
}

// The sum of all elements: halves are added until one is left.
template <int half, class V, int... at>
WISP_INLINE auto folded(V v, std::integer_sequence<int, at...> places) {
  v += __builtin_shufflevector(v, v, (at ^ half)...);
  if constexpr (half > 1) {
    return folded<half / 2>(v, places);
  } else {
    return v[0];
  }
}
template <class T>
WISP_INLINE T total(typename Vector<T>::type v) {
  return folded<Vector<T>::width / 2>(v, std::make_integer_sequence<int, Vector<T>::width>());
}

// Rows one after the other are one stream, which is the fastest way out of the outer caches, as
// long as the first has room for the vector next to them. Longer rows are taken piece by piece:
// that of the vector stays while those of several rows pass by it.
constexpr int64_t short_bytes = 12 << 10, piece_bytes = 4 << 10;
constexpr int rows_at_once = 4;
#if defined(__AVX512F__)
constexpr int parts_of_piece = 4;
#else
constexpr int parts_of_piece = 2;
#endif

// Rows that come from far are asked for so long before they are read: the processor would begin
// anew with each of them.
constexpr int64_t ahead_bytes = 4 << 10;

// Products of some rows of a with x, as vectors whose elements are still to be added up, added to
// `sums` but for the `first`; each is made of so many parts. Their order is the same for any number
// of rows.
template <class T, int rows, int parts, bool far = false>
WISP_INLINE void dot_products(const T* a, int64_t a_row, const T* x, int64_t k,
                              typename Vector<T>::type* sums, bool first) {
  using V = typename Vector<T>::type;
  constexpr int64_t width = Vector<T>::width;
  V acc[rows][parts] = {};
  auto add = [&](int64_t p, int u) __attribute__((always_inline)) {
    const V factor = *reinterpret_cast<const V*>(x + p);
    for (int r = 0; r < rows; ++r) {
      const T* from = a + r * a_row + p;
      if constexpr (far) __builtin_prefetch(reinterpret_cast<const char*>(from) + ahead_bytes);
      acc[r][u] += *reinterpret_cast<const V*>(from) * factor;
    }
  };
  int64_t p = 0;
  for (; p + parts * width <= k; p += parts * width) {
    for (int u = 0; u < parts; ++u) add(p + u * width, u);
  }
  for (; p + width <= k; p += width) add(p, 0);
  const V factor = load_first<T>(x + p, k - p);
  for (int r = 0; r < rows; ++r) {
    if (p < k) acc[r][1] += load_first<T>(a + r * a_row + p, k - p) * factor;
    acc[r][0] += acc[r][1];
    if constexpr (parts == 4) acc[r][0] += acc[r][2] + acc[r][3];
    sums[r] = first ? acc[r][0] : sums[r] + acc[r][0];
  }
}

// y = values + beta * y for the first n elements of a vector.
template <class T>
WISP_INLINE void put_apart(T* y, int64_t y_step, int64_t n, typename Vector<T>::type values,
                           T beta) {
  if (y_step == 1) return Part<T>(n).put(y, values, beta);
  T lane[Vector<T>::width] = {};
  for (int64_t l = 0; l < n && beta != T(0); ++l) lane[l] = y[l * y_step];
  Part<T>(n).put(lane, values, beta);
  for (int64_t l = 0; l < n; ++l) y[l * y_step] = lane[l];
}

// The products of n rows, no more than a vector has elements.
template <class T, bool far>
WISP_INLINE void short_products(const T* a, int64_t a_row, const T* x, int64_t n, int64_t k,
                                T* totals) {
  for (int64_t r = 0; r < n; ++r) {
    typename Vector<T>::type sum;
    dot_products<T, 1, 4, far>(a + r * a_row, a_row, x, k, &sum, true);
    totals[r] = total<T>(sum);
  }
}

// Rows of very few elements: a vector would be mostly empty, and its sum takes longer; so does one
// of results, which would wait for them to arrive in memory.
constexpr int64_t tiny = 4;
template <class T, int64_t k>
WISP_INLINE void tiny_products(const T* a, int64_t a_row, const T* x, T* y, int64_t y_step,
                               int64_t m, T alpha, T beta) {
  for (int64_t r = 0; r < m; ++r, a += a_row, y += y_step) {
    asm("" : "+r"(a));  // compilers would make vectors of it, for no more speed and much code
    T sum = a[0] * x[0];
    for (int64_t p = 1; p < k; ++p) sum += a[p] * x[p];
    *y = beta == T(0) ? alpha * sum : alpha * sum + beta * *y;
  }
}
template <class T>
WISP_INLINE void tiny_products(const T* a, int64_t a_row, const T* x, T* y, int64_t y_step,
                               int64_t m, int64_t k, T alpha, T beta) {
  if (k == 1) return tiny_products<T, 1>(a, a_row, x, y, y_step, m, alpha, beta);
  if (k == 2) return tiny_products<T, 2>(a, a_row, x, y, y_step, m, alpha, beta);
  if (k == 3) return tiny_products<T, 3>(a, a_row, x, y, y_step, m, alpha, beta);
  tiny_products<T, tiny>(a, a_row, x, y, y_step, m, alpha, beta);
}

template <class T>
void long_products(const T* a, int64_t a_row, const T* x, int64_t n, int64_t k, T* totals) {
  constexpr int64_t piece = piece_bytes / sizeof(T);
  typename Vector<T>::type sums[Vector<T>::width];
  for (int64_t p = 0; p < k; p += piece) {
    const int64_t size = k - p < piece ? k - p : piece;
    int64_t r = 0;
    for (; r + rows_at_once <= n; r += rows_at_once)
      dot_products<T, rows_at_once, parts_of_piece>(a + r * a_row + p, a_row, x + p, size, sums + r,
                                                    p == 0);
    for (; r < n; ++r)
      dot_products<T, 1, parts_of_piece>(a + r * a_row + p, a_row, x + p, size, sums + r, p == 0);
  }
  for (int64_t r = 0; r < n; ++r) totals[r] = total<T>(sums[r]);
}

// y[i] = alpha * dot(a row i, x) + beta * y[i]; rows of a and x are consecutive.
template <class T>
void gemv_rows(const T* a, int64_t a_row, const T* x, T* y, int64_t y_step, int64_t m, int64_t k,
               T alpha, T beta, bool far) {
  using V = typename Vector<T>::type;
  constexpr int64_t width = Vector<T>::width;
  if (k > 0 && k <= tiny) return tiny_products(a, a_row, x, y, y_step, m, k, alpha, beta);
  const bool is_short = k * static_cast<int64_t>(sizeof(T)) <= short_bytes;
  for (int64_t i = 0; i < m; i += width, a += width * a_row) {
    const int64_t n = m - i < width ? m - i : width;
    T totals[width] = {};
    if (is_short && far) {
      short_products<T, true>(a, a_row, x, n, k, totals);
    } else if (is_short) {
      short_products<T, false>(a, a_row, x, n, k, totals);
    } else {
      long_products(a, a_row, x, n, k, totals);
    }
    put_apart(y + i * y_step, y_step, n, alpha * *reinterpret_cast<const V*>(totals), beta);
  }
}

// y[r] += sum of columns of a scaled by x[r]; columns of a and y are consecutive. The order of the
// terms is the same for any number of rows.
template <class T, int rows>
WISP_INLINE void add_columns(const T* a, int64_t a_col, const T* const* x, int64_t x_step,
                             T* const* y, int64_t m, int64_t k, T alpha) {
  int64_t p = 0;
  for (; p + 4 <= k; p += 4) {
    const T* c0 = a + p * a_col;
    const T *c1 = c0 + a_col, *c2 = c1 + a_col, *c3 = c2 + a_col;
    T f[rows][4];
    for (int r = 0; r < rows; ++r) {
      for (int j = 0; j < 4; ++j) f[r][j] = alpha * x[r][(p + j) * x_step];
    }
#pragma GCC ivdep
    for (int64_t i = 0; i < m; ++i) {
      for (int r = 0; r < rows; ++r)
        y[r][i] += (c0[i] * f[r][0] + c1[i] * f[r][1]) + (c2[i] * f[r][2] + c3[i] * f[r][3]);
    }
  }
  for (; p < k; ++p) {
    const T* c0 = a + p * a_col;
    for (int r = 0; r < rows; ++r) {
      const T x0 = alpha * x[r][p * x_step];
#pragma GCC ivdep
      for (int64_t i = 0; i < m; ++i) y[r][i] += c0[i] * x0;
    }
  }
}

template <class T>
void gemv_columns(const T* a, int64_t a_col, const T* x, int64_t x_step, T* y, int64_t m, int64_t k,
                  T alpha, T beta) {
  if (beta == T(0)) {
    for (int64_t i = 0; i < m; ++i) y[i] = 0;
  } else if (beta != T(1)) {
    for (int64_t i = 0; i < m; ++i) y[i] *= beta;
  }
  add_columns<T, 1>(a, a_col, &x, x_step, &y, m, k, alpha);
}

template <class T>
void gemv_columns_of_rows(const T* a, int64_t a_col, const T* const* x, int64_t x_step, T* const* y,
                          int64_t m, int64_t k) {
  static_assert(GemmKernels<T>::rows_at_once == 4);
  T* const own[4] = {y[0], y[1], y[2], y[3]};
  add_columns<T, 4>(a, a_col, x, x_step, own, m, k, T(1));
}

// Consecutive rows, filled with zeros up to a whole number of vectors.
template <class T>
void pack(const T* in, int64_t in_row, T* out, int64_t out_row, int64_t rows, int64_t cols) {
  using V = typename Vector<T>::type;
  constexpr int64_t width = Vector<T>::width;
  const int64_t whole = cols / width * width;
  for (int64_t i = 0; i < rows; ++i, in += in_row, out += out_row) {
    for (int64_t j = 0; j < whole; j += width) {
      *reinterpret_cast<V*>(out + j) = *reinterpret_cast<const V*>(in + j);
    }
    if (whole == cols) continue;
    *reinterpret_cast<V*>(out + whole) = V{};
    copy_part<T, width / 2>(out + whole, in + whole, cols - whole);
  }
}

template <class T>
GemmKernels<T> gemm_kernels() {
  return {small_gemm<T>, gemv_rows<T>, gemv_columns<T>,  gemv_columns_of_rows<T>,
          pack<T>,       turn<T>,      Vector<T>::width, has_masks};
}

}  // namespace

namespace WISP_ISA {

void fill_gemm(Kernels& table) {
  table.gemm_f32 = gemm_kernels<float>();
  table.gemm_f64 = gemm_kernels<double>();
}

}  // namespace WISP_ISA
}  // namespace wisp::cpu
