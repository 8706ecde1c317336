#include "cpu/onednn.h"

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <cstring>
#include <list>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/half.h"
#include "base/parallel.h"
#include "cpu/isa.h"
#include "cpu/scratch.h"

namespace wisp::cpu::onednn {

namespace {
std::atomic<bool> wanted{true};
}  // namespace

bool enabled() { return wanted.load(std::memory_order_relaxed); }
void set_enabled(bool value) { wanted.store(value); }

}  // namespace wisp::cpu::onednn

#ifndef WISP_ONEDNN_NAME

namespace wisp::cpu::onednn {
bool available() { return false; }
bool has_bfloat16() { return false; }
int usual_block() { return 0; }
bool conv(Pass, const ConvCall&) { return false; }
std::optional<int> result_block(Pass, const ConvCall&) { return std::nullopt; }
}  // namespace wisp::cpu::onednn

#else

#include "cpu/onednn_primitives.h"

namespace wisp::cpu::onednn {

namespace {

// --- Memory for copies and for what primitives keep meanwhile

constexpr size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

class AlignedScratch {
 public:
  explicit AlignedScratch(size_t bytes) : memory_(static_cast<int64_t>(bytes) + 64) {}
  char* data() const {
    return reinterpret_cast<char*>(aligned(reinterpret_cast<uintptr_t>(memory_.data())));
  }

 private:
  Scratch<char> memory_;
};

// --- A batch norm behind a convolution: it is a part of weight and bias

int64_t weight_elements(const ConvShape& s) {
  return s.y_channels * s.x_channels / s.groups * s.window();
}

void scale_weight(const ConvCall& call, float* scaled) {
  const std::span<const float> scale = call.scales();
  const ConvShape& s = call.shape;
  const auto* weight = reinterpret_cast<const float*>(call.weight);
  const int64_t size = s.x_channels / s.groups * s.window();
  parallel_for(s.y_channels, std::max<int64_t>(1, 32768 / size), [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c)
      for (int64_t i = c * size; i < (c + 1) * size; ++i)
        scaled[i] = weight[i] * scale[static_cast<size_t>(c)];
  });
}

// A primitive for a slice, and its tensors.
class Piece {
 public:
  // Pieces may share x in the order they want; a weight left `raw` stays in the order they make.
  Piece(const Key& key, const Slice& slice, bool shares_x, bool raw_weight)
      : places_(key, slice), shares_x_(shares_x) {
    Layouts layouts = layouts_of(key, slice);
    const bool keep = keeps_order(key, slice);
    PrimitiveDesc made = primitive_for(key, layouts, keep);
    if (!made.get() && keep && key.pass == Pass::weight) made = primitive_for(key, layouts, false);
    if (!made.get()) return;
    if (key.pass == Pass::weight) layouts.weight.type = dnnl_f32;
    const Library& lib = library();
    auto query = [&](dnnl_query_t what, int index) {
      return lib.primitive_desc_query_md(made.get(), what, index);
    };
    const bool makes_y = key.pass == Pass::y, makes_x = key.pass == Pass::x,
               makes_weight = key.pass == Pass::weight;
    {
      const Threads threads(shares_x ? key.threads : omp_get_max_threads());
      x_ = image(layouts.x, layouts.x.desc(), wanted_x(made, key.pass), makes_x, key.free_result);
    }
    const_dnnl_memory_desc_t weight =
        query(makes_weight ? dnnl_query_diff_weights_md : dnnl_query_weights_md, 0);
    weight_size_ = lib.memory_desc_get_size(weight);
    weight_ = raw_weight ? Port(weight)
                         : Port(layouts.weight, weight, makes_weight ? Port::written : Port::read);
    if (raw_weight) total_ = Port(layouts.weight, weight, Port::written);
    y_ = image(layouts.y, y_desc(key, slice, layouts.y), wanted_y(made, key.pass), makes_y,
               key.free_result);
    if (makes_y && key.bias) {
      check(lib.memory_create(bias_.out(), query(dnnl_query_weights_md, 1), lib.engine, nullptr),
            "make a tensor");
    }
    if (key.adds) {
      const_dnnl_memory_desc_t y = query(dnnl_query_dst_md, 0);
      check(lib.memory_create(other_.out(), y, lib.engine, nullptr), "make a tensor");
    }
    const_dnnl_memory_desc_t scratch = query(dnnl_query_scratchpad_md, 0);
    scratch_size_ = lib.memory_desc_get_size(scratch);
    check(lib.memory_create(scratch_.out(), scratch, lib.engine, nullptr), "make a tensor");
    arguments(key);
    check(lib.primitive_create(primitive_.out(), made.get()), "make a convolution");
  }

  bool usable() const { return primitive_.get(); }
  const Places& places() const { return places_; }
  const Port& x() const { return x_; }
  size_t weight_size() const { return weight_size_; }
  // From a raw weight to the order of the caller; it has none to run if that is the same.
  const Port& total() const { return total_; }
  // The width of blocks that a free result is left in.
  int result_block() const { return result_block_; }

  // The result as a whole, with what is done to it in the same step.
  void run(const ConvCall& call) const {
    if (other_.get()) library().memory_set_data_handle(other_.get(), const_cast<char*>(call.other));
    Ref<Object> once;  // of a weight that cannot be kept
    Ref<Object>* slot = call.kept || !call.scale ? call.kept : &once;
    const KeptWeight* kept = slot && keeps_weight() ? &keep_weight(call, *slot) : nullptr;
    const Scratch<float> shifts(call.scale ? call.shape.y_channels : 0);
    if (call.scale) scale_bias(call, shifts.data());
    const char* bias = call.scale ? reinterpret_cast<const char*>(shifts.data()) : call.bias;
    run(call.x, call.weight, call.y, bias, nullptr, kept);
  }

  // Whether it wants the weight in an order of its own.
  bool keeps_weight() const { return weight_.wanted(); }

  // `x_copy` is x in the order that this piece wants, if pieces share it; `kept` is the weight, if
  // it was kept so.
  void run(char* x, char* weight, char* y, const char* bias, char* x_copy,
           const KeptWeight* kept = nullptr) const {
    const size_t sizes[] = {shares_x_ ? 0 : x_.copy_size(), kept ? 0 : weight_.copy_size(),
                            y_.copy_size(), scratch_size_};
    size_t offsets[4], total = 0;
    for (int i = 0; i < 4; ++i) {
      offsets[i] = total;
      total += aligned(sizes[i]);
    }
    const AlignedScratch memory(total);
    char* start = memory.data();
    const Library& lib = library();
    x_.place(x, shares_x_ ? x_copy : start + offsets[0]);
    weight_.place(weight, kept ? kept->data() : start + offsets[1]);
    y_.place(y, start + offsets[2]);
    lib.memory_set_data_handle(scratch_.get(), start + offsets[3]);
    if (bias_.get()) lib.memory_set_data_handle(bias_.get(), const_cast<char*>(bias));
    if (!shares_x_) x_.before();
    if (!kept) weight_.before();
    y_.before();
    check(lib.primitive_execute(primitive_.get(), stream(), static_cast<int>(args_.size()),
                                args_.data()),
          "run a convolution");
    x_.after();
    weight_.after();
    y_.after();
  }

 private:
  const KeptWeight& keep_weight(const ConvCall& call, Ref<Object>& kept) const {
    const std::span<const float> scale = call.scales();
    const auto* there = dynamic_cast<const KeptWeight*>(kept.get());
    if (there && there->suits(weight_, scale, call.weight_last)) return *there;
    auto made = Ref<KeptWeight>::adopt(new KeptWeight(weight_, scale, call.weight_last));
    // Not from memory that is kept for the next call: it will not be needed there.
    std::unique_ptr<float[]> scaled;
    if (call.scale) {
      scaled.reset(new float[static_cast<size_t>(weight_elements(call.shape))]);
      scale_weight(call, scaled.get());
    }
    weight_.place(scaled ? reinterpret_cast<char*>(scaled.get()) : call.weight, made->data());
    weight_.before();
    const KeptWeight& result = *made;
    kept = Ref<Object>::adopt(made.detach());
    return result;
  }

  // Channels of an image in blocks are not on their own: they are named as a part of it.
  static Desc y_desc(const Key& key, const Slice& slice, Layout layout) {
    if (!key.y_block || !key.by_channels_of(slice)) return layout.desc();
    layout.sizes[1] = key.shape.y_channels;
    return layout.part(slice.channels);
  }

  Port image(const Layout& layout, const Desc& given, const_dnnl_memory_desc_t wanted, bool made,
             bool free) {
    if (made && free) {
      result_block_ = layout.block_of(wanted);
      if (result_block_) return Port(wanted);
    }
    return Port(given, wanted, made ? Port::written : Port::read);
  }

  void arguments(const Key& key) {
    const Pass pass = key.pass;
    const bool makes_x = pass == Pass::x, makes_y = pass == Pass::y;
    args_ = {{makes_x ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, x_.memory()},
             {pass == Pass::weight ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, weight_.memory()},
             {makes_y ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, y_.memory()},
             {DNNL_ARG_SCRATCHPAD, scratch_.get()}};
    if (bias_.get()) args_.push_back({DNNL_ARG_BIAS, bias_.get()});
    if (other_.get())  // the first step: see attributes_of()
      args_.push_back({DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, other_.get()});
  }

  Places places_;
  bool shares_x_;
  Port x_, weight_, y_, total_;
  Memory bias_, other_, scratch_;
  size_t scratch_size_ = 0, weight_size_ = 0;
  int result_block_ = 0;
  std::vector<dnnl_exec_arg_t> args_;
  Primitive primitive_;
};

// How the weight's pass is cut. oneDNN would cut sums over the batch by the number of threads;
// pieces that depend on the shape alone make the result independent of it.
constexpr int64_t most_pieces = 8;

// Some members of the batch each: every piece makes a whole weight, to be added up. Good for small
// weights; with large ones, pieces of some channels are made from copies of parts of y.
bool is_cut_by_batch(const ConvShape& s) {
  const int64_t weight = weight_elements(s);
  const int64_t images = s.batch * (s.x_channels * s.x_size() + s.y_channels * s.y_size());
  return s.batch > 1 && weight * std::min(most_pieces, s.batch) <= images;
}

int64_t channels_per_piece(const ConvShape& s) {
  int64_t part = 16;
  while (s.y_channels % (2 * part) == 0 && s.y_channels / part > most_pieces) part *= 2;
  return s.y_channels % part == 0 ? part : s.y_channels % 8 == 0 ? 8 : s.y_channels;
}

// Everything that can be prepared for the convolutions of one key.
class Plan {
 public:
  explicit Plan(const Key& key) : key_(key), by_batch_(is_cut_by_batch(key.shape)) {
    const ConvShape& s = key.shape;
    if (key.pass != Pass::weight) {
      const Threads threads(key.threads);
      add({{0, s.y_channels}, 0, s.batch});
      return;
    }
    const Threads threads(1);
    if (by_batch_) {
      const int64_t members = (s.batch + most_pieces - 1) / most_pieces;
      for (int64_t first = 0; first < s.batch; first += members) {
        add({{0, s.y_channels}, first, std::min(members, s.batch - first)});
      }
      return;
    }
    if (s.groups > 1 && key.x_block) return;  // parts of blocks
    const int64_t part = channels_per_piece(s);
    for (int64_t at = 0; at < s.y_channels; at += part) add({{at, part}, 0, s.batch});
  }

  bool usable() const { return !pieces_.empty() && usable_; }
  int result_block() const { return pieces_[0]->result_block(); }
  bool keeps_weight() const { return pieces_[0]->keeps_weight(); }

  void run(const ConvCall& call) const {
    if (key_.pass == Pass::weight) return by_batch_ ? run_members(call) : run_channels(call);
    const Threads threads(key_.threads);
    pieces_[0]->run(call);
  }

  // The same with relu at its end; false if it may have met NaN, which it would make zeros of: a
  // thread that compares one has its flag raised. Flags that others raise cost a second
  // computation, so after a few it is not tried any more.
  bool run_relu(const ConvCall& call) const {
    std::feclearexcept(FE_INVALID);
    run(call);
    std::atomic<bool> raised{false};
    on_each_thread(key_.threads, [&] {
      if (!std::fetestexcept(FE_INVALID)) return;
      raised = true;
      std::feclearexcept(FE_INVALID);
    });
    if (raised) ++failures_;
    return !raised;
  }
  bool fails_often() const { return failures_ >= most_failures; }

 private:
  static constexpr int64_t weight_item = sizeof(float);

  bool shares_x() const {
    return key_.pass == Pass::weight && !by_batch_ && key_.shape.groups == 1;
  }
  void add(const Slice& slice) {
    if (!usable_) return;
    pieces_.push_back(
        std::make_unique<Piece>(key_, slice, shares_x(), key_.pass == Pass::weight && by_batch_));
    usable_ = pieces_.back()->usable();
  }
  template <class F>
  void each_piece(F f) const {
    parallel_for(static_cast<int64_t>(pieces_.size()), 1, [&](int64_t begin, int64_t end) {
      const Threads threads(1);
      for (int64_t i = begin; i < end; ++i) f(*pieces_[static_cast<size_t>(i)], i);
    });
  }

  void run_channels(const ConvCall& call) const {
    const Port& x = pieces_[0]->x();
    const AlignedScratch x_copy(shares_x() ? x.copy_size() : 0);
    if (shares_x()) {
      const Threads threads(key_.threads);
      x.place(call.x, x_copy.data());
      x.before();
    }
    each_piece([&](const Piece& piece, int64_t) {
      const Places& at = piece.places();
      piece.run(call.x + at.x * key_.image_item(), call.weight + at.weight * weight_item,
                call.y + at.y * key_.image_item(), nullptr, x_copy.data());
    });
  }

  void run_members(const ConvCall& call) const {
    const Port& total = pieces_[0]->total();
    const size_t size = aligned(pieces_[0]->weight_size());
    const AlignedScratch parts(size * pieces_.size());
    each_piece([&](const Piece& piece, int64_t i) {
      const Places& at = piece.places();
      piece.run(call.x + at.x * key_.image_item(), parts.data() + static_cast<size_t>(i) * size,
                call.y + at.y * key_.image_item(), nullptr, nullptr);
    });
    add_up(reinterpret_cast<float*>(parts.data()), static_cast<int64_t>(size / weight_item));
    const Threads threads(1);
    total.place(call.weight, parts.data());
    if (total.copy_size()) {
      total.after();
    } else {
      std::memcpy(call.weight, parts.data(), pieces_[0]->weight_size());
    }
  }

  // The parts of the weight, in order, into the first.
  void add_up(float* parts, int64_t size) const {
    const auto count = static_cast<int64_t>(pieces_.size());
    parallel_for(size, 1 << 14, [&](int64_t begin, int64_t end) {
      for (int64_t part = 1; part < count; ++part) {
        const float* other = parts + part * size;
#pragma GCC ivdep
        for (int64_t i = begin; i < end; ++i) parts[i] += other[i];
      }
    });
  }

  static constexpr int most_failures = 4;

  Key key_;
  mutable int failures_ = 0;  // of run_relu(); a plan belongs to one thread
  bool by_batch_, usable_ = true;
  std::vector<std::unique_ptr<Piece> > pieces_;
};

// The plans of a thread, the latest used first. Each thread has its own: no locks, none of which a
// fork could leave closed, and tensors of a primitive are set by one thread at a time.
class Plans {
 public:
  const Plan& get(const Key& key) {
    // A call asks for its plan twice.
    if (!plans_.empty() && plans_.front().first == key) return plans_.front().second;
    const auto found = index_.find(key);
    if (found != index_.end()) {
      plans_.splice(plans_.begin(), plans_, found->second);
      return plans_.front().second;
    }
    plans_.emplace_front(key, Plan(key));
    index_.emplace(key, plans_.begin());
    if (plans_.size() > most) {
      index_.erase(plans_.back().first);
      plans_.pop_back();
    }
    return plans_.front().second;
  }

 private:
  static constexpr size_t most = 256;
  std::list<std::pair<Key, Plan> > plans_;
  std::unordered_map<Key, std::list<std::pair<Key, Plan> >::iterator, KeyHash> index_;
};

// Of an image in blocks of channels, all of them if they are last; 0: plane by plane.
void add_bias(const ConvCall& call, int block) {
  const ConvShape& s = call.shape;
  const float* bias = reinterpret_cast<const float*>(call.bias);
  float* x = reinterpret_cast<float*>(call.x);
  const int64_t size = s.x_size(), channels = s.x_channels;
  if (call.channels_last || block) {
    const int64_t lanes = call.channels_last ? channels : block, blocks = channels / lanes;
    parallel_for(s.batch * blocks * size, std::max<int64_t>(1, 32768 / lanes),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     const float* own = bias + i / size % blocks * lanes;
                     for (int64_t c = 0; c < lanes; ++c) x[i * lanes + c] += own[c];
                   }
                 });
    return;
  }
  parallel_for(s.batch * channels, std::max<int64_t>(1, 32768 / size),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i)
                   for (int64_t j = 0; j < size; ++j) x[i * size + j] += bias[i % channels];
               });
}

// --- Which convolutions are faster here than as matrix products, by measurement

bool is_depthwise(const ConvShape& s) {
  return s.groups > 1 && s.groups == s.x_channels && s.groups == s.y_channels;
}

bool worth_it(Pass pass, const ConvCall& call) {
  const ConvShape& s = call.shape;
  const int64_t x_channels = s.x_channels / s.groups, y_channels = s.y_channels / s.groups;
  const double work = static_cast<double>(s.batch * s.y_channels * s.y_size()) *
                      static_cast<double>(x_channels * s.window());
  if (work < 1.5e5) return false;
  if (is_depthwise(s)) return s.groups % 8 == 0;
  if (s.groups > 1 && (pass == Pass::weight || std::min(x_channels, y_channels) < 16)) return false;
  if (call.channels_last || call.x_block || call.y_block) return true;
  if (call.dtype == DType::bfloat16) return true;  // the other way is by copies of float32
  if (s.window() == 1) return false;               // a plain product, of images as they are
  if (pass == Pass::weight) return x_channels >= 8 || y_channels % 8 == 0;
  return pass == Pass::y || x_channels >= 6;  // fewer would be mostly padding
}

bool takes(Pass pass, const ConvCall& call) {
  if (call.dtype == DType::bfloat16) return has_bfloat16() && !(pass == Pass::x && call.bias);
  return call.dtype == DType::float32 && enabled() && available();
}

// Null if this convolution is none for oneDNN.
const Plan* plan_for(Pass pass, const ConvCall& call) {
  if (!worth_it(pass, call) || !takes(pass, call)) return nullptr;
  thread_local Plans plans;
  const bool makes_y = pass == Pass::y, makes_x = pass == Pass::x;
  const Plan& plan = plans.get({.shape = call.shape,
                                .pass = pass,
                                .bfloat16 = call.dtype == DType::bfloat16,
                                .channels_last = call.channels_last,
                                .weight_last = call.weight_last,
                                .bias = call.bias || call.scale,
                                .free_result = call.free_result,
                                .adds = call.other != nullptr,
                                .relu = call.relu,
                                .x_block = makes_x ? 0 : call.x_block,
                                .y_block = makes_y ? 0 : call.y_block,
                                .threads = in_parallel_region() ? 1 : num_threads()});
  if (!plan.usable() || plan.fails_often()) return nullptr;
  return !call.scale || plan.keeps_weight() ? &plan : nullptr;
}

}  // namespace

bool available() { return library().engine; }

bool has_bfloat16() { return has_bfloat_instructions() && enabled() && available(); }

std::optional<int> result_block(Pass pass, const ConvCall& call) {
  const Plan* plan = plan_for(pass, call);
  return plan ? std::optional(plan->result_block()) : std::nullopt;
}

bool conv(Pass pass, const ConvCall& call) {
  const Plan* plan = plan_for(pass, call);
  if (!plan) return false;
  if (call.relu) return plan->run_relu(call);
  plan->run(call);
  if (pass == Pass::x && call.bias) add_bias(call, plan->result_block());
  return true;
}

int usual_block() {
  if (!enabled() || !available()) return 0;
  static const int width = [] {
    const ConvShape shape{.batch = 1,
                          .groups = 1,
                          .x_channels = 16,
                          .y_channels = 16,
                          .x = {1, 16, 16},
                          .y = {1, 16, 16},
                          .kernel = {1, 3, 3},
                          .stride = {1, 1, 1},
                          .padding = {0, 1, 1},
                          .dilation = {1, 1, 1}};
    const ConvCall call{.shape = shape,
                        .dtype = DType::float32,
                        .channels_last = false,
                        .x = nullptr,
                        .weight = nullptr,
                        .y = nullptr,
                        .bias = nullptr,
                        .free_result = true};
    return result_block(Pass::y, call).value_or(0);
  }();
  return width;
}

}  // namespace wisp::cpu::onednn

#endif
