// The types of values in a graph.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/small_vector.h"

namespace wisp::graph {

struct ClassDef;
struct Type;
using TypeRef = std::shared_ptr<const Type>;

enum class Kind : uint8_t {
  any,
  none,
  boolean,
  integer,
  real,
  complex,
  number,  // any of bool, int, float, complex: what the table calls Scalar
  string,
  tensor,
  dtype,
  device,
  layout,
  memory_format,
  generator,
  list,      // items: {element}
  tuple,     // items: one per element; a named tuple has a name and fields
  dict,      // items: {key, value}
  optional,  // items: {what it is if not None}
  object,    // an instance of `cls`: a module, or of a user's class
  future,    // items: {what will be there once it has been waited for}
};

struct Type {
  Kind kind = Kind::any;
  std::vector<TypeRef> items = {};
  // Of a tensor, as far as they are known; a size of -1 is not.
  std::optional<DType> dtype = {};
  std::optional<std::vector<int64_t>> sizes = {};
  // Of a named tuple.
  std::string name = {};
  std::vector<std::string> fields = {};
  // Of an object; owned by the graph's Program.
  ClassDef* cls = nullptr;
};

const char* name(Kind kind);  // as types without parts are written: "int", "NoneType"

// Types without parts are made once.
const TypeRef& simple_type(Kind kind);
TypeRef list_of(TypeRef element);
TypeRef optional_of(TypeRef type);  // of an optional or None: itself
TypeRef dict_of(TypeRef key, TypeRef value);
TypeRef tuple_of(std::vector<TypeRef> items);
TypeRef named_tuple_of(std::string name, std::vector<std::string> fields,
                       std::vector<TypeRef> items);
TypeRef tensor_of(std::optional<DType> dtype, std::optional<std::vector<int64_t>> sizes);
TypeRef object_of(ClassDef& cls);
TypeRef future_of(TypeRef result);

bool same(const Type& a, const Type& b);
// Whether a value of type `from` may stand where `to` is expected, without a conversion.
bool is_subtype(const Type& from, const Type& to);
// The smallest type that holds both, or null: int and None give int?.
TypeRef unify(const TypeRef& a, const TypeRef& b);

// The same with every tensor of unknown shape and dtype. What types say of shapes is knowledge for
// passes; whether a program is well formed does not depend on it.
TypeRef without_shapes(const TypeRef& type);

// "Tensor", "Float(2, *)", "int[]", "(int, Tensor)", "Dict(str, Tensor)", "int?", "__wisp__.Net".
std::string to_string(const Type& type);

}  // namespace wisp::graph
