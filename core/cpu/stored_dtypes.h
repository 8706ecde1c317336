// What numbers of dtypes that are only stored are computed as.
#pragma once

#include "base/dtype.h"

namespace wisp::cpu {

// A type that holds every number of the stored one. Those of uint64 do not fit into any; as int64
// they are added, multiplied and found equal as they should.
template <class T>
struct KernelTypeOf {
  using type = float;
};
template <>
struct KernelTypeOf<uint16_t> {
  using type = int32_t;
};
template <>
struct KernelTypeOf<uint32_t> {
  using type = int64_t;
};
template <>
struct KernelTypeOf<uint64_t> {
  using type = int64_t;
};
template <class T>
using KernelType = typename KernelTypeOf<T>::type;

constexpr DType kernel_dtype(DType stored) {
  if (contains(dtypes::float8, stored)) return DType::float32;
  return stored == DType::uint16 ? DType::int32 : DType::int64;
}

}  // namespace wisp::cpu
