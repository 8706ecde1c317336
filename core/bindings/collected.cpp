// Functions whose kernels are collected while they run: what wisp.compile, wisp.lazy() and
// wisp.compiler.disable make of a function.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <memory>
#include <optional>
#include <structmember.h>

#include "autograd/node.h"
#include "base/generator.h"
#include "base/trials.h"
#include "bindings/module.h"
#include "bindings/overrides.h"
#include "bindings/recorded.h"
#include "bindings/tensor_object.h"
#include "bindings/tracing.h"
#include "dispatch/awaited.h"
#include "lazy/lazy.h"

namespace wisp::python {

namespace {

// Of a compiled function, what was collected is run at its end, and calls are made as they are
// where trials have shown that to be faster. Results are the same.
struct CollectedObject {
  PyObject_HEAD PyObject* function;
  PyObject* dict;
  PyObject* weak;
  vectorcallfunc vectorcall;
  int64_t what;  // `collecting` as a number, for Python
  lazy::Collecting collecting;
  bool whole;              // fullgraph: branches by what tensors hold are errors
  Trials* trials;          // null unless compiled. The other way is to call the function as it is
  Recordings* recordings;  // null unless it is a compiled function that is written in Python
  // Calls that are left as they are: for some of them nobody asks again whether that is right.
  uint64_t settled_key;
  int left;
};
constexpr int calls_between = 64;
// Calls that take as long either way go the simpler one; clocks are no more exact than that.
constexpr Trials::Rules compiled_rules{.clearly = -64, .allowance = 200};

CollectedObject& made_of(PyObject* self) { return *reinterpret_cast<CollectedObject*>(self); }

// Of tensors so small it makes no difference how small: nothing is put off of them.
constexpr int64_t small = 1024;

WISP_INLINE uint64_t mixed_tensor(uint64_t key, PyObject* value) {
  if (!is_tensor(value)) return key;
  const int64_t elements = impl_of(value)->numel();
  return elements < small ? key : mixed(key, size_class(static_cast<uint64_t>(elements)));
}

// Tells calls apart that may take different times: by the sizes of tensors, and of those in lists.
uint64_t key_of(const Given& given) {
  uint64_t key = mode.grad ? 2 : 4;
  for (size_t i = 0; i < given.count(); ++i) {
    PyObject* const value = given.args[i];
    if (!PyList_Check(value) && !PyTuple_Check(value)) {
      key = mixed_tensor(key, value);
      continue;
    }
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(value); ++k)
      key = mixed_tensor(key, PySequence_Fast_GET_ITEM(value, k));
  }
  return key;
}

PyObject* refuse_read() {
  static PyObject* const refuse = import_attribute("wisp._lazy", "_refuse_read");
  return refuse;
}

// Has reads refused that PyTorch's compiler refuses in a graph that has to be whole.
class Whole {
 public:
  Whole() : outer_(std::exchange(read_watcher, refuse_read())) {}
  ~Whole() { read_watcher = outer_; }
  Whole(const Whole&) = delete;
  Whole& operator=(const Whole&) = delete;

 private:
  PyObject* const outer_;
};

// With the object itself in front of what it is given.
PyObject* call_method_of(PyObject* self, PyObject* method, const Given& given) {
  const size_t positional = given.positional(), count = given.count();
  if (given.nargsf & PY_VECTORCALL_ARGUMENTS_OFFSET) {  // there is room for it
    PyObject** const args = const_cast<PyObject**>(given.args) - 1;
    PyObject* const before = std::exchange(args[0], self);
    PyObject* const result = PyObject_Vectorcall(method, args, positional + 1, given.kwnames);
    args[0] = before;
    return result;
  }
  SmallVector<PyObject*, 16> args;
  args.push_back(self);
  for (size_t i = 0; i < count; ++i) args.push_back(given.args[i]);
  return PyObject_Vectorcall(method, args.data(), positional + 1, given.kwnames);
}

// What the class of an object defines in Python as __call__(), or null.
PyObject* call_method(PyObject* object) {
  static PyObject* const name = must(PyUnicode_InternFromString("__call__"));
  PyObject* const method = _PyType_Lookup(Py_TYPE(object), name);
  return method && PyFunction_Check(method) ? method : nullptr;
}

// As Python calls it. What it would do for objects such as modules takes as long as a short
// function: it makes a tuple of the arguments, and takes it apart.
PyObject* call_straight(PyObject* function, const Given& given) {
  if (!PyType_HasFeature(Py_TYPE(function), Py_TPFLAGS_HAVE_VECTORCALL)) {
    const Ref method = Ref::borrow(call_method(function));
    if (method) return call_method_of(function, method.get(), given);
  }
  return PyObject_Vectorcall(function, given.args, given.nargsf, given.kwnames);
}

// Whoever calls holds the object, and that the function.
PyObject* call_as_it_is(const CollectedObject& self, const Given& given) {
  std::optional<Whole> whole;
  if (WISP_UNLIKELY(self.whole)) whole.emplace();
  return call_straight(self.function, given);
}

Ref call_collected(const CollectedObject& self, const Given& given) {
  Ref result;
  {
    struct Scope {
      const lazy::Collecting before;
      ~Scope() { lazy::collect(before); }
    } scope{lazy::collect(self.collecting)};
    result = Ref(call_as_it_is(self, given));
  }
  if (result && self.trials) lazy::run_at_end();
  return result;
}

Ref call_tried(const CollectedObject& self, const Given& given, const Trials::Choice& choice) {
  const Stopwatch watch;
  Ref result = choice.other ? Ref(call_as_it_is(self, given)) : call_collected(self, given);
  run_all_awaited();
  if (result) self.trials->note(choice, watch.nanoseconds());
  return result;
}

// Whether nobody would notice that Python has no part in a call.
bool unobserved() {
  const PyThreadState* thread = PyThreadState_Get();
  return !mode.interceptor && !thread->c_tracefunc && !thread->c_profilefunc &&
         !autograd::anomaly.enabled && !(overrides_exist && has_function_modes());
}

// After an error Python can make the call again, and say what is wrong in its own words, unless
// something has been written by then: that would be written twice. It draws the same random
// numbers.
PyObject* call_recorded(const CollectedObject& self, Recorded& recorded, const Given& given) {
  std::optional<Generator::State> before;
  if (WISP_UNLIKELY(recorded.draws())) before = default_generator().state();
  const Unwritten unwritten;
  try {
    return self.recordings->call(recorded, given);
  } catch (PythonError& error) {
    error.restore();
    if (!PyErr_ExceptionMatches(PyExc_Exception)) return nullptr;  // Ctrl-C
    if (unwritten.is_over()) return nullptr;
    PyErr_Clear();
  } catch (...) {
    if (unwritten.is_over()) return guarded([]() -> PyObject* { throw; });
  }
  if (before) default_generator().set_state(*before);
  self.recordings->note_failure();
  return call_as_it_is(self, given);
}

PyObject* collected_call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames);

// In the place of collected_call() where calls are left as they are.
PyObject* settled_call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  CollectedObject& made = made_of(self);
  const Given given{args, nargsf, kwnames};
  if (WISP_LIKELY(--made.left > 0 && made.settled_key == key_of(given)))
    return call_straight(made.function, given);
  if (made.recordings) made.recordings->note_calls(calls_between - 1 - made.left);
  made.vectorcall = collected_call;
  return collected_call(self, args, nargsf, kwnames);
}

// The next calls like this one are left as they are without much ado: the function may be over in
// less time than anything else would take.
void settle(CollectedObject& made, uint64_t key) {
  if (made.whole || (made.recordings && !made.recordings->empty())) return;
  made.settled_key = key;
  made.left = calls_between;
  made.vectorcall = settled_call;
}

// By Python: collected or as it is, or, if it is time and it may be, recorded.
PyObject* call_python(CollectedObject& made, const Given& given, bool may_record) {
  const uint64_t key = key_of(given);
  const Trials::Choice choice = made.trials->choose(key);
  if (choice.other && choice.at < 0 &&
      !(may_record && made.recordings->is_due(*made.trials, key))) {
    settle(made, key);
    return call_as_it_is(made, given);
  }
  return guarded([&] {
    if (choice.at >= 0) return call_tried(made, given, choice).release();
    return (choice.other ? made.recordings->record(made.function, given)
                         : call_collected(made, given))
        .release();
  });
}

PyObject* call_by_recording(CollectedObject& self, Recorded& recorded, const Given& given) {
  const auto call = [&](bool other) {
    return other ? call_recorded(self, recorded, given) : call_python(self, given, false);
  };
  const Recordings::Inside inside(*self.recordings);
  const Trials::Choice choice = recorded.choose(mode.grad ? 2 : 4);
  const bool in_vain = choice.at < 0 && !choice.other;  // Python was found to be faster
  in_vain ? self.recordings->note_miss() : self.recordings->note_hit();
  if (choice.at < 0) return call(choice.other);
  const Stopwatch watch;
  PyObject* result = call(choice.other);
  run_all_awaited();
  if (result) recorded.note(choice, watch.nanoseconds());
  return result;
}

bool compiles = true;  // unless the program has switched it off (torch.compiler.set_stance)

PyObject* compiled_call(CollectedObject& made, const Given& given) {
  // If somebody collects already, there is nothing to decide.
  if (mode.deferrer || WISP_UNLIKELY(!compiles)) return call_as_it_is(made, given);
  const bool records = made.recordings && !made.recordings->is_hopeless() && unobserved();
  if (records && !made.recordings->empty()) {
    if (Recorded* found = made.recordings->find(given))
      return call_by_recording(made, *found, given);
  }
  return call_python(made, given, records);
}

PyObject* collected_call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  CollectedObject& made = made_of(self);
  const Given given{args, nargsf, kwnames};
  if (made.trials) return compiled_call(made, given);
  return guarded([&] { return call_collected(made, given).release(); });
}

// collected(*args, **kwargs): the call with its kernels collected, whatever trials have shown.
PyObject* collected_method(PyObject* self, PyObject* const* args, Py_ssize_t count,
                           PyObject* kwnames) {
  return guarded([&] {
    return call_collected(made_of(self), {args, static_cast<size_t>(count), kwnames}).release();
  });
}

// times(*args, **kwargs) -> the least nanoseconds of such calls collected, and as they are, and
// whether they are left as they are; None if they were not tried.
PyObject* times_method(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* kwnames) {
  return guarded([&] {
    const CollectedObject& made = made_of(self);
    Trials::Times times;
    if (made.trials)
      times = made.trials->times(key_of({args, static_cast<size_t>(count), kwnames}));
    if (!times.known()) return none();
    return must(
        Py_BuildValue("LLi", (long long)times.plain, (long long)times.other, times.prefers_other));
  });
}

// record(*args, **kwargs): the call, recorded now instead of after many others.
PyObject* record_method(PyObject* self, PyObject* const* args, Py_ssize_t count,
                        PyObject* kwnames) {
  return guarded([&] {
    const CollectedObject& made = made_of(self);
    const Given given{args, static_cast<size_t>(count), kwnames};
    if (!made.recordings || mode.deferrer || !unobserved()) return call_as_it_is(made, given);
    return made.recordings->record(made.function, given).release();
  });
}

// recorded(*args, **kwargs) -> the least nanoseconds of such calls as they are, and without Python,
// and whether they are made so; or why they are not recorded, or None if that was not tried.
PyObject* recorded_method(PyObject* self, PyObject* const* args, Py_ssize_t count,
                          PyObject* kwnames) {
  return guarded([&] {
    Recordings* const all = made_of(self).recordings;
    const Given given{args, static_cast<size_t>(count), kwnames};
    Recorded* const found = all && !all->empty() ? all->find(given) : nullptr;
    if (!found && all && !all->empty())
      return string("only calls of other sizes or numbers are recorded so far").release();
    if (!found) return all && !all->reason().empty() ? string(all->reason()).release() : none();
    const Trials::Times times = found->times(mode.grad ? 2 : 4);
    return must(
        Py_BuildValue("LLi", (long long)times.plain, (long long)times.other, times.prefers_other));
  });
}

// What is said of such functions is written in Python.
PyObject* explain_method(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    static PyObject* const explain = import_attribute("wisp._lazy", "_explain");
    const Ref given = owned(kwargs ? PyDict_Copy(kwargs) : PyDict_New());
    return must(PyObject_CallFunctionObjArgs(explain, self, args, given.get(), nullptr));
  });
}

PyObject* reduce_method(PyObject* self, PyObject*) {
  return guarded([&] {
    static PyObject* const reduced = import_attribute("wisp._lazy", "_reduced");
    return must(PyObject_CallOneArg(reduced, self));
  });
}

// Functions, methods and objects that can be called, such as modules; what is written in C is not.
bool may_be_recorded(PyObject* function) {
  return PyFunction_Check(function) || PyMethod_Check(function) || call_method(function);
}

// Collected(function, what, compiled, whole=False)
PyObject* collected_new(PyTypeObject* type, PyObject* args, PyObject*) {
  return guarded([&] {
    PyObject* function;
    long long what;
    int compiled, whole = 0;
    if (!PyArg_ParseTuple(args, "OLp|p", &function, &what, &compiled, &whole)) throw PythonError();
    const lazy::Collecting collecting = lazy::from_number(what);
    Ref self = owned(type->tp_alloc(type, 0));
    CollectedObject& made = made_of(self.get());
    made.vectorcall = collected_call;
    made.what = what;
    made.collecting = collecting;
    made.whole = whole != 0;
    if (whole) refuse_read();  // found now, so that calls cannot fail to find it
    if (compiled) made.trials = new Trials(compiled_rules);
    if (compiled && may_be_recorded(function)) made.recordings = new Recordings;
    Py_INCREF(function);
    made.function = function;
    return self.release();
  });
}

int collected_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(reinterpret_cast<PyObject*>(Py_TYPE(self)));
  Py_VISIT(made_of(self).function);
  Py_VISIT(made_of(self).dict);
  return made_of(self).recordings ? made_of(self).recordings->traverse(visit, arg) : 0;
}

int collected_clear(PyObject* self) {
  // None: whoever still calls it gets an error.
  Py_INCREF(Py_None);
  Py_SETREF(made_of(self).function, Py_None);
  Py_CLEAR(made_of(self).dict);
  delete std::exchange(made_of(self).recordings, nullptr);
  return 0;
}

void collected_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (made_of(self).weak) PyObject_ClearWeakRefs(self);
  Py_CLEAR(made_of(self).function);
  Py_CLEAR(made_of(self).dict);
  delete made_of(self).trials;
  delete made_of(self).recordings;
  type->tp_free(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

PyObject* collected_get(PyObject* self, PyObject* instance, PyObject*) {
  if (instance && instance != Py_None) return PyMethod_New(self, instance);
  Py_INCREF(self);
  return self;
}

PyObject* is_compiled(PyObject* self, void*) { return boolean(made_of(self).trials != nullptr); }
PyObject* is_whole(PyObject* self, void*) { return boolean(made_of(self).whole); }

#define WISP_METHOD(function) reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function))

PyMethodDef collected_methods[] = {
    {"_collected", WISP_METHOD(collected_method), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"_times", WISP_METHOD(times_method), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"_record", WISP_METHOD(record_method), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"_recorded", WISP_METHOD(recorded_method), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"explain", WISP_METHOD(explain_method), METH_VARARGS | METH_KEYWORDS, nullptr},
    {"__reduce__", reduce_method, METH_NOARGS, nullptr},
    {}};
PyGetSetDef collected_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {"_is_compiled", is_compiled, nullptr, nullptr, nullptr},
    {"_is_whole", is_whole, nullptr, nullptr, nullptr},
    {}};
PyMemberDef collected_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(CollectedObject, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(CollectedObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(CollectedObject, weak), READONLY, nullptr},
    {"_function", T_OBJECT_EX, offsetof(CollectedObject, function), READONLY, nullptr},
    {"_what", T_LONGLONG, offsetof(CollectedObject, what), READONLY, nullptr},
    {}};
PyType_Slot collected_slots[] = {{Py_tp_new, reinterpret_cast<void*>(collected_new)},
                                 {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                 {Py_tp_traverse, reinterpret_cast<void*>(collected_traverse)},
                                 {Py_tp_clear, reinterpret_cast<void*>(collected_clear)},
                                 {Py_tp_dealloc, reinterpret_cast<void*>(collected_dealloc)},
                                 {Py_tp_descr_get, reinterpret_cast<void*>(collected_get)},
                                 {Py_tp_methods, collected_methods},
                                 {Py_tp_getset, collected_getset},
                                 {Py_tp_members, collected_members},
                                 {0, nullptr}};
PyType_Spec collected_spec = {"wisp._C._Collected", sizeof(CollectedObject), 0,
                              Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL |
                                  Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_HAVE_GC,
                              collected_slots};

// compiles(whether) -> whether it was so.
PyObject* set_compiles(PyObject*, PyObject* on) {
  return guarded([&] { return boolean(std::exchange(compiles, truth_of(on))); });
}

// What an OptimizedModule is besides a module: an object that is called without a tuple of its
// arguments, by way of call_module().
struct StraightObject {
  PyObject_HEAD vectorcallfunc vectorcall;
};

// A call of an OptimizedModule with hooks of its own.
PyObject* call_with_hooks(PyObject* self, const Given& given) {
  static PyObject* const call = import_attribute("wisp.nn._compiled", "call_with_hooks");
  return call_method_of(self, call, given);
}

// A call of an OptimizedModule: what its attribute `_collecting` makes of it, if it has no hooks.
// Found by way of Python's methods, it would take longer than all else that is done around a short
// forward().
PyObject* call_module(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  return guarded([&] {
    static PyObject* const hooked = must(PyUnicode_InternFromString("_hooked"));
    static PyObject* const collecting = must(PyUnicode_InternFromString("_collecting"));
    PyObject* const own = *_PyObject_GetDictPtr(self);
    PyObject* has_hooks = PyDict_GetItemWithError(own, hooked);
    if (!has_hooks) has_hooks = _PyType_Lookup(Py_TYPE(self), hooked);
    if (WISP_UNLIKELY(has_hooks != Py_False)) return call_with_hooks(self, {args, nargsf, kwnames});
    const Ref made = Ref::borrow(PyDict_GetItemWithError(own, collecting));
    WISP_CHECK(made, "a compiled module has not been initialised");
    return PyObject_Vectorcall(made.get(), args, nargsf, kwnames);
  });
}

PyObject* straight_new(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* const self = type->tp_alloc(type, 0);
  if (self) reinterpret_cast<StraightObject*>(self)->vectorcall = call_module;
  return self;
}

PyType_Slot straight_slots[] = {{Py_tp_new, reinterpret_cast<void*>(straight_new)}, {0, nullptr}};
PyType_Spec straight_spec = {"wisp._C._CalledStraight", sizeof(StraightObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, straight_slots};

// set_called_straight(OptimizedModule): its objects are, from now on.
PyObject* set_called_straight(PyObject*, PyObject* cls) {
  PyTypeObject* const type = reinterpret_cast<PyTypeObject*>(cls);
  type->tp_vectorcall_offset = offsetof(StraightObject, vectorcall);
  type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
  type->tp_call = PyVectorcall_Call;
  return none();
}

PyMethodDef collected_functions[] = {{"_lazy_compiles", set_compiles, METH_O, nullptr},
                                     {"_set_called_straight", set_called_straight, METH_O, nullptr},
                                     {}};

}  // namespace

void add_collected_functions(PyObject* module) {
  make_type(module, collected_spec);
  make_type(module, straight_spec);
  must_succeed(PyModule_AddFunctions(module, collected_functions));
}

}  // namespace wisp::python
