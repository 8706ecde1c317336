// The keys of a batch, as a loader's loop over them takes them: before each one is given out, its
// place is noted and the random numbers of its sample begin. In Python this took longer than many
// a sample does.
#include <cstring>

#include "bindings/generator.h"
#include "bindings/module.h"

namespace wisp::python {

namespace {

// A Mersenne Twister as Python's generator has it in memory.
struct Twister {
  int32_t position;
  uint32_t words[624];
};

struct SampleKeys {
  PyObject_HEAD;
  PyObject *keys, *progress, *before;  // owned; before may be None
  Py_ssize_t slot, next;
  uint64_t seed;
  bool seeds;         // whether generators are seeded here, without asking `before`
  Py_buffer twister;  // of Python's generator, if that is seeded too
};

// Any words that are not all zero are a state of a twister, and from position 0 it gives them out,
// each mixed, before it makes others of them. So it can be filled by a generator that starts at
// once; its own seeding takes as long as many a sample. (Steps are those of SplitMix64, from a
// start that is mixed too: seeds of neighbouring samples are equal steps apart.)
void start_twister(void* memory, uint64_t seed) {
  auto mixed = [](uint64_t z) {
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
  };
  Twister filled;
  filled.position = 0;
  const uint64_t start = mixed(~seed);
  for (uint64_t i = 0; i < std::size(filled.words) / 2; ++i) {
    const uint64_t pair = mixed(start + (i + 1) * 0x9E3779B97F4A7C15);
    std::memcpy(filled.words + 2 * i, &pair, sizeof(pair));
  }
  std::memcpy(memory, &filled, sizeof(filled));
}

// Of normal numbers Python's generator makes two at a time, and keeps the second.
void forget_normal_number() {
  static PyObject* generator = import_attribute("random", "_inst");
  must_succeed(PyObject_SetAttrString(generator, "gauss_next", Py_None));
}

Py_buffer twister_of(PyObject* object) {
  Py_buffer view;
  must_succeed(PyObject_GetBuffer(object, &view, PyBUF_WRITABLE));
  if (view.len == sizeof(Twister)) return view;
  PyBuffer_Release(&view);
  fail(ErrorKind::value, "expected the ", sizeof(Twister), " bytes of a twister");
}

SampleKeys* as_keys(PyObject* self) { return reinterpret_cast<SampleKeys*>(self); }

PyObject* make(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject *keys, *progress, *before, *seed, *twister = Py_None;
  Py_ssize_t slot;
  if (!PyArg_ParseTuple(args, "OOnOO|O", &keys, &progress, &slot, &before, &seed, &twister))
    return nullptr;
  return guarded([&] {
    Ref iterator = owned(PyObject_GetIter(keys));
    const bool seeds = seed != Py_None;
    const uint64_t number = seeds ? PyLong_AsUnsignedLongLongMask(seed) : 0;
    if (PyErr_Occurred()) throw PythonError();
    Ref object = owned(type->tp_alloc(type, 0));
    SampleKeys& made = *as_keys(object.get());
    if (twister != Py_None) made.twister = twister_of(twister);
    made.keys = iterator.release();
    made.progress = Ref::borrow(progress).release();
    made.before = Ref::borrow(before).release();
    made.slot = slot, made.next = 0, made.seed = number, made.seeds = seeds;
    return object.release();
  });
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Py_XDECREF(as_keys(self)->keys);
  Py_XDECREF(as_keys(self)->progress);
  Py_XDECREF(as_keys(self)->before);
  PyBuffer_Release(&as_keys(self)->twister);  // nothing, if there is none
  type->tp_free(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

void note_place(SampleKeys& self) {
  const Ref place = owned(PyLong_FromSsize_t(self.next++));
  must_succeed(PySequence_SetItem(self.progress, self.slot, place.get()));
}

// Seeds generators for a sample, as generators.seed_of() says. False if its key is none of those
// that are numbers of 64 bits, or if there is more to seed than these generators.
bool seeded(const SampleKeys& self, PyObject* key) {
  if (!self.seeds || !PyLong_CheckExact(key)) return false;
  int too_large = 0;
  const auto number = static_cast<uint64_t>(PyLong_AsLongLongAndOverflow(key, &too_large));
  if (too_large) return false;
  constexpr uint64_t golden = 0x9E3779B97F4A7C15, mask = (uint64_t{1} << 63) - 1;
  const uint64_t seed = (self.seed + (number + 1) * golden) & mask;
  default_generator().set_seed(seed);
  if (self.twister.buf) {
    start_twister(self.twister.buf, seed);
    forget_normal_number();
  }
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
         "_SampleKeys(keys, progress, slot, before, seed, twister=None): the keys of a batch. Sets "
         "progress[slot] to the place of each, then seeds wisp's generator for its sample, "
         "and, if there is one, the twister of Python's, or, where seed is None or the key no "
         "number, calls before(key).")},
    {0, nullptr}};
PyType_Spec spec = {"wisp._C._SampleKeys", sizeof(SampleKeys), 0, Py_TPFLAGS_DEFAULT, slots};

// _seed_twister(memory, seed): as loops over keys do.
PyObject* seed_twister(PyObject*, PyObject* args) {
  PyObject *memory, *seed;
  if (!PyArg_ParseTuple(args, "OO", &memory, &seed)) return nullptr;
  return guarded([&] {
    const uint64_t number = PyLong_AsUnsignedLongLongMask(seed);
    if (PyErr_Occurred()) throw PythonError();
    Py_buffer view = twister_of(memory);
    start_twister(view.buf, number);
    PyBuffer_Release(&view);
    forget_normal_number();
    return none();
  });
}

PyMethodDef functions[] = {
    {"_seed_twister", seed_twister, METH_VARARGS,
     "_seed_twister(memory, seed): starts Python's generator, whose twister lies there, anew."},
    {}};

}  // namespace

void add_sample_keys(PyObject* module) {
  make_type(module, spec);
  must_succeed(PyModule_AddFunctions(module, functions));
}

}  // namespace wisp::python
