// Finding values: binary search, membership, and the distinct elements of a tensor.
#include "cpu/search.h"

#include <algorithm>

#include "cpu/distinct.h"
#include "ops/families.h"
#include "ops/ops.h"
#include "ops/promotion.h"
#include "ops/raw.h"

namespace wisp::ops {

namespace {

// --- searchsorted(sorted_sequence, input, *, out_int32, right, side, sorter)

void check_sorter(const Args& args, const Tensor& boundaries) {
  if (!args.has(5)) return;
  const Tensor& sorter = args.tensor(5);
  WISP_CHECK(
      same(sorter.sizes(), boundaries.sizes()),
      "searchsorted(): boundary and sorter must have the same size, but got boundary tensor ",
      boundaries.sizes(), " and sorter tensor ", sorter.sizes());
  WISP_CHECK(sorter.dtype() == DType::int64,
             "searchsorted(): sorter must be a tensor of long dtype but got dtype ",
             legacy_name(sorter.dtype()));
  if (!sorter->is_readable()) return;
  const Tensor order = consecutive(sorter);
  const int64_t *begin = order.data<int64_t>(), *end = begin + order.numel();
  const int64_t length = boundaries.ndim() ? boundaries.size(-1) : 1;
  WISP_CHECK(std::all_of(begin, end, [&](int64_t i) { return i >= 0 && i < length; }),
             "searchsorted(): sorter index out of range");
}

bool search_right(const Args& args) {
  const bool right = args.boolean(3);
  if (!args.has(4)) return right;
  const std::string_view side = args.string(4);
  WISP_CHECK(side == "left" || side == "right",
             "searchsorted(): side can only be 'left' or 'right' but got ", side);
  WISP_CHECK(!right || side == "right",
             "searchsorted(): side and right can't be set to opposites, got side of left while "
             "right was True");
  return side == "right";
}

bool leading_sizes_match(const Tensor& a, const Tensor& b) {
  return a.ndim() == b.ndim() &&
         std::equal(a.sizes().begin(), a.sizes().end() - 1, b.sizes().begin());
}

void infer_searchsorted(Infer& infer) {
  const Tensor& boundaries = infer.tensor(0);
  const bool number = !infer[1].is_tensor() || infer.tensor(1).ndim() == 0;
  if (number) {
    WISP_CHECK(boundaries.ndim() == 1,
               "searchsorted(): input value can be a scalar only when boundaries tensor dimension "
               "is 1, but we got boundaries tensor dim(",
               boundaries.ndim(), ") and input value's dim(0) numel(1)");
  } else {
    const Tensor& values = infer.tensor(1);
    WISP_CHECK(boundaries.ndim() == 1 ||
                   (boundaries.ndim() > 0 && leading_sizes_match(boundaries, values)),
               "searchsorted(): boundaries tensor should be 1 dimension or the first N-1 "
               "dimensions of boundaries tensor and input value tensor must match, but we got "
               "boundaries tensor ",
               boundaries.sizes(), " and input value tensor ", values.sizes());
  }
  search_right(infer);
  check_sorter(infer, boundaries);
  const DType common = result_type(infer[0], infer[1]);
  if (!contains(dtypes::real, common)) fail_not_implemented(infer.name(), common);
  infer.push(number ? IntSpan() : infer.tensor(1).sizes(),
             infer.boolean(2) ? DType::int32 : DType::int64, boundaries.device());
}

Tensor as_tensor(const Arg& arg, DType dtype) {
  if (arg.is_tensor()) return consecutive(arg.tensor(), dtype);
  const Tensor number = Tensor::empty(IntSpan(), dtype);
  visit<dtypes::real>(dtype, "searchsorted",
                      [&]<class T>() { *number.data<T>() = arg.scalar().to<T>(); });
  return number;
}

void searchsorted_kernel(const Call& call) {
  DType common = result_type(call[0], call[1]);
  // float16 is slow to compare: it is converted once, unless that is most of the work.
  const int64_t searches = call[1].is_tensor() ? call.tensor(1).numel() : 1;
  if (contains(dtypes::half, common) && call.tensor(0).numel() <= 8 * searches)
    common = DType::float32;
  const Tensor boundaries = consecutive(call.tensor(0), common);
  const Tensor values = as_tensor(call[1], common);
  const Tensor sorter = call.has(5) ? consecutive(call.tensor(5)) : Tensor();
  const Tensor& out = call.out();
  if (out.numel() == 0) return;
  const bool shared = boundaries.ndim() == 1;
  const int64_t count = shared ? values.numel() : values.size(-1);
  const Tensor places = out.dtype() == DType::int64 && out.is_contiguous()
                            ? out
                            : Tensor::empty(out.sizes(), DType::int64);
  cpu::search_sorted({.dtype = common,
                      .boundaries = boundaries->bytes(),
                      .sorter = sorter.defined() ? sorter.data<int64_t>() : nullptr,
                      .rows = values.numel() / count,
                      .length = boundaries.size(-1),
                      .values = values->bytes(),
                      .count = count,
                      .right = search_right(call)},
                     places.data<int64_t>());
  if (!places.is_same(out)) copy_raw(out, places);
}

// bucketize(input, boundaries, *, out_int32, right)
void bucketize_body(const Args& args, TensorList& outs) {
  const Tensor& boundaries = args.tensor(1);
  WISP_CHECK(boundaries.ndim() == 1, "boundaries tensor must be 1 dimension, but got dim(",
             boundaries.ndim(), ")");
  outs.push(invoke<"searchsorted">(boundaries, args[0], args[2], args[3]));
}

// --- isin(elements, test_elements, *, assume_unique, invert)

void isin_body(const Args& args, TensorList& outs) {
  WISP_CHECK_TYPE(args[0].is_tensor() || args[1].is_tensor(),
                  "isin(): elements or test_elements must be a Tensor");
  const DType common = result_type(args[0], args[1]);
  WISP_CHECK(contains(dtypes::real, common),
             "Unsupported input type encountered for isin(): ", legacy_name(common));
  auto tensor = [&](int i) {
    return args[i].is_tensor() ? to(detach(args.tensor(i)), common)
                               : full(IntSpan(), args.scalar(i), common);
  };
  const Tensor elements = tensor(0);
  Tensor tests = flatten(tensor(1));
  if (is_floating(common)) tests = masked_select(tests, eq(tests, tests));  // nothing equals NaN
  Tensor found;
  if (tests.numel() == 0) {
    found = zeros(elements.sizes(), DType::bool_);
  } else {  // the first test element that is not less: is it equal?
    const Tensor sorted = invoke_many<"sort">(tests)[0];
    const Tensor at = clamp(invoke<"searchsorted">(sorted, elements), 0, tests.numel() - 1);
    found = eq(take(sorted, at), elements);
  }
  outs.push(args.boolean(3) ? logical_not(found) : found);
}

void register_searching(Registry& r) {
  r.add(
      {.schema =
           "searchsorted(Tensor sorted_sequence, Tensor|Scalar input, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor",
       .doc =
           "Where in a sorted row values belong: before equal elements, or after them if `right` (or `side` is "
           "'right'). Rows are those of the last dimension; a vector serves all values. `sorter` is an order that "
           "sorts the rows.\n\n"
           ">>> wisp.searchsorted(wisp.tensor([1, 3, 5]), wisp.tensor([3, 6]))\ntensor([1, 3])",
       .infer = infer_searchsorted,
       .kernel = searchsorted_kernel,
       .jvp = Jvp::none,
       .batch = Batch::loop,
       .onnx = "+ several nodes",
       .traits = trait::out,
       .homes = home::function});
  r.add(
      {.schema =
           "bucketize(Tensor|Scalar input, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
       .doc =
           "The number of the interval between boundaries that each value is in; intervals include their upper "
           "end, or their lower one if `right`.\n\n"
           ">>> wisp.bucketize(wisp.tensor([0, 3, 9]), wisp.tensor([1, 3, 5]))\ntensor([0, 1, 3])",
       .body = bucketize_body,
       .onnx = "+ several nodes",
       .traits = trait::out,
       .homes = home::function});
  r.add(
      {.schema =
           "isin(Tensor|Scalar elements, Tensor|Scalar test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor",
       .doc =
           "Which elements are among the test elements; `invert` asks which are not.\n\n"
           ">>> wisp.isin(wisp.tensor([1, 2, 3]), wisp.tensor([3, 1]))\ntensor([ True, False,  True])",
       .body = isin_body,
       .onnx = "+ several nodes",
       .traits = trait::out,
       .homes = home::function});
}

// --- Distinct elements

void infer_row_order(Infer& infer) {
  infer.push({infer.tensor(0).size(0)}, DType::int64, infer.tensor(0).device());
}

void row_order_kernel(const Call& call) {
  const Tensor rows = consecutive(call.tensor(0));
  const int64_t n = rows.size(0);
  cpu::order_of_rows(rows.dtype(), n, n ? rows.numel() / n : 0, rows->bytes(),
                     call.out().data<int64_t>());
}

// _run_starts(self): which slices along dimension 0 differ from the one before.

cpu::Neighbours neighbours(const Tensor& self) {
  const int64_t n = self.size(0);
  return {self.dtype(), n, n ? self.numel() / n : 0, self->bytes()};
}

void infer_run_starts(Infer& infer) {
  const Tensor& self = infer.tensor(0);
  WISP_CHECK(self.ndim() > 0, "unique(): expected a tensor with a dimension");
  infer.push({self.size(0)}, DType::bool_, self.device());
}

void run_starts_kernel(const Call& call) {
  cpu::mark_run_starts(neighbours(consecutive(call.tensor(0))),
                       reinterpret_cast<uint8_t*>(call.out()->bytes()));
}

// _runs(self, starts, inverse, counts, order): the parts of runs that begin where `starts` says.

void check_order(const Tensor& order, int64_t n) {
  WISP_CHECK(order.dtype() == DType::int64 && order.ndim() == 1 && order.size(0) == n,
             "unique(): expected an order of ", n, " places");
  const Tensor places = consecutive(order);
  const int64_t* begin = places.data<int64_t>();
  WISP_CHECK(std::all_of(begin, begin + n, [&](int64_t i) { return i >= 0 && i < n; }),
             "unique(): a place is out of range");
}

const uint8_t* marks(const Tensor& starts) {
  return reinterpret_cast<const uint8_t*>(starts->bytes());
}

void infer_runs(Infer& infer) {
  const Tensor &self = infer.tensor(0), &starts = infer.tensor(1);
  starts->check_readable("unique()");
  WISP_CHECK(self.ndim() > 0 && starts.dtype() == DType::bool_ && starts.ndim() == 1 &&
                 starts.size(0) == self.size(0),
             "unique(): expected to be told where runs begin");
  const int64_t n = self.size(0), runs = cpu::count_runs(marks(consecutive(starts)), n);
  if (infer.has(4)) check_order(infer.tensor(4), n);
  Dims shape(self.sizes());
  shape[0] = runs;
  infer.push(shape, self.dtype(), self.device());
  infer.push({infer.boolean(2) ? n : 0}, DType::int64, self.device());
  infer.push({infer.boolean(3) ? runs : 0}, DType::int64, self.device());
}

void runs_kernel(const Call& call) {
  const Tensor self = consecutive(call.tensor(0)), starts = consecutive(call.tensor(1));
  const Tensor order = call.has(4) ? consecutive(call.tensor(4)) : Tensor();
  cpu::split_runs(neighbours(self), marks(starts),
                  {.firsts = call.out(0)->bytes(),
                   .numbers = call.boolean(2) ? call.out(1).data<int64_t>() : nullptr,
                   .order = order.defined() ? order.data<int64_t>() : nullptr,
                   .lengths = call.boolean(3) ? call.out(2).data<int64_t>() : nullptr});
}

std::vector<Tensor> runs_of(const Tensor& t, bool inverse, bool counts, const Tensor& order) {
  return invoke_many<"_runs">(t, invoke<"_run_starts">(t), inverse, counts, order);
}

void check_unique(const Args& args) {
  const DType dtype = args.tensor(0).dtype();
  if (is_complex(dtype)) fail_not_implemented("unique", dtype);
}

// The runs of a flat tensor; numbers, if they are wanted, in the shape that it had.
void push_runs(const Tensor& flat, bool inverse, bool counts, const Tensor& order, IntSpan shape,
               TensorList& outs) {
  const std::vector<Tensor> parts = runs_of(flat, inverse, counts, order);
  outs.push(parts[0]);
  outs.push(inverse ? reshape(parts[1], shape) : parts[1]);
  outs.push(parts[2]);
}

// _unique2(self, sorted, return_inverse, return_counts)
void unique_body(const Args& args, TensorList& outs) {
  check_unique(args);
  const Tensor flat = flatten(detach(args.tensor(0)));
  const std::vector<Tensor> sorted = invoke_many<"sort">(flat);
  push_runs(sorted[0], args.boolean(2), args.boolean(3), sorted[1], args.tensor(0).sizes(), outs);
}

// The slices along a dimension as the rows of a matrix.
Tensor slices_as_rows(const Tensor& moved) {
  const int64_t n = moved.size(0);
  const Dims shape{n, n ? moved.numel() / n : 0};
  return reshape(moved, shape);
}

// unique_dim(self, dim, sorted, return_inverse, return_counts) and, without the third argument, the
// same of slices that follow each other.
void unique_slices(const Args& args, bool sort, int inverse, TensorList& outs) {
  check_unique(args);
  const Tensor& self = args.tensor(0);
  const int64_t dim = wrap_dim(args.integer(sort ? 1 : 3), self.ndim(), args.name());
  const Tensor moved = invoke<"movedim">(detach(self), dim, int64_t(0));
  WISP_CHECK(moved.numel() > 0 || moved.size(0) == 0,
             "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied");
  const Tensor order = sort ? invoke<"_row_order">(slices_as_rows(moved)) : Tensor();
  const Tensor sorted = sort ? index_select(moved, 0, order) : moved;
  const std::vector<Tensor> parts =
      runs_of(sorted, args.boolean(inverse), args.boolean(inverse + 1), order);
  outs.push(contiguous(invoke<"movedim">(parts[0], int64_t(0), dim)));
  outs.push(parts[1]);
  outs.push(parts[2]);
}

// unique_consecutive(self, return_inverse, return_counts, dim)
void unique_consecutive_body(const Args& args, TensorList& outs) {
  const Tensor& self = args.tensor(0);
  if (args.has(3) && self.ndim() > 0) return unique_slices(args, false, 1, outs);
  check_unique(args);
  push_runs(flatten(self), args.boolean(1), args.boolean(2), Tensor(), self.sizes(), outs);
}

OpDef distinct(OpDef def) {
  def.onnx = "Unique";
  def.homes = home::function;
  return def;
}

void register_distinct(Registry& r) {
  r.add({.schema = "_row_order(Tensor self) -> Tensor",
         .doc = "The order that sorts the rows of a matrix by their elements, first to last.\n\n"
                ">>> wisp._C._functions['_row_order'](wisp.tensor([[2, 1], [1, 9], [1, 2]]))\n"
                "tensor([2, 1, 0])",
         .infer = infer_row_order,
         .kernel = row_order_kernel,
         .jvp = Jvp::none,
         .batch = Batch::loop,
         .onnx = "+ several nodes",
         .homes = home::function});
  r.add({.schema = "_run_starts(Tensor self) -> Tensor",
         .doc = "Which slices along the first dimension differ from the one before.",
         .infer = infer_run_starts,
         .kernel = run_starts_kernel,
         .jvp = Jvp::none,
         .batch = Batch::loop,
         .onnx = "- a part of unique",
         .homes = home::internal});
  r.add(
      {.schema =
           "_runs(Tensor self, Tensor starts, bool inverse=False, bool counts=False, Tensor? order=None) -> (Tensor, Tensor, Tensor)",
       .doc =
           "The first of each run of slices along the first dimension, which run each slice belongs to (written "
           "where `order` says), and how long the runs are.",
       .infer = infer_runs,
       .kernel = runs_kernel,
       .jvp = Jvp::none,
       .batch = Batch::loop,
       .onnx = "- a part of unique",
       .homes = home::internal});
  r.add(distinct(
      {.schema =
           "_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)",
       .doc = "What unique() is made of: distinct elements, their places and their numbers.\n\n"
              ">>> wisp._unique2(wisp.tensor([3, 1, 3]))[0]\ntensor([1, 3])",
       .body = unique_body}));
  r.add(distinct(
      {.schema =
           "_unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)",
       .doc = "The same of the slices along a dimension.\n\n"
              ">>> wisp._C._functions['_unique_dim'](wisp.tensor([[3], [1], [3]]), 0)[0]\n"
              "tensor([[1],\n        [3]])",
       .body = [](const Args& args, TensorList& outs) { unique_slices(args, true, 3, outs); }}));
  r.add(distinct(
      {.schema =
           "_unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> (Tensor, Tensor, Tensor)",
       .doc =
           "What unique_consecutive() is made of: the first of each run of equal elements or slices, which run each "
           "belongs to, and how long they are.\n\n"
           ">>> wisp._C._functions['_unique_consecutive'](wisp.tensor([1, 1, 2, 1]))[0]\ntensor([1, 2, 1])",
       .body = unique_consecutive_body}));
}

}  // namespace

void register_search(Registry& r) {
  register_searching(r);
  register_distinct(r);
}

}  // namespace wisp::ops
