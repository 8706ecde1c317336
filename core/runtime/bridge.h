// Between the tensors of programs (wisp::api) and those of the core. Not part of what is installed.
#pragma once

#include <atomic>

#include "dispatch/call.h"
#include "runtime/tensor.h"

namespace wisp::api {

// Both are one pointer that owns a count.
static_assert(sizeof(Tensor) == sizeof(wisp::Tensor));
inline const wisp::Tensor& core(const Tensor& tensor) {
  return reinterpret_cast<const wisp::Tensor&>(tensor);
}
inline std::span<const wisp::Tensor> core(const Tensors& tensors) {
  return {reinterpret_cast<const wisp::Tensor*>(tensors.data()), tensors.size()};
}
inline Tensor wrap(wisp::Tensor tensor) { return Tensor::adopt(tensor.detach_impl()); }
inline IntList list(IntSpan span) { return {span.data(), span.size()}; }
inline IntSpan span(const IntList& list) { return {list.data(), list.size()}; }

// Fails like Python does when a method of None is called.
const wisp::Tensor& checked(const Tensor& tensor);

// A list of which a single number stands for `count` of them.
struct Repeated {
  bool given;
  const IntList* list;
  int count;
};
inline Repeated repeated(const IntList& list, int count) { return {true, &list, count}; }
inline Repeated repeated(const OptionalIntList& list, int count) {
  return {list.has_value(), &list.value(), count};
}

// An argument of a call. It stays where it was made: what it points to may be inside. What is more
// than a few stores is a function, as there are more than a thousand places that pack arguments.
class Packed {
 public:
  Packed(const Tensor& tensor) : arg(core(tensor)) {}
  Packed(const Tensors& tensors) : arg(core(tensors)) {}
  Packed(const Operand& operand);
  Packed(const IntList& list) : arg(span(list)) {}
  Packed(const OptionalIntList& list);
  Packed(const Repeated& repeated);
  Packed(const std::vector<double>& reals) : arg(std::span<const double>(reals)) {}
  Packed(const Generator& generator) : arg(static_cast<wisp::Generator*>(generator.get())) {}
  Packed(const Scalar& number);
  Packed(Flag flag) : arg(static_cast<bool>(flag)) {}
  Packed(bool value) : arg(value) {}
  Packed(int value) : arg(value) {}
  Packed(int64_t value) : arg(value) {}
  Packed(double value) : arg(value) {}
  Packed(std::string_view text) : arg(text) {}
  Packed(DType dtype) : arg(dtype) {}
  Packed(Device device) : arg(device) {}
  Packed(MemoryFormat format) : arg(format) {}
  Packed(std::nullopt_t) {}
  template <class T>
  Packed(const std::optional<T>& value) {
    if (value) arg = Packed(*value).arg;
  }
  Packed(const Packed&) = delete;
  Packed& operator=(const Packed&) = delete;

  Arg arg;

 private:
  static constexpr int max_repeats = 3;
  int64_t few_[max_repeats];
};
using Arguments = std::initializer_list<Packed>;

// The table entry of that name. The first use of any makes the core ready.
const OpDef& entry(std::string_view name);

// Where a function keeps its entry once it has been found. It starts as zeros and may be found
// twice, so that no function has to guard its making.
class Entry {
 public:
  const OpDef& named(const char* name) {
    const OpDef* found = found_.load(std::memory_order_acquire);
    return WISP_LIKELY(found != nullptr) ? *found : find(name);
  }

 private:
  WISP_COLD const OpDef& find(const char* name);
  std::atomic<const OpDef*> found_ = nullptr;
};

void call_packed(const OpDef& op, Arguments arguments, TensorList& outs);
void run_in_place(const OpDef& op, Arguments arguments);

template <class Result>
Result run(const OpDef& op, Arguments arguments) {
  TensorList outs;
  call_packed(op, arguments, outs);
  if constexpr (std::is_same_v<Result, Tensor>) {
    return wrap(std::move(outs[0]));
  } else if constexpr (std::is_same_v<Result, bool>) {
    return outs[0].item().truth();
  } else if constexpr (std::is_same_v<Result, Tensors>) {
    Tensors all;
    for (wisp::Tensor& out : outs) all.push_back(wrap(std::move(out)));
    return all;
  } else if constexpr (!std::is_void_v<Result>) {
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return Result(wrap(std::move(outs[I]))...);
    }(std::make_index_sequence<std::tuple_size_v<Result>>());
  }
}

template <class Result>
__attribute__((noinline)) Result run(Entry& entry, const char* name, Arguments arguments) {
  return run<Result>(entry.named(name), arguments);
}
void run_in_place(Entry& entry, const char* name, Arguments arguments);

}  // namespace wisp::api
