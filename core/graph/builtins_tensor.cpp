// What tensors tell about themselves, numbers and lists from tensors, and tensors from these.
#include <algorithm>

#include "base/generator.h"
#include "graph/builtins_parts.h"
#include "ops/ops.h"
#include "ops/promotion.h"

namespace wisp::graph {

namespace {

Datum list_of_ints(IntSpan numbers) {
  std::vector<Datum> items;
  items.reserve(numbers.size());
  for (const int64_t number : numbers) items.push_back(number);
  return Datum::list(std::move(items));
}

Scalar number_in(const Datum& value, const char* what) {
  const Tensor& tensor = value.tensor();
  WISP_CHECK(tensor.numel() == 1, "a Tensor with ", tensor.numel(),
             " elements cannot be converted to ", what);
  tensor->check_readable(what);
  return tensor.item();
}

Datum truth_of(BuiltinArgs args) {
  const Tensor& tensor = args[0].tensor();
  WISP_CHECK(tensor.numel() <= 1, "Boolean value of Tensor with more than one value is ambiguous");
  WISP_CHECK(tensor.numel() == 1, "Boolean value of Tensor with no values is ambiguous");
  return number_in(args[0], "bool").truth();
}

// Of tensors and numbers.
Datum result_type_of(BuiltinArgs args) {
  const auto operand = [](const Datum& value) {
    return value.is_tensor() ? Arg(value.tensor().impl()) : Arg(value.scalar());
  };
  return ops::result_type(operand(args[0]), operand(args[1]));
}

// --- tolist()

Datum nested_list(const Tensor& tensor, int64_t depth, DType dtype) {
  if (depth == 0) {
    const Scalar item = tensor.item();
    if (dtype == DType::bool_) return item.truth();
    if (dtype == DType::complex128) return item.complex();
    return dtype == DType::int64 ? Datum(item.integer()) : Datum(item.real());
  }
  std::vector<Datum> items;
  items.reserve(static_cast<size_t>(tensor->size(0)));
  for (int64_t i = 0; i < tensor->size(0); ++i)
    items.push_back(nested_list(ops::select(tensor, 0, i), depth - 1, dtype));
  return Datum::list(std::move(items));
}

// A list of lists of numbers, of which the program says what they are.
template <DType dtype, int depth>
Datum to_list(BuiltinArgs args) {
  const Tensor& tensor = args[0].tensor();
  WISP_CHECK(
      tensor.ndim() == depth,
      "Output annotation list dimension and runtime tensor dimension must match for tolist(): ",
      depth, " and ", tensor.ndim());
  const DType own = tensor.dtype();
  const bool fits = dtype == DType::bool_        ? own == DType::bool_
                    : dtype == DType::int64      ? is_integral(own)
                    : dtype == DType::complex128 ? is_complex(own)
                                                 : is_floating(own);
  WISP_CHECK(
      fits,
      "Output annotation element type and runtime tensor element type must match for tolist(): the tensor's is ",
      name(own));
  tensor->check_readable("tolist");
  return nested_list(detached(tensor), depth, dtype);
}

// --- tensor()

Scalar number_in(const Datum& data) {
  const Tag tag = data.tag();
  const bool number =
      tag == Tag::boolean || tag == Tag::integer || tag == Tag::real || tag == Tag::complex;
  WISP_CHECK_TYPE(number, "tensor(): a tensor is made of numbers, not of ", repr(data));
  return data.scalar();
}

void measure(const Datum& data, Dims& sizes, DType& dtype, bool& known) {
  const Datum* at = &data;
  while (at->tag() == Tag::list || at->tag() == Tag::tuple) {
    sizes.push_back(static_cast<int64_t>(at->items().size()));
    if (at->items().empty()) return;
    at = &at->items()[0];
  }
  known = true;
  dtype = at->is_tensor() ? at->tensor().dtype() : number_in(*at).dtype();
}

void fill(const Datum& data, const Tensor& target, int64_t dim) {
  if (data.tag() != Tag::list && data.tag() != Tag::tuple) {
    WISP_CHECK_VALUE(target.ndim() == 0, "expected a sequence of length ",
                     target.ndim() ? target->size(0) : 0, " at dim ", dim);
    if (data.is_tensor()) {
      ops::copy_(target, ops::detach(data.tensor()));
    } else {
      ops::fill_(target, number_in(data));
    }
    return;
  }
  const auto& items = data.items();
  WISP_CHECK_VALUE(target.ndim() > 0 && target->size(0) == static_cast<int64_t>(items.size()),
                   "expected sequence of length ", target.ndim() ? target->size(0) : 0, " at dim ",
                   dim, " (got ", items.size(), ")");
  for (size_t i = 0; i < items.size(); ++i)
    fill(items[i], ops::select(target, 0, static_cast<int64_t>(i)), dim + 1);
}

Tensor make_tensor(const Datum& data, const Datum& dtype) {
  if (data.is_tensor()) {
    const Tensor plain = ops::clone(ops::detach(data.tensor()));
    return dtype.is_none() ? plain : ops::to(plain, dtype.dtype());
  }
  const GradMode off(false);
  Dims sizes;
  DType found = default_dtype();
  bool known = false;
  measure(data, sizes, found, known);
  Tensor made = ops::zeros(IntSpan(sizes), dtype.is_none() ? found : dtype.dtype());
  if (known) fill(data, made, 0);
  return made;
}

Datum tensor_of(BuiltinArgs args) {
  if (!args[2].is_none()) usable(args[2].device());
  Tensor made = make_tensor(args[0], args[1]);
  if (args[3].boolean()) {
    WISP_CHECK(is_differentiable(made.dtype()),
               "Only Tensors of floating point and complex dtype can require gradients");
    made->set_requires_grad(true);
  }
  return made;
}

Datum require_grad(BuiltinArgs args) {
  const Tensor& tensor = args[0].tensor();
  WISP_CHECK(tensor->is_leaf() || args[1].boolean(),
             "you can only change requires_grad flags of leaf variables.");
  WISP_CHECK(!args[1].boolean() || is_differentiable(tensor.dtype()),
             "only Tensors of floating point dtype can require gradients");
  if (tensor->is_leaf()) tensor->set_requires_grad(args[1].boolean());
  return std::move(args[0]);
}

Datum forget_history(BuiltinArgs args) {
  const Tensor& tensor = args[0].tensor();
  WISP_CHECK(!tensor->base(), "Can't detach views in-place. Use detach() instead.");
  tensor->autograd().grad_fn.reset();
  tensor->set_requires_grad(false);
  return std::move(args[0]);
}

// Whether gradients were recorded before; sets whether they are from now on.
// Whether a script may copy the result of a call into the tensor of out=. Its shape stays: what is
// known of shapes would not hold otherwise.
Datum check_out(BuiltinArgs args) {
  const Tensor &result = args[0].tensor(), &out = args[1].tensor();
  WISP_CHECK(can_cast(result.dtype(), out.dtype()), "result type ", legacy_name(result.dtype()),
             " can't be cast to the desired output type ", legacy_name(out.dtype()));
  WISP_CHECK(wisp::same(result.sizes(), out.sizes()), "out= has the shape ", out.sizes(),
             ", and the result ", result.sizes(), ": scripts do not resize it");
  WISP_CHECK(
      !mode.grad || !(result.requires_grad() || out.requires_grad()),
      "functions with out=... arguments don't support automatic differentiation, but one of ",
      "the arguments requires grad.");
  return {};
}

Datum set_grad_enabled(BuiltinArgs args) { return std::exchange(mode.grad, args[0].boolean()); }

Datum with_dim(BuiltinArgs args) {
  const Tensor& tensor = args[0].tensor();
  return tensor->size(wrap_dim(args[1].integer(), tensor.ndim()));
}

Datum length(BuiltinArgs args) {
  WISP_CHECK_TYPE(args[0].tensor().ndim() > 0, "len() of a 0-d tensor");
  return args[0].tensor()->size(0);
}

// --- Indexing

// A number as a tensor that can be written to the places of another.
Datum like_number(BuiltinArgs args) {
  return ops::full(IntSpan(), args[0].scalar(), args[1].tensor().dtype());
}

// What is assigned may have leading dimensions of size 1 that the places have not.
Datum without_leading_ones(BuiltinArgs args) {
  Tensor value = args[0].tensor();
  const int64_t ndim = args[1].tensor().ndim();
  while (value.ndim() > ndim && value->size(0) == 1) value = ops::select(value, 0, 0);
  return value;
}

// Indices of the last dimensions, behind nothing for those in front: what follows `...`.
Datum indices_at_end(BuiltinArgs args) {
  const auto& last = args[1].items();
  const int64_t ndim = args[0].tensor().ndim();
  WISP_CHECK_INDEX(static_cast<int64_t>(last.size()) <= ndim,
                   "too many indices for tensor of dimension ", ndim);
  std::vector<Datum> indices(static_cast<size_t>(ndim) - last.size());
  indices.insert(indices.end(), last.begin(), last.end());
  return Datum::list(std::move(indices));
}

template <auto f>
Datum ask(BuiltinArgs args) {
  return f(args[0].tensor());
}

void add_questions(std::vector<BuiltinRow>& table) {
  static constexpr BuiltinRow entries[] = {
      {"size(Tensor self) -> int[]", ask<[](const Tensor& t) { return list_of_ints(t.sizes()); }>},
      {"size.int(Tensor self, int dim) -> int", with_dim},
      {"stride(Tensor self) -> int[]",
       ask<[](const Tensor& t) { return list_of_ints(t.strides()); }>},
      {"stride.int(Tensor self, int dim) -> int",
       [](BuiltinArgs a) -> Datum { return a[0].tensor().stride(a[1].integer()); }},
      {"dim(Tensor self) -> int", ask<[](const Tensor& t) { return t.ndim(); }>},
      {"numel(Tensor self) -> int", ask<[](const Tensor& t) { return t.numel(); }>},
      {"len.Tensor(Tensor self) -> int", length},
      {"dtype(Tensor self) -> Dtype", ask<[](const Tensor& t) { return t.dtype(); }>},
      {"device(Tensor self) -> Device", ask<[](const Tensor& t) { return t.device(); }>},
      {"layout(Tensor self) -> Layout", ask<[](const Tensor&) { return Datum::layout(); }>},
      {"requires_grad(Tensor self) -> bool", ask<[](const Tensor& t) { return t.requires_grad(); }>,
       false},
      {"is_leaf(Tensor self) -> bool", ask<[](const Tensor& t) { return t->is_leaf(); }>, false},
      {"is_contiguous(Tensor self, MemoryFormat memory_format) -> bool",
       [](BuiltinArgs a) -> Datum { return a[0].tensor()->is_contiguous(a[1].memory_format()); }},
      {"is_floating_point(Tensor self) -> bool",
       ask<[](const Tensor& t) { return is_floating(t.dtype()); }>},
      {"is_complex(Tensor self) -> bool",
       ask<[](const Tensor& t) { return is_complex(t.dtype()); }>},
      {"is_signed(Tensor self) -> bool", ask<[](const Tensor& t) { return is_signed(t.dtype()); }>},
      {"is_cpu(Tensor self) -> bool", ask<[](const Tensor& t) { return !t->is_meta(); }>},
      {"is_meta(Tensor self) -> bool", ask<[](const Tensor& t) { return t->is_meta(); }>},
      {"is_same_size(Tensor self, Tensor other) -> bool",
       [](BuiltinArgs a) -> Datum {
         return wisp::same(a[0].tensor().sizes(), a[1].tensor().sizes());
       }},
      {"storage_offset(Tensor self) -> int", ask<[](const Tensor& t) { return t->offset(); }>},
      {"element_size(Tensor self) -> int",
       ask<[](const Tensor& t) { return static_cast<int64_t>(t->item_size()); }>},
      {"is_floating_point.dtype(Dtype self) -> bool",
       [](BuiltinArgs a) -> Datum { return is_floating(a[0].dtype()); }},
      {"is_complex.dtype(Dtype self) -> bool",
       [](BuiltinArgs a) -> Datum { return is_complex(a[0].dtype()); }},
      {"promote_types(Dtype a, Dtype b) -> Dtype",
       [](BuiltinArgs a) -> Datum { return promote(a[0].dtype(), a[1].dtype()); }},
      {"can_cast(Dtype a, Dtype b) -> bool",
       [](BuiltinArgs a) -> Datum { return can_cast(a[0].dtype(), a[1].dtype()); }},
      {"result_type(Any a, Any b) -> Dtype", result_type_of},
      {"type.Device(Device self) -> str",
       [](BuiltinArgs a) -> Datum {
         const std::string text = to_string(a[0].device());
         return text.substr(0, text.find(':'));
       }},
      {"index.Device(Device self) -> int?",
       [](BuiltinArgs a) -> Datum {
         const int index = a[0].device().index;
         return index < 0 ? Datum() : Datum(index);
       }},
      {"Device(str text) -> Device",
       [](BuiltinArgs a) -> Datum { return parse_device(a[0].string()); }},
  };
  table.insert(table.end(), std::begin(entries), std::end(entries));
}

void add_values(std::vector<BuiltinRow>& table) {
  static constexpr BuiltinRow entries[] = {
      {"item(Tensor self) -> Scalar",
       [](BuiltinArgs a) -> Datum { return number_in(a[0], "Scalar"); }},
      {"Int.Tensor(Tensor a) -> int",
       [](BuiltinArgs a) -> Datum {
         const Scalar number = number_in(a[0], "int");
         WISP_CHECK_TYPE(!number.is_complex(), "a complex Tensor cannot be converted to int");
         return number.integer();
       }},
      {"Float.Tensor(Tensor a) -> float",
       [](BuiltinArgs a) -> Datum {
         const Scalar number = number_in(a[0], "float");
         WISP_CHECK_TYPE(!number.is_complex(), "a complex Tensor cannot be converted to float");
         return number.real();
       }},
      {"Bool.Tensor(Tensor a) -> bool", truth_of},
      {"Complex.Tensor(Tensor a) -> complex",
       [](BuiltinArgs a) -> Datum { return number_in(a[0], "complex").complex(); }},
      {"tolist.int0(Tensor self) -> int", to_list<DType::int64, 0>},
      {"tolist.int1(Tensor self) -> int[]", to_list<DType::int64, 1>},
      {"tolist.int2(Tensor self) -> int[][]", to_list<DType::int64, 2>},
      {"tolist.int3(Tensor self) -> int[][][]", to_list<DType::int64, 3>},
      {"tolist.float0(Tensor self) -> float", to_list<DType::float64, 0>},
      {"tolist.float1(Tensor self) -> float[]", to_list<DType::float64, 1>},
      {"tolist.float2(Tensor self) -> float[][]", to_list<DType::float64, 2>},
      {"tolist.float3(Tensor self) -> float[][][]", to_list<DType::float64, 3>},
      {"tolist.bool0(Tensor self) -> bool", to_list<DType::bool_, 0>},
      {"tolist.bool1(Tensor self) -> bool[]", to_list<DType::bool_, 1>},
      {"tolist.bool2(Tensor self) -> bool[][]", to_list<DType::bool_, 2>},
      {"tolist.bool3(Tensor self) -> bool[][][]", to_list<DType::bool_, 3>},
      {"tolist.complex0(Tensor self) -> complex", to_list<DType::complex128, 0>},
      {"tolist.complex1(Tensor self) -> complex[]", to_list<DType::complex128, 1>},
      {"tolist.complex2(Tensor self) -> complex[][]", to_list<DType::complex128, 2>},
      {"tolist.complex3(Tensor self) -> complex[][][]", to_list<DType::complex128, 3>},
      // Each call makes a tensor of its own, which may be written to.
      {"tensor(Any data, Dtype? dtype, Device? device, bool requires_grad) -> Tensor", tensor_of,
       false},
      {"tensor.like(Scalar value, Tensor like) -> Tensor", like_number, false},
      {"_without_leading_ones(Tensor value, Tensor places) -> Tensor", without_leading_ones},
      {"_indices_at_end(Tensor self, Tensor?[] indices) -> Tensor?[]", indices_at_end},
      {"requires_grad_(Tensor self, bool requires_grad) -> Tensor", require_grad, false},
      {"detach_(Tensor self) -> Tensor", forget_history, false},
      {"_check_out(Tensor result, Tensor out) -> ()", check_out, false},
      {"_set_grad_enabled(bool enabled) -> bool", set_grad_enabled, false},
      {"warn(str message) -> ()",
       [](BuiltinArgs a) -> Datum {
         warn(a[0].string());
         return {};
       },
       false},
      {"_generator() -> Generator",
       [](BuiltinArgs) -> Datum { return wisp::Ref<Generator>::adopt(new Generator).get(); },
       false},
      {"_default_generator() -> Generator",
       [](BuiltinArgs) -> Datum { return &default_generator(); }, false},
      {"manual_seed(Generator self, int seed) -> Generator",
       [](BuiltinArgs a) -> Datum {
         a[0].generator()->set_seed(static_cast<uint64_t>(a[1].integer()));
         return a[0];
       },
       false},
      {"initial_seed(Generator self) -> int",
       [](BuiltinArgs a) -> Datum { return static_cast<int64_t>(a[0].generator()->state().seed); },
       false},
      {"is_grad_enabled() -> bool", [](BuiltinArgs) -> Datum { return mode.grad; }, false},
      {"get_default_dtype() -> Dtype", [](BuiltinArgs) -> Datum { return default_dtype(); }, false},
  };
  table.insert(table.end(), std::begin(entries), std::end(entries));
}

}  // namespace

void add_tensor_builtins(std::vector<BuiltinRow>& table) {
  add_questions(table);
  add_values(table);
}

}  // namespace wisp::graph
