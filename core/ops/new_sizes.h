// What operators that make a tensor of given sizes check.
#pragma once

#include "dispatch/op_def.h"

namespace wisp::ops {

inline void check_new_sizes(const Args& args, IntSpan sizes) {
  for (int64_t size : sizes) {
    WISP_CHECK(size >= 0, args.name(), "(): Trying to create tensor with negative dimension ", size,
               ": ", sizes);
  }
}

}  // namespace wisp::ops
