#include "cpu/products.h"

#include <algorithm>

#include "base/parallel.h"
#include "cpu/scratch.h"

namespace wisp::cpu {

namespace {

constexpr int64_t piece = 1024;  // elements that are multiplied in one go
constexpr int64_t grain = 16;    // pieces a thread takes at once

template <class T>
T product(const T* x, int64_t n) {
  T lane[4] = {1, 1, 1, 1};
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    for (int64_t j = 0; j < 4; ++j) lane[j] *= x[i + j];
  }
  for (; i < n; ++i) lane[0] *= x[i];
  return (lane[0] * lane[1]) * (lane[2] * lane[3]);
}

// A piece, given the products of all that is before and after it. Both directions advance together:
// neither waits for the other.
template <class T>
void others_of_piece(const T* x, T* out, int64_t n, T before, T after) {
  T left[piece], right[piece];
  for (int64_t i = 0; i < n; ++i) {
    left[i] = before;
    right[n - 1 - i] = after;
    before *= x[i];
    after *= x[n - 1 - i];
  }
  for (int64_t i = 0; i < n; ++i) out[i] = left[i] * right[i];
}

// Products of all pieces of a row before (and, from the other end, after) each of them.
template <class T>
void products_around(const T* products, int64_t count, T* before, T* after) {
  T left = 1, right = 1;
  for (int64_t p = 0; p < count; ++p) {
    before[p] = left;
    after[count - 1 - p] = right;
    left *= products[p];
    right *= products[count - 1 - p];
  }
}

}  // namespace

void product_of_others(DType dtype, int64_t rows, int64_t n, const char* in, char* result) {
  const int64_t each = (n + piece - 1) / piece, pieces = rows * each;
  if (pieces == 0) return;
  visit<dtypes::real_math>(dtype, "prod", [&]<class T>() {
    const T* x = reinterpret_cast<const T*>(in);
    T* out = reinterpret_cast<T*>(result);
    const Scratch<T> products(pieces), before(pieces), after(pieces);
    auto start = [&](int64_t p) { return p / each * n + p % each * piece; };
    auto length = [&](int64_t p) { return std::min(piece, n - p % each * piece); };
    parallel_for(pieces, grain, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        products[p] = each > 1 ? product(x + start(p), length(p)) : T(1);
      }
    });
    for (int64_t p = 0; p < pieces; p += each) {
      products_around(products.data() + p, each, before.data() + p, after.data() + p);
    }
    parallel_for(pieces, grain, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        others_of_piece(x + start(p), out + start(p), length(p), before[p], after[p]);
      }
    });
  });
}

}  // namespace wisp::cpu
