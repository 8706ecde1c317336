// How a written element meets the one that is there: shared by the kernels of index_put and
// scatter.
#pragma once

#include "base/dtype.h"

namespace wisp::cpu {

enum class Combine : uint8_t { copy, add, multiply, amax, amin };

// float16 and bfloat16 are widened by the caller, so that sums are rounded once.
constexpr DTypeSet combinable = dtypes::all & static_cast<DTypeSet>(~dtypes::half);

struct Replace {
  template <class T>
  static T apply(T, T b) {
    return b;
  }
};

struct Add {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (std::is_same_v<T, bool>) {
      return a || b;
    } else {
      return static_cast<T>(a + b);
    }
  }
};

struct Multiply {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (std::is_same_v<T, bool>) {
      return a && b;
    } else {
      return static_cast<T>(a * b);
    }
  }
};

// NaN wins over everything.
struct Larger {
  template <class T>
  static T apply(T a, T b) {
    return a >= b || a != a ? a : b;
  }
};

struct Smaller {
  template <class T>
  static T apply(T a, T b) {
    return a <= b || a != a ? a : b;
  }
};

struct Wide {
  uint64_t low, high;
};

// Calls f.operator()<T>() with a type of that many bytes, for kernels that only move elements.
template <class F>
void by_item(size_t item, F&& f) {
  switch (item) {
    case 1:
      return f.template operator()<uint8_t>();
    case 2:
      return f.template operator()<uint16_t>();
    case 4:
      return f.template operator()<uint32_t>();
    case 8:
      return f.template operator()<uint64_t>();
    default:
      return f.template operator()<Wide>();
  }
}

// Calls f.operator()<T, Op>() for a way to combine and a dtype.
template <class F>
void by_combine(Combine how, DType dtype, const char* what, F&& f) {
  switch (how) {
    case Combine::copy:
      return by_item(item_size(dtype), [&]<class T>() { f.template operator()<T, Replace>(); });
    case Combine::add:
      return visit<combinable>(dtype, what, [&]<class T>() { f.template operator()<T, Add>(); });
    case Combine::multiply:
      return visit<combinable>(dtype, what,
                               [&]<class T>() { f.template operator()<T, Multiply>(); });
    case Combine::amax:
      return visit<combinable & dtypes::all_real>(
          dtype, what, [&]<class T>() { f.template operator()<T, Larger>(); });
    case Combine::amin:
      return visit<combinable & dtypes::all_real>(
          dtype, what, [&]<class T>() { f.template operator()<T, Smaller>(); });
  }
}

}  // namespace wisp::cpu
