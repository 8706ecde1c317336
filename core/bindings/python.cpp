#include "bindings/python.h"

#include "graph/error.h"

namespace wisp::python {

PyObject* out_of_memory_error = nullptr;
PyObject* linalg_error = nullptr;

namespace {

PyObject* exception_class(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::type:
      return PyExc_TypeError;
    case ErrorKind::value:
      return PyExc_ValueError;
    case ErrorKind::index:
      return PyExc_IndexError;
    case ErrorKind::not_implemented:
      return PyExc_NotImplementedError;
    case ErrorKind::memory:
      return out_of_memory_error;
    case ErrorKind::buffer:
      return PyExc_BufferError;
    case ErrorKind::linalg:
      return linalg_error;
    default:
      return PyExc_RuntimeError;
  }
}

// A script may raise any of Python's own exceptions by name; others become RuntimeErrors.
PyObject* exception_class(const graph::ScriptError& error) {
  PyObject* found = error.class_name().empty()
                        ? nullptr
                        : PyDict_GetItemString(PyEval_GetBuiltins(), error.class_name().c_str());
  if (!found || !PyExceptionClass_Check(found)) return exception_class(error.kind());
  return found;
}

// What a script raises is one of Python's exceptions, and a wisp.jit.Error besides.
void set_script_error(const graph::ScriptError& error) noexcept {
  PyObject* plain = exception_class(error);
  PyObject* module = PyImport_ImportModule("wisp.jit._errors");
  PyObject* both = module ? PyObject_CallMethod(module, "script_class", "O", plain) : nullptr;
  if (!both) PyErr_Clear();
  PyErr_SetString(both ? both : plain, error.what());
  Py_XDECREF(both);
  Py_XDECREF(module);
}

}  // namespace

void set_python_error() noexcept {
  try {
    throw;
  } catch (PythonError& error) {
    error.restore();
  } catch (const graph::ScriptError& error) {
    set_script_error(error);
  } catch (const Error& error) {
    PyErr_SetString(exception_class(error.kind()), error.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "unknown C++ exception");
  }
}

Ref string(std::string_view text) {
  return owned(PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
}

std::string text_of(PyObject* object) {
  Py_ssize_t size;
  const char* text = PyUnicode_AsUTF8AndSize(object, &size);
  if (!text) throw PythonError();
  return std::string(text, static_cast<size_t>(size));
}

PyObject* import_attribute(const char* module, const char* name) {
  const Ref imported = owned(PyImport_ImportModule(module));
  return must(PyObject_GetAttrString(imported.get(), name));
}

PyTypeObject* make_type(PyObject* module, PyType_Spec& spec, PyObject* base) {
  PyObject* type = must(PyType_FromSpecWithBases(&spec, base));
  const char* dot = std::strrchr(spec.name, '.');
  Py_INCREF(type);
  must_succeed(PyModule_AddObject(module, dot ? dot + 1 : spec.name, type));
  return reinterpret_cast<PyTypeObject*>(type);
}

}  // namespace wisp::python
