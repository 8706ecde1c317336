// Norms of matrices and condition numbers.
#include <cmath>
#include <limits>

#include "ops/families.h"
#include "ops/linalg.h"
#include "ops/ops_linalg.h"

namespace wisp::ops {

namespace {

std::string number_text(Scalar order) {
  return order.is_integer() ? str(order.integer()) : str(order.real());
}

struct Dims2 {
  int64_t rows, cols;
};

Dims2 matrix_dims(const Tensor& a, IntSpan dims) {
  const char* who = "linalg.matrix_norm";
  check_matrices(who, a);
  WISP_CHECK(is_differentiable(a.dtype()), who,
             ": Expected a floating point or complex tensor as input. Got ",
             legacy_name(a.dtype()));
  WISP_CHECK(dims.size() == 2, who, ": dim must be a 2-tuple. Got ", dims);
  const Dims2 found{wrap_dim(dims[0], a.ndim()), wrap_dim(dims[1], a.ndim())};
  WISP_CHECK(found.rows != found.cols, who, ": dims must be different. Got (", dims[0], ", ",
             dims[1], ")");
  return found;
}

// The dtype asked for, as linalg.vector_norm checks it.
Tensor converted(const Tensor& a, std::optional<DType> dtype) {
  if (!dtype) return a;
  WISP_CHECK(is_differentiable(*dtype),
             "linalg.matrix_norm: dtype should be floating point or complex, but got ",
             legacy_name(*dtype));
  WISP_CHECK(is_complex(a.dtype()) == is_complex(*dtype), "linalg.matrix_norm: dtype should be ",
             is_complex(a.dtype()) ? "complex" : "real", " for ",
             is_complex(a.dtype()) ? "complex" : "real", " inputs, but got ", legacy_name(*dtype));
  WISP_CHECK(promote(a.dtype(), *dtype) == *dtype, "linalg.matrix_norm: the dtype of the input (",
             legacy_name(a.dtype()),
             ") should be convertible without narrowing to the specified "
             "dtype (",
             legacy_name(*dtype), ")");
  return to(a, *dtype);
}

// Both dimensions, which have size one, go.
Tensor drop(const Tensor& t, const Dims2& dims) {
  const int64_t high = std::max(dims.rows, dims.cols), low = std::min(dims.rows, dims.cols);
  return select(select(t, high, 0), low, 0);
}

Tensor largest(const Tensor& t, int64_t dim, bool smallest) {
  if (smallest) return invoke<"amin">(t, IntSpan(&dim, 1), true);
  if (t.size(dim) > 0) return amax(t, IntSpan(&dim, 1), true);
  return sum(t, IntSpan(&dim, 1), true);  // nothing is 0
}

// The singular values in place of the columns, one row.
Tensor singular_values(const Tensor& a, const Dims2& dims) {
  WISP_CHECK_KIND(not_implemented, !contains(dtypes::half, a.dtype()),
                  "linalg.matrix_norm: Low precision dtypes not supported. Got ",
                  legacy_name(a.dtype()));
  Dims order;
  for (int64_t i = 0; i < a.ndim(); ++i) {
    if (i != dims.rows && i != dims.cols) order.push_back(i);
  }
  order.push_back(dims.rows);
  order.push_back(dims.cols);
  const Tensor values = unsqueeze(invoke<"linalg_svdvals">(permute(a, order)), -2);
  Dims back(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return permute(values, back);
}

Tensor numbered_norm(const Tensor& a, Scalar order, const Dims2& dims, bool keepdim) {
  const double size = std::abs(order.real());
  const bool smallest = order.real() < 0;
  WISP_CHECK(!order.is_complex() && (size == 1 || size == 2 || std::isinf(size)),
             "linalg.matrix_norm: Order ", number_text(order), " not supported.");
  Tensor norm;
  if (size == 2) {
    norm = largest(singular_values(a, dims), dims.cols, smallest);
  } else {
    const int64_t inner = size == 1 ? dims.rows : dims.cols;
    const Tensor sums = vector_norm(a, 1, IntSpan(&inner, 1), true);
    norm = largest(sums, size == 1 ? dims.cols : dims.rows, smallest);
  }
  return keepdim ? norm : drop(norm, dims);
}

void matrix_norm_body(const Args& args, TensorList& outs) {
  const Tensor& a = args.tensor(0);
  const Dims2 dims = matrix_dims(a, args.integers(2));
  outs.push(
      numbered_norm(converted(a, args.dtype_or_none(4)), args.scalar(1), dims, args.boolean(3)));
}

void named_matrix_norm_body(const Args& args, TensorList& outs) {
  const Tensor& a = args.tensor(0);
  const std::string_view order = args.string(1);
  const Dims2 dims = matrix_dims(a, args.integers(2));
  const int64_t both[] = {dims.rows, dims.cols};
  const bool keepdim = args.boolean(3);
  if (order == "fro") return outs.push(vector_norm(a, 2, both, keepdim, args.dtype_or_none(4)));
  WISP_CHECK(order == "nuc", "linalg.matrix_norm: Order ", order, " not supported.");
  const Tensor values = singular_values(converted(a, args.dtype_or_none(4)), dims);
  outs.push(sum(values, both, keepdim));
}

// --- linalg.norm: of vectors or matrices, by the number of dimensions

void check_norm_dims(const Args& args, bool ordered) {
  if (args.has(2)) {
    const IntSpan dims = args.integers(2);
    WISP_CHECK(dims.size() == 1 || dims.size() == 2,
               "linalg.norm: If dim is specified, it must be of length 1 or 2. Got ", dims);
  } else if (ordered) {
    const int64_t ndim = args.tensor(0).ndim();
    WISP_CHECK(ndim == 1 || ndim == 2,
               "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got ",
               ndim, "D.");
  }
}

void norm_body(const Args& args, TensorList& outs) {
  const bool ordered = args.has(1);
  check_norm_dims(args, ordered);
  const bool matrix = args.has(2) ? args.integers(2).size() == 2 : args.tensor(0).ndim() == 2;
  if (!ordered || !matrix) {
    const Arg order = ordered ? args[1] : Arg(2);
    return outs.push(invoke<"vector_norm">(args[0], order, args[2], args[3], args[4]));
  }
  const int64_t both[] = {0, 1};
  const Arg dims = args.has(2) ? args[2] : Arg(IntSpan(both));
  outs.push(invoke<"linalg_matrix_norm.ord">(args[0], args[1], dims, args[3], args[4]));
}

void named_norm_body(const Args& args, TensorList& outs) {
  check_norm_dims(args, true);
  const int64_t both[] = {-2, -1};
  const Arg dims = args.has(2) ? args[2] : Arg(IntSpan(both));
  outs.push(invoke<"linalg_matrix_norm">(args[0], args[1], dims, args[3], args[4]));
}

void nuclear_norm_body(const Args& args, TensorList& outs) {
  const int64_t both[] = {-2, -1};
  outs.push(invoke<"linalg_matrix_norm">(args[0], "nuc", IntSpan(both), args[1]));
}

void frobenius_norm_body(const Args& args, TensorList& outs) {
  const IntSpan dims = args.integers(1);
  WISP_CHECK(dims.size() <= 2, "Expected at most 2 dimensions, but got ", dims.size(),
             " dimensions instead.");
  outs.push(vector_norm(args.tensor(0), 2, dims, args.boolean(2)));
}

// --- cond

Tensor condition_by_inverse(const Args& args, const Tensor& a) {
  const std::string order =
      args[1].kind == ArgKind::string ? std::string(args.string(1)) : number_text(args.scalar(1));
  check_square(str("linalg.cond(ord=", order, ")"), a);
  const Tensors inverse = invoke_many<"linalg_inv_ex">(a);
  const int64_t both[] = {-2, -1};
  auto norm = [&](const Tensor& t) {
    return args[1].kind == ArgKind::string
               ? invoke<"linalg_matrix_norm">(t, args[1], IntSpan(both))
               : invoke<"linalg_matrix_norm.ord">(t, args[1], IntSpan(both));
  };
  const Tensor product = mul(norm(a), norm(inverse[0]));
  return where(eq(inverse[1], 0), product,
               Operand(Scalar(std::numeric_limits<double>::infinity())));
}

void cond_body(const Args& args, TensorList& outs) {
  const Tensor& a = args.tensor(0);
  WISP_CHECK(a.ndim() >= 2, "linalg.cond: The input tensor must have at least 2 dimensions.");
  const double order = args.has(1) ? args.real(1) : 2;
  WISP_CHECK(std::abs(order) == 1 || std::abs(order) == 2 || std::isinf(order),
             "linalg.cond got an invalid norm type: ", number_text(args.scalar(1)));
  if (a.numel() == 0) return outs.push(zeros(batch_of(a), to_real(a.dtype())));
  if (std::abs(order) != 2) return outs.push(condition_by_inverse(args, a));
  const Tensor values = invoke<"linalg_svdvals">(a);
  const Tensor high = select(values, -1, 0), low = select(values, -1, -1);
  outs.push(order > 0 ? div(high, low) : div(low, high));
}

void named_cond_body(const Args& args, TensorList& outs) {
  const Tensor& a = args.tensor(0);
  const std::string_view order = args.string(1);
  WISP_CHECK(order == "fro" || order == "nuc", "linalg.cond got an invalid norm type: ", order);
  WISP_CHECK(a.ndim() >= 2, "linalg.cond: The input tensor must have at least 2 dimensions.");
  if (a.numel() == 0) return outs.push(zeros(batch_of(a), to_real(a.dtype())));
  outs.push(condition_by_inverse(args, a));
}

void register_norms(Registry& r) {
  r.add(
      {.schema =
           "linalg_matrix_norm.ord(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, Dtype? dtype=None) -> Tensor",
       .doc =
           "The norm of matrices: largest (1) or smallest (-1) column sum of sizes, row sum (inf, -inf) or singular value (2, -2).\n\n>>> wisp.linalg.matrix_norm(wisp.tensor([[1., 2.], [3., 4.]]), 1)\ntensor(6.)",
       .body = matrix_norm_body,
       .onnx = "+ a composition of reductions",
       .traits = trait::out,
       .homes = home::linalg});
  r.add(
      {.schema =
           "linalg_matrix_norm(Tensor self, str ord=\"fro\", int[] dim=[-2, -1], bool keepdim=False, *, Dtype? dtype=None) -> Tensor",
       .doc =
           "The Frobenius (\"fro\") or nuclear (\"nuc\", sum of singular values) norm of matrices.\n\n>>> wisp.linalg.matrix_norm(wisp.tensor([[1., 2.], [2., 4.]]))\ntensor(5.)",
       .body = named_matrix_norm_body,
       .onnx = "+ a composition of reductions",
       .traits = trait::out,
       .homes = home::linalg});
  r.add(
      {.schema =
           "linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, Dtype? dtype=None) -> Tensor",
       .doc =
           "`linalg.vector_norm`, or `linalg.matrix_norm` if `ord` is given and there are two dimensions.\n\n>>> wisp.linalg.norm(wisp.tensor([3., 4.]))\ntensor(5.)",
       .body = norm_body,
       .onnx = "+ a composition of reductions",
       .traits = trait::out,
       .homes = home::linalg});
  r.add(
      {.schema =
           "linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, Dtype? dtype=None) -> Tensor",
       .doc =
           "`linalg.matrix_norm` with \"fro\" or \"nuc\".\n\n>>> wisp.linalg.norm(wisp.eye(3), 'nuc')\ntensor(3.)",
       .body = named_norm_body,
       .onnx = "+ a composition of reductions",
       .traits = trait::out,
       .homes = home::linalg});
}

void register_old_norms(Registry& r) {
  r.add(
      {.schema = "nuclear_norm(Tensor self, bool keepdim=False) -> Tensor",
       .doc =
           "The sum of the singular values of a matrix.\n\n>>> wisp.nuclear_norm(wisp.eye(3))\ntensor(3.)",
       .body = nuclear_norm_body,
       .onnx = "+ a loop",
       .traits = trait::out,
       .homes = home::function});
  r.add(
      {.schema = "nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor",
       .doc =
           "The same, of the matrices two dimensions make.\n\n>>> wisp.nuclear_norm(wisp.eye(3), (0, 1))\ntensor(3.)",
       .body =
           [](const Args& args, TensorList& outs) {
             outs.push(invoke<"linalg_matrix_norm">(args[0], "nuc", args[1], args[2]));
           },
       .onnx = "+ a loop",
       .traits = trait::out,
       .homes = home::function});
  r.add(
      {.schema = "frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
       .doc =
           "The root of the sum of squares over one or two dimensions.\n\n>>> wisp.frobenius_norm(wisp.tensor([[1., 2.], [2., 4.]]), (0, 1))\ntensor(5.)",
       .body = frobenius_norm_body,
       .onnx = "ReduceL2",
       .homes = home::function});
}

}  // namespace

void register_linalg_norm(Registry& r) {
  register_norms(r);
  register_old_norms(r);
  r.add(
      {.schema = "linalg_cond(Tensor self, Scalar? p=None) -> Tensor",
       .doc =
           "The condition number: norm of the matrix times norm of its inverse; by default the ratio of the largest and smallest singular value.\n\n>>> wisp.linalg.cond(wisp.tensor([[4., 0.], [0., 2.]]))\ntensor(2.)",
       .body = cond_body,
       .onnx = "+ a loop",
       .traits = trait::out,
       .homes = home::linalg});
  r.add(
      {.schema = "linalg_cond.p_str(Tensor self, str p) -> Tensor",
       .doc =
           "The same with the Frobenius (\"fro\") or nuclear (\"nuc\") norm.\n\n>>> wisp.linalg.cond(wisp.eye(2), 'nuc')\ntensor(4.)",
       .body = named_cond_body,
       .onnx = "+ a loop",
       .traits = trait::out,
       .homes = home::linalg});
}

}  // namespace wisp::ops
