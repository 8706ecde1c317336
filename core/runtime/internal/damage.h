// Errors of files that are not what they should be.
#pragma once

#include "base/error.h"

namespace wisp::api {

template <class... Parts>
[[noreturn]] void fail_damaged(const Parts&... parts) {
  fail(ErrorKind::runtime, "the file is damaged: ", parts...);
}

}  // namespace wisp::api
