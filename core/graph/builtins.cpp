#include "graph/builtins.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "graph/builtins_parts.h"

namespace wisp::graph {

namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    depth += (c == '(') - (c == ')');
    if (c != ',' || (depth > 0 && i < text.size())) continue;
    const std::string_view part = trimmed(text.substr(begin, i - begin));
    if (!part.empty()) parts.push_back(part);
    begin = i + 1;
  }
  return parts;
}

namespace {

// With what follows from the schema: "append.t(T[] self, T item) -> ()".
Builtin read_schema(const BuiltinRow& row) {
  Builtin builtin{row, {}, {}, {}, {}};
  const std::string_view text = row.schema;
  const size_t open = text.find('('), arrow = text.rfind(" -> ");
  const std::string_view full = text.substr(0, open);
  const size_t dot = full.find('.');
  builtin.name = full.substr(0, dot);
  if (dot != std::string_view::npos) builtin.overload = full.substr(dot + 1);
  for (std::string_view part : split_list(text.substr(open + 1, arrow - open - 2))) {
    const size_t space = part.rfind(' ');
    builtin.params.push_back(
        {std::string(part.substr(space + 1)), std::string(part.substr(0, space))});
  }
  const std::string_view result = text.substr(arrow + 4);
  if (result != "()") builtin.result = result;
  return builtin;
}

std::vector<Builtin> make_table() {
  std::vector<BuiltinRow> rows;
  add_number_builtins(rows);
  add_math_builtins(rows);
  add_string_builtins(rows);
  add_list_builtins(rows);
  add_dict_builtins(rows);
  add_tensor_builtins(rows);
  add_type_builtins(rows);
  add_context_builtins(rows);
  add_gradient_builtins(rows);
  std::vector<Builtin> table;
  for (const BuiltinRow& row : rows) table.push_back(read_schema(row));
  std::stable_sort(table.begin(), table.end(),
                   [](const Builtin& a, const Builtin& b) { return a.name < b.name; });
  return table;
}

// --- Types. What a schema's letter T, K or V stands for is found by matching.

using Letters = std::map<char, TypeRef>;

const std::map<std::string_view, Kind>& simple_kinds() {
  static const std::map<std::string_view, Kind> kinds = {{"Any", Kind::any},
                                                         {"NoneType", Kind::none},
                                                         {"bool", Kind::boolean},
                                                         {"int", Kind::integer},
                                                         {"float", Kind::real},
                                                         {"complex", Kind::complex},
                                                         {"Scalar", Kind::number},
                                                         {"str", Kind::string},
                                                         {"Tensor", Kind::tensor},
                                                         {"Dtype", Kind::dtype},
                                                         {"Device", Kind::device},
                                                         {"Layout", Kind::layout},
                                                         {"Generator", Kind::generator},
                                                         {"MemoryFormat", Kind::memory_format}};
  return kinds;
}

bool is_letter(std::string_view text) { return text == "T" || text == "K" || text == "V"; }

// Whether a value of type `given` fits what the schema says; notes what letters stand for.
bool match(std::string_view wanted, const TypeRef& given, Letters& letters) {
  if (wanted.ends_with("?")) {
    const std::string_view inner = wanted.substr(0, wanted.size() - 1);
    if (given->kind == Kind::none) return true;
    return match(inner, given->kind == Kind::optional ? given->items[0] : given, letters);
  }
  if (wanted.ends_with("[]")) {
    return given->kind == Kind::list &&
           match(wanted.substr(0, wanted.size() - 2), given->items[0], letters);
  }
  if (is_letter(wanted)) {
    TypeRef& known = letters[wanted[0]];
    if (!known) known = given;
    return is_subtype(*given, *known);
  }
  if (wanted.starts_with("Dict(") || wanted.starts_with("(")) {
    const bool dict = wanted.front() == 'D';
    const auto parts = split_list(wanted.substr(dict ? 5 : 1, wanted.size() - (dict ? 6 : 2)));
    if (given->kind != (dict ? Kind::dict : Kind::tuple) || given->items.size() != parts.size())
      return false;
    for (size_t i = 0; i < parts.size(); ++i) {
      if (!match(parts[i], given->items[i], letters)) return false;
    }
    return true;
  }
  return is_subtype(*given, *simple_type(simple_kinds().at(wanted)));
}

// The type that a schema's text names, or null if a letter in it is not known.
TypeRef make_type(std::string_view text, const Letters& letters) {
  if (text.ends_with("?") || text.ends_with("[]")) {
    const bool optional = text.back() == '?';
    TypeRef inner = make_type(text.substr(0, text.size() - (optional ? 1 : 2)), letters);
    if (!inner) return nullptr;
    return optional ? optional_of(inner) : list_of(inner);
  }
  if (is_letter(text)) {
    const auto found = letters.find(text[0]);
    return found == letters.end() ? nullptr : found->second;
  }
  const bool dict = text.starts_with("Dict(");
  if (!dict && !text.starts_with("(")) return simple_type(simple_kinds().at(text));
  std::vector<TypeRef> items;
  for (const auto part : split_list(text.substr(dict ? 5 : 1, text.size() - (dict ? 6 : 2)))) {
    items.push_back(make_type(part, letters));
    if (!items.back()) return nullptr;
  }
  return dict ? dict_of(items[0], items[1]) : tuple_of(std::move(items));
}

bool is_variadic(const Builtin& builtin) {
  return !builtin.params.empty() && builtin.params.back().type.ends_with("...");
}

}  // namespace

const std::vector<Builtin>& builtins() {
  static const std::vector<Builtin> table = make_table();
  return table;
}

const Builtin* find_builtin(std::string_view full_name) {
  static const auto by_name = [] {
    std::unordered_map<std::string, const Builtin*> names;
    for (const Builtin& builtin : builtins()) names[builtin.full_name()] = &builtin;
    return names;
  }();
  const auto found = by_name.find(std::string(full_name));
  return found == by_name.end() ? nullptr : found->second;
}

TypeRef result_type(const Builtin& builtin, std::span<const TypeRef> arguments) {
  const size_t fixed = builtin.params.size() - (is_variadic(builtin) ? 1 : 0);
  if (arguments.size() < fixed || (arguments.size() > fixed && !is_variadic(builtin)))
    return nullptr;
  Letters letters;
  for (size_t i = 0; i < fixed; ++i) {
    if (!match(builtin.params[i].type, arguments[i], letters)) return nullptr;
  }
  return builtin.result.empty() ? simple_type(Kind::none) : make_type(builtin.result, letters);
}

int64_t checked_position(int64_t index, int64_t size, const char* what) {
  const int64_t position = index < 0 ? index + size : index;
  WISP_CHECK_INDEX(position >= 0 && position < size, what, " index out of range");
  return position;
}

int64_t range_length(int64_t start, int64_t stop, int64_t step) {
  WISP_CHECK_VALUE(step != 0, "range() arg 3 must not be zero");
  // In 64 bits without sign: the distance of two ints always fits.
  const auto low = static_cast<uint64_t>(step > 0 ? start : stop);
  const auto high = static_cast<uint64_t>(step > 0 ? stop : start);
  if (step > 0 ? start >= stop : start <= stop) return 0;
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : -static_cast<uint64_t>(step);
  return static_cast<int64_t>((high - low - 1) / stride + 1);
}

Range resolve_slice(const Datum& start, const Datum& stop, const Datum& step, int64_t size) {
  const int64_t by = step.is_none() ? 1 : step.integer();
  WISP_CHECK_VALUE(by != 0, "slice step cannot be zero");
  const int64_t lowest = by > 0 ? 0 : -1, highest = by > 0 ? size : size - 1;
  auto limited = [&](const Datum& end, int64_t natural) {
    if (end.is_none()) return natural;
    const int64_t at = end.integer() < 0 ? end.integer() + size : end.integer();
    return std::min(std::max(at, lowest), highest);
  };
  const int64_t first = limited(start, by > 0 ? 0 : size - 1);
  const int64_t last = limited(stop, by > 0 ? size : -1);
  return {first, by, range_length(first, last, by)};
}

}  // namespace wisp::graph
