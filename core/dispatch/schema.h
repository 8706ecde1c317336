// The contract of an operator, parsed from its one-line text:
//   "sum(Tensor self, int[]? dim=None, bool keepdim=False, *, Dtype? dtype=None) -> Tensor"
// Bindings, methods, stubs, documentation and graphs all read this.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dispatch/arg.h"

namespace wisp {

enum class ParamType : uint8_t {
  tensor,
  operand,  // "Tensor|Scalar"
  scalar,
  integer,
  real,
  boolean,
  only_true,  // "True": a bool that has to be true, for overloads chosen by value
  only_false,
  string,
  dtype,
  device,
  layout,
  memory_format,
  generator,
  integers,
  reals,
  tensors,
  maybe_tensors,  // "Tensor?[]"
};

struct Param {
  std::string name;
  ParamType type;
  bool optional = false;  // may be None
  bool keyword_only = false;
  bool has_default = false;
  bool variadic = false;  // "Tensor...": a list whose items may be given one by one
  int list_size = 0;      // int[2]: a single int stands for two
  Arg fallback;           // the default; points into the members below
  std::vector<int64_t> fallback_list;
  std::string fallback_text;
  std::string default_text;  // as written, for signatures
  bool takes_tensor() const { return type == ParamType::tensor || type == ParamType::operand; }
  bool takes_tensors() const {
    return type == ParamType::tensors || type == ParamType::maybe_tensors;
  }
};

struct Return {
  std::string name;  // empty unless the results are named, as in (Tensor values, Tensor indices)
  bool is_list = false;
  bool is_tensor = true;
  bool optional = false;  // "Tensor?": left out of the Python result if not defined
  std::string type;
};

struct Schema {
  std::string name;      // "max.dim"
  std::string base;      // "max"
  std::string overload;  // "dim"
  std::vector<Param> params;
  std::vector<Return> returns;

  static Schema parse(std::string_view text);
  int find(std::string_view param) const;  // -1 if there is none of that name
  bool returns_list() const { return returns.size() == 1 && returns[0].is_list; }
};

// "int[]?" and the like, as written in the schema.
std::string type_text(const Param& param);

}  // namespace wisp
