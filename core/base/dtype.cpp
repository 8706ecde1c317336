#include "base/dtype.h"

#include <atomic>

namespace wisp {

namespace {
std::atomic<DType> current_default{DType::float32};
}

DType default_dtype() { return current_default.load(std::memory_order_relaxed); }

void set_default_dtype(DType dtype) {
  WISP_CHECK_TYPE(is_floating(dtype),
                  "only floating-point types are supported as the default type, got ", name(dtype));
  current_default.store(dtype, std::memory_order_relaxed);
}

void fail_to_promote(DType a, DType b) {
  const bool unsigned_integers = !contains(dtypes::float8, a) && !contains(dtypes::float8, b);
  fail(ErrorKind::runtime, "Promotion for ",
       unsigned_integers ? "uint16, uint32, uint64" : "Float8",
       " types is not supported, attempted to promote ", legacy_name(a), " and ", legacy_name(b));
}

void fail_not_implemented(const char* what, DType dtype) {
  fail(ErrorKind::not_implemented, what, "(): not implemented for dtype ", name(dtype), " ('",
       legacy_name(dtype), "')");
}

}  // namespace wisp
