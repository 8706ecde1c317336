// What every binding file needs: Python.h, owned references, and errors across the border.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "base/error.h"
#include "tensor/tensor.h"

namespace wisp::python {

// Takes Python's lock on any thread, for what is freed with it. False once the interpreter is gone
// (tensors may outlive it in variables of threads): its objects are then left alone.
class FreeingLock {
 public:
  FreeingLock() : alive_(Py_IsInitialized() != 0) {
    if (alive_) state_ = PyGILState_Ensure();
  }
  ~FreeingLock() {
    if (alive_) PyGILState_Release(state_);
  }
  FreeingLock(const FreeingLock&) = delete;
  FreeingLock& operator=(const FreeingLock&) = delete;
  explicit operator bool() const { return alive_; }

 private:
  bool alive_;
  PyGILState_STATE state_ = PyGILState_LOCKED;
};

// Owns one reference.
class Ref {
 public:
  Ref() = default;
  explicit Ref(PyObject* owned) : object_(owned) {}
  static Ref borrow(PyObject* object) {
    Py_XINCREF(object);
    return Ref(object);
  }
  Ref(const Ref& other) : object_(other.object_) { Py_XINCREF(object_); }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }
  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

// A Python exception on its way through C++. It is taken out of the interpreter, so that code that
// runs during unwinding sees a clean state, and put back at the border.
class PythonError : public std::exception {
 public:
  PythonError() : state_(std::make_shared<State>()) {
    PyErr_Fetch(&state_->type, &state_->value, &state_->traceback);
  }
  void restore() {
    PyErr_Restore(state_->type, state_->value, state_->traceback);
    state_->type = state_->value = state_->traceback = nullptr;
  }
  const char* what() const noexcept override { return "Python exception"; }

 private:
  struct State {
    PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
    ~State() {
      Py_XDECREF(type);
      Py_XDECREF(value);
      Py_XDECREF(traceback);
    }
  };
  std::shared_ptr<State> state_;
};

// Throws if a Python call failed.
inline PyObject* must(PyObject* result) {
  if (!result) throw PythonError();
  return result;
}
inline Ref owned(PyObject* result) { return Ref(must(result)); }
inline void must_succeed(int status) {
  if (status < 0) throw PythonError();
}

// bool(value).
inline bool truth_of(PyObject* value) {
  const int truth = PyObject_IsTrue(value);
  must_succeed(truth);
  return truth != 0;
}

// The class raised for lack of memory (a RuntimeError).
extern PyObject* out_of_memory_error;
extern PyObject* linalg_error;

// Turns the C++ exception in flight into a Python one.
void set_python_error() noexcept;

// Runs f and turns exceptions into Python's; for functions that return an object (null on error).
template <class F>
PyObject* guarded(F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}
// The same for slots that return int (-1 on error).
template <class F>
int guarded_int(F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    set_python_error();
    return -1;
  }
}

inline PyObject* none() {
  Py_INCREF(Py_None);
  return Py_None;
}
inline PyObject* boolean(bool value) {
  PyObject* result = value ? Py_True : Py_False;
  Py_INCREF(result);
  return result;
}
Ref string(std::string_view text);
std::string text_of(PyObject* string);

// An attribute of a module, imported when first asked for: cached by the caller in a static.
PyObject* import_attribute(const char* module, const char* name);

// Finishes a heap type and adds it to the module.
PyTypeObject* make_type(PyObject* module, PyType_Spec& spec, PyObject* base = nullptr);

}  // namespace wisp::python
