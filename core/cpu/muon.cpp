#include "cpu/muon.h"

#include <cstring>

#include "cpu/gemm.h"
#include "cpu/jobs.h"
#include "cpu/kernels/kernels.h"
#include "cpu/reduce.h"
#include "cpu/scratch.h"
#include "cpu/update.h"

namespace wisp::cpu {

namespace {

constexpr int64_t piece = 1 << 13;  // elements a thread takes at once
constexpr int64_t tile = 1024;

// f(begin, n) for tiles of n <= tile elements out of `count`.
template <class F>
void for_each_tile(int64_t count, F f) {
  parallel_for(count, piece, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; at += tile) f(at, std::min(tile, end - at));
  });
}

// Numbers that bfloat16 can hold, as float32: what comes out of each operation, and goes into the
// next.
template <class T>
void round_tile(float* out, const T* in, int64_t n) {
  BFloat16 rounded[tile];
  kernels().cast[int(DType::bfloat16)][int(dtype_of<T>)](rounded, in, n);
  kernels().cast[int(DType::float32)][int(DType::bfloat16)](out, rounded, n);
}
float rounded(float x) {
  round_tile(&x, &x, 1);
  return x;
}

// A matrix of which an iteration brings all singular values close to 1.
class NewtonSchulz {
 public:
  NewtonSchulz(int64_t rows, int64_t cols)
      : rows_(rows), cols_(cols), side_(std::min(rows, cols)), memory_(2 * (size() + squares())) {}

  int64_t size() const { return rows_ * cols_; }
  float* data() const { return found_; }

  void run(const MuonSettings& settings) {
    divide_by_norm(static_cast<float>(settings.least_norm));
    for (int64_t i = 0; i < settings.iterations; ++i) iterate(settings);
  }

 private:
  int64_t squares() const { return side_ * side_; }

  void divide_by_norm(float least) {
    const int64_t count = size(), stride = 1;
    float norm;
    reduce({.op = Reduction::norm_2,
            .compute = DType::float32,
            .sizes = {&count, 1},
            .in = {reinterpret_cast<char*>(found_), {&stride, 1}, DType::float32},
            .reduced = 1,
            .out = {reinterpret_cast<char*>(&norm), {}, DType::float32},
            .second = {},
            .params = {}});
    norm = rounded(norm);
    const float divisor = norm < least ? rounded(least) : norm;
    for_each_tile(count, [&](int64_t at, int64_t n) {
      for (int64_t i = at; i < at + n; ++i) found_[i] /= divisor;
      round_tile(found_ + at, found_ + at, n);
    });
  }

  // X <- aX + (bA + cA^2)X with A = XX', X being at least as wide as high.
  void iterate(const MuonSettings& settings) {
    const Matrix x = wide(found_), turned{x.data, x.cols, x.rows, x.col, x.row};
    multiply(x, turned, square(gram_), nullptr, 1, 0);
    multiply(square(gram_), square(gram_), square(polynomial_), gram_, settings.quintic,
             settings.cubic);
    multiply(square(polynomial_), x, wide(next_), found_, 1, settings.linear);
    std::swap(found_, next_);
  }

  Matrix square(float* data) const {
    return {reinterpret_cast<char*>(data), side_, side_, side_, 1};
  }
  Matrix wide(float* data) const {
    char* at = reinterpret_cast<char*>(data);
    return rows_ <= cols_ ? Matrix{at, rows_, cols_, cols_, 1} : Matrix{at, cols_, rows_, 1, cols_};
  }

  // c = alpha * a * b + beta * start, which lies as c does.
  static void multiply(const Matrix& a, const Matrix& b, const Matrix& c, const float* start,
                       double alpha, double beta) {
    float* out = reinterpret_cast<float*>(c.data);
    const int64_t count = c.rows * c.cols;
    if (start) {
      for_each_tile(count, [&](int64_t at, int64_t n) {
        std::memcpy(out + at, start + at, static_cast<size_t>(n) * sizeof(float));
      });
    }
    gemm(DType::float32, a, b, c, alpha, beta);
    for_each_tile(count, [&](int64_t at, int64_t n) { round_tile(out + at, out + at, n); });
  }

  const int64_t rows_, cols_, side_;
  const Scratch<float> memory_;
  float* found_ = memory_.data();
  float* next_ = found_ + size();
  float* gram_ = next_ + size();
  float* polynomial_ = gram_ + squares();
};

template <class T>
void run(const MuonStep& step, const MuonSettings& settings) {
  NewtonSchulz matrix(step.rows, step.cols);
  T *param = reinterpret_cast<T*>(step.param), *momentum = reinterpret_cast<T*>(step.momentum);
  const T* grad = reinterpret_cast<const T*>(step.grad);
  const T take = T(1 - settings.keep), back = settings.nesterov ? take : T(0);
  for_each_tile(matrix.size(), [&](int64_t at, int64_t n) {
    T update[tile];
    for (int64_t i = 0; i < n; ++i) {
      T& mean = momentum[at + i];
      mean += take * (grad[at + i] - mean);
      update[i] = mean - back * (mean - grad[at + i]);
    }
    round_tile(matrix.data() + at, update, n);
  });
  matrix.run(settings);
  const float* update = matrix.data();
  const T shrink = T(step.shrink), rate = T(step.rate);
  for_each_tile(matrix.size(), [&](int64_t at, int64_t n) {
    for (int64_t i = at; i < at + n; ++i) param[i] = shrink * param[i] - rate * T(update[i]);
  });
}

}  // namespace

void muon(DType dtype, std::span<const MuonStep> steps, const MuonSettings& settings) {
  auto size_of = [](const MuonStep& s) { return s.rows * s.cols * std::min(s.rows, s.cols); };
  run_jobs(steps, 1 << 20, size_of, [&](const MuonStep& step) {
    if (step.rows * step.cols == 0) return;
    dtype == DType::float32 ? run<float>(step, settings) : run<double>(step, settings);
  });
}

}  // namespace wisp::cpu
