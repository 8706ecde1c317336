#include "cpu/kernels/tile.h"

namespace wisp::cpu {

namespace {

template <class To, class From>
void cast_tile(void* out, const void* in, int64_t n) {
  To* y = static_cast<To*>(out);
  const From* x = static_cast<const From*>(in);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = convert<To>(load(x, i));
}

}  // namespace

namespace WISP_ISA {

void fill_cast(Kernels& table) {
  for_each_type<dtypes::all>([&]<class To>() {
    for_each_type<dtypes::all>([&]<class From>() {
      table.cast[int(dtype_of<To>)][int(dtype_of<From>)] = cast_tile<To, From>;
    });
  });
}

}  // namespace WISP_ISA
}  // namespace wisp::cpu
