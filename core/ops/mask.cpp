// Elements chosen by a mask: finding, reading and writing them.
#include "cpu/mask.h"

#include "cpu/index.h"
#include "cpu/scratch.h"
#include "ops/families.h"
#include "ops/number.h"
#include "ops/ops.h"
#include "ops/pointwise.h"
#include "ops/raw.h"
#include "tensor/contents.h"

namespace wisp::ops {

namespace {

void infer_nonzero(Infer& infer) {
  const Tensor& self = infer.tensor(0);
  self->check_readable("nonzero()");
  contents_read = true;
  const int64_t count = cpu::count_nonzero(self.sizes(), operand(self));
  infer.push({count, self.ndim()}, DType::int64, self.device());
}

void nonzero_kernel(const Call& call) {
  const Tensor& self = call.tensor(0);
  cpu::nonzero(self.sizes(), operand(self), call.out().data<int64_t>());
}

// One vector of coordinates per dimension; a number counts as a vector of one.
void nonzero_tuple_body(const Args& args, TensorList& outs) {
  const Tensor& self = args.tensor(0);
  const Tensor places = nonzero(self.ndim() ? self : unsqueeze(self, 0));
  for (int64_t dim = 0; dim < std::max<int64_t>(self.ndim(), 1); ++dim)
    outs.push(select(places, 1, dim));
}

void check_mask(const Args& args) {
  const DType dtype = args.tensor(1).dtype();
  WISP_CHECK(dtype == DType::bool_, args.name(), ": expected BoolTensor for mask, got ",
             name(dtype), "; masked_* only supports boolean masks");
}

// The mask's memory, read with the shape of the result.
struct Spread {
  Spread(const Tensor& t, IntSpan shape)
      : strides(expanded_strides(t.sizes(), t.strides(), shape)),
        data(t->bytes()),
        dtype(t.dtype()) {}
  cpu::Operand operand() const { return {data, strides, dtype}; }
  Dims strides;
  char* data;
  DType dtype;
};

void infer_masked_select(Infer& infer) {
  const Tensor &self = infer.tensor(0), &mask = infer.tensor(1);
  check_mask(infer);
  const Dims shape = broadcast(self.sizes(), mask.sizes());
  mask->check_readable("masked_select()");
  contents_read = true;
  infer.push({cpu::count_nonzero(shape, Spread(mask, shape).operand())}, self.dtype(),
             self.device());
}

void masked_select_kernel(const Call& call) {
  const Tensor &self = call.tensor(0), &mask = call.tensor(1), &out = call.out();
  const Dims shape = broadcast(self.sizes(), mask.sizes());
  const cpu::Scratch<int64_t> offsets(out.numel());
  cpu::nonzero_offsets(shape, Spread(mask, shape).operand(), Spread(self, shape).strides,
                       offsets.data());
  cpu::Places places;
  places.offsets = offsets;
  cpu::pick(places, self->item_size(), self->bytes(), out->bytes());
}

Tensor masked_select_grad(const Backward& b) {
  const Tensor& mask = b.tensor(1);
  const Tensor spread = zeros(broadcast(b.shape(0), mask.sizes()), b.grad().dtype());
  return sum_to_size(masked_scatter(spread, mask, b.grad()), b.shape(0));
}

void infer_masked_fill(Infer& infer) {
  check_mask(infer);
  const Tensor& self = infer.tensor(0);
  const Arg& value = infer[2];
  if (value.is_tensor()) {
    WISP_CHECK(value.tensor().ndim() == 0,
               "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
               value.tensor().ndim(), " dimension(s).");
  }
  check_fits(infer.name(), value.is_tensor() ? value.tensor().item() : value.scalar(),
             self.dtype());
  infer_pointwise(infer, Types::same);
  infer.out().dtype = self.dtype();
  infer.compute = math_dtype(self.dtype());
}

void masked_fill_kernel(const Call& call) {
  const Arg chosen[] = {call[1], call[2], call[0]};
  run_pointwise(call, cpu::Opcode::where, chosen);
}

void infer_masked_scatter(Infer& infer) {
  check_mask(infer);
  const Tensor &self = infer.tensor(0), &mask = infer.tensor(1), &source = infer.tensor(2);
  WISP_CHECK(self.dtype() == source.dtype(),
             "masked_scatter: expected self and source to have same dtypes but got ",
             legacy_name(self.dtype()), " and ", legacy_name(source.dtype()));
  const Dims shape = broadcast(self.sizes(), mask.sizes());
  const int64_t count = cpu::count_nonzero(shape, Spread(mask, shape).operand());
  WISP_CHECK(count <= source.numel(), "masked_scatter(): Number of elements of source (",
             source.numel(), ") < number of ones in mask (", count, ")");
  infer.push(shape, self.dtype(), self.device());
}

void masked_scatter_kernel(const Call& call) {
  const Tensor& out = call.out();
  const Tensor mask = apart_from(out, call.tensor(1)),
               source = consecutive(apart_from(out, call.tensor(2)));
  const Spread spread(mask, out.sizes());
  const cpu::Scratch<int64_t> offsets(cpu::count_nonzero(out.sizes(), spread.operand()));
  cpu::nonzero_offsets(out.sizes(), spread.operand(), out.strides(), offsets.data());
  cpu::Places places;
  places.offsets = offsets;
  update(out, call.tensor(0), false, [&](const Tensor& target) {
    cpu::put(places, cpu::Combine::copy, target.dtype(), target->bytes(), source->bytes(), false);
  });
}

// What the mask let in came from the start of the source.
Tensor masked_scatter_source_grad(const Backward& b) {
  const Tensor picked = masked_select(b.grad(), b.tensor(1));
  const int64_t total = count_elements(b.shape(2)), step = 1;
  return reshape(embed(picked, IntSpan(&total, 1), IntSpan(&step, 1), 0), b.shape(2));
}

void register_nonzero(Registry& r) {
  r.add({.schema = "nonzero(Tensor self, *, False as_tuple=False) -> Tensor",
         .doc =
             "The coordinates of all elements that are not zero, one row each.\n\n"
             ">>> wisp.nonzero(wisp.tensor([[1, 0], [0, 2]]))\ntensor([[0, 0],\n        [1, 1]])",
         .infer = infer_nonzero,
         .kernel = nonzero_kernel,
         .jvp = Jvp::none,
         .batch = Batch::loop,
         .onnx = "NonZero",
         .traits = trait::out});
  r.add({.schema = "nonzero.tuple(Tensor self, *, True as_tuple) -> Tensor[]",
         .doc = "The coordinates of all elements that are not zero, a vector per dimension.\n\n"
                ">>> wisp.nonzero(wisp.tensor([0, 5, 0, 7]), as_tuple=True)\n(tensor([1, 3]),)",
         .body = nonzero_tuple_body,
         .onnx = "NonZero"});
  r.add({.schema = "argwhere(Tensor self) -> Tensor",
         .doc = "The coordinates of all elements that are not zero, one row each.\n\n"
                ">>> wisp.argwhere(wisp.tensor([0, 5, 7]))\ntensor([[1],\n        [2]])",
         .body = [](const Args& args, TensorList& outs) { outs.push(nonzero(args.tensor(0))); },
         .onnx = "NonZero"});
  r.add({.schema = "where.condition(Tensor condition) -> Tensor[]",
         .doc = "The coordinates at which the condition holds, a vector per dimension.\n\n"
                ">>> wisp.where(wisp.tensor([False, True]))\n(tensor([1]),)",
         .body = nonzero_tuple_body,
         .onnx = "NonZero",
         .homes = home::function});
}

}  // namespace

void register_mask(Registry& r) {
  register_nonzero(r);
  r.add(
      {.schema = "masked_select(Tensor self, Tensor mask) -> Tensor",
       .doc =
           "The elements at which the mask is true, as a vector.\n\n"
           ">>> wisp.masked_select(wisp.tensor([1, 2, 3]), wisp.tensor([True, False, True]))\ntensor([1, 3])",
       .infer = infer_masked_select,
       .kernel = masked_select_kernel,
       .vjp = {{"self", "self.shape mask", masked_select_grad}},
       .jvp = Jvp::linear,
       .batch = Batch::loop,
       .onnx = "Compress",
       .traits = trait::out});
  r.add(pointwise(
      Types::same,
      {.schema = "masked_fill(Tensor self, Tensor mask, Tensor|Scalar value) -> Tensor",
       .doc =
           "A copy of `self` that holds `value` where the mask is true.\n\n"
           ">>> wisp.masked_fill(wisp.tensor([1., 2., 3.]), wisp.tensor([True, False, True]), 0)\n"
           "tensor([0., 2., 0.])",
       .infer = infer_masked_fill,
       .kernel = masked_fill_kernel,
       .vjp = {{"self", "mask",
                [](const Backward& b) { return masked_fill(b.grad(), b.tensor(1), 0); }},
               {"value", "mask",
                [](const Backward& b) { return where(b.tensor(1), b.grad(), Scalar(0)); }}},
       .onnx = "Where"}));
  r.add(
      {.schema = "masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor",
       .doc =
           "A copy of `self` that holds the elements of `source`, in order, where the mask is true.\n\n"
           ">>> wisp.masked_scatter(wisp.zeros(3), wisp.tensor([True, False, True]), wisp.tensor([5., 6.]))\n"
           "tensor([5., 0., 6.])",
       .infer = infer_masked_scatter,
       .kernel = masked_scatter_kernel,
       .vjp = {{"self", "self.shape mask",
                [](const Backward& b) {
                  return sum_to_size(masked_fill(b.grad(), b.tensor(1), 0), b.shape(0));
                }},
               {"source", "mask source.shape", masked_scatter_source_grad}},
       .jvp = Jvp::linear,
       .batch = Batch::loop,
       .onnx = "+ Where with a running count",
       .traits = trait::in_place | trait::writes_self});
}

}  // namespace wisp::ops
