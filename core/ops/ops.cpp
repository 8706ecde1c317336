// Defines what ops.h declares.
#include <string_view>

#include "dispatch/call.h"

#define WISP_OP(result, name, params, ...) \
  result name params { return Invoke<result>::template run<#name>(__VA_ARGS__); }
#define WISP_OP_AS(result, name, entry, params, ...) \
  result name params { return Invoke<result>::template run<entry>(__VA_ARGS__); }
#define WISP_OP_(name, params, ...) \
  const Tensor& name##_ params { return invoke_in_place<#name>(__VA_ARGS__); }

namespace wisp::ops {
template <class R>
struct Invoke;
template <>
struct Invoke<Tensor> {
  template <OpName Name, class... A>
  static Tensor run(const A&... values) {
    return invoke<Name>(values...);
  }
};
template <>
struct Invoke<std::vector<Tensor>> {
  template <OpName Name, class... A>
  static std::vector<Tensor> run(const A&... values) {
    return invoke_many<Name>(values...);
  }
};
}  // namespace wisp::ops

#include "ops/ops.h"
#include "ops/ops_linalg.h"
