// What functions take besides tensors: numbers, lists of sizes, options of new tensors.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <ostream>
#include <type_traits>
#include <vector>

#include "base/device.h"
#include "base/dtype.h"
#include "base/scalar.h"

namespace wisp {
class TensorImpl;
}  // namespace wisp

#pragma GCC visibility push(default)
namespace wisp::api {

class Tensor;
using Tensors = std::vector<Tensor>;

constexpr DType kBool = DType::bool_, kUInt8 = DType::uint8, kInt8 = DType::int8,
                kInt16 = DType::int16, kInt32 = DType::int32, kInt64 = DType::int64,
                kFloat16 = DType::float16, kBFloat16 = DType::bfloat16, kFloat32 = DType::float32,
                kFloat64 = DType::float64, kComplexFloat = DType::complex64,
                kComplexDouble = DType::complex128, kUInt16 = DType::uint16,
                kUInt32 = DType::uint32, kUInt64 = DType::uint64,
                kFloat8_e4m3fn = DType::float8_e4m3fn, kFloat8_e5m2 = DType::float8_e5m2;
constexpr DType kByte = kUInt8, kChar = kInt8, kShort = kInt16, kInt = kInt32, kLong = kInt64,
                kHalf = kFloat16, kFloat = kFloat32, kDouble = kFloat64;
constexpr DeviceType kCPU = DeviceType::cpu, kCUDA = DeviceType::cuda, kMeta = DeviceType::meta;
using ScalarType = DType;

template <class T>
using IfNumber = std::enable_if_t<std::is_arithmetic_v<T>, int>;
template <class T>
using IfInteger = std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int>;

// A number of any type.
class Scalar : public wisp::Scalar {
 public:
  Scalar(wisp::Scalar value) : wisp::Scalar(value) {}
  Scalar(std::complex<double> value) : wisp::Scalar(value) {}
  template <class T, IfNumber<T> = 0>
  Scalar(T value) : wisp::Scalar(widened(value)) {}

 private:
  template <class T>
  static auto widened(T value) {
    if constexpr (std::is_same_v<T, bool>) {
      return value;
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<int64_t>(value);
    } else {
      return static_cast<double>(value);
    }
  }
};

// A bool that no number turns into by accident.
class Flag {
 public:
  template <class T, std::enable_if_t<std::is_same_v<T, bool>, int> = 0>
  constexpr Flag(T value) : value_(value) {}
  constexpr operator bool() const { return value_; }

 private:
  bool value_;
};

// Sizes, strides, dimensions: {2, 3}, a vector, or a single number. Borrows what it is made of, so
// it is for parameters, and for looking at the sizes of a tensor while that lives.
class IntList {
 public:
  IntList() = default;
  IntList(const int64_t* data, size_t size) : data_(data), size_(size) {}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winit-list-lifetime"
#endif
  IntList(std::initializer_list<int64_t> items) : data_(items.begin()), size_(items.size()) {}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
  IntList(const std::vector<int64_t>& items) : data_(items.data()), size_(items.size()) {}
  template <class T, IfInteger<T> = 0>
  IntList(T one) : size_(1), one_(static_cast<int64_t>(one)) {}

  const int64_t* data() const { return data_ ? data_ : &one_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const int64_t* begin() const { return data(); }
  const int64_t* end() const { return data() + size_; }
  int64_t operator[](size_t i) const { return data()[i]; }
  int64_t front() const { return data()[0]; }
  int64_t back() const { return data()[size_ - 1]; }
  std::vector<int64_t> vec() const { return {begin(), end()}; }

  friend bool operator==(const IntList& a, const IntList& b) {
    if (a.size_ != b.size_) return false;
    for (size_t i = 0; i < a.size_; ++i) {
      if (a[i] != b[i]) return false;
    }
    return true;
  }
  friend bool operator!=(const IntList& a, const IntList& b) { return !(a == b); }
  friend std::ostream& operator<<(std::ostream& out, const IntList& list) {
    return out << '[' << joined(list) << ']';
  }

 private:
  static std::string joined(const IntList& list) {
    std::string text;
    for (int64_t item : list) text += (text.empty() ? "" : ", ") + std::to_string(item);
    return text;
  }
  const int64_t* data_ = nullptr;
  size_t size_ = 0;
  int64_t one_ = 0;
};
using IntArrayRef = IntList;

// An IntList, or nothing: all dimensions, or whatever the function says.
class OptionalIntList {
 public:
  OptionalIntList() = default;
  OptionalIntList(std::nullopt_t) {}
  OptionalIntList(IntList list) : list_(list), given_(true) {}
  OptionalIntList(std::initializer_list<int64_t> items) : list_(items), given_(true) {}
  OptionalIntList(const std::vector<int64_t>& items) : list_(items), given_(true) {}
  template <class T, IfInteger<T> = 0>
  OptionalIntList(T one) : list_(one), given_(true) {}
  bool has_value() const { return given_; }
  const IntList& value() const { return list_; }

 private:
  IntList list_;
  bool given_ = false;
};

// A source of random numbers; without a seed, none: functions then use the default one.
class Generator {
 public:
  Generator() = default;
  explicit Generator(uint64_t seed);
  void set_current_seed(uint64_t seed);
  void* get() const { return impl_.get(); }  // what the core calls a Generator

 private:
  std::shared_ptr<void> impl_;
};
void manual_seed(uint64_t seed);

// Of what dtype a new tensor is, where it lives and whether it requires grad.
class TensorOptions {
 public:
  TensorOptions() = default;
  TensorOptions(DType dtype) : dtype_(dtype) {}
  TensorOptions(Device device) : device_(device) {}
  TensorOptions(DeviceType type) : device_(Device{type, -1}) {}

  TensorOptions dtype(DType dtype) const { return with(&TensorOptions::dtype_, dtype); }
  TensorOptions device(Device device) const { return with(&TensorOptions::device_, device); }
  TensorOptions device(DeviceType type) const { return device(Device{type, -1}); }
  TensorOptions requires_grad(bool value) const {
    return with(&TensorOptions::requires_grad_, value);
  }

  std::optional<DType> dtype() const { return dtype_; }
  std::optional<Device> device() const { return device_; }
  bool requires_grad() const { return requires_grad_; }
  Tensor applied_to(Tensor made) const;

 private:
  template <class Member, class T>
  TensorOptions with(Member member, T value) const {
    TensorOptions changed = *this;
    changed.*member = value;
    return changed;
  }
  std::optional<DType> dtype_;
  std::optional<Device> device_;
  bool requires_grad_ = false;
};
inline TensorOptions dtype(DType value) { return value; }
inline TensorOptions device(Device value) { return value; }
inline TensorOptions device(DeviceType value) { return value; }
inline TensorOptions requires_grad(bool value = true) {
  return TensorOptions().requires_grad(value);
}

}  // namespace wisp::api
#pragma GCC visibility pop
