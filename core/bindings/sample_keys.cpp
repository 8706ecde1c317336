// The keys of a batch, as a loader's loop over them takes them: before each one is given out, its
// place is noted and the random numbers of its sample begin. In Python this took longer than many
// a sample does.
#include "bindings/generator.h"
#include "bindings/module.h"

namespace wisp::python {

namespace {

struct SampleKeys {
  PyObject_HEAD;
  PyObject *keys, *progress, *before;  // owned; before may be None
  Py_ssize_t slot, next;
  uint64_t seed;
  bool seeds;  // whether wisp's generator is seeded here, without asking `before`
};

SampleKeys* as_keys(PyObject* self) { return reinterpret_cast<SampleKeys*>(self); }

PyObject* make(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject *keys, *progress, *before, *seed;
  Py_ssize_t slot;
  if (!PyArg_ParseTuple(args, "OOnOO", &keys, &progress, &slot, &before, &seed)) return nullptr;
  return guarded([&] {
    Ref iterator = owned(PyObject_GetIter(keys));
    const bool seeds = seed != Py_None;
    const uint64_t number = seeds ? PyLong_AsUnsignedLongLongMask(seed) : 0;
    if (PyErr_Occurred()) throw PythonError();
    PyObject* self = must(type->tp_alloc(type, 0));
    SampleKeys& made = *as_keys(self);
    made.keys = iterator.release();
    made.progress = Ref::borrow(progress).release();
    made.before = Ref::borrow(before).release();
    made.slot = slot, made.next = 0, made.seed = number, made.seeds = seeds;
    return self;
  });
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Py_XDECREF(as_keys(self)->keys);
  Py_XDECREF(as_keys(self)->progress);
  Py_XDECREF(as_keys(self)->before);
  type->tp_free(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

void note_place(SampleKeys& self) {
  const Ref place = owned(PyLong_FromSsize_t(self.next++));
  must_succeed(PySequence_SetItem(self.progress, self.slot, place.get()));
}

// Seeds wisp's generator for a sample, as generators.seed_of() says. False if its key is none of
// those that are numbers of 64 bits, or if there is more to seed than this generator.
bool seeded(const SampleKeys& self, PyObject* key) {
  if (!self.seeds || !PyLong_CheckExact(key)) return false;
  int too_large = 0;
  const auto number = static_cast<uint64_t>(PyLong_AsLongLongAndOverflow(key, &too_large));
  if (too_large) return false;
  constexpr uint64_t golden = 0x9E3779B97F4A7C15, mask = (uint64_t{1} << 63) - 1;
  default_generator().set_seed((self.seed + (number + 1) * golden) & mask);
  return true;
}

PyObject* next(PyObject* object) {
  SampleKeys& self = *as_keys(object);
  Ref key(PyIter_Next(self.keys));
  if (!key) return nullptr;  // the end, or an exception
  return guarded([&] {
    note_place(self);
    if (!seeded(self, key.get()) && self.before != Py_None)
      owned(PyObject_CallOneArg(self.before, key.get()));
    return key.release();
  });
}

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(make)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_iter, reinterpret_cast<void*>(PyObject_SelfIter)},
    {Py_tp_iternext, reinterpret_cast<void*>(next)},
    {Py_tp_doc,
     const_cast<char*>(
         "_SampleKeys(keys, progress, slot, before, seed): the keys of a batch. Sets "
         "progress[slot] to the place of each, then seeds wisp's generator for its sample, "
         "or, where seed is None or the key no number, calls before(key).")},
    {0, nullptr}};
PyType_Spec spec = {"wisp._C._SampleKeys", sizeof(SampleKeys), 0, Py_TPFLAGS_DEFAULT, slots};

}  // namespace

void add_sample_keys(PyObject* module) { make_type(module, spec); }

}  // namespace wisp::python
