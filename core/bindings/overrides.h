// __torch_function__: classes and modes of the user that take calls over.
#pragma once

#include "bindings/python.h"

namespace wisp::python {

// Whether there ever was a class or mode that could take a call over. Nothing is asked before.
extern bool overrides_exist;
// Whether a mode takes over the calls of this thread.
bool has_function_modes();

// What somebody who takes the call over makes of it (an argument, an element of a list among them,
// or a mode); null if nobody does. `function` is what they are told was called.
PyObject* call_override(PyObject* function, PyObject* const* args, Py_ssize_t nargs,
                        PyObject* kwnames);
// The same of a method of Tensor, named as Python names it.
PyObject* call_method_override(const char* name, PyObject* const* args, Py_ssize_t count);
// Of an operator: the method is a's, or if that is no tensor the reflected one of b.
PyObject* call_operator_override(const char* method, const char* reflected, PyObject* a,
                                 PyObject* b);

// Nobody but modes is asked in its scope.
class WithoutOverrides {
 public:
  WithoutOverrides();
  ~WithoutOverrides();
  WithoutOverrides(const WithoutOverrides&) = delete;
  WithoutOverrides& operator=(const WithoutOverrides&) = delete;

 private:
  int before_;
};

// To be called for every object of a subclass of Tensor.
void note_subclass(PyTypeObject* type);

// Whether an object's class has a __torch_function__ that is to be asked.
bool takes_over(PyObject* object);

}  // namespace wisp::python
