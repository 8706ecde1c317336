#include "runtime/serialization/value.h"

namespace wisp::api {

const char* Value::kind_name() const {
  static const char* const names[] = {"None",     "a bool", "an int",  "a float", "a text",
                                      "a tensor", "a list", "a tuple", "a dict"};
  return names[static_cast<int>(kind_)];
}

void Value::fail_kind(const char* wanted) const {
  fail(ErrorKind::type, "expected ", wanted, ", got ", kind_name());
}

bool Value::to_bool() const {
  if (kind_ != Kind::boolean) fail_kind("a bool");
  return std::get<bool>(data_);
}
int64_t Value::to_int() const {
  if (kind_ != Kind::integer) fail_kind("an int");
  return std::get<int64_t>(data_);
}
double Value::to_double() const {
  switch (kind_) {
    case Kind::boolean:
      return std::get<bool>(data_);
    case Kind::integer:
      return static_cast<double>(std::get<int64_t>(data_));
    case Kind::real:
      return std::get<double>(data_);
    case Kind::tensor:
      return std::get<Tensor>(data_).item<double>();
    default:
      fail_kind("a number");
  }
}
const std::string& Value::to_text() const& {
  if (kind_ != Kind::text) fail_kind("a text");
  return std::get<std::string>(data_);
}
const Tensor& Value::to_tensor() const& {
  if (kind_ != Kind::tensor) fail_kind("a tensor");
  return std::get<Tensor>(data_);
}
const Value::List& Value::to_list() const& {
  if (!is_list()) fail_kind("a list");
  return std::get<List>(data_);
}
const Value::Dict& Value::to_dict() const& {
  if (kind_ != Kind::dict) fail_kind("a dict");
  return std::get<Dict>(data_);
}
Value::List& Value::to_list() & { return const_cast<List&>(std::as_const(*this).to_list()); }
Value::Dict& Value::to_dict() & { return const_cast<Dict&>(std::as_const(*this).to_dict()); }

const Value* Value::find(const std::string& key) const {
  for (const auto& [name, value] : to_dict()) {
    if (name.kind_ == Kind::text && name.to_text() == key) return &value;
  }
  return nullptr;
}
const Value& Value::operator[](const std::string& key) const {
  const Value* found = find(key);
  WISP_CHECK_INDEX(found, "no such key: ", key);
  return *found;
}

}  // namespace wisp::api
