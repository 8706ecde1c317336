#include "cpu/range.h"

#include <algorithm>

#include "base/parallel.h"
#include "cpu/grain.h"

namespace wisp::cpu {

// Counted from the start of a piece in 32 bits, for whose conversion there are vectors.
void write_range(DType dtype, char* out, int64_t n, double first, double step) {
  visit<dtypes::real>(dtype, "arange", [&]<class T>() {
    T* data = reinterpret_cast<T*>(out);
    parallel_for(n, even_grain(n, 1 << 15), [=](int64_t begin, int64_t end) {
      const double before = static_cast<double>(begin);
      for (int32_t i = 0; i < static_cast<int32_t>(end - begin); ++i)
        data[begin + i] = convert<T>(first + (before + i) * step);
    });
  });
}

void write_spaced(DType dtype, char* out, int64_t n, double start, double end) {
  const double step = n > 1 ? (end - start) / static_cast<double>(n - 1) : 0;
  const int64_t half = n == 1 ? 1 : n / 2;
  visit<dtypes::real>(dtype, "linspace", [&]<class T>() {
    T* data = reinterpret_cast<T*>(out);
    parallel_for(n, even_grain(n, 1 << 15), [=](int64_t begin, int64_t stop) {
      const double before = static_cast<double>(begin), left = static_cast<double>(n - 1 - begin);
      const auto middle = static_cast<int32_t>(std::clamp(half, begin, stop) - begin);
      for (int32_t i = 0; i < middle; ++i)
        data[begin + i] = convert<T>(start + step * (before + i));
      for (int32_t i = middle; i < static_cast<int32_t>(stop - begin); ++i)
        data[begin + i] = convert<T>(end - step * (left - i));
    });
  });
}

}  // namespace wisp::cpu
