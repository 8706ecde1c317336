// The tensor: a strided view of a storage, and one slot that autograd fills.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/compiler.h"
#include "base/device.h"
#include "base/dtype.h"
#include "base/refcount.h"
#include "base/scalar.h"
#include "base/small_vector.h"
#include "tensor/shape.h"
#include "tensor/storage.h"

namespace wisp {

class Tensor;

// A version count of its own, for tensors whose writes must not be seen by autograd (x.data).
struct VersionCounter : Object {
  uint32_t value = 0;
};

// What autograd keeps on a tensor. The types behind the Refs belong to the room `autograd`.
struct AutogradSlot {
  Ref<Object> grad_fn;        // the node that made this tensor; null for leaves
  Ref<Object> meta;           // gradient, hooks, ...: made on first use
  uint32_t output = 0;        // which output of grad_fn
  uint32_t view_version = 0;  // the storage's version when grad_fn was set; used for views
};

struct Layers;

class TensorImpl {
 public:
  // Takes over the storage. Sizes and strides must fit it (checked by the callers that take user
  // input).
  static TensorImpl* make(Ref<Storage> storage, DType dtype, IntSpan sizes, IntSpan strides,
                          int64_t offset);
  // Contiguous.
  static TensorImpl* make(Ref<Storage> storage, DType dtype, IntSpan sizes);
  // Contiguous, with a new storage.
  static TensorImpl* make_empty(IntSpan sizes, DType dtype, Device device);
  // The same view of the same storage.
  static TensorImpl* make_alias(const TensorImpl& other);
  // Uninitialised, of the shape of a contiguous tensor.
  static TensorImpl* make_like(const TensorImpl& other, DType dtype);

  int64_t ndim() const { return ndim_; }
  int64_t numel() const { return numel_; }
  IntSpan sizes() const { return {dims_, static_cast<size_t>(ndim_)}; }
  IntSpan strides() const { return {dims_ + ndim_, static_cast<size_t>(ndim_)}; }
  int64_t size(int64_t dim) const { return dims_[dim]; }
  int64_t stride(int64_t dim) const { return dims_[ndim_ + dim]; }
  int64_t offset() const { return offset_; }
  DType dtype() const { return dtype_; }
  Device device() const { return storage_->device(); }
  size_t item_size() const { return wisp::item_size(dtype_); }
  bool is_contiguous() const { return contiguous_; }
  bool is_contiguous(MemoryFormat format) const;

  Storage& storage() const { return *storage_; }
  const Ref<Storage>& storage_ref() const { return storage_; }
  char* bytes() const { return storage_->data() + offset_ * static_cast<int64_t>(item_size()); }
  template <class T>
  T* data() const {
    return reinterpret_cast<T*>(bytes());
  }
  // Where the first element is, without a look at what is there: to compare addresses.
  const char* address() const {
    return storage_->address() + offset_ * static_cast<int64_t>(item_size());
  }

  // Makes this tensor another view of the same, or of another, storage.
  void set_geometry(IntSpan sizes, IntSpan strides, int64_t offset);
  void set_storage(Ref<Storage> storage) { storage_ = std::move(storage); }
  void set_dtype(DType dtype) { dtype_ = dtype; }

  uint32_t version() const { return own_version_ ? own_version_->value : storage_->version(); }
  void bump_version() {
    if (own_version_) {
      ++own_version_->value;
    } else {
      storage_->bump_version();
    }
  }
  const Ref<VersionCounter>& own_version() const { return own_version_; }
  void set_own_version(Ref<VersionCounter> counter) { own_version_ = std::move(counter); }

  // The tensor this one is a view of; never itself a view. A tracked view takes part in the
  // autograd history of its base: it was made with grad mode on.
  TensorImpl* base() const { return base_.get(); }
  bool tracks_base() const { return tracks_base_; }
  void set_base(Ref<TensorImpl> base, bool tracked) {
    base_ = std::move(base);
    tracks_base_ = tracked;
  }

  // A view of a tensor that was written in place with something that requires grad does so too.
  bool requires_grad() const { return requires_grad_ || base_changed(); }
  // Whether this view's history is out of date because its base was written in place since.
  bool base_changed() const {
    return tracks_base_ && base_->autograd_.grad_fn && autograd_.view_version != version();
  }
  void set_requires_grad(bool value) { requires_grad_ = value; }
  bool is_leaf() const { return !autograd_.grad_fn && !base_changed(); }
  bool is_inference() const { return inference_; }
  void set_inference(bool value) { inference_ = value; }
  AutogradSlot& autograd() { return autograd_; }
  const AutogradSlot& autograd() const { return autograd_; }

  // What function transforms keep on this tensor; null outside of them. An alias shares it.
  Layers* layers() const;
  Layers& make_layers();
  void set_layers(Ref<Layers> layers);
  bool is_meta() const { return storage_->is_meta(); }
  // Whether there are values to look at: not in one sample of a batch (vmap), nor on the device
  // "meta".
  bool is_readable() const;
  void check_readable(const char* what) const {
    if (WISP_UNLIKELY(static_cast<bool>(layers_) || is_meta())) fail_unless_readable(what);
  }

  // The object that represents this tensor in a host language. It is borrowed, unless
  // keeps_wrapper().
  void* wrapper() const { return wrapper_; }
  void set_wrapper(void* wrapper) { wrapper_ = wrapper; }
  bool keeps_wrapper() const { return keeps_wrapper_; }
  void set_keeps_wrapper(bool value) { keeps_wrapper_ = value; }
  static void (*drop_wrapper)(void* wrapper);  // called when a kept wrapper's tensor dies

  void retain() const noexcept { refs_.retain(); }
  void release() const noexcept {
    if (refs_.drop()) const_cast<TensorImpl*>(this)->destroy();
  }
  uint32_t use_count() const noexcept { return refs_.value(); }

 private:
  static constexpr int inline_dims = 5;
  explicit TensorImpl(Ref<Storage> storage, DType dtype);
  ~TensorImpl();
  void destroy() noexcept;
  void reserve_dims(size_t ndim);
  void assign_geometry(IntSpan sizes, IntSpan strides, int64_t offset);
  void fail_unless_readable(const char* what) const;

  RefCount refs_;
  DType dtype_;
  bool contiguous_ = true;
  bool requires_grad_ = false;
  bool inference_ = false;
  bool keeps_wrapper_ = false;
  bool tracks_base_ = false;
  uint8_t ndim_ = 0;
  uint8_t dims_capacity_ = inline_dims;
  Ref<Storage> storage_;
  int64_t offset_ = 0;
  int64_t numel_ = 1;
  int64_t* dims_ = inline_;  // sizes, then strides
  Ref<TensorImpl> base_;
  Ref<VersionCounter> own_version_;
  AutogradSlot autograd_;
  Ref<Object> layers_;
  void* wrapper_ = nullptr;
  int64_t inline_[2 * inline_dims];
};

constexpr int64_t max_ndim = 64;

// A handle: copying it shares the tensor. May be undefined (null).
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}
  static Tensor adopt(TensorImpl* impl) { return Tensor(Ref<TensorImpl>::adopt(impl)); }
  static Tensor share(TensorImpl* impl) { return Tensor(Ref<TensorImpl>::share(impl)); }
  // Uninitialised, contiguous unless strides are given.
  static Tensor empty(IntSpan sizes, DType dtype, Device device = {});
  static Tensor empty(std::initializer_list<int64_t> sizes, DType dtype, Device device = {}) {
    return empty(IntSpan(sizes.begin(), sizes.size()), dtype, device);
  }
  static Tensor empty_strided(IntSpan sizes, IntSpan strides, DType dtype, Device device = {});
  // To be filled by a kernel that is put off (see Storage::promise); contiguous without strides.
  static Tensor promise(IntSpan sizes, IntSpan strides, DType dtype);
  // Another view of the same storage and version count; no autograd.
  Tensor alias() const;
  Tensor alias(IntSpan sizes, IntSpan strides, int64_t offset) const;

  bool defined() const { return static_cast<bool>(impl_); }
  explicit operator bool() const = delete;  // ambiguous: defined() or truth of the value?
  TensorImpl* impl() const { return impl_.get(); }
  TensorImpl* detach_impl() { return impl_.detach(); }
  TensorImpl* operator->() const { return impl_.get(); }
  void reset() { impl_.reset(); }
  bool is_same(const Tensor& other) const { return impl_ == other.impl_; }

  int64_t ndim() const { return impl_->ndim(); }
  int64_t numel() const { return impl_->numel(); }
  IntSpan sizes() const { return impl_->sizes(); }
  IntSpan strides() const { return impl_->strides(); }
  int64_t size(int64_t dim) const { return impl_->size(wrap_dim(dim, ndim())); }
  int64_t stride(int64_t dim) const { return impl_->stride(wrap_dim(dim, ndim())); }
  DType dtype() const { return impl_->dtype(); }
  Device device() const { return impl_->device(); }
  bool requires_grad() const { return impl_->requires_grad(); }
  bool is_contiguous() const { return impl_->is_contiguous(); }
  template <class T>
  T* data() const {
    return impl_->data<T>();
  }
  // The value of a one-element tensor.
  Scalar item() const;

 private:
  Ref<TensorImpl> impl_;
};

// What function transforms keep on a tensor: its tangents (jvp, one per level), or the whole batch
// of which it stands for one sample (vmap). Levels are numbered from the outside in.
struct Layers : Object {
  struct Tangent {
    uint64_t level;
    Tensor value;
  };
  std::vector<Tangent> tangents;
  uint64_t batch_level = 0;  // 0: not a sample
  Tensor batch;
  int64_t batch_dim = -1;  // of `batch`; -1 if all samples are the same
};

inline Layers* TensorImpl::layers() const { return static_cast<Layers*>(layers_.get()); }
inline bool TensorImpl::is_readable() const {
  return (!layers_ || layers()->batch_level == 0) && !is_meta();
}

// The same data without history and without tangents.
Tensor detached(const Tensor& tensor);

// Gives a tensor other sizes, contiguous; its storage grows if it has to (resize_).
void resize(const Tensor& tensor, IntSpan sizes, MemoryFormat format = MemoryFormat::contiguous);

// Whether some byte belongs to both.
bool share_memory(const TensorImpl& a, const TensorImpl& b);

}  // namespace wisp
