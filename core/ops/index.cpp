// Advanced indexing: x[index tensors and masks], reading and writing, and its flat forms take and
// put.
#include "cpu/index.h"

#include "cpu/mask.h"
#include "cpu/scratch.h"
#include "ops/families.h"
#include "ops/into_zeros.h"
#include "ops/ops.h"
#include "ops/raw.h"
#include "tensor/contents.h"

namespace wisp::ops {

namespace {

bool is_mask(const Tensor& t) { return t.dtype() == DType::bool_ || t.dtype() == DType::uint8; }

// What a list of indices picks from a tensor. Masks stand for the coordinates at which they are not
// zero: one index per dimension, all of the same length.
class Indexing {
 public:
  Indexing(const char* op, IntSpan sizes, std::span<const Tensor> indices) : sizes_(sizes) {
    for (const Tensor& index : indices) add(op, index, indices.size());
    WISP_CHECK_INDEX(ndim_ <= static_cast<int64_t>(sizes.size()), op,
                     "(): too many indices for tensor of dimension ", sizes.size(), " (got ", ndim_,
                     ")");
    for (const Item& item : items_) join(item.shape);
    // Neighbouring indices leave their dimensions where they were; otherwise these come first.
    const int64_t first = items_.empty() || !adjacent() ? 0 : items_[0].dim;
    for (int64_t dim = 0; dim < static_cast<int64_t>(sizes.size()); ++dim) {
      if (!is_indexed(dim)) (dim < first ? lead_ : trail_).push_back(dim);
    }
  }

  Dims result_shape() const {
    Dims result;
    for (int64_t dim : lead_) result.push_back(sizes_[dim]);
    for (int64_t size : shape_) result.push_back(size);
    for (int64_t dim : trail_) result.push_back(sizes_[dim]);
    return result;
  }
  // How many places the indices name.
  int64_t count() const { return count_elements(shape_); }

  // Fills `offsets`, which has room for count(), and checks the indices on the way.
  cpu::Places places(const Tensor& self, std::span<int64_t> offsets) const {
    std::fill(offsets.begin(), offsets.end(), 0);
    for (const Item& item : items_) {
      if (item.mask) {
        add_mask(item, self, offsets);
      } else {
        const Tensor index = consecutive(*item.index, shape_, DType::int64);
        cpu::add_offsets(offsets, index.data<int64_t>(),
                         {item.dim, self->size(item.dim), self->stride(item.dim)});
      }
    }
    cpu::Places places{.lead_sizes = {},
                       .lead_strides = {},
                       .offsets = offsets,
                       .trail_sizes = {},
                       .trail_strides = {}};
    take(lead_, self, places.lead_sizes, places.lead_strides);
    take(trail_, self, places.trail_sizes, places.trail_strides);
    return places;
  }

 private:
  struct Item {
    const Tensor* index;
    int64_t dim, ndim;  // the dimensions it indexes: any number for a mask, else one
    Dims shape;
    bool mask;
  };

  void add(const char* op, const Tensor& index, size_t given) {
    if (!index.defined()) {
      ++ndim_;
      return;
    }
    const bool mask = is_mask(index);
    WISP_CHECK_INDEX(mask || is_integral(index.dtype()),
                     "tensors used as indices must be long, int, byte or bool tensors");
    const int64_t ndim = mask ? index.ndim() : 1;
    Dims shape(index.sizes());
    if (mask) {
      check_mask(op, index, given);
      index->check_readable("indexing with a mask");
      contents_read = true;
      shape = Dims{cpu::count_nonzero(index.sizes(), operand(index))};
    }
    items_.push_back({&index, ndim_, ndim, shape, mask});
    ndim_ += ndim;
  }

  void check_mask(const char* op, const Tensor& mask, size_t given) const {
    WISP_CHECK_INDEX(ndim_ + mask.ndim() <= static_cast<int64_t>(sizes_.size()), op,
                     "(): too many indices for tensor of dimension ", sizes_.size(), " (got ",
                     given, ")");
    for (int64_t i = 0; i < mask.ndim(); ++i) {
      WISP_CHECK_INDEX(mask->size(i) == sizes_[ndim_ + i], "The shape of the mask ", mask.sizes(),
                       " at index ", i, " does not match the shape of the indexed tensor ", sizes_,
                       " at index ", ndim_ + i);
    }
  }

  void join(const Dims& shape) {
    try {
      shape_ = broadcast(shape_, shape);
    } catch (const Error&) {
      std::string shapes;
      for (const Item& item : items_) shapes += str(shapes.empty() ? "" : ", ", item.shape);
      fail(ErrorKind::index,
           "shape mismatch: indexing tensors could not be broadcast together with shapes ", shapes);
    }
  }

  bool adjacent() const {
    for (size_t i = 1; i < items_.size(); ++i) {
      if (items_[i].dim != items_[i - 1].dim + items_[i - 1].ndim) return false;
    }
    return true;
  }

  bool is_indexed(int64_t dim) const {
    for (const Item& item : items_) {
      if (dim >= item.dim && dim < item.dim + item.ndim) return true;
    }
    return false;
  }

  void add_mask(const Item& item, const Tensor& self, std::span<int64_t> offsets) const {
    const IntSpan strides = self.strides().subspan(item.dim, item.ndim);
    const Tensor& mask = *item.index;
    if (items_.size() == 1)
      return cpu::nonzero_offsets(mask.sizes(), operand(mask), strides, offsets.data());
    const Tensor found = Tensor::empty(item.shape, DType::int64);
    cpu::nonzero_offsets(mask.sizes(), operand(mask), strides, found.data<int64_t>());
    const Tensor all = consecutive(found, shape_, DType::int64);
    for (size_t i = 0; i < offsets.size(); ++i) offsets[i] += all.data<int64_t>()[i];
  }

  static void take(const Dims& dims, const Tensor& self, Dims& sizes, Dims& strides) {
    for (int64_t dim : dims) {
      sizes.push_back(self->size(dim));
      strides.push_back(self->stride(dim));
    }
  }

  IntSpan sizes_;
  std::vector<Item> items_;
  int64_t ndim_ = 0;   // dimensions named so far
  Dims shape_;         // that all indices broadcast to
  Dims lead_, trail_;  // dimensions that are not indexed
};

void infer_index(Infer& infer) {
  const Tensor& self = infer.tensor(0);
  const Indexing plan(infer.name(), self.sizes(), infer.tensors(1));
  infer.push(plan.result_shape(), self.dtype(), self.device());
}

void index_kernel(const Call& call) {
  const Tensor& self = call.tensor(0);
  const Indexing plan(call.name(), self.sizes(), call.tensors(1));
  const cpu::Scratch<int64_t> offsets(plan.count());
  cpu::pick(plan.places(self, offsets), self->item_size(), self->bytes(), call.out()->bytes());
}

Tensor index_grad(const Backward& b) {
  return put_into_zeros<"index_put">(b, b.tensors(1), b.grad(), true);
}

void infer_index_put(Infer& infer) {
  const Tensor &self = infer.tensor(0), &values = infer.tensor(2);
  WISP_CHECK(self.dtype() == values.dtype(),
             "Index put requires the source and destination dtypes match, got ",
             legacy_name(self.dtype()), " for the destination and ", legacy_name(values.dtype()),
             " for the source.");
  const Dims shape = Indexing(infer.name(), self.sizes(), infer.tensors(1)).result_shape();
  bool fits = static_cast<size_t>(values.ndim()) <= shape.size();
  for (int64_t i = 0; fits && i < values.ndim(); ++i) {
    const int64_t size = values->size(values.ndim() - 1 - i);
    fits = size == 1 || size == shape[shape.size() - 1 - i];
  }
  WISP_CHECK(fits, "shape mismatch: value tensor of shape ", values.sizes(),
             " cannot be broadcast to indexing result of shape ", shape);
  infer.push(self.sizes(), self.dtype(), self.device());
}

// Writes values, broadcast to a shape, to computed places of out.
void put_values(const Tensor& out, const cpu::Places& places, const Tensor& values, IntSpan shape,
                bool accumulate) {
  const auto how = accumulate ? cpu::Combine::add : cpu::Combine::copy;
  const bool single = values.numel() == 1;
  const Tensor all =
      single ? consecutive(values, out.dtype()) : consecutive(values, shape, out.dtype());
  cpu::put(places, how, out.dtype(), out->bytes(), all->bytes(), single);
}

void index_put_kernel(const Call& call) {
  const Tensor &self = call.tensor(0), &out = call.out();
  const Indexing plan(call.name(), self.sizes(), call.tensors(1));
  const cpu::Scratch<int64_t> offsets(plan.count());
  const Tensor values = apart_from(out, call.tensor(2));
  const bool accumulate = call.boolean(3);
  update(out, self, accumulate, [&](const Tensor& target) {
    put_values(target, plan.places(target, offsets), values, plan.result_shape(), accumulate);
  });
}

Tensor index_put_self_grad(const Backward& b) {
  if (b.boolean(3)) return b.grad();
  return index_put(b.grad(), b.tensors(1), zeros(IntSpan(), b.grad().dtype()), false);
}

Tensor index_put_values_grad(const Backward& b) {
  return sum_to_size(index(b.grad(), b.tensors(1)), b.shape(2));
}

void check_flat_index(const Args& args, int at, const char* op) {
  WISP_CHECK(args.tensor(at).dtype() == DType::int64, op,
             "(): Expected a long tensor for index, but got ",
             legacy_name(args.tensor(at).dtype()));
}

void infer_take(Infer& infer) {
  const Tensor &self = infer.tensor(0), &index = infer.tensor(1);
  check_flat_index(infer, 1, "take");
  WISP_CHECK_INDEX(self.numel() > 0 || index.numel() == 0,
                   "take(): tried to take from an empty tensor");
  infer.push(index.sizes(), self.dtype(), self.device());
}

cpu::Places flat_places(const Tensor& self, const Tensor& index, std::span<int64_t> offsets) {
  const Tensor places = consecutive(index, DType::int64);
  cpu::set_flat_offsets(offsets, places.data<int64_t>(), self.sizes(), self.strides());
  return {.lead_sizes = {},
          .lead_strides = {},
          .offsets = offsets,
          .trail_sizes = {},
          .trail_strides = {}};
}

void take_kernel(const Call& call) {
  const Tensor &self = call.tensor(0), &index = call.tensor(1);
  const cpu::Scratch<int64_t> offsets(index.numel());
  cpu::pick(flat_places(self, index, offsets), self->item_size(), self->bytes(),
            call.out()->bytes());
}

void infer_put(Infer& infer) {
  const Tensor &self = infer.tensor(0), &index = infer.tensor(1), &source = infer.tensor(2);
  check_flat_index(infer, 1, "put_");
  WISP_CHECK(self.dtype() == source.dtype(),
             "put_(): self and source expected to have the same dtype, but got self.dtype = ",
             legacy_name(self.dtype()), " and source.dtype = ", legacy_name(source.dtype()));
  WISP_CHECK_INDEX(
      source.numel() == index.numel(),
      "put_(): Expected source and index to have the same number of elements, but got source.numel() = ",
      source.numel(), ", index.numel() = ", index.numel());
  infer.push(self.sizes(), self.dtype(), self.device());
}

void put_kernel(const Call& call) {
  const Tensor &self = call.tensor(0), &out = call.out(), &index = call.tensor(1);
  const Tensor source = apart_from(out, call.tensor(2));
  const cpu::Scratch<int64_t> offsets(index.numel());
  const bool accumulate = call.boolean(3);
  update(out, self, accumulate, [&](const Tensor& target) {
    put_values(target, flat_places(target, index, offsets), source, source.sizes(), accumulate);
  });
}

Tensor take_grad(const Backward& b) {
  return put_into_zeros<"put">(b, b.tensor(1), b.grad(), true);
}

Tensor put_self_grad(const Backward& b) {
  return b.boolean(3) ? b.grad()
                      : put(b.grad(), b.tensor(1), zeros(b.shape(2), b.grad().dtype()), false);
}

}  // namespace

void register_index(Registry& r) {
  r.add(
      {.schema = "index(Tensor self, Tensor?[] indices) -> Tensor",
       .doc =
           "The elements that index tensors and masks name, one per dimension; None takes all of a dimension.",
       .infer = infer_index,
       .kernel = index_kernel,
       .vjp = {{"self", "self.shape indices", index_grad}},
       .jvp = Jvp::linear,
       .batch = Batch::loop,
       .onnx = "GatherND",
       .homes = home::internal});
  r.add(
      {.schema =
           "index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
       .doc =
           "A copy of `self` in which the elements that the indices name hold `values`, or have them added. Where places "
           "repeat, all are added, or the last one stays.\n\n"
           ">>> wisp.zeros(3).index_put((wisp.tensor([0, 2]),), wisp.tensor([5., 6.]))\ntensor([5., 0., 6.])",
       .infer = infer_index_put,
       .kernel = index_put_kernel,
       .vjp = {{"self", "indices accumulate", index_put_self_grad},
               {"values", "indices values.shape", index_put_values_grad}},
       .jvp = Jvp::linear,
       .batch = Batch::loop,
       .onnx = "ScatterND",
       .traits = trait::in_place | trait::writes_self});
  r.add({.schema = "take(Tensor self, Tensor index) -> Tensor",
         .doc = "The elements at the given places of the flattened tensor.\n\n"
                ">>> wisp.take(wisp.tensor([[1, 2], [3, 4]]), wisp.tensor([0, 3]))\ntensor([1, 4])",
         .infer = infer_take,
         .kernel = take_kernel,
         .vjp = {{"self", "self.shape index", take_grad}},
         .jvp = Jvp::linear,
         .batch = Batch::loop,
         .onnx = "Gather",
         .traits = trait::out});
  r.add(
      {.schema = "put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor",
       .doc =
           "A copy of `self` that holds the elements of `source` at the given places of the flattened tensor.\n\n"
           ">>> wisp.zeros(2, 2).put(wisp.tensor([1, 2]), wisp.tensor([5., 6.]))\n"
           "tensor([[0., 5.],\n        [6., 0.]])",
       .infer = infer_put,
       .kernel = put_kernel,
       .vjp = {{"self", "index source.shape accumulate", put_self_grad},
               {"source", "index source.shape",
                [](const Backward& b) {
                  return reshape(take(b.grad(), b.tensor(1)), b.shape(2));
                }}},
       .jvp = Jvp::linear,
       .batch = Batch::loop,
       .onnx = "ScatterElements",
       .traits = trait::in_place | trait::writes_self});
}

}  // namespace wisp::ops
