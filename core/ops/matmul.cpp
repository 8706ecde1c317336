// Products of matrices and vectors.
#include "ops/families.h"
#include "ops/matrix.h"
#include "ops/ops.h"
#include "ops/promotion.h"
#include "ops/raw.h"

namespace wisp::ops {

namespace {

Tensor conj_t(const Tensor& matrix) { return conj(t(matrix)); }

// --- mm

void infer_mm(Infer& infer) {
  const Tensor &a = infer.tensor(0), &b = infer.tensor(1);
  WISP_CHECK(a.ndim() == 2, "mm(): self must be a matrix, got a tensor of shape ", a.sizes());
  WISP_CHECK(b.ndim() == 2, "mm(): mat2 must be a matrix, got a tensor of shape ", b.sizes());
  check_same_dtype(infer, a, b);
  check_product(infer, a->size(0), a->size(1), b->size(0), b->size(1));
  check_number_dtype(infer, a.dtype());
  infer.push({a->size(0), b->size(1)}, a.dtype(), a.device());
}

void mm_kernel(const Call& call) {
  cpu::gemm(call.out().dtype(), matrix_of(call.tensor(0)), matrix_of(call.tensor(1)),
            matrix_of(call.out()));
}

// So few elements that checks and bookkeeping would cost more than the product.
constexpr int64_t direct_limit = 4096;

TensorImpl* mm_direct(const OpDef&, const Arg* args) {
  const Tensor &a = args[0].tensor(), &b = args[1].tensor();
  const DType dtype = a.dtype();
  if (a.ndim() != 2 || b.ndim() != 2 || dtype != b.dtype() || !contains(dtypes::real_math, dtype))
    return nullptr;
  const cpu::Matrix left = matrix_of(a), right = matrix_of(b);
  if (left.cols != right.rows || a.numel() > direct_limit || b.numel() > direct_limit)
    return nullptr;
  const int64_t sizes[] = {left.rows, right.cols};
  TensorImpl* out = TensorImpl::make_empty(sizes, dtype, a.device());
  cpu::gemm(dtype, left, right, {out->bytes(), left.rows, right.cols, right.cols, 1});
  return out;
}

// --- bmm, and products of stacks that broadcast

void infer_bmm(Infer& infer) {
  const Tensor &a = infer.tensor(0), &b = infer.tensor(1);
  WISP_CHECK(a.ndim() == 3, "bmm(): batch1 must be a 3D tensor, got a tensor of shape ", a.sizes());
  WISP_CHECK(b.ndim() == 3, "bmm(): batch2 must be a 3D tensor, got a tensor of shape ", b.sizes());
  WISP_CHECK(a->size(0) == b->size(0) && a->size(2) == b->size(1),
             "bmm(): Expected size for first two dimensions of batch2 tensor to be: [", a->size(0),
             ", ", a->size(2), "] but got: [", b->size(0), ", ", b->size(1), "].");
  WISP_CHECK(a.dtype() == b.dtype(), "bmm(): expected scalar type ", legacy_name(a.dtype()),
             " but found ", legacy_name(b.dtype()));
  check_number_dtype(infer, a.dtype());
  infer.push({a->size(0), a->size(1), b->size(2)}, a.dtype(), a.device());
}

IntSpan batch_sizes(const Tensor& t) { return t.sizes().first(static_cast<size_t>(t.ndim() - 2)); }
IntSpan batch_strides(const Tensor& t) {
  return t.strides().first(static_cast<size_t>(t.ndim() - 2));
}

// a and b are repeated along the batch dimensions of `out` where they have fewer.
cpu::Stack stack_of(const Tensor& a, const Tensor& b, const Tensor& out) {
  const IntSpan sizes = batch_sizes(out);
  return {Dims(sizes), expanded_strides(batch_sizes(a), batch_strides(a), sizes),
          expanded_strides(batch_sizes(b), batch_strides(b), sizes), Dims(batch_strides(out))};
}

void bmm_kernel(const Call& call) {
  const Tensor &a = call.tensor(0), &b = call.tensor(1), &out = call.out();
  if (out.numel() == 0) return;
  cpu::gemm(out.dtype(), stack_of(a, b, out), matrix_of(a), matrix_of(b), matrix_of(out));
}

void infer_stacked(Infer& infer) {
  const Tensor &a = infer.tensor(0), &b = infer.tensor(1);
  const Dims left(batch_sizes(a)), right(batch_sizes(b));
  Dims sizes = broadcast(left, right);
  WISP_CHECK(a.dtype() == b.dtype(),
             "matmul(): expected m1 and m2 to have the same dtype, but got: ", name(a.dtype()),
             " != ", name(b.dtype()));
  WISP_CHECK(a.size(-1) == b.size(-2),
             "matmul(): mat1 and mat2 shapes cannot be multiplied: the last two dimensions of ",
             a.sizes(), " and ", b.sizes(), " do not match");
  if (a.dtype() == DType::bool_) fail_not_implemented("matmul", a.dtype());
  sizes.push_back(a.size(-2));
  sizes.push_back(b.size(-1));
  infer.push(sizes, a.dtype(), a.device());
}

Tensor rows(const Tensor& t) {
  const int64_t sizes[] = {-1, t.size(-1)};
  return reshape(t, sizes);
}

Tensor stacked_self_grad(const Backward& b) {
  return sum_to_size(matmul(b.grad(), adjoint(b.tensor(1))), b.shape(0));
}

// A matrix multiplied with every matrix of a stack is multiplied with one tall matrix.
Tensor stacked_other_grad(const Backward& b) {
  const Tensor& self = b.tensor(0);
  const bool tall = b.shape(1).size() == 2 && self.numel() > 0 && b.grad().numel() > 0;
  if (tall) return mm(conj_t(rows(self)), rows(b.grad()));
  return sum_to_size(matmul(adjoint(self), b.grad()), b.shape(1));
}

// --- mv, dot, vdot

void infer_mv(Infer& infer) {
  const Tensor &mat = infer.tensor(0), &vec = infer.tensor(1);
  WISP_CHECK(mat.ndim() == 2 && vec.ndim() == 1, "mv(): expected a matrix and a vector, got ",
             mat.ndim(), "D and ", vec.ndim(), "D tensors");
  WISP_CHECK(mat->size(1) == vec->size(0), "mv(): size mismatch, got mat (", mat->size(0), "x",
             mat->size(1), "), vec (", vec->size(0), ")");
  WISP_CHECK(mat.dtype() == vec.dtype(), "mv(): input tensors must have the same dtype, but got ",
             legacy_name(mat.dtype()), " and ", legacy_name(vec.dtype()));
  check_number_dtype(infer, mat.dtype());
  infer.push({mat->size(0)}, mat.dtype(), mat.device());
}

void mv_kernel(const Call& call) {
  cpu::gemm(call.out().dtype(), matrix_of(call.tensor(0)), column_of(call.tensor(1)),
            column_of(call.out()));
}

void infer_dot(Infer& infer) {
  const Tensor &a = infer.tensor(0), &b = infer.tensor(1);
  WISP_CHECK(a.ndim() == 1 && b.ndim() == 1, infer.name(), "(): 1D tensors expected, but got ",
             a.ndim(), "D and ", b.ndim(), "D tensors");
  WISP_CHECK(a.dtype() == b.dtype(), infer.name(),
             "(): expected both vectors to have same dtype, but found ", legacy_name(a.dtype()),
             " and ", legacy_name(b.dtype()));
  WISP_CHECK(a.numel() == b.numel(), infer.name(),
             "(): inconsistent tensor size, expected tensor [", a.numel(), "] and src [", b.numel(),
             "] to have the same number of elements, but got ", a.numel(), " and ", b.numel(),
             " elements respectively");
  check_number_dtype(infer, a.dtype());
  infer.push(IntSpan(), a.dtype(), a.device());
}

void run_dot(const Call& call, bool conjugate) {
  const Tensor &a = call.tensor(0), &b = call.tensor(1);
  cpu::dot(a.dtype(), a.numel(), {a->bytes(), a->stride(0)}, {b->bytes(), b->stride(0)}, conjugate,
           call.out()->bytes());
}

// --- matmul: which product it is depends on the number of dimensions

Tensor squeeze_at(const Tensor& t, int64_t dim) {
  Dims sizes(t.sizes());
  sizes.erase(static_cast<size_t>(wrap_dim(dim, t.ndim())));
  return view(t, sizes);
}

Tensor product(const Tensor& a, const Tensor& b) {
  const int64_t left = a.ndim(), right = b.ndim();
  WISP_CHECK(left > 0 && right > 0,
             "matmul(): both arguments to matmul need to be at least 1D, but they are ", left,
             "D and ", right, "D");
  if (left == 2 && right == 2) return mm(a, b);
  if (left == 2 && right == 1) return mv(a, b);
  if (left == 1 && right == 1) return dot(a, b);
  if (left == 1) return squeeze_at(product(unsqueeze(a, 0), b), -2);
  if (right == 1) return squeeze_at(stacked_mm(a, unsqueeze(b, 1)), -1);
  return stacked_mm(a, b);
}

// --- inner, outer, vecdot

void inner_body(const Args& args, TensorList& outs) {
  const Tensor &a = args.tensor(0), &b = args.tensor(1);
  if (a.ndim() == 0 || b.ndim() == 0) return outs.push(mul(a, b));
  WISP_CHECK(a.size(-1) == b.size(-1),
             "inner(): the last dimension must match on both input tensors but got shapes ",
             a.sizes(), " and ", b.sizes());
  if (a.ndim() == 1 && b.ndim() == 1) return outs.push(dot(a, b));
  Dims sizes(a.sizes().first(static_cast<size_t>(a.ndim() - 1)));
  for (int64_t size : b.sizes().first(static_cast<size_t>(b.ndim() - 1))) sizes.push_back(size);
  const int64_t left[] = {a.numel() / std::max<int64_t>(a.size(-1), 1), a.size(-1)};
  const int64_t right[] = {b.numel() / std::max<int64_t>(b.size(-1), 1), b.size(-1)};
  if (a.size(-1) == 0) return outs.push(zeros(sizes, a.dtype()));
  outs.push(reshape(mm(reshape(a, left), t(reshape(b, right))), sizes));
}

void outer_body(const Args& args, TensorList& outs) {
  const Tensor &a = args.tensor(0), &b = args.tensor(1);
  WISP_CHECK(a.ndim() == 1, "outer(): Expected 1-D argument self, but got ", a.ndim(), "-D");
  WISP_CHECK(b.ndim() == 1, "outer(): Expected 1-D argument vec2, but got ", b.ndim(), "-D");
  outs.push(mul(unsqueeze(a, 1), b));
}

void vecdot_body(const Args& args, TensorList& outs) {
  const Tensor &x = args.tensor(0), &y = args.tensor(1);
  WISP_CHECK(x.dtype() == y.dtype() && is_differentiable(x.dtype()),
             "linalg.vecdot(): expected floating point or complex vectors of one dtype, got ",
             name(x.dtype()), " and ", name(y.dtype()));
  const int64_t dim = args.integer(2);
  outs.push(sum(mul(conj(x), y), IntSpan(&dim, 1)));
}

// --- linear

// Sizes of the result: the last dimension of the input becomes the number of rows of the weight, or
// disappears if that is a vector.
void infer_linear(Infer& infer) {
  const Tensor &input = infer.tensor(0), &weight = infer.tensor(1);
  WISP_CHECK(input.ndim() > 0 && (weight.ndim() == 1 || weight.ndim() == 2),
             "linear(): expected an input of at least 1D and a weight of 1D or 2D, got ",
             input.ndim(), "D and ", weight.ndim(), "D");
  check_same_dtype(infer, input, weight);
  const int64_t in = input.size(-1);
  WISP_CHECK(in == weight.size(-1), "linear(): mat1 and mat2 shapes cannot be multiplied (",
             in ? input.numel() / in : 0, "x", in, " and ", weight.size(-1), "x",
             weight.ndim() == 2 ? weight->size(0) : 1, ")");
  check_number_dtype(infer, input.dtype());
  Dims sizes(input.sizes());
  sizes.pop_back();
  if (weight.ndim() == 2) sizes.push_back(weight->size(0));
  if (infer.has(2)) {
    const Tensor& bias = infer.tensor(2);
    WISP_CHECK(bias.dtype() == input.dtype(),
               "linear(): self and mat2 must have the same dtype, but got ",
               legacy_name(bias.dtype()), " and ", legacy_name(input.dtype()));
    WISP_CHECK(same(broadcast(sizes, bias.sizes()), sizes), "linear(): a bias of shape ",
               bias.sizes(), " does not broadcast to the shape of the result, ", sizes);
  }
  infer.push(sizes, input.dtype(), input.device());
}

void linear_kernel(const Call& call) {
  const Tensor &input = call.tensor(0), &weight = call.tensor(1), &out = call.out();
  if (out.numel() == 0) return;
  const bool vector = weight.ndim() == 1;
  const cpu::Matrix right = vector ? column_of(weight) : transposed(matrix_of(weight));
  // The input as rows; those of a stack lie below one another or are multiplied one by one.
  const int64_t dims = input.ndim(), kept = std::max<int64_t>(dims - 2, 0);
  const bool one_row = dims == 1;
  const cpu::Matrix left{input->bytes(), one_row ? 1 : input->size(dims - 2), input->size(dims - 1),
                         one_row ? 0 : input->stride(dims - 2), input->stride(dims - 1)};
  const cpu::Matrix result{out->bytes(), left.rows, right.cols, right.cols, 1};
  cpu::Stack stack{Dims(input.sizes().first(static_cast<size_t>(kept))),
                   Dims(input.strides().first(static_cast<size_t>(kept))),
                   Dims(static_cast<size_t>(kept), 0),
                   Dims(out.strides().first(static_cast<size_t>(kept)))};
  if (!call.has(2)) return cpu::gemm(out.dtype(), stack, left, right, result);
  const Tensor& bias = call.tensor(2);
  const bool is_row = bias.ndim() == 1 && bias.numel() == right.cols && bias->is_contiguous();
  if (is_row && cpu::gemm_onto_row(out.dtype(), stack, left, right, result, bias->bytes())) return;
  start_with(out, bias);
  cpu::gemm(out.dtype(), stack, left, right, result, 1, 1);
}

TensorImpl* linear_direct(const OpDef&, const Arg* args) {
  const Tensor &input = args[0].tensor(), &weight = args[1].tensor();
  const DType dtype = input.dtype();
  if (input.ndim() != 2 || weight.ndim() != 2 || weight.dtype() != dtype ||
      !contains(dtypes::real_math, dtype))
    return nullptr;
  const cpu::Matrix left = matrix_of(input), right = transposed(matrix_of(weight));
  if (left.cols != right.rows || input.numel() > direct_limit || weight.numel() > direct_limit)
    return nullptr;
  const bool biased = args[2].is_tensor();
  if (biased) {
    const TensorImpl& bias = *args[2].as.tensor;
    if (bias.ndim() != 1 || bias.numel() != right.cols || bias.dtype() != dtype ||
        !bias.is_contiguous())
      return nullptr;
  }
  const int64_t sizes[] = {left.rows, right.cols};
  Tensor out = Tensor::adopt(TensorImpl::make_empty(sizes, dtype, input.device()));
  if (biased) start_with(out, args[2].tensor());
  cpu::gemm(dtype, left, right, matrix_of(out), 1, biased ? 1 : 0);
  return out.detach_impl();
}

// The gradient as one column per output.
Tensor linear_grad_rows(const Backward& b) {
  const bool vector = b.shape(1).size() == 1;
  const Tensor& grad = b.grad();
  const int64_t sizes[] = {vector ? grad.numel() : -1, vector ? 1 : b.shape(1)[0]};
  return grad.ndim() == 2 && !vector ? grad : reshape(grad, sizes);
}

Tensor linear_input_grad(const Backward& b) {
  const Tensor& weight = b.tensor(1);
  if (weight.ndim() == 1) return mul(unsqueeze(b.grad(), -1), conj(weight));
  return matmul(b.grad(), conj(weight));
}

Tensor linear_weight_grad(const Backward& b) {
  const Tensor& input = b.tensor(0);
  if (b.grad().numel() == 0 || input.numel() == 0) return zeros(b.shape(1), b.input_dtype(1));
  const Tensor grad = mm(t(linear_grad_rows(b)), conj(input.ndim() == 2 ? input : rows(input)));
  return b.shape(1).size() == 1 ? reshape(grad, b.shape(1)) : grad;
}

void register_products(Registry& r) {
  r.add(
      {.schema = "mm(Tensor self, Tensor mat2) -> Tensor",
       .doc =
           "The product of two matrices.\n\n>>> wisp.mm(wisp.ones(2, 3), wisp.ones(3, 1))\ntensor([[3.],\n        [3.]])",
       .infer = infer_mm,
       .kernel = mm_kernel,
       .direct = mm_direct,
       .vjp = {{"self", "mat2",
                [](const Backward& b) { return mm(b.grad(), conj_t(b.tensor(1))); }},
               {"mat2", "self",
                [](const Backward& b) { return mm(conj_t(b.tensor(0)), b.grad()); }}},
       .jvp = Jvp::bilinear,
       .batch = Batch::loop,
       .onnx = "MatMul",
       .traits = trait::out});
  r.add(
      {.schema = "bmm(Tensor self, Tensor mat2) -> Tensor",
       .doc =
           "The products of the matrices of two stacks, pair by pair.\n\n>>> wisp.bmm(wisp.ones(1, 2, 3), wisp.ones(1, 3, 1))\ntensor([[[3.],\n         [3.]]])",
       .infer = infer_bmm,
       .kernel = bmm_kernel,
       .vjp = {{"self", "mat2",
                [](const Backward& b) { return bmm(b.grad(), adjoint(b.tensor(1))); }},
               {"mat2", "self",
                [](const Backward& b) { return bmm(adjoint(b.tensor(0)), b.grad()); }}},
       .jvp = Jvp::bilinear,
       .batch = Batch::loop,
       .onnx = "MatMul",
       .traits = trait::out});
  r.add({.schema = "_stacked_mm(Tensor self, Tensor mat2) -> Tensor",
         .doc = "matmul() of at least two dimensions each, in one node.",
         .infer = infer_stacked,
         .kernel = bmm_kernel,
         .vjp = {{"self", "self.shape mat2", stacked_self_grad},
                 {"mat2", "self mat2.shape", stacked_other_grad}},
         .jvp = Jvp::bilinear,
         .batch = Batch::loop,
         .onnx = "MatMul",
         .homes = home::internal,
         .node = "UnsafeViewBackward0"});
  r.add(
      {.schema = "mv(Tensor self, Tensor vec) -> Tensor",
       .doc =
           "The product of a matrix with a vector.\n\n>>> wisp.mv(wisp.ones(2, 3), wisp.ones(3))\ntensor([3., 3.])",
       .infer = infer_mv,
       .kernel = mv_kernel,
       .vjp = {{"self", "vec",
                [](const Backward& b) { return outer(b.grad(), conj(b.tensor(1))); }},
               {"vec", "self",
                [](const Backward& b) { return mv(conj_t(b.tensor(0)), b.grad()); }}},
       .jvp = Jvp::bilinear,
       .batch = Batch::loop,
       .onnx = "MatMul",
       .traits = trait::out});
}

void register_vector_products(Registry& r) {
  r.add(
      {.schema = "dot(Tensor self, Tensor tensor) -> Tensor",
       .doc =
           "The sum of the products of two vectors' elements.\n\n>>> wisp.dot(wisp.tensor([2, 3]), wisp.tensor([2, 1]))\ntensor(7)",
       .infer = infer_dot,
       .kernel = [](const Call& call) { run_dot(call, false); },
       .vjp = {{"self", "tensor",
                [](const Backward& b) { return mul(b.grad(), conj(b.tensor(1))); }},
               {"tensor", "self",
                [](const Backward& b) { return mul(b.grad(), conj(b.tensor(0))); }}},
       .jvp = Jvp::bilinear,
       .batch = Batch::loop,
       .onnx = "MatMul",
       .traits = trait::out});
  r.add(
      {.schema = "vdot(Tensor self, Tensor other) -> Tensor",
       .doc =
           "dot() with the elements of the first vector conjugated.\n\n>>> wisp.vdot(wisp.tensor([1j, 2]), wisp.tensor([1j, 1]))\ntensor(3.+0.j)",
       .infer = infer_dot,
       .kernel = [](const Call& call) { run_dot(call, true); },
       .vjp = {{"self", "other",
                [](const Backward& b) { return mul(conj(b.grad()), b.tensor(1)); }},
               {"other", "self", [](const Backward& b) { return mul(b.grad(), b.tensor(0)); }}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "MatMul",
       .traits = trait::out});
  r.add(
      {.schema = "inner(Tensor self, Tensor other) -> Tensor",
       .doc =
           "Sums of products over the last dimension of both.\n\n>>> wisp.inner(wisp.tensor([1, 2]), wisp.tensor([[0, 2], [1, 1]]))\ntensor([4, 3])",
       .body = inner_body,
       .onnx = "+ MatMul with a transposed operand",
       .traits = trait::out});
  r.add(
      {.schema = "outer(Tensor self, Tensor vec2) -> Tensor",
       .doc =
           "The products of every element of one vector with every element of another.\n\n>>> wisp.outer(wisp.tensor([1, 2]), wisp.tensor([1, 10]))\ntensor([[ 1, 10],\n        [ 2, 20]])",
       .body = outer_body,
       .onnx = "+ Mul of a column and a row",
       .traits = trait::out});
  r.alias("ger", "outer");
  r.add(
      {.schema = "vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor",
       .doc =
           "Sums of `conj(x) * y` along a dimension.\n\n>>> wisp.linalg.vecdot(wisp.tensor([[1., 2.], [0., 1.]]), wisp.tensor([3., 4.]))\ntensor([11.,  4.])",
       .body = vecdot_body,
       .onnx = "+ ReduceSum of Mul",
       .traits = trait::out,
       .homes = home::linalg});
}

}  // namespace

void register_matmul(Registry& r) {
  register_products(r);
  register_vector_products(r);
  r.add(
      {.schema = "matmul(Tensor self, Tensor other) -> Tensor",
       .doc =
           "The matrix product `self @ other`: vectors count as a row on the left and a column on the right, further dimensions are stacks of matrices and broadcast.\n\n>>> wisp.matmul(wisp.ones(2, 1, 3), wisp.tensor([1., 2., 3.]))\ntensor([[6.],\n        [6.]])",
       .body = [](const Args& args,
                  TensorList& outs) { outs.push(product(args.tensor(0), args.tensor(1))); },
       .onnx = "MatMul",
       .traits = trait::out,
       .homes = home::function | home::method | home::linalg});
  r.add(
      {.schema = "linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
       .doc =
           "`input @ weight.T + bias`.\n\n>>> wisp.nn.functional.linear(wisp.ones(1, 2), wisp.tensor([[1., 2.], [3., 4.]]), wisp.tensor([0., 1.]))\ntensor([[3., 8.]])",
       .infer = infer_linear,
       .kernel = linear_kernel,
       .direct = linear_direct,
       .vjp = {{"input", "weight", linear_input_grad},
               {"weight", "input weight.shape", linear_weight_grad},
               {"bias", "bias.shape",
                [](const Backward& b) { return sum_to_size(b.grad(), b.shape(2)); }}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "Gemm",
       .homes = home::functional,
       .node = "AddmmBackward0"});
}

}  // namespace wisp::ops
