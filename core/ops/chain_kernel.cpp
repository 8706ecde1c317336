#include "ops/chain_kernel.h"

#include <algorithm>
#include <utility>

#include "ops/pointwise.h"

namespace wisp::ops {

Tensor stand_in(const ChainShape& shape) {
  Ref<Storage> storage = Storage::promise(0);
  storage->fail_promise(
      Error(ErrorKind::runtime, "a call is planned that reads what tensors hold"));
  return Tensor::adopt(
      shape.strides.size() == shape.sizes.size()
          ? TensorImpl::make(std::move(storage), shape.dtype, shape.sizes, shape.strides, 0)
          : TensorImpl::make(std::move(storage), shape.dtype, shape.sizes));
}

bool has_plain_args(const OpDef& op, const Arg* args) {
  for (size_t p = 0; p < op.sig.params.size(); ++p) {
    const auto end = op.operands.begin() + op.operand_count;
    const bool operand = std::find(op.operands.begin(), end, p) != end;
    if (!operand && args[p].kind != ArgKind::boolean && args[p].kind != ArgKind::integer &&
        args[p].kind != ArgKind::real && !args[p].is_none())
      return false;
  }
  return true;
}

bool add_number(ChainCall& call, const Arg& arg) {
  const bool number = arg.kind == ArgKind::integer || arg.kind == ArgKind::real;
  if (!number && !arg.is_none()) return false;
  ChainOperand& operand = call.operands[call.operand_count++];
  operand.absent = !number;
  if (number) operand.number = arg.scalar().real();
  operand.whole = arg.kind == ArgKind::integer;
  return true;
}

namespace {

// Takes the kernel that a call would run.
class KernelSink final : public PointwiseSink {
 public:
  explicit KernelSink(const OpDef& called) {
    op = &called;
    pointwise_sink = this;
  }
  ~KernelSink() { pointwise_sink = nullptr; }
  KernelSink(const KernelSink&) = delete;
  KernelSink& operator=(const KernelSink&) = delete;

  void take(const Call&, cpu::Opcode given, std::span<const Arg* const> operands,
            const cpu::Params& with) override {
    opcode = given;
    params = with;
    count = static_cast<int>(operands.size());
    for (size_t i = 0; i < operands.size(); ++i) args[i] = *operands[i];
  }

  cpu::Opcode opcode = {};
  cpu::Params params;
  int count = 0;
  Arg args[3];
};

// Whether it computes in floating point, or on truths, as its operands alone tell: what integers
// become depends on the default dtype, and what they are divided by on what tensors hold.
bool is_settled(const ChainKernel& kernel, const KernelSink& found) {
  if (kernel.compute == DType::bool_) return true;
  if (!contains(dtypes::floating, kernel.compute)) return false;
  return std::any_of(found.args, found.args + found.count, [](const Arg& arg) {
    return arg.is_tensor() && contains(dtypes::floating, arg.tensor().dtype());
  });
}

int place_of(const TensorImpl* tensor, std::span<const Tensor> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].impl() == tensor) return static_cast<int>(i);
  }
  return -1;
}

// A kernel that takes a number takes it last. Of a sum or product that makes no difference.
void put_number_last(ChainKernel& kernel) {
  const bool exchanges = kernel.opcode == cpu::Opcode::add || kernel.opcode == cpu::Opcode::mul;
  if (exchanges && kernel.in[0].value < 0) std::swap(kernel.in[0], kernel.in[1]);
}

std::optional<ChainKernel> find_kernel(const ChainCall& call, std::span<const Tensor> values) {
  const OpDef& op = *call.op;
  Arg args[detail::max_params];
  set_chain_args(call, args, [&](int value) { return Arg(values[static_cast<size_t>(value)]); });
  Infer infer(op, args);
  op.infer(infer);
  ChainKernel made;
  made.compute = infer.compute;
  made.result = {infer.out(0).dtype, infer.out(0).sizes, infer.out(0).strides};
  if (made.result.strides.empty()) made.result.strides = contiguous_strides(made.result.sizes);
  Tensor out = stand_in(made.result);
  KernelSink found(op);
  op.kernels[static_cast<int>(DeviceType::cpu)](Call(op, args, &out, infer.compute));
  if (found.count == 0 || !is_settled(made, found)) return std::nullopt;
  made.opcode = found.opcode;
  made.params = found.params;
  made.inputs = found.count;
  for (int i = 0; i < found.count; ++i) {
    const Arg& arg = found.args[i];
    if (!arg.is_tensor()) {
      made.in[i].number = arg.scalar();
    } else if ((made.in[i].value = place_of(arg.as.tensor, values)) < 0) {
      return std::nullopt;
    }
  }
  put_number_last(made);
  return made;
}

// Writes down what a composite calls, without computing anything.
class PartsRecorder final : public Interceptor {
 public:
  explicit PartsRecorder(const Tensor& self)
      : values_{self}, outer_(std::exchange(mode.interceptor, this)) {}
  ~PartsRecorder() { mode.interceptor = outer_; }
  PartsRecorder(const PartsRecorder&) = delete;
  PartsRecorder& operator=(const PartsRecorder&) = delete;

  bool intercept(const OpDef& op, const Arg* args, Form form, TensorList& outs) override {
    if (op.body) return false;  // its parts will come
    WISP_CHECK(form == Form::functional && Chain::computes(op) && has_plain_args(op, args),
               "no call of a chain");
    ChainCall call{.op = &op};
    call.args.assign(args, args + op.sig.params.size());
    for (int i = 0; i < op.operand_count; ++i) set_operand(call, args[op.operands[i]]);
    const std::optional<ChainKernel> kernel = kernel_of(call, values_);
    WISP_CHECK(kernel && kernel->result.dtype == values_[0].dtype(), "no kernel of a chain");
    outs.push(Tensor(values_.emplace_back(stand_in(kernel->result))));
    parts.push_back(std::move(call));
    return true;
  }

  std::vector<ChainCall> parts;

 private:
  void set_operand(ChainCall& call, const Arg& arg) {
    if (!arg.is_tensor()) {
      WISP_CHECK(add_number(call, arg), "no number");
      return;
    }
    const int value = place_of(arg.as.tensor, values_);
    WISP_CHECK(value >= 0, "a tensor from elsewhere");
    call.operands[call.operand_count++].value = value;
  }

  std::vector<Tensor> values_;
  Interceptor* const outer_;
};

}  // namespace

std::optional<ChainKernel> kernel_of(const ChainCall& call, std::span<const Tensor> values) {
  try {
    return find_kernel(call, values);
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::vector<ChainCall> parts_of(const OpDef& op, std::span<const Arg> args) {
  const Tensor self = stand_in({DType::float32, {1}, {1}});
  std::vector<Arg> given(args.begin(), args.end());
  given[0] = Arg(self);
  try {
    PartsRecorder recorder(self);
    TensorList outs;
    op.body(Args(op, given.data()), outs);
    return std::move(recorder.parts);
  } catch (const Error&) {
    return {};
  }
}

}  // namespace wisp::ops
