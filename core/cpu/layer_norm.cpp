#include "cpu/layer_norm.h"

#include <cstring>

#include "base/parallel.h"
#include "cpu/grain.h"
#include "cpu/kernels/kernels.h"
#include "cpu/scratch.h"
#include "cpu/stream.h"

namespace wisp::cpu {

namespace {

constexpr int64_t grain_elements = 1 << 13;

const LayerNormKernel& kernel_for(DType dtype) {
  const LayerNormKernel& kernel = kernels().layer_norm[static_cast<int>(dtype)];
  if (!kernel.rows) fail_not_implemented("layer_norm", dtype);
  return kernel;
}

template <class Call>
int64_t bytes_of(const Call& call) {
  return call.rows * call.columns * static_cast<int64_t>(item_size(call.stored));
}

// Some rows of a matrix in the dtype that is computed in, while they are in the caches.
class Converted {
 public:
  Converted(DType dtype, DType stored, int64_t columns, int64_t rows)
      : dtype_(dtype), stored_(stored), columns_(columns), memory_(rows * bytes()) {}
  char* bytes_of_rows() const { return memory_.data(); }
  char* read(const char* matrix, int64_t row, int64_t rows) const {
    convert(dtype_, memory_.data(), stored_, matrix + row * stored_bytes(), rows);
    return memory_.data();
  }
  void write(char* matrix, int64_t row, int64_t rows) const {
    convert(stored_, matrix + row * stored_bytes(), dtype_, memory_.data(), rows);
  }

 private:
  int64_t bytes() const { return columns_ * static_cast<int64_t>(item_size(dtype_)); }
  int64_t stored_bytes() const { return columns_ * static_cast<int64_t>(item_size(stored_)); }
  void convert(DType to, char* out, DType from, const char* in, int64_t rows) const {
    kernels().cast[static_cast<int>(to)][static_cast<int>(from)](out, in, rows * columns_);
  }
  DType dtype_, stored_;
  int64_t columns_;
  Scratch<char> memory_;
};

// How many rows are converted together: whole groups of four where there is room.
int64_t rows_converted(int64_t columns) {
  constexpr int64_t elements = 1 << 14;
  const int64_t rows = std::clamp<int64_t>(elements / std::max<int64_t>(1, columns), 1, 64);
  return rows < 4 ? rows : rows / 4 * 4;
}

// Calls f(first, count) for rows from `begin` to `end`, as many at a time as are converted
// together.
template <class F>
void for_converted(int64_t columns, int64_t begin, int64_t end, F f) {
  const int64_t together = rows_converted(columns);
  for (int64_t first = begin; first < end; first += together)
    f(first, std::min(together, end - first));
}

void rows(const LayerNormCall& call, const LayerNormKernel& kernel, int64_t begin, int64_t end) {
  if (call.stored == call.dtype) return kernel.rows(call, begin, end);
  const auto item = static_cast<int64_t>(item_size(call.dtype));
  const Converted matrix(call.dtype, call.stored, call.columns, rows_converted(call.columns));
  for_converted(call.columns, begin, end, [&](int64_t first, int64_t count) {
    LayerNormCall part = call;
    part.streams = false;
    part.x = part.y = matrix.read(call.x, first, count);
    part.mean += first * item;
    part.rstd += first * item;
    kernel.rows(part, 0, count);
    matrix.write(call.y, first, count);
  });
}

void rows_grad(const LayerNormGradCall& call, const LayerNormKernel& kernel, int64_t begin,
               int64_t end, char* weight_grad, char* bias_grad) {
  if (call.stored == call.dtype) return kernel.rows_grad(call, begin, end, weight_grad, bias_grad);
  const auto item = static_cast<int64_t>(item_size(call.dtype));
  const int64_t together = rows_converted(call.columns);
  const Converted x(call.dtype, call.stored, call.columns, together),
      grad(call.dtype, call.stored, call.columns, together),
      x_grad(call.dtype, call.stored, call.columns, call.x_grad ? together : 0);
  for_converted(call.columns, begin, end, [&](int64_t first, int64_t count) {
    LayerNormGradCall part = call;
    part.streams = false;
    part.x = x.read(call.x, first, count);
    part.grad = grad.read(call.grad, first, count);
    part.mean += first * item;
    part.rstd += first * item;
    part.x_grad = call.x_grad ? x_grad.bytes_of_rows() : nullptr;
    kernel.rows_grad(part, 0, count, weight_grad, bias_grad);
    if (call.x_grad) x_grad.write(call.x_grad, first, count);
  });
}

int64_t grain_for(int64_t columns) {
  return std::max<int64_t>(1, grain_elements / std::max<int64_t>(1, columns));
}

// Adds the partial sums of all blocks of rows, column by column, in order.
void join_blocks(DType dtype, const char* parts, int64_t blocks, int64_t columns, char* out) {
  if (!out) return;
  visit<dtypes::real_math>(dtype, "layer_norm", [&]<class T>() {
    const T* part = reinterpret_cast<const T*>(parts);
    parallel_for(columns, grain_elements, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        double sum = 0;
        for (int64_t block = 0; block < blocks; ++block)
          sum += static_cast<double>(part[block * columns + i]);
        reinterpret_cast<T*>(out)[i] = static_cast<T>(sum);
      }
    });
  });
}

// Gradients of weight and bias add up over rows: some rows in the element type, what those give in
// double.
int64_t rows_at_once(int64_t rows) { return std::clamp<int64_t>(rows / 8, 1, 64); }

// All gradients, row by row while a row is in the caches.
void all_grads(const LayerNormGradCall& call, const LayerNormKernel& kernel) {
  const int64_t some = rows_at_once(call.rows), blocks = (call.rows + some - 1) / some;
  const int64_t bytes = call.columns * static_cast<int64_t>(item_size(call.dtype));
  const Scratch<char> weights(call.weight_grad ? blocks * bytes : 0),
      biases(call.bias_grad ? blocks * bytes : 0);
  parallel_for(blocks, std::max<int64_t>(1, grain_for(call.columns) / some),
               [&](int64_t begin, int64_t end) {
                 for (int64_t block = begin; block < end; ++block) {
                   char* weight = call.weight_grad ? weights.data() + block * bytes : nullptr;
                   char* bias = call.bias_grad ? biases.data() + block * bytes : nullptr;
                   if (weight) std::memset(weight, 0, static_cast<size_t>(bytes));
                   if (bias) std::memset(bias, 0, static_cast<size_t>(bytes));
                   const int64_t last = std::min(call.rows, (block + 1) * some);
                   rows_grad(call, kernel, block * some, last, weight, bias);
                 }
                 if (call.streams) stream_done();
               });
  join_blocks(call.dtype, weights.data(), blocks, call.columns, call.weight_grad);
  join_blocks(call.dtype, biases.data(), blocks, call.columns, call.bias_grad);
}

}  // namespace

void layer_norm(LayerNormCall call) {
  const LayerNormKernel& kernel = kernel_for(call.dtype);
  const int64_t bytes = bytes_of(call);
  call.streams = streams({.read = bytes, .written = bytes});
  parallel_for(call.rows, even_grain(call.rows, grain_for(call.columns), 1),
               [&](int64_t begin, int64_t end) {
                 rows(call, kernel, begin, end);
                 if (call.streams) stream_done();
               });
}

void layer_norm_grad(LayerNormGradCall call) {
  const LayerNormKernel& kernel = kernel_for(call.dtype);
  const int64_t bytes = bytes_of(call);
  call.streams = call.x_grad && streams({.read = 2 * bytes, .written = bytes});
  if (call.weight_grad || call.bias_grad) return all_grads(call, kernel);
  parallel_for(call.rows, even_grain(call.rows, grain_for(call.columns), 1),
               [&](int64_t begin, int64_t end) {
                 rows_grad(call, kernel, begin, end, nullptr, nullptr);
                 if (call.streams) stream_done();
               });
}

}  // namespace wisp::cpu
