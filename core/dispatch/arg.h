// One argument of an operator call: a small tagged value that borrows what it points to.
#pragma once

#include <complex>
#include <span>
#include <string_view>

#include "base/device.h"
#include "base/scalar.h"
#include "tensor/tensor.h"

namespace wisp {

enum class ArgKind : uint8_t {
  none,
  tensor,
  boolean,
  integer,
  real,
  complex,
  string,
  dtype,
  device,
  layout,
  memory_format,
  generator,
  integers,  // list of int
  reals,     // list of float
  tensors,   // list of Tensor; entries may be null where the schema allows None
  shape,     // autograd only: a tensor of which just sizes and dtype were kept
};

class Generator;

struct Arg {
  ArgKind kind = ArgKind::none;
  DType dtype = DType::float32;  // of a dtype argument, or of a `shape`
  uint32_t size = 0;             // of a list, string or shape
  union Payload {
    TensorImpl* tensor;
    int64_t integer;
    double real;
    struct {
      double re, im;
    } complex;
    const char* string;
    Device device;
    MemoryFormat memory_format;
    Generator* generator;
    const int64_t* integers;
    const double* reals;
    TensorImpl* const* tensors;
  } as{.complex = {0, 0}};

  Arg() = default;
  Arg(std::nullopt_t) {}
  Arg(const Tensor& t) : kind(t.defined() ? ArgKind::tensor : ArgKind::none) {
    as.tensor = t.impl();
  }
  Arg(TensorImpl* t) : kind(t ? ArgKind::tensor : ArgKind::none) { as.tensor = t; }
  Arg(bool v) : kind(ArgKind::boolean) { as.integer = v; }
  Arg(int v) : Arg(static_cast<int64_t>(v)) {}
  Arg(int64_t v) : kind(ArgKind::integer) { as.integer = v; }
  Arg(double v) : kind(ArgKind::real) { as.real = v; }
  Arg(std::complex<double> v) : kind(ArgKind::complex) { as.complex = {v.real(), v.imag()}; }
  Arg(Scalar v) {
    switch (v.category()) {
      case Category::boolean:
        *this = Arg(v.truth());
        break;
      case Category::integral:
        *this = Arg(v.integer());
        break;
      case Category::floating:
        *this = Arg(v.real());
        break;
      case Category::complex:
        *this = Arg(v.complex());
        break;
    }
  }
  Arg(std::string_view v) : kind(ArgKind::string), size(static_cast<uint32_t>(v.size())) {
    as.string = v.data();
  }
  Arg(const char* v) : Arg(std::string_view(v)) {}
  Arg(DType v) : kind(ArgKind::dtype), dtype(v) {}
  Arg(Device v) : kind(ArgKind::device) { as.device = v; }
  Arg(MemoryFormat v) : kind(ArgKind::memory_format) { as.memory_format = v; }
  Arg(Generator* v) : kind(v ? ArgKind::generator : ArgKind::none) { as.generator = v; }
  Arg(IntSpan v) : kind(ArgKind::integers), size(static_cast<uint32_t>(v.size())) {
    as.integers = v.data();
  }
  Arg(const Dims& v) : Arg(IntSpan(v)) {}
  Arg(std::span<const double> v) : kind(ArgKind::reals), size(static_cast<uint32_t>(v.size())) {
    as.reals = v.data();
  }
  Arg(std::span<const Tensor> v) : kind(ArgKind::tensors), size(static_cast<uint32_t>(v.size())) {
    static_assert(sizeof(Tensor) == sizeof(TensorImpl*));
    as.tensors = reinterpret_cast<TensorImpl* const*>(v.data());
  }
  template <class T>
  Arg(const std::optional<T>& v) {
    if (v) *this = Arg(*v);
  }

  bool is_none() const { return kind == ArgKind::none; }
  bool is_tensor() const { return kind == ArgKind::tensor; }
  bool is_scalar() const { return kind >= ArgKind::boolean && kind <= ArgKind::complex; }

  // A Tensor is one pointer, so a borrowed pointer can be lent as one.
  const Tensor& tensor() const { return *reinterpret_cast<const Tensor*>(&as.tensor); }
  std::span<const Tensor> tensors() const {
    return {reinterpret_cast<const Tensor*>(as.tensors), size};
  }
  Scalar scalar() const {
    switch (kind) {
      case ArgKind::boolean:
        return Scalar(as.integer != 0);
      case ArgKind::real:
        return Scalar(as.real);
      case ArgKind::complex:
        return Scalar(std::complex<double>(as.complex.re, as.complex.im));
      default:
        return Scalar(as.integer);
    }
  }
  IntSpan integers() const { return {as.integers, size}; }
};

// The argument of a binary operator: a tensor or a Python number.
class Operand {
 public:
  Operand(const Tensor& tensor) : arg_(tensor) {}
  Operand(Scalar scalar) : arg_(scalar) {}
  Operand(double value) : arg_(value) {}
  Operand(int value) : arg_(value) {}
  explicit Operand(const Arg& arg) : arg_(arg) {}
  bool is_tensor() const { return arg_.is_tensor(); }
  const Tensor& tensor() const { return arg_.tensor(); }
  Scalar scalar() const { return arg_.scalar(); }
  operator const Arg&() const { return arg_; }

 private:
  Arg arg_;
};

}  // namespace wisp
