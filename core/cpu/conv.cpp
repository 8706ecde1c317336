// Convolutions as matrix products. The columns of one factor are windows of x, unfolded into a
// buffer a tile of positions at a time. Float32 convolutions that are large enough go to oneDNN.
#include "cpu/conv.h"

#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "cpu/copy.h"
#include "cpu/gemm.h"
#include "cpu/onednn.h"
#include "cpu/scratch.h"
#include "cpu/winograd.h"

namespace wisp::cpu {

namespace {

using Sizes = ConvShape::Sizes;

// How many elements of windows are unfolded at once: they should stay in the second-level cache.
constexpr int64_t buffer_size = 1 << 17;

int64_t ceil_div(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }

// Where an element of the kernel is.
Sizes tap_of(const ConvShape& s, int64_t index) {
  return {index / (s.kernel[1] * s.kernel[2]), index / s.kernel[2] % s.kernel[1],
          index % s.kernel[2]};
}

// Which x a position of y meets at a tap, along one dimension; may be outside of x.
int64_t meets(const ConvShape& s, int dim, int64_t position, int64_t tap) {
  return position * s.stride[dim] - s.padding[dim] + tap * s.dilation[dim];
}

// Some positions of y in a row, [at, at + count) counted from where the walk began, that meet
// elements of x: the first meets `from`, the others follow at the last stride.
struct Stretch {
  int64_t at, count, from;
};

// Calls f(Stretch) for all positions in [begin, end) that meet x at a tap, in order.
template <class F>
void for_each_stretch(const ConvShape& s, const Sizes& tap, int64_t begin, int64_t end, F f) {
  const int64_t width = s.y[2], step = s.stride[2];
  const int64_t shift = tap[2] * s.dilation[2] - s.padding[2];
  const int64_t low = std::clamp<int64_t>(ceil_div(-shift, step), 0, width);
  const int64_t high = std::clamp<int64_t>(ceil_div(s.x[2] - shift, step), low, width);
  for (int64_t position = begin; position < end;) {
    const int64_t column = position % width, row = position / width;
    const int64_t count = std::min(end - position, width - column);
    const int64_t d = meets(s, 0, row / s.y[1], tap[0]), h = meets(s, 1, row % s.y[1], tap[1]);
    const int64_t first = std::max(low, column), last = std::min(high, column + count);
    if (d >= 0 && d < s.x[0] && h >= 0 && h < s.x[1] && first < last) {
      f(Stretch{position - begin + first - column, last - first,
                (d * s.x[1] + h) * s.x[2] + first * step + shift});
    }
    position += count;
  }
}

// One tap of one channel at the positions [begin, end), zero where it is outside of x.
template <class T>
void unfold_row(const ConvShape& s, const Sizes& tap, const T* x, int64_t begin, int64_t end,
                T* row) {
  int64_t done = 0;
  const int64_t step = s.stride[2];
  for_each_stretch(s, tap, begin, end, [&](const Stretch& stretch) {
    std::fill(row + done, row + stretch.at, T(0));
    const T* from = x + stretch.from;
    T* to = row + stretch.at;
    if (step == 1) {
      std::memcpy(to, from, static_cast<size_t>(stretch.count) * sizeof(T));
    } else {
      for (int64_t i = 0; i < stretch.count; ++i) to[i] = from[i * step];
    }
    done = stretch.at + stretch.count;
  });
  std::fill(row + done, row + (end - begin), T(0));
}

// The reverse: adds a row to the elements of x it came from, each number as f makes it.
template <class T, class F>
void fold_row(const ConvShape& s, const Sizes& tap, const T* row, int64_t begin, int64_t end, T* x,
              F f) {
  const int64_t step = s.stride[2];
  for_each_stretch(s, tap, begin, end, [&](const Stretch& stretch) {
    const T* from = row + stretch.at;
    T* to = x + stretch.from;
    if (step == 1) {
      for (int64_t i = 0; i < stretch.count; ++i) to[i] = static_cast<T>(to[i] + f(from[i]));
    } else {
      for (int64_t i = 0; i < stretch.count; ++i)
        to[i * step] = static_cast<T>(to[i * step] + f(from[i]));
    }
  });
}

// Windows that are single elements in the order of x need no unfolding.
bool is_plain(const ConvShape& s) {
  const Sizes ones{1, 1, 1}, zeros{0, 0, 0};
  return s.kernel == ones && s.stride == ones && s.padding == zeros && s.x == s.y;
}

template <class T>
class Convolution {
 public:
  explicit Convolution(const ConvCall& call)
      : call_(call),
        s_(call.shape),
        x_channels_(s_.x_channels / s_.groups),
        y_channels_(s_.y_channels / s_.groups),
        window_(s_.window()),
        positions_(s_.y_size()),
        plain_(is_plain(s_)) {}

  void y() const {
    const int64_t rows = x_channels_ * window_, tile = tile_for(rows);
    const int64_t tiles = (positions_ + tile - 1) / tile;
    parallel_for(s_.batch * s_.groups * tiles, grain(rows * y_channels_ * tile),
                 [&](int64_t begin, int64_t end) {
                   const Scratch<T> buffer(plain_ ? 0 : rows * tile);
                   for (int64_t piece = begin; piece < end; ++piece) {
                     y_tile(piece / tiles, piece % tiles * tile, tile, buffer.data());
                   }
                 });
  }

  // Windows overlap, so one thread adds all that belong to some channels of x.
  void x() const {
    const int64_t channels = channels_at_once(), rows = channels * window_, tile = tile_for(rows);
    const int64_t blocks = (x_channels_ + channels - 1) / channels;
    parallel_for(s_.batch * s_.groups * blocks, grain(rows * y_channels_ * positions_),
                 [&](int64_t begin, int64_t end) {
                   const Scratch<T> buffer(plain_ ? 0 : rows * tile);
                   for (int64_t piece = begin; piece < end; ++piece) {
                     x_channels(piece / blocks, piece % blocks * channels, channels, tile,
                                buffer.data());
                   }
                 });
  }

  // Some channels of x make a part of the weight. Where these are few, the sum over all images is
  // cut as well: its parts are added up in their order.
  void weight() const {
    const int64_t channels = channels_at_once(), rows = channels * window_, tile = tile_for(rows);
    const int64_t blocks = (x_channels_ + channels - 1) / channels, pieces = s_.groups * blocks;
    const int64_t tiles = (positions_ + tile - 1) / tile, steps = s_.batch * tiles;
    const int64_t size = s_.groups * y_channels_ * x_channels_ * window_;
    const int64_t parts = parts_of_sum(pieces, steps, rows * y_channels_ * tile);
    const Scratch<T> others((parts - 1) * size);
    parallel_for(pieces * parts, grain(rows * y_channels_ * tile * steps / parts),
                 [&](int64_t begin, int64_t end) {
                   const Scratch<T> buffer(plain_ ? 0 : rows * tile);
                   for (int64_t i = begin; i < end; ++i) {
                     const int64_t part = i / pieces, piece = i % pieces;
                     T* sum = part ? others.data() + (part - 1) * size : all_weights();
                     weight_channels({piece / blocks, piece % blocks * channels, channels, tile,
                                      steps * part / parts, steps * (part + 1) / parts},
                                     sum, buffer.data());
                   }
                 });
    for (int64_t part = 1; part < parts; ++part) {
      const T* other = others.data() + (part - 1) * size;
      T* sum = all_weights();
      for (int64_t i = 0; i < size; ++i) sum[i] = static_cast<T>(sum[i] + other[i]);
    }
  }

 private:
  // Groups of the batch count as members of it: image = member * groups + group.
  T* x_at(int64_t image, int64_t channel) const {
    return reinterpret_cast<T*>(call_.x) + (image * x_channels_ + channel) * s_.x_size();
  }
  T* y_at(int64_t image) const {
    return reinterpret_cast<T*>(call_.y) + image * y_channels_ * positions_;
  }
  T* all_weights() const { return reinterpret_cast<T*>(call_.weight); }

  int64_t tile_for(int64_t rows) const {
    return std::clamp<int64_t>(buffer_size / std::max<int64_t>(rows, 1) / 16 * 16, 64,
                               std::max<int64_t>(positions_, 64));
  }
  int64_t channels_at_once() const {
    return std::clamp<int64_t>(256 / window_, 1, std::max<int64_t>(x_channels_, 1));
  }
  // As many as keep some threads busy, if the work is worth it; the number of threads is not asked.
  static int64_t parts_of_sum(int64_t pieces, int64_t steps, int64_t step_work) {
    constexpr int64_t enough = 8, least_work = 1 << 18;
    const int64_t worth = steps * step_work / least_work;
    return std::clamp<int64_t>(std::min(worth, enough / pieces), 1, std::max<int64_t>(steps, 1));
  }
  static int64_t grain(int64_t work) {
    return std::max<int64_t>(1, (1 << 16) / std::max<int64_t>(work, 1));
  }

  static Matrix matrix(const T* data, int64_t rows, int64_t cols, int64_t row, int64_t col) {
    return {const_cast<char*>(reinterpret_cast<const char*>(data)), rows, cols, row, col};
  }
  // The weights of all channels of y for some of x: one row per channel of y.
  Matrix weights(const T* all, int64_t group, int64_t channel, int64_t channels) const {
    return matrix(all + (group * y_channels_ * x_channels_ + channel) * window_, y_channels_,
                  channels * window_, x_channels_ * window_, 1);
  }
  Matrix transposed(const Matrix& m) const { return {m.data, m.cols, m.rows, m.col, m.row}; }

  // Windows at the positions [begin, end), one row per channel and tap.
  Matrix unfolded(int64_t image, int64_t channel, int64_t channels, int64_t begin, int64_t end,
                  T* buffer) const {
    if (plain_) return matrix(x_at(image, channel) + begin, channels, end - begin, s_.x_size(), 1);
    for (int64_t row = 0; row < channels * window_; ++row) {
      unfold_row(s_, tap_of(s_, row % window_), x_at(image, channel + row / window_), begin, end,
                 buffer + row * (end - begin));
    }
    return matrix(buffer, channels * window_, end - begin, end - begin, 1);
  }

  const T* bias() const { return reinterpret_cast<const T*>(call_.bias); }

  void y_tile(int64_t image, int64_t begin, int64_t tile, T* buffer) const {
    const int64_t end = std::min(begin + tile, positions_), group = image % s_.groups;
    T* out = y_at(image) + begin;
    for (int64_t c = 0; bias() && c < y_channels_; ++c) {
      std::fill_n(out + c * positions_, end - begin, bias()[group * y_channels_ + c]);
    }
    gemm(call_.dtype, weights(all_weights(), group, 0, x_channels_),
         unfolded(image, 0, x_channels_, begin, end, buffer),
         matrix(out, y_channels_, end - begin, positions_, 1), 1, bias() ? 1 : 0);
  }

  // Of one channel of y, a part of the weight at a time: there is no sum over channels to make
  // first.
  void x_of_one(int64_t image, int64_t channel, int64_t channels) const {
    const T* weight = all_weights() + (image % s_.groups * x_channels_ + channel) * window_;
    for (int64_t row = 0; row < channels * window_; ++row) {
      fold_row(s_, tap_of(s_, row % window_), y_at(image), 0, positions_,
               x_at(image, channel + row / window_),
               [factor = weight[row]](T value) { return static_cast<T>(factor * value); });
    }
  }

  void x_channels(int64_t image, int64_t channel, int64_t most, int64_t tile, T* buffer) const {
    const int64_t channels = std::min(most, x_channels_ - channel), group = image % s_.groups;
    for (int64_t c = channel; c < channel + channels; ++c) {
      std::fill_n(x_at(image, c), s_.x_size(), bias() ? bias()[group * x_channels_ + c] : T(0));
    }
    if constexpr (std::is_floating_point_v<T>) {
      if (y_channels_ == 1 && !plain_) return x_of_one(image, channel, channels);
    }
    const Matrix factor = transposed(weights(all_weights(), group, channel, channels));
    for (int64_t begin = 0; begin < positions_; begin += tile) {
      const int64_t end = std::min(begin + tile, positions_), count = end - begin;
      const Matrix y = matrix(y_at(image) + begin, y_channels_, count, positions_, 1);
      if (plain_) {
        gemm(call_.dtype, factor, y,
             matrix(x_at(image, channel) + begin, channels, count, s_.x_size(), 1), 1, 1);
        continue;
      }
      gemm(call_.dtype, factor, y, matrix(buffer, channels * window_, count, count, 1));
      for (int64_t row = 0; row < channels * window_; ++row) {
        fold_row(s_, tap_of(s_, row % window_), buffer + row * count, begin, end,
                 x_at(image, channel + row / window_), [](T value) { return value; });
      }
    }
  }

  // A part of the weight, from some steps (tiles of images, one image after the other).
  struct WeightPart {
    int64_t group, channel, most, tile, first, last;
  };
  void weight_channels(const WeightPart& part, T* sum, T* buffer) const {
    const int64_t channels = std::min(part.most, x_channels_ - part.channel);
    const int64_t tiles = (positions_ + part.tile - 1) / part.tile;
    const Matrix out = weights(sum, part.group, part.channel, channels);
    for (int64_t step = part.first; step < part.last; ++step) {
      const int64_t image = step / tiles * s_.groups + part.group, begin = step % tiles * part.tile;
      const int64_t end = std::min(begin + part.tile, positions_);
      gemm(call_.dtype, matrix(y_at(image) + begin, y_channels_, end - begin, positions_, 1),
           transposed(unfolded(image, part.channel, channels, begin, end, buffer)), out, 1,
           step == part.first ? 0 : 1);
    }
  }

  const ConvCall& call_;
  const ConvShape& s_;
  const int64_t x_channels_, y_channels_, window_, positions_;  // of one group
  const bool plain_;
};

// An image whose channels are last, with the channels first meanwhile.
class ByChannels {
 public:
  enum Use { read, written };
  ByChannels(char*& data, const ConvCall& call, int64_t channels, int64_t size, Use use)
      : data_(data),
        original_(data),
        dtype_(call.dtype),
        sizes_{call.shape.batch, channels, size},
        copy_(call.shape.batch * channels * size * static_cast<int64_t>(item_size(dtype_))),
        use_(use) {
    data_ = copy_.data();
    const int64_t first[] = {channels * size, size, 1}, last[] = {channels * size, 1, channels};
    if (use == read) cpu::copy(sizes_, {copy_.data(), first, dtype_}, {original_, last, dtype_});
  }
  ~ByChannels() {
    const int64_t channels = sizes_[1], size = sizes_[2];
    const int64_t first[] = {channels * size, size, 1}, last[] = {channels * size, 1, channels};
    if (use_ == written) cpu::copy(sizes_, {original_, last, dtype_}, {data_, first, dtype_});
    data_ = original_;
  }

 private:
  char*& data_;
  char* original_;
  DType dtype_;
  int64_t sizes_[3];
  Scratch<char> copy_;
  Use use_;
};

// Writes the bias to every member of the image that is computed: to the first, and that to others.
void spread_bias(ConvPass pass, const ConvCall& call) {
  const ConvShape& s = call.shape;
  const bool makes_y = pass == ConvPass::y;
  const size_t item = item_size(call.dtype),
               channels = static_cast<size_t>(makes_y ? s.y_channels : s.x_channels),
               plane = item * static_cast<size_t>(makes_y ? s.y_size() : s.x_size());
  char* image = makes_y ? call.y : call.x;
  for (size_t c = 0; c < channels; ++c) {
    char* to = image + c * plane;
    std::memcpy(to, call.bias + c * item, item);
    for (size_t done = item; done < plane; done *= 2)
      std::memcpy(to + done, to, std::min(done, plane - done));
  }
  for (size_t n = 1; n < static_cast<size_t>(s.batch); ++n)
    std::memcpy(image + n * channels * plane, image, channels * plane);
}

// Of a call that is_product(): one row per member of the batch, or channel of y.
void product(ConvPass pass, const ConvCall& call) {
  const ConvShape& s = call.shape;
  const int64_t columns = s.x_channels * s.window();
  const Matrix x{call.x, s.batch, columns, columns, 1},
      y{call.y, s.batch, s.y_channels, s.y_channels, 1},
      weight{call.weight, s.y_channels, columns, columns, 1};
  const auto transposed = [](const Matrix& m) {
    return Matrix{m.data, m.cols, m.rows, m.col, m.row};
  };
  if (pass == ConvPass::weight) return gemm(call.dtype, transposed(y), x, weight);
  if (call.bias) spread_bias(pass, call);
  const Scalar kept = call.bias ? 1 : 0;
  if (pass == ConvPass::y) {
    gemm(call.dtype, x, transposed(weight), y, 1, kept);
  } else {
    gemm(call.dtype, y, weight, x, 1, kept);
  }
}

// With images by channels.
void run(ConvPass pass, const ConvCall& given) {
  ConvCall call = given;
  const ConvShape& s = call.shape;
  if (call.channels_last) {
    call.channels_last = false;
    const auto use = [&](ConvPass made) {
      return pass == made ? ByChannels::written : ByChannels::read;
    };
    const ByChannels x(call.x, call, s.x_channels, s.x_size(), use(ConvPass::x));
    const ByChannels y(call.y, call, s.y_channels, s.y_size(), use(ConvPass::y));
    return run(pass, call);
  }
  if (is_product(call)) return product(pass, call);
  visit<dtypes::number & ~dtypes::half>(call.dtype, "convolution", [&]<class T>() {
    const Convolution<T> convolution(call);
    if (pass == ConvPass::y) convolution.y();
    if (pass == ConvPass::x) convolution.x();
    if (pass == ConvPass::weight) convolution.weight();
  });
}

}  // namespace

void scale_bias(const ConvCall& call, float* scaled) {
  const auto *bias = reinterpret_cast<const float*>(call.bias),
             *shift = reinterpret_cast<const float*>(call.shift);
  for (float s : call.scales()) *scaled++ = (bias ? *bias++ * s : 0) + *shift++;
}

bool is_product(const ConvCall& call) {
  const ConvShape& s = call.shape;
  return !call.channels_last && s.groups == 1 && s.y_size() == 1 && s.kernel == s.x &&
         s.padding == Sizes{0, 0, 0};
}

bool conv_fast(ConvPass pass, const ConvCall& call) {
  using winograd::Done;
  const Done done = winograd::conv(pass, call);
  if (done == Done::yes) return true;
  if (done == Done::no) return onednn::conv(pass, call);
  // Where infinities are, plain sums are right, if they can be had in the order that was promised.
  // A tail can be done without; what is there already is the next best of a convolution.
  const bool same_order = pass == ConvPass::weight ||
                          onednn::result_block(pass, call) == winograd::result_block(pass, call);
  return (same_order && onednn::conv(pass, call)) || !call.has_tail();
}

std::optional<int> conv_result_block(ConvPass pass, const ConvCall& call) {
  const std::optional<int> block = winograd::result_block(pass, call);
  return block ? block : onednn::result_block(pass, call);
}

void conv(ConvPass pass, const ConvCall& call) {
  if (is_product(call) || !conv_fast(pass, call)) run(pass, call);
}

}  // namespace wisp::cpu
