#include "graph/code.h"

namespace wisp::graph {

namespace {

constexpr uint32_t bit(Tag tag) { return uint32_t(1) << static_cast<int>(tag); }

uint32_t tags_of_kind(Kind kind) {
  switch (kind) {
    case Kind::none:
      return bit(Tag::none);
    case Kind::boolean:
      return bit(Tag::boolean);
    case Kind::integer:
      return bit(Tag::integer) | bit(Tag::boolean);
    case Kind::real:
      return bit(Tag::real);
    case Kind::complex:
      return bit(Tag::complex);
    case Kind::number:
      return bit(Tag::boolean) | bit(Tag::integer) | bit(Tag::real) | bit(Tag::complex);
    case Kind::string:
      return bit(Tag::string);
    case Kind::tensor:
      return bit(Tag::tensor);
    case Kind::dtype:
      return bit(Tag::dtype);
    case Kind::device:
      return bit(Tag::device);
    case Kind::layout:
      return bit(Tag::layout);
    case Kind::memory_format:
      return bit(Tag::memory_format);
    case Kind::generator:
      return bit(Tag::generator);
    case Kind::list:
      return bit(Tag::list);
    case Kind::tuple:
      return bit(Tag::tuple);
    case Kind::dict:
      return bit(Tag::dict);
    case Kind::object:
      return bit(Tag::object);
    case Kind::future:
      return bit(Tag::future);
    default:
      return ~uint32_t(0);
  }
}

}  // namespace

uint32_t tags_of(const Type& type) {
  if (type.kind == Kind::optional) return tags_of(*type.items[0]) | bit(Tag::none);
  return tags_of_kind(type.kind);
}

}  // namespace wisp::graph
