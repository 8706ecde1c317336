#include "graph/type.h"

#include <array>

#include "base/error.h"
#include "graph/graph.h"

namespace wisp::graph {

namespace {

TypeRef made(Type type) { return std::make_shared<const Type>(std::move(type)); }

constexpr int num_kinds = static_cast<int>(Kind::future) + 1;

bool is_number(Kind kind) {
  return kind == Kind::boolean || kind == Kind::integer || kind == Kind::real ||
         kind == Kind::complex;
}

bool tensor_is_subtype(const Type& from, const Type& to) {
  if (to.dtype && from.dtype != to.dtype) return false;
  if (!to.sizes) return true;
  if (!from.sizes || from.sizes->size() != to.sizes->size()) return false;
  for (size_t i = 0; i < to.sizes->size(); ++i) {
    if ((*to.sizes)[i] != -1 && (*to.sizes)[i] != (*from.sizes)[i]) return false;
  }
  return true;
}

TypeRef unify_tensors(const Type& a, const Type& b) {
  const std::optional<DType> dtype = a.dtype == b.dtype ? a.dtype : std::nullopt;
  if (!a.sizes || !b.sizes || a.sizes->size() != b.sizes->size()) return tensor_of(dtype, {});
  std::vector<int64_t> sizes = *a.sizes;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != (*b.sizes)[i]) sizes[i] = -1;
  }
  return tensor_of(dtype, std::move(sizes));
}

TypeRef unify_tuples(const Type& a, const Type& b) {
  if (a.items.size() != b.items.size() || a.name != b.name || a.fields != b.fields) return nullptr;
  Type both = a;
  for (size_t i = 0; i < a.items.size(); ++i) {
    both.items[i] = unify(a.items[i], b.items[i]);
    if (!both.items[i]) return nullptr;
  }
  return made(std::move(both));
}

TypeRef without_none(const TypeRef& type) {
  return type->kind == Kind::optional ? type->items[0] : type;
}

std::string joined(const std::vector<TypeRef>& items) {
  std::string text;
  for (const TypeRef& item : items) text += (text.empty() ? "" : ", ") + to_string(*item);
  return text;
}

std::string named_tuple_text(const Type& type) {
  std::string text;
  for (size_t i = 0; i < type.items.size(); ++i) {
    text += (i ? ", " : "") + type.fields[i] + " : " + to_string(*type.items[i]);
  }
  return type.name + "(" + text + ")";
}

std::string tensor_text(const Type& type) {
  std::string text = type.dtype ? legacy_name(*type.dtype) : "Tensor";
  if (!type.sizes) return text;
  text += "(";
  for (size_t i = 0; i < type.sizes->size(); ++i) {
    const int64_t size = (*type.sizes)[i];
    text += (i ? ", " : "") + (size < 0 ? std::string("*") : std::to_string(size));
  }
  return text + ")";
}

}  // namespace

const char* name(Kind kind) {
  constexpr const char* names[num_kinds] = {
      "Any",    "NoneType", "bool",  "int",         "float",     "complex",      "Scalar",
      "str",    "Tensor",   "Dtype", "Device",      "Layout",    "MemoryFormat", "Generator",
      "a list", "a tuple",  "Dict",  "an optional", "an object", "a future"};
  return names[static_cast<int>(kind)];
}

const TypeRef& simple_type(Kind kind) {
  static const std::array<TypeRef, num_kinds> all = [] {
    std::array<TypeRef, num_kinds> types;
    for (int i = 0; i < num_kinds; ++i) types[i] = made({.kind = static_cast<Kind>(i)});
    return types;
  }();
  return all[static_cast<int>(kind)];
}

TypeRef list_of(TypeRef element) {
  return made({.kind = Kind::list, .items = {std::move(element)}});
}

TypeRef optional_of(TypeRef type) {
  const bool holds_none =
      type->kind == Kind::optional || type->kind == Kind::none || type->kind == Kind::any;
  return holds_none ? type : made({.kind = Kind::optional, .items = {std::move(type)}});
}

TypeRef dict_of(TypeRef key, TypeRef value) {
  return made({.kind = Kind::dict, .items = {std::move(key), std::move(value)}});
}

TypeRef tuple_of(std::vector<TypeRef> items) {
  return made({.kind = Kind::tuple, .items = std::move(items)});
}

TypeRef named_tuple_of(std::string name, std::vector<std::string> fields,
                       std::vector<TypeRef> items) {
  return made({.kind = Kind::tuple,
               .items = std::move(items),
               .name = std::move(name),
               .fields = std::move(fields)});
}

TypeRef tensor_of(std::optional<DType> dtype, std::optional<std::vector<int64_t>> sizes) {
  if (!dtype && !sizes) return simple_type(Kind::tensor);
  return made({.kind = Kind::tensor, .dtype = dtype, .sizes = std::move(sizes)});
}

TypeRef object_of(ClassDef& cls) { return made({.kind = Kind::object, .cls = &cls}); }

TypeRef future_of(TypeRef result) {
  return made({.kind = Kind::future, .items = {std::move(result)}});
}

bool same(const Type& a, const Type& b) {
  if (a.kind != b.kind || a.items.size() != b.items.size()) return false;
  if (a.dtype != b.dtype || a.sizes != b.sizes || a.cls != b.cls) return false;
  if (a.name != b.name || a.fields != b.fields) return false;
  for (size_t i = 0; i < a.items.size(); ++i) {
    if (!same(*a.items[i], *b.items[i])) return false;
  }
  return true;
}

bool is_subtype(const Type& from, const Type& to) {
  if (to.kind == Kind::any) return true;
  if (to.kind == Kind::number) return from.kind == Kind::number || is_number(from.kind);
  if (to.kind == Kind::optional) {
    if (from.kind == Kind::none) return true;
    return is_subtype(from.kind == Kind::optional ? *from.items[0] : from, *to.items[0]);
  }
  if (from.kind != to.kind) return false;
  if (to.kind == Kind::tensor) return tensor_is_subtype(from, to);
  if (to.kind == Kind::future) return is_subtype(*from.items[0], *to.items[0]);
  if (to.kind != Kind::tuple) return same(from, to);  // what can be written to has one type
  if (from.items.size() != to.items.size()) return false;
  if (!to.name.empty() && (from.name != to.name || from.fields != to.fields)) return false;
  for (size_t i = 0; i < to.items.size(); ++i) {
    if (!is_subtype(*from.items[i], *to.items[i])) return false;
  }
  return true;
}

TypeRef unify(const TypeRef& a, const TypeRef& b) {
  if (same(*a, *b)) return a;
  if (is_subtype(*a, *b)) return b;
  if (is_subtype(*b, *a)) return a;
  if (a->kind == Kind::none) return optional_of(b);
  if (b->kind == Kind::none) return optional_of(a);
  if (a->kind == Kind::optional || b->kind == Kind::optional) {
    TypeRef both = unify(without_none(a), without_none(b));
    return both ? optional_of(both) : nullptr;
  }
  if (a->kind != b->kind) return nullptr;
  if (a->kind == Kind::tensor) return unify_tensors(*a, *b);
  if (a->kind == Kind::tuple) return unify_tuples(*a, *b);
  const TypeRef plain = without_shapes(a);
  return same(*plain, *without_shapes(b)) ? plain : nullptr;
}

TypeRef without_shapes(const TypeRef& type) {
  if (type->kind == Kind::tensor) return simple_type(Kind::tensor);
  Type plain = *type;
  bool changed = false;
  for (TypeRef& item : plain.items) {
    TypeRef erased = without_shapes(item);
    changed |= erased != item;
    item = std::move(erased);
  }
  return changed ? made(std::move(plain)) : type;
}

std::string to_string(const Type& type) {
  switch (type.kind) {
    case Kind::tensor:
      return tensor_text(type);
    case Kind::list:
      return to_string(*type.items[0]) + "[]";
    case Kind::optional:
      return to_string(*type.items[0]) + "?";
    case Kind::future:
      return "Future(" + joined(type.items) + ")";
    case Kind::dict:
      return "Dict(" + joined(type.items) + ")";
    case Kind::tuple:
      if (!type.name.empty()) return named_tuple_text(type);
      return "(" + joined(type.items) + (type.items.size() == 1 ? ",)" : ")");
    case Kind::object:
      return type.cls->name;
    default:
      return name(type.kind);
  }
}

}  // namespace wisp::graph
