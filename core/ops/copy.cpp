// Copies, conversions and fills.
#include "cpu/copy.h"

#include "base/element.h"
#include "ops/families.h"
#include "ops/number.h"
#include "ops/ops.h"
#include "ops/pointwise.h"

namespace wisp::ops {

namespace {

cpu::Operand operand_of(const Tensor& t) { return {t->bytes(), t.strides(), t.dtype()}; }

// The result has self's shape and dtype, whatever is written.
void infer_like_self(Infer& infer) {
  const Tensor& self = infer.tensor(0);
  TensorSpec& spec = infer.push();
  spec.sizes = Dims(self.sizes());
  if (!self.is_contiguous()) spec.strides = preserved_strides(self.sizes(), self.strides());
  spec.dtype = self.dtype();
  spec.device = self.device();
}

void infer_copy(Infer& infer) {
  infer_like_self(infer);
  const Tensor& self = infer.tensor(0);
  const Tensor& src = infer.tensor(1);
  if (same(self.sizes(), src.sizes())) return;
  WISP_CHECK(src.ndim() <= self.ndim() && same(broadcast(self.sizes(), src.sizes()), self.sizes()),
             "copy_(): the source of shape ", src.sizes(),
             " does not broadcast to the target's shape ", self.sizes());
}

void copy_kernel(const Call& call) {
  const Tensor& out = call.out();
  const Tensor& src = call.tensor(1);
  const Dims strides = expanded_strides(src.sizes(), src.strides(), out.sizes());
  cpu::copy(out.sizes(), operand_of(out), {src->bytes(), strides, src.dtype()});
}

void fill_with(const Tensor& out, Scalar value) {
  cpu::fill(out.sizes(), operand_of(out), Element(value, out.dtype()).bytes);
}

void infer_fill(Infer& infer) {
  infer_like_self(infer);
  if (infer[1].is_tensor()) {
    const int64_t ndim = infer.tensor(1).ndim();
    WISP_CHECK(ndim == 0, "fill_ only supports a 0-dimension value tensor but got tensor with ",
               ndim, " dimensions.");
  } else {
    check_fits("fill_", infer.scalar(1), infer.out().dtype);
  }
}

void fill_kernel(const Call& call) {
  fill_with(call.out(), call[1].is_tensor() ? call.tensor(1).item() : call.scalar(1));
}

MemoryFormat format_of(const Args& args, int i, MemoryFormat fallback) {
  return args.has(i) ? args[i].as.memory_format : fallback;
}

void infer_clone(Infer& infer) {
  infer_like_self(infer);
  const MemoryFormat format = format_of(infer, 1, MemoryFormat::preserve);
  if (format != MemoryFormat::preserve) {
    infer.out().strides = strides_for(format, infer.tensor(0).sizes());
  }
}

void clone_kernel(const Call& call) {
  const Tensor& out = call.out();
  cpu::copy(out.sizes(), operand_of(out), operand_of(call.tensor(0)));
}

void infer_to_copy(Infer& infer) {
  infer_like_self(infer);
  infer.out().dtype = infer.dtype(1);
  const MemoryFormat format = format_of(infer, 2, MemoryFormat::preserve);
  if (format != MemoryFormat::preserve) {
    infer.out().strides = strides_for(format, infer.tensor(0).sizes());
  }
}

bool already(const Tensor& self, MemoryFormat format) {
  return format == MemoryFormat::preserve || self->is_contiguous(format);
}

void to_body(const Args& args, TensorList& outs) {
  const Tensor& self = args.tensor(0);
  const DType dtype = args.has(1) ? args.dtype(1) : self.dtype();
  const MemoryFormat format = format_of(args, 5, MemoryFormat::preserve);
  const bool copy = args.boolean(4);
  if (args.has(2) && args.device(2).type != self.device().type) {
    WISP_CHECK_KIND(not_implemented, !self->is_meta(),
                    "Cannot copy out of meta tensor; no data! Use Module.to_empty() instead of ",
                    "Module.to() when moving a module from meta to another device.");
    outs.push(invoke<"empty_like">(self, dtype, args.device(2)));
    return;
  }
  if (dtype == self.dtype() && already(self, format)) {
    outs.push(copy ? clone(self) : self);
  } else if (dtype == self.dtype()) {
    outs.push(invoke<"clone">(self, format));
  } else {
    outs.push(invoke<"_to_copy">(self, dtype, format));
  }
}

}  // namespace

void register_copy(Registry& r) {
  r.add({.schema = "copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor",
         .doc =
             "Writes the elements of `src` into this tensor, broadcasting and converting them.\n\n"
             ">>> x = wisp.zeros(2, 2)\n>>> x.copy_(wisp.tensor([1, 2]))\n"
             "tensor([[1., 2.],\n        [1., 2.]])",
         .infer = infer_copy,
         .kernel = copy_kernel,
         .vjp = {{"self", "", [](const Backward& b) { return zeros_like(b.grad()); }},
                 {"src", "", [](const Backward& b) { return b.grad(); }}},
         .jvp = Jvp::elementwise,
         .batch = Batch::pointwise,
         .onnx = "Cast",
         .traits = trait::pointwise | trait::in_place | trait::in_place_only,
         .homes = home::method,
         .node = "CopyBackwards"});
  r.add({.schema = "fill(Tensor self, Tensor|Scalar value) -> Tensor",
         .doc = "A tensor like `self` in which every element is `value`.\n\n"
                ">>> wisp.fill(wisp.zeros(3), 2)\ntensor([2., 2., 2.])",
         .infer = infer_fill,
         .kernel = fill_kernel,
         .vjp = {{"self", "", [](const Backward& b) { return zeros_like(b.grad()); }},
                 {"value", "", [](const Backward& b) { return sum(b.grad()); }}},
         .jvp = Jvp::elementwise,
         .batch = Batch::loop,
         .onnx = "Expand",
         .traits = trait::in_place | trait::writes_self});
  r.add({.schema = "zero(Tensor self) -> Tensor",
         .doc = "Sets every element to zero.\n\n>>> wisp.ones(2).zero_()\ntensor([0., 0.])",
         .infer = infer_like_self,
         .kernel = [](const Call& c) { fill_with(c.out(), 0); },
         .vjp = {{"self", "", [](const Backward& b) { return zeros_like(b.grad()); }}},
         .jvp = Jvp::elementwise,
         .batch = Batch::pointwise,
         .onnx = "ConstantOfShape",
         .traits = trait::in_place | trait::in_place_only | trait::writes_self});
  r.add({.schema = "clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
         .doc = "A copy with memory of its own; gradients flow through it.\n\n"
                ">>> x = wisp.ones(2)\n>>> y = x.clone().mul_(3)\n>>> x\ntensor([1., 1.])",
         .infer = infer_clone,
         .kernel = clone_kernel,
         .vjp = {{"self", "", [](const Backward& b) { return b.grad(); }}},
         .jvp = Jvp::linear,
         .batch = Batch::pointwise,
         .onnx = "Identity"});
  r.add({.schema = "_to_copy(Tensor self, Dtype dtype, MemoryFormat? memory_format=None) -> Tensor",
         .doc = "A copy of another dtype.",
         .infer = infer_to_copy,
         .kernel = clone_kernel,
         .vjp = {{"self", "", [](const Backward& b) { return b.grad(); }}},
         .jvp = Jvp::linear,
         .batch = Batch::pointwise,
         .onnx = "Cast",
         .homes = home::internal,
         .node = "ToCopyBackward0"});
  r.add(
      {.schema = "to(Tensor self, Dtype? dtype=None, Device? device=None, bool non_blocking=False, "
                 "bool copy=False, *, MemoryFormat? memory_format=None) -> Tensor",
       .doc =
           "This tensor in another dtype, on another device or in another layout; itself if it is "
           "that already.\n\n>>> wisp.tensor([1, 2]).to(wisp.float64)\n"
           "tensor([1., 2.], dtype=wisp.float64)",
       .body = to_body,
       .onnx = "Cast",
       .homes = home::internal});
  r.add(
      {.schema =
           "contiguous(Tensor self, *, MemoryFormat? memory_format=contiguous_format) -> Tensor",
       .doc =
           "This tensor laid out in memory without gaps, in the order of its dimensions; itself if "
           "it is so already.\n\n>>> wisp.ones(2, 3).t().contiguous().stride()\n(2, 1)",
       .body =
           [](const Args& args, TensorList& outs) {
             const Tensor& self = args.tensor(0);
             const MemoryFormat format = format_of(args, 1, MemoryFormat::contiguous);
             WISP_CHECK(
                 format != MemoryFormat::preserve,
                 "contiguous(): preserve memory format is unsupported by the contiguous operator");
             outs.push(already(self, format) ? self : invoke<"clone">(self, format));
           },
       .onnx = "Identity",
       .homes = home::method});
}

}  // namespace wisp::ops
