// Elements as unsigned integers of the same order, for sorting and selecting.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "base/dtype.h"
#include "base/parallel.h"

namespace wisp::cpu {

namespace keys {

template <size_t bytes>
struct Unsigned;
template <>
struct Unsigned<1> {
  using type = uint8_t;
};
template <>
struct Unsigned<2> {
  using type = uint16_t;
};
template <>
struct Unsigned<4> {
  using type = uint32_t;
};
template <>
struct Unsigned<8> {
  using type = uint64_t;
};

// The bits of infinity; what is above them is NaN.
template <class T>
constexpr auto infinity_bits = uint64_t(0x7ff0000000000000);
template <>
inline constexpr auto infinity_bits<float> = uint32_t(0x7f800000);
template <>
inline constexpr auto infinity_bits<Half> = uint16_t(0x7c00);
template <>
inline constexpr auto infinity_bits<BFloat16> = uint16_t(0x7f80);

}  // namespace keys

template <class T>
using KeyOf = typename keys::Unsigned<sizeof(T)>::type;

// Larger values have larger keys. All NaNs have the largest one; -0 has the key of 0.
template <class T>
WISP_INLINE KeyOf<T> sort_key(T value) {
  using Key = KeyOf<T>;
  constexpr Key sign = static_cast<Key>(Key(1) << (8 * sizeof(T) - 1));
  Key bits;
  std::memcpy(&bits, &value, sizeof(T));
  if constexpr (std::is_same_v<T, bool>) {
    return bits != 0;
  } else if constexpr (std::is_unsigned_v<T>) {
    return bits;
  } else if constexpr (std::is_integral_v<T>) {
    return bits ^ sign;
  } else {
    const Key magnitude = bits & static_cast<Key>(~sign);
    // Negative numbers are turned around, without a branch: signs are hard to foresee.
    const Key negative = static_cast<Key>(Key(0) - static_cast<Key>(bits >> (8 * sizeof(T) - 1)));
    const Key ordered = bits ^ static_cast<Key>(negative | sign);
    if (magnitude > keys::infinity_bits<T>) return static_cast<Key>(~Key(0));
    return magnitude == 0 ? sign : ordered;
  }
}

// The value of a key, up to the payload of NaN and the sign of 0.
template <class T>
WISP_INLINE T from_key(KeyOf<T> key) {
  using Key = KeyOf<T>;
  constexpr Key sign = static_cast<Key>(Key(1) << (8 * sizeof(T) - 1));
  Key bits = key;
  if constexpr (detail::is_float_type<T>) {
    bits = key & sign ? key ^ sign : static_cast<Key>(~key);
  } else if constexpr (std::is_signed_v<T>) {
    bits = key ^ sign;
  }
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

// Keys for a search from the other end.
template <class T>
WISP_INLINE KeyOf<T> sort_key(T value, bool descending) {
  const KeyOf<T> key = sort_key(value);
  return descending ? static_cast<KeyOf<T>>(~key) : key;
}

// The smallest and largest key of a row.
struct KeyRange {
  uint64_t least = ~uint64_t(0), most = 0;
  int bits() const { return std::bit_width(most - least); }  // of keys counted from the smallest
};

template <class T>
KeyRange key_range(const T* in, int64_t n, bool descending) {
  constexpr int64_t piece = 1 << 16;
  std::vector<KeyRange> parts(static_cast<size_t>((n + piece - 1) / piece));
  parallel_for(n, piece, [&](int64_t begin, int64_t end) {
    KeyOf<T> least = static_cast<KeyOf<T>>(~KeyOf<T>(0)), most = 0;
    for (int64_t i = begin; i < end; ++i) {
      const KeyOf<T> key = sort_key(in[i], descending);
      least = key < least ? key : least;
      most = key > most ? key : most;
    }
    parts[static_cast<size_t>(begin / piece)] = {least, most};
  });
  KeyRange range;
  for (const KeyRange& part : parts) {
    range.least = std::min(range.least, part.least);
    range.most = std::max(range.most, part.most);
  }
  return range;
}

}  // namespace wisp::cpu
