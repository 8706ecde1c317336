// Lazy evaluation: switching it on for a thread, and how it went.
#define PY_SSIZE_T_CLEAN
#include "lazy/lazy.h"

#include <Python.h>

#include "bindings/arguments.h"
#include "bindings/module.h"
#include "bindings/tensor_object.h"
#include "bindings/tracing.h"

namespace wisp::python {

constinit WISP_THREAD_LOCAL PyObject* read_watcher = nullptr;

void tell_read(const char* what) {
  const Ref name = string(what);
  owned(PyObject_CallOneArg(read_watcher, name.get()));
}

namespace {

// watch_reads(function or None) -> who was told so far; whoever calls keeps the function alive.
PyObject* watch_reads(PyObject*, PyObject* watcher) {
  return guarded([&] {
    PyObject* const before = read_watcher ? read_watcher : Py_None;
    read_watcher = watcher == Py_None ? nullptr : watcher;
    Py_INCREF(before);
    return before;
  });
}

// collect(what) -> what it was.
PyObject* collect(PyObject*, PyObject* value) {
  return guarded([&] {
    int64_t what;
    WISP_CHECK_TYPE(to_int(value, what), "_lazy_collect expects what it returned");
    return must(PyLong_FromLongLong(lazy::to_number(lazy::collect(lazy::from_number(what)))));
  });
}

PyObject* run(PyObject*, PyObject*) {
  return guarded([&] {
    Storage::run_deferred();  // what waits for its next call too
    return none();
  });
}

PyObject* counts(PyObject*, PyObject*) {
  return guarded([&] {
    const lazy::Counts now = lazy::counts();
    return must(Py_BuildValue("{s:L,s:L,s:L,s:L,s:L,s:L}", "kernels", (long long)now.kernels,
                              "fused", (long long)now.fused, "groups", (long long)now.groups,
                              "dropped", (long long)now.dropped, "runs", (long long)now.runs,
                              "plans", (long long)now.plans));
  });
}

// report(on) -> the lines since it was switched on, which are then forgotten.
PyObject* report(PyObject*, PyObject* on) {
  return guarded([&] {
    lazy::report(truth_of(on));
    Ref lines = owned(PyList_New(0));
    for (const std::string& line : lazy::take_report()) {
      const Ref text = string(line);
      must_succeed(PyList_Append(lines.get(), text.get()));
    }
    return lines.release();
  });
}

PyObject* forget(PyObject*, PyObject*) {
  return guarded([&] {
    lazy::forget();
    return none();
  });
}

// For tests: whether a tensor is still to be computed.
PyObject* is_pending(PyObject*, PyObject* tensor) {
  return guarded(
      [&] { return boolean(expect_tensor(tensor, "_is_pending")->storage().is_pending()); });
}

PyMethodDef functions[] = {
    {"_lazy_collect", collect, METH_O, nullptr},    {"_lazy_run", run, METH_NOARGS, nullptr},
    {"_lazy_counts", counts, METH_NOARGS, nullptr}, {"_lazy_report", report, METH_O, nullptr},
    {"_is_pending", is_pending, METH_O, nullptr},   {"_watch_reads", watch_reads, METH_O, nullptr},
    {"_lazy_forget", forget, METH_NOARGS, nullptr}, {}};

}  // namespace

void add_lazy_functions(PyObject* module) {
  lazy::install();
  must_succeed(PyModule_AddFunctions(module, functions));
  add_collected_functions(module);
}

}  // namespace wisp::python
