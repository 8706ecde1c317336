// Conversions to and from dtypes that are only stored, by way of one that the kernels know.
#include <algorithm>
#include <cstring>

#include "cpu/kernels/kernels.h"
#include "cpu/stored_dtypes.h"

namespace wisp::cpu {

namespace {

constexpr int64_t chunk = 512;
struct Buffer {
  alignas(64) char bytes[chunk * 8];
};

template <class To, class From>
void each(void* out, const void* in, int64_t n) {
  To* y = static_cast<To*>(out);
  const From* x = static_cast<const From*>(in);
  for (int64_t i = 0; i < n; ++i) y[i] = convert<To>(x[i]);
}

// What a stored dtype is converted by, on the way from or to another one.
DType between(DType stored, DType other) {
  const bool as_float = stored == DType::uint64 && category(other) >= Category::floating;
  return as_float ? DType::float64 : kernel_dtype(stored);
}

CastFn widening(DType stored, DType wide) {
  if (wide == DType::float64) return each<double, uint64_t>;
  return visit<dtypes::stored>(stored, "cast",
                               [&]<class T>() -> CastFn { return each<KernelType<T>, T>; });
}

CastFn narrowing(DType stored, DType wide) {
  if (wide == DType::float64) return each<uint64_t, double>;
  return visit<dtypes::stored>(stored, "cast",
                               [&]<class T>() -> CastFn { return each<T, KernelType<T>>; });
}

// From one dtype to the next, chunk by chunk.
void cast_through(DType to, char* out, DType from, const char* in, int64_t n) {
  const bool stored_in = contains(dtypes::stored, from), stored_out = contains(dtypes::stored, to);
  const DType first = stored_in ? between(from, to) : from;
  const DType last = stored_out ? between(to, from) : to;
  const CastFn widen = stored_in ? widening(from, first) : nullptr;
  const CastFn narrow = stored_out ? narrowing(to, last) : nullptr;
  const CastFn middle = kernels().cast[int(last)][int(first)];
  const auto in_item = static_cast<int64_t>(item_size(from));
  const auto out_item = static_cast<int64_t>(item_size(to));
  Buffer wide, converted;
  for (int64_t at = 0; at < n; at += chunk) {
    const int64_t count = std::min(chunk, n - at);
    const char* source = in + at * in_item;
    char* target = out + at * out_item;
    if (widen) {
      widen(wide.bytes, source, count);
      source = wide.bytes;
    }
    middle(narrow ? converted.bytes : target, source, count);
    if (narrow) narrow(target, converted.bytes, count);
  }
}

template <DType to, DType from>
void cast(void* out, const void* in, int64_t n) {
  if constexpr (to == from) {
    std::memmove(out, in, static_cast<size_t>(n) * item_size(to));
  } else {
    cast_through(to, static_cast<char*>(out), from, static_cast<const char*>(in), n);
  }
}

template <DType to, DType from>
void add(Kernels& table) {
  if constexpr (contains(dtypes::stored, to) || contains(dtypes::stored, from)) {
    table.cast[int(to)][int(from)] = cast<to, from>;
  }
}

template <DType to>
void add_all(Kernels& table) {
#define WISP_ADD(id, type, name, legacy) add<to, DType::id>(table);
  WISP_FOR_EACH_DTYPE(WISP_ADD)
#undef WISP_ADD
}

}  // namespace

void fill_stored_casts(Kernels& table) {
#define WISP_ADD(id, type, name, legacy) add_all<DType::id>(table);
  WISP_FOR_EACH_DTYPE(WISP_ADD)
#undef WISP_ADD
}

}  // namespace wisp::cpu
