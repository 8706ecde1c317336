#include "cpu/channels.h"

#include "base/parallel.h"
#include "cpu/grain.h"
#include "cpu/kernels/kernels.h"
#include "cpu/scratch.h"

namespace wisp::cpu {

namespace {

constexpr int64_t grain_elements = 1 << 14;
constexpr int64_t columns_at_once = 256;

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
    parallel_for(n, even_grain(n, grain_elements),
                 [&](int64_t begin, int64_t end) { some(0, begin, end); });
    return;
  }
  const int64_t grain = even_grain(rows, std::max<int64_t>(1, grain_elements / n), 1);
  parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) some(row, 0, n);
  });
}

template <class T>
void affine_lines(const ChannelAffine& call) {
  const Channels& shape = call.shape;
  parallel_for(shape.lines(), line_grain(shape), [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      const int64_t at = line * shape.length, c = shape.coefficient(line);
      kernel_of<T>().affine(reinterpret_cast<T*>(call.y) + at, typed<T>(call.x, at),
                            typed<T>(call.other, at), shape.length, typed<T>(call.scale)[c],
                            typed<T>(call.shift)[c],
                            call.other ? typed<T>(call.other_scale)[c] : 0);
    }
  });
}

// Some channels of all members at a time: they are added up in order.
template <class T>
void sums_of_columns(const ChannelSums& call) {
  const Channels& shape = call.shape;
  parallel_for(shape.channels, columns_at_once, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) call.grads[c] = call.products[c] = 0;
    kernel_of<T>().sums_each(typed<T>(call.grad, begin), typed<T>(call.x, begin), shape.batch,
                             shape.channels, end - begin, typed<T>(call.mean, begin),
                             call.grads + begin, call.products + begin);
  });
}

template <class T>
void sums_of_lines(const ChannelSums& call) {
  const Channels& shape = call.shape;
  parallel_for(shape.lines(), line_grain(shape), [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      const int64_t at = line * shape.length;
      kernel_of<T>().sums(typed<T>(call.grad, at), typed<T>(call.x, at), shape.length,
                          typed<T>(call.mean)[shape.coefficient(line)], call.grads + line,
                          call.products + line);
    }
  });
}

}  // namespace

void channel_affine(const ChannelAffine& call) {
  if (call.shape.lines() * call.shape.length == 0) return;
  visit<dtypes::real_math>(call.shape.dtype, "channel_affine", [&]<class T>() {
    call.shape.length == 1 ? affine_elements<T>(call) : affine_lines<T>(call);
  });
}

void channel_sums(const ChannelSums& call) {
  const bool columns = channel_sum_count(call.shape) != call.shape.lines();
  visit<dtypes::real_math>(call.shape.dtype, "channel_sums", [&]<class T>() {
    columns ? sums_of_columns<T>(call) : sums_of_lines<T>(call);
  });
}

}  // namespace wisp::cpu
