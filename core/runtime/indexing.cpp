// x.index({...}) and x.index_put_({...}, value): entries become views (select, slice, unsqueeze)
// and one advanced index.
#include "runtime/indexing.h"

#include "runtime/bridge.h"
#include "runtime/operators.h"

namespace wisp::api {

namespace indexing {

TensorIndex::TensorIndex(const char* dots) : kind(Kind::ellipsis) {
  WISP_CHECK_INDEX(std::string_view(dots) == "...", "expected \"...\" as an index, got ", dots);
}
TensorIndex::TensorIndex(const Tensor& tensor)
    : kind(Kind::tensor), indices(std::make_shared<const Tensor>(tensor)) {
  const DType dtype = tensor.dtype();
  WISP_CHECK_INDEX(is_integral(dtype) || dtype == kBool,
                   "tensors used as indices must be long, int, byte or bool tensors, got ",
                   name(dtype));
}

}  // namespace indexing

namespace {

using indexing::TensorIndex;
using Kind = TensorIndex::Kind;

bool is_mask(const Tensor& index) { return index.dtype() == kBool || index.dtype() == kUInt8; }

// How many dimensions of the tensor an entry consumes.
int64_t consumed(const TensorIndex& item) {
  if (item.kind == Kind::tensor) return is_mask(*item.indices) ? item.indices->dim() : 1;
  return item.kind == Kind::number || item.kind == Kind::slice;
}

// Works through the entries from left to right.
class Plan {
 public:
  Plan(const Tensor& self, const std::vector<TensorIndex>& items) : view(self) {
    int64_t taken = 0;
    for (const TensorIndex& item : items) taken += consumed(item);
    WISP_CHECK_INDEX(taken <= self.dim(), "too many indices for tensor of dimension ", self.dim());
    left_out_ = self.dim() - taken;
    for (const TensorIndex& item : items) add(item);
  }

  Tensor view;      // after all that views can do
  Tensors indices;  // per dimension of the view; undefined: all of it

 private:
  void add(const TensorIndex& item) {
    switch (item.kind) {
      case Kind::ellipsis:
        WISP_CHECK_INDEX(!seen_ellipsis_, "an index can only have a single ellipsis ('...')");
        seen_ellipsis_ = true;
        dim_ += left_out_;
        break;
      case Kind::none:
        view = view.unsqueeze(dim_++);
        break;
      case Kind::boolean:
        add_truth(item.number != 0);
        break;
      case Kind::number:
        add_position(item.number);
        break;
      case Kind::slice:
        add_slice(item.range);
        break;
      case Kind::tensor:
        add_tensor(*item.indices);
        break;
    }
  }

  // A bool adds a dimension of size 1 or 0.
  void add_truth(bool value) {
    view = view.unsqueeze(dim_);
    set(dim_++, zeros({value ? 1 : 0}, kInt64));
  }

  void add_position(int64_t position) {
    const int64_t size = view.size(dim_);
    WISP_CHECK_INDEX(position >= -size && position < size, "index ", position,
                     " is out of bounds for dimension ", dim_, " with size ", size);
    view = view.select(dim_, position);
  }

  void add_slice(const indexing::Slice& range) {
    const int64_t step = range.step.value_or(1);
    WISP_CHECK_VALUE(step > 0, "step must be greater than zero");
    view = view.slice(dim_++, range.start, range.stop, step);
  }

  void add_tensor(const Tensor& index) {
    if (index.dim() == 0 && index.dtype() == kBool) return add_truth(index.item<bool>());
    if (index.dim() == 0 && !is_mask(index)) return add_position(index.item<int64_t>());
    if (!is_mask(index)) return set(dim_++, index);
    // A mask is the coordinates at which it is true, one index per dimension.
    for (int64_t i = 0; i < index.dim(); ++i) {
      WISP_CHECK_INDEX(index.size(i) == view.size(dim_ + i), "The shape of the mask ",
                       index.sizes(), " at index ", i,
                       " does not match the shape of the indexed tensor ", view.sizes(),
                       " at index ", dim_ + i);
    }
    const Tensor places = nonzero(index);
    for (int64_t i = 0; i < index.dim(); ++i) set(dim_++, places.select(1, i));
  }

  void set(int64_t dim, const Tensor& index) {
    const auto needed = static_cast<size_t>(dim) + 1;
    if (indices.size() < needed) indices.resize(needed);
    indices[static_cast<size_t>(dim)] = index;
  }

  int64_t dim_ = 0, left_out_ = 0;
  bool seen_ellipsis_ = false;
};

// A value may have leading dimensions of size 1 that the target lacks.
Tensor drop_leading_ones(Tensor value, int64_t ndim) {
  while (value.dim() > ndim && value.size(0) == 1) value = value.select(0, 0);
  return value;
}

}  // namespace

Tensor Tensor::operator[](int64_t i) const {
  WISP_CHECK_INDEX(dim() > 0,
                   "invalid index of a 0-dim tensor. Use `tensor.item<T>()` to get its number");
  return index({i});
}
Tensor Tensor::operator[](const Tensor& indices) const { return index({indices}); }

Tensor Tensor::index(const std::vector<TensorIndex>& items) const {
  const Plan plan(*this, items);
  if (plan.indices.empty()) return plan.view.is_same(*this) ? alias() : plan.view;
  static const OpDef& op = entry("index");
  return run<Tensor>(op, {plan.view, plan.indices});
}

const Tensor& Tensor::index_put_(const std::vector<TensorIndex>& items,
                                 const Operand& value) const {
  const Plan plan(*this, items);
  const Tensor source = value.as_tensor(options());
  if (plan.indices.empty()) {
    plan.view.copy_(drop_leading_ones(source, plan.view.dim()));
  } else {
    static const OpDef& op = entry("index_put");
    run_in_place(op, {plan.view, plan.indices, source.to(dtype()), false});
  }
  return *this;
}

}  // namespace wisp::api
