// What a step of an optimiser collects before its native call: parameters with gradients, states by
// name, settings as numbers. In Python this took longer than the step of a small network.
#include "autograd/meta.h"
#include "bindings/module.h"
#include "bindings/tensor_object.h"
#include "ops/ops.h"

namespace wisp::python {

namespace {

// Calls f(object, tensor) for every parameter. What f calls may change a list of them.
template <class F>
void for_parameters(PyObject* params, const char* function, F f) {
  const Ref items = owned(PySequence_Fast(params, "expected a list of parameters"));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    const Ref param = Ref::borrow(PySequence_Fast_GET_ITEM(items.get(), i));
    f(param.get(), expect_tensor(param.get(), function));
  }
}

void append(PyObject* list, PyObject* item) { must_succeed(PyList_Append(list, item)); }

// Complex numbers are updated as pairs of real ones.
void append_real(PyObject* list, PyObject* object) {
  const Tensor& tensor = expect_tensor(object, "step()");
  if (!is_complex(tensor.dtype())) return append(list, object);
  append(list, Ref(wrap(ops::view_as_real(tensor))).get());
}

PyObject* with_gradients(PyObject*, PyObject* params) {
  return guarded([&] {
    const Ref found = owned(PyList_New(0));
    for_parameters(params, "step()", [&](PyObject* object, const Tensor& param) {
      if (autograd::grad(param).defined()) append(found.get(), object);
    });
    return Ref(found).release();
  });
}

PyObject* forget_gradients(PyObject*, PyObject* params) {
  return guarded([&] {
    for_parameters(params, "zero_grad()", [&](PyObject*, const Tensor& param) {
      if (autograd::meta_if_any(*param.impl())) autograd::set_grad(param, {});
    });
    return none();
  });
}

// An item of a dict, borrowed; null if it is not there.
PyObject* item_of(PyObject* dict, PyObject* key) {
  PyObject* item = PyDict_GetItemWithError(dict, key);
  if (!item && PyErr_Occurred()) throw PythonError();
  return item;
}

// States by name: a column for each, that of None stays empty.
class States {
 public:
  States(PyObject* all, PyObject* names, PyObject* complete, PyObject* group)
      : all_(all), names_(names), complete_(complete), group_(group) {
    for (Py_ssize_t i = 0; i < count(); ++i) wanted_ += name(i) != Py_None;
  }

  void append_to(PyObject* columns, PyObject* param) const {
    if (wanted_ == 0) return;
    std::vector<Ref> found(static_cast<size_t>(count()));
    if (missing(param, found)) {
      owned(PyObject_CallFunctionObjArgs(complete_, param, group_, nullptr));
      if (PyObject* name = missing(param, found)) {
        PyErr_SetObject(PyExc_KeyError, name);
        throw PythonError();
      }
    }
    for (Py_ssize_t i = 0; i < count(); ++i) {
      const Ref& state = found[static_cast<size_t>(i)];
      if (state) append_real(PyList_GET_ITEM(columns, i + 2), state.get());
    }
  }

 private:
  Py_ssize_t count() const { return PyTuple_GET_SIZE(names_); }
  PyObject* name(Py_ssize_t i) const { return PyTuple_GET_ITEM(names_, i); }

  // Finds the states of a parameter. The name of the first that is not there, or null.
  PyObject* missing(PyObject* param, std::vector<Ref>& found) const {
    const Ref state = Ref::borrow(item_of(all_, param));
    const bool any = state && PyDict_Check(state.get());
    for (Py_ssize_t i = 0; i < count(); ++i) {
      if (name(i) == Py_None) continue;
      PyObject* item = any ? item_of(state.get(), name(i)) : nullptr;
      if (!item || !is_tensor(item)) return name(i);
      found[static_cast<size_t>(i)] = Ref::borrow(item);
    }
    return nullptr;
  }

  PyObject *all_, *names_, *complete_, *group_;
  Py_ssize_t wanted_ = 0;
};

PyObject* columns_of(PyObject*, PyObject* args) {
  PyObject *params, *all, *names, *complete, *group;
  if (!PyArg_ParseTuple(args, "O!O!O!OO", &PyList_Type, &params, &PyDict_Type, &all, &PyTuple_Type,
                        &names, &complete, &group))
    return nullptr;
  return guarded([&] {
    const States states(all, names, complete, group);
    const Ref columns = owned(PyList_New(0));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names) + 2; ++i)
      append(columns.get(), owned(PyList_New(0)).get());
    for_parameters(params, "step()", [&](PyObject* object, const Tensor& param) {
      states.append_to(columns.get(), object);
      append_real(PyList_GET_ITEM(columns.get(), 0), object);
      append_real(PyList_GET_ITEM(columns.get(), 1), Ref(wrap(autograd::grad(param))).get());
    });
    return Ref(columns).release();
  });
}

void append_number(PyObject* list, PyObject* value) {
  const double number = PyFloat_AsDouble(value);
  if (number == -1.0 && PyErr_Occurred()) throw PythonError();
  append(list, owned(PyFloat_FromDouble(number)).get());
}

PyObject* numbers_of(PyObject*, PyObject* args) {
  PyObject *group, *names;
  if (!PyArg_ParseTuple(args, "O!O!", &PyDict_Type, &group, &PyTuple_Type, &names)) return nullptr;
  return guarded([&] {
    const Ref numbers = owned(PyList_New(0));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
      const Ref value = owned(PyObject_GetItem(group, PyTuple_GET_ITEM(names, i)));
      if (!PyTuple_Check(value.get()) && !PyList_Check(value.get())) {
        append_number(numbers.get(), value.get());
        continue;
      }
      const Ref several = owned(PySequence_Tuple(value.get()));
      for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(several.get()); ++k)
        append_number(numbers.get(), PyTuple_GET_ITEM(several.get(), k));
    }
    return Ref(numbers).release();
  });
}

PyMethodDef functions[] = {
    {"_with_gradients", with_gradients, METH_O,
     "_with_gradients(params): a list of those that have a gradient."},
    {"_forget_gradients", forget_gradients, METH_O,
     "_forget_gradients(params): sets their gradients to None."},
    {"_update_columns", columns_of, METH_VARARGS,
     "_update_columns(params, states, names, complete, group): lists of the parameters, of their gradients, and of "
     "what states[param][name] holds, empty where the name is None; complex tensors as pairs of real numbers. Where a "
     "state is not there, complete(param, group) is to make it."},
    {"_settings", numbers_of, METH_VARARGS,
     "_settings(group, names): settings of a group as a list of floats, those that are tuples one by one."},
    {}};

}  // namespace

void add_optimizer_functions(PyObject* module) {
  must_succeed(PyModule_AddFunctions(module, functions));
}

}  // namespace wisp::python
