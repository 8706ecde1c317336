#include "cpu/softmax.h"

#include <cmath>
#include <vector>

#include "base/parallel.h"
#include "cpu/grain.h"
#include "cpu/kernels/kernels.h"

namespace wisp::cpu {

namespace {

constexpr int64_t grain_elements = 1 << 12;
constexpr int64_t turned_bytes = 1 << 14;  // of short lines that are done together
constexpr int64_t long_line = 1 << 15;     // from here on, a line is cut into pieces of that size

const SoftmaxKernel& kernel_for(bool log, DType dtype) {
  const SoftmaxKernel& kernel = kernels().softmax[log][static_cast<int>(dtype)];
  if (!kernel.row) fail_not_implemented(log ? "log_softmax" : "softmax", dtype);
  return kernel;
}

// f(first byte, columns) for every line or block of neighbouring lines.
template <class F>
void for_each_block(const Lines& lines, DType dtype, F f) {
  if (lines.outer * lines.length * lines.inner == 0) return;
  const int64_t item = static_cast<int64_t>(item_size(dtype));
  const int64_t width = std::min(lines.inner, max_softmax_columns),
                blocks = (lines.inner + width - 1) / width;
  const int64_t grain = std::max<int64_t>(1, grain_elements / (lines.length * width));
  parallel_for(lines.outer * blocks, even_grain(lines.outer * blocks, grain, 1),
               [&](int64_t begin, int64_t end) {
                 for (int64_t job = begin; job < end; ++job) {
                   const int64_t first = job % blocks * width;
                   f((job / blocks * lines.length * lines.inner + first) * item,
                     std::min(width, lines.inner - first));
                 }
               });
}

// Rows of a few elements are turned around, some at a time, and done as columns: a vector has
// elements of many rows, and nothing is added up across it.
bool has_short_lines(const Lines& lines) {
  return lines.inner == 1 && lines.length > 0 && lines.length <= max_short_line;
}

class ShortLines {
 public:
  ShortLines(const Lines& lines, DType dtype)
      : lines_(lines),
        item_(static_cast<int64_t>(item_size(dtype))),
        height_(std::clamp<int64_t>(turned_bytes / (lines.length * item_) / 16 * 16, 16,
                                    max_softmax_columns)) {}

  struct Buffer {
    alignas(64) char data[std::max(turned_bytes, max_short_line * 16 * 8)];
  };

  // f(first byte, rows) for some at a time.
  template <class F>
  void for_each(F f) const {
    const int64_t bytes = lines_.length * item_;
    const int64_t grain = std::max(height_, grain_elements / lines_.length / height_ * height_);
    parallel_for(lines_.outer, even_grain(lines_.outer, grain, height_),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t row = begin; row < end; row += height_)
                     f(row * bytes, std::min(height_, end - row));
                 });
  }
  void turn(Buffer& to, const char* rows, int64_t count) const {
    kernels().turn(rows, lines_.length * item_, to.data, height_ * item_, lines_.length, count,
                   static_cast<size_t>(item_));
  }
  void turn_back(char* rows, const Buffer& from, int64_t count) const {
    kernels().turn(from.data, height_ * item_, rows, lines_.length * item_, count, lines_.length,
                   static_cast<size_t>(item_));
  }
  int64_t length() const { return lines_.length; }
  int64_t step() const { return height_; }

 private:
  const Lines& lines_;
  const int64_t item_, height_;
};

void softmax_short(const SoftmaxCall& call, const SoftmaxKernel& kernel) {
  const ShortLines lines(call.lines, call.dtype);
  lines.for_each([&](int64_t at, int64_t rows) {
    ShortLines::Buffer x;
    lines.turn(x, call.x + at, rows);
    kernel.columns(x.data, x.data, rows, lines.length(), lines.step());
    lines.turn_back(call.y + at, x, rows);
  });
}

void softmax_grad_short(const SoftmaxGradCall& call, const SoftmaxKernel& kernel) {
  const ShortLines lines(call.lines, call.dtype);
  lines.for_each([&](int64_t at, int64_t rows) {
    ShortLines::Buffer grad, y;
    lines.turn(grad, call.grad + at, rows);
    lines.turn(y, call.y + at, rows);
    kernel.columns_grad(grad.data, grad.data, y.data, rows, lines.length(), lines.step());
    lines.turn_back(call.x_grad + at, grad, rows);
  });
}

bool has_long_lines(const Lines& lines) { return lines.inner == 1 && lines.length > 2 * long_line; }

// Pieces of one line: f(piece, first byte, elements).
template <class F>
void for_each_piece(const Lines& lines, int64_t line, DType dtype, F f) {
  const int64_t item = static_cast<int64_t>(item_size(dtype));
  parallel_for((lines.length + long_line - 1) / long_line, 1, [&](int64_t piece, int64_t) {
    const int64_t first = piece * long_line;
    f(piece, (line * lines.length + first) * item, std::min(long_line, lines.length - first));
  });
}

SoftmaxStats joined(const std::vector<SoftmaxStats>& pieces) {
  SoftmaxStats all{pieces[0].largest, 0};
  for (const SoftmaxStats& piece : pieces) all.largest = std::max(all.largest, piece.largest);
  for (const SoftmaxStats& piece : pieces) {
    all.sum += piece.largest == all.largest || piece.sum == 0
                   ? piece.sum
                   : piece.sum * std::exp(piece.largest - all.largest);
  }
  return all;
}

void softmax_long(const SoftmaxCall& call, const SoftmaxKernel& kernel) {
  std::vector<SoftmaxStats> stats(
      static_cast<size_t>((call.lines.length + long_line - 1) / long_line));
  for (int64_t line = 0; line < call.lines.outer; ++line) {
    for_each_piece(call.lines, line, call.dtype, [&](int64_t piece, int64_t at, int64_t n) {
      stats[static_cast<size_t>(piece)] = kernel.stats(call.x + at, n);
    });
    const SoftmaxStats all = joined(stats);
    for_each_piece(call.lines, line, call.dtype, [&](int64_t, int64_t at, int64_t n) {
      kernel.apply(call.y + at, call.x + at, n, all);
    });
  }
}

void softmax_grad_long(const SoftmaxGradCall& call, const SoftmaxKernel& kernel) {
  std::vector<double> sums(static_cast<size_t>((call.lines.length + long_line - 1) / long_line));
  for (int64_t line = 0; line < call.lines.outer; ++line) {
    for_each_piece(call.lines, line, call.dtype, [&](int64_t piece, int64_t at, int64_t n) {
      sums[static_cast<size_t>(piece)] = kernel.grad_sum(call.grad + at, call.y + at, n);
    });
    double all = 0;
    for (double sum : sums) all += sum;
    for_each_piece(call.lines, line, call.dtype, [&](int64_t, int64_t at, int64_t n) {
      kernel.apply_grad(call.x_grad + at, call.grad + at, call.y + at, n, all);
    });
  }
}

}  // namespace

void softmax(const SoftmaxCall& call) {
  const SoftmaxKernel& kernel = kernel_for(call.log, call.dtype);
  const Lines& lines = call.lines;
  if (has_short_lines(lines)) return softmax_short(call, kernel);
  if (has_long_lines(lines)) return softmax_long(call, kernel);
  for_each_block(lines, call.dtype, [&](int64_t at, int64_t columns) {
    if (lines.inner == 1) return kernel.row(call.y + at, call.x + at, lines.length);
    kernel.columns(call.y + at, call.x + at, columns, lines.length, lines.inner);
  });
}

void softmax_grad(const SoftmaxGradCall& call) {
  const SoftmaxKernel& kernel = kernel_for(call.log, call.dtype);
  const Lines& lines = call.lines;
  if (has_short_lines(lines)) return softmax_grad_short(call, kernel);
  if (has_long_lines(lines)) return softmax_grad_long(call, kernel);
  for_each_block(lines, call.dtype, [&](int64_t at, int64_t columns) {
    if (lines.inner == 1)
      return kernel.row_grad(call.x_grad + at, call.grad + at, call.y + at, lines.length);
    kernel.columns_grad(call.x_grad + at, call.grad + at, call.y + at, columns, lines.length,
                        lines.inner);
  });
}

}  // namespace wisp::cpu
