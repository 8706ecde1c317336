// Rows of scores.
#include "cpu/attention.h"

#include "cpu/kernels/exp_sum.h"

namespace wisp::cpu {

namespace {

template <class T>
T soften(T* scores, int64_t n, T& largest, double& sum) {
  const T before = largest, here = largest_of(scores, n);
  largest = here > before ? here : before;
  const T shift = ExpSum<T>::shift(largest);
  const T factor = sum == 0 ? T(0) : vmath::exp(before - shift);
  const double here_sum = shift == largest ? exponentials(scores, scores, n, shift)
                                           : exponentials<T, false>(scores, scores, n, shift);
  sum = sum * static_cast<double>(factor) + here_sum;
  return factor;
}

// A row without any key in sight has no probabilities at all.
template <class T>
void probabilities(T* scores, int64_t n, T log_sum) {
  if (log_sum == -std::numeric_limits<T>::infinity()) {
    for (int64_t i = 0; i < n; ++i) scores[i] = 0;
    return;
  }
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) scores[i] = vmath::exp(scores[i] - log_sum);
}

template <class T>
void score_grads(T* __restrict d, const T* __restrict p, int64_t n, T shift) {
  for (int64_t i = 0; i < n; ++i) d[i] = p[i] * (d[i] - shift);
}

template <class T>
void second_sums(const T* p, const T* d, const T* h, const T* c, int64_t n, double sums[2]) {
  constexpr int64_t lanes = 16;
  T first[lanes] = {}, second[lanes] = {};
  for (int64_t at = 0; at < n; at += lanes) {
    const int64_t count = n - at < lanes ? n - at : lanes;
    for (int64_t i = 0; i < count; ++i) {
      first[i] += p[at + i] * h[at + i];
      second[i] += p[at + i] * (d[at + i] * h[at + i] + c[at + i]);
    }
  }
  for (int64_t i = 0; i < lanes; ++i) {
    sums[0] += static_cast<double>(first[i]);
    sums[1] += static_cast<double>(second[i]);
  }
}

template <class T>
void second_grads(const T* __restrict p, T* __restrict d, T* __restrict h, T* __restrict c,
                  int64_t n, const T means[3]) {
  const T d_mean = means[0], h_mean = means[1], mean = means[2];
  for (int64_t i = 0; i < n; ++i) {
    const T down = d[i] - d_mean, along = h[i] - h_mean;
    c[i] = p[i] * (down * along + c[i] - mean);
    d[i] = p[i] * down;
    h[i] = p[i] * along;
  }
}

template <class T>
void multiply(T* x, int64_t n, T factor) {
  for (int64_t i = 0; i < n; ++i) x[i] *= factor;
}

void round(const float* __restrict from, int64_t n, BFloat16* __restrict to) {
  for (int64_t i = 0; i < n; ++i) to[i] = BFloat16(from[i]);
}

}  // namespace

namespace WISP_ISA {
void fill_attention(AttentionTable& table);
void fill_attention(AttentionTable& table) {
  table.f32 = {soften<float>,      probabilities<float>, score_grads<float>,
               second_sums<float>, second_grads<float>,  multiply<float>};
  table.f64 = {soften<double>,      probabilities<double>, score_grads<double>,
               second_sums<double>, second_grads<double>,  multiply<double>};
  table.round = round;
}
}  // namespace WISP_ISA

}  // namespace wisp::cpu
