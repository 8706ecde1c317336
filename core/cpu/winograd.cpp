// Images are evaluated tile by tile at 36 points (see winograd_kernel.h). What belongs to a point
// is a plane: a matrix of tiles and channels. A plane of one image times that of the weight is a
// plane of the other image; a plane of one image, transposed, times that of the other is a plane of
// the weight.
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

#define WISP_DECLARE(isa)                     \
  namespace isa {                             \
  void fill_winograd(WinogradKernel& kernel); \
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

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

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
      : down(ceil_div(size[1], tile)),
        across(ceil_div(size[2], tile)),
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

// Memory for planes, for a while. Each tile touches all of them, far apart: they need huge pages,
// which only large blocks have.
class Room {
 public:
  explicit Room(int64_t size) : memory_(std::max(size, least)) {}
  float* data() const { return memory_.data(); }

 private:
  static constexpr int64_t least = (int64_t(4) << 20) / int64_t(sizeof(float));
  Scratch<float> memory_;
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
  const int64_t pieces = ceil_div(w.from, channels_at_once);
  parallel_for(w.to / lanes * pieces, 4, [&](int64_t begin, int64_t end) {
    const Scratch<float> taps_of(channels_at_once * w.window() * lanes);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % pieces * channels_at_once;
      evaluate_weight(w, first, std::min(first + channels_at_once, w.from), i / pieces * lanes,
                      taps_of.data(), planes_of);
    }
  });
}

// The planes of a weight, of this call alone or kept for the next ones.
class WeightPlanes {
 public:
  WeightPlanes(const Weight& w, Ref<Object>* kept) : w_(w) {
    const auto* there = kept ? dynamic_cast<const Kept*>(kept->get()) : nullptr;
    if (there && there->suits(w)) {
      memory_ = Ref<const Kept>::share(there);
      return;
    }
    auto made = Ref<Kept>::adopt(new Kept(w));
    evaluate_weight(w, planes_in(made->data()));
    memory_ = Ref<const Kept>::share(made.get());
    if (kept) *kept = Ref<Object>::adopt(made.detach());
  }
  Planes get() const { return planes_in(memory_->data()); }

 private:
  class Kept final : public Object {
   public:
    explicit Kept(const Weight& w)
        : from_(w.from), backwards_(w.backwards), memory_(Planes::size_of(w.from, w.to)) {}
    float* data() const { return memory_.data(); }
    bool suits(const Weight& w) const { return w.from == from_ && w.backwards == backwards_; }

   private:
    int64_t from_;
    bool backwards_;
    Scratch<float> memory_;
  };
  Planes planes_in(float* data) const { return {data, w_.from, w_.to, kernel().panel}; }

  Weight w_;
  Ref<const Kept> memory_;
};

// --- An image from the other and the weight

struct ImageWork {
  Image from, to;
  Tiles tiles;  // of the image that is made
  ConvShape::Sizes padding;
  Weight weight;
  const float* bias;
  Ref<Object>* kept;  // see ConvCall
};

int64_t plane_bytes(int64_t channels) { return planes * channels * int64_t(sizeof(float)); }

// Whether tiles are worked on by all threads together, one step after the other. Where the planes
// of the weight are large, they should pass by but once.
bool works_together(const Weight& w) { return plane_bytes(w.from * w.to) > (4 << 20); }

// Tiles at once: their planes should stay in the caches of all threads, or in the second-level
// cache of one. Few pieces of one thread each are made a few more, for equal parts.
int64_t tiles_at_once(const ImageWork& work) {
  const int64_t count = work.tiles.count;
  const int64_t bytes = plane_bytes(work.from.channels + work.to.channels);
  if (works_together(work.weight))
    return ceil_div(count, ceil_div(count, std::max<int64_t>((10 << 20) / bytes, 48)));
  const int64_t pieces = ceil_div(count, std::clamp<int64_t>((1536 << 10) / bytes, 24, 96));
  return std::max<int64_t>(ceil_div(count, pieces < 16 ? ceil_div(pieces, 4) * 4 : pieces), 6);
}

// From a row of products to the results of tile number i.
void take_tile(const Planes& from, int64_t row, const ImageWork& work, int64_t i) {
  const auto result = kernel().result;
  const int64_t member = work.tiles.member(i), top = work.tiles.top(i), left = work.tiles.left(i);
  for (int64_t c = 0; c < work.to.channels; c += work.to.lanes)
    result(from.at(row, c), from.step(), work.to.part(member, c), top, left,
           work.bias ? work.bias + c : nullptr);
}

// A plane of one image, times some columns of that of the weight.
void multiply(const Planes& from, const Planes& weight, const Planes& to, int64_t plane,
              int64_t column) {
  const int64_t width = weight.width(column);
  kernels().gemm_f32.small(from.data + plane * from.step(), from.channels, 1,
                           weight.at(0, column) + plane * weight.step(), width,
                           to.data + plane * to.step() + column, to.channels, from.rows, width,
                           from.channels, 1, 0);
}

// All that is to be done of some tiles, by one thread.
void make_tiles(const ImageWork& work, const Planes& weight, int64_t begin, const Planes& from,
                const Planes& to) {
  for (int64_t i = 0; i < from.rows; ++i)
    evaluate_tile(kernel().image, work.from, work.tiles, begin + i, work.padding, from, i);
  for (int64_t plane = 0; plane < planes; ++plane) {
    for (int64_t c = 0; c < to.channels; c += weight.panel) multiply(from, weight, to, plane, c);
  }
  for (int64_t i = 0; i < to.rows; ++i) take_tile(to, i, work, begin + i);
}

// The same by all threads, one step after the other: the weight passes by but once.
void make_tiles_together(const ImageWork& work, const Planes& weight, int64_t begin,
                         const Planes& from, const Planes& to) {
  parallel_for(from.rows, 4, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i)
      evaluate_tile(kernel().image, work.from, work.tiles, begin + i, work.padding, from, i);
  });
  const int64_t panels = ceil_div(to.channels, weight.panel);
  parallel_for(planes * panels, 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i)
      multiply(from, weight, to, i / panels, i % panels * weight.panel);
  });
  parallel_for(to.rows, 4, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) take_tile(to, i, work, begin + i);
  });
}

void make_image(const ImageWork& work) {
  const Weight& w = work.weight;
  const WeightPlanes made(w, work.kept);
  const Planes weight = made.get();
  auto run = [&](auto make, int64_t begin, int64_t end, float* own) {
    const int64_t rows = end - begin;
    make(work, weight, begin, Planes{own, rows, w.from, w.from},
         Planes{own + Planes::size_of(rows, w.from), rows, w.to, w.to});
  };
  const int64_t some = tiles_at_once(work);
  const int64_t size = Planes::size_of(some, w.from) + Planes::size_of(some, w.to);
  if (!works_together(w)) {
    parallel_for(work.tiles.count, some, [&](int64_t begin, int64_t end) {
      const Room own(size);
      run(make_tiles, begin, end, own.data());
    });
    return;
  }
  const Room own(size);
  for (int64_t begin = 0; begin < work.tiles.count; begin += some)
    run(make_tiles_together, begin, std::min(begin + some, work.tiles.count), own.data());
}

// --- The weight from both images

struct WeightWork {
  Image x, y;
  Tiles tiles;  // of y
  ConvShape::Sizes padding;
  float* weight;
};

// Enough that adding to the planes of the weight takes little time; their own planes should stay in
// the caches of all threads.
int64_t tiles_to_sum(const WeightWork& work) {
  const int64_t bytes = plane_bytes(work.x.channels + work.y.channels);
  const int64_t most = std::max<int64_t>((8 << 20) / bytes, 128);
  return ceil_div(work.tiles.count, ceil_div(work.tiles.count, most));
}

void add_tiles(const WeightWork& work, int64_t begin, int64_t end, const Planes& x, const Planes& y,
               const Planes& sums) {
  parallel_for(end - begin, 8, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      evaluate_tile(kernel().image, work.x, work.tiles, begin + i, work.padding, x, i);
      evaluate_tile(kernel().window, work.y, work.tiles, begin + i, {}, y, i);
    }
  });
  const int64_t panels = ceil_div(y.channels, y.panel);
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
  const int64_t pieces = ceil_div(x_channels, channels_at_once);
  parallel_for(sums.channels / lanes * pieces, 4, [&](int64_t begin, int64_t end) {
    const Scratch<float> taps_of(channels_at_once * window * lanes);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % pieces * channels_at_once, to = i / pieces * lanes;
      const int64_t count = std::min(channels_at_once, x_channels - first);
      for (int64_t c = 0; c < count; ++c) {
        result(sums.at(first + c, to), sums.step(), taps_of.data() + c * window * lanes);
      }
      kernels().gemm_f32.transpose(taps_of.data(), lanes,
                                   weight + (to * x_channels + first) * window, x_channels * window,
                                   lanes, count * window);
    }
  });
}

void make_weight(const WeightWork& work) {
  const int64_t some = tiles_to_sum(work), panel = kernel().panel;
  const int64_t x_channels = work.x.channels, y_channels = work.y.channels;
  const Room x(Planes::size_of(some, x_channels)), y(Planes::size_of(some, y_channels)),
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
         s.padding[2] < taps && s.x_channels % kernel().lanes == 0 &&
         s.y_channels % kernel().lanes == 0;
}

// Evaluating a weight costs as much as many tiles; one that is kept still has four times its size.
bool worth_it(Pass pass, const ConvCall& call) {
  const ConvShape& s = call.shape;
  const int64_t count = Tiles(s, pass == Pass::x ? s.x : s.y).count;
  const int64_t least_channels = std::min(s.x_channels, s.y_channels);
  const int64_t work = count * s.x_channels * s.y_channels;
  if (pass != Pass::weight && call.kept) return count >= 16 && work >= 1 << 16;
  return count >= 32 && work >= 3 << 16 && (pass != Pass::weight || least_channels >= 32);
}

bool takes(Pass pass, const ConvCall& call) {
  const int64_t lanes = kernel().lanes;
  return call.winograd && call.dtype == DType::float32 && suits(call.shape) &&
         (!call.x_block || call.x_block == lanes) && (!call.y_block || call.y_block == lanes) &&
         worth_it(pass, call);
}

// An image of a call that is neither in blocks nor has its channels last, in blocks meanwhile.
class InBlocks {
 public:
  InBlocks(const ConvCall& call, char* data, int64_t channels, const ConvShape::Sizes& size,
           bool arranged, bool made)
      : plain_(reinterpret_cast<float*>(data)),
        image_{plain_, channels, size[1], size[2], call.channels_last && !arranged, kernel().lanes},
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
    make_image({x.image(),
                y.image(),
                Tiles(s, s.y),
                s.padding,
                {weight, s.x_channels, s.y_channels, false},
                bias,
                call.kept});
  } else if (makes_x) {
    const ConvShape::Sizes turned{0, taps - 1 - s.padding[1], taps - 1 - s.padding[2]};
    make_image({y.image(),
                x.image(),
                Tiles(s, s.x),
                turned,
                {weight, s.y_channels, s.x_channels, true},
                bias,
                call.kept});
  } else {
    make_weight({x.image(), y.image(), Tiles(s, s.y), s.padding, weight});
  }
  return true;
}

}  // namespace winograd
}  // namespace wisp::cpu
