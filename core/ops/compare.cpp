// Comparison, logic and bits.
#include "base/element.h"
#include "cpu/copy.h"
#include "ops/families.h"
#include "ops/ops.h"
#include "ops/pointwise.h"

namespace wisp::ops {

namespace {

using cpu::Opcode;

struct Comparison {
  const char* schema;
  const char* doc;
  Opcode opcode;
  const char* onnx;
};

void infer_ordered(Infer& infer) {
  infer_pointwise(infer, Types::boolean);
  check_compute(infer, dtypes::bits | dtypes::real_math);  // complex numbers are not ordered
}

void infer_bits(Infer& infer) {
  infer_pointwise(infer, Types::same);
  check_compute(infer, dtypes::bits);
}

void infer_shift(Infer& infer) {
  infer_pointwise(infer, Types::same);
  check_compute(infer, dtypes::integral);
}

// The same for all elements. Where calls are collected it has to be a pointwise one.
void answer_all(const Call& call, bool answer) {
  if (is_taken(call)) {
    const Arg alike[] = {call[0], call[0]};
    return run_pointwise(call, answer ? Opcode::eq : Opcode::ne, alike);
  }
  const Tensor& out = call.out();
  cpu::fill(out.sizes(), {out->bytes(), out.strides(), out.dtype()},
            Element(answer, out.dtype()).bytes);
}

// Integers are never NaN or infinite, always finite.
template <int answer>
void classify_kernel(const Call& call) {
  is_differentiable(call.compute) ? pointwise_kernel(call) : answer_all(call, answer);
}

void infer_classify_real(Infer& infer) {
  infer_pointwise(infer, Types::boolean);
  WISP_CHECK(!is_complex(infer.compute), infer.name(), "(): does not support complex inputs");
}

void register_comparison(Registry& r) {
  const Comparison equality[] = {
      {"eq(Tensor self, Tensor|Scalar other) -> Tensor",
       "Whether `self == other`, element by element.\n\n>>> wisp.eq(wisp.tensor([1, 2]), 2)\ntensor([False,  True])",
       Opcode::eq, "Equal"},
      {"ne(Tensor self, Tensor|Scalar other) -> Tensor",
       "Whether `self != other`, element by element.\n\n>>> wisp.ne(wisp.tensor([1, 2]), 2)\ntensor([ True, False])",
       Opcode::ne, "Equal"},
  };
  const Comparison order[] = {
      {"lt(Tensor self, Tensor|Scalar other) -> Tensor",
       "Whether `self < other`, element by element.\n\n>>> wisp.lt(wisp.tensor([1, 2, 3]), 2)\ntensor([ True, False, False])",
       Opcode::lt, "Less"},
      {"le(Tensor self, Tensor|Scalar other) -> Tensor",
       "Whether `self <= other`, element by element.\n\n>>> wisp.le(wisp.tensor([1, 2, 3]), 2)\ntensor([ True,  True, False])",
       Opcode::le, "LessOrEqual"},
      {"gt(Tensor self, Tensor|Scalar other) -> Tensor",
       "Whether `self > other`, element by element.\n\n>>> wisp.gt(wisp.tensor([1, 2, 3]), 2)\ntensor([False, False,  True])",
       Opcode::gt, "Greater"},
      {"ge(Tensor self, Tensor|Scalar other) -> Tensor",
       "Whether `self >= other`, element by element.\n\n>>> wisp.ge(wisp.tensor([1, 2, 3]), 2)\ntensor([False,  True,  True])",
       Opcode::ge, "GreaterOrEqual"},
  };
  for (const Comparison& e : equality) {
    r.add(pointwise(Types::boolean,
                    {.schema = e.schema, .doc = e.doc, .opcode = code(e.opcode), .onnx = e.onnx}));
  }
  for (const Comparison& e : order) {
    r.add(pointwise(Types::boolean, {.schema = e.schema,
                                     .doc = e.doc,
                                     .infer = infer_ordered,
                                     .opcode = code(e.opcode),
                                     .onnx = e.onnx}));
  }
  r.alias("not_equal", "ne");
  r.alias("less", "lt");
  r.alias("less_equal", "le");
  r.alias("greater", "gt");
  r.alias("greater_equal", "ge");
}

void register_classification(Registry& r) {
  auto add = [&](const Comparison& e, KernelFn kernel, InferFn infer = nullptr) {
    OpDef def = pointwise(Types::boolean, {.schema = e.schema,
                                           .doc = e.doc,
                                           .infer = infer,
                                           .kernel = kernel,
                                           .opcode = code(e.opcode),
                                           .onnx = e.onnx});
    def.traits &= ~static_cast<uint32_t>(trait::in_place);
    if (!infer) def.traits &= ~static_cast<uint32_t>(trait::out);
    r.add(std::move(def));
  };
  add({"isnan(Tensor self) -> Tensor",
       "Whether elements are NaN.\n\n>>> wisp.isnan(wisp.tensor([1., float('nan')]))\ntensor([False,  True])",
       Opcode::isnan, "IsNaN"},
      classify_kernel<0>);
  add({"isinf(Tensor self) -> Tensor",
       "Whether elements are infinite, of either sign.\n\n>>> wisp.isinf(wisp.tensor([1., float('-inf')]))\ntensor([False,  True])",
       Opcode::isinf, "IsInf"},
      classify_kernel<0>);
  add({"isfinite(Tensor self) -> Tensor",
       "Whether elements are neither NaN nor infinite.\n\n>>> wisp.isfinite(wisp.tensor([1., float('inf')]))\ntensor([ True, False])",
       Opcode::isfinite, "+ Not of IsNaN or IsInf"},
      classify_kernel<1>);
  add({"isposinf(Tensor self) -> Tensor",
       "Whether elements are positive infinity.\n\n>>> wisp.isposinf(wisp.tensor([1., float('inf')]))\ntensor([False,  True])",
       Opcode::isposinf, "IsInf"},
      classify_kernel<0>, infer_classify_real);
  add({"isneginf(Tensor self) -> Tensor",
       "Whether elements are negative infinity.\n\n>>> wisp.isneginf(wisp.tensor([1., float('-inf')]))\ntensor([False,  True])",
       Opcode::isneginf, "IsInf"},
      classify_kernel<0>, infer_classify_real);
  add(
      {"signbit(Tensor self) -> Tensor",
       "Whether the sign bit is set; true for -0.0.\n\n>>> wisp.signbit(wisp.tensor([-1., 0., -0.]))\ntensor([ True, False,  True])",
       Opcode::signbit, "Less"},
      [](const Call& c) { c.compute == DType::bool_ ? answer_all(c, false) : pointwise_kernel(c); },
      infer_classify_real);
}

void register_logic(Registry& r) {
  const Comparison logic[] = {
      {"logical_and(Tensor self, Tensor other) -> Tensor",
       "Whether both are non-zero.\n\n>>> wisp.logical_and(wisp.tensor([True, True]), wisp.tensor([0, 1]))\ntensor([False,  True])",
       Opcode::logical_and, "And"},
      {"logical_or(Tensor self, Tensor other) -> Tensor",
       "Whether either is non-zero.\n\n>>> wisp.logical_or(wisp.tensor([False, False]), wisp.tensor([0, 1]))\ntensor([False,  True])",
       Opcode::logical_or, "Or"},
      {"logical_xor(Tensor self, Tensor other) -> Tensor",
       "Whether exactly one is non-zero.\n\n>>> wisp.logical_xor(wisp.tensor([True, False]), wisp.tensor([1, 1]))\ntensor([False,  True])",
       Opcode::logical_xor, "Xor"},
      {"logical_not(Tensor self) -> Tensor",
       "Whether elements are zero.\n\n>>> wisp.logical_not(wisp.tensor([0, 2]))\ntensor([ True, False])",
       Opcode::logical_not, "Not"},
  };
  for (const Comparison& e : logic) {
    r.add(pointwise(Types::boolean,
                    {.schema = e.schema, .doc = e.doc, .opcode = code(e.opcode), .onnx = e.onnx}));
  }
  const Comparison bits[] = {
      {"bitwise_and(Tensor|Scalar self, Tensor|Scalar other) -> Tensor",
       "`self & other`, bit by bit.\n\n>>> wisp.bitwise_and(wisp.tensor([6]), 3)\ntensor([2])",
       Opcode::bitwise_and, "BitwiseAnd"},
      {"bitwise_or(Tensor|Scalar self, Tensor|Scalar other) -> Tensor",
       "`self | other`, bit by bit.\n\n>>> wisp.bitwise_or(wisp.tensor([6]), 1)\ntensor([7])",
       Opcode::bitwise_or, "BitwiseOr"},
      {"bitwise_xor(Tensor|Scalar self, Tensor|Scalar other) -> Tensor",
       "`self ^ other`, bit by bit.\n\n>>> wisp.bitwise_xor(wisp.tensor([6]), 3)\ntensor([5])",
       Opcode::bitwise_xor, "BitwiseXor"},
      {"bitwise_not(Tensor self) -> Tensor",
       "`~self`: every bit flipped.\n\n>>> wisp.bitwise_not(wisp.tensor([0, 5]))\ntensor([-1, -6])",
       Opcode::bitwise_not, "BitwiseNot"},
  };
  for (const Comparison& e : bits) {
    r.add(pointwise(Types::same, {.schema = e.schema,
                                  .doc = e.doc,
                                  .infer = infer_bits,
                                  .opcode = code(e.opcode),
                                  .onnx = e.onnx}));
  }
  r.add(pointwise(
      Types::same,
      {.schema = "bitwise_left_shift(Tensor|Scalar self, Tensor|Scalar other) -> Tensor",
       .doc =
           "`self << other`.\n\n>>> wisp.bitwise_left_shift(wisp.tensor([1, 2]), 3)\ntensor([ 8, 16])",
       .infer = infer_shift,
       .opcode = code(Opcode::shift_left),
       .onnx = "BitShift"}));
  r.add(pointwise(
      Types::same,
      {.schema = "bitwise_right_shift(Tensor|Scalar self, Tensor|Scalar other) -> Tensor",
       .doc =
           "`self >> other`; the sign is kept.\n\n>>> wisp.bitwise_right_shift(wisp.tensor([16, -8]), 2)\ntensor([ 4, -2])",
       .infer = infer_shift,
       .opcode = code(Opcode::shift_right),
       .onnx = "BitShift"}));
}

}  // namespace

void register_compare(Registry& r) {
  register_comparison(r);
  register_classification(r);
  register_logic(r);
}

}  // namespace wisp::ops
