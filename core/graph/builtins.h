// Functions of plain Python values: numbers, strings, lists, dicts, and what tensors tell about
// themselves. Operators on tensors are in the table of operators instead.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/datum.h"
#include "graph/type.h"

namespace wisp::graph {

// Arguments in, result out. Arguments may be moved from.
using BuiltinFn = Datum (*)(std::span<Datum> args);

// The schema has the form of the table's, with T, K, V for types that follow from the arguments:
//   "add.int(int a, int b) -> int", "len.t(T[] a) -> int", "append.t(T[] self, T item) -> ()".
// A last parameter "Any... values" takes any number of arguments.
struct BuiltinRow {
  const char* schema;
  BuiltinFn run;
  bool pure = true;  // its result depends on the values of its arguments alone and it writes none
};

// A row, and what follows from its schema.
struct Builtin : BuiltinRow {
  std::string name, overload;
  struct Param {
    std::string name, type;
  };
  std::vector<Param> params;
  std::string result;  // empty: none
  std::string full_name() const { return overload.empty() ? name : name + "." + overload; }
};

// All of them, in a fixed order; those of one name stand together.
const std::vector<Builtin>& builtins();
const Builtin* find_builtin(std::string_view full_name);
// The type of the result for arguments of these types, or null if they do not fit.
TypeRef result_type(const Builtin& builtin, std::span<const TypeRef> arguments);

}  // namespace wisp::graph
