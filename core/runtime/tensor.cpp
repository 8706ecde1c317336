#include "runtime/tensor.h"

#include "autograd/engine.h"
#include "base/generator.h"
#include "runtime/bridge.h"
#include "runtime/operators.h"

namespace wisp::api {

// --- the handle

Tensor::Tensor(const Tensor& other) : impl_(other.impl_) {
  if (impl_) impl_->retain();
}
Tensor::~Tensor() {
  if (impl_) impl_->release();
}
Tensor Tensor::adopt(TensorImpl* impl) {
  Tensor tensor;
  tensor.impl_ = impl;
  return tensor;
}
void Tensor::operator=(const Operand& value) && { copy_(value.as_tensor(options())); }
void Tensor::operator=(const Tensor& value) && { copy_(value); }

// --- properties

int64_t Tensor::dim() const { return checked(*this).ndim(); }
int64_t Tensor::numel() const { return checked(*this).numel(); }
IntList Tensor::sizes() const { return list(checked(*this).sizes()); }
IntList Tensor::strides() const { return list(checked(*this).strides()); }
int64_t Tensor::size(int64_t dim) const { return checked(*this).size(dim); }
int64_t Tensor::stride(int64_t dim) const { return checked(*this).stride(dim); }
int64_t Tensor::storage_offset() const { return checked(*this)->offset(); }
DType Tensor::dtype() const { return checked(*this).dtype(); }
Device Tensor::device() const { return checked(*this).device(); }
TensorOptions Tensor::options() const { return TensorOptions(dtype()).device(device()); }
bool Tensor::is_contiguous(MemoryFormat format) const {
  return checked(*this)->is_contiguous(format);
}

void* Tensor::data_ptr() const {
  checked(*this)->check_readable("data_ptr");
  core(*this)->storage().expose();
  return core(*this)->bytes();
}
void Tensor::check_element(DType wanted) const {
  WISP_CHECK(dtype() == wanted, "expected scalar type ", legacy_name(wanted), " but found ",
             legacy_name(dtype()));
}
Scalar Tensor::item() const { return checked(*this).item(); }

// --- autograd

bool Tensor::requires_grad() const { return checked(*this).requires_grad(); }
const Tensor& Tensor::requires_grad_(bool value) const {
  wisp::autograd::set_requires_grad(checked(*this), value);
  return *this;
}
bool Tensor::is_leaf() const { return checked(*this)->is_leaf(); }
Tensor Tensor::grad() const { return wrap(wisp::autograd::grad(checked(*this))); }
void Tensor::set_grad(const Tensor& grad) const {
  wisp::autograd::set_grad(checked(*this), core(grad));
}
void Tensor::retain_grad() const { wisp::autograd::retain_grad(checked(*this)); }
Tensor Tensor::data() const { return wrap(wisp::autograd::detach(checked(*this), true)); }

void Tensor::set_data(const Tensor& source) const {
  const wisp::Tensor &to = checked(*this), &from = checked(source);
  WISP_CHECK(
      !to.requires_grad() || is_differentiable(from.dtype()),
      "data set to a tensor that requires gradients must be floating point or complex dtype");
  const Dims sizes(from.sizes()), strides(from.strides());
  to->set_storage(from->storage_ref());
  to->set_dtype(from.dtype());
  to->set_geometry(sizes, strides, from->offset());
}

void Tensor::backward(const Tensor& gradient, std::optional<bool> retain_graph,
                      bool create_graph) const {
  const wisp::autograd::Point root(checked(*this));
  const Tensors weights = gradient.defined() ? Tensors{gradient} : Tensors{};
  wisp::autograd::backward({&root, 1}, core(weights),
                           {retain_graph.value_or(create_graph), create_graph});
}

// --- conversions

Tensor Tensor::to(DType dtype, bool non_blocking, bool copy) const {
  return to(device(), dtype, non_blocking, copy);
}
Tensor Tensor::to(Device device) const { return to(device, dtype()); }
Tensor Tensor::to(Device device, DType dtype, bool non_blocking, bool copy) const {
  static const OpDef& op = entry("to");
  return run<Tensor>(op, {*this, dtype, usable(device), non_blocking, copy, std::nullopt});
}
Tensor Tensor::contiguous(MemoryFormat format) const {
  static const OpDef& op = entry("contiguous");
  return run<Tensor>(op, {*this, format});
}

Tensor Tensor::alias() const {
  static const OpDef& op = entry("alias");
  return run<Tensor>(op, {*this});
}
Tensor Tensor::slice(int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end,
                     int64_t step) const {
  static const OpDef& op = entry("slice");
  return run<Tensor>(op, {*this, dim, start, end, step});
}

// --- what functions take

Tensor Operand::as_tensor(const TensorOptions& options) const {
  if (tensor_) return *tensor_;
  WISP_CHECK_TYPE(number_.has_value(), "expected a tensor or a number, got nothing");
  return full({}, *number_, options);
}

Tensor TensorOptions::applied_to(Tensor made) const {
  if (requires_grad_) made.requires_grad_();
  return made;
}

Generator::Generator(uint64_t seed)
    : impl_(new wisp::Generator(seed), [](wisp::Generator* g) { g->release(); }) {}
void Generator::set_current_seed(uint64_t seed) {
  WISP_CHECK(impl_,
             "a Generator made without a seed stands for the default one: use manual_seed()");
  static_cast<wisp::Generator*>(impl_.get())->set_seed(seed);
}
void manual_seed(uint64_t seed) { default_generator().set_seed(seed); }

// --- operators

Tensor& Tensor::operator+=(const Operand& other) { return add_(other), *this; }
Tensor& Tensor::operator-=(const Operand& other) { return sub_(other), *this; }
Tensor& Tensor::operator*=(const Operand& other) { return mul_(other), *this; }
Tensor& Tensor::operator/=(const Operand& other) { return div_(other), *this; }
Tensor operator+(const Tensor& a, const Operand& b) { return add(a, b); }
Tensor operator-(const Tensor& a, const Operand& b) { return sub(a, b); }
Tensor operator*(const Tensor& a, const Operand& b) { return mul(a, b); }
Tensor operator/(const Tensor& a, const Operand& b) { return div(a, b); }
Tensor operator%(const Tensor& a, const Operand& b) { return remainder(a, b); }
Tensor operator-(const Tensor& a) { return neg(a); }
Tensor operator~(const Tensor& a) { return bitwise_not(a); }
Tensor operator!(const Tensor& a) { return logical_not(a); }
Tensor operator&(const Tensor& a, const Operand& b) { return bitwise_and(a, b); }
Tensor operator|(const Tensor& a, const Operand& b) { return bitwise_or(a, b); }
Tensor operator^(const Tensor& a, const Operand& b) { return bitwise_xor(a, b); }
Tensor operator==(const Tensor& a, const Operand& b) { return eq(a, b); }
Tensor operator!=(const Tensor& a, const Operand& b) { return ne(a, b); }
Tensor operator<(const Tensor& a, const Operand& b) { return lt(a, b); }
Tensor operator<=(const Tensor& a, const Operand& b) { return le(a, b); }
Tensor operator>(const Tensor& a, const Operand& b) { return gt(a, b); }
Tensor operator>=(const Tensor& a, const Operand& b) { return ge(a, b); }
Tensor operator+(Scalar a, const Tensor& b) { return add(a, b); }
Tensor operator-(Scalar a, const Tensor& b) { return sub(a, b); }
Tensor operator*(Scalar a, const Tensor& b) { return mul(a, b); }
Tensor operator/(Scalar a, const Tensor& b) { return div(a, b); }

}  // namespace wisp::api
