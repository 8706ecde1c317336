#include "bindings/generator.h"

#include <random>

#include "bindings/tensor_object.h"
#include "bindings/types.h"

namespace wisp::python {

namespace {

struct GeneratorObject {
  PyObject_HEAD;
  Generator* generator;  // owned
};

PyTypeObject* generator_type = nullptr;

PyObject* make_object(PyTypeObject* type, Generator* owned_generator) {
  PyObject* self = must(type->tp_alloc(type, 0));
  reinterpret_cast<GeneratorObject*>(self)->generator = owned_generator;
  return self;
}

PyObject* generator_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"device", nullptr};
  PyObject* device = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O", const_cast<char**>(names), &device))
    return nullptr;
  return guarded([&] {
    if (device) to_device(device);  // refuses what does not exist
    return make_object(type, new Generator);
  });
}

void generator_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  if (Generator* generator = generator_of(self)) generator->release();
  type->tp_free(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

// Any int of 64 bits is a seed; negative ones wrap as in PyTorch.
uint64_t seed_from(PyObject* value) {
  const Ref index = owned(PyNumber_Index(value));
  int too_large = 0;
  const int64_t number = PyLong_AsLongLongAndOverflow(index.get(), &too_large);
  if (!too_large) return static_cast<uint64_t>(number);
  const uint64_t seed = PyLong_AsUnsignedLongLong(index.get());
  const bool fits = !PyErr_Occurred();
  PyErr_Clear();
  WISP_CHECK_VALUE(fits, "manual_seed(): expected a seed of at most 64 bits");
  return seed;
}

PyObject* manual_seed(PyObject* self, PyObject* value) {
  return guarded([&] {
    generator_of(self)->set_seed(seed_from(value));
    Py_INCREF(self);
    return self;
  });
}

PyObject* initial_seed(PyObject* self, PyObject*) {
  return PyLong_FromUnsignedLongLong(generator_of(self)->state().seed);
}

PyObject* seed(PyObject* self, PyObject*) {
  return guarded([&] {
    std::random_device device;
    const uint64_t fresh = (static_cast<uint64_t>(device()) << 32 | device()) >> 11;
    generator_of(self)->set_seed(fresh);
    return must(PyLong_FromUnsignedLongLong(fresh));
  });
}

// The state as a tensor of bytes, as PyTorch's code passes it around.
PyObject* get_state(PyObject* self, PyObject*) {
  return guarded([&] {
    const Generator::State state = generator_of(self)->state();
    Tensor bytes = Tensor::empty({static_cast<int64_t>(sizeof(state))}, DType::uint8);
    std::memcpy(bytes->bytes(), &state, sizeof(state));
    return wrap(bytes);
  });
}

PyObject* set_state(PyObject* self, PyObject* value) {
  return guarded([&] {
    const Tensor& bytes = expect_tensor(value, "set_state()");
    Generator::State state;
    WISP_CHECK_TYPE(bytes.dtype() == DType::uint8 && bytes.is_contiguous(),
                    "set_state(): RNG state must be a contiguous tensor of uint8");
    WISP_CHECK(bytes.numel() == static_cast<int64_t>(sizeof(state)),
               "set_state(): RNG state is wrong size: expected ", sizeof(state), " bytes, got ",
               bytes.numel());
    std::memcpy(&state, bytes->bytes(), sizeof(state));
    generator_of(self)->set_state(state);
    Py_INCREF(self);
    return self;
  });
}

PyMethodDef methods[] = {
    {"manual_seed", manual_seed, METH_O, "Starts the stream of this seed; returns the generator."},
    {"initial_seed", initial_seed, METH_NOARGS, "The seed of the stream."},
    {"seed", seed, METH_NOARGS, "Takes a fresh seed from the system and returns it."},
    {"get_state", get_state, METH_NOARGS, "The state as a tensor of uint8."},
    {"set_state", set_state, METH_O, "Continues from a state given by get_state()."},
    {}};

PyGetSetDef getset[] = {{"device", [](PyObject*, void*) { return wrap(Device{}); }, nullptr,
                         "The device it makes numbers for.", nullptr},
                        {}};

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(generator_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(generator_dealloc)},
    {Py_tp_methods, methods},
    {Py_tp_getset, getset},
    {Py_tp_doc, const_cast<char*>("Generator(device='cpu'): a stream of random numbers.")},
    {0, nullptr}};
PyType_Spec spec = {"wisp.Generator", sizeof(GeneratorObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

}  // namespace

bool is_generator(PyObject* object) { return PyObject_TypeCheck(object, generator_type); }
Generator* generator_of(PyObject* object) {
  return reinterpret_cast<GeneratorObject*>(object)->generator;
}

PyObject* wrap(Generator& generator) {
  generator.retain();
  return make_object(generator_type, &generator);
}

void add_generator_type(PyObject* module) {
  generator_type = make_type(module, spec);
  default_generator().retain();
  const Ref shared(make_object(generator_type, &default_generator()));
  must_succeed(PyObject_SetAttrString(module, "default_generator", shared.get()));
}

}  // namespace wisp::python
