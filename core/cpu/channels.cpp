#include "cpu/channels.h"

#include <algorithm>
#include <utility>

#include "base/half.h"
#include "base/parallel.h"
#include "cpu/grain.h"
#include "cpu/kernels/kernels.h"
#include "cpu/opcode.h"
#include "cpu/scratch.h"

namespace wisp::cpu {

namespace {

constexpr int64_t grain_elements = 1 << 14;
constexpr int64_t columns_at_once = 256;
constexpr int64_t piece_elements = 2048;  // of several operands: they stay in the first-level cache

template <class T>
const ChannelKernel<T>& kernel_of() {
  if constexpr (std::is_same_v<T, float>) {
    return kernels().channels_f32;
  } else {
    return kernels().channels_f64;
  }
}

template <class T>
const T* typed(const char* data, int64_t at = 0) {
  return data ? reinterpret_cast<const T*>(data) + at : nullptr;
}

int64_t line_grain(const Channels& shape) {
  const int64_t length = std::max<int64_t>(1, shape.length);
  return even_grain(shape.lines(), std::max<int64_t>(1, grain_elements / length), 1);
}

// --- What is done to a piece before or after it passes through the kernels here, by the kernels
// that would do it alone: results are the same.

void run_tile(Opcode op, DType dtype, char* out, const char* a, const char* b, int64_t n) {
  const void* in[] = {a, b};
  tile_kernel(op, dtype)(out, in, n, Params());
}

// f(begin, end) for pieces of a line of n elements; a single one if nothing else is done to them.
template <class F>
void each_piece(int64_t n, int64_t piece, bool cut, F f) {
  if (!cut) return f(0, n);
  for (int64_t begin = 0; begin < n; begin += piece) f(begin, std::min(n, begin + piece));
}

bool has_tail(const ChannelAffine& call) { return call.addend || call.relu; }

// n elements of y from `at` on.
void run_tail(const ChannelAffine& call, int64_t at, int64_t n) {
  const auto size = static_cast<int64_t>(item_size(call.shape.dtype));
  char* y = call.y + at * size;
  if (call.addend) run_tile(Opcode::add, call.shape.dtype, y, y, call.addend + at * size, n);
  if (call.relu) run_tile(Opcode::relu, call.shape.dtype, y, y, nullptr, n);
}

// n elements of the gradient from `at` on.
void make_gradient(const ChannelSums& call, int64_t at, int64_t n) {
  const auto size = static_cast<int64_t>(item_size(call.shape.dtype));
  const char* grad = call.grad + at * size;
  char* made = call.made + at * size;
  if (call.addend)
    run_tile(Opcode::add, call.shape.dtype, made, std::exchange(grad, made),
             call.addend + at * size, n);
  run_tile(Opcode::relu_grad, call.shape.dtype, made, grad, call.output + at * size, n);
}

const char* gradient_of(const ChannelSums& call) { return call.made ? call.made : call.grad; }

// --- Lines

// A coefficient per element: rows of channels, or one long row.
template <class T>
void affine_elements(const ChannelAffine& call) {
  const Channels& shape = call.shape;
  const int64_t rows = shape.per_member ? 1 : shape.batch;
  const int64_t n = shape.per_member ? shape.lines() : shape.channels;
  auto some = [&](int64_t row, int64_t begin, int64_t end) {
    const int64_t at = row * n + begin;
    kernel_of<T>().affine_each(reinterpret_cast<T*>(call.y) + at, typed<T>(call.x, at),
                               typed<T>(call.other, at), end - begin, typed<T>(call.scale, begin),
                               typed<T>(call.shift, begin), typed<T>(call.other_scale, begin));
  };
  if (rows == 1) {
    parallel_for(n, even_grain(n, grain_elements), [&](int64_t begin, int64_t end) {
      some(0, begin, end);
      run_tail(call, begin, end - begin);
    });
    return;
  }
  const int64_t grain = even_grain(rows, std::max<int64_t>(1, grain_elements / n), 1);
  const int64_t piece = std::max<int64_t>(1, piece_elements / n);
  parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
    each_piece(end - begin, piece, has_tail(call), [&](int64_t from, int64_t to) {
      for (int64_t row = begin + from; row < begin + to; ++row) some(row, 0, n);
      run_tail(call, (begin + from) * n, (to - from) * n);
    });
  });
}

template <class T>
void affine_lines(const ChannelAffine& call) {
  const Channels& shape = call.shape;
  parallel_for(shape.lines(), line_grain(shape), [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      const int64_t c = shape.coefficient(line);
      each_piece(shape.length, piece_elements, has_tail(call), [&](int64_t from, int64_t to) {
        const int64_t at = line * shape.length + from;
        kernel_of<T>().affine(reinterpret_cast<T*>(call.y) + at, typed<T>(call.x, at),
                              typed<T>(call.other, at), to - from, typed<T>(call.scale)[c],
                              typed<T>(call.shift)[c],
                              call.other ? typed<T>(call.other_scale)[c] : 0);
        run_tail(call, at, to - from);
      });
    }
  });
}

// --- Rows of channels: some channels of some rows at a time, cut by the shape alone

struct Columns {
  int64_t row, rows, channel, channels;
};

template <class T>
void sums_of_some(const ChannelSums& call, const Columns& some, double* grads, double* products) {
  const int64_t n = call.shape.channels;
  const bool whole = some.channels == n;
  std::fill_n(grads, some.channels, 0);
  std::fill_n(products, some.channels, 0);
  const int64_t piece = std::max<int64_t>(1, whole ? piece_elements / n : 1);
  each_piece(some.rows, piece, call.made, [&](int64_t from, int64_t to) {
    const int64_t at = (some.row + from) * n + some.channel;
    if (call.made) make_gradient(call, at, (to - from) * some.channels);
    kernel_of<T>().sums_each(typed<T>(gradient_of(call), at), typed<T>(call.x, at), to - from, n,
                             some.channels, typed<T>(call.mean, some.channel), grads, products);
  });
}

// The sums of each part of the rows are added up in order.
template <class T>
void sums_of_columns(const ChannelSums& call) {
  const int64_t n = call.shape.channels, rows = call.shape.batch;
  constexpr int64_t most_parts = 32;
  const int64_t part = std::max((rows + most_parts - 1) / most_parts, grain_elements / n + 1);
  const int64_t parts = (rows + part - 1) / part,
                slices = (n + columns_at_once - 1) / columns_at_once;
  const Scratch<double> sums(2 * n * parts);
  parallel_for(parts * slices, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i / slices * part, channel = i % slices * columns_at_once;
      double* grads = sums.data() + i / slices * 2 * n + channel;
      sums_of_some<T>(
          call, {row, std::min(part, rows - row), channel, std::min(columns_at_once, n - channel)},
          grads, grads + n);
    }
  });
  for (int64_t c = 0; c < n; ++c) {
    call.grads[c] = call.products[c] = 0;
    for (int64_t i = 0; i < parts; ++i) {
      call.grads[c] += sums[2 * n * i + c];
      call.products[c] += sums[2 * n * i + n + c];
    }
  }
}

template <class T>
void sums_of_lines(const ChannelSums& call) {
  const Channels& shape = call.shape;
  parallel_for(shape.lines(), line_grain(shape), [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      const int64_t at = line * shape.length;
      if (call.made) make_gradient(call, at, shape.length);
      kernel_of<T>().sums(typed<T>(gradient_of(call), at), typed<T>(call.x, at), shape.length,
                          typed<T>(call.mean)[shape.coefficient(line)], call.grads + line,
                          call.products + line);
    }
  });
}

// --- Blocks of channels

const ChannelBlockKernel& block_kernel(const Channels& shape) {
  return shape.block == 8 ? kernels().channels_by_8 : kernels().channels_by_16;
}

// f(block of channels, its first element, the first of its coefficients)
template <class F>
void each_block(const Channels& shape, F f) {
  const int64_t blocks = shape.lines() / shape.block, size = shape.length * shape.block;
  const int64_t grain = even_grain(blocks, std::max<int64_t>(1, grain_elements / size), 1);
  parallel_for(blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) f(b, b * size, shape.coefficient(b * shape.block));
  });
}

// A piece of an image as float32: as it lies, or a copy.
class Piece {
 public:
  const float* read(const Channels& shape, const char* image, int64_t at, int64_t n) {
    if (!shape.bfloat16 || !image) return typed<float>(image, at);
    kernels().cast[int(DType::float32)][int(DType::bfloat16)](copy_, typed<BFloat16>(image, at), n);
    return copy_;
  }
  // Where to make it, and bringing it there.
  float* make(const Channels& shape, char* image, int64_t at) {
    return shape.bfloat16 ? copy_ : reinterpret_cast<float*>(image) + at;
  }
  void finish(const Channels& shape, char* image, int64_t at, int64_t n) const {
    if (!shape.bfloat16) return;
    auto* to = reinterpret_cast<BFloat16*>(image) + at;
    kernels().cast[int(DType::bfloat16)][int(DType::float32)](to, copy_, n);
  }

 private:
  alignas(64) float copy_[piece_elements];
};

void affine_blocks(const ChannelAffine& call) {
  const Channels& shape = call.shape;
  const auto kernel = block_kernel(shape).affine;
  const int64_t width = shape.block, piece = piece_elements / width;
  each_block(shape, [&](int64_t, int64_t first, int64_t c) {
    Piece x, other, y;
    each_piece(
        shape.length, piece, has_tail(call) || shape.bfloat16, [&](int64_t from, int64_t to) {
          const int64_t at = first + from * width, n = (to - from) * width;
          kernel(y.make(shape, call.y, at), x.read(shape, call.x, at, n),
                 other.read(shape, call.other, at, n), to - from, typed<float>(call.scale, c),
                 typed<float>(call.shift, c), typed<float>(call.other_scale, c));
          y.finish(shape, call.y, at, n);
          run_tail(call, at, n);
        });
  });
}

void sums_of_blocks(const ChannelSums& call) {
  const Channels& shape = call.shape;
  const auto kernel = block_kernel(shape).sums;
  const int64_t width = shape.block, piece = piece_elements / width;
  each_block(shape, [&](int64_t b, int64_t first, int64_t c) {
    double *grads = call.grads + b * width, *products = call.products + b * width;
    std::fill_n(grads, width, 0);
    std::fill_n(products, width, 0);
    Piece grad, x;
    each_piece(shape.length, piece, call.made || shape.bfloat16, [&](int64_t from, int64_t to) {
      const int64_t at = first + from * width, n = (to - from) * width;
      if (call.made) make_gradient(call, at, n);
      kernel(grad.read(shape, gradient_of(call), at, n), x.read(shape, call.x, at, n), to - from,
             typed<float>(call.mean, c), grads, products);
    });
  });
}

// Means, and sums of squared distances from them, of the channels of a block of bfloat16: by the
// sums of x and of x * (x - shift), where the first pixel is what they are shifted by.
void rounded_moments(const ChannelMoments& call, int64_t first, double* means, double* squares) {
  const Channels& shape = call.shape;
  const auto kernel = block_kernel(shape).sums;
  const int64_t width = shape.block, piece = piece_elements / width;
  const double count = static_cast<double>(shape.length);
  float shifts[16];
  for (int64_t i = 0; i < width; ++i) shifts[i] = typed<BFloat16>(call.x, first)[i];
  std::fill_n(means, width, 0);
  std::fill_n(squares, width, 0);
  Piece x;
  each_piece(shape.length, piece, true, [&](int64_t from, int64_t to) {
    const float* some = x.read(shape, call.x, first + from * width, (to - from) * width);
    kernel(some, some, to - from, shifts, means, squares);
  });
  for (int64_t i = 0; i < width; ++i) {
    const double shift = shifts[i], off = means[i] / count - shift;
    const double sum = squares[i] - count * off * (shift + off);
    squares[i] = sum < 0 ? 0 : sum;
    means[i] /= count;
  }
}

}  // namespace

void channel_moments(const ChannelMoments& call) {
  const Channels& shape = call.shape;
  const Scratch<double> means(shape.lines()), squares(shape.lines());
  const auto kernel = block_kernel(shape).moments;
  each_block(shape, [&](int64_t b, int64_t at, int64_t) {
    double *mean = means.data() + b * shape.block, *square = squares.data() + b * shape.block;
    shape.bfloat16 ? rounded_moments(call, at, mean, square)
                   : kernel(typed<float>(call.x, at), shape.length, mean, square);
  });
  // Lines, in order, as result `i`.
  auto join = [&](int64_t i, int64_t first, int64_t step, int64_t lines) {
    const double length = static_cast<double>(shape.length), count = static_cast<double>(lines);
    double mean = 0, sum = 0;
    for (int64_t k = 0; k < lines; ++k) mean += means[first + k * step];
    mean /= count;
    for (int64_t k = 0; k < lines; ++k) {
      const double d = means[first + k * step] - mean;
      sum += squares[first + k * step] + length * d * d;
    }
    reinterpret_cast<float*>(call.mean)[i] = static_cast<float>(mean);
    reinterpret_cast<float*>(call.var)[i] = static_cast<float>(sum / (length * count));
  };
  if (call.groups == 0) {
    for (int64_t c = 0; c < shape.channels; ++c) join(c, c, shape.channels, shape.batch);
    return;
  }
  const int64_t each = shape.channels / call.groups;
  for (int64_t i = 0; i < shape.batch * call.groups; ++i) join(i, i * each, 1, each);
}

void channel_affine(const ChannelAffine& call) {
  if (call.shape.lines() * call.shape.length == 0) return;
  if (call.shape.block) return affine_blocks(call);
  visit<dtypes::real_math>(call.shape.dtype, "channel_affine", [&]<class T>() {
    call.shape.length == 1 ? affine_elements<T>(call) : affine_lines<T>(call);
  });
}

void channel_sums(const ChannelSums& call) {
  if (call.shape.block) return sums_of_blocks(call);
  const bool columns = channel_sum_count(call.shape) != call.shape.lines();
  visit<dtypes::real_math>(call.shape.dtype, "channel_sums", [&]<class T>() {
    columns ? sums_of_columns<T>(call) : sums_of_lines<T>(call);
  });
}

}  // namespace wisp::cpu
