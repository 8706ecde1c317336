// Laying several pieces of memory side by side.
#pragma once

#include <cstdint>
#include <span>

namespace wisp::cpu {

struct Piece {
  const char* data;  // rows one after the other
  int64_t bytes;     // of a row
};

// Writes `rows` rows, each made of that row of every piece in turn.
void interleave(char* out, int64_t rows, std::span<const Piece> pieces);

}  // namespace wisp::cpu
