// How pointwise kernels are spelled: a lambda over one element becomes a loop over a tile for every
// dtype of a set. Included by the files of this folder only, which are compiled once per
// instruction set; everything is in an unnamed namespace or inlined so that no copy is shared
// between them.
#pragma once

#include "base/dtype.h"
#include "cpu/kernels/kernels.h"

#ifndef WISP_ISA
#error "compiled once per instruction set: WISP_ISA names it"
#endif

namespace wisp::cpu {

namespace {

// Foreign memory may hold bools other than 0 and 1.
template <class T>
WISP_INLINE T load(const T* p, int64_t i) {
  if constexpr (std::is_same_v<T, bool>) {
    return reinterpret_cast<const uint8_t*>(p)[i] != 0;
  } else {
    return p[i];
  }
}

template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<Complex<T>> {
  using type = T;
};

template <class T, Result kind>
using ResultType =
    std::conditional_t<kind == Result::boolean, bool,
                       std::conditional_t<kind == Result::real, typename RealOf<T>::type, T>>;

template <class F, class... T>
WISP_INLINE auto apply(const Params& params, T... values) {
  if constexpr (std::is_invocable_v<F, T..., const Params&>) {
    return F{}(values..., params);
  } else {
    return F{}(values...);
  }
}

template <class T, class R, class F>
void unary_tile(void* out, const void* const* in, int64_t n, const Params& given) {
  const Params params = given;  // a copy that no store through `y` can change
  R* y = static_cast<R*>(out);
  const T* a = static_cast<const T*>(in[0]);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<R>(apply<F>(params, load(a, i)));
}

template <class T, class R, class F>
void binary_tile(void* out, const void* const* in, int64_t n, const Params& given) {
  const Params params = given;
  R* y = static_cast<R*>(out);
  const T* a = static_cast<const T*>(in[0]);
  const T* b = static_cast<const T*>(in[1]);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<R>(apply<F>(params, load(a, i), load(b, i)));
}

template <class T, class R, class F>
void number_tile(void* out, const void* const* in, int64_t n, const Params& given) {
  const Params params = given;
  R* y = static_cast<R*>(out);
  const T* a = static_cast<const T*>(in[0]);
  const T number = load(static_cast<const T*>(in[1]), 0);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<R>(apply<F>(params, load(a, i), number));
}

template <class A, class T, class R, class F>
void ternary_tile(void* out, const void* const* in, int64_t n, const Params& given) {
  const Params params = given;
  R* y = static_cast<R*>(out);
  const A* a = static_cast<const A*>(in[0]);
  const T* b = static_cast<const T*>(in[1]);
  const T* c = static_cast<const T*>(in[2]);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    y[i] = static_cast<R>(apply<F>(params, load(a, i), load(b, i), load(c, i)));
  }
}

template <class T, class R, class F>
void ternary_number_tile(void* out, const void* const* in, int64_t n, const Params& given) {
  const Params params = given;
  R* y = static_cast<R*>(out);
  const T* a = static_cast<const T*>(in[0]);
  const T* b = static_cast<const T*>(in[1]);
  const T number = *static_cast<const T*>(in[2]);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<R>(apply<F>(params, a[i], b[i], number));
}

// Runs f<T>() for each C++ type of the set.
template <DTypeSet Set, class F>
WISP_INLINE void for_each_type(F f) {
#define WISP_ONE(id, type, name, legacy) \
  if constexpr (contains(Set, DType::id)) f.template operator()<type>();
  WISP_FOR_EACH_DTYPE(WISP_ONE)
#undef WISP_ONE
}

template <Opcode Op>
constexpr Result result_kind = [] {
  switch (Op) {
#define WISP_CASE(name, inputs, types, result, cost) \
  case Opcode::name:                                 \
    return Result::result;
    WISP_FOR_EACH_OPCODE(WISP_CASE)
#undef WISP_CASE
    default:
      return Result::same;
  }
}();

// unary<Opcode::neg, dtypes::math>(table, [](auto x) { return -x; }) and so on. The lambda may take
// the Params as its last argument.
template <Opcode Op, DTypeSet Set, class F>
WISP_INLINE void unary(TileTable& table, F) {
  for_each_type<Set>([&]<class T>() {
    table[int(Op)][int(dtype_of<T>)] = unary_tile<T, ResultType<T, result_kind<Op>>, F>;
  });
}
template <Opcode Op, DTypeSet Set, class F>
WISP_INLINE void binary(TileTable& table, F) {
  for_each_type<Set>([&]<class T>() {
    table[int(Op)][int(dtype_of<T>)] = binary_tile<T, ResultType<T, result_kind<Op>>, F>;
  });
}
// Also with a number, for the dtypes that meet numbers most.
template <Opcode Op, DTypeSet Set, class F>
WISP_INLINE void binary_or_number(Kernels& table, F f) {
  binary<Op, Set>(table.tile, f);
  for_each_type<Set&(dtypes::real_math | set_of(DType::int64))>([&]<class T>() {
    table.by_number[int(Op)][int(dtype_of<T>)] = number_tile<T, ResultType<T, result_kind<Op>>, F>;
  });
}
template <Opcode Op, DTypeSet Set, class F>
WISP_INLINE void ternary(TileTable& table, F) {
  for_each_type<Set>([&]<class T>() {
    using A = std::conditional_t<Op == Opcode::where, bool, T>;
    table[int(Op)][int(dtype_of<T>)] = ternary_tile<A, T, ResultType<T, result_kind<Op>>, F>;
  });
}

template <Opcode Op, DTypeSet Set, class F>
WISP_INLINE void ternary_or_number(Kernels& table, F f) {
  ternary<Op, Set>(table.tile, f);
  for_each_type<Set & dtypes::real_math>([&]<class T>() {
    table.by_number[int(Op)][int(dtype_of<T>)] = ternary_number_tile<T, T, F>;
  });
}

template <class T>
WISP_INLINE T param(const Params& params, int i = 0) {
  if constexpr (detail::is_complex_type<T>) {
    using R = decltype(T::re);
    return T(static_cast<R>(params.values[i]), i == 0 ? static_cast<R>(params.imag) : R(0));
  } else {
    return convert<T>(params.values[i]);
  }
}

}  // namespace

}  // namespace wisp::cpu
