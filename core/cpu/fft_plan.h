// What the transforms of one length share: factors, roots of unity, and the way they are run.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "cpu/fft_kernels.h"

namespace wisp::cpu {

// Numbers that live as long as the plan. Complex ones are pairs, real part first.
template <class T>
struct FftPlan : FftTables<T> {
  std::vector<FftStep> step_list;
  std::vector<std::vector<T>> memory;

  // A long transform as transforms of its columns, twiddles, and transforms of its rows: each part
  // stays in the cache.
  std::shared_ptr<const FftPlan> columns, rows;

  // A length with a large prime factor as a convolution of length inner->n.
  std::shared_ptr<const FftPlan> inner;
  const T* chirp = nullptr;           // exp(-pi i k^2 / n)
  const T* chirp_spectrum = nullptr;  // the transform of its conjugate, wrapped around

  // exp(-2 pi i k / 2n), k <= n/2: what joins the halves of a transform of 2n real numbers. Made
  // when first asked for.
  const T* half_roots() const;
  int64_t bytes() const;  // of all tables, these included

 private:
  mutable std::once_flag halves_made_;
  mutable std::vector<T> halves_;
};

// The plan of that length, from a cache that all threads share.
template <class T>
std::shared_ptr<const FftPlan<T>> fft_plan(int64_t n);

}  // namespace wisp::cpu
