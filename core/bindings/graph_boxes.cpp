// Lists and dicts of scripts that Python holds too: wisp._C._jit.Box. What scripts write into them,
// Python sees, and the other way round.
#include "bindings/graph_objects.h"
#include "bindings/graph_parts.h"
#include "bindings/graph_values.h"

namespace wisp::python {

using graph::Datum;
using graph::Kind;

namespace {

struct BoxObject {
  PyObject_HEAD;
  Datum value;
  graph::TypeRef type;
};
PyTypeObject* box_type = nullptr;

BoxObject& box(PyObject* self) { return as<BoxObject>(self); }
std::vector<Datum>& items(PyObject* self) { return box(self).value.items(); }
graph::DictData& entries(PyObject* self) { return box(self).value.dict_data(); }

// A value as the i-th type of the list's or dict's own.
Datum part(PyObject* self, size_t i, PyObject* value) {
  const graph::Type& wanted = *box(self).type->items[i];
  Datum datum;
  WISP_CHECK_TYPE(to_datum(value, wanted, datum), "expected a value of type ",
                  graph::to_string(wanted), ", got ", Py_TYPE(value)->tp_name);
  return datum;
}

size_t place(PyObject* index, size_t count) {
  const size_t at = PyLong_AsSize_t(index);
  if (at == static_cast<size_t>(-1) && PyErr_Occurred()) throw PythonError();
  WISP_CHECK_INDEX(at < count, "list index out of range");
  return at;
}

PyObject* box_item(PyObject* self, PyObject* index) {
  return guarded([&] {
    const size_t at = place(index, items(self).size());
    return to_python(items(self)[at], box(self).type->items[0].get());
  });
}

PyObject* box_set(PyObject* self, PyObject* args) {
  PyObject *key, *value;
  if (!PyArg_ParseTuple(args, "OO", &key, &value)) return nullptr;
  return guarded([&] {
    if (box(self).type->kind == Kind::dict) {
      Datum own = part(self, 0, key);
      entries(self).set(std::move(own), part(self, 1, value));
      return none();
    }
    Datum made = part(self, 0, value);
    items(self)[place(key, items(self).size())] = std::move(made);
    return none();
  });
}

PyObject* box_insert(PyObject* self, PyObject* args) {
  PyObject *index, *value;
  if (!PyArg_ParseTuple(args, "OO", &index, &value)) return nullptr;
  return guarded([&] {
    Datum made = part(self, 0, value);
    const size_t at = place(index, items(self).size() + 1);
    items(self).insert(items(self).begin() + static_cast<ptrdiff_t>(at), std::move(made));
    return none();
  });
}

// Takes an item out; false if a dict has none of that key.
PyObject* box_erase(PyObject* self, PyObject* key) {
  return guarded([&] {
    if (box(self).type->kind == Kind::dict) return boolean(entries(self).erase(part(self, 0, key)));
    const size_t at = place(key, items(self).size());
    items(self).erase(items(self).begin() + static_cast<ptrdiff_t>(at));
    return boolean(true);
  });
}

// (value,) of a key, or None.
PyObject* box_find(PyObject* self, PyObject* key) {
  return guarded([&] {
    const Datum* found = entries(self).find(part(self, 0, key));
    if (!found) return none();
    const Ref value = owned(to_python(*found, box(self).type->items[1].get()));
    return must(PyTuple_Pack(1, value.get()));
  });
}

PyObject* box_copy(PyObject* self, PyObject*) {
  return guarded([&] { return to_python(box(self).value, box(self).type.get()); });
}

PyObject* box_count(PyObject* self, PyObject*) {
  return guarded([&] {
    const bool dict = box(self).type->kind == Kind::dict;
    return must(PyLong_FromSize_t(dict ? entries(self).entries.size() : items(self).size()));
  });
}

PyObject* box_new(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject* value;
  if (!PyArg_ParseTuple(args, "O", &value)) return nullptr;
  return guarded([&] {
    graph::TypeRef kind = type_of(value);
    WISP_CHECK_TYPE(kind->kind == Kind::list || kind->kind == Kind::dict,
                    "expected a list or dict");
    Datum datum = to_datum(value);
    return make<BoxObject>(type, [&](BoxObject& made) {
      new (&made.value) Datum(std::move(datum));
      new (&made.type) graph::TypeRef(std::move(kind));
    });
  });
}

void destroy_box(BoxObject& self) {
  self.value.~Datum();
  self.type.~shared_ptr();
}

PyMethodDef box_methods[] = {
    {"item", box_item, METH_O, nullptr},           {"set", box_set, METH_VARARGS, nullptr},
    {"insert", box_insert, METH_VARARGS, nullptr}, {"erase", box_erase, METH_O, nullptr},
    {"find", box_find, METH_O, nullptr},           {"copy", box_copy, METH_NOARGS, nullptr},
    {"count", box_count, METH_NOARGS, nullptr},    {}};
PyType_Slot box_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(box_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc<BoxObject, destroy_box>)},
    {Py_tp_methods, box_methods},
    {0, nullptr}};
PyType_Spec box_spec = {"wisp._C._jit.Box", sizeof(BoxObject), 0, Py_TPFLAGS_DEFAULT, box_slots};

// The box that a ScriptList or ScriptDict is about; null if it is none.
Ref box_in(PyObject* value) {
  if (!box_type || PyList_Check(value) || PyTuple_Check(value) || PyDict_Check(value)) return {};
  Ref found(PyObject_GetAttrString(value, "_box"));
  if (!found) PyErr_Clear();
  return found && Py_TYPE(found.get()) == box_type ? std::move(found) : Ref();
}

}  // namespace

bool box_to_datum(PyObject* value, const graph::Type& type, Datum& datum) {
  const Ref found = box_in(value);
  if (!found || graph::to_string(*box(found.get()).type) != graph::to_string(type)) return false;
  datum = box(found.get()).value;
  return true;
}

graph::TypeRef type_of_box(PyObject* value) {
  const Ref found = box_in(value);
  return found ? box(found.get()).type : graph::TypeRef();
}

void add_box_type(PyObject* module) { box_type = make_type(module, box_spec); }

}  // namespace wisp::python
