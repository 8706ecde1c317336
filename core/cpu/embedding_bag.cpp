#include "cpu/embedding_bag.h"

#include <algorithm>

#include "base/parallel.h"
#include "cpu/window_kernels.h"

namespace wisp::cpu {

namespace {

// Of equal elements the first counts.
template <class T>
void take_larger(T* best, int64_t* at, const T* row, int64_t number, int64_t n, bool first) {
  for (int64_t c = 0; c < n; ++c) {
    const bool take = first || row[c] > best[c];
    best[c] = take ? row[c] : best[c];
    at[c] = take ? number : at[c];
  }
}

template <class T>
struct Bag {
  const EmbeddingBagCall& call;
  int64_t number;
  T* out() const { return reinterpret_cast<T*>(call.out) + number * call.columns; }
  bool takes(int64_t i) const { return call.index[i] != call.padding_row; }

  int64_t largest() const {
    const T* table = reinterpret_cast<const T*>(call.table);
    int64_t used = 0;
    for (int64_t i = call.begin[number]; i < call.begin[number + 1]; ++i) {
      if (!takes(i)) continue;
      take_larger(out(), call.max_index + number * call.columns,
                  table + call.index[i] * call.columns, call.index[i], call.columns, used == 0);
      ++used;
    }
    return used;
  }
  int64_t sum() const {
    const auto& kernel = window_kernels<T>();
    const T *table = reinterpret_cast<const T*>(call.table),
            *weights = reinterpret_cast<const T*>(call.weights);
    const int64_t begin = call.begin[number], end = call.begin[number + 1];
    if (std::find(call.index + begin, call.index + end, call.padding_row) == call.index + end) {
      kernel.add_rows(out(), table, call.index + begin, weights ? weights + begin : nullptr,
                      end - begin, call.columns);
      return end - begin;
    }
    int64_t used = 0;
    for (int64_t i = begin; i < end; ++i) {
      if (takes(i))
        kernel.add_scaled(out(), table + call.index[i] * call.columns, weights ? weights[i] : T(1),
                          call.columns, used++ == 0);
    }
    return used;
  }
};

template <class T>
void one_bag(const EmbeddingBagCall& call, int64_t number) {
  const Bag<T> bag{call, number};
  T* out = bag.out();
  const int64_t used = call.max_index ? bag.largest() : bag.sum();
  call.bag_size[number] = used;
  if (used == 0) {
    std::fill(out, out + call.columns, T(0));
    if (call.max_index) std::fill_n(call.max_index + number * call.columns, call.columns, 0);
  } else if (call.mode == BagMode::mean && used > 1) {
    const T factor = T(1) / static_cast<T>(used);
    for (int64_t c = 0; c < call.columns; ++c) out[c] *= factor;
  }
}

}  // namespace

void embedding_bag(const EmbeddingBagCall& call) {
  const int64_t count = call.bags ? call.begin[call.bags] - call.begin[0] : 0;
  const int64_t work = call.columns * (count / std::max<int64_t>(call.bags, 1) + 1);
  visit<dtypes::real_math>(call.dtype, "embedding_bag", [&]<class T>() {
    parallel_for(call.bags, std::max<int64_t>(1, (1 << 14) / (work + 1)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t bag = begin; bag < end; ++bag) one_bag<T>(call, bag);
                 });
  });
}

// A piece of the table belongs to one thread, which looks at all indices: what is added to one row
// is added in their order.
void embedding_bag_grad(const EmbeddingBagGradCall& call) {
  const int64_t columns = call.columns;
  visit<dtypes::real_math>(call.dtype, "embedding_bag", [&]<class T>() {
    const T* grad = reinterpret_cast<const T*>(call.grad);
    const T* factors = reinterpret_cast<const T*>(call.factors);
    T* out = reinterpret_cast<T*>(call.table_grad);
    const int64_t grain = std::max<int64_t>(1, (1 << 18) / (columns + 1));
    parallel_for(call.rows, grain, [&](int64_t begin, int64_t end) {
      std::fill(out + begin * columns, out + end * columns, T(0));
      for (int64_t i = 0; i < call.count; ++i) {
        const int64_t row = call.index[i];
        if (row < begin || row >= end || row == call.padding_row) continue;
        window_kernels<T>().add_scaled(out + row * columns, grad + call.bag[i] * columns,
                                       factors[i], columns, false);
      }
    });
  });
}

}  // namespace wisp::cpu
