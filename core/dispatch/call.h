// The one path every operator call takes, whoever makes it.
#pragma once

#include <algorithm>
#include <string_view>

#include "dispatch/mode.h"
#include "dispatch/registry.h"

namespace wisp {

// `args` has one entry per parameter of the schema, defaults filled in.
void call(const OpDef& op, const Arg* args, TensorList& outs);
// The form "op_": the result replaces the contents of args[0].
void call_in_place(const OpDef& op, const Arg* args);
// The form with out=: results are written into `outs`, which are resized where they do not fit.
void call_out(const OpDef& op, const Arg* args, std::span<const Tensor> outs);

// Fails if the call mixes tensors with and without values (device "meta"). Asked of calls that
// users write; rules of derivatives may help themselves to constants.
void check_one_device(const OpDef& op, const Arg* args);

// Text usable as a template argument.
template <size_t N>
struct OpName {
  char text[N];
  constexpr OpName(const char (&literal)[N]) { std::copy_n(literal, N, text); }
  constexpr operator std::string_view() const { return {text, N - 1}; }
};

// The table entry of that name, looked up once.
template <OpName Name>
const OpDef& op_def() {
  static const OpDef& def = registry().get(Name);
  return def;
}

namespace detail {
// Arguments in schema order; those left out get their defaults.
constexpr int max_params = 16;
template <class... A>
const Arg* pack(const OpDef& op, Arg (&args)[max_params], const A&... values) {
  int n = 0;
  ((args[n++] = Arg(values)), ...);
  for (size_t i = n; i < op.sig.params.size(); ++i) args[i] = op.sig.params[i].fallback;
  return args;
}
}  // namespace detail

// Typed calls: Tensor y = invoke<"exp">(x).
template <OpName Name, class... A>
Tensor invoke(const A&... values) {
  const OpDef& op = op_def<Name>();
  Arg args[detail::max_params];
  TensorList outs;
  call(op, detail::pack(op, args, values...), outs);
  return std::move(outs[0]);
}

template <OpName Name, class... A>
std::vector<Tensor> invoke_many(const A&... values) {
  const OpDef& op = op_def<Name>();
  Arg args[detail::max_params];
  TensorList outs;
  call(op, detail::pack(op, args, values...), outs);
  return {std::make_move_iterator(outs.begin()), std::make_move_iterator(outs.end())};
}

template <OpName Name, class... A>
const Tensor& invoke_in_place(const Tensor& self, const A&... values) {
  const OpDef& op = op_def<Name>();
  Arg args[detail::max_params];
  call_in_place(op, detail::pack(op, args, self, values...));
  return self;
}

}  // namespace wisp
