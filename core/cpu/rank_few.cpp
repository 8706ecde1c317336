#include "cpu/rank_few.h"

#include "cpu/kernels/kernels.h"
#include "cpu/sort_key.h"
#include "cpu/strided.h"

namespace wisp::cpu {

namespace {

constexpr int64_t grain = 1 << 13;  // elements a thread takes at once
constexpr int64_t together = 8;     // rows
using Keys = uint64_t[few_elements][together];

// keys[i][row] is that of element i.
template <class T>
void find_keys(const char* in, int64_t rows, int64_t n, bool descending, Keys& keys) {
  const T* x = reinterpret_cast<const T*>(in);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < n; ++i) keys[i][row] = sort_key(*x++, descending);
  }
}
using FindKeys = void (*)(const char*, int64_t, int64_t, bool, Keys&);

// NaN has the largest key of its size.
int64_t median_rank(DType dtype, const Keys& keys, int64_t row, int64_t n, bool skip_nan) {
  const uint64_t nan_key = ~uint64_t(0) >> (64 - 8 * item_size(dtype));
  int64_t nans = 0;
  for (int64_t i = 0; i < n && is_floating(dtype); ++i) nans += keys[i][row] == nan_key;
  return nans > 0 && (!skip_nan || nans == n) ? n - nans : (n - nans - 1) / 2;
}

template <class Item>
void pick(const Rows& job, const Ranks& wanted, FindKeys find, int64_t begin, int64_t end) {
  const int64_t n = job.n;
  const Item* in = reinterpret_cast<const Item*>(job.in) + begin * n;
  Item* values = reinterpret_cast<Item*>(job.values) + begin * wanted.count;
  int64_t* indices = job.indices + begin * wanted.count;
  alignas(64) Keys keys = {};
  alignas(64) Keys ranks;
  for (; begin < end; begin += together) {
    const int64_t rows = std::min(together, end - begin);
    find(reinterpret_cast<const char*>(in), rows, n, wanted.descending, keys);
    kernels().rank_few(keys, n, ranks);
    for (int64_t row = 0; row < rows; ++row, in += n) {
      int64_t order[few_elements];
      for (int64_t i = 0; i < n; ++i) order[ranks[i][row]] = i;
      const int64_t first =
          wanted.median ? median_rank(job.dtype, keys, row, n, wanted.skip_nan) : wanted.first;
      for (int64_t i = 0; i < wanted.count; ++i) *values++ = in[*indices++ = order[first + i]];
    }
  }
}

}  // namespace

void rank_few(const Rows& job, const Ranks& wanted) {
  if (job.n == 0) return;
  const FindKeys find = visit<dtypes::all_real>(job.dtype, "sort",
                                                []<class T>() -> FindKeys { return find_keys<T>; });
  by_item_size(item_size(job.dtype), [&]<class Item>() {
    if constexpr (sizeof(Item) <= 8) {
      parallel_for(job.rows, grain / job.n,
                   [&](int64_t begin, int64_t end) { pick<Item>(job, wanted, find, begin, end); });
    }
  });
}

}  // namespace wisp::cpu
