#include "dispatch/schema.h"

#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace wisp {

namespace {

struct TypeName {
  std::string_view text;
  ParamType type;
};

// Longer spellings first where one starts with another.
constexpr std::array type_names{
    TypeName{"Tensor|Scalar", ParamType::operand},
    TypeName{"Tensor?[]", ParamType::maybe_tensors},
    TypeName{"Tensor[]", ParamType::tensors},
    TypeName{"Tensor...", ParamType::tensors},
    TypeName{"Tensor", ParamType::tensor},
    TypeName{"Scalar", ParamType::scalar},
    TypeName{"int[", ParamType::integers},
    TypeName{"int", ParamType::integer},
    TypeName{"float[]", ParamType::reals},
    TypeName{"float", ParamType::real},
    TypeName{"bool", ParamType::boolean},
    TypeName{"True", ParamType::only_true},
    TypeName{"False", ParamType::only_false},
    TypeName{"str", ParamType::string},
    TypeName{"Dtype", ParamType::dtype},
    TypeName{"Device", ParamType::device},
    TypeName{"Layout", ParamType::layout},
    TypeName{"MemoryFormat", ParamType::memory_format},
    TypeName{"Generator", ParamType::generator},
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text), rest_(text) {}

  Schema parse() {
    Schema schema;
    schema.name = word();
    const size_t dot = schema.name.find('.');
    schema.base = schema.name.substr(0, dot);
    if (dot != std::string::npos) schema.overload = schema.name.substr(dot + 1);
    expect("(");
    parse_params(schema);
    expect("->");
    parse_returns(schema);
    if (!rest_.empty()) bad("unexpected text at the end");
    return schema;
  }

 private:
  [[noreturn]] void bad(const char* why) {
    fail(ErrorKind::value, "schema '", text_, "': ", why, " at '", rest_, "'");
  }
  void skip() {
    while (!rest_.empty() && rest_[0] == ' ') rest_.remove_prefix(1);
  }
  bool accept(std::string_view token) {
    skip();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) bad("expected another token");
  }
  std::string word() {
    skip();
    size_t n = 0;
    while (n < rest_.size() && (std::isalnum(static_cast<unsigned char>(rest_[n])) ||
                                rest_[n] == '_' || rest_[n] == '.'))
      ++n;
    if (n == 0) bad("expected a name");
    std::string name(rest_.substr(0, n));
    rest_.remove_prefix(n);
    return name;
  }

  void parse_params(Schema& schema) {
    bool keyword_only = false;
    if (accept(")")) return;
    do {
      if (accept("*")) {
        keyword_only = true;
        continue;
      }
      schema.params.push_back(parse_param());
      schema.params.back().keyword_only = keyword_only;
    } while (accept(","));
    expect(")");
    // Lists and strings live in the Param: point at them once it has its final place.
    for (Param& param : schema.params) {
      if (param.fallback.kind == ArgKind::integers)
        param.fallback = Arg(IntSpan(param.fallback_list));
      if (param.fallback.kind == ArgKind::string) {
        param.fallback = Arg(std::string_view(param.fallback_text));
      }
    }
  }

  Param parse_param() {
    Param param;
    param.type = parse_type(param);
    param.optional = accept("?");
    param.name = word();
    if (accept("=")) parse_default(param);
    return param;
  }

  ParamType parse_type(Param& param) {
    skip();
    for (const TypeName& candidate : type_names) {
      if (!accept(candidate.text)) continue;
      if (candidate.type == ParamType::integers && !accept("]")) {
        param.list_size = std::atoi(word().c_str());
        expect("]");
      }
      param.variadic = candidate.text.ends_with("...");
      return candidate.type;
    }
    bad("unknown type");
  }

  void parse_default(Param& param) {
    skip();
    size_t n = 0;
    int depth = 0;
    while (n < rest_.size() && (depth > 0 || (rest_[n] != ',' && rest_[n] != ')'))) {
      depth += rest_[n] == '[' ? 1 : rest_[n] == ']' ? -1 : 0;
      ++n;
    }
    param.has_default = true;
    param.default_text = std::string(rest_.substr(0, n));
    rest_.remove_prefix(n);
    param.fallback = parse_value(param);
  }

  Arg parse_value(Param& param) {
    const std::string& text = param.default_text;
    if (text == "None") return {};
    if (text == "True" || text == "False") return Arg(text == "True");
    if (text == "contiguous_format") return Arg(MemoryFormat::contiguous);
    if (text == "preserve_format") return Arg(MemoryFormat::preserve);
    if (text == "inf" || text == "-inf") {
      const double inf = std::numeric_limits<double>::infinity();
      return Arg(text[0] == '-' ? -inf : inf);
    }
    if (text[0] == '"' || text[0] == '\'') {
      param.fallback_text = text.substr(1, text.size() - 2);
      return Arg(std::string_view(param.fallback_text));
    }
    if (text[0] == '[' || param.type == ParamType::integers) {
      parse_list(param);
      return Arg(IntSpan(param.fallback_list));
    }
    const bool is_real = text.find_first_of(".e") != std::string::npos;
    if (param.type == ParamType::real || is_real) return Arg(std::atof(text.c_str()));
    return Arg(static_cast<int64_t>(std::atoll(text.c_str())));
  }

  void parse_list(Param& param) {
    std::string_view items = param.default_text;
    if (items.starts_with('[')) items = items.substr(1, items.size() - 2);
    while (!items.empty()) {
      const size_t comma = std::min(items.find(','), items.size());
      param.fallback_list.push_back(std::atoll(std::string(items.substr(0, comma)).c_str()));
      items.remove_prefix(std::min(comma + 1, items.size()));
    }
    if (param.fallback_list.size() == 1 && param.list_size > 1) {
      param.fallback_list.assign(param.list_size, param.fallback_list[0]);
    }
  }

  void parse_returns(Schema& schema) {
    if (accept("()")) return;
    const bool several = accept("(");
    do {
      Return result;
      result.type = word();
      result.is_tensor = result.type == "Tensor";
      result.is_list = accept("[]");
      result.optional = accept("?");
      skip();
      if (several && !rest_.starts_with(',') && !rest_.starts_with(')')) result.name = word();
      schema.returns.push_back(result);
    } while (several && accept(","));
    if (several) expect(")");
    skip();
  }

  std::string_view text_, rest_;
};

}  // namespace

Schema Schema::parse(std::string_view text) { return Parser(text).parse(); }

int Schema::find(std::string_view param) const {
  for (size_t i = 0; i < params.size(); ++i) {
    if (params[i].name == param) return static_cast<int>(i);
  }
  return -1;
}

std::string type_text(const Param& param) {
  std::string text;
  for (const TypeName& candidate : type_names) {
    if (candidate.type == param.type) {
      text = candidate.text;
      break;
    }
  }
  if (param.type == ParamType::integers) {
    text += param.list_size ? std::to_string(param.list_size) + "]" : "]";
  }
  return param.optional ? text + "?" : text;
}

}  // namespace wisp
