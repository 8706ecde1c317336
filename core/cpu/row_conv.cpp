#include "cpu/row_conv.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "base/parallel.h"
#include "cpu/grain.h"
#include "cpu/isa.h"
#include "cpu/kernels/kernels.h"
#include "cpu/row_conv_kernel.h"
#include "cpu/scratch.h"
#include "cpu/window_kernels.h"
#include "cpu/winograd.h"

namespace wisp::cpu {

#define WISP_DECLARE(isa)                    \
  namespace isa {                            \
  void fill_row_conv(RowConvKernel& kernel); \
  }
WISP_FOR_EACH_ISA(WISP_DECLARE)
#undef WISP_DECLARE

namespace {

const RowConvKernel& kernel() {
  static const RowConvKernel filled = [] {
    RowConvKernel made;
    WISP_FILL_FOR_ISA(fill_row_conv, made);
    return made;
  }();
  return filled;
}

const GemmKernels<float>& products() { return kernels().gemm_f32; }

// Channels of results, filled up to whole vectors.
int64_t lanes() { return std::max<int64_t>(8, products().width); }
int64_t padded(int64_t channels) { return (channels + lanes() - 1) / lanes() * lanes(); }
// Those that a product takes at once.
int64_t panel() { return products().width == 16 ? 64 : 16; }

// Products of one result.
int64_t terms_of(const ConvShape& s) { return s.x_channels * s.window(); }

// A weight as panels of some channels of results, each a matrix with a row for every product of a
// result: columns of the window, in each its rows, in each the channels of x.
class PanelWeight final : public Object {
 public:
  PanelWeight(const ConvShape& s, const float* weight)
      : x_channels_(s.x_channels),
        y_channels_(s.y_channels),
        kernel_(s.kernel),
        memory_(terms_of(s) * padded(s.y_channels)) {
    std::fill(memory_.begin(), memory_.end(), 0.0f);
    const int64_t height = s.kernel[1], width = s.kernel[2], terms = terms_of(s);
    for (int64_t o = 0; o < s.y_channels; ++o) {
      const int64_t first = o / panel() * panel();
      const int64_t columns = std::min(panel(), padded(s.y_channels) - first);
      float* to = memory_.data() + first * terms + (o - first);
      for (int64_t c = 0; c < s.x_channels; ++c)
        for (int64_t i = 0; i < height; ++i)
          for (int64_t j = 0; j < width; ++j)
            to[((j * height + i) * s.x_channels + c) * columns] = *weight++;
    }
  }
  const float* data() const { return memory_.data(); }
  bool suits(const ConvShape& s) const {
    return s.x_channels == x_channels_ && s.y_channels == y_channels_ && s.kernel == kernel_;
  }

 private:
  int64_t x_channels_, y_channels_;
  ConvShape::Sizes kernel_;
  Scratch<float> memory_;
};

class RowConv {
 public:
  explicit RowConv(const RowConvCall& call)
      : call_(call),
        s_(call.shape),
        terms_(terms_of(s_)),
        channels_(padded(s_.y_channels)),
        columns_((s_.y[2] - 1) * s_.stride[2] + s_.kernel[2]),
        out_rows_((s_.y[1] - call.pool.height) / call.pool.row_step + 1),
        out_columns_((s_.y[2] - call.pool.width) / call.pool.column_step + 1),
        weight_(panels(call)),
        bias_(channels_) {
    std::fill(bias_.begin(), bias_.end(), 0.0f);
    if (call.bias) std::copy_n(call.bias, s_.y_channels, bias_.data());
    for (int64_t i = 0; i < out_columns_; ++i)
      starts_.push_back(static_cast<int32_t>(i * call.pool.column_step));
    counts_.assign(starts_.size(), static_cast<int32_t>(call.pool.width));
  }

  void run() const {
    const int64_t rows = s_.batch * out_rows_;
    const int64_t work = call_.pool.height * s_.y[2] * channels_ * terms_;
    parallel_for(rows, even_grain(rows, std::max<int64_t>(1, least_work / work), 1),
                 [&](int64_t begin, int64_t end) { piece(begin, end); });
  }

 private:
  static constexpr int64_t least_work = 1 << 16;

  static const PanelWeight& panels(const RowConvCall& call) {
    const auto* there = dynamic_cast<const PanelWeight*>(call.kept.get());
    if (there && there->suits(call.shape)) return *there;
    auto made = Ref<PanelWeight>::adopt(new PanelWeight(call.shape, call.weight));
    const PanelWeight& weight = *made;
    call.kept = Ref<Object>::adopt(made.detach());
    return weight;
  }

  // Some rows of the result.
  void piece(int64_t begin, int64_t end) const {
    const RowPool& pool = call_.pool;
    const int64_t row_size = s_.y[2] * channels_;
    const Scratch<float> pixels(columns_ * s_.kernel[1] * s_.x_channels);
    const Scratch<float> sums(pool.height * row_size);
    const Scratch<float> largest(out_columns_ * channels_);
    // Columns outside of the image stay zero: nothing is ever read into them.
    if (s_.padding[2]) std::fill(pixels.begin(), pixels.end(), 0.0f);
    for (int64_t r = begin; r < end; ++r) {
      const int64_t member = r / out_rows_, row = r % out_rows_;
      for (int64_t i = 0; i < pool.height; ++i) {
        gather(member, row * pool.row_step + i, pixels.data());
        multiply(pixels.data(), sums.data() + i * row_size);
      }
      take_largest(sums.data(), largest.data());
      put(member, row, largest.data());
    }
  }

  // The rows of x that a row of y is made of, all of one column next to each other: then what any
  // window covers lies in a row.
  void gather(int64_t member, int64_t y_row, float* pixels) const {
    const int64_t height = s_.kernel[1], step = height * s_.x_channels;
    const int64_t left = std::min(s_.padding[2], columns_);
    const int64_t count = std::max<int64_t>(0, std::min(s_.x[2], columns_ - left));
    for (int64_t i = 0; i < height; ++i) {
      const int64_t row = y_row * s_.stride[1] - s_.padding[1] + i * s_.dilation[1];
      float* to = pixels + i * s_.x_channels;
      if (row < 0 || row >= s_.x[1]) {
        for (int64_t j = 0; j < columns_; ++j) std::fill_n(to + j * step, s_.x_channels, 0.0f);
      } else {
        gather_row(member, row, count, to + left * step, step);
      }
    }
  }

  void gather_row(int64_t member, int64_t row, int64_t count, float* to, int64_t step) const {
    const int64_t size = s_.x[1] * s_.x[2], at = row * s_.x[2], block = call_.x_block;
    const float* image = call_.x + member * s_.x_channels * size;
    if (!block) return products().transpose(image + at, size, to, step, count, s_.x_channels);
    for (int64_t c = 0; c < s_.x_channels; c += block)
      kernel().spread(image + c * size + at * block, block, to + c, step, count);
  }

  void multiply(const float* pixels, float* sums) const {
    const int64_t step = s_.stride[2] * s_.kernel[1] * s_.x_channels;
    for (int64_t first = 0; first < channels_; first += panel()) {
      const int64_t columns = std::min(panel(), channels_ - first);
      products().small(pixels, step, 1, weight_.data() + first * terms_, columns, sums + first,
                       channels_, s_.y[2], columns, terms_, 1.0f, 0.0f);
    }
  }

  // Rounding keeps the order of numbers, so the bias may as well come later.
  void take_largest(const float* sums, float* largest) const {
    std::vector<const float*> lines;
    for (int64_t i = 0; i < call_.pool.height; ++i) lines.push_back(sums + i * s_.y[2] * channels_);
    window_table().max_f32.largest_pixels({.y = largest,
                                           .index = nullptr,
                                           .lines = lines.data(),
                                           .rows = nullptr,
                                           .row_count = call_.pool.height,
                                           .width = s_.y[2],
                                           .start = starts_.data(),
                                           .count = counts_.data(),
                                           .dilation = 1,
                                           .n = out_columns_,
                                           .channels = channels_,
                                           .lowest = -std::numeric_limits<float>::infinity()});
  }

  void put(int64_t member, int64_t row, float* values) const {
    const int64_t size = out_rows_ * out_columns_, at = row * out_columns_, block = call_.y_block;
    float* image = call_.y + member * s_.y_channels * size;
    for (int64_t c = 0; c < s_.y_channels && block; c += block)
      kernel().finish(values + c, channels_, bias_.data() + c, call_.relu,
                      image + c * size + at * block, block, out_columns_, block);
    if (block) return;
    kernel().finish(values, channels_, bias_.data(), call_.relu, values, channels_, out_columns_,
                    channels_);
    products().transpose(values, channels_, image + at, size, s_.y_channels, out_columns_);
  }

  const RowConvCall& call_;
  const ConvShape& s_;
  const int64_t terms_, channels_, columns_, out_rows_, out_columns_;
  const PanelWeight& weight_;
  const Scratch<float> bias_;
  std::vector<int32_t> starts_, counts_;
};

}  // namespace

// By measurement: others are faster by oneDNN. Products take six pixels at a time, which should not
// leave many over, and the weight should stay in the second-level cache.
bool suits_rows(const ConvShape& s) {
  const bool flat = s.x[0] == 1 && s.y[0] == 1 && s.kernel[0] == 1 && s.padding[0] == 0;
  if (!flat || s.groups != 1 || s.dilation[2] != 1) return false;
  if (s.x_channels < 8 || s.y_channels < 8 || terms_of(s) > 1024) return false;
  if (winograd::takes(s)) return false;
  const int64_t width = s.y[2], taken = (width + 5) / 6 * 6;
  const double work =
      static_cast<double>(s.batch * s.y_channels * s.y_size()) * static_cast<double>(terms_of(s));
  return 10 * taken <= 11 * width && work <= 3e7;
}

int row_conv_block(int64_t channels) {
  return channels % lanes() == 0 ? static_cast<int>(lanes()) : 0;
}

void row_conv(const RowConvCall& call) { RowConv(call).run(); }

}  // namespace wisp::cpu
