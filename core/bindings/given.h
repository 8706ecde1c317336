// What a Python function is given, and what that holds.
#pragma once

#include "bindings/tensor_object.h"

namespace wisp::python {

struct Given {
  PyObject* const* args;
  size_t nargsf;
  PyObject* kwnames;
  size_t positional() const { return static_cast<size_t>(PyVectorcall_NARGS(nargsf)); }
  size_t count() const {
    return positional() + static_cast<size_t>(kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
  }
};

// Whether a tensor has no attributes of its own, which could hide methods.
inline bool is_bare(PyObject* tensor) {
  PyObject* dict = reinterpret_cast<TensorObject*>(tensor)->dict;
  return !dict || PyDict_GET_SIZE(dict) == 0;
}

inline bool is_plain(PyObject* value) {
  return value == Py_None || PyBool_Check(value) || PyLong_CheckExact(value) ||
         PyFloat_CheckExact(value) || PyUnicode_CheckExact(value);
}

// Lists, tuples and dicts count as what they hold.
inline bool is_holder(PyObject* value) {
  return PyTuple_CheckExact(value) || PyList_CheckExact(value) || PyDict_CheckExact(value);
}

template <class F>
void each_key(PyObject* dict, F f) {
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);) f(key);
}

template <class F>
void each_item(PyObject* holder, F f) {
  if (PyDict_CheckExact(holder)) {
    each_key(holder, [&](PyObject* key) { f(PyDict_GetItemWithError(holder, key)); });
    return;
  }
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(holder); ++i)
    f(PySequence_Fast_GET_ITEM(holder, i));
}

// Whether it holds no more objects than `left`: lists may hold themselves.
inline bool is_small(PyObject* value, Py_ssize_t& left) {
  if (!is_holder(value)) return true;
  left -= 1 + PyObject_Size(value);
  bool small = left >= 0;
  if (small) each_item(value, [&](PyObject* item) { small = small && is_small(item, left); });
  return small;
}

// All that a call is given, and what that holds, of which there must be an end.
template <class F>
void each_within(PyObject* value, F f) {
  if (is_holder(value)) {
    each_item(value, [&](PyObject* item) { each_within(item, f); });
  } else {
    f(value);
  }
}
template <class F>
void each_within(const Given& given, F f) {
  for (size_t i = 0; i < given.count(); ++i) each_within(given.args[i], f);
}

}  // namespace wisp::python
