// A number as an element of a dtype, for code that moves bytes.
#pragma once

#include "base/scalar.h"

namespace wisp {

struct Element {
  Element(Scalar value, DType dtype);
  alignas(16) char bytes[16];
};

}  // namespace wisp
