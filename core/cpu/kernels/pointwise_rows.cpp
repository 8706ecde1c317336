#include "cpu/pointwise_rows.h"

#include "cpu/kernels/fold.h"

namespace wisp::cpu {

namespace {

// Whole vectors, as long as what they write behind a row is written again with the next ones: the
// number does not have to be spread over memory.
template <class T, class F>
void rows_by_numbers(void* out, const void* in, const char* numbers, int64_t step, int64_t rows,
                     int64_t length) {
  typedef T Vector __attribute__((vector_size(vector_bytes)));
  constexpr int64_t width = vector_bytes / static_cast<int64_t>(sizeof(T));
  T* y = static_cast<T*>(out);
  const T* x = static_cast<const T*>(in);
  const T* const end = x + rows * length;
  for (int64_t r = 0; r < rows; ++r, x += length, y += length) {
    const T number = *reinterpret_cast<const T*>(numbers + r * step);
    int64_t i = 0;
    if (end - x >= length + width) {
      for (; i < length; i += width) {
        Vector v;
        __builtin_memcpy(&v, x + i, sizeof v);
        v = F{}(v, number);
        __builtin_memcpy(y + i, &v, sizeof v);
      }
    }
    for (; i < length; ++i) y[i] = F{}(x[i], number);
  }
}

template <class F>
WISP_INLINE void set_rows(RowsByNumbersFn (&kernels)[2], F) {
  kernels[0] = rows_by_numbers<float, F>;
  kernels[1] = rows_by_numbers<double, F>;
}

}  // namespace

namespace WISP_ISA {
void fill_pointwise_rows(RowsByNumbers& table);
void fill_pointwise_rows(RowsByNumbers& table) {
  set_rows(table.add, [](auto a, auto b) { return a + b; });
  set_rows(table.sub, [](auto a, auto b) { return a - b; });
  set_rows(table.mul, [](auto a, auto b) { return a * b; });
  set_rows(table.div, [](auto a, auto b) { return a / b; });
}
}  // namespace WISP_ISA

}  // namespace wisp::cpu
