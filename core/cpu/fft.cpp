#include "cpu/fft.h"

#include <algorithm>

#include "base/parallel.h"
#include "cpu/fft_run.h"
#include "cpu/scratch.h"

namespace wisp::cpu {

namespace {

constexpr int64_t grain_numbers = 1 << 14;
constexpr int64_t max_width = 8;  // of any instruction set

// The lines along the dimension: where each starts in the input and in the result.
class FftLines {
 public:
  explicit FftLines(const FftCall& call) {
    for (int64_t dim = 0; dim < static_cast<int64_t>(call.sizes.size()); ++dim) {
      if (dim == call.dim || call.sizes[dim] == 1) continue;
      size_t place = 0;  // neighbours in the result are neighbours in this order
      while (place < sizes_.size() && out_[place] >= call.out_strides[dim]) ++place;
      sizes_.insert(place, call.sizes[dim]);
      in_.insert(place, call.in_strides[dim]);
      out_.insert(place, call.out_strides[dim]);
    }
    for (int64_t size : sizes_) count *= size;
  }

  void offsets(int64_t line, int64_t& in, int64_t& out) const {
    in = out = 0;
    for (size_t dim = sizes_.size(); dim-- > 0; line /= sizes_[dim]) {
      in += line % sizes_[dim] * in_[dim];
      out += line % sizes_[dim] * out_[dim];
    }
  }
  int64_t count = 1;

 private:
  Dims sizes_, in_, out_;
};

// One call for parts of type T. The plan is that of n complex numbers, or of n / 2 if real ones can
// be taken in pairs.
template <class T>
class Transform {
 public:
  explicit Transform(const FftCall& call)
      : call_(call),
        lines_(call),
        halved_(call.kind != FftKind::complex && call.n % 2 == 0),
        plan_(fft_plan<T>(halved_ ? call.n / 2 : call.n)),
        in_(reinterpret_cast<const T*>(call.in)),
        out_(reinterpret_cast<T*>(call.out)),
        in_step_(call.in_strides[call.dim]),
        out_step_(call.out_strides[call.dim]),
        sign_(call.forward ? T(1) : T(-1)),
        scale_(static_cast<T>(call.scale)) {}

  void run() const {
    if (by_rows()) {
      const bool whole = plan_->columns || (plan_->inner && plan_->inner->columns);
      const int64_t grain = whole ? lines_.count : std::max<int64_t>(1, grain_numbers / call_.n);
      parallel_for(lines_.count, grain, [&](int64_t begin, int64_t end) { rows(begin, end); });
      return;
    }
    const int64_t width = fft_kernels<T>().width;
    const int64_t grain = std::max<int64_t>(1, grain_numbers / (call_.n * width));
    parallel_for((lines_.count + width - 1) / width, grain, [&](int64_t begin, int64_t end) {
      lanes(begin * width, std::min(end * width, lines_.count));
    });
  }

 private:
  // A line on its own where it is long enough to keep vectors busy, or where it is nearly alone;
  // else some side by side.
  bool by_rows() const {
    if (plan_->inner || plan_->columns || lines_.count < 3) return true;
    return plan_->first && in_step_ == 1 && out_step_ == 1;
  }

  int64_t half() const { return call_.n / 2 + 1; }
  // How many numbers a line of the input and of the result has, as far as they are computed.
  int64_t in_count() const { return call_.kind == FftKind::to_real ? half() : call_.n; }
  int64_t out_count() const { return call_.kind == FftKind::from_real ? half() : call_.n; }
  bool in_is_real() const { return call_.kind == FftKind::from_real; }
  bool out_is_real() const { return call_.kind == FftKind::to_real; }
  const T* in_at(int64_t offset) const { return in_ + (in_is_real() ? 1 : 2) * offset; }
  T* out_at(int64_t offset) const { return out_ + (out_is_real() ? 1 : 2) * offset; }

  // --- One line after the other

  void rows(int64_t begin, int64_t end) const {
    Scratch<T> in_row(in_step_ == 1 && !is_odd_real() ? 0 : 2 * call_.n),
        out_row(2 * (call_.n + 1));
    for (int64_t line = begin; line < end; ++line) {
      int64_t from, to;
      lines_.offsets(line, from, to);
      const T* in = in_at(from);
      if (in_row.size()) in = gathered(in, in_row.data());
      const bool direct = out_step_ == 1 && !is_odd_real();
      T* out = direct ? out_at(to) : out_row.data();
      row(in, out, out_row.data());
      if (!direct) scatter(out, out_at(to));
      if (in_is_real()) mirror(out_at(to));
    }
  }
  bool is_odd_real() const { return call_.kind != FftKind::complex && !halved_; }

  void row(const T* in, T* out, T* work) const {
    if (!halved_) return fft_row<T>(*plan_, in, out, {sign_, sign_, scale_});
    if (in_is_real()) {
      fft_row<T>(*plan_, in, out, {.scale = scale_});
      fft_kernels<T>().split_halves(plan_->half_roots(), plan_->n, out);
    } else {
      fft_kernels<T>().join_halves(plan_->half_roots(), plan_->n, in, work);
      fft_row<T>(*plan_, work, out, {.out_sign = T(-1), .scale = scale_});
    }
  }

  // A line of the input in consecutive numbers. Real ones of odd length become complex, half a
  // spectrum becomes a whole one.
  const T* gathered(const T* in, T* to) const {
    const bool real = in_is_real();
    for (int64_t k = 0; k < in_count(); ++k) {
      const T* x = in + (real ? 1 : 2) * in_step_ * k;
      if (real && halved_) {
        to[k] = *x;
      } else {
        to[2 * k] = x[0];
        to[2 * k + 1] = real || (k == 0 && is_odd_real()) ? T(0) : x[1];
      }
    }
    if (out_is_real() && !halved_) {
      for (int64_t k = half(); k < call_.n; ++k) {
        to[2 * k] = to[2 * (call_.n - k)];
        to[2 * k + 1] = -to[2 * (call_.n - k) + 1];
      }
    }
    return to;
  }

  void scatter(const T* row, T* out) const {
    for (int64_t k = 0; k < out_count(); ++k) {
      if (out_is_real()) {
        out[out_step_ * k] = row[halved_ ? k : 2 * k];
      } else {
        out[2 * out_step_ * k] = row[2 * k];
        out[2 * out_step_ * k + 1] = row[2 * k + 1];
      }
    }
  }

  // The second half of the spectrum of real numbers, if it is wanted.
  void mirror(T* out) const {
    for (int64_t k = half(); k < call_.sizes[call_.dim]; ++k) {
      const T* other = out + 2 * out_step_ * (call_.n - k);
      out[2 * out_step_ * k] = other[0];
      out[2 * out_step_ * k + 1] = -other[1];
    }
  }

  // --- Lines side by side

  void lanes(int64_t begin, int64_t end) const {
    const FftKernels<T>& kernels = fft_kernels<T>();
    const int64_t size = (call_.n + 1) * kernels.width + fft_gap;
    Scratch<T> work(4 * size);
    for (int64_t line = begin; line < end; line += kernels.width) {
      const int64_t count = std::min(kernels.width, end - line);
      int64_t from[max_width], to[max_width];
      for (int64_t l = 0; l < count; ++l) lines_.offsets(line + l, from[l], to[l]);
      const Split<T> x{&work[0], &work[size]}, y{&work[2 * size], &work[3 * size]};
      load({in_, from, count, in_step_}, x);
      store(kernels.steps(*plan_, kernels.width, x, y), {out_, to, count, out_step_});
      if (!in_is_real()) continue;
      for (int64_t l = 0; l < count; ++l) mirror(out_at(to[l]));
    }
  }

  void load(const Lanes<const T>& from, Split<T> x) const {
    const FftKernels<T>& kernels = fft_kernels<T>();
    if (call_.kind == FftKind::complex) {
      kernels.load(from, call_.n, x, sign_);
    } else if (!halved_) {
      load_odd(from, x);
    } else if (in_is_real()) {
      kernels.load_real(from, plan_->n, x);
    } else {
      kernels.load(from, half(), x, T(1));
      kernels.join_lanes(plan_->half_roots(), plan_->n, x);
    }
  }

  void store(Split<T> x, const Lanes<T>& to) const {
    const FftKernels<T>& kernels = fft_kernels<T>();
    if (call_.kind == FftKind::complex) {
      kernels.store(x, call_.n, to, sign_, scale_);
    } else if (in_is_real()) {
      if (halved_) kernels.split_lanes(plan_->half_roots(), plan_->n, x);
      kernels.store(x, half(), to, T(1), scale_);
    } else if (halved_) {
      kernels.store_real(x, plan_->n, to, T(-1), scale_);
    } else {
      for (int64_t l = 0; l < to.count; ++l) {
        T* out = to.data + to.offsets[l];
        for (int64_t k = 0; k < call_.n; ++k)
          out[to.step * k] = scale_ * x.re[k * kernels.width + l];
      }
    }
  }

  // Real numbers of odd length, or half their spectrum, conjugated: the transform is a backward
  // one.
  void load_odd(const Lanes<const T>& from, Split<T> x) const {
    const int64_t width = fft_kernels<T>().width;
    std::fill_n(x.re, call_.n * width, T(0));
    std::fill_n(x.im, call_.n * width, T(0));
    for (int64_t l = 0; l < from.count; ++l) {
      const T* in = in_at(from.offsets[l]);
      for (int64_t k = 0; k < in_count(); ++k) {
        if (in_is_real()) {
          x.re[k * width + l] = in[from.step * k];
          continue;
        }
        const T re = in[2 * from.step * k], im = k ? in[2 * from.step * k + 1] : T(0);
        x.re[k * width + l] = re;
        x.im[k * width + l] = -im;
        if (k == 0) continue;
        x.re[(call_.n - k) * width + l] = re;
        x.im[(call_.n - k) * width + l] = im;
      }
    }
  }

  const FftCall& call_;
  const FftLines lines_;
  const bool halved_;
  const std::shared_ptr<const FftPlan<T>> plan_;
  const T* const in_;
  T* const out_;
  const int64_t in_step_, out_step_;
  const T sign_, scale_;
};

}  // namespace

void fft(const FftCall& call) {
  for (int64_t size : call.sizes) {
    if (size == 0) return;
  }
  visit<dtypes::real_math>(call.dtype, "fft", [&]<class T>() { Transform<T>(call).run(); });
}

}  // namespace wisp::cpu
