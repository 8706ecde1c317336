#include "graph/op_args.h"

#include <algorithm>

namespace wisp::graph {

namespace {

const char* name(Tag tag) {
  constexpr const char* names[] = {
      "None",   "bool",      "int",     "float", "dtype", "device", "layout", "memory_format",
      "Tensor", "Generator", "complex", "str",   "list",  "tuple",  "dict",   "object"};
  return names[static_cast<int>(tag)];
}

[[noreturn]] WISP_COLD void fail_argument(const Datum& value, const Param& param) {
  fail(ErrorKind::type, "argument '", param.name, "' must be ", type_text(param), ", not ",
       name(value.tag()));
}

bool is_integer(const Datum& value) {
  return value.tag() == Tag::integer || value.tag() == Tag::boolean;
}
bool is_real(const Datum& value) { return is_integer(value) || value.tag() == Tag::real; }

// The number in a tensor of one element, which may stand where a number is wanted.
Scalar number_in(const Datum& value, const Param& param) {
  if (is_real(value) || value.tag() == Tag::complex) return value.scalar();
  if (!value.is_tensor() || value.tensor().numel() != 1) fail_argument(value, param);
  return value.tensor().item();
}

int64_t integer_in(const Datum& value, const Param& param) {
  if (WISP_LIKELY(is_integer(value))) return value.integer();
  const bool counts = value.is_tensor() && value.tensor().numel() == 1 &&
                      !is_differentiable(value.tensor().dtype());
  if (!counts) fail_argument(value, param);
  return value.tensor().item().integer();
}

TensorImpl* tensor_in(const Datum& value, const Param& param) {
  if (WISP_LIKELY(value.is_tensor())) return value.tensor().impl();
  if (!value.is_none() || param.type != ParamType::maybe_tensors) fail_argument(value, param);
  return nullptr;
}

// f(i) gives item i.
template <class F>
void fill_list(size_t n, F f, const Param& param, Scratch& scratch, Arg& arg) {
  if (param.type == ParamType::integers) {
    int64_t* items = scratch.ints(n);
    for (size_t i = 0; i < n; ++i) items[i] = integer_in(f(i), param);
    arg = Arg(IntSpan(items, n));
  } else if (param.type == ParamType::reals) {
    double* items = scratch.reals(n);
    for (size_t i = 0; i < n; ++i) items[i] = number_in(f(i), param).real();
    arg = Arg(std::span<const double>(items, n));
  } else {
    TensorImpl** items = scratch.tensors(n);
    for (size_t i = 0; i < n; ++i) items[i] = tensor_in(f(i), param);
    arg = Arg(std::span<const Tensor>(reinterpret_cast<const Tensor*>(items), n));
  }
}

void fill_sequence(const Datum& value, const Param& param, Scratch& scratch, Arg& arg) {
  if (value.tag() == Tag::list || value.tag() == Tag::tuple) {
    const std::vector<Datum>& items = value.items();
    return fill_list(
        items.size(), [&](size_t i) -> const Datum& { return items[i]; }, param, scratch, arg);
  }
  if (param.type != ParamType::integers || param.list_size == 0) fail_argument(value, param);
  const auto n = static_cast<size_t>(param.list_size);  // int[2]: a single int stands for two
  int64_t* items = scratch.ints(n);
  std::fill_n(items, n, integer_in(value, param));
  arg = Arg(IntSpan(items, n));
}

void expect(bool fits, const Datum& value, const Param& param) {
  if (WISP_UNLIKELY(!fits)) fail_argument(value, param);
}

// Of parameters that are neither tensors, numbers nor lists.
void set_word(const Datum& value, const Param& param, Arg& arg) {
  const Tag tag = value.tag();
  switch (param.type) {
    case ParamType::string:
      expect(tag == Tag::string, value, param);
      arg = Arg(std::string_view(value.string()));
      break;
    case ParamType::dtype:
      expect(tag == Tag::dtype, value, param);
      arg = Arg(value.dtype());
      break;
    case ParamType::device:
      expect(tag == Tag::device || tag == Tag::string, value, param);
      arg = Arg(usable(tag == Tag::device ? value.device() : parse_device(value.string())));
      break;
    case ParamType::memory_format:
      expect(tag == Tag::memory_format, value, param);
      arg = Arg(value.memory_format());
      break;
    case ParamType::generator:
      expect(tag == Tag::generator, value, param);
      arg = Arg(value.generator());
      break;
    default:
      expect(tag == Tag::layout && param.type == ParamType::layout, value, param);
      arg = Arg();
  }
}

}  // namespace

void set_list_arg(std::span<const Datum* const> items, const Param& param, Scratch& scratch,
                  Arg& arg) {
  fill_list(items.size(), [&](size_t i) -> const Datum& { return *items[i]; }, param, scratch, arg);
}

void set_arg(const Datum& value, const Param& param, Scratch& scratch, Arg& arg) {
  if (value.is_none()) {
    expect(param.optional, value, param);
    arg = Arg();
    return;
  }
  switch (param.type) {
    case ParamType::tensor:
      expect(value.is_tensor(), value, param);
      arg = Arg(value.tensor());
      break;
    case ParamType::operand:
      arg = value.is_tensor() ? Arg(value.tensor()) : Arg(number_in(value, param));
      break;
    case ParamType::scalar:
      arg = Arg(number_in(value, param));
      break;
    case ParamType::integer:
      arg = Arg(integer_in(value, param));
      break;
    case ParamType::real:
      arg = Arg(number_in(value, param).real());
      break;
    case ParamType::boolean:
    case ParamType::only_true:
    case ParamType::only_false:
      expect(is_integer(value), value, param);
      arg = Arg(value.boolean());
      break;
    case ParamType::integers:
    case ParamType::reals:
    case ParamType::tensors:
    case ParamType::maybe_tensors:
      fill_sequence(value, param, scratch, arg);
      break;
    default:
      set_word(value, param, arg);
  }
}

bool is_fallback(const Datum& value, const Param& param) {
  if (!param.has_default) return false;
  const Arg& fallback = param.fallback;
  switch (fallback.kind) {
    case ArgKind::none:
      return value.is_none();
    case ArgKind::boolean:
      return value.tag() == Tag::boolean && value.boolean() == (fallback.as.integer != 0);
    case ArgKind::integer:
      return value.tag() == Tag::integer && value.integer() == fallback.as.integer;
    case ArgKind::real:
      return value.tag() == Tag::real && value.real() == fallback.as.real;
    case ArgKind::string:
      return value.tag() == Tag::string &&
             value.string() == std::string_view(fallback.as.string, fallback.size);
    case ArgKind::memory_format:
      return value.tag() == Tag::memory_format &&
             value.memory_format() == fallback.as.memory_format;
    default:
      return false;
  }
}

}  // namespace wisp::graph
