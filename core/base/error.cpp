#include "base/error.h"

namespace wisp::detail {

std::string join(const Part* parts, size_t count) {
  std::ostringstream out;
  for (size_t i = 0; i < count; ++i) parts[i].put(out, parts[i].value);
  return out.str();
}

void fail(ErrorKind kind, const Part* parts, size_t count) {
  throw Error(kind, join(parts, count));
}

}  // namespace wisp::detail
