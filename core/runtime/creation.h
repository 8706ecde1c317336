// Tensors from numbers and from memory of the program.
#pragma once

#include <functional>

#include "runtime/operators.h"

#pragma GCC visibility push(default)
namespace wisp::api {

// Numbers in nested braces, as tensor() takes them.
class TensorData {
 public:
  template <class T, IfNumber<T> = 0>
  TensorData(T number) : numbers_{Scalar(number)} {}
  TensorData(std::complex<double> number) : numbers_{Scalar(number)} {}
  TensorData(std::initializer_list<TensorData> rows);
  template <class T, IfNumber<T> = 0>
  TensorData(const std::vector<T>& numbers)
      : numbers_(numbers.begin(), numbers.end()), sizes_{static_cast<int64_t>(numbers.size())} {}
  const std::vector<Scalar>& numbers() const { return numbers_; }
  const std::vector<int64_t>& sizes() const { return sizes_; }
  // The dtype that Python would choose.
  DType dtype() const;

 private:
  std::vector<Scalar> numbers_;
  std::vector<int64_t> sizes_;
};

// tensor({{1., 2.}, {3., 4.}})
Tensor tensor(const TensorData& data, const TensorOptions& options = {});

// A tensor on memory of the program, which has to stay as long as the tensor, or until `deleter` is
// called with its address.
Tensor from_blob(void* data, IntList sizes, const TensorOptions& options = {});
Tensor from_blob(void* data, IntList sizes, std::function<void(void*)> deleter,
                 const TensorOptions& options = {});
Tensor from_blob(void* data, IntList sizes, IntList strides, std::function<void(void*)> deleter,
                 const TensorOptions& options = {});

}  // namespace wisp::api
#pragma GCC visibility pop
