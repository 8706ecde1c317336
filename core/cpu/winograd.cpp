// Images are evaluated tile by tile at 36 points (see winograd_kernel.h). What belongs to a point is
// a plane: a matrix of tiles and channels. A plane of one image times that of the weight is a plane
// of the other image; a plane of one image, transposed, times that of the other is a plane of the
// weight.
#include "cpu/winograd.h"

#include <algorithm>
#include <atomic>

#include "base/parallel.h"
#include "cpu/copy.h"
#include "cpu/isa.h"
#include "cpu/kernels/kernels.h"
#include "cpu/scratch.h"
#include "cpu/winograd_kernel.h"

namespace wisp::cpu {

#define WISP_DECLARE(isa)                      \
  namespace isa {                              \
  void fill_winograd(WinogradKernel& kernel);  \
  }
WISP_FOR_EACH_ISA(WISP_DECLARE)
#undef WISP_DECLARE

namespace winograd {

namespace {

using Pass = ConvPass;

std::atomic<bool> wanted{false};

const WinogradKernel& kernel() {
  static const WinogradKernel filled = [] {
    WinogradKernel made;
    WISP_FILL_FOR_ISA(fill_winograd, made);
    return made;
  }();
  return filled;
}

// Planes that lie a power of two apart would meet in the same few lines of the caches.
constexpr int64_t apart = 16;

// --- Images

// In blocks of `lanes` channels, or with the channels last.
struct Image {
  float* data;
  int64_t channels, height, width;
  bool channels_last;
  int64_t lanes;

  // The channels from one on.
  WinogradImage part(int64_t member, int64_t channel) const {
    const int64_t pixel = channels_last ? channels : lanes;
    const int64_t step = channels_last ? 1 : height * width;
    return {data + member * channels * height * width + channel * step, height, width,
            width * pixel, pixel};
  }
};

// Tiles of 4x4 that cover an image, those of all members one after the other.
struct Tiles {
  Tiles(const ConvShape& s, const ConvShape::Sizes& size)
      : down((size[1] + tile - 1) / tile),
        across((size[2] + tile - 1) / tile),
        count(s.batch * down * across) {}
  int64_t down, across, count;

  int64_t member(int64_t i) const { return i / (down * across); }
  int64_t top(int64_t i) const { return i / across % down * tile; }
  int64_t left(int64_t i) const { return i % across * tile; }
};

// Numbers of some tiles at all points: rows of channels, in panels of so many.
struct Planes {
  float* data;
  int64_t rows, channels, panel;

  static int64_t size_of(int64_t rows, int64_t channels) {
    return planes * (rows * channels + apart);
  }
  int64_t step() const { return rows * channels + apart; }
  // Of the panel that begins with a channel.
  int64_t width(int64_t channel) const { return std::min(panel, channels - channel); }
  float* at(int64_t row, int64_t channel) const {
    const int64_t first = channel / panel * panel;
    return data + first * rows + row * width(first) + channel - first;
  }
};

using Evaluate = void (*)(const WinogradImage&, int64_t, int64_t, float*, int64_t);

// Evaluates the channels of tile number i, whose pixels begin at `padding` before it.
void evaluate_tile(Evaluate evaluate, const Image& image, const Tiles& tiles, int64_t i,
                   const ConvShape::Sizes& padding, const Planes& to, int64_t row) {
  const int64_t member = tiles.member(i), top = tiles.top(i) - padding[1],
                left = tiles.left(i) - padding[2];
  for (int64_t c = 0; c < image.channels; c += image.lanes)
    evaluate(image.part(member, c), top, left, to.at(row, c), to.step());
}

// --- Weights

// A weight is (to, from, 3, 3) for the forward direction. Backwards both exchange roles and the
// window is turned around.
struct Weight {
  const float* data;
  int64_t from, to;  // channels of the image that is read, and of the one that is made
  bool backwards;

  int64_t window() const { return taps * taps; }
};

constexpr int64_t channels_at_once = 16;

// Some channels that are read, of the block that is made from channel `to` on.
void evaluate_weight(const Weight& w, int64_t begin, int64_t end, int64_t to, float* taps_of,
                     const Planes& planes_of) {
  const auto [lanes, window] = std::pair(kernel().lanes, w.window());
  const auto transpose = kernels().gemm_f32.transpose;
  if (w.backwards) {
    for (int64_t c = begin; c < end; ++c)
      transpose(w.data + (c * w.to + to) * window, window, taps_of + (c - begin) * window * lanes,
                lanes, window, lanes);
  } else {
    transpose(w.data + (to * w.from + begin) * window, w.from * window, taps_of, lanes,
              (end - begin) * window, lanes);
  }
  const auto evaluate = kernel().weight;
  for (int64_t c = begin; c < end; ++c)
    evaluate(taps_of + (c - begin) * window * lanes, w.backwards, planes_of.at(c, to),
             planes_of.step());
}

void evaluate_weight(const Weight& w, const Planes& planes_of) {
  const int64_t lanes = kernel().lanes;
  const int64_t pieces = (w.from + channels_at_once - 1) / channels_at_once;
  parallel_for(w.to / lanes * pieces, 4, [&](int64_t begin, int64_t end) {
    const Scratch<float> taps_of(channels_at_once * w.window() * lanes);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % pieces * channels_at_once;
      evaluate_weight(w, first, std::min(first + channels_at_once, w.from), i / pieces * lanes,
                      taps_of.data(), planes_of);
    }
  });
}

// --- An image from the other and the weight

struct ImageWork {
  Image from, to;
  Tiles tiles;  // of the image that is made
  ConvShape::Sizes padding;
  Weight weight;
  const float* bias;
};

// Tiles at once, by one thread: their planes should stay in its second-level cache, but rather a
// few of them more, since all planes of the weight pass by for them.
int64_t tiles_at_once(const ImageWork& work) {
  static const int64_t kb = getenv("WGKB") ? atoi(getenv("WGKB")) : 1536;
  const int64_t bytes = planes * (work.from.channels + work.to.channels) * int64_t(sizeof(float));
  const int64_t most = std::clamp<int64_t>((kb << 10) / bytes, 24, 96);
  const int64_t pieces = (work.tiles.count + most - 1) / most;
  return (work.tiles.count + pieces - 1) / pieces;
}

// From a row of products to the results of tile number i.
void take_tile(const Planes& from, int64_t row, const ImageWork& work, int64_t i) {
  const auto result = kernel().result;
  const int64_t member = work.tiles.member(i), top = work.tiles.top(i), left = work.tiles.left(i);
  for (int64_t c = 0; c < work.to.channels; c += work.to.lanes)
    result(from.at(row, c), from.step(), work.to.part(member, c), top, left,
           work.bias ? work.bias + c : nullptr);
}

void make_tiles(const ImageWork& work, const Planes& weight, int64_t begin, int64_t end,
                float* memory) {
  const int64_t count = end - begin, from_channels = work.from.channels,
                to_channels = work.to.channels;
  const Planes from{memory, count, from_channels, from_channels};
  const Planes to{memory + Planes::size_of(count, from_channels), count, to_channels, to_channels};
  for (int64_t i = 0; i < count; ++i) {
    evaluate_tile(kernel().image, work.from, work.tiles, begin + i, work.padding, from, i);
  }
  for (int64_t plane = 0; plane < planes; ++plane) {
    for (int64_t c = 0; c < to_channels; c += weight.panel) {
      kernels().gemm_f32.small(from.data + plane * from.step(), from_channels, 1,
                               weight.at(0, c) + plane * weight.step(), weight.width(c),
                               to.data + plane * to.step() + c, to_channels, count,
                               weight.width(c), from_channels, 1, 0);
    }
  }
  for (int64_t i = 0; i < count; ++i) take_tile(to, i, work, begin + i);
}

void make_image(const ImageWork& work) {
  const Weight& w = work.weight;
  const Scratch<float> memory(Planes::size_of(w.from, w.to));
  const Planes weight{memory.data(), w.from, w.to, kernel().panel};
  evaluate_weight(w, weight);
  const int64_t some = tiles_at_once(work);
  parallel_for(work.tiles.count, some, [&](int64_t begin, int64_t end) {
    const Scratch<float> own(Planes::size_of(some, w.from) + Planes::size_of(some, w.to));
    make_tiles(work, weight, begin, end, own.data());
  });
}

// --- The weight from both images

struct WeightWork {
  Image x, y;
  Tiles tiles;  // of y
  ConvShape::Sizes padding;
  float* weight;
};

// Enough that adding to the planes of the weight takes little time; the rest is in the caches of
// all threads together.
int64_t tiles_to_sum(const WeightWork& work) {
  static const int64_t kb = getenv("WGKW") ? atoi(getenv("WGKW")) : 8192;
  const int64_t bytes = planes * (work.x.channels + work.y.channels) * int64_t(sizeof(float));
  const int64_t most = std::max<int64_t>((kb << 10) / bytes, 128);
  const int64_t pieces = (work.tiles.count + most - 1) / most;
  return (work.tiles.count + pieces - 1) / pieces;
}

void add_tiles(const WeightWork& work, int64_t begin, int64_t end, const Planes& x, const Planes& y,
               const Planes& sums) {
  parallel_for(end - begin, 8, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      evaluate_tile(kernel().image, work.x, work.tiles, begin + i, work.padding, x, i);
      evaluate_tile(kernel().window, work.y, work.tiles, begin + i, {}, y, i);
    }
  });
  const int64_t panels = (y.channels + y.panel - 1) / y.panel;
  parallel_for(planes * panels, 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t plane = i / panels, c = i % panels * y.panel;
      kernels().gemm_f32.small(x.data + plane * x.step(), 1, x.channels,
                               y.at(0, c) + plane * y.step(), y.width(c),
                               sums.at(0, c) + plane * sums.step(), sums.width(c), x.channels,
                               y.width(c), end - begin, 1, begin ? 1 : 0);
    }
  });
}

void take_weight(const Planes& sums, float* weight) {
  const int64_t x_channels = sums.rows, window = taps * taps, lanes = kernel().lanes;
  const auto result = kernel().weight_result;
  const int64_t pieces = (x_channels + channels_at_once - 1) / channels_at_once;
  parallel_for(sums.channels / lanes * pieces, 4, [&](int64_t begin, int64_t end) {
    const Scratch<float> taps_of(channels_at_once * window * lanes);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % pieces * channels_at_once, to = i / pieces * lanes;
      const int64_t count = std::min(channels_at_once, x_channels - first);
      for (int64_t c = 0; c < count; ++c) {
        result(sums.at(first + c, to), sums.step(),
                               taps_of.data() + c * window * lanes);
      }
      kernels().gemm_f32.transpose(taps_of.data(), lanes,
                                   weight + (to * x_channels + first) * window,
                                   x_channels * window, lanes, count * window);
    }
  });
}

void make_weight(const WeightWork& work) {
  const int64_t some = tiles_to_sum(work), panel = kernel().panel;
  const int64_t x_channels = work.x.channels, y_channels = work.y.channels;
  const Scratch<float> x(Planes::size_of(some, x_channels)), y(Planes::size_of(some, y_channels)),
      sums(Planes::size_of(x_channels, y_channels));
  const Planes total{sums.data(), x_channels, y_channels, panel};
  for (int64_t begin = 0; begin < work.tiles.count; begin += some) {
    const int64_t end = std::min(begin + some, work.tiles.count);
    add_tiles(work, begin, end, {x.data(), end - begin, x_channels, x_channels},
              {y.data(), end - begin, y_channels, panel}, total);
  }
  take_weight(total, work.weight);
}

// --- Which convolutions, by measurement

bool suits(const ConvShape& s) {
  using Sizes = ConvShape::Sizes;
  const Sizes ones{1, 1, 1};
  return s.groups == 1 && s.kernel == Sizes{1, 3, 3} && s.stride == ones && s.dilation == ones &&
         s.x[0] == 1 && s.y[0] == 1 && s.padding[0] == 0 && s.padding[1] < taps &&
         s.padding[2] < taps && s.x_channels % kernel().lanes == 0 && s.y_channels % kernel().lanes == 0;
}

bool takes(Pass pass, const ConvCall& call) {
  if (!call.winograd || call.dtype != DType::float32 || !suits(call.shape)) return false;
  if (call.x_block && call.x_block != kernel().lanes) return false;
  if (call.y_block && call.y_block != kernel().lanes) return false;
  const ConvShape& s = call.shape;
  (void)pass;
  return s.x_channels >= 32 && s.y_channels >= 32 && s.y[1] >= 4 && s.y[2] >= 4;
}

// An image of a call that is neither in blocks nor has its channels last, in blocks meanwhile.
class InBlocks {
 public:
  InBlocks(const ConvCall& call, char* data, int64_t channels, const ConvShape::Sizes& size,
           bool arranged, bool made)
      : plain_(reinterpret_cast<float*>(data)),
        image_{plain_, channels, size[1], size[2], call.channels_last, kernel().lanes},
        batch_(call.shape.batch),
        made_(made),
        copy_(arranged || call.channels_last ? 0 : batch_ * channels * size[1] * size[2]) {
    if (!copy_.size()) return;
    image_.data = copy_.data();
    if (!made_) move(image_.data, blocks(), plain_, in_order());
  }
  ~InBlocks() {
    if (made_ && copy_.size()) move(plain_, in_order(), copy_.data(), blocks());
  }
  InBlocks(const InBlocks&) = delete;
  InBlocks& operator=(const InBlocks&) = delete;
  const Image& image() const { return image_; }

 private:
  using Strides = std::array<int64_t, 4>;  // of members, blocks, pixels, channels of a block
  int64_t pixels() const { return image_.height * image_.width; }
  Strides blocks() const {
    return {image_.channels * pixels(), image_.lanes * pixels(), image_.lanes, 1};
  }
  Strides in_order() const {
    return {image_.channels * pixels(), image_.lanes * pixels(), 1, pixels()};
  }
  void move(float* to, const Strides& to_strides, float* from, const Strides& from_strides) const {
    const int64_t sizes[] = {batch_, image_.channels / image_.lanes, pixels(), image_.lanes};
    copy(sizes, {reinterpret_cast<char*>(to), to_strides, DType::float32},
         {reinterpret_cast<char*>(from), from_strides, DType::float32});
  }
  float* plain_;
  Image image_;
  int64_t batch_;
  bool made_;
  Scratch<float> copy_;
};

}  // namespace

bool enabled() { return wanted.load(std::memory_order_relaxed); }
void set_enabled(bool value) { wanted.store(value, std::memory_order_relaxed); }

std::optional<int> result_block(Pass pass, const ConvCall& call) {
  if (!takes(pass, call)) return std::nullopt;
  return call.free_result ? static_cast<int>(kernel().lanes) : 0;
}

bool conv(Pass pass, const ConvCall& call) {
  if (!takes(pass, call)) return false;
  const ConvShape& s = call.shape;
  const bool makes_x = pass == Pass::x, makes_y = pass == Pass::y;
  const InBlocks x(call, call.x, s.x_channels, s.x, makes_x ? call.free_result : call.x_block != 0,
                   makes_x);
  const InBlocks y(call, call.y, s.y_channels, s.y, makes_y ? call.free_result : call.y_block != 0,
                   makes_y);
  float* weight = reinterpret_cast<float*>(call.weight);
  const float* bias = reinterpret_cast<const float*>(call.bias);
  if (makes_y) {
    make_image({x.image(), y.image(), Tiles(s, s.y), s.padding,
                {weight, s.x_channels, s.y_channels, false}, bias});
  } else if (makes_x) {
    const ConvShape::Sizes turned{0, taps - 1 - s.padding[1], taps - 1 - s.padding[2]};
    make_image({y.image(), x.image(), Tiles(s, s.x), turned,
                {weight, s.y_channels, s.x_channels, true}, bias});
  } else {
    make_weight({x.image(), y.image(), Tiles(s, s.y), s.padding, weight});
  }
  return true;
}

}  // namespace winograd
}  // namespace wisp::cpu
