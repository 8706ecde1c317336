// A value while a graph runs: anything a script can hold, tagged and owned.
#pragma once

#include <complex>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dispatch/arg.h"

namespace wisp::graph {

class Datum;

enum class Tag : uint8_t {
  none,
  boolean,
  integer,
  real,
  dtype,
  device,
  layout,
  memory_format,
  tensor,  // from here on counted: what the payload points to is owned
  generator,
  complex,
  string,
  list,
  tuple,
  dict,
  object,
  future,
};

struct ComplexData;
struct StringData;
struct Type;
struct ListData;  // of a list and of a tuple
class DictData;
class ObjectData;
class FutureData;

class Datum {
 public:
  Datum() = default;
  Datum(bool value) : tag_(Tag::boolean) { as_.integer = value; }
  Datum(int value) : Datum(static_cast<int64_t>(value)) {}
  Datum(int64_t value) : tag_(Tag::integer) { as_.integer = value; }
  Datum(double value) : tag_(Tag::real) { as_.real = value; }
  Datum(DType value) : tag_(Tag::dtype) { as_.dtype = value; }
  Datum(Device value) : tag_(Tag::device) { as_.device = value; }
  Datum(MemoryFormat value) : tag_(Tag::memory_format) { as_.memory_format = value; }
  Datum(Tensor value) {  // an undefined tensor is None
    if (!value.defined()) return;
    tag_ = Tag::tensor;
    as_.tensor = value.detach_impl();
  }
  Datum(std::complex<double> value);
  Datum(std::string value);
  Datum(std::string_view value) : Datum(std::string(value)) {}
  Datum(const char* value) : Datum(std::string(value)) {}
  Datum(Scalar value);
  Datum(Generator* value);
  Datum(Ref<ObjectData> value);
  Datum(Ref<FutureData> value);
  static Datum list(std::vector<Datum> items);
  static Datum tuple(std::vector<Datum> items);
  static Datum dict();
  static Datum layout();  // there is one: strided

  Datum(const Datum& other) : tag_(other.tag_), as_(other.as_) {
    if (counted()) retain();
  }
  Datum(Datum&& other) noexcept : tag_(std::exchange(other.tag_, Tag::none)), as_(other.as_) {}
  Datum& operator=(Datum other) noexcept {
    std::swap(tag_, other.tag_);
    std::swap(as_, other.as_);
    return *this;
  }
  ~Datum() {
    if (counted()) release();
  }

  Tag tag() const { return tag_; }
  bool is_none() const { return tag_ == Tag::none; }
  bool is_tensor() const { return tag_ == Tag::tensor; }

  // What is there has to be of that kind: graphs are typed, so nobody checks again.
  bool boolean() const { return as_.integer != 0; }
  int64_t integer() const { return as_.integer; }
  double real() const { return as_.real; }
  DType dtype() const { return as_.dtype; }
  Device device() const { return as_.device; }
  MemoryFormat memory_format() const { return as_.memory_format; }
  const Tensor& tensor() const { return *reinterpret_cast<const Tensor*>(&as_.tensor); }
  Tensor take_tensor() {  // leaves None
    tag_ = Tag::none;
    return Tensor::adopt(as_.tensor);
  }
  std::complex<double> complex() const;
  Scalar scalar() const;  // of a bool, int, float or complex
  const std::string& string() const;
  std::vector<Datum>& items() const;  // of a list or tuple
  ListData& list_data() const;        // the same
  DictData& dict_data() const;
  ObjectData& object() const;
  FutureData& future() const;
  Generator* generator() const;

 private:
  bool counted() const { return tag_ >= Tag::tensor; }
  void retain() const {
    if (tag_ == Tag::tensor) {
      as_.tensor->retain();
    } else {
      as_.object->retain();
    }
  }
  void release() {
    if (tag_ == Tag::tensor) {
      as_.tensor->release();
    } else {
      as_.object->release();
    }
  }

  Tag tag_ = Tag::none;
  union Payload {
    int64_t integer;
    double real;
    DType dtype;
    Device device;
    MemoryFormat memory_format;
    TensorImpl* tensor;
    Object* object;
  } as_ = {.integer = 0};
};

struct ComplexData : Object {
  std::complex<double> value;
};
struct StringData : Object {
  std::string value;
};
struct ListData : Object {
  std::vector<Datum> items;
  // Of a tuple that became a value of type Any: its type, which may have a name and fields. Else
  // null.
  std::shared_ptr<const Type> named;
};
// In the order of insertion. Keys are strings or numbers. Entries may be added at the end by
// anyone; none may be taken out but by erase(), or all at once.
class DictData : public Object {
 public:
  std::vector<std::pair<Datum, Datum>> entries;
  Datum* find(const Datum& key);
  void set(Datum key, Datum value);
  bool erase(const Datum& key);

 private:
  size_t place_of(const Datum& key);  // entries.size() if there is none
  // Places of the first `indexed_` entries by hash; only dicts of many entries have it.
  std::unordered_multimap<size_t, size_t> index_;
  size_t indexed_ = 0;
};

// Equal as Python's == says, for everything but tensors (which are equal if they are the same).
bool equal(const Datum& a, const Datum& b);
// With lists, tuples and dicts of its own: who gets a constant or a default may write into it.
Datum deep_copy(const Datum& value);
// As Python's repr() and str() print it.
std::string repr(const Datum& value);
std::string str_of(const Datum& value);

}  // namespace wisp::graph
