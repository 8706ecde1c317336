// The extension module wisp._C.
#include "bindings/module.h"

#include <cxxabi.h>
#include <unistd.h>

#include "autograd/record.h"
#include "bindings/function_node.h"
#include "bindings/generator.h"
#include "bindings/hooks.h"
#include "bindings/node_object.h"
#include "bindings/op_object.h"
#include "bindings/place.h"
#include "bindings/tensor_object.h"
#include "bindings/types.h"
#include "dispatch/mode.h"

namespace wisp::python {

namespace {

Place here() {
  Place place;
  place.code = wisp_place_here(&place.at);
  return place;
}

void drop(Place& place) {
  Py_DECREF(static_cast<PyObject*>(place.code));
  place.code = nullptr;
}

std::string describe(const Place& place) {
  char text[1024];
  return wisp_place_describe(static_cast<PyObject*>(place.code), place.at, text, sizeof(text))
             ? text
             : "?";
}

void check_interrupt() {
  if (PyErr_CheckSignals() != 0) throw PythonError();
}

void warn_user(const std::string& message) {
  if (PyErr_WarnEx(PyExc_UserWarning, message.c_str(), wisp_place_level()) != 0)
    throw PythonError();
}

// A thread that asks for the lock of an interpreter that is going away is ended by unwinding its
// stack, which frames of ours do not allow. It is a daemon: it waits for the end of the process.
void take_lock_back(void* state) {
  try {
    PyEval_RestoreThread(static_cast<PyThreadState*>(state));
  } catch (abi::__forced_unwind&) {
    for (;;) pause();
  }
}

void install_host() {
  host.here = here;
  host.drop = drop;
  host.describe = describe;
  host.unlock = []() -> void* { return PyEval_SaveThread(); };
  host.lock = take_lock_back;
  host.check_interrupt = check_interrupt;
  host.warn = warn_user;
}

PyObject* set_library_folder(PyObject*, PyObject* folder) {
  const char* text = PyUnicode_AsUTF8(folder);
  if (!text) return nullptr;
  wisp_place_set_library(text);
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {{"_set_library_folder", set_library_folder, METH_O, nullptr}, {}};

void fill(PyObject* module) {
  autograd::install_hooks();
  install_host();
  out_of_memory_error =
      must(PyErr_NewException("wisp.OutOfMemoryError", PyExc_RuntimeError, nullptr));
  must_succeed(PyObject_SetAttrString(module, "OutOfMemoryError", out_of_memory_error));
  linalg_error = must(PyErr_NewExceptionWithDoc(
      "wisp.linalg.LinAlgError",
      "Raised by functions of linear algebra if the numbers of a matrix do not allow an answer.",
      PyExc_RuntimeError, nullptr));
  must_succeed(PyObject_SetAttrString(module, "_LinAlgError", linalg_error));
  add_small_types(module);
  add_tensor_type(module);
  add_generator_type(module);
  add_hook_type(module);
  add_node_type(module);
  add_function_context_type(module);
  add_operators(module);
  add_autograd_functions(module);
  add_grad_modes(module);
  add_saved_hooks(module);
  add_overrides(module);
  add_creation_functions(module);
  add_interop_functions(module);
  add_lazy_functions(module);
  add_optimizer_functions(module);
  add_runtime_functions(module);
  add_sample_keys(module);
  add_transforms(module);
  add_jit(module);
  must_succeed(PyModule_AddFunctions(module, functions));
}

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "wisp._C",
                          "wisp's native core",
                          -1,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace

}  // namespace wisp::python

PyMODINIT_FUNC PyInit__C() {
  PyObject* module = PyModule_Create(&wisp::python::definition);
  if (!module) return nullptr;
  PyObject* filled = wisp::python::guarded([&] {
    wisp::python::fill(module);
    return module;
  });
  if (!filled) Py_DECREF(module);
  return filled;
}
