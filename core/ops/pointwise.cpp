#include "ops/pointwise.h"

#include <algorithm>
#include <optional>

#include "base/parallel.h"
#include "cpu/stored_dtypes.h"
#include "ops/arranged.h"

namespace wisp::ops {

constinit WISP_THREAD_LOCAL PointwiseSink* pointwise_sink = nullptr;

namespace {

DType apply_types(Types types, DType common) {
  switch (types) {
    case Types::to_float:
      return to_floating(common);
    case Types::boolean:
      return DType::bool_;
    case Types::real_part:
      return to_real(common);
    default:
      return common;
  }
}

// Results keep the memory layout of the first input that has the result's shape.
void infer_layout(TensorSpec& spec, std::span<const Arg* const> tensors) {
  for (const Arg* arg : tensors) {
    const TensorImpl& t = *arg->as.tensor;
    if (!same(t.sizes(), spec.sizes)) continue;
    if (!t.is_contiguous()) spec.strides = preserved_strides(t.sizes(), t.strides());
    return;
  }
}

}  // namespace

// Whether bits of the result are right if numbers of 64 bits are taken for signed ones.
bool is_same_modulo(uint16_t opcode) {
  using enum cpu::Opcode;
  constexpr cpu::Opcode known[] = {eq,          ne,         add,         sub,         mul,
                                   bitwise_and, bitwise_or, bitwise_xor, bitwise_not, where};
  return std::find(std::begin(known), std::end(known), static_cast<cpu::Opcode>(opcode)) !=
         std::end(known);
}

void infer_pointwise(Infer& infer, Types types) {
  const OpDef& op = infer.op();
  TensorSpec& spec = infer.push();
  Promotion promotion;
  const Arg* tensors[3];
  int count = 0;
  for (int i = 0; i < op.operand_count; ++i) {
    const Arg& arg = infer[op.operands[i]];
    const bool condition = i == 0 && op.opcode == code(cpu::Opcode::where);
    if (!condition) promotion.add(arg);  // which has no say
    if (!arg.is_tensor()) continue;
    const TensorImpl& t = *arg.as.tensor;
    if (count == 0) {
      spec.sizes = Dims(t.sizes());
      spec.device = t.device();
    } else if (!same(t.sizes(), spec.sizes)) {
      spec.sizes = broadcast(spec.sizes, t.sizes());
    }
    tensors[count++] = &arg;
  }
  WISP_CHECK_TYPE(count > 0 || op.has(trait::numbers_alone), infer.name(),
                  "(): at least one argument must be a Tensor");
  infer_layout(spec, {tensors, static_cast<size_t>(count)});
  const DType common = promotion.result();
  spec.dtype = apply_types(types, common);
  const DType exact = types == Types::to_float ? spec.dtype : common;
  infer.compute =
      exact == DType::uint64 && is_same_modulo(op.opcode) ? DType::int64 : math_dtype(exact);
}

DType stored_math_dtype(DType dtype) {
  if (dtype == DType::uint64) fail_not_implemented("arithmetic", dtype);
  return cpu::kernel_dtype(dtype);
}

void check_compute(const Infer& infer, DTypeSet allowed) {
  if (WISP_UNLIKELY(!contains(allowed, infer.compute)))
    fail_not_implemented(infer.name(), infer.compute);
}

namespace {

struct ScalarSlot {
  alignas(16) char bytes[16];
};

cpu::Operand scalar_operand(Scalar value, DType dtype, ScalarSlot& slot) {
  visit<dtypes::all>(dtype, "scalar", [&]<class T>() {
    const T converted = value.to<T>();
    std::memcpy(slot.bytes, &converted, sizeof(T));
  });
  return {slot.bytes, {}, dtype};
}

// --- Arranged images: gone through as they lie in memory. Others are brought into their order.

bool takes_arranged(const Arg* const* args, int count) {
  for (int i = 0; i < count; ++i) {
    if (args[i]->is_tensor() && args[i]->as.tensor->storage().is_arranged()) return true;
  }
  return false;
}

// Whether an image is there whose channels are last and in plain order. Results are then left so
// too: whoever made it works on rows of channels, and is likely to want them again.
bool any_last(std::span<const Tensor* const> images, IntSpan sizes) {
  return std::any_of(images.begin(), images.end(), [&](const Tensor* t) {
    return same(t->sizes(), sizes) && !t->is_contiguous() && !Arranged(*t).exists() &&
           is_channels_last(t->sizes(), t->strides());
  });
}

// False, with nothing done, if the result has to be in plain order.
bool run_arranged(const Call& call, cpu::Opcode opcode, const Arg* const* args, int count,
                  const cpu::Params& params) {
  const Tensor& out = call.out();
  const int64_t size = out.numel(), step = 1;
  cpu::Pointwise job{.op = opcode,
                     .compute = call.compute,
                     .inputs = count,
                     .sizes = {&size, 1},
                     .out = {nullptr, {&step, 1}, out.dtype()},
                     .in = {},
                     .params = params};
  ScalarSlot slots[3];
  const Tensor* images[3];
  int place[3];
  size_t found = 0;
  for (int i = 0; i < count; ++i) {
    if (!args[i]->is_tensor()) {
      job.in[i] =
          scalar_operand(args[i]->scalar(), cpu::input_dtype(opcode, i, call.compute), slots[i]);
    } else if (args[i]->as.tensor->numel() == 1) {
      job.in[i] = {args[i]->as.tensor->bytes(), {}, args[i]->as.tensor->dtype()};
    } else {
      place[found] = i;
      images[found++] = &args[i]->tensor();
    }
  }
  const std::span<const Tensor* const> given(images, found);
  const std::optional<Arrangement> order = order_of(given, out.sizes());
  if (!order || !(can_arrange(out) || Arranged(out).exists())) return false;
  if (any_last(given, out.sizes())) return false;
  const InOrder inputs(given, out.sizes(), *order);
  const Arranged own(out);
  if (own.exists() ? own.order() != *order : !can_arrange(out)) return false;
  for (size_t k = 0; k < found; ++k) {
    job.in[place[k]] = {inputs.data(k), {&step, 1}, images[k]->dtype()};
  }
  job.out.data = own.exists() ? own.data() : arrange(out, *order);
  cpu::pointwise(job);
  return true;
}

void run_kernel(const Call& call, cpu::Opcode opcode, const Arg* const* args, int count,
                const cpu::Params& params) {
  const Tensor& out = call.out();
  if (WISP_UNLIKELY(takes_arranged(args, count)) && run_arranged(call, opcode, args, count, params))
    return;
  cpu::Pointwise job{.op = opcode,
                     .compute = call.compute,
                     .inputs = count,
                     .sizes = out.sizes(),
                     .out = {out->bytes(), out.strides(), out.dtype()},
                     .in = {},
                     .params = params};
  ScalarSlot slots[3];
  Dims expanded[3];
  for (int i = 0; i < count; ++i) {
    if (!args[i]->is_tensor()) {
      job.in[i] =
          scalar_operand(args[i]->scalar(), cpu::input_dtype(opcode, i, call.compute), slots[i]);
      continue;
    }
    const TensorImpl& t = *args[i]->as.tensor;
    const bool same_shape = same(t.sizes(), out.sizes());
    if (!same_shape) expanded[i] = expanded_strides(t.sizes(), t.strides(), out.sizes());
    job.in[i] = {t.bytes(), same_shape ? t.strides() : IntSpan(expanded[i]), t.dtype()};
  }
  cpu::pointwise(job);
}

void run(const Call& call, cpu::Opcode opcode, const Arg* const* args, int count,
         const cpu::Params& given) {
  if (is_taken(call)) {
    return pointwise_sink->take(call, opcode, {args, static_cast<size_t>(count)}, given);
  }
  if (WISP_LIKELY(!is_integral(call.compute))) {
    run_kernel(call, opcode, args, count, given);
    return;
  }
  std::atomic<bool> divided_by_zero{false};
  cpu::Params params = given;
  params.divided_by_zero = &divided_by_zero;
  run_kernel(call, opcode, args, count, params);
  WISP_CHECK(!divided_by_zero.load(std::memory_order_relaxed), "ZeroDivisionError: ", call.name(),
             "(): integer division by zero");
}

}  // namespace

void run_pointwise(const Call& call, cpu::Opcode opcode, std::span<const Arg> args,
                   const cpu::Params& params) {
  const Arg* operands[3];
  for (size_t i = 0; i < args.size(); ++i) operands[i] = &args[i];
  run(call, opcode, operands, static_cast<int>(args.size()), params);
}

void run_pointwise(const Call& call, cpu::Opcode opcode, const cpu::Params& params) {
  const OpDef& op = call.op();
  const Arg* operands[3];
  int count = 0;
  for (int i = 0; i < op.operand_count; ++i) {
    const Arg& arg = call[op.operands[i]];
    if (!arg.is_none()) operands[count++] = &arg;
  }
  run(call, opcode, operands, count, params);
}

void pointwise_kernel(const Call& call) {
  run_pointwise(call, static_cast<cpu::Opcode>(call.op().opcode));
}

namespace {

// Few enough that threads hardly ever pay, and that a number can be spread over a tile on the
// stack.
constexpr int64_t direct_limit = 4096;
constexpr int64_t direct_number_limit = 256;

// A number next to tensors of this dtype that does not change the dtype of the result. Bools are
// left to infer: not every operator takes them.
bool fits(const Arg& number, DType dtype) {
  return number.kind == ArgKind::integer || number.kind == ArgKind::real ||
         (number.kind == ArgKind::complex && is_complex(dtype));
}

}  // namespace

// The simplest pointwise call: consecutive float tensors of one shape and dtype, and numbers.
TensorImpl* pointwise_direct(const OpDef& op, const Arg* args) {
  const Arg& first = args[op.operands[0]];
  if (!first.is_tensor()) return nullptr;
  const TensorImpl& a = *first.as.tensor;
  const DType dtype = a.dtype();
  if (!a.is_contiguous() || a.numel() > direct_limit || !contains(dtypes::real_math, dtype))
    return nullptr;
  const auto opcode = static_cast<cpu::Opcode>(op.opcode);
  if (WISP_UNLIKELY(a.numel() > cpu::grain_of(opcode, dtype))) return nullptr;
  cpu::TileFn kernel = cpu::tile_kernel(opcode, dtype);
  if (!kernel) return nullptr;
  const void* in[3] = {a.bytes(), nullptr, nullptr};
  alignas(64) char tile[direct_number_limit * 8];
  for (int i = 1; i < op.operand_count; ++i) {
    const Arg& arg = args[op.operands[i]];
    if (arg.is_tensor()) {
      const TensorImpl& b = *arg.as.tensor;
      if (b.dtype() != dtype || !b.is_contiguous() || !same(a.sizes(), b.sizes())) return nullptr;
      in[i] = b.bytes();
    } else {
      if (i != 1 || !fits(arg, dtype) || a.ndim() == 0) return nullptr;
      const cpu::TileFn with_number =
          op.operand_count == 2 ? cpu::number_kernel(opcode, dtype) : nullptr;
      if (!with_number && a.numel() > direct_number_limit) return nullptr;
      const int64_t copies = with_number ? 1 : a.numel();
      const double number = arg.scalar().real();
      if (dtype == DType::float32) {
        std::fill_n(reinterpret_cast<float*>(tile), copies, static_cast<float>(number));
      } else {
        std::fill_n(reinterpret_cast<double*>(tile), copies, number);
      }
      in[i] = tile;
      if (with_number) kernel = with_number;
    }
  }
  TensorImpl* out = TensorImpl::make_like(a, cpu::result_dtype(opcode, dtype));
  kernel(out->bytes(), in, a.numel(), cpu::Params());
  return out;
}

TensorImpl* pointwise_direct_plain(const OpDef& op, const Arg* args) {
  const Arg& alpha = args[op.operands[1] + 1];
  return alpha.kind == ArgKind::integer && alpha.as.integer == 1 ? pointwise_direct(op, args)
                                                                 : nullptr;
}

OpDef pointwise(Types types, OpDef def) {
  if (!def.infer) {
    switch (types) {
      case Types::same:
        def.infer = infer_pointwise<Types::same>;
        break;
      case Types::to_float:
        def.infer = infer_pointwise<Types::to_float>;
        break;
      case Types::boolean:
        def.infer = infer_pointwise<Types::boolean>;
        break;
      case Types::real_part:
        def.infer = infer_pointwise<Types::real_part>;
        break;
    }
  }
  if (!def.kernel) {
    def.kernel = pointwise_kernel;
    const auto opcode = static_cast<cpu::Opcode>(def.opcode);
    const bool uniform = cpu::input_dtype(opcode, 0, DType::float32) == DType::float32;
    if (uniform && !def.direct) def.direct = pointwise_direct;
  }
  if (def.jvp == Jvp::unset) def.jvp = def.vjp.empty() ? Jvp::none : Jvp::elementwise;
  def.batch = Batch::pointwise;
  def.traits |= trait::pointwise | trait::in_place | trait::out;
  return def;
}

Dims broadcast_all(std::span<const Tensor> tensors) {
  Dims shape;
  for (const Tensor& t : tensors) shape = broadcast(shape, t.sizes());
  return shape;
}

}  // namespace wisp::ops
