#include "cpu/mask.h"

#include <utility>

#include "base/parallel.h"
#include "cpu/kernels/kernels.h"
#include "cpu/scratch.h"

namespace wisp::cpu {

namespace {

constexpr int64_t chunk = 256;      // elements looked at together: positions in them fit a byte
constexpr int64_t piece = 1 << 16;  // elements a thread takes at once

// Reads a strided operand of any dtype row by row as bools.
class MaskReader {
 public:
  MaskReader(IntSpan sizes, const Operand& mask, int64_t begin)
      : sizes_(sizes),
        item_(item_size(mask.dtype)),
        cast_(kernels().cast[int(DType::bool_)][int(mask.dtype)]),
        strides_(byte_strides(mask)),
        walker_(mask.data, sizes_, strides_, begin) {}
  // The next n <= chunk elements.
  const uint8_t* read(int64_t n) {
    walker_.gather(raw_, n, item_);
    cast_(flags_, raw_, n);
    return flags_;
  }

 private:
  static Dims byte_strides(const Operand& mask) {
    Dims strides(mask.strides);
    for (int64_t& stride : strides) stride *= static_cast<int64_t>(item_size(mask.dtype));
    return strides;
  }
  Dims sizes_;
  size_t item_;
  CastFn cast_;
  Dims strides_;
  Walker walker_;
  alignas(64) char raw_[chunk * 16];
  alignas(64) uint8_t flags_[chunk];
};

int64_t count_of(IntSpan sizes) {
  int64_t n = 1;
  for (int64_t size : sizes) n *= size;
  return n;
}

int64_t count_flags(const uint8_t* flags, int64_t n) {
  uint32_t count = 0;
  for (int64_t i = 0; i < n; ++i) count += flags[i];
  return count;
}

// Positions of the flags that are set; returns how many.
int64_t compress(const uint8_t* flags, int64_t n, uint8_t* positions) {
  int64_t found = 0;
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    uint64_t eight;
    std::memcpy(&eight, flags + i, 8);
    if (eight == 0) continue;
    for (int64_t k = i; k < i + 8; ++k) {
      positions[found] = static_cast<uint8_t>(k);
      found += flags[k];
    }
  }
  for (; i < n; ++i) {
    positions[found] = static_cast<uint8_t>(i);
    found += flags[i];
  }
  return found;
}

// How many elements of each piece are not zero.
void count_pieces(IntSpan sizes, const Operand& mask, std::span<int64_t> counts) {
  const int64_t numel = count_of(sizes);
  parallel_for(numel, piece, [&](int64_t begin, int64_t end) {
    MaskReader reader(sizes, mask, begin);
    int64_t count = 0;
    for (int64_t at = begin; at < end; at += chunk) {
      const int64_t n = std::min(chunk, end - at);
      count += count_flags(reader.read(n), n);
    }
    counts[begin / piece] = count;
  });
}

int64_t piece_count(IntSpan sizes) { return (count_of(sizes) + piece - 1) / piece; }

// write(which, flat, n, positions): elements flat + positions[0..n) are the which-th ones and so
// on.
template <class Writer>
void visit_nonzero(IntSpan sizes, const Operand& mask, Writer make_writer) {
  const int64_t pieces = piece_count(sizes);
  Scratch<int64_t> starts(pieces);
  if (pieces > 1) {
    count_pieces(sizes, mask, starts);
    int64_t total = 0;
    for (int64_t& start : starts) total += std::exchange(start, total);
  } else if (pieces == 1) {
    starts[0] = 0;
  }
  parallel_for(count_of(sizes), piece, [&](int64_t begin, int64_t end) {
    MaskReader reader(sizes, mask, begin);
    auto write = make_writer(begin, starts[begin / piece]);
    uint8_t positions[chunk + 8];
    for (int64_t at = begin; at < end; at += chunk) {
      const int64_t n = std::min(chunk, end - at);
      write(at, positions, compress(reader.read(n), n, positions));
    }
  });
}

// Coordinates of flat positions that only ever grow: a division only where a row ends.
class Coordinates {
 public:
  Coordinates(IntSpan sizes, int64_t flat) : sizes_(sizes), index_(sizes.size(), 0) { reset(flat); }
  const Dims& at(int64_t flat) {
    const int64_t column = flat - row_;
    if (column < sizes_.back()) {
      index_.back() = column;
    } else {
      reset(flat);
    }
    return index_;
  }

 private:
  void reset(int64_t flat) {
    row_ = flat - flat % sizes_.back();
    for (size_t dim = sizes_.size(); dim-- > 0;) {
      index_[dim] = flat % sizes_[dim];
      flat /= sizes_[dim];
    }
  }
  IntSpan sizes_;
  Dims index_;
  int64_t row_ = 0;
};

}  // namespace

int64_t count_nonzero(IntSpan sizes, const Operand& mask) {
  Scratch<int64_t> counts(piece_count(sizes));
  count_pieces(sizes, mask, counts);
  int64_t total = 0;
  for (int64_t count : counts) total += count;
  return total;
}

void nonzero(IntSpan sizes, const Operand& mask, int64_t* out) {
  const size_t ndim = sizes.size();
  if (ndim == 0) return;  // no coordinates to write
  visit_nonzero(sizes, mask, [&](int64_t begin, int64_t first) {
    return
        [out = out + first * static_cast<int64_t>(ndim), ndim, cursor = Coordinates(sizes, begin)](
            int64_t at, const uint8_t* positions, int64_t n) mutable {
          for (int64_t k = 0; k < n; ++k) {
            const Dims& index = cursor.at(at + positions[k]);
            for (size_t dim = 0; dim < ndim; ++dim) *out++ = index[dim];
          }
        };
  });
}

void nonzero_offsets(IntSpan all_sizes, const Operand& mask, IntSpan all_strides, int64_t* out) {
  // A 0-d mask is one of a single element.
  const Dims sizes = all_sizes.empty() ? Dims{1} : Dims(all_sizes);
  const Dims strides = all_sizes.empty() ? Dims{0} : Dims(all_strides);
  Operand source = mask;
  if (all_sizes.empty()) source.strides = strides;
  bool flat = true;  // one run of memory
  for (size_t dim = 1; dim < sizes.size(); ++dim) {
    flat &= strides[dim - 1] == strides[dim] * sizes[dim];
  }
  visit_nonzero(sizes, source, [&](int64_t begin, int64_t first) {
    return [out = out + first, flat, &strides, cursor = Coordinates(sizes, begin)](
               int64_t at, const uint8_t* positions, int64_t n) mutable {
      for (int64_t k = 0; k < n && flat; ++k) *out++ = (at + positions[k]) * strides.back();
      for (int64_t k = 0; k < n && !flat; ++k) {
        const Dims& index = cursor.at(at + positions[k]);
        int64_t offset = 0;
        for (size_t dim = 0; dim < strides.size(); ++dim) offset += index[dim] * strides[dim];
        *out++ = offset;
      }
    };
  });
}

}  // namespace wisp::cpu
