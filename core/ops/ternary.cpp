// Pointwise functions of three operands, and selections.
#include <cmath>
#include <limits>

#include "ops/families.h"
#include "ops/ops.h"
#include "ops/pointwise.h"

namespace wisp::ops {

namespace {

using cpu::Opcode;

void infer_where(Infer& infer) {
  const Tensor& condition = infer.tensor(0);
  WISP_CHECK(condition.dtype() == DType::bool_ || condition.dtype() == DType::uint8,
             "where expected condition to be a boolean tensor, but got a tensor with dtype ",
             name(condition.dtype()));
  infer_pointwise(infer, Types::same);
}

void infer_clamp(Infer& infer) {
  WISP_CHECK(infer.has(1) || infer.has(2),
             "clamp(): At least one of 'min' or 'max' must not be None");
  infer_pointwise(infer, Types::same);
  WISP_CHECK(!is_complex(infer.compute), "clamp is not supported for complex types");
  check_compute(infer, dtypes::integral | dtypes::real_math);
}

// A bound that was left out: nothing is below or above it.
Arg open_bound(DType compute, bool low) {
  const double inf = std::numeric_limits<double>::infinity();
  if (is_floating(compute)) return Arg(low ? -inf : inf);
  return visit<dtypes::integral>(compute, "clamp", [&]<class T>() {
    using Limits = std::numeric_limits<T>;
    return Arg(static_cast<int64_t>(low ? Limits::min() : Limits::max()));
  });
}

void clamp_kernel(const Call& call) {
  const Arg bounds[] = {call[0], call.has(1) ? call[1] : open_bound(call.compute, true),
                        call.has(2) ? call[2] : open_bound(call.compute, false)};
  if (is_floating(call.compute) && bounds[1].is_scalar() && bounds[2].is_scalar()) {
    cpu::Params params;
    params.values[0] = bounds[1].scalar().real();
    params.values[1] = bounds[2].scalar().real();
    if (params.values[0] == params.values[0] && params.values[1] == params.values[1]) {
      return run_pointwise(call, Opcode::clamp_to, {bounds, 1}, params);
    }
  }
  run_pointwise(call, Opcode::clamp, bounds);
}

// The gradient passes where self is within its bounds, and to the bound that took over elsewhere.
Tensor clamp_self_grad(const Backward& b) {
  const Tensor& self = b.tensor(0);
  Tensor inside;
  if (b.has(1)) inside = ge(self, b.operand(1));
  if (b.has(2)) {
    const Tensor below = le(self, b.operand(2));
    inside = inside.defined() ? logical_and(inside, below) : below;
  }
  return where(inside, b.grad(), Scalar(0));
}

Tensor clamp_min_grad(const Backward& b) {
  Tensor took_over = lt(b.tensor(0), b.operand(1));
  if (b.has(2)) took_over = logical_and(took_over, lt(b.tensor(1), b.operand(2)));
  return where(took_over, b.grad(), Scalar(0));
}

Tensor clamp_max_grad(const Backward& b) {
  Tensor took_over = gt(b.tensor(0), b.operand(2));
  if (b.has(1)) took_over = logical_or(took_over, lt(b.tensor(2), b.operand(1)));
  return where(took_over, b.grad(), Scalar(0));
}

// The ends decide the dtype; a 0-d weight may be of another one.
void infer_lerp(Infer& infer) {
  infer_pointwise(infer, Types::same);
  const DType dtype = infer.tensor(0).dtype();
  WISP_CHECK(infer.tensor(1).dtype() == dtype, "lerp(): expected dtype ", name(dtype),
             " for `end`, but got dtype ", name(infer.tensor(1).dtype()));
  const Arg& weight = infer[2];
  WISP_CHECK(!weight.is_tensor() || weight.tensor().ndim() == 0 || weight.tensor().dtype() == dtype,
             "lerp(): expected dtype ", name(dtype), " for `weight`, but got dtype ",
             name(weight.is_tensor() ? weight.tensor().dtype() : dtype));
  WISP_CHECK(weight.is_tensor() || is_complex(dtype) || !infer.scalar(2).is_complex(),
             "lerp(): a complex weight needs complex ends, got ", name(dtype));
  infer.out().dtype = dtype;
  infer.compute = math_dtype(dtype);
  check_compute(infer, dtypes::math);
}

// A number as weight decides once which end to start from.
void lerp_kernel(const Call& call) {
  if (call[2].is_tensor() || !contains(dtypes::real_math, call.compute))
    return run_pointwise(call, Opcode::lerp);
  double weight = call.scalar(2).real();
  if (call.compute == DType::float32) weight = static_cast<float>(weight);
  const bool from_end = !(std::abs(weight) < 0.5);
  cpu::Params params;
  params.values[0] = from_end ? weight - 1 : weight;
  params.values[1] = from_end;
  run_pointwise(call, Opcode::lerp_by, {&call[0], 2}, params);
}

Tensor lerp_start_grad(const Backward& b) {
  if (b[2].is_tensor()) return mul(b.grad(), conj(sub(Scalar(1), b.tensor(2))));
  const Scalar weight = b.scalar(2);
  const Scalar rest =
      weight.is_complex() ? Scalar(1.0 - weight.complex()) : Scalar(1 - weight.real());
  return mul(b.grad(), rest.conj());
}

Tensor scaled(const Tensor& grad, Scalar value) {
  return value.equals(1) ? grad : mul(grad, value.conj());
}

template <Opcode opcode>
void value_kernel(const Call& call) {
  cpu::Params params;
  set_param(params, 0, call.scalar(3));
  run_pointwise(call, opcode, params);
}

void infer_addcdiv(Infer& infer) {
  infer_pointwise(infer, Types::same);
  WISP_CHECK(
      is_differentiable(infer.tensor(1).dtype()) || is_differentiable(infer.tensor(2).dtype()),
      "addcdiv(): integer division with addcdiv is not supported; divide with div(..., ",
      "rounding_mode='trunc') and add, or convert one of the tensors to a floating dtype");
}

}  // namespace

void register_ternary(Registry& r) {
  OpDef where_def = pointwise(
      Types::same,
      {.schema = "where(Tensor condition, Tensor|Scalar self, Tensor|Scalar other) -> Tensor",
       .doc = "Elements of `self` where the condition holds, of `other` elsewhere.\n\n"
              ">>> wisp.where(wisp.tensor([True, False]), wisp.tensor([1, 2]), 0)\ntensor([1, 0])",
       .infer = infer_where,
       .opcode = code(Opcode::where),
       .vjp = {{"self", "condition",
                [](const Backward& b) { return where(b.tensor(0), b.grad(), Scalar(0)); }},
               {"other", "condition",
                [](const Backward& b) { return where(b.tensor(0), Scalar(0), b.grad()); }}},
       .jvp = Jvp::linear,
       .onnx = "Where"});
  where_def.traits &= ~static_cast<uint32_t>(trait::in_place);
  r.add(std::move(where_def));
  r.add(pointwise(
      Types::same,
      {.schema = "clamp(Tensor self, Tensor|Scalar? min=None, Tensor|Scalar? max=None) -> Tensor",
       .doc = "Elements below `min` become `min`, elements above `max` become `max`.\n\n"
              ">>> wisp.clamp(wisp.tensor([-1., 0.5, 3.]), 0, 1)\ntensor([0.0000, 0.5000, 1.0000])",
       .infer = infer_clamp,
       .kernel = clamp_kernel,
       .vjp = {{"self", "self min max", clamp_self_grad},
               {"min", "self min max", clamp_min_grad},
               {"max", "self min max", clamp_max_grad}},
       .onnx = "Clip",
       .node = "ClampBackward1"}));
  r.alias("clip", "clamp");
  r.add(pointwise(
      Types::same,
      {.schema = "lerp(Tensor self, Tensor end, Tensor|Scalar weight) -> Tensor",
       .doc = "Between `self` and `end`: `self + weight * (end - self)`.\n\n"
              ">>> wisp.lerp(wisp.tensor([0.]), wisp.tensor([10.]), 0.25)\ntensor([2.5000])",
       .infer = infer_lerp,
       .kernel = lerp_kernel,
       .opcode = code(Opcode::lerp),
       .vjp = {{"self", "weight", lerp_start_grad},
               {"end", "weight",
                [](const Backward& b) {
                  return b[2].is_tensor() ? mul(b.grad(), conj(b.tensor(2)))
                                          : mul(b.grad(), b.scalar(2).conj());
                }},
               {"weight", "self end",
                [](const Backward& b) {
                  return mul(b.grad(), conj(sub(b.tensor(1), b.tensor(0))));
                }}},
       .onnx = "+ Add and Mul"}));
  r.add(pointwise(
      Types::same,
      {.schema =
           "addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
       .doc =
           "`self + value * tensor1 * tensor2`.\n\n>>> wisp.addcmul(wisp.ones(2), wisp.ones(2), wisp.ones(2), value=0.5)\ntensor([1.5000, 1.5000])",
       .kernel = value_kernel<Opcode::addcmul>,
       .vjp = {{"self", "", [](const Backward& b) { return b.grad(); }},
               {"tensor1", "tensor2 value",
                [](const Backward& b) {
                  return mul(scaled(b.grad(), b.scalar(3)), conj(b.tensor(2)));
                }},
               {"tensor2", "tensor1 value",
                [](const Backward& b) {
                  return mul(scaled(b.grad(), b.scalar(3)), conj(b.tensor(1)));
                }}},
       .onnx = "+ Add and Mul"}));
  r.add(pointwise(
      Types::same,
      {.schema =
           "addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
       .doc =
           "`self + value * tensor1 / tensor2`.\n\n>>> wisp.addcdiv(wisp.ones(2), wisp.ones(2), wisp.full((2,), 4.))\ntensor([1.2500, 1.2500])",
       .infer = infer_addcdiv,
       .kernel = value_kernel<Opcode::addcdiv>,
       .vjp = {{"self", "", [](const Backward& b) { return b.grad(); }},
               {"tensor1", "tensor2 value",
                [](const Backward& b) {
                  return div(scaled(b.grad(), b.scalar(3)), conj(b.tensor(2)));
                }},
               {"tensor2", "tensor1 tensor2 value",
                [](const Backward& b) {
                  const Tensor slope = div(b.tensor(1), square(b.tensor(2)));
                  return neg(mul(scaled(b.grad(), b.scalar(3)), conj(slope)));
                }}},
       .onnx = "+ Add and Div"}));
}

}  // namespace wisp::ops
