#include "runtime/bridge.h"

#include "autograd/record.h"

namespace wisp::api {

const wisp::Tensor& checked(const Tensor& tensor) {
  WISP_CHECK(tensor.defined(), "an undefined Tensor has no properties");
  return core(tensor);
}

const OpDef& entry(std::string_view name) {
  static const bool ready = (autograd::install_hooks(), true);
  (void)ready;
  return registry().get(name);
}

const OpDef& Entry::find(const char* name) {
  const OpDef& op = entry(name);
  found_.store(&op, std::memory_order_release);
  return op;
}

Packed::Packed(const Operand& operand) {
  if (operand.tensor()) arg = core(*operand.tensor());
  if (operand.number()) arg = Arg(wisp::Scalar(*operand.number()));
}
Packed::Packed(const OptionalIntList& list) {
  if (list.has_value()) arg = span(list.value());
}
Packed::Packed(const Repeated& repeated) {
  if (!repeated.given) return;
  const IntList& list = *repeated.list;
  std::fill_n(few_, max_repeats, list.size() == 1 ? list[0] : 0);
  arg = list.size() == 1 ? IntSpan(few_, static_cast<size_t>(repeated.count)) : span(list);
}
Packed::Packed(const Scalar& number) : arg(wisp::Scalar(number)) {}

namespace {

// Undefined tensors are None, which only some parameters take.
WISP_COLD void check_none(const OpDef& op, const Param& param) {
  WISP_CHECK_TYPE(param.optional || !param.takes_tensor(), op.shown, "(): argument '", param.name,
                  "' must be Tensor, not None");
}
void check_list(const OpDef& op, const Param& param, std::span<const wisp::Tensor> tensors) {
  if (param.type != ParamType::tensors) return;
  for (const wisp::Tensor& t : tensors) {
    WISP_CHECK_TYPE(t.defined(), op.shown, "(): argument '", param.name,
                    "' must be a list of Tensors, not None");
  }
}

struct Unpacked {
  Unpacked(const OpDef& op, Arguments arguments) {
    size_t n = 0;
    for (const Packed& packed : arguments) {
      const Arg& arg = args[n] = packed.arg;
      if (arg.is_none()) check_none(op, op.sig.params[n]);
      if (arg.kind == ArgKind::tensors) check_list(op, op.sig.params[n], arg.tensors());
      ++n;
    }
    if (WISP_UNLIKELY(Storage::any_meta())) check_one_device(op, args);
  }
  Arg args[detail::max_params];
};

}  // namespace

void call_packed(const OpDef& op, Arguments arguments, TensorList& outs) {
  call(op, Unpacked(op, arguments).args, outs);
}

void run_in_place(const OpDef& op, Arguments arguments) {
  call_in_place(op, Unpacked(op, arguments).args);
}

void run_in_place(Entry& entry, const char* name, Arguments arguments) {
  run_in_place(entry.named(name), arguments);
}

}  // namespace wisp::api
