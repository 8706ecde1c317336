// oneDNN's functions and objects, and tensors in the order its primitives want. Included by
// onednn.cpp only: the library's header is large.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/memory.h"
#include "base/refcount.h"
#include "cpu/copy.h"
#include "cpu/library.h"
#include "cpu/omp_threads.h"

namespace wisp::cpu::onednn {

namespace {

// --- The library

#define WISP_DNNL_FUNCTIONS(X)                       \
  X(engine_create)                                   \
  X(stream_create)                                   \
  X(stream_destroy)                                  \
  X(memory_desc_create_with_strides)                 \
  X(memory_desc_create_with_tag)                     \
  X(memory_desc_create_submemory)                    \
  X(memory_desc_clone)                               \
  X(memory_desc_destroy)                             \
  X(memory_desc_equal)                               \
  X(memory_desc_get_size)                            \
  X(memory_desc_query)                               \
  X(memory_create)                                   \
  X(memory_get_data_handle)                          \
  X(memory_set_data_handle)                          \
  X(memory_destroy)                                  \
  X(primitive_attr_create)                           \
  X(primitive_attr_set_scratchpad_mode)              \
  X(primitive_attr_set_post_ops)                     \
  X(primitive_attr_destroy)                          \
  X(post_ops_create)                                 \
  X(post_ops_append_binary)                          \
  X(post_ops_append_eltwise)                         \
  X(post_ops_destroy)                                \
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
using PostOps = Owned<dnnl_post_ops_t, &Library::post_ops_destroy>;
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

// --- Tensors

// Some of the channels of an image.
struct Channels {
  int64_t begin, count;
};

// Blocks of channels, the second dimension.
dnnl_format_tag_t block_tag(int ndim, int block) {
  if (ndim == 4) return block == 8 ? dnnl_aBcd8b : dnnl_aBcd16b;
  return block == 8 ? dnnl_aBcde8b : dnnl_aBcde16b;
}

struct Layout {
  int ndim = 0;
  dnnl_dims_t sizes = {}, strides = {};
  int block = 0;  // not 0: arranged in such blocks, whatever the strides say
  dnnl_data_type_t type = dnnl_f32;
  void add(int64_t size, int64_t stride) {
    sizes[ndim] = size;
    strides[ndim++] = stride;
  }
  Desc desc() const {
    if (block) return tagged(block_tag(ndim, block));
    Desc made;
    check(library().memory_desc_create_with_strides(made.out(), ndim, sizes, type, strides),
          "describe a tensor");
    return made;
  }
  // Of float32, if nothing is added.
  size_t bytes() const {
    size_t total = sizeof(float);
    for (int i = 0; i < ndim; ++i) total *= static_cast<size_t>(sizes[i]);
    return total;
  }
  // Some of the channels of an image of this layout.
  Desc part(Channels channels) const {
    dnnl_dims_t some, offsets = {};
    std::copy_n(sizes, ndim, some);
    some[1] = channels.count;
    offsets[1] = channels.begin;
    Desc made;
    const Desc whole = desc();
    check(library().memory_desc_create_submemory(made.out(), whole.get(), some, offsets),
          "describe a tensor");
    return made;
  }
  bool is_matrix() const {
    return ndim >= 2 && std::all_of(sizes + 2, sizes + ndim, [](int64_t n) { return n == 1; });
  }
  // The same sizes in whatever order of elements suits the primitive best.
  Desc any() const { return tagged(dnnl_format_tag_any); }

  // The width of the blocks, if the elements lie so and there is nothing else.
  int block_of(const_dnnl_memory_desc_t desc) const {
    for (int width : {8, 16}) {
      if (sizes[1] % width == 0 && (ndim == 4 || ndim == 5) &&
          library().memory_desc_equal(tagged(block_tag(ndim, width)).get(), desc))
        return width;
    }
    return 0;
  }

 private:
  Desc tagged(dnnl_format_tag_t tag) const {
    Desc made;
    check(library().memory_desc_create_with_tag(made.out(), ndim, sizes, type, tag),
          "describe a tensor");
    return made;
  }
};

// A matrix of float32 in oneDNN's blocks and as it is, by strides of the same dimensions: those of
// blocks, then those within them. oneDNN's own copies of weights of one pixel take up to ten times
// as long as ours.
class BlockedMatrix {
 public:
  BlockedMatrix() = default;
  BlockedMatrix(const Layout& plain, const_dnnl_memory_desc_t blocked) {
    const int64_t* strides = nullptr;
    const int64_t* inner = nullptr;
    const int64_t* of = nullptr;  // the dimension that an inner one is a part of
    int count = 0;
    const auto query = [&](dnnl_query_t what, void* result) {
      return library().memory_desc_query(blocked, what, result) == dnnl_success;
    };
    if (plain.type != dnnl_f32 || !plain.is_matrix() || !query(dnnl_query_strides, &strides) ||
        !query(dnnl_query_inner_nblks_s32, &count) || !query(dnnl_query_inner_blks, &inner) ||
        !query(dnnl_query_inner_idxs, &of) || count != 2 || of[0] == of[1] || of[0] + of[1] != 1)
      return;
    for (int d = 0; d < 2; ++d) {
      const int64_t block = inner[of[0] == d ? 0 : 1];
      if (plain.sizes[d] % block != 0) return;
      add(plain.sizes[d] / block, plain.strides[d] * block, strides[d]);
    }
    add(inner[0], plain.strides[of[0]], inner[1]);
    add(inner[1], plain.strides[of[1]], 1);
  }
  explicit operator bool() const { return dims_ == 4; }
  void copy(dnnl_memory_t from, dnnl_memory_t to, bool to_blocks) const {
    cpu::copy(sizes_, operand(to, to_blocks ? blocked_ : plain_),
              operand(from, to_blocks ? plain_ : blocked_));
  }

 private:
  using Dims = std::array<int64_t, 4>;
  static Operand operand(dnnl_memory_t memory, const Dims& strides) {
    void* data = nullptr;
    check(library().memory_get_data_handle(memory, &data), "find a tensor");
    return {static_cast<char*>(data), strides, DType::float32};
  }
  void add(int64_t size, int64_t plain, int64_t blocked) {
    const auto at = static_cast<size_t>(dims_++);
    sizes_[at] = size;
    plain_[at] = plain;
    blocked_[at] = blocked;
  }

  int dims_ = 0;
  Dims sizes_{}, plain_{}, blocked_{};
};

// One tensor of a primitive. If the primitive wants another order of elements than the caller's,
// there is a copy, filled before or read after it runs.
class Port {
 public:
  enum Use { read, written };
  Port() = default;
  // In the order the primitive wants.
  explicit Port(const_dnnl_memory_desc_t wanted) {
    const Library& lib = library();
    check(lib.memory_create(given_.out(), wanted, lib.engine, nullptr), "make a tensor");
  }
  Port(const Layout& layout, const_dnnl_memory_desc_t wanted, Use use)
      : Port(layout.desc(), wanted, use, BlockedMatrix(layout, wanted)) {}
  Port(const Desc& desc, const_dnnl_memory_desc_t wanted, Use use, BlockedMatrix matrix = {})
      : matrix_(matrix), use_(use) {
    const Library& lib = library();
    check(lib.memory_create(given_.out(), desc.get(), lib.engine, nullptr), "make a tensor");
    if (lib.memory_desc_equal(desc.get(), wanted)) return;
    check(lib.memory_desc_clone(wanted_.out(), wanted), "describe a tensor");
    size_ = lib.memory_desc_get_size(wanted);
    check(lib.memory_create(copy_.out(), wanted, lib.engine, nullptr), "make a tensor");
    if (matrix_) return;
    const_dnnl_memory_desc_t from = use == read ? desc.get() : wanted;
    const_dnnl_memory_desc_t to = use == read ? wanted : desc.get();
    PrimitiveDesc reorder;
    check(
        lib.reorder_primitive_desc_create(reorder.out(), from, lib.engine, to, lib.engine, nullptr),
        "reorder a tensor");
    check(lib.primitive_create(reorder_.out(), reorder.get()), "reorder a tensor");
  }

  size_t copy_size() const { return size_; }
  const_dnnl_memory_desc_t wanted() const {
    return wanted_.get();
  }  // of the copy; null if there is none
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
    if (!copy_.get()) return;
    if (matrix_) return matrix_.copy(from.get(), to.get(), use_ == read);
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from.get()}, {DNNL_ARG_TO, to.get()}};
    check(library().primitive_execute(reorder_.get(), stream(), 2, args), "reorder a tensor");
  }

  Memory given_, copy_;
  Desc wanted_;
  Primitive reorder_;
  BlockedMatrix matrix_;
  size_t size_ = 0;
  Use use_ = read;
};

// A weight in the order of the primitive that used it last, with the channels of the result
// multiplied by some numbers (none: as it was).
class KeptWeight final : public Object {
 public:
  KeptWeight(const Port& port, std::span<const float> scale, bool from_last)
      : scale_(scale.begin(), scale.end()),
        from_last_(from_last),
        size_(port.copy_size()),
        data_(static_cast<char*>(memory::allocate(size_))) {
    check(library().memory_desc_clone(order_.out(), port.wanted()), "describe a tensor");
  }
  ~KeptWeight() override { memory::deallocate(data_, size_); }
  char* data() const { return data_; }
  bool suits(const Port& port, std::span<const float> scale, bool from_last) const {
    if (scale.size() != scale_.size() || from_last != from_last_) return false;
    if (!scale.empty() && std::memcmp(scale.data(), scale_.data(), scale.size_bytes()) != 0)
      return false;
    return library().memory_desc_equal(order_.get(), port.wanted());
  }

 private:
  Desc order_;
  std::vector<float> scale_;
  bool from_last_;  // views of one storage may have its elements in either order
  size_t size_;
  char* data_;
};

}  // namespace
}  // namespace wisp::cpu::onednn
