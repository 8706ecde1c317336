#include "cpu/scatter.h"

#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "cpu/grain.h"
#include "cpu/runs.h"

namespace wisp::cpu {

namespace {

constexpr int64_t grain = 1 << 14;  // elements a thread takes at once

int64_t item_of(const Operand& operand) { return static_cast<int64_t>(item_size(operand.dtype)); }

// An operand without the indexed dimension, and the bytes between its elements along that one.
struct Across {
  Across(const Operand& whole, size_t dim) : operand(whole) {
    if (whole.strides.empty()) return;
    strides = Dims(whole.strides);
    step = strides[dim] * item_of(whole);
    strides.erase(dim);
    operand.strides = strides;
  }
  Across(const Across&) = delete;
  Dims strides;
  Operand operand;
  int64_t step = 0;
};

// Runs body(pointers, n, strides between lines) for pieces of the lines along `dim`. A thread takes
// whole lines: what is written to one place is written in order.
template <class F>
void for_lines(const IndexedLines& lines, const Across& a, const Across& b, const Across& c,
               F body) {
  Dims sizes(lines.sizes);
  const int64_t length = lines.sizes[lines.dim];
  sizes.erase(lines.dim);
  const LoopPlan plan(sizes, {a.operand, b.operand, c.operand});
  if (length == 0 || plan.numel == 0) return;
  std::array<int64_t, 3> between{};
  for (size_t k = 0; k < 3 && plan.ndim() > 0; ++k) between[k] = plan.strides[k].back();
  const std::array<char*, 3> data{a.operand.data, b.operand.data, c.operand.data};
  // Lines that share their indices are written as rows, which should be some cache lines long.
  const bool rows = between[1] == 0;
  const int64_t some =
      even_grain(plan.numel, std::max<int64_t>(rows ? 128 : 1, grain / length), rows ? 16 : 1);
  parallel_for(plan.numel, some, [&](int64_t begin, int64_t end) {
    for_each_run(plan, data, begin, end,
                 [&](const std::array<char*, 3>& at, int64_t n) { body(at, n, between); });
  });
}

// Calls f(i, j) for `length` elements along the dimension of each of n lines, the closer ones
// inside.
template <class F>
void for_elements(int64_t length, int64_t along, int64_t n, int64_t between, F f) {
  if (n == 1 || along < between) {
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = 0; i < length; ++i) f(i, j);
    }
  } else {
    for (int64_t i = 0; i < length; ++i) {
      for (int64_t j = 0; j < n; ++j) f(i, j);
    }
  }
}

int64_t read_index(const char* at) { return *reinterpret_cast<const int64_t*>(at); }

// Consecutive results from anywhere in one line. (Unrolled: how fast so short a loop is would
// depend on where in memory it comes to lie.)
template <class T>
void gather_line(char* out, const char* index, const char* line, int64_t along, int64_t n) {
  T* to = reinterpret_cast<T*>(out);
  const int64_t* places = reinterpret_cast<const int64_t*>(index);
  if (along == static_cast<int64_t>(sizeof(T))) {
    const T* from = reinterpret_cast<const T*>(line);
#pragma GCC unroll 4
    for (int64_t i = 0; i < n; ++i) to[i] = from[places[i]];
  } else {
#pragma GCC unroll 4
    for (int64_t i = 0; i < n; ++i) to[i] = *reinterpret_cast<const T*>(line + places[i] * along);
  }
}

// Whether no difference to either bound is negative, by their signs.
bool all_inside(const char* index, int64_t step, int64_t n, int64_t length) {
  uint64_t outside = 0;
  auto look = [&](int64_t value) {
    const auto at = static_cast<uint64_t>(value);
    outside |= at | (static_cast<uint64_t>(length - 1) - at);
  };
  if (step == sizeof(int64_t)) {
    for (int64_t i = 0; i < n; ++i) look(reinterpret_cast<const int64_t*>(index)[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) look(read_index(index + i * step));
  }
  return static_cast<int64_t>(outside) >= 0;
}

// Lines whose elements are consecutive everywhere.
template <class T, class Op>
void scatter_line(char* self, const char* index, const char* src, int64_t n) {
  T* to = reinterpret_cast<T*>(self);
  const T* from = reinterpret_cast<const T*>(src);
  const int64_t* places = reinterpret_cast<const int64_t*>(index);
#pragma GCC unroll 4
  for (int64_t i = 0; i < n; ++i) to[places[i]] = Op::apply(to[places[i]], from[i]);
}

// n neighbouring lines that share their indices: whole rows meet.
template <class T, class Op>
void scatter_rows(char* self, int64_t self_step, const char* index, int64_t index_step,
                  const char* src, int64_t src_step, int64_t length, int64_t n) {
  for (int64_t i = 0; i < length; ++i) {
    T* to = reinterpret_cast<T*>(self + read_index(index + i * index_step) * self_step);
    const T* from = reinterpret_cast<const T*>(src + i * src_step);
#pragma GCC ivdep
    for (int64_t j = 0; j < n; ++j) to[j] = Op::apply(to[j], from[j]);
  }
}

// Fails if one of n indices is outside.
void check_inside(const IndexedLines& lines, const char* index, int64_t step, int64_t n) {
  if (WISP_LIKELY(lines.checked || all_inside(index, step, n, lines.length))) return;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t at = read_index(index + i * step);
    WISP_CHECK(at >= 0 && at < lines.length, lines.what, "(): index ", at,
               " is out of bounds for dimension ", lines.dim, " with size ", lines.length);
  }
}

template <class X>
using Three = std::array<X, 3>;  // of what is written, the index, what is read

struct Scatter {
  const IndexedLines& lines;
  int64_t length;
  Three<int64_t> step;  // bytes between elements along the dimension
};
using ScatterLoop = void (*)(const Scatter&, const Three<char*>& at, int64_t n,
                             const Three<int64_t>& between);

// n lines, the first at `at`, `between` bytes from one to the next.
template <class T, class Op>
void scatter_lines(const Scatter& scatter, const Three<char*>& at, int64_t n,
                   const Three<int64_t>& between) {
  const int64_t to = scatter.step[0], index = scatter.step[1], from = scatter.step[2];
  constexpr int64_t item = sizeof(T);
  const bool dense = index == sizeof(int64_t) && to == item && from == item;
  if (n > 1 && between[1] == 0 && between[0] == item && between[2] == item) {
    check_inside(scatter.lines, at[1], index, scatter.length);
    return scatter_rows<T, Op>(at[0], to, at[1], index, at[2], from, scatter.length, n);
  }
  for (int64_t j = 0; j < n; ++j) {
    const char* places = at[1] + j * between[1];
    check_inside(scatter.lines, places, index, scatter.length);
    if (dense) {
      scatter_line<T, Op>(at[0] + j * between[0], places, at[2] + j * between[2], scatter.length);
    }
  }
  if (dense) return;
  for_elements(scatter.length, index, n, between[1], [&](int64_t i, int64_t j) {
    const int64_t place = read_index(at[1] + i * index + j * between[1]);
    T& target = *reinterpret_cast<T*>(at[0] + place * to + j * between[0]);
    target = Op::apply(target, *reinterpret_cast<const T*>(at[2] + i * from + j * between[2]));
  });
}

}  // namespace

void check_lines(IndexedLines& lines) {
  Dims sizes(lines.sizes);
  for (size_t dim = 0; dim < sizes.size(); ++dim) {
    if (lines.index.strides[dim] == 0 && sizes[dim] > 1) sizes[dim] = 1;  // looked at once
  }
  const LoopPlan plan(sizes, {lines.index});
  const int64_t step = plan.ndim() ? plan.strides[0].back() : 0;
  // The last pieces first: those that the writing begins with are then still in the caches.
  parallel_for(plan.numel, even_grain(plan.numel, grain), [&](int64_t begin, int64_t end) {
    for_each_run(plan, std::array{lines.index.data}, plan.numel - end, plan.numel - begin,
                 [&](const auto& at, int64_t n) { check_inside(lines, at[0], step, n); });
  });
  lines.checked = true;
}

void gather(const IndexedLines& lines, const Operand& out, const Operand& self) {
  // The position along dim comes from the index alone.
  Dims strides(self.strides);
  const int64_t along = std::exchange(strides[lines.dim], 0) * item_of(self);
  const LoopPlan plan(lines.sizes, {out, lines.index, {self.data, strides, self.dtype}});
  std::array<int64_t, 3> step{};
  for (size_t k = 0; k < 3 && plan.ndim() > 0; ++k) step[k] = plan.strides[k].back();
  const std::array<char*, 3> data{out.data, lines.index.data, self.data};
  by_item(item_size(out.dtype), [&]<class T>() {
    parallel_for(plan.numel, even_grain(plan.numel, grain), [&](int64_t begin, int64_t end) {
      for_each_run(plan, data, begin, end, [&](const auto& at, int64_t n) {
        check_inside(lines, at[1], step[1], n);
        if (step[0] == sizeof(T) && step[1] == sizeof(int64_t) && step[2] == 0) {
          return gather_line<T>(at[0], at[1], at[2], along, n);
        }
        for (int64_t i = 0; i < n; ++i) {
          const char* from = at[2] + i * step[2] + read_index(at[1] + i * step[1]) * along;
          *reinterpret_cast<T*>(at[0] + i * step[0]) = *reinterpret_cast<const T*>(from);
        }
      });
    });
  });
}

void scatter(const IndexedLines& lines, Combine how, const Operand& self, const Operand& src) {
  const Across to(self, lines.dim), index(lines.index, lines.dim), from(src, lines.dim);
  ScatterLoop loop = nullptr;
  by_combine(how, self.dtype, "scatter", [&]<class T, class Op>() { loop = scatter_lines<T, Op>; });
  const Scatter scatter{lines, lines.sizes[lines.dim], {to.step, index.step, from.step}};
  for_lines(lines, to, index, from,
            [&](const Three<char*>& at, int64_t n, const Three<int64_t>& between) {
              loop(scatter, at, n, between);
            });
}

}  // namespace wisp::cpu
