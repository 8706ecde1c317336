#include "cpu/range.h"

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

}  // namespace wisp::cpu
