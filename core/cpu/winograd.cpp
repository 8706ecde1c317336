// A plane of one image times that of the weight is a plane of the other image; a plane of one
// image, transposed, times that of the other is a plane of the weight.
#include "cpu/winograd.h"

#include "cpu/copy.h"
#include "cpu/isa.h"
#include "cpu/kernels/kernels.h"
#include "cpu/onednn.h"
#include "cpu/winograd_weight.h"

namespace wisp::cpu {

#define WISP_DECLARE(isa)                       \
  namespace isa {                               \
  void fill_winograd(WinogradKernels& kernels); \
  }
WISP_FOR_EACH_ISA(WISP_DECLARE)
#undef WISP_DECLARE

namespace winograd {

namespace {

using Pass = ConvPass;

std::atomic<bool> less_exact{false};

const WinogradKernels& methods() {
  static const WinogradKernels filled = [] {
    WinogradKernels made;
    WISP_FILL_FOR_ISA(fill_winograd, made);
    return made;
  }();
  return filled;
}

using Evaluate = void (*)(const WinogradImage&, int64_t, int64_t, float*, int64_t);

// Evaluates rows of planes, of the tiles from number `tile` on, whose pixels begin at `padding`
// before them. Neighbours share pixels: the tiles of a block of channels are taken one after the
// other.
void evaluate_tiles(Evaluate evaluate, const Image& image, const Tiles& tiles, int64_t tile,
                    const ConvShape::Sizes& padding, const Planes& to, int64_t begin, int64_t end) {
  for (int64_t c = 0; c < image.channels; c += image.lanes) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t at = tile + i;
      evaluate(image.part(tiles.member(at), c), tiles.top(at) - padding[1],
               tiles.left(at) - padding[2], to.at(i, c), to.step());
    }
  }
}

// --- An image from the other and the weight

struct ImageWork {
  const Method& method;
  Image from, to;
  Tiles tiles;  // of the image that is made
  ConvShape::Sizes padding;
  Weight weight;
  WinogradTail tail;
  Ref<Object>* kept;  // see ConvCall
};

int64_t plane_bytes(const Method& method, int64_t channels) {
  return method.planes() * channels * int64_t(sizeof(float));
}

// Whether tiles are worked on by all threads together, one step after the other. Where the planes
// of the weight are large, they should pass by but once.
bool works_together(const ImageWork& work) {
  return plane_bytes(work.method, work.weight.from * work.weight.to) > (4 << 20);
}

// Tiles at once: their planes should stay in the caches of all threads, or in the second-level
// cache of one. Few pieces of one thread each are made a few more, for equal parts.
int64_t tiles_at_once(const ImageWork& work) {
  const int64_t count = work.tiles.count;
  const int64_t to = work.to.channels;
  if (works_together(work)) {
    const int64_t bytes = plane_bytes(work.method, work.from.channels + to);
    return ceil_div(count, ceil_div(count, std::max<int64_t>((10 << 20) / bytes, 48)));
  }
  const int64_t bytes =
      plane_bytes(work.method, work.from.channels + std::min(to, work.method.panel));
  const int64_t pieces = ceil_div(count, std::clamp<int64_t>((1536 << 10) / bytes, 24, 96));
  return std::max<int64_t>(ceil_div(count, pieces < 16 ? ceil_div(pieces, 4) * 4 : pieces), 6);
}

// From rows of products to the results of the tiles from number `tile` on, from a channel on.
void take_tiles(const Planes& from, const ImageWork& work, int64_t tile, int64_t channel,
                int64_t begin, int64_t end) {
  const Image& to = work.to;
  const Tiles& tiles = work.tiles;
  for (int64_t k = 0; k < from.channels; k += to.lanes) {
    const int64_t c = channel + k;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t at = tile + i, member = tiles.member(at);
      const WinogradTail tail{work.tail.bias ? work.tail.bias + c : nullptr,
                              work.tail.other ? work.tail.other + to.offset(member, c) : nullptr,
                              work.tail.relu};
      work.method.result(from.at(i, k), from.step(), to.part(member, c), tiles.top(at),
                         tiles.left(at), tail);
    }
  }
}

// As many terms are added up at once as leave results as exact as oneDNN's.
constexpr int64_t most_terms = 48;

// A plane of one image, times some columns of that of the weight. Sums of sums of a few terms are
// more exact than sums of all, and a few rows of the weight stay in the first-level cache while all
// tiles pass by them.
void multiply(const Planes& from, const Planes& weight, int64_t plane, int64_t column, float* to,
              int64_t to_row) {
  const int64_t terms = ceil_div(from.channels, ceil_div(from.channels, most_terms));
  const int64_t width = weight.width(column);
  const float* tiles = from.data + plane * from.step();
  const float* taps_of = weight.at(0, column) + plane * weight.step();
  for (int64_t c = 0; c < from.channels; c += terms)
    kernels().gemm_f32.small(tiles + c, from.channels, 1, taps_of + c * width, width, to, to_row,
                             from.rows, width, std::min(terms, from.channels - c), 1, c ? 1 : 0);
}

// All that is to be done of some tiles, by one thread: a panel of channels that are made after the
// other.
void make_tiles(const ImageWork& work, const Planes& weight, int64_t begin, const Planes& from,
                float* room) {
  evaluate_tiles(work.method.image, work.from, work.tiles, begin, work.padding, from, 0, from.rows);
  for (int64_t c = 0; c < weight.channels; c += weight.panel) {
    const int64_t width = weight.width(c);
    const Planes to{room, from.rows, width, width};
    for (int64_t plane = 0; plane < work.method.planes(); ++plane)
      multiply(from, weight, plane, c, to.data + plane * to.step(), width);
    take_tiles(to, work, begin, c, 0, from.rows);
  }
}

// The same by all threads, one step after the other: the weight passes by but once.
void make_tiles_together(Work& threads, const ImageWork& work, const Planes& weight, int64_t begin,
                         const Planes& from, float* room) {
  const Planes to{room, from.rows, weight.channels, weight.channels};
  threads.each(from.rows, 16, [&](int64_t first, int64_t last) {
    evaluate_tiles(work.method.image, work.from, work.tiles, begin, work.padding, from, first,
                   last);
  });
  const int64_t panels = ceil_div(to.channels, weight.panel);
  threads.each(work.method.planes() * panels, 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t plane = i / panels, c = i % panels * weight.panel;
      multiply(from, weight, plane, c, to.data + plane * to.step() + c, to.channels);
    }
  });
  threads.each(to.rows, 16,
               [&](int64_t first, int64_t last) { take_tiles(to, work, begin, 0, first, last); });
}

bool make_image(const ImageWork& work) {
  const Weight& w = work.weight;
  Work threads;
  const WeightPlanes made(work.method, w, work.kept, threads);
  const Planes weight = made.get();
  const int64_t some = tiles_at_once(work), planes = work.method.planes();
  const int64_t from_size = planes * Planes::step_of(some, w.from);
  auto planes_from = [&](int64_t rows, float* own) { return Planes{own, rows, w.from, w.from}; };
  if (!works_together(work)) {
    const int64_t size = from_size + planes * Planes::step_of(some, std::min(w.to, weight.panel));
    threads.each(work.tiles.count, some, [&](int64_t begin, int64_t end) {
      const Room own(size);
      make_tiles(work, weight, begin, planes_from(end - begin, own.data()), own.data() + from_size);
    });
    return threads.valid();
  }
  const Room own(from_size + planes * Planes::step_of(some, w.to));
  for (int64_t begin = 0; begin < work.tiles.count; begin += some) {
    const int64_t rows = std::min(some, work.tiles.count - begin);
    make_tiles_together(threads, work, weight, begin, planes_from(rows, own.data()),
                        own.data() + from_size);
  }
  return threads.valid();
}

// --- The weight from both images

struct WeightWork {
  const Method& method;
  Image x, y;
  Tiles tiles;  // of y
  ConvShape::Sizes padding;
  float* weight;
  bool last;
};

// Both images of the tiles from number `tile` on.
void evaluate_both(const WeightWork& work, int64_t tile, const Planes& x, const Planes& y,
                   int64_t begin, int64_t end) {
  evaluate_tiles(work.method.image, work.x, work.tiles, tile, work.padding, x, begin, end);
  evaluate_tiles(work.method.window, work.y, work.tiles, tile, {}, y, begin, end);
}

// Of a plane, some columns: what the tiles add to the sums of those before them, some at a time
// (see multiply; here sums come from the outer caches).
void add_products(const Planes& x, const Planes& y, const Planes& sums, int64_t plane,
                  int64_t column, bool first) {
  constexpr int64_t terms = 128;
  const int64_t width = y.width(column);
  float* to = sums.at(0, column) + plane * sums.step();
  for (int64_t i = 0; i < x.rows; i += terms)
    kernels().gemm_f32.small(x.data + plane * x.step() + i * x.channels, 1, x.channels,
                             y.at(i, column) + plane * y.step(), width, to, width, x.channels,
                             width, std::min(terms, x.rows - i), 1, first && !i ? 0 : 1);
}

// Memory for the planes of so many tiles, and these planes.
class ImagePlanes {
 public:
  ImagePlanes(const WeightWork& work, int64_t most)
      : x_channels_(work.x.channels),
        y_channels_(work.y.channels),
        panel_(work.method.panel),
        y_(work.method.planes() * Planes::step_of(most, x_channels_)),
        room_(y_ + work.method.planes() * Planes::step_of(most, y_channels_)) {}
  Planes x(int64_t rows) const { return {room_.data(), rows, x_channels_, x_channels_}; }
  Planes y(int64_t rows) const { return {room_.data() + y_, rows, y_channels_, panel_}; }

 private:
  int64_t x_channels_, y_channels_, panel_, y_;
  Room room_;
};

// Calls f with tiles some at a time, beginning and number.
template <class F>
void each_part(int64_t begin, int64_t end, int64_t most, F f) {
  for (int64_t i = begin; i < end; i += most) f(i, std::min(most, end - i));
}

// By all threads, one step after the other, for sums that are large. The planes of tiles should
// stay in the caches of all threads, and be enough that adding to the sums takes little time.
void sum_together(Work& threads, const WeightWork& work, const Planes& sums) {
  const int64_t bytes = plane_bytes(work.method, work.x.channels + work.y.channels);
  const int64_t parts = ceil_div(work.tiles.count, std::max<int64_t>((8 << 20) / bytes, 128));
  const int64_t most = ceil_div(work.tiles.count, parts);
  const ImagePlanes planes(work, most);
  each_part(0, work.tiles.count, most, [&](int64_t tile, int64_t rows) {
    const Planes x = planes.x(rows), y = planes.y(rows);
    threads.each(rows, 8,
                 [&](int64_t begin, int64_t end) { evaluate_both(work, tile, x, y, begin, end); });
    const int64_t panels = ceil_div(y.channels, y.panel);
    threads.each(work.method.planes() * panels, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        add_products(x, y, sums, i / panels, i % panels * y.panel, tile == 0);
    });
  });
}

// Sums that are small: some tiles after the other by one thread, in its own cache.
void sum_alone(const WeightWork& work, int64_t begin, int64_t end, const Planes& sums) {
  const int64_t bytes = plane_bytes(work.method, work.x.channels + work.y.channels);
  const int64_t most = std::clamp<int64_t>((384 << 10) / bytes, 24, 96);
  const ImagePlanes planes(work, most);
  each_part(begin, end, most, [&](int64_t tile, int64_t rows) {
    const Planes x = planes.x(rows), y = planes.y(rows);
    evaluate_both(work, tile, x, y, 0, rows);
    for (int64_t plane = 0; plane < work.method.planes(); ++plane) {
      for (int64_t c = 0; c < y.channels; c += y.panel)
        add_products(x, y, sums, plane, c, tile == begin);
    }
  });
}

// The tiles are cut into a few pieces, however many threads there are, each with sums of its own.
// They are added up in the first of them.
void sum_by_pieces(Work& threads, const WeightWork& work, const Planes& sums, int64_t pieces) {
  const int64_t size = work.method.planes() * sums.step(), count = work.tiles.count;
  threads.each(pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Planes own = sums;
      own.data += i * size;
      sum_alone(work, count * i / pieces, count * (i + 1) / pieces, own);
    }
  });
  // Between planes lies memory that nobody has written: what is found there is not to be added.
  const int64_t used = sums.rows * sums.channels;
  threads.each(work.method.planes(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      float* to = sums.data + plane * sums.step();
      for (int64_t k = 1; k < pieces; ++k) {
        const float* from = to + k * size;
        for (int64_t i = 0; i < used; ++i) to[i] += from[i];
      }
    }
  });
}

bool make_weight(const WeightWork& work) {
  const int64_t x_channels = work.x.channels, y_channels = work.y.channels;
  const bool small = plane_bytes(work.method, x_channels * y_channels) <= 512 << 10;
  const int64_t pieces = small ? std::clamp<int64_t>(work.tiles.count / 48, 1, 8) : 1;
  const Room room(pieces * work.method.planes() * Planes::step_of(x_channels, y_channels));
  const Planes sums{room.data(), x_channels, y_channels, work.method.panel};
  Work threads;
  if (small)
    sum_by_pieces(threads, work, sums, pieces);
  else
    sum_together(threads, work, sums);
  take_weight(work.method, sums, work.weight, work.last, threads);
  return threads.valid();
}

// --- Which convolutions, by measurement

bool suits(const ConvShape& s) {
  using Sizes = ConvShape::Sizes;
  const Sizes ones{1, 1, 1};
  const int64_t lanes = methods().small.lanes;
  return s.groups == 1 && s.kernel == Sizes{1, 3, 3} && s.stride == ones && s.dilation == ones &&
         s.x[0] == 1 && s.y[0] == 1 && s.padding[0] == 0 && s.padding[1] < taps &&
         s.padding[2] < taps && s.x_channels % lanes == 0 && s.y_channels % lanes == 0;
}

int64_t tile_count(const Method& method, Pass pass, const ConvShape& s) {
  return Tiles(method, s, pass == Pass::x ? s.x : s.y).count;
}

// Evaluating a weight costs as much as many tiles; one that is kept still has four times its size.
bool worth_large(Pass pass, const ConvCall& call) {
  const ConvShape& s = call.shape;
  const int64_t count = tile_count(methods().large, pass, s);
  const int64_t least_channels = std::min(s.x_channels, s.y_channels);
  const int64_t work = count * s.x_channels * s.y_channels;
  if (pass != Pass::weight && call.kept) return count >= 16 && work >= 1 << 16;
  return count >= 32 && work >= 3 << 16 && (pass != Pass::weight || least_channels >= 32);
}

// What both ways cost per pair of channels, in products, was fitted to measurements: evaluations of
// a tile take as long as some of its products, those of a weight as long as hundreds (between what
// one costs that is kept and one that is not: which way is taken should not depend on that). There
// should be a clear gain.
bool worth_small(Pass pass, const ConvShape& s) {
  const bool weight = pass == Pass::weight;
  const auto pixels = static_cast<double>(s.batch * (pass == Pass::x ? s.x_size() : s.y_size()));
  const auto tiles = static_cast<double>(tile_count(methods().small, pass, s));
  const auto x = static_cast<double>(s.x_channels), y = static_cast<double>(s.y_channels);
  const double per_weight = weight ? 200 : 350;
  const double per_call = weight ? 2.5e6 : 3.5e5;
  const double cost = tiles * 16 * (1 + 12 / x + 12 / y) + per_weight + per_call / (x * y);
  return 1.1 * cost < 9 * pixels;
}

// Plain sums must be at hand, in the same order: see conv_fast. For old processors oneDNN has not
// all passes.
bool takes_small(Pass pass, const ConvShape& s) {
  return isa() != Isa::baseline && onednn::usual_block() == methods().small.lanes &&
         worth_small(pass, s);
}

// The method for a convolution, or null.
const Method* method_for(Pass pass, const ConvCall& call) {
  const int64_t lanes = methods().small.lanes;
  if (call.dtype != DType::float32 || !suits(call.shape)) return nullptr;
  if ((call.x_block && call.x_block != lanes) || (call.y_block && call.y_block != lanes))
    return nullptr;
  if (call.less_exact && worth_large(pass, call)) return &methods().large;
  return takes_small(pass, call.shape) ? &methods().small : nullptr;
}

// An image of a call that is neither in blocks nor has its channels last, in blocks meanwhile.
class InBlocks {
 public:
  InBlocks(const ConvCall& call, char* data, int64_t channels, const ConvShape::Sizes& size,
           bool arranged, bool made)
      : plain_(reinterpret_cast<float*>(data)),
        image_{plain_,
               channels,
               size[1],
               size[2],
               call.channels_last && !arranged,
               methods().small.lanes},
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

bool enabled() { return less_exact.load(std::memory_order_relaxed); }
void set_enabled(bool value) { less_exact.store(value, std::memory_order_relaxed); }

bool takes(const ConvShape& shape) { return suits(shape) && takes_small(Pass::y, shape); }

std::optional<int> result_block(Pass pass, const ConvCall& call) {
  if (!method_for(pass, call)) return std::nullopt;
  return call.free_result ? static_cast<int>(methods().small.lanes) : 0;
}

Done conv(Pass pass, const ConvCall& call) {
  const Method* method = method_for(pass, call);
  if (!method) return Done::no;
  const ConvShape& s = call.shape;
  const bool makes_x = pass == Pass::x, makes_y = pass == Pass::y;
  const InBlocks x(call, call.x, s.x_channels, s.x, makes_x ? call.free_result : call.x_block != 0,
                   makes_x);
  const InBlocks y(call, call.y, s.y_channels, s.y, makes_y ? call.free_result : call.y_block != 0,
                   makes_y);
  float* weight = reinterpret_cast<float*>(call.weight);
  bool valid = false;
  if (makes_y) {
    const std::span<const float> scales = call.scales();
    const Scratch<float> shifts(static_cast<int64_t>(scales.size()));
    if (call.scale) scale_bias(call, shifts.data());
    const auto* bias = call.scale ? shifts.data() : reinterpret_cast<const float*>(call.bias);
    valid = make_image({*method,
                        x.image(),
                        y.image(),
                        Tiles(*method, s, s.y),
                        s.padding,
                        {weight, s.x_channels, s.y_channels, false, call.weight_last, scales},
                        {bias, reinterpret_cast<const float*>(call.other), call.relu},
                        call.kept});
  } else if (makes_x) {
    const ConvShape::Sizes turned{0, taps - 1 - s.padding[1], taps - 1 - s.padding[2]};
    valid = make_image({*method,
                        y.image(),
                        x.image(),
                        Tiles(*method, s, s.x),
                        turned,
                        {weight, s.y_channels, s.x_channels, true, call.weight_last, {}},
                        {reinterpret_cast<const float*>(call.bias), nullptr, false},
                        call.kept});
  } else {
    valid = make_weight({*method, x.image(), y.image(), Tiles(*method, s, s.y), s.padding, weight,
                         call.weight_last});
  }
  return valid ? Done::yes : Done::doubtful;
}

}  // namespace winograd
}  // namespace wisp::cpu
