#include "graph/example.h"

#include <algorithm>
#include <cstring>

#include "dispatch/mode.h"
#include "graph/interpreter.h"
#include "ops/ops.h"

namespace wisp::graph {

namespace {

bool can_be_told(const Datum& value) {
  switch (value.tag()) {
    case Tag::none:
    case Tag::boolean:
    case Tag::integer:
    case Tag::real:
    case Tag::string:
      return true;
    case Tag::tensor:
      return value.tensor().numel() <= most_elements && !value.tensor()->layers();
    case Tag::list:
    case Tag::tuple:
      return std::all_of(value.items().begin(), value.items().end(), can_be_told);
    case Tag::dict: {
      const auto& entries = value.dict_data().entries;
      return std::all_of(entries.begin(), entries.end(), [](const auto& entry) {
        return can_be_told(entry.first) && can_be_told(entry.second);
      });
    }
    default:
      return false;
  }
}

Tensor told(const Tensor& tensor) {
  const bool counts = contains(dtypes::bits, tensor.dtype()) && !tensor->is_meta();
  if (!counts) return uniform(tensor.dtype(), tensor.sizes(), 0);
  if (tensor.numel() <= most_kept) return ops::clone(tensor);
  if (is_uniform(tensor)) {
    const Tensor one = tensor.alias({}, {}, tensor->offset());
    return uniform(tensor.dtype(), tensor.sizes(), one.item().integer());
  }
  const Tensor plain = ops::contiguous(ops::to(tensor, DType::int64));
  const int64_t* first = plain.data<int64_t>();
  return uniform(tensor.dtype(), tensor.sizes(), *std::max_element(first, first + plain.numel()));
}

Datum told(const Datum& value);

std::vector<Datum> all_told(std::span<const Datum> values) {
  std::vector<Datum> made;
  for (const Datum& value : values) made.push_back(told(value));
  return made;
}

Datum told(const Datum& value) {
  if (value.is_tensor()) return told(value.tensor());
  if (value.tag() == Tag::list) return Datum::list(all_told(value.items()));
  if (value.tag() == Tag::tuple) return Datum::tuple(all_told(value.items()));
  if (value.tag() != Tag::dict) return value;
  Datum made = Datum::dict();
  for (const auto& [key, item] : value.dict_data().entries)
    made.dict_data().entries.emplace_back(key, told(item));
  return made;
}

}  // namespace

std::optional<std::vector<Datum>> example_of(std::span<const Datum> arguments) {
  if (mode.interceptor || mode.deferrer || mode.transforms) return std::nullopt;
  if (!std::all_of(arguments.begin(), arguments.end(), can_be_told)) return std::nullopt;
  const GradMode no_grad(false);
  return all_told(arguments);
}

Datum call_first(Function& function, std::vector<Datum> arguments) {
  const size_t self = arguments.size() - function.params.size();  // of a method: 1
  auto example = example_of(std::span(arguments).subspan(self));
  Datum result = call(function, std::move(arguments));
  if (example) function.example = std::move(*example);
  return result;
}

Tensor uniform(DType dtype, IntSpan sizes, int64_t number) {
  Tensor made = Tensor::empty_strided(sizes, Dims(sizes.size(), 0), dtype);
  if (made.numel() == 0) return made;
  const Tensor one = Tensor::empty({}, dtype);
  ops::fill_(one, Scalar(number));
  std::memcpy(made->bytes(), one->bytes(), one->item_size());
  return made;
}

bool is_uniform(const Tensor& tensor) {
  const IntSpan strides = tensor.strides();
  return !strides.empty() &&
         std::all_of(strides.begin(), strides.end(), [](int64_t stride) { return stride == 0; });
}

}  // namespace wisp::graph
