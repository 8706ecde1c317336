// Sums of products named by subscripts, and the products that reduce to them.
#include <algorithm>
#include <array>
#include <string>

#include "ops/families.h"
#include "ops/ops.h"

namespace wisp::ops {

namespace {

// --- einsum: the equation

constexpr int num_letters = 52;
constexpr int ellipsis = num_letters;
using Labels = std::vector<int>;

// Capitals come first: that is the order of an output that is not written down.
int letter_number(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  return c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1;
}
char letter(int label) { return static_cast<char>(label < 26 ? 'A' + label : 'a' + label - 26); }

// The subscripts of one operand or of the output; `at` is where they start in the equation.
Labels parse_labels(std::string_view text, size_t at, const std::string& whose) {
  Labels labels;
  bool has_ellipsis = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    if (text[i] == '.') {
      WISP_CHECK(!has_ellipsis && text.substr(i, 3) == "...", "einsum(): found '.' for ", whose,
                 has_ellipsis ? " for which an ellipsis was already found"
                              : " that is not part of any ellipsis");
      has_ellipsis = true;
      labels.push_back(ellipsis);
      i += 2;
      continue;
    }
    const int label = letter_number(text[i]);
    WISP_CHECK(label >= 0, "einsum(): invalid subscript given at index ", at + i,
               " in the equation string, subscripts must be in [a-zA-Z]");
    labels.push_back(label);
  }
  return labels;
}

struct Equation {
  std::vector<Labels> operands;
  Labels output;
  bool explicit_output = false;
};

Equation parse_equation(std::string_view text) {
  Equation equation;
  const size_t arrow = text.find("->");
  const std::string_view inputs = text.substr(0, arrow);
  size_t begin = 0;
  while (begin <= inputs.size()) {
    const size_t end = std::min(inputs.find(',', begin), inputs.size());
    const std::string whose = "operand " + std::to_string(equation.operands.size());
    equation.operands.push_back(parse_labels(inputs.substr(begin, end - begin), begin, whose));
    begin = end + 1;
  }
  if (arrow == std::string_view::npos) return equation;
  equation.explicit_output = true;
  equation.output = parse_labels(text.substr(arrow + 2), arrow + 2, "the output");
  return equation;
}

int count_of(const Labels& labels, int label) {
  return static_cast<int>(std::count(labels.begin(), labels.end(), label));
}

int occurrences(const Equation& equation, int label) {
  int n = 0;
  for (const Labels& labels : equation.operands) n += count_of(labels, label);
  return n;
}

// Without an output, it is the ellipsis and the subscripts that occur once.
void complete_output(Equation& equation) {
  if (equation.explicit_output) {
    for (int label : equation.output) {
      if (label == ellipsis) continue;
      WISP_CHECK(count_of(equation.output, label) == 1, "einsum(): output subscript ",
                 letter(label), " appears more than once in the output");
      WISP_CHECK(occurrences(equation, label) > 0, "einsum(): output subscript ", letter(label),
                 " does not appear in the equation for any input operand");
    }
    return;
  }
  if (occurrences(equation, ellipsis) > 0) equation.output.push_back(ellipsis);
  for (int label = 0; label < num_letters; ++label) {
    if (occurrences(equation, label) == 1) equation.output.push_back(label);
  }
}

// The number of dimensions the ellipsis stands for.
int64_t ellipsis_dims(const Equation& equation, List operands) {
  int64_t most = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Labels& labels = equation.operands[i];
    const int64_t written = static_cast<int64_t>(labels.size()), dims = operands[i].ndim();
    const bool open = count_of(labels, ellipsis) > 0;
    WISP_CHECK(open ? written - 1 <= dims : written == dims,
               "einsum(): the number of subscripts in the equation (", open ? written - 1 : written,
               open ? ") is more than the number of dimensions ("
                    : ") does not match the number of dimensions (",
               dims, ") for operand ", i, open ? "" : " and no ellipsis was given");
    if (open) most = std::max(most, dims - (written - 1));
  }
  return most;
}

// --- einsum: the operands in one order of dimensions

// Where each label's dimension goes: those of the output first, then those that are summed.
struct Order {
  std::array<int64_t, num_letters + 1> position;  // -1: does not occur
  int64_t outputs = 0, dims = 0, ellipsis_size = 0;

  Order(const Equation& equation, int64_t ellipsis_size_) : ellipsis_size(ellipsis_size_) {
    position.fill(-1);
    for (int label : equation.output) place(label);
    outputs = dims;
    for (int label = 0; label <= ellipsis; ++label) {
      if (occurrences(equation, label) > 0) place(label);
    }
  }

 private:
  void place(int label) {
    if (position[label] >= 0) return;
    position[label] = dims;
    dims += label == ellipsis ? ellipsis_size : 1;
  }
};

// Makes dimensions `first` and `second` one, at the place of the first.
Tensor join_dims(const Tensor& t, int64_t first, int64_t second) {
  const Tensor joined = diagonal(t, 0, first, second);
  Dims order;
  for (int64_t i = 0; i + 1 < joined.ndim(); ++i) order.push_back(i);
  order.insert(static_cast<size_t>(first), joined.ndim() - 1);
  return permute(joined, order);
}

// A subscript that is repeated names a diagonal.
Tensor take_diagonals(Tensor t, Labels& labels, size_t number, int64_t own_ellipsis) {
  int64_t dim = 0;
  std::array<int64_t, num_letters> first;
  first.fill(-1);
  for (size_t i = 0; i < labels.size();) {
    const int label = labels[i];
    if (label == ellipsis) {
      dim += own_ellipsis;
    } else if (first[label] < 0) {
      first[label] = dim++;
    } else {
      WISP_CHECK(t->size(first[label]) == t->size(dim), "einsum(): subscript ", letter(label),
                 " is repeated for operand ", number, " but the sizes don't match, ", t->size(dim),
                 " != ", t->size(first[label]));
      t = join_dims(t, first[label], dim);
      labels.erase(labels.begin() + static_cast<int64_t>(i));
      continue;
    }
    ++i;
  }
  return t;
}

// The operand with one dimension for each of the order's, of size 1 where it has none.
Tensor arrange(const Tensor& operand, Labels labels, size_t number, const Order& order) {
  const int64_t letters = static_cast<int64_t>(labels.size()) - count_of(labels, ellipsis);
  const int64_t own_ellipsis = operand.ndim() - letters;
  Tensor t = take_diagonals(operand, labels, number, own_ellipsis);
  Dims from(static_cast<size_t>(order.dims), -1);
  int64_t dim = 0;
  for (int label : labels) {
    if (label != ellipsis) {
      from[static_cast<size_t>(order.position[label])] = dim++;
      continue;
    }
    const int64_t start = order.position[ellipsis] + order.ellipsis_size - own_ellipsis;
    for (int64_t i = 0; i < own_ellipsis; ++i) from[static_cast<size_t>(start + i)] = dim++;
  }
  for (int64_t& source : from) {
    if (source >= 0) continue;
    source = t.ndim();
    t = unsqueeze(t, -1);
  }
  return permute(t, from);
}

void check_sizes(const Equation& equation, List operands) {
  std::array<int64_t, num_letters> sizes;
  sizes.fill(1);
  for (size_t i = 0; i < operands.size(); ++i) {
    int64_t dim = 0;
    for (int label : equation.operands[i]) {
      if (label == ellipsis) {
        dim += operands[i].ndim() - (static_cast<int64_t>(equation.operands[i].size()) - 1);
        continue;
      }
      const int64_t size = operands[i]->size(dim++);
      WISP_CHECK(size == 1 || sizes[label] == 1 || size == sizes[label], "einsum(): subscript ",
                 letter(label), " has size ", size, " for operand ", i,
                 " which does not broadcast with previously seen size ", sizes[label]);
      if (size != 1) sizes[label] = size;
    }
  }
}

// --- einsum: contraction

int64_t numel_of(const Tensor& t, const Dims& dims) {
  int64_t n = 1;
  for (int64_t dim : dims) n *= t->size(dim);
  return n;
}

void append(Dims& dims, const Dims& more) {
  for (int64_t dim : more) dims.push_back(dim);
}

// How a product of two operands falls into dimensions of both that stay (batch) or are summed, and
// those of one of them alone.
struct Split {
  Dims batch, left, right, summed;
};

// Sums out what only one of the operands has.
Split split_dims(Tensor& left, Tensor& right, uint64_t summed) {
  Split split;
  Dims left_only, right_only;
  for (int64_t dim = 0; dim < left.ndim(); ++dim) {
    const bool in_left = left->size(dim) != 1, in_right = right->size(dim) != 1,
               sum = (summed >> dim) & 1;
    if (in_left && in_right) {
      WISP_CHECK(left->size(dim) == right->size(dim),
                 "einsum(): operands could not be broadcast together: sizes ", left->size(dim),
                 " and ", right->size(dim), " of an ellipsis");
      (sum ? split.summed : split.batch).push_back(dim);
    } else if (in_left) {
      (sum ? left_only : split.left).push_back(dim);
    } else {
      (sum && in_right ? right_only : split.right).push_back(dim);
    }
  }
  if (!left_only.empty()) left = ops::sum(left, left_only, true);
  if (!right_only.empty()) right = ops::sum(right, right_only, true);
  append(split.right, left_only);  // now of size 1 on both sides
  append(split.right, right_only);
  return split;
}

// Whether the right operand has the first dimension that is not of both: what is then multiplied
// the other way round lies in memory in the order of its dimensions.
bool begins_right(const Split& split, const Tensor& right) {
  const auto first =
      std::ranges::find_if(split.right, [&](int64_t dim) { return right->size(dim) != 1; });
  return first != split.right.end() && !split.left.empty() && *first < split.left[0];
}

// sum(left * right) over the dimensions in `summed`, which stay as dimensions of size 1.
Tensor multiply_and_sum(Tensor left, Tensor right, uint64_t summed) {
  const Split split = split_dims(left, right, summed);
  if (split.summed.empty()) return mul(left, right);
  if (begins_right(split, right)) return multiply_and_sum(right, left, summed);
  Dims left_order = split.batch, right_order = split.batch, out_order = split.batch, out_sizes;
  append(left_order, split.left);
  append(left_order, split.summed);
  append(left_order, split.right);
  append(right_order, split.summed);
  append(right_order, split.right);
  append(right_order, split.left);
  append(out_order, split.left);
  append(out_order, split.summed);
  append(out_order, split.right);
  const int64_t batch = numel_of(left, split.batch), inner = numel_of(left, split.summed);
  const int64_t left_sizes[] = {batch, numel_of(left, split.left), inner};
  const int64_t right_sizes[] = {batch, inner, numel_of(right, split.right)};
  for (int64_t dim : split.batch) out_sizes.push_back(left->size(dim));
  for (int64_t dim : split.left) out_sizes.push_back(left->size(dim));
  for (size_t i = 0; i < split.summed.size(); ++i) out_sizes.push_back(1);
  for (int64_t dim : split.right) out_sizes.push_back(right->size(dim));
  const Tensor product = bmm(reshape(permute(left, left_order), left_sizes),
                             reshape(permute(right, right_order), right_sizes));
  Dims back(out_order.size(), 0);
  for (size_t i = 0; i < out_order.size(); ++i)
    back[static_cast<size_t>(out_order[i])] = static_cast<int64_t>(i);
  return permute(view(product, out_sizes), back);
}

Tensor contract(const std::vector<Tensor>& operands, const Order& order) {
  Tensor result = operands[0];
  for (size_t i = 1; i < operands.size(); ++i) {
    uint64_t summed = 0;
    for (int64_t dim = order.outputs; dim < order.dims; ++dim) {
      const bool needed =
          std::any_of(operands.begin() + static_cast<int64_t>(i) + 1, operands.end(),
                      [&](const Tensor& t) { return t->size(dim) != 1; });
      if (!needed) summed |= uint64_t(1) << dim;
    }
    result = multiply_and_sum(result, operands[i], summed);
  }
  Dims rest;
  for (int64_t dim = order.outputs; dim < order.dims; ++dim) rest.push_back(dim);
  if (rest.empty()) return result;
  if (operands.size() == 1) return sum(result, rest);
  return invoke<"squeeze.dims">(result, IntSpan(rest));
}

void einsum_body(const Args& args, TensorList& outs) {
  const List operands = args.tensors(1);
  WISP_CHECK(!operands.empty(), "einsum(): must provide at least one operand");
  Equation equation = parse_equation(args.string(0));
  WISP_CHECK(equation.operands.size() <= operands.size(),
             "einsum(): fewer operands were provided than specified in the equation");
  WISP_CHECK(equation.operands.size() >= operands.size(),
             "einsum(): more operands were provided than specified in the equation");
  complete_output(equation);
  const Order order(equation, ellipsis_dims(equation, operands));
  WISP_CHECK(order.dims < max_ndim, "einsum(): too many subscripts: ", order.dims,
             " dimensions, at most ", max_ndim - 1);
  std::vector<Tensor> arranged;
  for (size_t i = 0; i < operands.size(); ++i)
    arranged.push_back(arrange(operands[i], equation.operands[i], i, order));
  check_sizes(equation, operands);
  outs.push(contract(arranged, order));
}

// --- tensordot

Dims other_dims(int64_t ndim, const Dims& chosen) {
  Dims rest;
  for (int64_t dim = 0; dim < ndim; ++dim) {
    if (std::find(chosen.begin(), chosen.end(), dim) == chosen.end()) rest.push_back(dim);
  }
  return rest;
}

void tensordot_body(const Args& args, TensorList& outs) {
  Tensor a = args.tensor(0), b = args.tensor(1);
  WISP_CHECK(args.integers(2).size() == args.integers(3).size(),
             "tensordot(): both dimension lists should have same length");
  WISP_CHECK(a.dtype() == b.dtype(), "tensordot(): both inputs should have same dtype, got ",
             name(a.dtype()), " and ", name(b.dtype()));
  const Dims a_dims = wrap_dims(args.integers(2), a.ndim(), "tensordot"),
             b_dims = wrap_dims(args.integers(3), b.ndim(), "tensordot");
  for (size_t i = 0; i < a_dims.size(); ++i) {
    const int64_t left = a->size(a_dims[i]), right = b->size(b_dims[i]),
                  where[] = {left == 1 ? b_dims[i] : a_dims[i]};
    WISP_CHECK(left == right || left == 1 || right == 1,
               "tensordot(): contracted dimensions need to match, but first has size ", left,
               " in dim ", a_dims[i], " and second has size ", right, " in dim ", b_dims[i]);
    // A dimension of size 1 meets each element of the other.
    if (left == 1 && right != 1) b = invoke<"sum.dim">(b, IntSpan(where), true, b.dtype());
    if (right == 1 && left != 1) a = invoke<"sum.dim">(a, IntSpan(where), true, a.dtype());
  }
  const Dims a_rest = other_dims(a.ndim(), a_dims), b_rest = other_dims(b.ndim(), b_dims);
  Dims a_order = a_rest, b_order = b_dims, sizes;
  append(a_order, a_dims);
  append(b_order, b_rest);
  for (int64_t dim : a_rest) sizes.push_back(a->size(dim));
  for (int64_t dim : b_rest) sizes.push_back(b->size(dim));
  const int64_t inner = numel_of(a, a_dims);
  const int64_t left[] = {numel_of(a, a_rest), inner}, right[] = {inner, numel_of(b, b_rest)};
  outs.push(
      reshape(mm(reshape(permute(a, a_order), left), reshape(permute(b, b_order), right)), sizes));
}

// --- bilinear, kron

// out[.., o] = sum of x1[.., i] * weight[o, i, j] * x2[.., j], plus the bias.
void bilinear_body(const Args& args, TensorList& outs) {
  const Tensor &x1 = args.tensor(0), &x2 = args.tensor(1), &weight = args.tensor(2);
  WISP_CHECK(weight.ndim() == 3 && x1.ndim() > 0 && x1.ndim() == x2.ndim(),
             "bilinear(): expected inputs of equal dimensions and a 3D weight, got ", x1.ndim(),
             "D, ", x2.ndim(), "D and ", weight.ndim(), "D");
  const size_t batch_dims = static_cast<size_t>(x1.ndim() - 1);
  WISP_CHECK(same(x1.sizes().first(batch_dims), x2.sizes().first(batch_dims)),
             "bilinear(): input batch dimensions do not match: got ", x1.sizes(), " and ",
             x2.sizes());
  const int64_t out = weight->size(0), in1 = weight->size(1), in2 = weight->size(2);
  WISP_CHECK(x1.size(-1) == in1 && x2.size(-1) == in2,
             "bilinear(): input sizes do not match the weight: got ", x1.size(-1), " and ",
             x2.size(-1), " but expected ", in1, " and ", in2);
  int64_t count = 1;
  for (int64_t size : x1.sizes().first(batch_dims)) count *= size;
  const int64_t order[] = {1, 0, 2}, flat1[] = {count, in1}, flat2[] = {count, in2, 1},
                wide[] = {in1, out * in2}, stack[] = {count, out, in2};
  const Tensor halfway =
      reshape(mm(reshape(x1, flat1), reshape(permute(weight, order), wide)), stack);
  Dims sizes(x1.sizes().first(batch_dims));
  sizes.push_back(out);
  const Tensor result = reshape(bmm(halfway, reshape(x2, flat2)), sizes);
  outs.push(args.has(3) ? add(result, args.tensor(3)) : result);
}

// Every element of `self` times all of `other`: dimensions of both alternate, then join.
void kron_body(const Args& args, TensorList& outs) {
  const Tensor &a = args.tensor(0), &b = args.tensor(1);
  const int64_t n = std::max(a.ndim(), b.ndim());
  Dims left, right, sizes;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t from_a = i - (n - a.ndim()), from_b = i - (n - b.ndim());
    const int64_t a_size = from_a >= 0 ? a->size(from_a) : 1,
                  b_size = from_b >= 0 ? b->size(from_b) : 1;
    left.push_back(a_size);
    left.push_back(1);
    right.push_back(1);
    right.push_back(b_size);
    sizes.push_back(a_size * b_size);
  }
  outs.push(reshape(mul(reshape(a, left), reshape(b, right)), sizes));
}

// --- products of several matrices

// Where to split the product of matrices i..j for the fewest multiplications.
class Chain {
 public:
  // Matrix i is sizes[i] x sizes[i + 1].
  explicit Chain(const std::vector<int64_t>& sizes)
      : n_(sizes.size() - 1), cost_(n_ * n_), split_(n_ * n_) {
    for (size_t length = 1; length < n_; ++length) {
      for (size_t i = 0; i + length < n_; ++i) {
        const size_t j = i + length;
        double best = -1;
        for (size_t k = i; k < j; ++k) {
          const double step = static_cast<double>(sizes[i]) * static_cast<double>(sizes[k + 1]) *
                              static_cast<double>(sizes[j + 1]);
          const double cost = cost_[i * n_ + k] + cost_[(k + 1) * n_ + j] + step;
          if (best >= 0 && cost >= best) continue;
          best = cost;
          split_[i * n_ + j] = k;
        }
        cost_[i * n_ + j] = best;
      }
    }
  }
  Tensor multiply(List matrices, size_t i, size_t j) const {
    if (i == j) return matrices[i];
    const size_t k = split_[i * n_ + j];
    return mm(multiply(matrices, i, k), multiply(matrices, k + 1, j));
  }

 private:
  size_t n_;
  std::vector<double> cost_;
  std::vector<size_t> split_;
};

Tensor multiply_all(const char* op, List matrices) {
  std::vector<int64_t> sizes{matrices[0]->size(0)};
  for (size_t i = 0; i < matrices.size(); ++i) {
    WISP_CHECK(matrices[i].ndim() == 2, op, "(): tensor ", i, " must be 2D but got ",
               matrices[i].ndim(), "D");
    WISP_CHECK(sizes.back() == matrices[i]->size(0), op, "(): tensors ", i - 1, " and ", i,
               " with shapes ", matrices[i - (i > 0)].sizes(), " and ", matrices[i].sizes(),
               " cannot be multiplied");
    sizes.push_back(matrices[i]->size(1));
  }
  return Chain(sizes).multiply(matrices, 0, matrices.size() - 1);
}

void chain_matmul_body(const Args& args, TensorList& outs) {
  const List matrices = args.tensors(0);
  WISP_CHECK(!matrices.empty(), "chain_matmul(): Expected one or more matrices");
  for (const Tensor& t : matrices) {
    WISP_CHECK(t.ndim() == 2, "chain_matmul(): Tensor dimension is ", t.ndim(),
               ", expected 2 instead.");
  }
  outs.push(multiply_all("chain_matmul", matrices));
}

// The first and the last may be vectors: a row and a column.
void multi_dot_body(const Args& args, TensorList& outs) {
  const List given = args.tensors(0);
  WISP_CHECK(given.size() >= 2, "multi_dot(): expected at least 2 tensors but got ", given.size());
  Tensors matrices(given.begin(), given.end());
  const bool row = given.front().ndim() == 1, column = given.back().ndim() == 1;
  WISP_CHECK(row || given.front().ndim() == 2,
             "multi_dot(): the first tensor must be 1D or 2D but got ", given.front().ndim(), "D");
  WISP_CHECK(column || given.back().ndim() == 2,
             "multi_dot(): the last tensor must be 1D or 2D but got ", given.back().ndim(), "D");
  if (row) matrices.front() = unsqueeze(matrices.front(), 0);
  if (column) matrices.back() = unsqueeze(matrices.back(), 1);
  const Tensor result = multiply_all("multi_dot", matrices);
  Dims sizes;
  if (!row) sizes.push_back(result->size(0));
  if (!column) sizes.push_back(result->size(1));
  outs.push(row || column ? view(result, sizes) : result);
}

}  // namespace

void register_einsum(Registry& r) {
  r.add(
      {.schema = "einsum(str equation, Tensor... operands) -> Tensor",
       .doc =
           "Products of the operands summed over all subscripts that the output does not name.\n\n>>> wisp.einsum('ij,j->i', wisp.ones(2, 3), wisp.tensor([1., 2., 3.]))\ntensor([6., 6.])",
       .body = einsum_body,
       .onnx = "Einsum",
       .homes = home::function});
  r.add(
      {.schema =
           "tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor",
       .doc =
           "Products summed over pairs of dimensions; or, given one number n, over the last n of `a` and the first n of `b`.\n\n>>> wisp.tensordot(wisp.ones(2, 3), wisp.ones(3, 2), dims=1)\ntensor([[3., 3.],\n        [3., 3.]])",
       .body = tensordot_body,
       .onnx = "+ MatMul of reshaped operands",
       .traits = trait::out,
       .homes = home::function});
  r.add(
      {.schema =
           "bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor",
       .doc =
           "`input1 @ weight[o] @ input2` for each output o, plus the bias.\n\n>>> wisp.bilinear(wisp.ones(1, 2), wisp.ones(1, 3), wisp.ones(1, 2, 3))\ntensor([[6.]])",
       .body = bilinear_body,
       .onnx = "+ MatMul of reshaped operands",
       .homes = home::function | home::functional});
  r.add(
      {.schema = "kron(Tensor self, Tensor other) -> Tensor",
       .doc =
           "Kronecker's product: blocks of `other`, one for each element of `self` and multiplied by it.\n\n>>> wisp.kron(wisp.tensor([1, 10]), wisp.tensor([1, 2]))\ntensor([ 1,  2, 10, 20])",
       .body = kron_body,
       .onnx = "+ Reshape of Mul",
       .traits = trait::out});
  r.add(
      {.schema = "chain_matmul(Tensor... matrices) -> Tensor",
       .doc =
           "The product of several matrices, multiplied in the order that takes the fewest operations.\n\n>>> wisp.chain_matmul(wisp.ones(1, 2), wisp.ones(2, 3), wisp.ones(3, 1))\ntensor([[6.]])",
       .body = chain_matmul_body,
       .onnx = "MatMul",
       .traits = trait::out,
       .homes = home::function});
  r.add(
      {.schema = "multi_dot(Tensor[] tensors) -> Tensor",
       .doc =
           "The product of several matrices, the first and last of which may be vectors, in the order that takes the fewest operations.\n\n>>> wisp.linalg.multi_dot([wisp.ones(2), wisp.ones(2, 3), wisp.ones(3)])\ntensor(6.)",
       .body = multi_dot_body,
       .onnx = "MatMul",
       .traits = trait::out,
       .homes = home::linalg});
}

}  // namespace wisp::ops
