// isinstance() and hash() of values whose type is known when the program runs.
#include <algorithm>
#include <cmath>
#include <functional>

#include "graph/builtins_parts.h"
#include "graph/graph.h"

namespace wisp::graph {

namespace {

bool is_instance(const Datum& value, std::string_view type);
bool is_named_tuple(const Datum& value, std::string_view type);

// Of a type without parts: the word for it. "list", "tuple" and "dict" are those of any items.
bool is_of_kind(const Datum& value, std::string_view word) {
  switch (value.tag()) {
    case Tag::none:
      return word == "NoneType";
    case Tag::boolean:
      return word == "bool" || word == "int" || word == "Scalar";
    case Tag::integer:
      return word == "int" || word == "Scalar";
    case Tag::real:
      return word == "float" || word == "Scalar";
    case Tag::complex:
      return word == "complex" || word == "Scalar";
    case Tag::string:
      return word == "str";
    case Tag::tensor:
      return word == "Tensor";
    case Tag::list:
      return word == "list";
    case Tag::tuple:
      return word == "tuple";
    case Tag::dict:
      return word == "dict";
    case Tag::device:
      return word == "Device";
    case Tag::dtype:
      return word == "Dtype";
    case Tag::layout:
      return word == "Layout";
    case Tag::memory_format:
      return word == "MemoryFormat";
    case Tag::generator:
      return word == "Generator";
    case Tag::future:
      return word.starts_with("Future(");
    case Tag::object:
      return word == value.object().cls->name;
  }
  return false;
}

bool is_tuple_of(const Datum& value, const std::vector<std::string_view>& types) {
  if (value.tag() != Tag::tuple) return false;
  const auto& items = value.items();
  return std::equal(items.begin(), items.end(), types.begin(), types.end(), is_instance);
}

bool is_dict_of(const Datum& value, const std::vector<std::string_view>& types) {
  if (value.tag() != Tag::dict || types.size() != 2) return false;
  const auto& entries = value.dict_data().entries;
  return std::all_of(entries.begin(), entries.end(), [&](const auto& entry) {
    return is_instance(entry.first, types[0]) && is_instance(entry.second, types[1]);
  });
}

// `type` is written as in graphs: "int[]", "Dict(str, Tensor?)", "(int, str)". Items are looked at
// one by one, so an empty list is one of every type.
bool is_instance(const Datum& value, std::string_view type) {
  if (type.ends_with('?')) {
    return value.is_none() || is_instance(value, type.substr(0, type.size() - 1));
  }
  if (type.ends_with("[]")) {
    const std::string_view item = type.substr(0, type.size() - 2);
    return value.tag() == Tag::list &&
           std::all_of(value.items().begin(), value.items().end(),
                       [item](const Datum& each) { return is_instance(each, item); });
  }
  if (type.starts_with("Dict(")) {
    return is_dict_of(value, split_list(type.substr(5, type.size() - 6)));
  }
  if (type.starts_with('(')) {
    return is_tuple_of(value, split_list(type.substr(1, type.size() - 2)));
  }
  if (value.tag() == Tag::tuple && type.ends_with(')')) return is_named_tuple(value, type);
  return type == "Any" || is_of_kind(value, type);
}

// A tuple that became a value of type Any knows its name; those that are items of a list do not.
bool is_named_tuple(const Datum& value, std::string_view type) {
  const size_t begin = std::min(type.find('('), type.size() - 1);
  const auto& known = value.list_data().named;
  if (known && known->name != type.substr(0, begin)) return false;
  std::vector<std::string_view> types = split_list(type.substr(begin + 1, type.size() - begin - 2));
  for (std::string_view& field : types) {
    const size_t colon = field.find(" : ");
    if (colon == field.npos) return false;
    field.remove_prefix(colon + 3);
  }
  return is_tuple_of(value, types);
}

Datum name_tuple(BuiltinArgs args) {
  WISP_CHECK(args[0].tag() == Tag::tuple && args[0].items().size() == args[2].items().size(),
             "expected a tuple of ", args[2].items().size(), " items");
  std::vector<std::string> fields;
  for (const Datum& field : args[2].items()) fields.push_back(field.string());
  std::vector<TypeRef> types(fields.size(), simple_type(Kind::any));
  Datum made = Datum::tuple(args[0].items());
  made.list_data().named = named_tuple_of(args[1].string(), std::move(fields), std::move(types));
  return made;
}

// As Python: equal for equal numbers of different types, and an int is nearly its own.
int64_t hash_of_int(int64_t value) {
  constexpr int64_t prime = (int64_t{1} << 61) - 1;
  const int64_t rest = value % prime;
  return rest == -1 ? -2 : rest;
}

int64_t hash_of(const Datum& value) {
  if (value.tag() == Tag::string) {
    return static_cast<int64_t>(std::hash<std::string>()(value.string()));
  }
  if (value.tag() == Tag::boolean || value.tag() == Tag::integer) {
    return hash_of_int(value.integer());
  }
  if (value.tag() == Tag::real) {
    const double real = value.real();
    const bool whole = std::abs(real) < 0x1p63 && std::trunc(real) == real;
    return whole ? hash_of_int(static_cast<int64_t>(real))
                 : static_cast<int64_t>(std::hash<double>()(real));
  }
  if (value.is_tensor()) {  // by identity, as in Python
    return static_cast<int64_t>(std::hash<const void*>()(value.tensor().impl()));
  }
  WISP_CHECK_TYPE(value.tag() == Tag::tuple, "unhashable type: '", repr(value), "'");
  int64_t all = 0;
  for (const Datum& item : value.items()) {
    all = static_cast<int64_t>(static_cast<uint64_t>(all) * 1000003u ^
                               static_cast<uint64_t>(hash_of(item)));
  }
  return all;
}

}  // namespace

void add_type_builtins(std::vector<BuiltinRow>& table) {
  table.push_back({"hash(Any value) -> int", [](BuiltinArgs a) -> Datum { return hash_of(a[0]); }});
  table.push_back({"_named(Any value, str name, str[] fields) -> Any", name_tuple});
  table.push_back({"_is_instance(Any a, str kind) -> bool",
                   [](BuiltinArgs a) -> Datum { return is_instance(a[0], a[1].string()); }});
}

}  // namespace wisp::graph
