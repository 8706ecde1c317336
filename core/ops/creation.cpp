// Tensors from nothing: constants, ranges, and their _like and new_ forms.
#include <cmath>

#include "base/element.h"
#include "base/parallel.h"
#include "cpu/copy.h"
#include "cpu/grain.h"
#include "cpu/range.h"
#include "ops/families.h"
#include "ops/new_sizes.h"
#include "ops/number.h"
#include "ops/ops.h"

namespace wisp::ops {

namespace {

void fill_all(const Tensor& out, Scalar value) {
  cpu::fill(out.sizes(), {out->bytes(), out.strides(), out.dtype()},
            Element(value, out.dtype()).bytes);
}

// zeros(size, *, dtype, device)
void infer_size(Infer& infer) {
  check_new_sizes(infer, infer.integers(0));
  infer.push(infer.integers(0), infer.dtype_or_none(1).value_or(default_dtype()), infer.device(2));
}

// full(size, fill_value, *, dtype, device)
void infer_full(Infer& infer) {
  check_new_sizes(infer, infer.integers(0));
  infer.push(infer.integers(0), infer.dtype_or_none(2).value_or(infer.scalar(1).dtype()),
             infer.device(3));
  check_fits(infer.name(), infer.scalar(1), infer.out().dtype);
}

// like(self, [fill_value,] *, dtype, device, memory_format)
template <int first>
void infer_like(Infer& infer) {
  const Tensor& self = infer.tensor(0);
  infer.push(self.sizes(), infer.dtype_or_none(first).value_or(self.dtype()),
             infer.device(first + 1, self.device()));
  const MemoryFormat format =
      infer.has(first + 2) ? infer[first + 2].as.memory_format : MemoryFormat::preserve;
  if (format != MemoryFormat::preserve) {
    infer.out().strides = strides_for(format, self.sizes());
  } else if (!self.is_contiguous()) {
    infer.out().strides = preserved_strides(self.sizes(), self.strides());
  }
  if (first == 2) check_fits(infer.name(), infer.scalar(1), infer.out().dtype);
}

// new(self, size, [fill_value,] *, dtype, device)
template <int first>
void infer_new(Infer& infer) {
  check_new_sizes(infer, infer.integers(1));
  infer.push(infer.integers(1), infer.dtype_or_none(first).value_or(infer.tensor(0).dtype()),
             infer.device(first + 1, infer.tensor(0).device()));
  if (first == 3) check_fits(infer.name(), infer.scalar(2), infer.out().dtype);
}

void leave_uninitialised(const Call&) {}
template <int value>
void fill_value(const Call& call) {
  fill_all(call.out(), value);
}
template <int argument>
void fill_argument(const Call& call) {
  fill_all(call.out(), call.scalar(argument));
}

DType range_dtype(const Args& args, std::initializer_list<int> numbers, int dtype) {
  if (args.has(dtype)) return args.dtype(dtype);
  for (int i : numbers) {
    WISP_CHECK(!args.scalar(i).is_complex(), args.name(), "(): complex numbers are not ordered");
    if (!args.scalar(i).is_integer()) return default_dtype();
  }
  return DType::int64;
}

// Number of steps from start to end, the end excluded.
int64_t count_steps(const Args& args, Scalar start, Scalar end, Scalar step) {
  WISP_CHECK(!step.equals(0), args.name(), "(): step must be nonzero");
  WISP_CHECK(std::isfinite(start.real()) && std::isfinite(end.real()), args.name(),
             "(): unsupported range: ", start.real(), " -> ", end.real());
  const double span = end.real() - start.real();
  WISP_CHECK((step.real() > 0) == (span >= 0) || span == 0, args.name(),
             "(): upper bound and lower bound inconsistent with step sign");
  double count = std::ceil(span / step.real());
  if (start.is_integer() && end.is_integer() && step.is_integer()) {
    const __int128 width = static_cast<__int128>(end.integer()) - start.integer();
    const __int128 by = step.integer();
    count = static_cast<double>((width + by - (by > 0 ? 1 : -1)) / by);
  }
  WISP_CHECK(count >= 0 && count < 4e18, args.name(), "(): invalid size, possible overflow");
  return static_cast<int64_t>(count);
}

// In a range of integers, bounds and step are integers too: the fractions of those given do not
// count.
Scalar as_bound(Scalar value, DType dtype) {
  const bool whole = is_integral(dtype) && std::abs(value.real()) < 9.2e18;
  return whole ? Scalar(value.integer()) : value;
}

void infer_arange_end(Infer& infer) {
  const DType dtype = range_dtype(infer, {0}, 1);
  infer.push({count_steps(infer, 0, as_bound(infer.scalar(0), dtype), 1)}, dtype, infer.device(2));
}

void infer_arange(Infer& infer) {
  const DType dtype = range_dtype(infer, {0, 1, 2}, 3);
  auto bound = [&](int i) { return as_bound(infer.scalar(i), dtype); };
  infer.push({count_steps(infer, bound(0), bound(1), bound(2))}, dtype, infer.device(4));
}

void write_range(const Tensor& out, Scalar start, Scalar step) {
  visit<dtypes::real>(out.dtype(), "arange", [&]<class T>() {
    T* data = out.data<T>();
    const int64_t grain = cpu::even_grain(out.numel(), 1 << 15);
    if (start.is_integer() && step.is_integer()) {
      const auto first = static_cast<uint64_t>(start.integer());
      const auto each = static_cast<uint64_t>(step.integer());
      parallel_for(out.numel(), grain, [=](int64_t begin, int64_t end) {
        uint64_t value = first + static_cast<uint64_t>(begin) * each;
        for (int64_t i = begin; i < end; ++i, value += each)
          data[i] = convert<T>(static_cast<int64_t>(value));
      });
    } else {
      cpu::write_range(out.dtype(), out->bytes(), out.numel(), start.real(), step.real());
    }
  });
}

// For infer, which knows the dtype that is asked for, and for the kernel, which knows that of
// `out=`.
template <class Context>
void check_holds_ends(const Context& context, DType dtype) {
  const bool complex_ends = context.scalar(0).is_complex() || context.scalar(1).is_complex();
  WISP_CHECK(!complex_ends || is_complex(dtype), context.name(), "(): ", name(dtype),
             " cannot hold complex numbers");
}

// linspace(start, end, steps, ...): filled from both ends, so that both are exact.
template <DTypeSet Set, class F>
void write_spaced(const Call& call, F value_at) {
  const Tensor& out = call.out();
  check_holds_ends(call, out.dtype());
  const int64_t steps = out.numel();
  visit<Set>(out.dtype(), call.name(), [&]<class T>() {
    using Wide = std::conditional_t<detail::is_complex_type<T>, std::complex<double>, double>;
    Wide start, end;
    if constexpr (detail::is_complex_type<T>) {
      start = call.scalar(0).complex();
      end = call.scalar(1).complex();
    } else {
      start = call.scalar(0).real();
      end = call.scalar(1).real();
    }
    const Wide step = steps > 1 ? (end - start) / static_cast<double>(steps - 1) : Wide(0);
    T* data = out.data<T>();
    auto write = [data, value_at](int64_t i, Wide x) {
      if constexpr (detail::is_complex_type<T>) {
        data[i] = T(Complex<double>::from(value_at(x)));
      } else {
        data[i] = convert<T>(value_at(x));
      }
    };
    const int64_t half = steps == 1 ? 1 : steps / 2;
    parallel_for(steps, 1 << 13, [=](int64_t first, int64_t last) {
      int64_t i = first;
      for (; i < std::min(last, half); ++i) write(i, start + step * static_cast<double>(i));
      for (; i < last; ++i) write(i, end - step * static_cast<double>(steps - 1 - i));
    });
  });
}

void linspace_kernel(const Call& call) {
  const Tensor& out = call.out();
  if (!contains(dtypes::real, out.dtype()))
    return write_spaced<dtypes::boolean | dtypes::complex>(call, [](auto x) { return x; });
  check_holds_ends(call, out.dtype());
  cpu::write_spaced(out.dtype(), out->bytes(), out.numel(), call.scalar(0).real(),
                    call.scalar(1).real());
}

template <int dtype>
void infer_spaced(Infer& infer) {
  const int64_t steps = infer.integer(2);
  WISP_CHECK(steps >= 0, infer.name(), "(): number of steps must be non-negative, got ", steps);
  const bool complex_ends = infer.scalar(0).is_complex() || infer.scalar(1).is_complex();
  const DType fitting = complex_ends ? default_complex_dtype() : default_dtype();
  const DType wanted = infer.dtype_or_none(dtype).value_or(fitting);
  check_holds_ends(infer, wanted);
  infer.push({steps}, wanted, infer.device(dtype + 1));
}

void infer_eye(Infer& infer) {
  const int64_t rows = infer.integer(0), cols = infer.has(1) ? infer.integer(1) : rows;
  WISP_CHECK(rows >= 0 && cols >= 0, "eye(): n and m must not be negative, got ", rows, " and ",
             cols);
  infer.push({rows, cols}, infer.dtype_or_none(2).value_or(default_dtype()), infer.device(3));
}

void eye_kernel(const Call& call) {
  const Tensor& out = call.out();
  fill_all(out, 0);
  const Dims length{std::min(out.size(0), out.size(1))}, step{out.size(1) + 1};
  Tensor diagonal = out.alias(length, step, out->offset());
  fill_all(diagonal, 1);
}

void infer_empty_strided(Infer& infer) {
  check_new_sizes(infer, infer.integers(0));
  WISP_CHECK(infer.integers(0).size() == infer.integers(1).size(), "empty_strided(): sizes ",
             infer.integers(0), " and strides ", infer.integers(1), " differ in length");
  for (int64_t stride : infer.integers(1)) {
    WISP_CHECK(stride >= 0, "empty_strided(): negative strides are not supported, got ",
               infer.integers(1));
  }
  infer.push(infer.integers(0), infer.dtype_or_none(2).value_or(default_dtype()), infer.device(3));
  infer.out().strides = Dims(infer.integers(1));
}

// empty_permuted(size, physical_layout, *, dtype, device): dense, the dimensions in that order
void infer_empty_permuted(Infer& infer) {
  const IntSpan sizes = infer.integers(0), order = infer.integers(1);
  check_new_sizes(infer, sizes);
  WISP_CHECK(order.size() == sizes.size(), "empty_permuted(): number of dimensions in size ", sizes,
             " and in physical_layout ", order, " do not match");
  Dims strides(sizes.size(), 0);
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const int64_t dim = order[i];
    WISP_CHECK(dim >= 0 && dim < static_cast<int64_t>(sizes.size()),
               "empty_permuted(): Dimension out of range (expected to be between 0 and ",
               sizes.size() - 1, ", but got ", dim, " at index ", i, ")");
    WISP_CHECK(strides[dim] == 0, "empty_permuted(): Duplicate dim not allowed");
    strides[dim] = stride;
    stride *= std::max<int64_t>(sizes[dim], 1);
  }
  infer.push(sizes, infer.dtype_or_none(2).value_or(default_dtype()), infer.device(3));
  infer.out().strides = strides;
}

// new_empty_strided(self, size, stride, *, dtype, device)
void new_empty_strided_body(const Args& args, TensorList& outs) {
  const DType dtype = args.dtype_or_none(3).value_or(args.tensor(0).dtype());
  const Device device = args.device(4, args.tensor(0).device());
  outs.push(invoke<"empty_strided">(args[1], args[2], dtype, device));
}

// range(start, end, step, *, dtype, device): arange with the end included
void infer_range(Infer& infer) {
  const double start = infer.real(0), end = infer.real(1), step = infer.real(2);
  WISP_CHECK(step != 0, "range(): step must be nonzero");
  WISP_CHECK(std::isfinite(start) && std::isfinite(end), "range(): unsupported range: ", start,
             " -> ", end);
  WISP_CHECK((step > 0) == (end >= start) || start == end,
             "range(): upper bound and lower bound inconsistent with step sign");
  const double count = std::floor((end - start) / step) + 1;
  WISP_CHECK(count < 4e18, "range(): invalid size, possible overflow");
  infer.push({static_cast<int64_t>(count)}, infer.dtype_or_none(3).value_or(default_dtype()),
             infer.device(4));
}

OpDef factory(OpDef def) {
  def.jvp = Jvp::none;
  def.batch = Batch::loop;
  def.traits |= trait::factory;
  if (!(def.homes & home::method)) def.traits |= trait::out;
  return def;
}

void register_constants(Registry& r) {
  r.add(factory(
      {.schema =
           "empty(int[] size, *, Dtype? dtype=None, Device? device=None, MemoryFormat? memory_format=None) -> Tensor",
       .doc =
           "A tensor whose elements are not initialised.\n\n>>> wisp.empty(2, 3).shape\nwisp.Size([2, 3])",
       .infer =
           [](Infer& infer) {
             infer_size(infer);
             if (infer.has(3)) {
               infer.out().strides = strides_for(infer[3].as.memory_format, infer.integers(0));
             }
           },
       .kernel = leave_uninitialised,
       .onnx = "ConstantOfShape",
       .homes = home::function}));
  r.add(factory(
      {.schema = "zeros(int[] size, *, Dtype? dtype=None, Device? device=None) -> Tensor",
       .doc =
           "A tensor of zeros.\n\n>>> wisp.zeros(2, 3)\ntensor([[0., 0., 0.],\n        [0., 0., 0.]])",
       .infer = infer_size,
       .kernel = fill_value<0>,
       .onnx = "ConstantOfShape",
       .homes = home::function}));
  r.add(factory({.schema = "ones(int[] size, *, Dtype? dtype=None, Device? device=None) -> Tensor",
                 .doc = "A tensor of ones.\n\n>>> wisp.ones(2, dtype=wisp.int64)\ntensor([1, 1])",
                 .infer = infer_size,
                 .kernel = fill_value<1>,
                 .onnx = "ConstantOfShape",
                 .homes = home::function}));
  r.add(factory(
      {.schema =
           "full(int[] size, Scalar fill_value, *, Dtype? dtype=None, Device? device=None) -> Tensor",
       .doc =
           "A tensor in which every element is `fill_value`.\n\n>>> wisp.full((2,), 3.5)\ntensor([3.5000, 3.5000])",
       .infer = infer_full,
       .kernel = fill_argument<1>,
       .onnx = "ConstantOfShape",
       .homes = home::function}));
  r.add(factory(
      {.schema =
           "empty_strided(int[] size, int[] stride, *, Dtype? dtype=None, Device? device=None) -> Tensor",
       .doc =
           "An uninitialised tensor with the given strides.\n\n>>> wisp.empty_strided((2, 3), (1, 2)).stride()\n(1, 2)",
       .infer = infer_empty_strided,
       .kernel = leave_uninitialised,
       .onnx = "+ a constant",
       .homes = home::function}));
  r.add(factory(
      {.schema =
           "empty_permuted(int[] size, int[] physical_layout, *, Dtype? dtype=None, Device? device=None) -> Tensor",
       .doc =
           "An uninitialised tensor whose dimensions lie in memory in the given order, outermost first.\n\n>>> wisp.empty_permuted((2, 3), (1, 0)).stride()\n(1, 2)",
       .infer = infer_empty_permuted,
       .kernel = leave_uninitialised,
       .onnx = "+ a constant",
       .homes = home::function}));
  r.add(
      {.schema =
           "new_empty_strided(Tensor self, int[] size, int[] stride, *, Dtype? dtype=None, Device? device=None) -> Tensor",
       .doc =
           "An uninitialised tensor with the given strides and this one's dtype.\n\n>>> wisp.ones(1).new_empty_strided((2, 3), (1, 2)).stride()\n(1, 2)",
       .body = new_empty_strided_body,
       .onnx = "+ a constant",
       .traits = trait::factory,
       .homes = home::method});
  r.add(factory(
      {.schema = "eye(int n, int? m=None, *, Dtype? dtype=None, Device? device=None) -> Tensor",
       .doc =
           "A matrix with ones on the diagonal and zeros elsewhere.\n\n>>> wisp.eye(2)\ntensor([[1., 0.],\n        [0., 1.]])",
       .infer = infer_eye,
       .kernel = eye_kernel,
       .onnx = "+ a constant",
       .homes = home::function}));
}

void register_ranges(Registry& r) {
  r.add(factory(
      {.schema = "arange(Scalar end, *, Dtype? dtype=None, Device? device=None) -> Tensor",
       .doc =
           "The numbers 0, 1, ... up to `end`, which is excluded.\n\n>>> wisp.arange(4)\ntensor([0, 1, 2, 3])",
       .infer = infer_arange_end,
       .kernel = [](const Call& c) { write_range(c.out(), 0, 1); },
       .onnx = "Range",
       .homes = home::function}));
  r.add(factory(
      {.schema =
           "arange.start(Scalar start, Scalar end, Scalar step=1, *, Dtype? dtype=None, Device? device=None) -> Tensor",
       .doc =
           "The numbers from `start` up to `end`, which is excluded, in steps of `step`.\n\n>>> wisp.arange(1, 2.5, 0.5)\ntensor([1.0000, 1.5000, 2.0000])",
       .infer = infer_arange,
       .kernel =
           [](const Call& c) {
             const DType dtype = c.out().dtype();
             write_range(c.out(), as_bound(c.scalar(0), dtype), as_bound(c.scalar(2), dtype));
           },
       .onnx = "Range",
       .homes = home::function}));
  r.add(factory(
      {.schema =
           "range(Scalar start, Scalar end, Scalar step=1, *, Dtype? dtype=None, Device? device=None) -> Tensor",
       .doc =
           "The numbers from `start` to `end`, which is included if a step meets it. Use arange instead.\n\n>>> wisp.range(1, 3)\ntensor([1., 2., 3.])",
       .infer = infer_range,
       .kernel = [](const Call& c) { write_range(c.out(), c.scalar(0), c.scalar(2)); },
       .onnx = "+ a constant",
       .homes = home::function}));
  r.add(factory(
      {.schema =
           "linspace(Scalar start, Scalar end, int steps, *, Dtype? dtype=None, Device? device=None) -> Tensor",
       .doc =
           "`steps` numbers at equal distances from `start` to `end`, both included.\n\n>>> wisp.linspace(0, 1, 5)\ntensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])",
       .infer = infer_spaced<3>,
       .kernel = linspace_kernel,
       .onnx = "+ a constant",
       .homes = home::function}));
  r.add(factory(
      {.schema =
           "logspace(Scalar start, Scalar end, int steps, float base=10.0, *, Dtype? dtype=None, Device? device=None) -> Tensor",
       .doc =
           "`base` to the powers `linspace(start, end, steps)`.\n\n>>> wisp.logspace(0, 2, 3)\ntensor([  1.,  10., 100.])",
       .infer = infer_spaced<4>,
       .kernel =
           [](const Call& c) {
             const double base = c.real(3);
             write_spaced<dtypes::all>(c, [base](auto x) { return std::pow(base, x); });
           },
       .onnx = "+ a constant",
       .homes = home::function}));
}

void register_like(Registry& r) {
  r.add(factory(
      {.schema =
           "empty_like(Tensor self, *, Dtype? dtype=None, Device? device=None, MemoryFormat? memory_format=None) -> Tensor",
       .doc =
           "An uninitialised tensor of the shape, dtype and layout of `self`.\n\n>>> wisp.empty_like(wisp.ones(2, 3)).shape\nwisp.Size([2, 3])",
       .infer = infer_like<1>,
       .kernel = leave_uninitialised,
       .onnx = "ConstantOfShape",
       .homes = home::function}));
  r.add(factory(
      {.schema =
           "zeros_like(Tensor self, *, Dtype? dtype=None, Device? device=None, MemoryFormat? memory_format=None) -> Tensor",
       .doc =
           "Zeros of the shape, dtype and layout of `self`.\n\n>>> wisp.zeros_like(wisp.tensor([1, 2]))\ntensor([0, 0])",
       .infer = infer_like<1>,
       .kernel = fill_value<0>,
       .onnx = "ConstantOfShape",
       .homes = home::function}));
  r.add(factory(
      {.schema =
           "ones_like(Tensor self, *, Dtype? dtype=None, Device? device=None, MemoryFormat? memory_format=None) -> Tensor",
       .doc =
           "Ones of the shape, dtype and layout of `self`.\n\n>>> wisp.ones_like(wisp.zeros(2))\ntensor([1., 1.])",
       .infer = infer_like<1>,
       .kernel = fill_value<1>,
       .onnx = "ConstantOfShape",
       .homes = home::function}));
  r.add(factory(
      {.schema =
           "full_like(Tensor self, Scalar fill_value, *, Dtype? dtype=None, Device? device=None, MemoryFormat? memory_format=None) -> Tensor",
       .doc =
           "`fill_value` in the shape, dtype and layout of `self`.\n\n>>> wisp.full_like(wisp.zeros(2), 7)\ntensor([7., 7.])",
       .infer = infer_like<2>,
       .kernel = fill_argument<1>,
       .onnx = "ConstantOfShape",
       .homes = home::function}));
  r.add(factory(
      {.schema =
           "new_empty(Tensor self, int[] size, *, Dtype? dtype=None, Device? device=None) -> Tensor",
       .doc =
           "An uninitialised tensor of the given size and this one's dtype.\n\n>>> wisp.ones(1).new_empty(3).shape\nwisp.Size([3])",
       .infer = infer_new<2>,
       .kernel = leave_uninitialised,
       .onnx = "ConstantOfShape",
       .homes = home::method}));
  r.add(factory(
      {.schema =
           "new_zeros(Tensor self, int[] size, *, Dtype? dtype=None, Device? device=None) -> Tensor",
       .doc =
           "Zeros of the given size and this tensor's dtype.\n\n>>> wisp.tensor([1]).new_zeros(2)\ntensor([0, 0])",
       .infer = infer_new<2>,
       .kernel = fill_value<0>,
       .onnx = "ConstantOfShape",
       .homes = home::method}));
  r.add(factory(
      {.schema =
           "new_ones(Tensor self, int[] size, *, Dtype? dtype=None, Device? device=None) -> Tensor",
       .doc =
           "Ones of the given size and this tensor's dtype.\n\n>>> wisp.tensor([1]).new_ones(2)\ntensor([1, 1])",
       .infer = infer_new<2>,
       .kernel = fill_value<1>,
       .onnx = "ConstantOfShape",
       .homes = home::method}));
  r.add(factory(
      {.schema =
           "new_full(Tensor self, int[] size, Scalar fill_value, *, Dtype? dtype=None, Device? device=None) -> Tensor",
       .doc =
           "`fill_value` in the given size and this tensor's dtype.\n\n>>> wisp.ones(1).new_full((2,), 3)\ntensor([3., 3.])",
       .infer = infer_new<3>,
       .kernel = fill_argument<2>,
       .onnx = "ConstantOfShape",
       .homes = home::method}));
}

}  // namespace

void register_creation(Registry& r) {
  register_constants(r);
  register_ranges(r);
  register_like(r);
}

}  // namespace wisp::ops
