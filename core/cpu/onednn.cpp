#include "cpu/onednn.h"

#include <algorithm>
#include <atomic>
#include <list>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/parallel.h"
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
bool conv(Pass, const ConvCall&) { return false; }
}  // namespace wisp::cpu::onednn

#else

#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>

#include "cpu/library.h"

extern "C" {
void omp_set_num_threads(int count);
int omp_get_max_threads();
}

namespace wisp::cpu::onednn {

namespace {

// --- The library

#define WISP_DNNL_FUNCTIONS(X)                       \
  X(engine_create)                                   \
  X(stream_create)                                   \
  X(stream_destroy)                                  \
  X(memory_desc_create_with_strides)                 \
  X(memory_desc_create_with_tag)                     \
  X(memory_desc_destroy)                             \
  X(memory_desc_equal)                               \
  X(memory_desc_get_size)                            \
  X(memory_create)                                   \
  X(memory_set_data_handle)                          \
  X(memory_destroy)                                  \
  X(primitive_attr_create)                           \
  X(primitive_attr_set_scratchpad_mode)              \
  X(primitive_attr_destroy)                          \
  X(primitive_desc_next_impl)                        \
  X(primitive_desc_query)                            \
  X(primitive_desc_query_md)                         \
  X(primitive_desc_destroy)                          \
  X(primitive_create)                                \
  X(primitive_execute)                               \
  X(primitive_destroy)                               \
  X(reorder_primitive_desc_create)                   \
  X(convolution_forward_primitive_desc_create)       \
  X(convolution_backward_data_primitive_desc_create) \
  X(convolution_backward_weights_primitive_desc_create)

struct Library {
#define WISP_MEMBER(name) decltype(&::dnnl_##name) name = nullptr;
  WISP_DNNL_FUNCTIONS(WISP_MEMBER)
#undef WISP_MEMBER
  dnnl_engine_t engine = nullptr;  // null: the library cannot be used

  Library() {
    std::string errors;
    void* handle = open_library(WISP_ONEDNN_NAME, WISP_ONEDNN_PATH, errors);
    if (!handle || !bind(handle)) return;
    if (engine_create(&engine, dnnl_cpu, 0) != dnnl_success) engine = nullptr;
  }

 private:
  bool bind(void* handle) {
    bool complete = true;
#define WISP_BIND(name)                                                  \
  name = reinterpret_cast<decltype(name)>(dlsym(handle, "dnnl_" #name)); \
  complete = complete && name;
    WISP_DNNL_FUNCTIONS(WISP_BIND)
#undef WISP_BIND
    return complete;
  }
};

const Library& library() {
  static const Library opened;
  return opened;
}

void check(dnnl_status_t status, const char* what) {
  WISP_CHECK(status == dnnl_success, "convolution(): oneDNN cannot ", what, " (status ",
             static_cast<int>(status), ")");
}

// One of oneDNN's objects, destroyed with its owner.
template <class T, auto Library::* destroy>
class Owned {
 public:
  Owned() = default;
  Owned(Owned&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Owned() {
    if (object_) (library().*destroy)(object_);
  }
  T get() const { return object_; }
  T* out() { return &object_; }

 private:
  T object_ = nullptr;
};
using Desc = Owned<dnnl_memory_desc_t, &Library::memory_desc_destroy>;
using Memory = Owned<dnnl_memory_t, &Library::memory_destroy>;
using Attr = Owned<dnnl_primitive_attr_t, &Library::primitive_attr_destroy>;
using PrimitiveDesc = Owned<dnnl_primitive_desc_t, &Library::primitive_desc_destroy>;
using Primitive = Owned<dnnl_primitive_t, &Library::primitive_destroy>;
using Stream = Owned<dnnl_stream_t, &Library::stream_destroy>;

// The stream of this thread: on a CPU no more than a formality.
dnnl_stream_t stream() {
  thread_local Stream own = [] {
    Stream made;
    check(library().stream_create(made.out(), library().engine, dnnl_stream_default_flags),
          "make a stream");
    return made;
  }();
  return own.get();
}

// How many threads oneDNN uses meanwhile; it asks OpenMP, whose setting belongs to the process.
class Threads {
 public:
  explicit Threads(int count) : before_(omp_get_max_threads()) {
    if (count != before_) omp_set_num_threads(count);
  }
  ~Threads() { omp_set_num_threads(before_); }

 private:
  int before_;
};

// --- Tensors

struct Layout {
  int ndim = 0;
  dnnl_dims_t sizes = {}, strides = {};
  void add(int64_t size, int64_t stride) {
    sizes[ndim] = size;
    strides[ndim++] = stride;
  }
  Desc desc() const {
    Desc made;
    check(library().memory_desc_create_with_strides(made.out(), ndim, sizes, dnnl_f32, strides),
          "describe a tensor");
    return made;
  }
  // The same sizes in whatever order of elements suits the primitive best.
  Desc any() const {
    Desc made;
    check(library().memory_desc_create_with_tag(made.out(), ndim, sizes, dnnl_f32,
                                                dnnl_format_tag_any),
          "describe a tensor");
    return made;
  }
};

// One tensor of a primitive. If the primitive wants another order of elements than the caller's,
// there is a copy, filled before or read after it runs.
class Port {
 public:
  enum Use { read, written };
  Port() = default;
  Port(const Layout& given, const_dnnl_memory_desc_t wanted, Use use) : use_(use) {
    const Library& lib = library();
    const Desc desc = given.desc();
    check(lib.memory_create(given_.out(), desc.get(), lib.engine, nullptr), "make a tensor");
    if (lib.memory_desc_equal(desc.get(), wanted)) return;
    size_ = lib.memory_desc_get_size(wanted);
    check(lib.memory_create(copy_.out(), wanted, lib.engine, nullptr), "make a tensor");
    const_dnnl_memory_desc_t from = use == read ? desc.get() : wanted;
    const_dnnl_memory_desc_t to = use == read ? wanted : desc.get();
    PrimitiveDesc reorder;
    check(
        lib.reorder_primitive_desc_create(reorder.out(), from, lib.engine, to, lib.engine, nullptr),
        "reorder a tensor");
    check(lib.primitive_create(reorder_.out(), reorder.get()), "reorder a tensor");
  }

  size_t copy_size() const { return size_; }
  dnnl_memory_t memory() const { return copy_.get() ? copy_.get() : given_.get(); }
  void place(char* data, char* copy) const {
    library().memory_set_data_handle(given_.get(), data);
    if (copy_.get()) library().memory_set_data_handle(copy_.get(), copy);
  }
  void before() const {
    if (use_ == read) run(given_, copy_);
  }
  void after() const {
    if (use_ == written) run(copy_, given_);
  }

 private:
  void run(const Memory& from, const Memory& to) const {
    if (!reorder_.get()) return;
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from.get()}, {DNNL_ARG_TO, to.get()}};
    check(library().primitive_execute(reorder_.get(), stream(), 2, args), "reorder a tensor");
  }

  Memory given_, copy_;
  Primitive reorder_;
  size_t size_ = 0;
  Use use_ = read;
};

// --- Convolutions

// Some of the channels of y (and, if there are groups, those of x that belong to them).
struct Channels {
  int64_t begin, count;
};

struct Layouts {
  Layout x, weight, y;
};

// A conv1d is a conv2d of height one.
int dims_of(const ConvShape& s) {
  const bool flat = s.x[0] == 1 && s.y[0] == 1 && s.kernel[0] == 1 && s.padding[0] == 0;
  return flat ? 2 : 3;
}

Layout image_layout(int64_t batch, int64_t channels, int64_t all_channels,
                    const ConvShape::Sizes& space, int dims, bool channels_last) {
  const int64_t size = space[0] * space[1] * space[2];
  Layout layout;
  layout.add(batch, all_channels * size);
  layout.add(channels, channels_last ? 1 : size);
  int64_t step = size * (channels_last ? all_channels : 1);
  for (int i = ConvShape::dims - dims; i < ConvShape::dims; ++i) {
    step /= space[i];
    layout.add(space[i], step);
  }
  return layout;
}

Layouts layouts_of(const ConvShape& s, Channels part, bool channels_last) {
  const int dims = dims_of(s);
  const bool grouped = s.groups > 1;
  const int64_t groups = grouped ? s.groups * part.count / s.y_channels : 1;
  const int64_t per_group = s.x_channels / s.groups;
  Layouts made;
  made.x = image_layout(s.batch, per_group * groups, s.x_channels, s.x, dims, channels_last);
  made.y = image_layout(s.batch, part.count, s.y_channels, s.y, dims, channels_last);
  int64_t step = part.count * per_group * s.window();
  auto add = [&](int64_t size) { made.weight.add(size, step /= size); };
  if (grouped) add(groups);
  add(part.count / groups);
  add(per_group);
  for (int i = ConvShape::dims - dims; i < ConvShape::dims; ++i) add(s.kernel[i]);
  return made;
}

struct Key {
  ConvShape shape;
  Pass pass;
  bool channels_last, bias;
  int threads;
  bool operator==(const Key&) const = default;
};

struct KeyHash {
  size_t operator()(const Key& key) const {
    const ConvShape& s = key.shape;
    uint64_t hash = static_cast<uint64_t>(key.pass) * 4 + key.channels_last * 2 + key.bias;
    auto add = [&](int64_t n) { hash = (hash ^ static_cast<uint64_t>(n)) * 0x9e3779b97f4a7c15u; };
    for (int64_t n : {s.batch, s.groups, s.x_channels, s.y_channels}) add(n);
    for (const auto& sizes : {s.x, s.y, s.kernel, s.stride, s.padding, s.dilation})
      for (int64_t n : sizes) add(n);
    add(key.threads);
    return hash ^ (hash >> 32);
  }
};

// A primitive for some channels, and its tensors.
class Piece {
 public:
  Piece(const Key& key, Channels part, bool shares_x) : part_(part), shares_x_(shares_x) {
    const Layouts layouts = layouts_of(key.shape, part, key.channels_last);
    const PrimitiveDesc made = describe(key, layouts);
    if (!made.get()) return;
    const Library& lib = library();
    auto query = [&](dnnl_query_t what, int index) {
      return lib.primitive_desc_query_md(made.get(), what, index);
    };
    const bool makes_y = key.pass == Pass::y, makes_x = key.pass == Pass::x,
               makes_weight = key.pass == Pass::weight;
    {
      const Threads threads(shares_x ? key.threads : omp_get_max_threads());
      x_ = Port(layouts.x, query(makes_x ? dnnl_query_diff_src_md : dnnl_query_src_md, 0),
                makes_x ? Port::written : Port::read);
    }
    weight_ = Port(layouts.weight,
                   query(makes_weight ? dnnl_query_diff_weights_md : dnnl_query_weights_md, 0),
                   makes_weight ? Port::written : Port::read);
    y_ = Port(layouts.y, query(makes_y ? dnnl_query_dst_md : dnnl_query_diff_dst_md, 0),
              makes_y ? Port::written : Port::read);
    if (makes_y && key.bias) {
      check(lib.memory_create(bias_.out(), query(dnnl_query_weights_md, 1), lib.engine, nullptr),
            "make a tensor");
    }
    const_dnnl_memory_desc_t scratch = query(dnnl_query_scratchpad_md, 0);
    scratch_size_ = lib.memory_desc_get_size(scratch);
    check(lib.memory_create(scratch_.out(), scratch, lib.engine, nullptr), "make a tensor");
    arguments(key.pass);
    check(lib.primitive_create(primitive_.out(), made.get()), "make a convolution");
  }

  bool usable() const { return primitive_.get(); }
  const Channels& part() const { return part_; }

  // `x_copy` is x in the order that this piece wants, if pieces share it.
  void run(char* x, char* weight, char* y, const char* bias, char* x_copy) const {
    const size_t sizes[] = {shares_x_ ? 0 : x_.copy_size(), weight_.copy_size(), y_.copy_size(),
                            scratch_size_};
    size_t offsets[4], total = 0;
    for (int i = 0; i < 4; ++i) {
      offsets[i] = total;
      total += (sizes[i] + 63) / 64 * 64;
    }
    const Scratch<char> memory(static_cast<int64_t>(total) + 64);
    char* start =
        reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(memory.data()) + 63) / 64 * 64);
    const Library& lib = library();
    x_.place(x, shares_x_ ? x_copy : start + offsets[0]);
    weight_.place(weight, start + offsets[1]);
    y_.place(y, start + offsets[2]);
    lib.memory_set_data_handle(scratch_.get(), start + offsets[3]);
    if (bias_.get()) lib.memory_set_data_handle(bias_.get(), const_cast<char*>(bias));
    if (!shares_x_) x_.before();
    weight_.before();
    y_.before();
    check(lib.primitive_execute(primitive_.get(), stream(), static_cast<int>(args_.size()),
                                args_.data()),
          "run a convolution");
    x_.after();
    weight_.after();
    y_.after();
  }
  const Port& x() const { return x_; }

 private:
  static PrimitiveDesc describe(const Key& key, const Layouts& layouts);
  void arguments(Pass pass) {
    const bool makes_x = pass == Pass::x, makes_y = pass == Pass::y;
    args_ = {{makes_x ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, x_.memory()},
             {pass == Pass::weight ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, weight_.memory()},
             {makes_y ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, y_.memory()},
             {DNNL_ARG_SCRATCHPAD, scratch_.get()}};
    if (bias_.get()) args_.push_back({DNNL_ARG_BIAS, bias_.get()});
  }

  Channels part_;
  bool shares_x_;
  Port x_, weight_, y_;
  Memory bias_, scratch_;
  size_t scratch_size_ = 0;
  std::vector<dnnl_exec_arg_t> args_;
  Primitive primitive_;
};

// How the window moves, as oneDNN counts.
struct Motion {
  dnnl_dims_t strides, dilates, left, right;
  explicit Motion(const ConvShape& s) {
    const int dims = dims_of(s);
    for (int i = 0; i < dims; ++i) {
      const int from = ConvShape::dims - dims + i;
      strides[i] = s.stride[from];
      dilates[i] = s.dilation[from] - 1;
      left[i] = s.padding[from];
      right[i] = (s.y[from] - 1) * s.stride[from] + (s.kernel[from] - 1) * s.dilation[from] + 1 -
                 s.x[from] - s.padding[from];
    }
  }
};

// Goes on to the first implementation whose sums have an order that does not depend on the number
// of threads. Products of matrices ("gemm", "brg...") cut them accordingly; false if all others
// are.
bool settle(const PrimitiveDesc& desc) {
  const Library& lib = library();
  do {
    const char* name = "";
    lib.primitive_desc_query(desc.get(), dnnl_query_impl_info_str, 0, &name);
    const std::string_view text = name;
    auto has = [&](const char* part) { return text.find(part) != text.npos; };
    if (!has("gemm") && !has("brg") && !has("ref")) return true;
  } while (lib.primitive_desc_next_impl(desc.get()) == dnnl_success);
  return false;
}

// Null if oneDNN does not know such a convolution.
PrimitiveDesc Piece::describe(const Key& key, const Layouts& layouts) {
  const Library& lib = library();
  Attr attr;
  check(lib.primitive_attr_create(attr.out()), "make attributes");
  check(lib.primitive_attr_set_scratchpad_mode(attr.get(), dnnl_scratchpad_mode_user),
        "make attributes");
  // Channels last stay so, where results are images: that is fast and saves copies.
  const bool keep = key.channels_last && key.pass != Pass::weight;
  const Desc x = keep ? layouts.x.desc() : layouts.x.any(),
             y = keep ? layouts.y.desc() : layouts.y.any(), weight = layouts.weight.any();
  Layout bias_layout;
  bias_layout.add(layouts.y.sizes[1], 1);
  const Desc bias = key.bias && key.pass == Pass::y ? bias_layout.desc() : Desc();
  const Motion m(key.shape);
  PrimitiveDesc forward, made;
  dnnl_status_t status = lib.convolution_forward_primitive_desc_create(
      forward.out(), lib.engine, dnnl_forward_training, dnnl_convolution_direct, x.get(),
      weight.get(), bias.get(), y.get(), m.strides, m.dilates, m.left, m.right, attr.get());
  if (status != dnnl_success) return {};
  if (key.pass == Pass::y) return settle(forward) ? std::move(forward) : PrimitiveDesc();
  if (key.pass == Pass::x) {
    status = lib.convolution_backward_data_primitive_desc_create(
        made.out(), lib.engine, dnnl_convolution_direct, x.get(), weight.get(), y.get(), m.strides,
        m.dilates, m.left, m.right, forward.get(), attr.get());
  } else {
    status = lib.convolution_backward_weights_primitive_desc_create(
        made.out(), lib.engine, dnnl_convolution_direct, x.get(), weight.get(), nullptr, y.get(),
        m.strides, m.dilates, m.left, m.right, forward.get(), attr.get());
  }
  return status == dnnl_success && settle(made) ? std::move(made) : PrimitiveDesc();
}

// How many channels of y a piece of the weight has. oneDNN would cut sums over the batch by the
// number of threads; pieces that depend on the shape alone make the result independent of it.
int64_t weight_part(const ConvShape& s) {
  constexpr int64_t most_pieces = 8;
  int64_t part = 16;
  while (s.y_channels % (2 * part) == 0 && s.y_channels / part > most_pieces) part *= 2;
  return s.y_channels % part == 0 ? part : s.y_channels % 8 == 0 ? 8 : s.y_channels;
}

// Everything that can be prepared for the convolutions of one key.
class Plan {
 public:
  explicit Plan(const Key& key) : key_(key) {
    const bool cut = key.pass == Pass::weight;
    const Threads threads(cut ? 1 : key.threads);
    const int64_t channels = key.shape.y_channels, part = cut ? weight_part(key.shape) : channels;
    const bool shares_x = cut && key.shape.groups == 1;
    for (int64_t begin = 0; begin < channels; begin += part) {
      pieces_.push_back(std::make_unique<Piece>(key, Channels{begin, part}, shares_x));
      if (!pieces_.back()->usable()) {
        pieces_.clear();
        return;
      }
    }
  }

  bool usable() const { return !pieces_.empty(); }

  void run(const ConvCall& call) const {
    if (key_.pass == Pass::weight) return run_pieces(call);
    const Threads threads(key_.threads);
    pieces_[0]->run(call.x, call.weight, call.y, call.bias, nullptr);
  }

 private:
  void run_pieces(const ConvCall& call) const {
    const ConvShape& s = key_.shape;
    const Piece& first = *pieces_[0];
    const bool shares_x = s.groups == 1;
    const Scratch<char> x_copy(shares_x ? static_cast<int64_t>(first.x().copy_size()) : 0);
    if (shares_x) {
      const Threads threads(key_.threads);
      first.x().place(call.x, x_copy.data());
      first.x().before();
    }
    constexpr int64_t item = sizeof(float);
    parallel_for(static_cast<int64_t>(pieces_.size()), 1, [&](int64_t begin, int64_t end) {
      const Threads threads(1);
      for (int64_t i = begin; i < end; ++i) {
        const Piece& piece = *pieces_[static_cast<size_t>(i)];
        const int64_t at = piece.part().begin,
                      x_at = shares_x ? 0 : at * s.x_channels / s.y_channels;
        const bool last = key_.channels_last;
        piece.run(call.x + x_at * item * (last ? 1 : s.x_size()),
                  call.weight + at * s.x_channels / s.groups * s.window() * item,
                  call.y + at * item * (last ? 1 : s.y_size()), nullptr, x_copy.data());
      }
    });
  }

  Key key_;
  std::vector<std::unique_ptr<Piece> > pieces_;
};

// The plans of a thread, the latest used first. Each thread has its own: no locks, none of which a
// fork could leave closed, and tensors of a primitive are set by one thread at a time.
class Plans {
 public:
  const Plan& get(const Key& key) {
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

void add_bias(const ConvCall& call) {
  const ConvShape& s = call.shape;
  const float* bias = reinterpret_cast<const float*>(call.bias);
  float* x = reinterpret_cast<float*>(call.x);
  const int64_t size = s.x_size(), channels = s.x_channels;
  if (call.channels_last) {
    parallel_for(s.batch * size, std::max<int64_t>(1, 32768 / channels),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i)
                     for (int64_t c = 0; c < channels; ++c) x[i * channels + c] += bias[c];
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
  if (work < 2e5) return false;
  if (is_depthwise(s)) return s.groups % 8 == 0;
  if (s.groups > 1 && (pass == Pass::weight || std::min(x_channels, y_channels) < 16)) return false;
  if (call.channels_last) return true;
  if (s.window() == 1) return false;  // a plain product, of images as they are
  if (pass == Pass::weight) return s.y_channels % 8 == 0;
  return pass == Pass::y || (x_channels >= 8 && s.stride == ConvShape::Sizes{1, 1, 1});
}

}  // namespace

bool available() { return library().engine; }

bool conv(Pass pass, const ConvCall& call) {
  if (call.dtype != DType::float32 || !worth_it(pass, call) || !enabled() || !available())
    return false;
  thread_local Plans plans;
  const Plan& plan =
      plans.get({call.shape, pass, call.channels_last, call.bias != nullptr, num_threads()});
  if (!plan.usable()) return false;
  plan.run(call);
  if (pass == Pass::x && call.bias) add_bias(call);
  return true;
}

}  // namespace wisp::cpu::onednn

#endif
