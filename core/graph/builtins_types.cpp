// isinstance() of values whose type is known when the program runs.
#include <algorithm>

#include "graph/builtins_parts.h"
#include "graph/graph.h"

namespace wisp::graph {

namespace {

bool is_instance(const Datum& value, std::string_view type);

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
    case Tag::object:
      return word == value.object().cls->name;
    default:
      return false;
  }
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
  return type == "Any" || is_of_kind(value, type);
}

}  // namespace

void add_type_builtins(std::vector<BuiltinRow>& table) {
  table.push_back({"_is_instance(Any a, str kind) -> bool",
                   [](BuiltinArgs a) -> Datum { return is_instance(a[0], a[1].string()); }});
}

}  // namespace wisp::graph
