// Types and constants in a program's text.
#include <charconv>
#include <cmath>
#include <limits>

#include "graph/reader.h"

namespace wisp::graph {

namespace {

std::optional<DType> find_dtype(std::string_view word) {
#define WISP_MATCH(id, type, name, legacy) \
  if (word == name) return DType::id;
  WISP_FOR_EACH_DTYPE(WISP_MATCH)
#undef WISP_MATCH
  return {};
}

std::optional<DType> find_legacy_dtype(std::string_view word) {
#define WISP_MATCH(id, type, name, legacy) \
  if (word == legacy) return DType::id;
  WISP_FOR_EACH_DTYPE(WISP_MATCH)
#undef WISP_MATCH
  return {};
}

// Those that are written as one word.
TypeRef find_simple(std::string_view word) {
  for (int i = 0; i < static_cast<int>(Kind::list); ++i) {
    const Kind kind = static_cast<Kind>(i);
    if (kind != Kind::tensor && word == name(kind)) return simple_type(kind);
  }
  return nullptr;
}

template <class T>
bool parse_number(std::string_view text, T& value) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

// --- Types

TypeRef Reader::read_type() {
  TypeRef found = base_type();
  for (int suffixes = 0;; ++suffixes) {
    if (suffixes > max_depth) in.bad("nested too deeply");
    if (in.accept("[]")) {
      found = list_of(found);
    } else if (in.accept("?")) {
      found = optional_of(found);
    } else {
      return found;
    }
  }
}

TypeRef Reader::base_type() {
  if (in.accept("(")) return tuple_type();
  const std::string_view word = in.word();
  if (at_fields()) return named_tuple(word);
  if (word == "Tensor") return tensor_type({});
  if (const auto dtype = find_legacy_dtype(word)) return tensor_type(dtype);
  if (word == "Dict") {
    in.expect("(");
    TypeRef key = type();
    in.expect(",");
    TypeRef made = dict_of(key, type());
    in.expect(")");
    return made;
  }
  if (word == "Future") {
    in.expect("(");
    TypeRef made = future_of(type());
    in.expect(")");
    return made;
  }
  if (TypeRef simple = find_simple(word)) return simple;
  ClassDef* cls = program_ ? program_->find_class(word) : nullptr;
  if (!cls) in.bad(str("there is no type ", word));
  return object_of(*cls);
}

TypeRef Reader::tuple_type() {
  std::vector<TypeRef> items;
  while (!in.accept(")")) {
    items.push_back(type());
    if (!in.accept(",") && in.peek() != ')') in.bad("expected ',' or ')'");
  }
  return tuple_of(std::move(items));
}

// Whether "(name :" comes next, which only named tuples have.
bool Reader::at_fields() {
  const size_t here = in.position();
  const bool found = in.accept("(") && !in.peek_word().empty() && (in.word(), in.accept(":"));
  in.set_position(here);
  return found;
}

TypeRef Reader::named_tuple(std::string_view name) {
  std::vector<std::string> fields;
  std::vector<TypeRef> items;
  in.expect("(");
  do {
    fields.emplace_back(in.word());
    in.expect(":");
    items.push_back(type());
  } while (in.accept(","));
  in.expect(")");
  return named_tuple_of(std::string(name), std::move(fields), std::move(items));
}

TypeRef Reader::tensor_type(std::optional<DType> dtype) {
  if (!in.accept("(")) return tensor_of(dtype, {});
  std::vector<int64_t> sizes;
  if (in.accept(")")) return tensor_of(dtype, std::move(sizes));
  do {
    sizes.push_back(in.accept("*") ? -1 : size());
  } while (in.accept(","));
  in.expect(")");
  if (sizes.size() > max_ndim) in.bad("a tensor has too many dimensions");
  return tensor_of(dtype, std::move(sizes));
}

int64_t Reader::size() {
  int64_t value = 0;
  if (!parse_number(in.number(), value) || value < 0) in.bad("expected a size");
  return value;
}

// --- Constants

Datum Reader::read_constant() {
  switch (in.peek()) {
    case '"':
      return Datum(in.quoted());
    case '[':
      in.expect("[");
      return Datum::list(items("]"));
    case '(':
      in.expect("(");
      return Datum::tuple(items(")"));
    case '{':
      return dict_constant();
    case '<':
      return tensor_constant();
    case '-':
    case '+':
      return number_constant();
    default:
      return std::isdigit(static_cast<unsigned char>(in.peek())) ? number_constant()
                                                                 : word_constant();
  }
}

std::vector<Datum> Reader::items(std::string_view end) {
  std::vector<Datum> found;
  while (!in.accept(end)) {
    found.push_back(constant());
    if (in.accept(",")) continue;
    in.expect(end);
    break;
  }
  return found;
}

Datum Reader::dict_constant() {
  in.expect("{");
  Datum made = Datum::dict();
  while (!in.accept("}")) {
    Datum key = constant();
    in.expect(":");
    made.dict_data().entries.emplace_back(std::move(key), constant());
    if (in.accept(",")) continue;
    in.expect("}");
    break;
  }
  return made;
}

Datum Reader::number_constant() {
  const std::string_view text = in.number();
  if (int64_t integer = 0; parse_number(text, integer)) return Datum(integer);
  double value = 0;
  const bool is_integer = text.find_first_not_of("0123456789+-") == std::string_view::npos;
  if (is_integer || !parse_number(text, value)) in.bad("no number, or one that does not fit");
  return Datum(value);
}

double Reader::real() {
  const Datum value = constant();
  if (value.tag() != Tag::real && value.tag() != Tag::integer) in.bad("expected a number");
  return value.scalar().real();
}

Datum Reader::word_constant() {
  const std::string_view word = in.word();
  if (word == "None") return {};
  if (word == "True" || word == "False") return Datum(word == "True");
  if (word.starts_with("wisp.")) return wisp_constant(word.substr(5));
  if (word == "complex") {
    in.expect("(");
    const double re = real();
    in.expect(",");
    const std::complex<double> value(re, real());
    in.expect(")");
    return Datum(value);
  }
  if (word != "float") in.bad("expected a constant");
  in.expect("(");
  const std::string text = in.quoted();
  in.expect(")");
  double value = 0;
  if (!parse_number(text, value)) in.bad("expected a number");
  return Datum(value);
}

Datum Reader::wisp_constant(std::string_view word) {
  if (const auto dtype = find_dtype(word)) return Datum(*dtype);
  if (word == "strided") return Datum::layout();
  for (const MemoryFormat format : {MemoryFormat::contiguous, MemoryFormat::preserve,
                                    MemoryFormat::channels_last, MemoryFormat::channels_last_3d}) {
    if (word == name(format)) return Datum(format);
  }
  in.bad(str("there is no wisp.", word));
}

Datum Reader::tensor_constant() {
  in.expect("<");
  if (!in.accept_word("tensor")) in.bad("a constant that only a running program can hold");
  const int64_t index = size();
  in.expect(">");
  const bool known = program_ && index < static_cast<int64_t>(program_->tensors.size());
  if (!known) in.bad(str("there is no tensor ", index, " among the constants"));
  return Datum(program_->tensors[index]);
}

// --- Values and types

namespace {

bool is_sequence(const Datum& value, const Type& type) {
  if (type.kind == Kind::list) return value.tag() == Tag::list;
  return value.tag() == Tag::tuple && value.items().size() == type.items.size();
}
const Type& item_type(const Type& sequence, size_t i) {
  return *sequence.items[sequence.kind == Kind::list ? 0 : i];
}

Datum converted_sequence(const Datum& value, const Type& type) {
  if (!is_sequence(value, type)) return value;
  std::vector<Datum> items = value.items();
  for (size_t i = 0; i < items.size(); ++i) items[i] = converted(items[i], item_type(type, i));
  return type.kind == Kind::list ? Datum::list(std::move(items)) : Datum::tuple(std::move(items));
}

Datum converted_dict(const Datum& value, const Type& type) {
  if (value.tag() != Tag::dict) return value;
  Datum made = Datum::dict();
  for (const auto& [key, item] : value.dict_data().entries) {
    made.dict_data().entries.emplace_back(converted(key, *type.items[0]),
                                          converted(item, *type.items[1]));
  }
  return made;
}

bool sequence_is_of_type(const Datum& value, const Type& type) {
  if (!is_sequence(value, type)) return false;
  for (size_t i = 0; i < value.items().size(); ++i) {
    if (!is_of_type(value.items()[i], item_type(type, i))) return false;
  }
  return true;
}

bool dict_is_of_type(const Datum& value, const Type& type) {
  if (value.tag() != Tag::dict) return false;
  for (const auto& [key, item] : value.dict_data().entries) {
    if (!is_of_type(key, *type.items[0]) || !is_of_type(item, *type.items[1])) return false;
  }
  return true;
}

bool is_number(Tag tag) {
  return tag == Tag::boolean || tag == Tag::integer || tag == Tag::real || tag == Tag::complex;
}

// The tag that values of a type without parts have.
Tag tag_of(Kind kind) {
  constexpr std::pair<Kind, Tag> tags[] = {{Kind::none, Tag::none},
                                           {Kind::boolean, Tag::boolean},
                                           {Kind::integer, Tag::integer},
                                           {Kind::real, Tag::real},
                                           {Kind::complex, Tag::complex},
                                           {Kind::string, Tag::string},
                                           {Kind::tensor, Tag::tensor},
                                           {Kind::dtype, Tag::dtype},
                                           {Kind::device, Tag::device},
                                           {Kind::layout, Tag::layout},
                                           {Kind::memory_format, Tag::memory_format},
                                           {Kind::generator, Tag::generator}};
  for (const auto& [known, tag] : tags) {
    if (known == kind) return tag;
  }
  return Tag::none;
}

}  // namespace

Datum converted(const Datum& value, const Type& type) {
  if (value.is_none()) return value;
  switch (type.kind) {
    case Kind::optional:
      return converted(value, *type.items[0]);
    case Kind::real:
      return value.tag() == Tag::integer ? Datum(static_cast<double>(value.integer())) : value;
    case Kind::complex: {
      const bool real = value.tag() == Tag::integer || value.tag() == Tag::real;
      return real ? Datum(value.scalar().complex()) : value;
    }
    case Kind::device:
      return value.tag() == Tag::string ? Datum(parse_device(value.string())) : value;
    case Kind::list:
    case Kind::tuple:
      return converted_sequence(value, type);
    case Kind::dict:
      return converted_dict(value, type);
    default:
      return value;
  }
}

bool is_of_type(const Datum& value, const Type& type) {
  switch (type.kind) {
    case Kind::any:
      return true;
    case Kind::number:
      return is_number(value.tag());
    case Kind::list:
    case Kind::tuple:
      return sequence_is_of_type(value, type);
    case Kind::dict:
      return dict_is_of_type(value, type);
    case Kind::optional:
      return value.is_none() || is_of_type(value, *type.items[0]);
    case Kind::object:
      return value.tag() == Tag::object && value.object().cls == type.cls;
    case Kind::future:
      return value.tag() == Tag::future;
    default:
      return value.tag() == tag_of(type.kind);
  }
}

}  // namespace wisp::graph
