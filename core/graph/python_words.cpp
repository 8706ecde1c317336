#include "graph/python_words.h"

#include <set>
#include <unordered_map>

#include "base/error.h"
#include "graph/effects.h"
#include "graph/graph.h"

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
      // Of numbers these hold together more tightly than comparisons do; parentheses do no harm.
      {"__or__", {"|", comparison}},
      {"__and__", {"&", comparison}},
      {"__xor__", {"^", comparison}},
      {"__lshift__", {"<<", comparison}},
      {"__rshift__", {">>", comparison}},
      {"__is__", {"is", comparison}},
      {"__isnot__", {"is not", comparison}}};
  const auto found = all.find(name);
  return found == all.end() ? nullptr : &found->second;
}

const char* find_python_function(std::string_view name) {
  static const std::unordered_map<std::string_view, const char*> all = {
      {"Int", "int"}, {"Float", "float"}, {"Bool", "bool"}, {"Complex", "complex"}};
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

namespace {

// isinstance() of one word is Python's; types with parts are asked for as graphs write them.
std::string instance_question(const std::string& value, const std::string& quoted) {
  static const std::set<std::string> words = {"int",  "float", "bool", "str",   "complex",
                                              "list", "tuple", "dict", "Tensor"};
  const std::string word = quoted.substr(1, quoted.size() - 2);
  if (words.contains(word)) return str("isinstance(", value, ", ", word, ")");
  return str("wisp._is_instance(", value, ", ", quoted, ")");
}

}  // namespace

std::string python_special_call(std::string_view name, const std::vector<std::string>& a) {
  if (name == "_backward")
    return str("wisp.autograd.backward(", a[2], ", ", a[3], ", ", a[0], ", ", a[1], ")");
  if (name == "_gradients")
    return str("wisp.autograd.grad(", a[3], ", ", a[4], ", ", a[5], ", ", a[0], ", ", a[1],
               ", allow_unused=", a[2], ")");
  if (name == "sorted" && a.size() == 2) return str("sorted(", a[0], ", reverse=", a[1], ")");
  if (name == "sort" && a.size() == 2) return str(a[0], ".sort(reverse=", a[1], ")");
  if (name == "_set_slice") return str(a[0], "[", a[1], ":", a[2], "] = ", a[3]);
  if (name == "_is_instance") return instance_question(a[0], a[1]);
  if (name != "percent") return "";
  std::string values;
  for (size_t i = 1; i < a.size(); ++i) values += a[i] + ", ";
  return str("(", a[0], " % (", values, "))");
}

std::string host_function_name(const std::string& name) { return name.substr(0, name.rfind('.')); }

bool is_identifier(const std::string& text) {
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         text.find('.') == std::string::npos;
}

int64_t known_dim(const Value& value) {
  const Datum* constant = constant_of(value);
  if (!constant || constant->tag() != Tag::integer) return -1;
  const int64_t dim = constant->integer();
  return dim < max_ndim ? dim : -1;
}
bool is_bool(const Value& value, bool wanted) {
  const Datum* constant = constant_of(value);
  return constant && constant->tag() == Tag::boolean && constant->boolean() == wanted;
}
bool is_true(const Value& value) { return is_bool(value, true); }

std::string result_type(const Block& block) {
  if (block.results.empty()) return "None";
  if (block.results.size() == 1) return python_type(*block.results[0]->type);
  std::string text;
  for (const Value* value : block.results) {
    text += (text.empty() ? "" : ", ") + python_type(*value->type);
  }
  return "Tuple[" + text + "]";
}

bool is_empty(const Block& block) {
  for (const Node* node = block.first; node; node = node->next) {
    if (!node->is(Prim::Constant)) return false;
  }
  return true;
}

bool is_method(const OpDef& op) {
  constexpr uint32_t functions =
      home::function | home::functional | home::linalg | home::special | home::fft;
  return (op.homes & home::method) && !(op.homes & functions);
}

}  // namespace wisp::graph
