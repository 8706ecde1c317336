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
  return call.rows * call.columns * static_cast<int64_t>(item_size(call.dtype));
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
                   kernel.rows_grad(call, block * some, last, weight, bias);
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
                 kernel.rows(call, begin, end);
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
                 kernel.rows_grad(call, begin, end, nullptr, nullptr);
                 if (call.streams) stream_done();
               });
}

}  // namespace wisp::cpu
