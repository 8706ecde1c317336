#include "runtime/creation.h"

#include <algorithm>

#include "runtime/bridge.h"

namespace wisp::api {

TensorData::TensorData(std::initializer_list<TensorData> rows)
    : sizes_{static_cast<int64_t>(rows.size())} {
  for (const TensorData& row : rows) {
    WISP_CHECK_VALUE(row.sizes_ == rows.begin()->sizes_, "expected sequence of length ",
                     IntList(rows.begin()->sizes_), " in every row (got ", IntList(row.sizes_),
                     ")");
    numbers_.insert(numbers_.end(), row.numbers_.begin(), row.numbers_.end());
  }
  if (rows.size())
    sizes_.insert(sizes_.end(), rows.begin()->sizes_.begin(), rows.begin()->sizes_.end());
}

DType TensorData::dtype() const {
  if (numbers_.empty()) return default_dtype();
  auto less = [](const Scalar& a, const Scalar& b) { return a.category() < b.category(); };
  return std::max_element(numbers_.begin(), numbers_.end(), less)->wisp::Scalar::dtype();
}

Tensor tensor(const TensorData& data, const TensorOptions& options) {
  const DType dtype = options.dtype().value_or(data.dtype());
  Tensor made = empty(data.sizes(), options.requires_grad(false).dtype(dtype));
  visit<dtypes::any>(dtype, "tensor", [&]<class T>() {
    T* to = core(made).data<T>();
    for (const Scalar& number : data.numbers()) *to++ = number.to<T>();
  });
  return options.applied_to(std::move(made));
}

namespace {

// What a storage on the program's memory calls when nobody needs it any more.
struct Release {
  std::function<void(void*)> deleter;
  void* data;
};
void release(void* context) {
  const std::unique_ptr<Release> held(static_cast<Release*>(context));
  if (held->deleter) held->deleter(held->data);
}

}  // namespace

Tensor from_blob(void* data, IntList sizes, IntList strides, std::function<void(void*)> deleter,
                 const TensorOptions& options) {
  const DType dtype = options.dtype().value_or(default_dtype());
  WISP_CHECK_VALUE(sizes.size() == strides.size(), "from_blob(): ", sizes.size(), " sizes, but ",
                   strides.size(), " strides");
  for (size_t i = 0; i < sizes.size(); ++i) {
    WISP_CHECK_VALUE(sizes[i] >= 0 && strides[i] >= 0,
                     "from_blob(): sizes and strides must not be ", "negative, got ", sizes,
                     " and ", strides);
  }
  const auto bytes = static_cast<size_t>(extent(span(sizes), span(strides))) * item_size(dtype);
  auto held = std::make_unique<Release>(Release{std::move(deleter), data});
  Ref<Storage> storage = Storage::wrap(data, bytes, release, held.get());
  held.release();
  TensorImpl* impl =
      TensorImpl::make(std::move(storage), dtype, span(sizes), span(strides), /*offset=*/0);
  return options.applied_to(Tensor::adopt(impl));
}
Tensor from_blob(void* data, IntList sizes, std::function<void(void*)> deleter,
                 const TensorOptions& options) {
  return from_blob(data, sizes, list(contiguous_strides(span(sizes))), std::move(deleter), options);
}
Tensor from_blob(void* data, IntList sizes, const TensorOptions& options) {
  return from_blob(data, sizes, std::function<void(void*)>(), options);
}

}  // namespace wisp::api
