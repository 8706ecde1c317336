#include "tensor/tensor.h"

#include <cstring>
#include <new>

#include "base/memory.h"
#include "tensor/contents.h"

namespace wisp {

void (*TensorImpl::drop_wrapper)(void*) = nullptr;
constinit WISP_THREAD_LOCAL bool contents_read = false;

TensorImpl::TensorImpl(Ref<Storage> storage, DType dtype)
    : dtype_(dtype), storage_(std::move(storage)) {}

TensorImpl::~TensorImpl() {
  if (dims_ != inline_) std::free(dims_);
}

void TensorImpl::reserve_dims(size_t ndim) {
  if (ndim <= dims_capacity_) return;
  WISP_CHECK(ndim <= max_ndim, "tensors have at most ", max_ndim, " dimensions, got ", ndim);
  auto* grown = static_cast<int64_t*>(std::malloc(2 * ndim * sizeof(int64_t)));
  if (!grown) throw std::bad_alloc();
  if (dims_ != inline_) std::free(dims_);
  dims_ = grown;
  dims_capacity_ = static_cast<uint8_t>(ndim);
}

TensorImpl* TensorImpl::make(Ref<Storage> storage, DType dtype, IntSpan sizes, IntSpan strides,
                             int64_t offset) {
  auto* impl =
      new (memory::allocate_fixed<sizeof(TensorImpl)>()) TensorImpl(std::move(storage), dtype);
  try {
    impl->assign_geometry(sizes, strides, offset);
  } catch (...) {
    impl->destroy();
    throw;
  }
  return impl;
}

TensorImpl* TensorImpl::make_alias(const TensorImpl& other) {
  auto* impl =
      new (memory::allocate_fixed<sizeof(TensorImpl)>()) TensorImpl(other.storage_, other.dtype_);
  if (WISP_UNLIKELY(other.ndim_ > inline_dims)) {
    try {
      impl->reserve_dims(other.ndim_);
    } catch (...) {
      impl->destroy();
      throw;
    }
  }
  impl->ndim_ = other.ndim_;
  impl->numel_ = other.numel_;
  impl->offset_ = other.offset_;
  impl->contiguous_ = other.contiguous_;
  impl->inference_ = other.inference_;
  impl->own_version_ = other.own_version_;
  impl->layers_ = other.layers_;
  for (int i = 0; i < 2 * other.ndim_; ++i) impl->dims_[i] = other.dims_[i];
  return impl;
}

TensorImpl* TensorImpl::make(Ref<Storage> storage, DType dtype, IntSpan sizes) {
  auto* impl =
      new (memory::allocate_fixed<sizeof(TensorImpl)>()) TensorImpl(std::move(storage), dtype);
  const size_t ndim = sizes.size();
  if (WISP_UNLIKELY(ndim > inline_dims)) {
    try {
      impl->reserve_dims(ndim);
    } catch (...) {
      impl->destroy();
      throw;
    }
  }
  impl->ndim_ = static_cast<uint8_t>(ndim);
  int64_t step = 1, numel = 1;
  for (size_t i = ndim; i-- > 0;) {
    impl->dims_[i] = sizes[i];
    impl->dims_[ndim + i] = step;
    step *= sizes[i] > 1 ? sizes[i] : 1;
    numel *= sizes[i];
  }
  impl->numel_ = numel;
  return impl;
}

TensorImpl* TensorImpl::make_empty(IntSpan sizes, DType dtype, Device device) {
  int64_t bytes = static_cast<int64_t>(wisp::item_size(dtype));
  bool unusual = false;  // negative, or too much to count
  for (int64_t size : sizes) unusual |= size < 0 || __builtin_mul_overflow(bytes, size, &bytes);
  if (WISP_UNLIKELY(unusual)) {
    bytes = static_cast<int64_t>(wisp::item_size(dtype));
    WISP_CHECK(!__builtin_mul_overflow(bytes, count_elements(sizes), &bytes),
               "Storage size calculation overflowed with sizes=", sizes);
  }
  return make(Storage::allocate(static_cast<size_t>(bytes), device), dtype, sizes);
}

TensorImpl* TensorImpl::make_like(const TensorImpl& other, DType dtype) {
  const size_t bytes = static_cast<size_t>(other.numel_) * wisp::item_size(dtype);
  if (WISP_UNLIKELY(other.ndim_ > inline_dims || other.numel_ > (int64_t(1) << 40))) {
    return make_empty(other.sizes(), dtype, other.device());
  }
  Ref<Storage> storage = Storage::allocate(bytes, other.device());
  auto* impl =
      new (memory::allocate_fixed<sizeof(TensorImpl)>()) TensorImpl(std::move(storage), dtype);
  impl->ndim_ = other.ndim_;
  impl->numel_ = other.numel_;
  for (int i = 0; i < 2 * other.ndim_; ++i) impl->inline_[i] = other.dims_[i];
  return impl;
}

// The spans must not point into this tensor.
void TensorImpl::assign_geometry(IntSpan sizes, IntSpan strides, int64_t offset) {
  const size_t ndim = sizes.size();
  reserve_dims(ndim);
  ndim_ = static_cast<uint8_t>(ndim);
  for (size_t i = 0; i < ndim; ++i) {
    dims_[i] = sizes[i];
    dims_[ndim + i] = strides[i];
  }
  offset_ = offset;
  numel_ = count_elements(this->sizes());
  contiguous_ = wisp::is_contiguous(this->sizes(), this->strides());
}

void TensorImpl::set_geometry(IntSpan sizes, IntSpan strides, int64_t offset) {
  const Dims kept(sizes), steps(strides);  // the spans may point into this tensor
  assign_geometry(kept, steps, offset);
}

bool TensorImpl::is_contiguous(MemoryFormat format) const {
  switch (format) {
    case MemoryFormat::channels_last:
      return ndim_ == 4 && is_channels_last(sizes(), strides());
    case MemoryFormat::channels_last_3d:
      return ndim_ == 5 && is_channels_last(sizes(), strides());
    default:
      return contiguous_;
  }
}

Layers& TensorImpl::make_layers() {
  if (!layers_) layers_ = Ref<Object>::adopt(new Layers);
  return *layers();
}

void TensorImpl::set_layers(Ref<Layers> layers) { layers_ = Ref<Object>::adopt(layers.detach()); }

void TensorImpl::fail_unless_readable(const char* what) const {
  WISP_CHECK_KIND(not_implemented, !is_meta(), what,
                  " needs the values of a tensor, but on the device 'meta' there are none");
  WISP_CHECK(
      is_readable(), "vmap: ", what,
      " needs the values of a tensor, but inside vmap a tensor stands for one sample of a ",
      "batch and has no single value. Use operators instead, such as where() for a condition.");
}

void TensorImpl::destroy() noexcept {
  if (WISP_UNLIKELY(keeps_wrapper_)) {
    drop_wrapper(wrapper_);
    if (!keeps_wrapper_) return;  // somebody holds the wrapper, which has taken this tensor over
  }
  this->~TensorImpl();
  memory::deallocate_fixed<sizeof(TensorImpl)>(this);
}

Tensor Tensor::empty(IntSpan sizes, DType dtype, Device device) {
  return adopt(TensorImpl::make_empty(sizes, dtype, device));
}

Tensor Tensor::empty_strided(IntSpan sizes, IntSpan strides, DType dtype, Device device) {
  int64_t bytes;
  const bool overflow = __builtin_mul_overflow(
      extent(sizes, strides), static_cast<int64_t>(wisp::item_size(dtype)), &bytes);
  WISP_CHECK(!overflow, "Storage size calculation overflowed with sizes=", sizes);
  return adopt(TensorImpl::make(Storage::allocate(static_cast<size_t>(bytes), device), dtype, sizes,
                                strides, 0));
}

Tensor Tensor::promise(IntSpan sizes, IntSpan strides, DType dtype) {
  const int64_t elements = strides.empty() ? count_elements(sizes) : extent(sizes, strides);
  int64_t bytes;
  const bool overflow =
      __builtin_mul_overflow(elements, static_cast<int64_t>(wisp::item_size(dtype)), &bytes);
  WISP_CHECK(!overflow, "Storage size calculation overflowed with sizes=", sizes);
  Ref<Storage> storage = Storage::promise(static_cast<size_t>(bytes));
  return adopt(strides.empty() ? TensorImpl::make(std::move(storage), dtype, sizes)
                               : TensorImpl::make(std::move(storage), dtype, sizes, strides, 0));
}

Tensor Tensor::alias(IntSpan sizes, IntSpan strides, int64_t offset) const {
  TensorImpl* made = TensorImpl::make(impl_->storage_ref(), dtype(), sizes, strides, offset);
  made->set_own_version(impl_->own_version());
  made->set_inference(impl_->is_inference());
  return adopt(made);
}

Tensor Tensor::alias() const { return adopt(TensorImpl::make_alias(*impl_)); }

Tensor detached(const Tensor& tensor) {
  Tensor copy = tensor.alias();
  const Layers* layers = tensor->layers();
  if (WISP_LIKELY(!layers)) return copy;
  Ref<Layers> kept;
  if (layers->batch_level != 0) {
    kept = Ref<Layers>::adopt(new Layers);
    kept->batch_level = layers->batch_level;
    kept->batch_dim = layers->batch_dim;
    kept->batch = detached(layers->batch);
  }
  copy->set_layers(std::move(kept));
  return copy;
}

Scalar Tensor::item() const {
  impl_->check_readable("item()");
  contents_read = true;
  WISP_CHECK(numel() == 1, "a Tensor with ", numel(), " elements cannot be converted to Scalar");
  return visit<dtypes::any>(dtype(), "item", [&]<class T>() -> Scalar {
    if constexpr (std::is_same_v<T, bool>) {
      return Scalar(*data<uint8_t>() != 0);  // foreign memory may hold something else than 0 and 1
    } else if constexpr (detail::is_complex_type<T>) {
      const T value = *data<T>();
      return Scalar(std::complex<double>(value.re, value.im));
    } else if constexpr (detail::is_float_type<T>) {
      return Scalar(convert<double>(*data<T>()));
    } else {
      return Scalar(static_cast<int64_t>(*data<T>()));
    }
  });
}

void resize(const Tensor& tensor, IntSpan sizes, MemoryFormat format) {
  count_elements(sizes);
  const Dims strides = strides_for(format, sizes);
  int64_t bytes;
  const bool overflow =
      __builtin_add_overflow(tensor->offset(), extent(sizes, strides), &bytes) ||
      __builtin_mul_overflow(bytes, static_cast<int64_t>(tensor->item_size()), &bytes);
  WISP_CHECK(!overflow, "Storage size calculation overflowed with sizes=", sizes);
  Storage& storage = tensor->storage();
  if (static_cast<size_t>(bytes) > storage.bytes()) storage.resize(static_cast<size_t>(bytes));
  tensor->set_geometry(sizes, strides, tensor->offset());
}

bool share_memory(const TensorImpl& a, const TensorImpl& b) {
  if (a.numel() == 0 || b.numel() == 0) return false;
  // Memory of our own is in one storage only.
  if (&a.storage() != &b.storage() && a.storage().resizable() && b.storage().resizable())
    return false;
  const char* a_end =
      a.address() + extent(a.sizes(), a.strides()) * static_cast<int64_t>(a.item_size());
  const char* b_end =
      b.address() + extent(b.sizes(), b.strides()) * static_cast<int64_t>(b.item_size());
  return a.address() < b_end && b.address() < a_end;
}

}  // namespace wisp
