// L-BFGS: the direction of a step from those before, and the step itself. What belongs to all
// parameters together is one vector.
#include "cpu/lbfgs.h"

#include "cpu/update.h"
#include "dispatch/mode.h"
#include "ops/families.h"
#include "ops/ops.h"
#include "ops/promotion.h"
#include "ops/update.h"

namespace wisp::ops {

namespace {

void check_vector(const Infer& infer, const Tensor& t, int64_t length) {
  WISP_CHECK(t.defined() && is_floating(t.dtype()) && t.ndim() == 1 && t.numel() == length,
             infer.name(), "(): expected vectors of ", length, " real numbers");
}

// --- _lbfgs_change(self, last_grad, last_direction, t)

void infer_change(Infer& infer) {
  const Tensor& grad = infer.tensor(0);
  for (int i = 0; i < 3; ++i) check_vector(infer, infer.tensor(i), grad.numel());
  for (int i = 0; i < 2; ++i) infer.push(grad.sizes(), grad.dtype());
  for (int i = 0; i < 2; ++i) infer.push({}, grad.dtype());
}

void change_kernel(const Call& call) {
  const DType dtype = math_dtype(call.tensor(0).dtype());
  UpdateMemory memory(dtype);
  cpu::LbfgsChange change{.grad = memory.read(call.tensor(0)),
                          .last_grad = memory.read(call.tensor(1)),
                          .last_direction = memory.read(call.tensor(2)),
                          .t = call.real(3),
                          .change = memory.written(call.out(0)),
                          .step = memory.written(call.out(1)),
                          .curvature = 0,
                          .square = 0};
  cpu::lbfgs_change(dtype, call.tensor(0).numel(), change);
  write_number(call.out(2), change.curvature);
  write_number(call.out(3), change.square);
}

// --- _lbfgs_direction(self, changes, steps, inverses, scale)

void infer_direction(Infer& infer) {
  const Tensor& grad = infer.tensor(0);
  check_vector(infer, grad, grad.numel());
  const size_t pairs = infer.tensors(1).size();
  for (int list : {1, 2}) {
    for (const Tensor& t : infer.tensors(list)) check_vector(infer, t, grad.numel());
  }
  bool fits = infer.tensors(2).size() == pairs && infer.tensors(3).size() == pairs;
  for (const Tensor& t : infer.tensors(3)) fits &= t.defined() && t.numel() == 1;
  WISP_CHECK(fits, infer.name(), "(): expected a step and a number for each of ", pairs,
             " changes");
  infer.push(grad.sizes(), grad.dtype());
  infer.push({static_cast<int64_t>(pairs)}, grad.dtype());
}

void direction_kernel(const Call& call) {
  const Tensor &grad = call.tensor(0), &weights = call.out(1);
  const DType dtype = math_dtype(grad.dtype());
  UpdateMemory memory(dtype);
  std::vector<const char*> vectors[2];
  for (int list : {0, 1}) {
    for (const Tensor& t : call.tensors(1 + list)) vectors[list].push_back(memory.read(t));
  }
  std::vector<double> inverses;
  for (const Tensor& t : call.tensors(3)) inverses.push_back(read_number(t));
  const Tensor wide_weights = Tensor::empty(weights.sizes(), DType::float64);
  cpu::lbfgs_direction(dtype, grad.numel(),
                       {.grad = memory.read(grad),
                        .changes = vectors[0],
                        .steps = vectors[1],
                        .inverses = inverses,
                        .scale = call.real(4),
                        .direction = memory.written(call.out(0)),
                        .weights = {wide_weights.data<double>(), inverses.size()}});
  copy_raw(weights, wide_weights);
}

// --- _lbfgs_move(self, params, t, origin)

void infer_move(Infer& infer) {
  int64_t length = 0;
  for (const Tensor& param : infer.tensors(1)) {
    WISP_CHECK(param.defined() && is_floating(param.dtype()), infer.name(),
               "(): expected real floating parameters");
    WISP_CHECK(param->storage().writable(), infer.name(),
               "(): a parameter shares memory that is read-only; clone() it first");
    length += param.numel();
  }
  check_vector(infer, infer.tensor(0), length);
  if (infer.has(3)) check_vector(infer, infer.tensor(3), length);
}

void move_kernel(const Call& call) {
  const Tensor& direction = call.tensor(0);
  const DType dtype = math_dtype(direction.dtype());
  UpdateMemory memory(dtype);
  const char* along = memory.read(direction);
  char* origin = call.has(3) ? memory.read(call.tensor(3)) : nullptr;
  std::vector<cpu::Update> jobs;
  int64_t at = 0;
  for (const Tensor& param : call.tensors(1)) {
    cpu::Update job{.param = memory.written(param),
                    .grad = along + at,
                    .state = {origin ? origin + at : nullptr},
                    .count = param.numel(),
                    .numbers = {}};
    job.numbers.rate = -call.real(2);
    jobs.push_back(job);
    at += param.numel() * static_cast<int64_t>(item_size(dtype));
  }
  cpu::update(cpu::UpdateRule::move, dtype, jobs);
}

void move_body(const Args& args, TensorList& outs) {
  call(op_def<"_lbfgs_write">(), &args[0], outs);
  for (const Tensor& param : args.tensors(1)) autograd_hooks.wrote(args.op(), param);
}

OpDef internal(OpDef op) {
  op.jvp = Jvp::none;
  op.batch = Batch::loop;
  op.onnx = "- training only";
  op.homes |= home::internal;
  return op;
}

}  // namespace

void register_lbfgs(Registry& r) {
  r.add(internal(
      {.schema =
           "_lbfgs_change(Tensor self, Tensor last_grad, Tensor last_direction, float t) -> (Tensor, Tensor, Tensor, Tensor)",
       .doc =
           "How the gradient has changed, the step that changed it, their product, and that of the change with itself.",
       .infer = infer_change,
       .kernel = change_kernel,
       .homes = home::method}));
  r.add(internal(
      {.schema =
           "_lbfgs_direction(Tensor self, Tensor[] changes, Tensor[] steps, Tensor[] inverses, float scale) -> (Tensor, Tensor)",
       .doc =
           "Where to go from a gradient, by the curvature that the last changes of gradients show.",
       .infer = infer_direction,
       .kernel = direction_kernel,
       .homes = home::method}));
  r.add(internal(
      {.schema = "_lbfgs_write(Tensor self, Tensor[] params, float t, Tensor? origin) -> ()",
       .doc = "The kernel of _lbfgs_move.",
       .infer = infer_move,
       .kernel = move_kernel,
       .homes = 0}));
  r.add(internal(
      {.schema = "_lbfgs_move(Tensor self, Tensor[] params, float t, Tensor? origin=None) -> ()",
       .doc =
           "Sets parameters to their origin (unless given: where they are) plus t times a direction.",
       .body = move_body,
       .homes = home::method}));
}

}  // namespace wisp::ops
