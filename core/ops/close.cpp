// Whether tensors are equal, or nearly so.
#include "ops/families.h"
#include "ops/ops.h"

namespace wisp::ops {

namespace {

// isclose(self, other, rtol, atol, equal_nan)
void isclose_body(const Args& args, TensorList& outs) {
  const Tensor &self = args.tensor(0), &other = args.tensor(1);
  const double rtol = args.real(2), atol = args.real(3);
  WISP_CHECK(self.dtype() == other.dtype(), args.name(), "(): ", legacy_name(self.dtype()),
             " did not match ", legacy_name(other.dtype()));
  WISP_CHECK(rtol >= 0, args.name(), "(): rtol must be greater than or equal to zero, but got ",
             rtol);
  WISP_CHECK(atol >= 0, args.name(), "(): atol must be greater than or equal to zero, but got ",
             atol);
  Tensor close = eq(self, other);
  if (args.boolean(4) && is_differentiable(self.dtype()))
    close = logical_or(close, logical_and(isnan(self), isnan(other)));
  if (rtol == 0 && atol == 0) return outs.push(close);
  const DType dtype = to_floating(self.dtype());
  const Tensor wanted = to(other, dtype), distance = abs(sub(to(self, dtype), wanted));
  const Tensor allowed = add(abs(mul(wanted, rtol)), atol);
  outs.push(logical_or(close, logical_and(isfinite(distance), le(distance, allowed))));
}

void equal_body(const Args& args, TensorList& outs) {
  const Tensor &self = args.tensor(0), &other = args.tensor(1);
  if (!same(self.sizes(), other.sizes())) return outs.push(full(IntSpan(), false, DType::bool_));
  outs.push(all(eq(self, other)));
}

}  // namespace

void register_close(Registry& r) {
  r.add(
      {.schema =
           "isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor",
       .doc =
           "Whether `abs(self - other) <= atol + rtol * abs(other)`, element by element.\n\n>>> wisp.isclose(wisp.tensor([1., 2.]), wisp.tensor([1., 2.1]))\ntensor([ True, False])",
       .body =
           [](const Args& args, TensorList& outs) {
             GradMode no_grad(false);  // the answer has no derivative
             isclose_body(args, outs);
           },
       .onnx = "+ LessOrEqual of Abs"});
  r.add(
      {.schema =
           "allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> bool",
       .doc =
           "Whether all elements are close; see `isclose`.\n\n>>> wisp.allclose(wisp.tensor([1.]), wisp.tensor([1.000001]))\nTrue",
       .body =
           [](const Args& args, TensorList& outs) {
             GradMode no_grad(false);
             isclose_body(args, outs);
             outs[0] = all(outs[0]);
           },
       .onnx = "+ ReduceMin of LessOrEqual"});
  r.add(
      {.schema = "equal(Tensor self, Tensor other) -> bool",
       .doc =
           "Whether both have the same shape and equal elements.\n\n>>> wisp.equal(wisp.tensor([1, 2]), wisp.tensor([1, 2]))\nTrue",
       .body = equal_body,
       .onnx = "+ ReduceMin of Equal"});
}

}  // namespace wisp::ops
