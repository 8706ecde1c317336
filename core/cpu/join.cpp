#include "cpu/join.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/parallel.h"
#include "cpu/grain.h"

namespace wisp::cpu {

namespace {

constexpr int64_t grain_bytes = 256 << 10;

}  // namespace

void interleave(char* out, int64_t rows, std::span<const Piece> pieces) {
  std::vector<int64_t> ends;  // of each piece within a row
  ends.reserve(pieces.size());
  int64_t row_bytes = 0;
  for (const Piece& piece : pieces) ends.push_back(row_bytes += piece.bytes);
  if (row_bytes == 0) return;
  // Any stretch of the output can be written on its own, wherever it starts.
  const int64_t bytes = rows * row_bytes;
  parallel_for(bytes, even_grain(bytes, grain_bytes), [&](int64_t begin, int64_t end) {
    int64_t row = begin / row_bytes, column = begin % row_bytes;
    size_t k =
        static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), column) - ends.begin());
    for (int64_t at = begin; at < end;) {
      const Piece& piece = pieces[k];
      const int64_t within = column - (ends[k] - piece.bytes);
      const int64_t n = std::min(piece.bytes - within, end - at);
      std::memcpy(out + at, piece.data + row * piece.bytes + within, static_cast<size_t>(n));
      at += n;
      column += n;
      if (++k == pieces.size()) {
        k = 0;
        column = 0;
        ++row;
      }
    }
  });
}

}  // namespace wisp::cpu
