// Data as files hold it, and as compiled programs take and give it: tensors, and numbers, texts,
// lists and dicts around them.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/tensor.h"

#pragma GCC visibility push(default)
namespace wisp::api {

class Value {
 public:
  using List = std::vector<Value>;
  using Dict = std::vector<std::pair<Value, Value>>;
  enum class Kind { none, boolean, integer, real, text, tensor, list, tuple, dict };

  Value() = default;
  Value(std::nullopt_t) {}
  Value(bool value) : kind_(Kind::boolean), data_(value) {}
  template <class T, IfInteger<T> = 0>
  Value(T value) : kind_(Kind::integer), data_(static_cast<int64_t>(value)) {}
  Value(double value) : kind_(Kind::real), data_(value) {}
  Value(std::string text) : kind_(Kind::text), data_(std::move(text)) {}
  Value(const char* text) : Value(std::string(text)) {}
  Value(const Tensor& tensor) : kind_(Kind::tensor), data_(tensor) {}
  Value(List items) : kind_(Kind::list), data_(std::move(items)) {}
  Value(Dict items) : kind_(Kind::dict), data_(std::move(items)) {}
  template <class T>
  Value(const std::optional<T>& value) : Value(value ? Value(*value) : Value()) {}
  static Value tuple(List items) {
    Value made(std::move(items));
    made.kind_ = Kind::tuple;
    return made;
  }

  Kind kind() const { return kind_; }
  bool is_none() const { return kind_ == Kind::none; }
  bool is_tensor() const { return kind_ == Kind::tensor; }
  bool is_dict() const { return kind_ == Kind::dict; }
  bool is_list() const { return kind_ == Kind::list || kind_ == Kind::tuple; }

  // What it is; each fails if it is something else.
  bool to_bool() const;
  int64_t to_int() const;
  double to_double() const;  // also of bools, integers and tensors of one element
  const std::string& to_text() const&;
  const Tensor& to_tensor() const&;
  const List& to_list() const&;  // also of tuples
  const Dict& to_dict() const&;
  List& to_list() &;
  Dict& to_dict() &;
  // Of a temporary, say load(path), copies: for (auto& item : load(path).to_list()).
  std::string to_text() && { return std::as_const(*this).to_text(); }
  Tensor to_tensor() && { return std::as_const(*this).to_tensor(); }
  List to_list() && { return std::as_const(*this).to_list(); }
  Dict to_dict() && { return std::as_const(*this).to_dict(); }
  // The value of a key of a dict; null if there is none of that name.
  const Value* find(const std::string& key) const;
  const Value& operator[](const std::string& key) const;
  // PyTorch's names.
  bool isNone() const { return is_none(); }
  bool isTensor() const { return is_tensor(); }
  bool toBool() const { return to_bool(); }
  int64_t toInt() const { return to_int(); }
  double toDouble() const { return to_double(); }
  Tensor toTensor() const { return to_tensor(); }
  // In words: "a list".
  const char* kind_name() const;

 private:
  [[noreturn]] void fail_kind(const char* wanted) const;
  Kind kind_ = Kind::none;
  std::variant<std::monostate, bool, int64_t, double, std::string, Tensor, List, Dict> data_;
};

}  // namespace wisp::api
#pragma GCC visibility pop
