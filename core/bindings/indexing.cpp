// x[...] and x[...] = y: Python indices become views (select, slice, unsqueeze) and one advanced
// index.
#include "bindings/arguments.h"
#include "bindings/creation.h"
#include "bindings/overrides.h"
#include "bindings/tensor_object.h"
#include "dispatch/call.h"
#include "ops/ops.h"

namespace wisp::python {

namespace {

// A bool that is not a tensor: x[True] adds a dimension of size 1 or 0.
bool is_bool(PyObject* item) { return PyBool_Check(item); }

bool is_index_sequence(PyObject* item) {
  return PyList_Check(item) || PyTuple_Check(item) ||
         std::strcmp(Py_TYPE(item)->tp_name, "numpy.ndarray") == 0 || PyRange_Check(item);
}

// A position: a number, or a tensor of integers without dimensions.
bool is_position(PyObject* item) {
  if (is_tensor(item)) {
    const Layers* layers = impl_of(item)->layers();
    const bool one_of_many = layers && layers->batch_level != 0;  // in vmap: a place per sample
    return impl_of(item)->ndim() == 0 && !one_of_many && is_integer(item);
  }
  return !is_index_sequence(item) && is_integer(item);
}

bool is_mask(const TensorImpl& index) {
  return index.dtype() == DType::bool_ || index.dtype() == DType::uint8;
}

// A tensor of integers or bools from whatever stands in a bracket.
Tensor index_tensor(PyObject* item) {
  if (is_tensor(item)) return tensor_of(item);
  Tensor made = tensor_from_python(item, "index");
  // An empty list selects nothing.
  if (made.numel() == 0 && is_differentiable(made.dtype())) made = ops::to(made, DType::int64);
  return made;
}

// How many dimensions of the tensor an item consumes.
int64_t consumed(PyObject* item) {
  if (item == Py_None || item == Py_Ellipsis || is_bool(item)) return 0;
  if (!is_tensor(item) && !is_index_sequence(item)) return 1;
  const Tensor index = index_tensor(item);
  return is_mask(*index.impl()) ? index.ndim() : 1;
}

struct Plan {
  Tensor view;                  // after all that views can do
  std::vector<Tensor> indices;  // per dimension of the view; undefined: all of it
  bool advanced = false;
};

void set_index(Plan& plan, int64_t dim, Tensor index) {
  plan.indices.resize(
      static_cast<size_t>(std::max<int64_t>(static_cast<int64_t>(plan.indices.size()), dim + 1)));
  plan.indices[static_cast<size_t>(dim)] = std::move(index);
  plan.advanced = true;
}

// A mask without dimensions adds one, of size 1 where it is true and 0 where it is false.
void set_flag(Plan& plan, int64_t dim, bool flag) {
  plan.view = ops::unsqueeze(plan.view, dim);
  const int64_t size = flag ? 1 : 0;
  set_index(plan, dim, ops::zeros(IntSpan(&size, 1), DType::int64));
}

// A mask is the coordinates at which it is true, one index per dimension. Returns the next
// dimension.
int64_t set_mask(Plan& plan, int64_t dim, const Tensor& mask) {
  for (int64_t i = 0; i < mask.ndim(); ++i) {
    WISP_CHECK_INDEX(mask->size(i) == plan.view->size(dim + i), "The shape of the mask ",
                     mask.sizes(), " at index ", i,
                     " does not match the shape of the indexed tensor ", plan.view.sizes(),
                     " at index ", dim + i);
  }
  const Tensor places = invoke<"nonzero">(mask);
  for (int64_t i = 0; i < mask.ndim(); ++i) set_index(plan, dim + i, ops::select(places, 1, i));
  return dim + mask.ndim();
}

Tensor apply_slice(const Tensor& self, int64_t dim, PyObject* slice) {
  Py_ssize_t start, stop, step;
  if (PySlice_Unpack(slice, &start, &stop, &step) < 0) throw PythonError();
  WISP_CHECK_VALUE(step > 0, "step must be greater than zero");
  const int64_t size = self->size(dim);
  // A trace has to hold for other sizes.
  const bool whole = step == 1 && start == 0 && stop >= (tracing ? PY_SSIZE_T_MAX : size);
  if (whole) return self;
  note_param(reinterpret_cast<PySliceObject*>(slice)->start, "start");
  note_param(reinterpret_cast<PySliceObject*>(slice)->stop, "end");
  return invoke<"slice">(self, dim, static_cast<int64_t>(start), static_cast<int64_t>(stop),
                         static_cast<int64_t>(step));
}

// Works through the items of a bracket from left to right.
Plan make_plan(const Tensor& self, PyObject* const* items, Py_ssize_t count) {
  int64_t taken = 0;
  for (Py_ssize_t i = 0; i < count; ++i) taken += consumed(items[i]);
  WISP_CHECK_INDEX(taken <= self.ndim(), "too many indices for tensor of dimension ", self.ndim());
  Plan plan{self, {}, false};
  int64_t dim = 0;
  bool seen_ellipsis = false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = items[i];
    int64_t position;
    if (item == Py_Ellipsis) {
      WISP_CHECK_INDEX(!seen_ellipsis, "an index can only have a single ellipsis ('...')");
      seen_ellipsis = true;
      dim += self.ndim() - taken;
    } else if (item == Py_None) {
      plan.view = ops::unsqueeze(plan.view, dim++);
    } else if (PySlice_Check(item)) {
      plan.view = apply_slice(plan.view, dim, item);
      ++dim;
    } else if (is_bool(item)) {
      set_flag(plan, dim++, item == Py_True);
    } else if (is_tensor(item) && impl_of(item)->ndim() == 0 && is_mask(*impl_of(item))) {
      set_flag(plan, dim++, tensor_of(item).item().truth());
    } else if (is_position(item)) {
      to_int(item, position);
      WISP_CHECK_INDEX(dim < plan.view.ndim(), "too many indices for tensor of dimension ",
                       self.ndim());
      const int64_t size = plan.view->size(dim);
      WISP_CHECK_INDEX(position >= -size && position < size, "index ", position,
                       " is out of bounds for dimension ", dim, " with size ", size);
      note_param(item, "index");
      plan.view = ops::select(plan.view, dim, position);
    } else {
      WISP_CHECK_INDEX(
          is_tensor(item) || is_index_sequence(item),
          "only integers, slices (`:`), ellipsis (`...`), None and tensors or lists of integers or bools are "
          "valid indices (got ",
          type_name(item), ")");
      Tensor index = index_tensor(item);
      WISP_CHECK_INDEX(is_integral(index.dtype()) || index.dtype() == DType::bool_,
                       "tensors used as indices must be long, int, byte or bool tensors, got ",
                       name(index.dtype()));
      if (is_mask(*index.impl())) {
        dim = set_mask(plan, dim, index);
      } else {
        set_index(plan, dim++, std::move(index));
      }
    }
  }
  return plan;
}

// A short list that holds more than numbers means a tuple, as PyTorch has it; other lists are one
// index.
bool stands_for_tuple(PyObject* index) {
  constexpr Py_ssize_t longest = 32;
  if (!PyList_Check(index) || PyList_GET_SIZE(index) >= longest) return PyTuple_Check(index);
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(index); ++i) {
    PyObject* item = PyList_GET_ITEM(index, i);
    if (item == Py_None || item == Py_Ellipsis || PySlice_Check(item) || is_tensor(item) ||
        is_index_sequence(item))
      return true;
  }
  return false;
}

Plan plan_for(PyObject* self, PyObject* index) {
  if (stands_for_tuple(index)) {
    const Ref items = owned(PySequence_Tuple(index));  // a list may change while it is looked at
    return make_plan(tensor_of(self), PySequence_Fast_ITEMS(items.get()),
                     PyTuple_GET_SIZE(items.get()));
  }
  return make_plan(tensor_of(self), &index, 1);
}

// The value of an assignment as a tensor of the target's dtype family.
Tensor value_tensor(PyObject* value, const Tensor& target) {
  if (is_tensor(value)) return tensor_of(value);
  Scalar scalar;
  if (to_scalar(value, scalar)) return ops::full(IntSpan(), scalar, target.dtype());
  return ops::to(tensor_from_python(value, "assignment"), target.dtype());
}

// A value may have more dimensions of size 1 in front than the target has.
Tensor drop_leading_ones(Tensor value, int64_t ndim) {
  while (value.ndim() > ndim && value->size(0) == 1) value = ops::select(value, 0, 0);
  return value;
}

// x[mask] = number, for a mask of x's own shape, needs no coordinates.
bool assign_masked(const Tensor& self, PyObject* index, PyObject* value) {
  if (!is_tensor(index) || impl_of(index)->dtype() != DType::bool_ ||
      !same(impl_of(index)->sizes(), self.sizes()))
    return false;
  Scalar scalar;
  if (is_tensor(value) || !to_scalar(value, scalar) || self.ndim() == 0) return false;
  invoke_in_place<"masked_fill">(self, tensor_of(index), scalar);
  return true;
}

}  // namespace

PyObject* tensor_subscript(PyObject* self, PyObject* index) {
  return guarded([&]() -> PyObject* {
    if (WISP_UNLIKELY(overrides_exist)) {
      PyObject* const args[] = {self, index};
      if (PyObject* result = call_method_override("__getitem__", args, 2)) return result;
    }
    const Tensor& t = tensor_of(self);
    if (PyLong_CheckExact(index) && t.ndim() > 0) {  // x[3]
      int64_t position = 0;
      to_int(index, position);
      const int64_t size = t->size(0);
      WISP_CHECK_INDEX(position >= -size && position < size, "index ", position,
                       " is out of bounds for dimension 0 with size ", size);
      return wrap(ops::select(t, 0, position));
    }
    WISP_CHECK_INDEX(
        t.ndim() > 0 || !PyLong_Check(index) || is_bool(index),
        "invalid index of a 0-dim tensor. Use `tensor.item()` in Python to convert a 0-dim tensor to a number");
    Plan plan = plan_for(self, index);
    if (plan.advanced)
      return wrap(invoke<"index">(plan.view, std::span<const Tensor>(plan.indices)));
    if (plan.view.is_same(t)) return wrap(invoke<"alias">(t));
    return wrap(std::move(plan.view));
  });
}

int tensor_assign_subscript(PyObject* self, PyObject* index, PyObject* value) {
  return guarded_int([&] {
    WISP_CHECK_TYPE(value, "Tensor does not support deleting items");
    if (WISP_UNLIKELY(overrides_exist)) {
      PyObject* const args[] = {self, index, value};
      if (const Ref result{call_method_override("__setitem__", args, 3)}) return 0;
    }
    if (assign_masked(tensor_of(self), index, value)) return 0;
    Plan plan = plan_for(self, index);
    Tensor source = value_tensor(value, plan.view);
    if (!plan.advanced) {
      ops::copy_(plan.view, drop_leading_ones(std::move(source), plan.view.ndim()));
      return 0;
    }
    source = drop_leading_ones(std::move(source), 0);
    if (source.dtype() != plan.view.dtype()) source = ops::to(source, plan.view.dtype());
    invoke_in_place<"index_put">(plan.view, std::span<const Tensor>(plan.indices), source);
    return 0;
  });
}

}  // namespace wisp::python
