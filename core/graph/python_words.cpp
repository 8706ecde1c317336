#include "graph/python_words.h"

#include <set>
#include <unordered_map>

#include "base/error.h"

namespace wisp::graph {

const Operator* find_operator(std::string_view name) {
  static const std::unordered_map<std::string_view, Operator> all = {
      {"add", {"+", sum}},
      {"sub", {"-", sum}},
      {"mul", {"*", product}},
      {"div", {"/", product}},
      {"floordiv", {"//", product}},
      {"floor_divide", {"//", product}},
      {"remainder", {"%", product}},
      {"matmul", {"@", product}},
      {"eq", {"==", comparison}},
      {"ne", {"!=", comparison}},
      {"lt", {"<", comparison}},
      {"le", {"<=", comparison}},
      {"gt", {">", comparison}},
      {"ge", {">=", comparison}},
      {"__is__", {"is", comparison}},
      {"__isnot__", {"is not", comparison}}};
  const auto found = all.find(name);
  return found == all.end() ? nullptr : &found->second;
}

const char* find_python_function(std::string_view name) {
  static const std::unordered_map<std::string_view, const char*> all = {
      {"Int", "int"},
      {"Float", "float"},
      {"Bool", "bool"},
      {"Complex", "complex"},
      {"_is_instance", "isinstance"}};
  const auto found = all.find(name);
  return found == all.end() ? nullptr : found->second;
}

bool is_python_function(std::string_view name) {
  static const std::set<std::string_view> all = {
      "len",  "abs", "round", "max", "min", "sum", "any",    "all",      "sorted", "list", "str",
      "repr", "hex", "oct",   "bin", "ord", "chr", "divmod", "reversed", "range",  "dict"};
  return all.contains(name);
}

bool is_keyword(const std::string& name) {
  static const std::set<std::string> all = {
      "False",   "None",     "True",     "and",    "as",        "assert",  "async",  "await",
      "break",   "class",    "continue", "def",    "del",       "elif",    "else",   "except",
      "finally", "for",      "from",     "global", "if",        "import",  "in",     "is",
      "lambda",  "nonlocal", "not",      "or",     "pass",      "raise",   "return", "try",
      "while",   "with",     "yield",    "wisp",   "CONSTANTS", "int",     "float",  "bool",
      "print",   "Tensor",   "List",     "Tuple",  "Dict",      "Optional"};
  return all.contains(name) || is_python_function(name);
}

std::string python_type(const Type& type) {
  const auto parts = [&] {
    std::string text;
    for (const TypeRef& item : type.items) text += (text.empty() ? "" : ", ") + python_type(*item);
    return text;
  };
  switch (type.kind) {
    case Kind::tensor:
      return "Tensor";
    case Kind::none:
      return "None";
    case Kind::list:
      return "List[" + parts() + "]";
    case Kind::future:  // forks are written as plain calls
      return parts();
    case Kind::optional:
      return "Optional[" + parts() + "]";
    case Kind::dict:
      return "Dict[" + parts() + "]";
    case Kind::tuple:
      if (!type.name.empty()) return type.name;
      return type.items.empty() ? "Tuple[()]" : "Tuple[" + parts() + "]";
    case Kind::dtype:
      return "wisp.dtype";
    case Kind::device:
      return "wisp.device";
    case Kind::number:
      return "Union[bool, int, float, complex]";
    case Kind::layout:
    case Kind::memory_format:
    case Kind::generator:
      return str("wisp.", name(type.kind));
    default:
      return to_string(type);
  }
}

bool is_property(std::string_view name) {
  static const std::set<std::string_view> all = {
      "dtype", "device", "layout", "requires_grad", "is_leaf", "is_cpu", "is_meta", "type", "grad"};
  return all.contains(name);
}

std::string python_gradient_call(const std::vector<std::string>& a) {
  if (a.size() == 4)
    return str("wisp.autograd.backward(", a[2], ", ", a[3], ", ", a[0], ", ", a[1], ")");
  return str("wisp.autograd.grad(", a[3], ", ", a[4], ", ", a[5], ", ", a[0], ", ", a[1],
             ", allow_unused=", a[2], ")");
}

std::string host_function_name(const std::string& name) { return name.substr(0, name.rfind('.')); }

bool is_identifier(const std::string& text) {
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         text.find('.') == std::string::npos;
}

}  // namespace wisp::graph
