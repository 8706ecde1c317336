// Convolutions of few products with max pooling behind them: each row of results is a product of
// matrices, and what follows the convolution is done to it while it is in the cache.
#pragma once

#include "cpu/conv.h"

namespace wisp::cpu {

// Windows of results of which the largest is kept, over rows and columns; they do not overlap.
struct RowPool {
  int64_t height, width, row_step, column_step;
};

// y = relu(conv(x) + bias), or without relu, and of that the largest of each window. Images are
// float32, in plain order or in blocks of channels (see ConvCall).
struct RowConvCall {
  ConvShape shape;
  const float* x;
  int x_block;
  const float *weight, *bias;  // the bias may be null
  bool relu;
  RowPool pool;
  float* y;
  int y_block;
  Ref<Object>& kept;  // the weight as it is used, which comes again with it
};

// Whether this way is the fastest for a convolution with a pool; it depends on the shape alone.
bool suits_rows(const ConvShape& shape);
// The width of blocks that results of so many channels can be left in; 0 if there is none.
int row_conv_block(int64_t channels);

void row_conv(const RowConvCall& call);

}  // namespace wisp::cpu
