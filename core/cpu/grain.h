// Cutting work into pieces of one size.
#pragma once

#include <cstdint>

namespace wisp::cpu {

// Pieces of at most `grain` that differ little: a short last one would leave a thread idle, and so
// would three pieces on two threads or five on four: their number is a multiple of four where they
// are more than two. They depend on sizes alone.
inline int64_t even_grain(int64_t n, int64_t grain, int64_t multiple = 64) {
  if (n <= grain) return grain;
  int64_t pieces = (n + grain - 1) / grain;
  if (pieces > 2) pieces = (pieces + 3) / 4 * 4;
  const int64_t each = (n + pieces - 1) / pieces;
  return (each + multiple - 1) / multiple * multiple;
}

}  // namespace wisp::cpu
