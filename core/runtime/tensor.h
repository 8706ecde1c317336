// The tensor as programs see it: a handle; copies share the tensor. Its methods and the functions
// in operators.h are those of the operator table, with the arguments in the same order as in
// Python.
#pragma once

#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "runtime/indexing.h"
#include "runtime/values.h"

#pragma GCC visibility push(default)
namespace wisp::api {

template <class T, int N>
class TensorAccessor;

// A tensor or a number.
class Operand {
 public:
  Operand() = default;  // neither, where the function allows it
  Operand(const Tensor& tensor) : tensor_(&tensor) {}
  Operand(Scalar number) : number_(number) {}
  template <class T, IfNumber<T> = 0>
  Operand(T number) : number_(Scalar(number)) {}
  const Tensor* tensor() const { return tensor_; }
  const std::optional<Scalar>& number() const { return number_; }
  // A tensor either way.
  Tensor as_tensor(const TensorOptions& options) const;

 private:
  const Tensor* tensor_ = nullptr;
  std::optional<Scalar> number_;
};

class Tensor {
 public:
  Tensor() noexcept : impl_(nullptr) {}
  Tensor(const Tensor& other);
  Tensor(Tensor&& other) noexcept : impl_(std::exchange(other.impl_, nullptr)) {}
  Tensor& operator=(const Tensor& other) & {
    Tensor(other).swap(*this);
    return *this;
  }
  Tensor& operator=(Tensor&& other) & noexcept {
    Tensor(std::move(other)).swap(*this);
    return *this;
  }
  // Writes into what an index selects: x[0] = 1.
  void operator=(const Operand& value) &&;
  void operator=(const Tensor& value) &&;
  ~Tensor();
  void swap(Tensor& other) noexcept { std::swap(impl_, other.impl_); }
  // Takes over a count of what the core calls a tensor.
  static Tensor adopt(TensorImpl* impl);
  TensorImpl* impl() const { return impl_; }

  bool defined() const { return impl_ != nullptr; }
  bool is_same(const Tensor& other) const { return impl_ == other.impl_; }
  explicit operator bool() const = delete;  // defined(), or item<bool>()?

  int64_t dim() const;
  int64_t ndimension() const { return dim(); }
  int64_t numel() const;
  IntList sizes() const;
  IntList strides() const;
  int64_t size(int64_t dim) const;
  int64_t stride(int64_t dim) const;
  int64_t storage_offset() const;
  DType dtype() const;
  DType scalar_type() const { return dtype(); }
  Device device() const;
  TensorOptions options() const;
  size_t element_size() const { return item_size(dtype()); }
  size_t nbytes() const { return static_cast<size_t>(numel()) * element_size(); }
  bool is_contiguous(MemoryFormat format = MemoryFormat::contiguous) const;
  bool is_floating_point() const { return is_floating(dtype()); }
  bool is_complex() const { return wisp::is_complex(dtype()); }

  // The memory, for elements of the tensor's own dtype.
  void* data_ptr() const;
  template <class T>
  T* data_ptr() const {
    check_element(dtype_of<T>);
    return static_cast<T*>(data_ptr());
  }
  // Elements by index: accessor<float, 2>()[i][j].
  template <class T, int N>
  TensorAccessor<T, N> accessor() const;
  // The value of a tensor of one element.
  Scalar item() const;
  template <class T>
  T item() const {
    return item().template to<T>();
  }

  bool requires_grad() const;
  const Tensor& requires_grad_(bool value = true) const;
  bool is_leaf() const;
  // The gradient that backward() left; undefined if there is none.
  Tensor grad() const;
  void set_grad(const Tensor& grad) const;
  void retain_grad() const;
  // Adds the gradients of this tensor, or of its sum weighted by `gradient`, to the leaves.
  void backward(const Tensor& gradient = {}, std::optional<bool> retain_graph = {},
                bool create_graph = false) const;
  // The same data, of which autograd knows nothing.
  Tensor data() const;
  // Takes over the memory, shape and dtype of another.
  void set_data(const Tensor& source) const;

  Tensor to(DType dtype, bool non_blocking = false, bool copy = false) const;
  Tensor to(Device device, DType dtype, bool non_blocking = false, bool copy = false) const;
  Tensor to(Device device) const;
  Tensor to(DeviceType device) const { return to(Device{device, -1}); }
  Tensor to(const Tensor& other) const { return to(other.device(), other.dtype()); }
  Tensor cpu() const { return to(kCPU); }
  Tensor contiguous(MemoryFormat format = MemoryFormat::contiguous) const;

  // Another tensor on the same elements, and on some of them.
  Tensor alias() const;
  Tensor slice(int64_t dim = 0, std::optional<int64_t> start = {}, std::optional<int64_t> end = {},
               int64_t step = 1) const;
  Tensor operator[](int64_t i) const;
  Tensor operator[](const Tensor& indices) const;
  Tensor index(const std::vector<indexing::TensorIndex>& indices) const;
  const Tensor& index_put_(const std::vector<indexing::TensorIndex>& indices,
                           const Operand& value) const;

  Tensor& operator+=(const Operand& other);
  Tensor& operator-=(const Operand& other);
  Tensor& operator*=(const Operand& other);
  Tensor& operator/=(const Operand& other);

#include "runtime/methods.inc"

 private:
  void check_element(DType wanted) const;
  TensorImpl* impl_;
};

template <class T, int N>
class TensorAccessor {
 public:
  TensorAccessor(T* data, const int64_t* sizes, const int64_t* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  int64_t size(int64_t dim) const { return sizes_[dim]; }
  int64_t stride(int64_t dim) const { return strides_[dim]; }
  decltype(auto) operator[](int64_t i) const {
    if constexpr (N == 1) {
      return (data_[i * strides_[0]]);
    } else {
      return TensorAccessor<T, N - 1>(data_ + i * strides_[0], sizes_ + 1, strides_ + 1);
    }
  }

 private:
  T* data_;
  const int64_t *sizes_, *strides_;
};

template <class T, int N>
TensorAccessor<T, N> Tensor::accessor() const {
  WISP_CHECK(dim() == N, "expected ", N, " dims but tensor has ", dim());
  return {data_ptr<T>(), sizes().data(), strides().data()};
}

// As Python prints it.
std::string to_string(const Tensor& tensor);
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

// --- operators

Tensor operator+(const Tensor& a, const Operand& b);
Tensor operator-(const Tensor& a, const Operand& b);
Tensor operator*(const Tensor& a, const Operand& b);
Tensor operator/(const Tensor& a, const Operand& b);
Tensor operator%(const Tensor& a, const Operand& b);
Tensor operator-(const Tensor& a);
Tensor operator~(const Tensor& a);
Tensor operator!(const Tensor& a);
Tensor operator&(const Tensor& a, const Operand& b);
Tensor operator|(const Tensor& a, const Operand& b);
Tensor operator^(const Tensor& a, const Operand& b);
Tensor operator==(const Tensor& a, const Operand& b);
Tensor operator!=(const Tensor& a, const Operand& b);
Tensor operator<(const Tensor& a, const Operand& b);
Tensor operator<=(const Tensor& a, const Operand& b);
Tensor operator>(const Tensor& a, const Operand& b);
Tensor operator>=(const Tensor& a, const Operand& b);
Tensor operator+(Scalar a, const Tensor& b);
Tensor operator-(Scalar a, const Tensor& b);
Tensor operator*(Scalar a, const Tensor& b);
Tensor operator/(Scalar a, const Tensor& b);

}  // namespace wisp::api
#pragma GCC visibility pop
