#include "bindings/premises.h"

#include <algorithm>

namespace wisp::python {

namespace {

// A number that changes with every change of a dict; 0: Python has none, so its items are looked
// at.
uint64_t version_of([[maybe_unused]] PyObject* dict) {
#if PY_VERSION_HEX < 0x030c0000
  return reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
#else
  return 0;
#endif
}

// The same of a class; 0: unknown.
unsigned version_of(PyTypeObject* type) {
#if PY_VERSION_HEX < 0x030d0000
  if (!PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG)) return 0;
#endif
  return type->tp_version_tag;
}

// A class that nobody has looked anything up in since it was changed has no version.
unsigned given_version_of(PyTypeObject* type) {
#if PY_VERSION_HEX >= 0x030c0000
  PyUnstable_Type_AssignVersionTag(type);
#endif
  return version_of(type);
}

PyFunctionObject* as_function(const Ref& function) {
  return reinterpret_cast<PyFunctionObject*>(function.get());
}

PyObject* item(PyObject* tuple, Py_ssize_t i) { return PyTuple_GET_ITEM(tuple, i); }

template <class F>
void each(PyObject* tuple, F f) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) f(item(tuple, i));
}

}  // namespace

bool Premises::Names::are_the_same() {
  for (const auto& [name, value] : values) {
    if (PyDict_GetItemWithError(dict.get(), name.get()) != value.get()) {
      PyErr_Clear();
      return false;
    }
  }
  if (whole && !are_all()) return false;
  version = version_of(dict.get());
  return true;
}

// In the same order, too.
bool Premises::Names::are_all() const {
  if (static_cast<size_t>(PyDict_GET_SIZE(dict.get())) != values.size()) return false;
  PyObject *name, *value;
  Py_ssize_t at = 0;
  for (const auto& known : values) {
    if (!PyDict_Next(dict.get(), &at, &name, &value) || name != known.first.get()) return false;
  }
  return true;
}

WISP_INLINE bool Premises::Names::hold() {
  const uint64_t now = version_of(dict.get());
  return (now != 0 && now == version) || are_the_same();
}

WISP_INLINE bool Premises::Parts::hold() const {
  const PyFunctionObject* now = as_function(function);
  return now->func_code == code.get() && now->func_defaults == defaults.get() &&
         now->func_kwdefaults == keyword_defaults.get();
}

// Who exchanges all attributes of an object at once gives it another dict.
WISP_INLINE bool Premises::Attributes::hold() const {
  if (Py_TYPE(object.get()) != type) return false;
  PyObject** const now = _PyObject_GetDictPtr(object.get());
  return now && *now == dict.get();
}

bool Premises::Items::hold() const {
  if (PyList_GET_SIZE(list.get()) != PyTuple_GET_SIZE(items.get())) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    if (PyList_GET_ITEM(list.get(), i) != item(items.get(), i)) return false;
  }
  return true;
}

Premises::Names& Premises::names_in(PyObject* dict) {
  for (Names& names : names_) {
    if (names.dict.get() == dict) return names;
  }
  names_.push_back({Ref::borrow(dict), {}, version_of(dict)});
  return names_.back();
}

// (names: ((dict, name[, value]), ...), cells: ((cell, value), ...), functions, classes, tensors,
// objects: ((object, its dict), ...), shunned: ((code or function of C, reason), ...), code that
// was read, dicts of which all names count, lists: ((list, its items), ...), whether identity
// matters)
Premises::Premises(PyObject* found) {
  each(item(found, 0), [&](PyObject* name) {
    PyObject* value = PyTuple_GET_SIZE(name) > 2 ? item(name, 2) : nullptr;
    names_in(item(name, 0)).values.emplace_back(Ref::borrow(item(name, 1)), Ref::borrow(value));
  });
  each(item(found, 1), [&](PyObject* cell) {
    cells_.emplace_back(Ref::borrow(item(cell, 0)), Ref::borrow(item(cell, 1)));
  });
  each(item(found, 2), [&](PyObject* function) {
    const Ref owner = Ref::borrow(function);
    const PyFunctionObject* now = as_function(owner);
    functions_.push_back({owner, Ref::borrow(now->func_code), Ref::borrow(now->func_defaults),
                          Ref::borrow(now->func_kwdefaults)});
  });
  each(item(found, 3), [&](PyObject* type) {
    types_.emplace_back(Ref::borrow(type), given_version_of(reinterpret_cast<PyTypeObject*>(type)));
  });
  each(item(found, 4), [&](PyObject* tensor) { tensors_.push_back(Ref::borrow(tensor)); });
  each(item(found, 5), [&](PyObject* pair) {
    PyObject* const object = item(pair, 0);
    objects_.push_back({Ref::borrow(object), Ref::borrow(item(pair, 1)), Py_TYPE(object)});
  });
  each(item(found, 6), [&](PyObject* pair) {
    shunned_.emplace_back(Ref::borrow(item(pair, 0)), Ref::borrow(item(pair, 1)));
  });
  each(item(found, 7), [&](PyObject* code) { codes_.push_back(Ref::borrow(code)); });
  each(item(found, 8), [&](PyObject* dict) { names_in(dict).whole = true; });
  each(item(found, 9), [&](PyObject* pair) {
    lists_.push_back({Ref::borrow(item(pair, 0)), Ref::borrow(item(pair, 1))});
  });
  asks_identity_ = item(found, 10) == Py_True;
}

bool Premises::hold() {
  for (const auto& [type, version] : types_) {
    if (version == 0 || version_of(reinterpret_cast<PyTypeObject*>(type.get())) != version)
      return false;
  }
  for (const Parts& parts : functions_) {
    if (!parts.hold()) return false;
  }
  for (const Attributes& attributes : objects_) {
    if (!attributes.hold()) return false;
  }
  for (const Items& items : lists_) {
    if (!items.hold()) return false;
  }
  for (Names& names : names_) {
    if (!names.hold()) return false;
  }
  for (const auto& [cell, value] : cells_) {
    if (PyCell_GET(cell.get()) != value.get()) return false;
  }
  return true;
}

std::string Premises::change() {
  for (Names& names : names_) {
    for (const auto& [name, value] : names.values) {
      const bool same = PyDict_GetItemWithError(names.dict.get(), name.get()) == value.get();
      PyErr_Clear();
      if (!same) return str("'", text_of(name.get()), "' stands for something else now");
    }
  }
  for (const Parts& parts : functions_) {
    if (!parts.hold())
      return str(text_of(as_function(parts.function)->func_qualname), "() was changed");
  }
  for (const auto& [cell, value] : cells_) {
    if (PyCell_GET(cell.get()) != value.get())
      return "a variable of the function around it was changed";
  }
  for (Names& names : names_) {
    if (names.whole && !names.are_all()) return "a dict, or the members of a module, were changed";
  }
  for (const Attributes& attributes : objects_) {
    if (!attributes.hold()) return "the attributes of an object were exchanged";
  }
  for (const Items& items : lists_) {
    if (!items.hold()) return "a list was changed";
  }
  return "a class was changed";
}

bool Premises::knows(PyTypeObject* type) const {
  return std::any_of(types_.begin(), types_.end(), [&](const auto& known) {
    return known.first.get() == reinterpret_cast<PyObject*>(type);
  });
}

bool Premises::knows_object(PyObject* object) const {
  return std::any_of(objects_.begin(), objects_.end(),
                     [&](const Attributes& known) { return known.object.get() == object; });
}

std::string Premises::objection_to_builtin(PyObject* function) const {
  for (const auto& [shunned, reason] : shunned_) {
    if (shunned.get() == function) return text_of(reason.get());
  }
  return {};
}

std::string Premises::objection_to_code(PyObject* code) const {
  const bool read = std::any_of(codes_.begin(), codes_.end(),
                                [&](const Ref& known) { return known.get() == code; });
  if (read) return {};
  std::string reason = objection_to_builtin(code);
  if (!reason.empty()) return reason;
  return str("it calls ", text_of(reinterpret_cast<PyCodeObject*>(code)->co_name), "()");
}

int Premises::traverse(visitproc visit, void* arg) const {
  for (const Names& names : names_) {
    Py_VISIT(names.dict.get());
    for (const auto& [name, value] : names.values) Py_VISIT(value.get());
  }
  for (const auto& [cell, value] : cells_) {
    Py_VISIT(cell.get());
    Py_VISIT(value.get());
  }
  for (const Parts& parts : functions_) {
    Py_VISIT(parts.function.get());
    Py_VISIT(parts.defaults.get());
    Py_VISIT(parts.keyword_defaults.get());
  }
  for (const auto& [type, version] : types_) Py_VISIT(type.get());
  for (const Ref& tensor : tensors_) Py_VISIT(tensor.get());
  for (const Attributes& attributes : objects_) {
    Py_VISIT(attributes.object.get());
    Py_VISIT(attributes.dict.get());
  }
  for (const auto& [shunned, reason] : shunned_) Py_VISIT(shunned.get());
  for (const Items& items : lists_) {
    Py_VISIT(items.list.get());
    Py_VISIT(items.items.get());
  }
  return 0;
}

}  // namespace wisp::python
