#include "cpu/fft_run.h"

#include "base/parallel.h"
#include "cpu/isa.h"
#include "cpu/kernels/kernels.h"
#include "cpu/scratch.h"

namespace wisp::cpu {

#define WISP_DECLARE(isa)               \
  namespace isa {                       \
  FftKernels<float> fft_kernels_f32();  \
  FftKernels<double> fft_kernels_f64(); \
  }
WISP_FOR_EACH_ISA(WISP_DECLARE)
#undef WISP_DECLARE

namespace {

template <class T>
FftKernels<T> choose(FftKernels<T> (*baseline)(), FftKernels<T> (*avx2)(),
                     FftKernels<T> (*avx512)()) {
  return (isa() == Isa::avx512 ? avx512 : isa() == Isa::avx2 ? avx2 : baseline)();
}

template <class T>
FftKernels<T> kernels_for_this_processor() {
#if defined(WISP_ALL_ISAS)
  if constexpr (sizeof(T) == 4) {
    return choose(baseline::fft_kernels_f32, avx2::fft_kernels_f32, avx512::fft_kernels_f32);
  } else {
    return choose(baseline::fft_kernels_f64, avx2::fft_kernels_f64, avx512::fft_kernels_f64);
  }
#else
  if constexpr (sizeof(T) == 4) return baseline::fft_kernels_f32();
  if constexpr (sizeof(T) == 8) return baseline::fft_kernels_f64();
#endif
}

// Any length that factors, one number after the other where the first factors are too short for a
// vector.
template <class T>
void short_row(const FftPlan<T>& plan, const T* in, T* out, const FftEnds<T>& ends) {
  const int64_t n = plan.n;
  Scratch<T> work(4 * n);
  Split<T> x{&work[0], &work[n]}, y{&work[2 * n], &work[3 * n]};
  for (int64_t k = 0; k < n; ++k) {
    x.re[k] = in[2 * k];
    x.im[k] = ends.in_sign * in[2 * k + 1];
  }
  x = fft_kernels<T>().steps(plan, 1, x, y);
  for (int64_t k = 0; k < n; ++k) {
    out[2 * k] = ends.scale * x.re[k];
    out[2 * k + 1] = ends.scale * ends.out_sign * x.im[k] + T(0);  // no -0 from conjugating
  }
}

// The numbers as a matrix: its columns are transformed, then its rows.
template <class T>
void long_row(const FftPlan<T>& plan, const T* in, T* out, const FftEnds<T>& ends) {
  const FftKernels<T>& kernels = fft_kernels<T>();
  const int64_t width = kernels.width, columns = plan.column_length, rows = plan.row_length;
  const int64_t side = std::max(columns, rows) * width + fft_gap;
  Scratch<T> middle(2 * plan.n);
  Scratch<int64_t> offsets(width);
  for (int64_t l = 0; l < width; ++l) offsets[l] = l;
  constexpr int64_t grain = 8;
  parallel_for(rows / width, grain, [&](int64_t begin, int64_t end) {
    Scratch<T> work(4 * side);
    for (int64_t block = begin; block < end; ++block) {
      const Split<T> x{&work[0], &work[side]}, y{&work[2 * side], &work[3 * side]};
      kernels.load({in + 2 * block * width, offsets.data(), width, rows}, columns, x, ends.in_sign);
      kernels.twist(plan, kernels.steps(*plan.columns, width, x, y), block * width, middle.data());
    }
  });
  parallel_for(columns / width, grain, [&](int64_t begin, int64_t end) {
    Scratch<T> work(2 * side);
    for (int64_t block = begin; block < end; ++block) {
      T* group = &middle[2 * rows * width * block];
      const Split<T> x{group, group + rows * width}, y{&work[0], &work[side]};
      kernels.store(kernels.steps(*plan.rows, width, x, y), rows,
                    {out + 2 * block * width, offsets.data(), width, columns}, ends.out_sign,
                    ends.scale);
    }
  });
}

template <class T>
void multiply(const T* a, const T* b, T* out, int64_t n, T a_sign, T out_sign, T scale) {
  for (int64_t k = 0; k < n; ++k) {
    const T re = a[2 * k], im = a_sign * a[2 * k + 1], c = b[2 * k], s = b[2 * k + 1];
    out[2 * k] = scale * (re * c - im * s);
    out[2 * k + 1] = scale * out_sign * (re * s + im * c) + T(0);
  }
}

template <class T>
void convolved_row(const FftPlan<T>& plan, const T* in, T* out, const FftEnds<T>& ends) {
  const int64_t n = plan.n, length = plan.inner->n;
  Scratch<T> work(2 * length);
  multiply(in, plan.chirp, work.data(), n, ends.in_sign, T(1), T(1));
  std::fill(work.begin() + 2 * n, work.end(), T(0));
  fft_row<T>(*plan.inner, work.data(), work.data(), {});
  multiply(work.data(), plan.chirp_spectrum, work.data(), length, T(1), T(-1), T(1));
  fft_row<T>(*plan.inner, work.data(), work.data(), {.out_sign = T(-1)});
  multiply(work.data(), plan.chirp, out, n, T(1), ends.out_sign, ends.scale);
}

}  // namespace

template <class T>
const FftKernels<T>& fft_kernels() {
  static const FftKernels<T> kernels = kernels_for_this_processor<T>();
  return kernels;
}

template <class T>
void fft_row(const FftPlan<T>& plan, const T* in, T* out, const FftEnds<T>& ends) {
  if (plan.inner) return convolved_row(plan, in, out, ends);
  if (plan.columns) return long_row(plan, in, out, ends);
  if (!plan.first) return short_row(plan, in, out, ends);
  Scratch<T> work(4 * (plan.n + fft_gap));
  fft_kernels<T>().row(plan, in, out, work.data(), ends.in_sign, ends.out_sign, ends.scale);
}

template const FftKernels<float>& fft_kernels();
template const FftKernels<double>& fft_kernels();
template void fft_row(const FftPlan<float>&, const float*, float*, const FftEnds<float>&);
template void fft_row(const FftPlan<double>&, const double*, double*, const FftEnds<double>&);

}  // namespace wisp::cpu
