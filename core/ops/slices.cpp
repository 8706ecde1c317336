#include "ops/slices.h"

#include "base/parallel.h"
#include "cpu/copy.h"
#include "ops/chain_plan.h"
#include "ops/matrix.h"

namespace wisp::ops {

namespace {

constexpr int64_t fewest = 4;
// What is made at once stays in the second-level cache until it is read.
constexpr int64_t most_elements = 1 << 17;
// Multiplications for which another thread is worth its while.
constexpr int64_t grain = 1 << 17;

bool is_plain(const Tensor& tensor, DType dtype) {
  return tensor.dtype() == dtype && !tensor->is_meta() && !tensor->storage().is_pending() &&
         !(mode.grad && tensor.requires_grad());
}

bool are_plain(const SliceProducts& wanted) {
  const Tensor& left = wanted.left.first;
  const DType dtype = left.dtype();
  if (mode.interceptor || mode.deferrer || !contains(dtypes::real_math, dtype)) return false;
  if (left.ndim() != 2 || wanted.right.ndim() != 2) return false;
  const bool biased = wanted.bias.defined();
  if (biased && (wanted.bias.ndim() != 1 || !is_plain(wanted.bias, dtype))) return false;
  return is_plain(left, dtype) && is_plain(wanted.right, dtype);
}

// Single products of several rows bring the right matrix into this order each: then `right` is the
// copy that is returned.
Tensor with_rows(const Tensor& from, cpu::Matrix& right) {
  if (right.col == 1) return {};
  const int64_t sizes[] = {right.rows, right.cols}, strides[] = {right.row, right.col};
  Tensor packed = Tensor::adopt(TensorImpl::make_empty(sizes, from.dtype(), from.device()));
  cpu::copy(sizes, {packed->bytes(), packed.strides(), from.dtype()},
            {right.data, strides, from.dtype()});
  right = matrix_of(packed);
  return packed;
}

}  // namespace

Slices slices_of(const Tensor& stack, SlicesAt at, int64_t count) {
  const int64_t ndim = stack.ndim();
  if (at.dim < -ndim || at.dim >= ndim || mode.interceptor || mode.deferrer) return {};
  if (stack->is_meta() || (mode.grad && stack.requires_grad())) return {};
  const int64_t dim = at.dim < 0 ? at.dim + ndim : at.dim;
  const int64_t last = stack->size(dim) - std::max<int64_t>(at.length, 1);
  if (at.start < 0 || at.start > last) return {};
  Dims sizes(stack.sizes()), strides(stack.strides());
  const int64_t stride = strides[dim];
  sizes[dim] = at.length;
  if (at.length == 0) {
    sizes.erase(dim);
    strides.erase(dim);
  }
  Slices made = {stack.alias(sizes, strides, stack->offset() + at.start * stride)};
  char* const first = made.first->bytes();
  const auto bytes = at.step * stride * static_cast<int64_t>(stack->item_size());
  for (int64_t i = 0; i < count; ++i) {
    const int64_t start = at.start + i * at.step;
    if (start < 0 || start > last) break;
    made.addresses.push_back(first + i * bytes);
  }
  return made;
}

void fill_slices(const Slices& slices, std::span<const Tensor> from) {
  const Tensor& to = slices.first;
  const Dims strides = contiguous_strides(to.sizes());
  for (size_t i = 0; i < slices.addresses.size(); ++i) {
    cpu::copy(to.sizes(), {slices.addresses[i], to.strides(), to.dtype()},
              {from[i]->bytes(), strides, to.dtype()});
    to->storage().bump_version();
  }
}

Tensor slice_products(const SliceProducts& wanted) {
  if (wanted.left.addresses.empty() || !are_plain(wanted)) return {};
  const Tensor& first = wanted.left.first;
  const cpu::Matrix left = matrix_of(first), given = matrix_of(wanted.right);
  cpu::Matrix right = wanted.turned ? transposed(given) : given;
  const int64_t elements = left.rows * right.cols, work = elements * left.cols;
  const cpu::Matrix product = {nullptr, left.rows, right.cols, right.cols, 1};
  const bool by_rows = cpu::is_made_by_rows(first.dtype(), left, right, product);
  const bool fits = left.cols == right.rows && work > 0 && (work <= chain_work_limit || by_rows) &&
                    (!wanted.bias.defined() || wanted.bias.numel() == right.cols);
  if (!fits) return {};
  const int64_t count = std::min(static_cast<int64_t>(wanted.left.addresses.size()),
                                 std::max<int64_t>(most_elements / elements, 1));
  if (count < fewest) return {};
  const Tensor packed = by_rows ? with_rows(wanted.right, right) : Tensor();
  const int64_t sizes[] = {count, left.rows, right.cols};
  Tensor made = Tensor::adopt(TensorImpl::make_empty(sizes, first.dtype(), first.device()));
  if (mode.inference) made->set_inference(true);
  if (wanted.bias.defined()) copy_raw(made, wanted.bias);
  char* const out = made->bytes();
  const int64_t bytes = elements * static_cast<int64_t>(first->item_size());
  const bool adds = wanted.bias.defined();
  const int64_t at_once = std::max<int64_t>((grain / work + 3) / 4 * 4, 4);
  parallel_for(count, at_once, [&](int64_t begin, int64_t end) {
    const auto lefts = std::span(wanted.left.addresses).subspan(begin, end - begin);
    if (left.rows == 1)
      return cpu::gemm_of_single_rows(first.dtype(), lefts, left, right, out + begin * bytes, adds);
    for (int64_t i = begin; i < end; ++i) {
      cpu::Matrix one = left, to = product;
      one.data = wanted.left.addresses[static_cast<size_t>(i)];
      to.data = out + i * bytes;
      by_rows ? cpu::gemm_of_rows(first.dtype(), one, right, to, adds)
              : cpu::gemm(first.dtype(), one, right, to, 1, adds ? 1 : 0);
    }
  });
  return made;
}

}  // namespace wisp::ops
