// What stands between the brackets of x.index({Slice(1), Ellipsis, 0}).
#pragma once

#include <memory>

#include "runtime/values.h"

#pragma GCC visibility push(default)
namespace wisp::api::indexing {

struct NoneType {};
struct EllipsisType {};
constexpr NoneType None;
constexpr EllipsisType Ellipsis;

// start:stop:step, each as good as any if left out.
struct Slice {
  Slice(std::optional<int64_t> start = {}, std::optional<int64_t> stop = {},
        std::optional<int64_t> step = {})
      : start(start), stop(stop), step(step) {}
  Slice(NoneType, std::optional<int64_t> stop = {}, std::optional<int64_t> step = {})
      : stop(stop), step(step) {}
  Slice(std::optional<int64_t> start, NoneType, std::optional<int64_t> step = {})
      : start(start), step(step) {}
  Slice(NoneType, NoneType, std::optional<int64_t> step = {}) : step(step) {}
  std::optional<int64_t> start, stop, step;
};

// One entry: a number, a slice, None, Ellipsis, true or false, or a tensor of indices or bools.
class TensorIndex {
 public:
  enum class Kind { number, slice, none, ellipsis, boolean, tensor };
  TensorIndex(NoneType) : kind(Kind::none) {}
  TensorIndex(EllipsisType) : kind(Kind::ellipsis) {}
  TensorIndex(const char* dots);  // "..."
  TensorIndex(Slice range) : kind(Kind::slice), range(range) {}
  TensorIndex(const Tensor& indices);
  template <class T, IfInteger<T> = 0>
  TensorIndex(T i) : kind(Kind::number), number(static_cast<int64_t>(i)) {}
  template <class T, std::enable_if_t<std::is_same_v<T, bool>, int> = 0>
  TensorIndex(T value) : kind(Kind::boolean), number(value) {}

  Kind kind;
  int64_t number = 0;
  Slice range;
  std::shared_ptr<const Tensor> indices;
};

}  // namespace wisp::api::indexing
#pragma GCC visibility pop
